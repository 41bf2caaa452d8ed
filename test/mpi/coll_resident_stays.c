/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A resident kernel that would stay for a minute: whatever of ours waits for the device has it end
 * first, or this program would take as long. Nothing here waits for the device otherwise, so what
 * is written and read of windows goes through MPI. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdio.h>
#include <time.h>

#define IDLE_US      "60000000"
#define SECONDS_MOST 40
#define COUNT        5
#define LARGE_BYTES  ((size_t) 5 << 20) /* more than the cache takes */

static mt_win_t left;

/* All ranks' sums, in a window new or used, with the kernel left running. */
static void sum_in(const mt_win_t *w, int round)
{
    int32_t input[COUNT], got[COUNT] = {0};
    for (int i = 0; i < COUNT; ++i) {
        input[i] = 1000 * round + 10 * i + mt_rank;
    }
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt_rank, 0, w->win));
    CHECK_OK(MPI_Put(input, COUNT, MPI_INT32_T, mt_rank, 0, COUNT, MPI_INT32_T, w->win));
    CHECK_OK(MPI_Win_unlock(mt_rank, w->win));
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allreduce(w->base, w->base + 64, COUNT, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD));
    symm_stats_t after = mt_stats();
    bool expected = SYMM_KIND_CUDA_DEVICE == mt_kind && 1 < mt_size;
    CHECK_INT(expected ? 1 : 0, after.resident_commands - before.resident_commands);
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, mt_rank, 0, w->win));
    CHECK_OK(MPI_Get(got, COUNT, MPI_INT32_T, mt_rank, 64 / 4, COUNT, MPI_INT32_T, w->win));
    CHECK_OK(MPI_Win_unlock(mt_rank, w->win));
    for (int i = 0; i < COUNT; ++i) {
        CHECK_INT(mt_size * (1000 * round + 10 * i) + mt_size * (mt_size - 1) / 2, got[i]);
    }
    CHECK_OK(MPI_Allreduce(w->base, w->base + 64, COUNT, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD));
}

/* Small windows go into the cache, large ones for good; the one before is still there when the next
 * is made. */
static void windows_come_and_go(void)
{
    mt_win_t w[2];
    time_t start = time(NULL);
    for (int round = 0; round < 6; ++round) {
        mt_win_t *now = &w[round % 2];
        if (!mt_allocate(0 == round / 2 % 2 ? 4096 : LARGE_BYTES, 4, MPI_COMM_WORLD, now)) {
            return;
        }
        sum_in(now, round);
        if (0 < round) {
            sum_in(&w[1 - round % 2], round);
            mt_win_free(&w[1 - round % 2]);
        }
    }
    mt_win_free(&w[1]);
    CHECK_MSG(SECONDS_MOST > time(NULL) - start, "something waited for the kernel");
}

/* The kernel of a window in the cache is gone: the program may wait for the device. */
static void a_freed_window_lets_go(void)
{
    mt_win_t w;
    if (!mt_has_memory(MT_DEVICE) || !mt_allocate(4096, 4, MPI_COMM_WORLD, &w)) {
        return;
    }
    void *memory = mt_alloc(MT_DEVICE, 100);
    sum_in(&w, 6);
    time_t start = time(NULL);
    mt_win_free(&w);
    mt_fill(memory, 100, mt_seed(mt_rank, 6));
    CHECK_MSG(SECONDS_MOST > time(NULL) - start, "the kernel of a freed window stayed");
    CHECK_PATTERN(memory, 100, mt_seed(mt_rank, 6));
    mt_free(MT_DEVICE, memory);
}

/* MPI ends with a kernel running. */
static void a_window_stays(void)
{
    if (mt_allocate(4096, 4, MPI_COMM_WORLD, &left)) {
        sum_in(&left, 7);
    }
}

int main(int argc, char **argv)
{
    mt_set_param("coll_symm_resident", "1");
    mt_set_param("coll_symm_resident_idle", IDLE_US);
    mt_set_param("osc_symm_cache_bytes", "2097152");
    mt_init(&argc, &argv, "coll_resident_stays");
    MT_RUN(windows_come_and_go);
    MT_RUN(a_freed_window_lets_go);
    MT_RUN(a_window_stays);
    time_t start = time(NULL);
    int status = mt_finish();
    if (SECONDS_MOST <= time(NULL) - start) {
        printf("FAIL: coll_resident_stays: MPI_Finalize waited for the kernel\n");
        status = 1;
    }
    return status;
}
