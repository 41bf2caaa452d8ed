/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What programs do wrong, and what is not supported yet: each gives a clean error through the
 * window's handler, moves no byte, and leaves the window as usable as before. */
#include "symm_config.h"

#include "mpi_test.h"

#include <limits.h>
#include <stdlib.h>

#define UNIT   8
#define UNITS  32
#define LENGTH ((size_t) UNIT * UNITS)

static mt_win_t window;
static int64_t data[4] = {1, 2, 3, 4};

static int right_of_me(void)
{
    return (mt_rank + 1) % mt_size;
}

static int put_at(MPI_Aint disp, int count)
{
    return MPI_Put(data, count, MPI_INT64_T, right_of_me(), disp, count, MPI_INT64_T, window.win);
}

static int get_at(MPI_Aint disp, int count)
{
    return MPI_Get(data, count, MPI_INT64_T, right_of_me(), disp, count, MPI_INT64_T, window.win);
}

static void poison_window(void)
{
    mt_poison(window.base, LENGTH);
    mt_barrier();
}

/* No byte has moved, and everything works: each kind of epoch, and the lock as a lock. */
static void check_intact(void)
{
    mt_barrier();
    CHECK_POISON(window.base, LENGTH);
    mt_barrier();
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(put_at(1, 1));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.win));
    CHECK_OK(MPI_Win_unlock(0, window.win));
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
    CHECK_POISON(window.base, UNIT);
    CHECK_POISON(window.base + 2 * UNIT, LENGTH - 2 * UNIT);
    poison_window();
}

static MPI_Group self_group(void)
{
    MPI_Group group;
    CHECK_OK(MPI_Comm_group(MPI_COMM_SELF, &group));
    return group;
}

/* ---- epochs ---- */

static void access_outside_an_epoch(void)
{
    poison_window();
    CHECK_CLASS(MPI_ERR_RMA_SYNC, put_at(0, 1));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, get_at(0, 1));
    check_intact();
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, put_at(0, 1));
    check_intact();
}

