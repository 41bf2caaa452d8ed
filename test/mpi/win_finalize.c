/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A program that leaves everything behind: MPI_Finalize finds live windows of all flavours, some of
 * communicators that are freed, with open epochs and locks that are held. What would go wrong here
 * is a hang, a crash or an error; windows that are freed with open epochs come first. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdlib.h>

static int64_t value = 7;

static int right_of_me(void)
{
    return (mt_rank + 1) % mt_size;
}

static bool allocate(MPI_Comm comm, mt_win_t *w)
{
    return mt_allocate(1000, 8, comm, w);
}

/* A window of the same shape, which may take over the segments, is as good as new. */
static void check_new_window(void)
{
    mt_win_t w;
    int64_t got = 0;
    MPI_Group world;
    if (!allocate(MPI_COMM_WORLD, &w)) {
        return;
    }
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right_of_me(), 0, w.win));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, right_of_me(), 3, 1, MPI_INT64_T, w.win));
    CHECK_OK(MPI_Win_unlock(right_of_me(), w.win));
    CHECK_OK(MPI_Win_lock_all(0, w.win));
    CHECK_OK(MPI_Win_unlock_all(w.win));
    mt_barrier();
    mt_read(&got, w.base + 24, sizeof(got));
    CHECK_INT(value, got);
    /* An epoch must wait for its own posts and completions, not find old ones. */
    for (int i = 0; i < 3; ++i) {
        int64_t number = 100 * i + mt_rank;
        if (0 == mt_rank) {
            mt_sleep_ms(30);
        }
        mt_write(w.base + 8, &number, sizeof(number));
        CHECK_OK(MPI_Win_post(world, 0, w.win));
        CHECK_OK(MPI_Win_start(world, 0, w.win));
        CHECK_OK(MPI_Get(&got, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, w.win));
        CHECK_OK(MPI_Win_complete(w.win));
        CHECK_OK(MPI_Win_wait(w.win));
        CHECK_INT(100 * i, got);
    }
    CHECK_OK(MPI_Group_free(&world));
    mt_win_free(&w);
}

static void freed_with_a_lock_held(void)
{
    mt_win_t w;
    for (int kind = 0; kind < 3; ++kind) {
        mt_context("kind %d", kind);
        if (allocate(MPI_COMM_WORLD, &w)) {
            if (0 == mt_rank && 0 == kind) {
                CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt_size - 1, 0, w.win));
            } else if (0 == mt_rank && 1 == kind) {
                CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w.win));
            } else if (2 == kind) {
                CHECK_OK(MPI_Win_lock_all(0, w.win));
            }
            mt_win_free(&w);
            check_new_window();
        }
    }
}

static void freed_with_posts_that_nobody_took(void)
{
    mt_win_t w;
    MPI_Group world;
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    if (allocate(MPI_COMM_WORLD, &w)) {
        CHECK_OK(MPI_Win_post(world, 0, w.win));
        mt_win_free(&w);
        check_new_window();
    }
    if (allocate(MPI_COMM_WORLD, &w)) {
        CHECK_OK(MPI_Win_post(world, 0, w.win));
        CHECK_OK(MPI_Win_start(world, 0, w.win));
        mt_barrier();
        if (0 == mt_rank) {
            CHECK_OK(MPI_Win_complete(w.win));
        }
        mt_win_free(&w);
        check_new_window();
    }
    CHECK_OK(MPI_Group_free(&world));
}

/* ---- what stays ---- */

static int64_t memory[128];
static mt_win_t allocated, shared;
static MPI_Win created, dynamic, of_freed_comm;

static void leave_windows(void)
{
    MPI_Comm comm;
    MPI_Group world;
    mt_win_t w;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    if (!allocate(MPI_COMM_WORLD, &allocated) ||
        !mt_allocate_shared(1000, 8, false, MPI_COMM_WORLD, &shared) || !allocate(comm, &w)) {
        return;
    }
    of_freed_comm = w.win;
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_OK(MPI_Win_create(memory, sizeof(memory), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &created));
    CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
    CHECK_OK(MPI_Win_attach(dynamic, memory, sizeof(memory)));
    mt_barrier();
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, right_of_me(), 0, allocated.win));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, right_of_me(), 1, 1, MPI_INT64_T, allocated.win));
    CHECK_OK(MPI_Win_lock_all(0, of_freed_comm));
    CHECK_OK(MPI_Win_post(world, 0, shared.win));
    CHECK_OK(MPI_Win_fence(0, created));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, right_of_me(), 1, 1, MPI_INT64_T, created));
    if (0 == mt_rank) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mt_size - 1, 0, dynamic));
    }
    CHECK_OK(MPI_Group_free(&world));
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "win_finalize");
    MT_RUN(freed_with_a_lock_held);
    MT_RUN(freed_with_posts_that_nobody_took);
    MT_RUN(leave_windows);
    return mt_finish();
}
