/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Request-based put and get: a wait on the request alone, without any flush, makes the data of a
 * get good and the buffer of a put free. Of every size, in memory of every kind; all ways to wait;
 * requests freed early, of nothing, and more than anything holds at a time. */
#include "symm_config.h"

#include "mpi_test.h"

#include <string.h>

/* Every rank's part of the window: the left half is put to and got from by the left neighbour. */
#define HALF        ((size_t) 4 << 20)
#define WINDOW_SIZE (2 * HALF)

static mt_win_t window;
static uint64_t round_number;
static char *buffers[MT_MEMORY_COUNT];

static int right_of_me(void)
{
    return (mt_rank + 1) % mt_size;
}

static int left_of_me(void)
{
    return (mt_rank + mt_size - 1) % mt_size;
}

static bool next_memory(int *memory)
{
    while (++*memory < MT_MEMORY_COUNT) {
        if (mt_has_memory((mt_memory_t) *memory)) {
            return true;
        }
    }
    return false;
}

static char *buffer_in(int memory)
{
    if (NULL == buffers[memory]) {
        buffers[memory] = mt_alloc((mt_memory_t) memory, HALF);
    }
    return buffers[memory];
}

static const size_t sizes[] = {1, 8, 1000, 8192, 8193, 32768, 100001, 3000000};

#define SIZE_COUNT (sizeof(sizes) / sizeof(sizes[0]))

static void get_and_wait(int memory, size_t len)
{
    uint64_t round = ++round_number;
    char *mine = buffer_in(memory);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = {.MPI_ERROR = -1};
    mt_context("get of %zu bytes to %s memory", len, mt_memory_name((mt_memory_t) memory));
    mt_poison(mine, len + MT_GUARD);
    mt_fill(window.base, len, mt_seed(mt_rank, round));
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_OK(MPI_Rget(mine, (int) len, MPI_BYTE, right_of_me(), 0, (int) len, MPI_BYTE, window.win,
                      &request));
    CHECK_OK(MPI_Wait(&request, &status));
    CHECK(MPI_REQUEST_NULL == request);
    CHECK_PATTERN(mine, len, mt_seed(right_of_me(), round)); /* without a flush */
    CHECK_POISON(mine + len, MT_GUARD);
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
}

static void gets_of_all_sizes(void)
{
    for (int memory = -1; next_memory(&memory);) {
        for (size_t i = 0; i < SIZE_COUNT; ++i) {
            get_and_wait(memory, sizes[i]);
        }
    }
}

/* The buffer is free after the wait, and the data arrives all the same. */
static void put_and_wait(int memory, size_t len)
{
    uint64_t round = ++round_number;
    char *mine = buffer_in(memory);
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;
    mt_context("put of %zu bytes from %s memory", len, mt_memory_name((mt_memory_t) memory));
    mt_fill(mine, len, mt_seed(mt_rank, round));
    mt_poison(window.base, len + MT_GUARD);
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_OK(MPI_Rput(mine, (int) len, MPI_BYTE, right_of_me(), 0, (int) len, MPI_BYTE, window.win,
                      &request));
    while (!flag) {
        if (!CHECK_OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE))) {
            break;
        }
    }
    mt_poison(mine, len);
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
    CHECK_PATTERN(window.base, len, mt_seed(left_of_me(), round));
    CHECK_POISON(window.base + len, MT_GUARD);
    mt_barrier();
}

static void puts_of_all_sizes(void)
{
    for (int memory = -1; next_memory(&memory);) {
        for (size_t i = 0; i < SIZE_COUNT; ++i) {
            put_and_wait(memory, sizes[i]);
        }
    }
}