/* A fence may have begun an epoch, but another epoch since then has ended it. */
static void access_after_a_fence_and_another_epoch(void)
{
    MPI_Group self = self_group();
    poison_window();
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, mt_rank, 0, window.win));
    CHECK_OK(MPI_Win_unlock(mt_rank, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, put_at(0, 1));
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_OK(MPI_Win_unlock_all(window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, put_at(0, 1));
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Win_post(self, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, put_at(0, 1));
    CHECK_OK(MPI_Win_start(self, 0, window.win));
    CHECK_OK(MPI_Win_complete(window.win));
    CHECK_OK(MPI_Win_wait(window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, put_at(0, 1));
    CHECK_OK(MPI_Group_free(&self));
    check_intact();
}

static void access_to_a_target_without_epoch(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    poison_window();
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, mt_rank, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, put_at(0, 1)); /* the neighbour is not locked */
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_flush(right_of_me(), window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_flush_local(right_of_me(), window.win));
    CHECK_OK(MPI_Win_unlock(mt_rank, window.win));
    MPI_Group self = self_group();
    CHECK_OK(MPI_Win_post(self, 0, window.win));
    CHECK_OK(MPI_Win_start(self, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, put_at(0, 1)); /* nor is it in the group */
    CHECK_OK(MPI_Win_complete(window.win));
    CHECK_OK(MPI_Win_wait(window.win));
    CHECK_OK(MPI_Group_free(&self));
    check_intact();
}

static void end_without_beginning(void)
{
    int flag;
    poison_window();
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_flush(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_flush_local(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_flush_local_all(window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_sync(window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_complete(window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_wait(window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_test(window.win, &flag));
    check_intact();
}

static void begin_within_a_lock(void)
{
    MPI_Group self = self_group();
    poison_window();
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, mt_rank, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, mt_rank, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt_rank, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, window.win));
    CHECK_OK(MPI_Win_unlock(mt_rank, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(mt_rank, window.win));
    CHECK_OK(MPI_Group_free(&self));
    check_intact();
}

static void begin_within_lock_all(void)
{
    MPI_Group self = self_group();
    poison_window();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, window.win));
    CHECK_OK(MPI_Win_unlock_all(window.win));
    CHECK_OK(MPI_Group_free(&self));
    check_intact();
}

static void begin_within_post_and_start(void)
{
    MPI_Group self = self_group();
    poison_window();
    CHECK_OK(MPI_Win_post(self, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_post(self, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Win_start(self, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_start(self, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Win_complete(window.win));
    CHECK_OK(MPI_Win_wait(window.win));
    CHECK_OK(MPI_Group_free(&self));
    check_intact();
}

/* The group has a rank that the window's has not. */
static void group_beyond_the_window(void)
{
    mt_win_t w;
    MPI_Comm half;
    MPI_Group world;
    if (!mt_needs_ranks(2)) {
        return;
    }
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, 0, &half));
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    if (mt_allocate(100, 1, half, &w)) {
        MPI_Group self = self_group();
        CHECK_CLASS(MPI_ERR_GROUP, MPI_Win_post(world, 0, w.win));
        CHECK_CLASS(MPI_ERR_GROUP, MPI_Win_start(world, 0, w.win));
        CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_complete(w.win));
        CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_wait(w.win));
        CHECK_OK(MPI_Win_post(self, 0, w.win));
        CHECK_OK(MPI_Win_start(self, 0, w.win));
        CHECK_OK(MPI_Win_complete(w.win));
        CHECK_OK(MPI_Win_wait(w.win));
        CHECK_OK(MPI_Group_free(&self));
        mt_win_free(&w);
    }
    CHECK_OK(MPI_Group_free(&world));
    CHECK_OK(MPI_Comm_free(&half));
}

/* ---- ranges ---- */

static void check_out_of_range(MPI_Aint disp, int count)
{
    mt_context("%d units at %lld", count, (long long) disp);
    int put_class = mt_class(put_at(disp, count));
    int get_class = mt_class(get_at(disp, count));
    /* Open MPI itself finds negative displacements, and names them MPI_ERR_DISP. */
    int expected = 0 > disp ? MPI_ERR_DISP : MPI_ERR_RMA_RANGE;
    CHECK_INT(expected, put_class);
    CHECK_INT(expected, get_class);
}

static void access_beyond_the_window(void)
{
    poison_window();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    check_out_of_range(-1, 1);
    check_out_of_range(LONG_MIN, 1);
    check_out_of_range(UNITS, 1);
    check_out_of_range(UNITS - 1, 2);
    check_out_of_range(UNITS - 3, 4);
    check_out_of_range(1000000, 1);
    check_out_of_range(LONG_MAX, 1);
    check_out_of_range(LONG_MAX / UNIT, 1);     /* the end overflows */
    check_out_of_range(LONG_MAX / UNIT + 1, 1); /* the product does */
    check_out_of_range(LONG_MAX / 4, 1);
    check_out_of_range((MPI_Aint) 1 << 61, 1); /* the product is 0 in 64 bits */
    CHECK_OK(put_at(UNITS, 0));
    CHECK_OK(get_at(UNITS, 0));
    CHECK_OK(MPI_Win_unlock_all(window.win));
    check_intact();
}

/* What MPI itself finds wrong, before it asks us. */
static void arguments_that_make_no_sense(void)
{
    poison_window();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_CLASS(MPI_ERR_RANK,
                MPI_Put(data, 1, MPI_INT64_T, mt_size, 0, 1, MPI_INT64_T, window.win));
    CHECK_CLASS(MPI_ERR_RANK, MPI_Get(data, 1, MPI_INT64_T, -77, 0, 1, MPI_INT64_T, window.win));
    CHECK_CLASS(MPI_ERR_RANK, MPI_Accumulate(data, 1, MPI_INT64_T, mt_size, 0, 1, MPI_INT64_T,
                                             MPI_SUM, window.win));
    CHECK_CLASS(MPI_ERR_DISP, put_at(-1, 1));
    CHECK_CLASS(MPI_ERR_RANK, MPI_Win_flush(mt_size, window.win));
    CHECK_CLASS(MPI_ERR_RANK, MPI_Win_flush_local(-2, window.win));
    CHECK_OK(MPI_Win_unlock_all(window.win));
    CHECK_CLASS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, mt_size, 0, window.win));
    CHECK_CLASS(MPI_ERR_RANK, MPI_Win_unlock(mt_size, window.win));
    CHECK_CLASS(MPI_ERR_LOCKTYPE, MPI_Win_lock(-5, 0, 0, window.win));
    check_intact();
}

/* The room that a segment is rounded up to is not the user's. */
static void access_beyond_the_size_within_the_segment(void)
{
    mt_win_t w;
    if (mt_allocate(10, 1, MPI_COMM_WORLD, &w)) {
        CHECK_OK(MPI_Win_fence(0, w.win));
        CHECK_CLASS(MPI_ERR_RMA_RANGE,
                    MPI_Put(data, 1, MPI_BYTE, right_of_me(), 10, 1, MPI_BYTE, w.win));
        CHECK_CLASS(MPI_ERR_RMA_RANGE,
                    MPI_Get(data, 4, MPI_BYTE, right_of_me(), 7, 4, MPI_BYTE, w.win));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
        mt_win_free(&w);
    }
}

static void target_without_memory(void)
{
    mt_win_t w;
    if (mt_allocate(0, 1, MPI_COMM_WORLD, &w)) {
        CHECK_OK(MPI_Win_fence(0, w.win));
        CHECK_CLASS(MPI_ERR_RMA_RANGE,
                    MPI_Put(data, 1, MPI_BYTE, right_of_me(), 0, 1, MPI_BYTE, w.win));
        CHECK_OK(MPI_Put(data, 0, MPI_BYTE, right_of_me(), 0, 0, MPI_BYTE, w.win));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
        mt_win_free(&w);
    }
}

static void lengths_that_differ(void)
{
    poison_window();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_MSG(MPI_SUCCESS != MPI_Put(data, 2, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window.win),
              "a put of two elements into one was taken");
    CHECK_MSG(MPI_SUCCESS != MPI_Get(data, 1, MPI_INT64_T, 0, 0, 2, MPI_INT64_T, window.win),
              "a get of two elements into one was taken");
    CHECK_OK(MPI_Win_unlock_all(window.win));
    check_intact();
}

/* ---- nothing to do ---- */

static void null_process_and_null_buffers(void)
{
    poison_window();
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Put(NULL, 0, MPI_BYTE, right_of_me(), 0, 0, MPI_BYTE, window.win));
    CHECK_OK(MPI_Get(NULL, 0, MPI_BYTE, right_of_me(), 0, 0, MPI_BYTE, window.win));
    /* A sum of bytes is no operation, which is no matter where there are none. */
    CHECK_OK(MPI_Accumulate(NULL, 0, MPI_BYTE, right_of_me(), 0, 0, MPI_BYTE, MPI_SUM, window.win));
    CHECK_OK(MPI_Get_accumulate(NULL, 0, MPI_BYTE, NULL, 0, MPI_BYTE, right_of_me(), 0, 0, MPI_BYTE,
                                MPI_SUM, window.win));
    CHECK_OK(MPI_Put(data, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window.win));
    CHECK_OK(MPI_Get(data, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    check_intact();
}

/* ---- accumulate-class and request-based operations ---- */

static void accumulate_operations(void)
{
    int64_t one = 1, result = 0, compare = 0;
    poison_window();
    CHECK_CLASS(MPI_ERR_RMA_SYNC,
                MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Get_accumulate(&one, 1, MPI_INT64_T, &result, 1, MPI_INT64_T,
                                                     0, 0, 1, MPI_INT64_T, MPI_SUM, window.win));
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_RANGE, MPI_Accumulate(&one, 1, MPI_INT64_T, 0, LENGTH, 1, MPI_INT64_T,
                                                  MPI_SUM, window.win));
    CHECK_CLASS(MPI_ERR_RMA_RANGE,
                MPI_Get_accumulate(&one, 1, MPI_INT64_T, &result, 1, MPI_INT64_T, 0, LENGTH, 1,
                                   MPI_INT64_T, MPI_SUM, window.win));
    CHECK_CLASS(MPI_ERR_RMA_RANGE,
                MPI_Fetch_and_op(&one, &result, MPI_INT64_T, 0, LENGTH, MPI_SUM, window.win));
    CHECK_CLASS(MPI_ERR_RMA_RANGE,
                MPI_Compare_and_swap(&one, &compare, &result, MPI_INT64_T, 0, LENGTH, window.win));
    CHECK_OK(MPI_Win_unlock_all(window.win));
    check_intact();
}

static void request_based_operations(void)
{
    int64_t one = 1, result = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    poison_window();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_RANGE,
                MPI_Rput(&one, 1, MPI_INT64_T, 0, LENGTH, 1, MPI_INT64_T, window.win, &request));
    CHECK_CLASS(MPI_ERR_RMA_RANGE,
                MPI_Rget(&result, 1, MPI_INT64_T, 0, LENGTH, 1, MPI_INT64_T, window.win, &request));
    CHECK(MPI_REQUEST_NULL == request);
    CHECK_CLASS(MPI_ERR_RMA_RANGE, MPI_Raccumulate(&one, 1, MPI_INT64_T, 0, LENGTH, 1, MPI_INT64_T,
                                                   MPI_SUM, window.win, &request));
    CHECK_CLASS(MPI_ERR_RMA_RANGE,
                MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &result, 1, MPI_INT64_T, 0, LENGTH, 1,
                                    MPI_INT64_T, MPI_SUM, window.win, &request));
    CHECK(MPI_REQUEST_NULL == request);
    CHECK_OK(MPI_Win_unlock_all(window.win));
    check_intact();
}

static void attaching_memory(void)
{
    static char memory[64];
    poison_window();
    CHECK_CLASS(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(window.win, memory, sizeof(memory)));
    CHECK_CLASS(MPI_ERR_RMA_FLAVOR, MPI_Win_detach(window.win, memory));
    check_intact();
}

/* ---- the handler ---- */

static int handler_calls;
static int handler_class;

static void note_call(MPI_Win *win, int *code, ...)
{
    ++handler_calls;
    handler_class = *win == window.win ? mt_class(*code) : -1;
}

static void errors_go_to_the_windows_handler(void)
{
    MPI_Errhandler handler;
    poison_window();
    CHECK_OK(MPI_Win_create_errhandler(note_call, &handler));
    CHECK_OK(MPI_Win_set_errhandler(window.win, handler));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, put_at(0, 1));
    CHECK_INT(1, handler_calls);
    CHECK_INT(MPI_ERR_RMA_SYNC, handler_class);
    CHECK_CLASS(MPI_ERR_RMA_SYNC,
                MPI_Accumulate(data, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, window.win));
    CHECK_INT(2, handler_calls);
    CHECK_OK(MPI_Win_set_errhandler(window.win, MPI_ERRORS_RETURN));
    CHECK_OK(MPI_Errhandler_free(&handler));
    check_intact();
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "rma_errors");
    if (mt_allocate(LENGTH, UNIT, MPI_COMM_WORLD, &window)) {
        MT_RUN(access_outside_an_epoch);
        MT_RUN(access_after_a_fence_and_another_epoch);
        MT_RUN(access_to_a_target_without_epoch);
        MT_RUN(end_without_beginning);
        MT_RUN(begin_within_a_lock);
        MT_RUN(begin_within_lock_all);
        MT_RUN(begin_within_post_and_start);
        MT_RUN(group_beyond_the_window);
        MT_RUN(access_beyond_the_window);
        MT_RUN(arguments_that_make_no_sense);
        MT_RUN(access_beyond_the_size_within_the_segment);
        MT_RUN(target_without_memory);
        MT_RUN(lengths_that_differ);
        MT_RUN(null_process_and_null_buffers);
        MT_RUN(accumulate_operations);
        MT_RUN(request_based_operations);
        MT_RUN(attaching_memory);
        MT_RUN(errors_go_to_the_windows_handler);
        mt_win_free(&window);
    }
    return mt_finish();
}