/* Small and large ones by turns, waited for together. */
static void many_at_once(void)
{
    enum { COUNT = 300 };
    static MPI_Request requests[2 * COUNT];
    static int64_t values[COUNT], results[COUNT];
    char *large = buffer_in(MT_HOST);
    uint64_t round = ++round_number;
    mt_poison(window.base, WINDOW_SIZE);
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    for (int i = 0; i < COUNT; ++i) {
        values[i] = (int64_t) (round << 32) + mt_rank * COUNT + i;
        bool is_large = 0 == i % 100;
        CHECK_OK(MPI_Rput(&values[i], 1, MPI_INT64_T, right_of_me(), 16 * i, 1, MPI_INT64_T,
                          window.win, &requests[i]));
        CHECK_OK(MPI_Rget(large, is_large ? 2000000 : 0, MPI_BYTE, right_of_me(), HALF,
                          is_large ? 2000000 : 0, MPI_BYTE, window.win, &requests[COUNT + i]));
    }
    CHECK_OK(MPI_Waitall(2 * COUNT, requests, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Win_flush_all(window.win));
    mt_barrier();
    for (int i = 0; i < COUNT; ++i) {
        CHECK_OK(MPI_Rget(&results[i], 1, MPI_INT64_T, mt_rank, 16 * i, 1, MPI_INT64_T, window.win,
                          &requests[i]));
    }
    CHECK_OK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < COUNT; ++i) {
        CHECK_INT((int64_t) (round << 32) + left_of_me() * COUNT + i, results[i]);
    }
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
}

/* Without data or target there is a request all the same. */
static void requests_of_nothing(void)
{
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                               MPI_REQUEST_NULL};
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_OK(MPI_Rput(NULL, 5, MPI_INT, MPI_PROC_NULL, 0, 7, MPI_INT, window.win, &requests[0]));
    CHECK_OK(MPI_Rget(NULL, 5, MPI_INT, MPI_PROC_NULL, 0, 7, MPI_INT, window.win, &requests[1]));
    CHECK_OK(MPI_Rput(NULL, 0, MPI_INT, mt_rank, 0, 0, MPI_INT, window.win, &requests[2]));
    CHECK_OK(MPI_Rget(NULL, 0, MPI_INT, mt_rank, 0, 0, MPI_INT, window.win, &requests[3]));
    for (int i = 0; i < 4; ++i) {
        CHECK(MPI_REQUEST_NULL != requests[i]);
    }
    CHECK_OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    CHECK_OK(MPI_Win_unlock_all(window.win));
}

/* The operation goes on without its request, and the window ends it. */
static void requests_freed_early(void)
{
    uint64_t round = ++round_number;
    char *mine = buffer_in(MT_HOST);
    MPI_Request request;
    mt_fill(mine, 64, mt_seed(mt_rank, round));
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    for (int i = 0; i < 100; ++i) {
        CHECK_OK(MPI_Rput(mine, 64, MPI_BYTE, right_of_me(), 64 * i, 64, MPI_BYTE, window.win,
                          &request));
        CHECK_OK(MPI_Request_free(&request));
    }
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
    for (int i = 0; i < 100; ++i) {
        CHECK_PATTERN(window.base + 64 * i, 64, mt_seed(left_of_me(), round));
    }
    mt_barrier();
}

/* A request may be looked at after its window's epoch, and after its window. */
static void requests_that_outlive_the_window(void)
{
    int64_t value = 1, result = 0;
    MPI_Request requests[2];
    mt_win_t own;
    if (!mt_allocate(64, 1, MPI_COMM_WORLD, &own)) {
        return;
    }
    CHECK_OK(MPI_Win_lock_all(0, own.win));
    CHECK_OK(MPI_Rput(&value, 1, MPI_INT64_T, mt_rank, 0, 1, MPI_INT64_T, own.win, &requests[0]));
    CHECK_OK(MPI_Win_flush_all(own.win));
    CHECK_OK(MPI_Rget(&result, 1, MPI_INT64_T, mt_rank, 0, 1, MPI_INT64_T, own.win, &requests[1]));
    CHECK_OK(MPI_Win_unlock_all(own.win));
    mt_win_free(&own);
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_INT(1, result);
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "rma_requests");
    if (mt_allocate(WINDOW_SIZE, 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(gets_of_all_sizes);
        MT_RUN(puts_of_all_sizes);
        MT_RUN(many_at_once);
        MT_RUN(requests_of_nothing);
        MT_RUN(requests_freed_early);
        MT_RUN(requests_that_outlive_the_window);
        for (int memory = 0; memory < MT_MEMORY_COUNT; ++memory) {
            if (NULL != buffers[memory]) {
                mt_free((mt_memory_t) memory, buffers[memory]);
            }
        }
        mt_win_free(&window);
    }
    return mt_finish();
}
