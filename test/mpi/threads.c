/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Several threads of a process at once: on windows of their own, on one window together, and while
 * windows come and go beside them. */
#include "symm_config.h"

#include "mpi_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4

/* What a thread is given. */
typedef struct job {
    int thread;
    MPI_Comm comm;          /* the thread's own */
    mt_win_t window;        /* on comm */
    const mt_win_t *shared; /* one window of all threads */
    void (*work)(struct job *job);
} job_t;

static MPI_Comm comms[THREADS];

static void *enter(void *argument)
{
    job_t *job = argument;
    mt_enter_thread();
    job->work(job);
    return NULL;
}

/* Runs work in all threads and waits for them. */
static void in_threads(void (*work)(job_t *), const mt_win_t *shared)
{
    pthread_t threads[THREADS];
    job_t jobs[THREADS];
    for (int t = 0; t < THREADS; ++t) {
        jobs[t] = (job_t){.thread = t, .comm = comms[t], .shared = shared, .work = work};
        CHECK(0 == pthread_create(&threads[t], NULL, enter, &jobs[t]));
    }
    for (int t = 0; t < THREADS; ++t) {
        CHECK(0 == pthread_join(threads[t], NULL));
    }
}

static int rounds(int many)
{
    return 2 >= mt_size ? many : many / 5;
}

/* ---- windows of their own ---- */

static void put_ring(const job_t *job, uint64_t seed_base)
{
    unsigned char data[500];
    int right = (mt_rank + 1) % mt_size;
    int left = (mt_rank + mt_size - 1) % mt_size;
    MPI_Win win = job->window.win;
    mt_pattern(data, sizeof(data), mt_seed(mt_rank, seed_base));
    CHECK_OK(MPI_Win_fence(0, win));
    CHECK_OK(MPI_Put(data, sizeof(data), MPI_BYTE, right, 0, sizeof(data), MPI_BYTE, win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_PATTERN(job->window.base, sizeof(data), mt_seed(left, seed_base));
}

static void make_use_free(job_t *job)
{
    for (int i = 0; i < rounds(60); ++i) {
        size_t size = 1000 + 5000 * (size_t) ((i + job->thread) % 3);
        mt_context("thread %d, round %d", job->thread, i);
        if (mt_allocate(size, 1, job->comm, &job->window)) {
            put_ring(job, (uint64_t) (i * THREADS + job->thread));
            mt_win_free(&job->window);
        }
    }
}

static void windows_made_and_freed_at_once(void)
{
    symm_stats_t before = mt_stats();
    in_threads(make_use_free, NULL);
    symm_stats_t after = mt_stats();
    CHECK_INT(THREADS * rounds(60), after.windows_created - before.windows_created);
    CHECK_INT(THREADS * rounds(60), after.windows_freed - before.windows_freed);
}

static void reduce_and_gather(const job_t *job, int i)
{
    enum { COUNT = 3000 };
    int numbers[COUNT], *sums = numbers;
    char *send = job->window.base;
    char *recv = send + sizeof(numbers);
    for (int k = 0; k < COUNT; ++k) {
        numbers[k] = i + k * (job->thread + 1) + mt_rank;
    }
    mt_write(send, numbers, sizeof(numbers));
    CHECK_OK(MPI_Allreduce(send, recv, COUNT, MPI_INT, MPI_SUM, job->comm));
    mt_read(sums, recv, sizeof(numbers));
    bool right = true;
    for (int k = 0; k < COUNT; ++k) {
        right =
            right && sums[k] == mt_size * (i + k * (job->thread + 1)) + mt_size * (mt_size - 1) / 2;
    }
    CHECK_MSG(right, "a sum is wrong");
    mt_fill(send, 2000, mt_seed(mt_rank, (uint64_t) i));
    CHECK_OK(MPI_Allgather(send, 2000, MPI_BYTE, recv, 2000, MPI_BYTE, job->comm));
    for (int r = 0; r < mt_size; ++r) {
        CHECK_PATTERN(recv + 2000 * r, 2000, mt_seed(r, (uint64_t) i));
    }
}

static pthread_barrier_t all_threads;
static symm_stats_t at_start;

/* Threads wait for each other; the first one then checks how many collectives there have been. */
static void count_collectives(const job_t *job, int expected)
{
    (void) pthread_barrier_wait(&all_threads);
    if (0 == job->thread) {
        at_start = 0 == expected ? mt_stats() : at_start;
        CHECK_INT(expected, mt_stats().collectives - at_start.collectives);
    }
    (void) pthread_barrier_wait(&all_threads);
}

static void collectives(job_t *job)
{
    size_t size = (size_t) 12000 + 12000 + 2000 * (size_t) mt_size;
    bool made = mt_allocate(size, 1, job->comm, &job->window);
    count_collectives(job, 0);
    for (int i = 0; made && i < rounds(100); ++i) {
        mt_context("thread %d, round %d", job->thread, i);
        reduce_and_gather(job, i);
    }
    count_collectives(job, 2 * THREADS * rounds(100));
    if (made) {
        mt_win_free(&job->window);
    }
}

static void collectives_on_communicators_of_their_own(void)
{
    CHECK(0 == pthread_barrier_init(&all_threads, NULL, THREADS));
    in_threads(collectives, NULL);
    CHECK(0 == pthread_barrier_destroy(&all_threads));
}

/* ---- one window together ---- */

#define SLOT 3000 /* bytes of a thread of a rank in every rank's memory */

static MPI_Aint slot_of(int rank, int thread)
{
    return (MPI_Aint) (rank * THREADS + thread) * SLOT;
}

/* Puts to a slot of its own and gets it back, within one epoch that all threads share. */
static void put_and_get(job_t *job)
{
    unsigned char out[SLOT], in[SLOT];
    for (int i = 0; i < rounds(200); ++i) {
        int target = (mt_rank + i) % mt_size;
        int len = 0 == i % 2 ? 8 : SLOT;
        uint64_t seed = mt_seed(mt_rank, (uint64_t) (i * THREADS + job->thread));
        MPI_Aint slot = slot_of(mt_rank, job->thread);
        mt_context("thread %d, round %d", job->thread, i);
        mt_pattern(out, (size_t) len, seed);
        memset(in, 0, sizeof(in));
        CHECK_OK(MPI_Put(out, len, MPI_BYTE, target, slot, len, MPI_BYTE, job->shared->win));
        CHECK_OK(MPI_Win_flush(target, job->shared->win));
        CHECK_OK(MPI_Get(in, len, MPI_BYTE, target, slot, len, MPI_BYTE, job->shared->win));
        CHECK_OK(MPI_Win_flush_local(target, job->shared->win));
        CHECK_PATTERN(in, (size_t) len, seed);
    }
}

static void one_epoch_of_many_threads(void)
{
    mt_win_t w;
    if (!mt_allocate((size_t) slot_of(mt_size, 0), 1, MPI_COMM_WORLD, &w)) {
        return;
    }
    CHECK_OK(MPI_Win_lock_all(0, w.win));
    in_threads(put_and_get, &w);
    CHECK_OK(MPI_Win_unlock_all(w.win));
    mt_win_free(&w);
}

/* The same on memory of the program's own, in windows of both flavours. */
static void one_epoch_on_memory_of_ones_own(void)
{
    mt_memory_t memory = SYMM_KIND_CUDA_DEVICE == mt_kind ? MT_DEVICE : MT_HOST;
    mt_win_t w = {.size = (size_t) slot_of(mt_size, 0), .disp_unit = 1};
    MPI_Info info = mt_info();
    w.base = mt_alloc(memory, w.size);
    if (CHECK_OK(MPI_Win_create(w.base, (MPI_Aint) w.size, 1, info, MPI_COMM_WORLD, &w.win))) {
        CHECK_OURS(w.win);
        CHECK_OK(MPI_Win_lock_all(0, w.win));
        in_threads(put_and_get, &w);
        CHECK_OK(MPI_Win_unlock_all(w.win));
        CHECK_OK(MPI_Win_free(&w.win));
    }
    mt_free(memory, w.base);
    CHECK_OK(MPI_Info_free(&info));
}

/* Every thread attaches memory and detaches it again, while the others use theirs. */
static void attach_and_detach(job_t *job)
{
    char *own = job->shared->base + (size_t) job->thread * SLOT;
    for (int i = 0; i < rounds(100); ++i) {
        int64_t out = 1000 * i + job->thread, in = 0;
        MPI_Aint address;
        mt_context("thread %d, round %d", job->thread, i);
        CHECK_OK(MPI_Win_attach(job->shared->win, own, SLOT));
        CHECK_OK(MPI_Get_address(own + 8 * i, &address));
        CHECK_OK(MPI_Put(&out, 8, MPI_BYTE, mt_rank, address, 8, MPI_BYTE, job->shared->win));
        CHECK_OK(MPI_Win_flush(mt_rank, job->shared->win));
        CHECK_OK(MPI_Get(&in, 8, MPI_BYTE, mt_rank, address, 8, MPI_BYTE, job->shared->win));
        CHECK_OK(MPI_Win_flush(mt_rank, job->shared->win));
        CHECK_INT(out, in);
        CHECK_OK(MPI_Win_detach(job->shared->win, own));
    }
}

static void attaching_in_many_threads(void)
{
    mt_memory_t memory = SYMM_KIND_CUDA_DEVICE == mt_kind ? MT_DEVICE : MT_HOST;
    mt_win_t w = {.size = (size_t) THREADS * SLOT, .disp_unit = 1};
    MPI_Info info = mt_info();
    w.base = mt_alloc(memory, w.size);
    if (CHECK_OK(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &w.win))) {
        CHECK_OURS(w.win);
        CHECK_OK(MPI_Win_lock_all(0, w.win));
        in_threads(attach_and_detach, &w);
        CHECK_OK(MPI_Win_unlock_all(w.win));
        CHECK_OK(MPI_Win_free(&w.win));
    }
    mt_free(memory, w.base);
    CHECK_OK(MPI_Info_free(&info));
}

/* The first thread reduces in one part of the window while the others put and get in another. */
static void reduce_or_put(job_t *job)
{
    if (0 != job->thread) {
        put_and_get(job);
        return;
    }
    job_t mine = *job;
    mine.comm = MPI_COMM_WORLD;
    mine.window = *job->shared;
    mine.window.base += slot_of(mt_size, 0);
    for (int i = 0; i < rounds(100); ++i) {
        mt_context("collectives, round %d", i);
        reduce_and_gather(&mine, i);
    }
}

static void operations_beside_collectives(void)
{
    mt_win_t w;
    size_t size = (size_t) slot_of(mt_size, 0) + 24000 + 2000 * (size_t) mt_size;
    if (!mt_allocate(size, 1, MPI_COMM_WORLD, &w)) {
        return;
    }
    CHECK_OK(MPI_Win_lock_all(0, w.win));
    in_threads(reduce_or_put, &w);
    CHECK_OK(MPI_Win_unlock_all(w.win));
    mt_win_free(&w);
}

/* Each thread locks targets that no other thread of its rank locks at the time. */
static void lock_its_targets(job_t *job)
{
    for (int i = 0; i < rounds(100); ++i) {
        for (int target = job->thread; target < mt_size; target += THREADS) {
            int64_t value = -1;
            MPI_Win win = job->shared->win;
            mt_context("thread %d, round %d, target %d", job->thread, i, target);
            CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
            CHECK_OK(MPI_Get(&value, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win));
            CHECK_OK(MPI_Win_flush(target, win));
            ++value;
            CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win));
            CHECK_OK(MPI_Win_unlock(target, win));
        }
    }
}

static void locks_of_different_targets(void)
{
    mt_win_t w;
    int64_t count = 0;
    if (!mt_allocate(64, 8, MPI_COMM_WORLD, &w)) {
        return;
    }
    mt_write(w.base, &count, sizeof(count));
    mt_barrier();
    in_threads(lock_its_targets, &w);
    mt_barrier();
    mt_read(&count, w.base, sizeof(count));
    CHECK_INT(mt_size * rounds(100), count);
    mt_win_free(&w);
}

/* ---- looking while others change ---- */

static atomic_bool stop;

static void look_or_change(job_t *job)
{
    if (0 == job->thread) {
        make_use_free(job);
        atomic_store(&stop, true);
        return;
    }
    while (!atomic_load(&stop)) {
        MPI_Win found = MPI_WIN_NULL;
        int mine;
        CHECK_OK(symm_pointer_query(job->shared->base + job->thread, 10, &found));
        CHECK(job->shared->win == found);
        CHECK_INT(MPI_ERR_BASE, symm_pointer_query(&mine, sizeof(mine), &found));
        mt_sleep_ms(0);
    }
}

static void windows_are_found_while_others_come_and_go(void)
{
    mt_win_t w;
    atomic_store(&stop, false);
    if (mt_allocate(100, 1, MPI_COMM_WORLD, &w)) {
        in_threads(look_or_change, &w);
        mt_win_free(&w);
    }
}

static void see_own_plan(job_t *job)
{
    char plan[SYMM_PLAN_TEXT_MAX];
    CHECK_OK(symm_plan_query(plan, sizeof(plan)));
    CHECK_MSG(0 == strcmp("none", plan), "a new thread's latest plan is \"%s\"", plan);
    if (mt_allocate(1000, 1, job->comm, &job->window)) {
        char expected[64];
        int len = 8 * (job->thread + 1);
        CHECK_OK(MPI_Allreduce(job->window.base, job->window.base + 100, len, MPI_BYTE, MPI_BOR,
                               job->comm));
        CHECK_OK(symm_plan_query(plan, sizeof(plan)));
        (void) snprintf(expected, sizeof(expected), "allreduce %d B u8 bor: ", len);
        CHECK_MSG(0 == strncmp(expected, plan, strlen(expected)), "the latest plan is \"%s\"",
                  plan);
        mt_win_free(&job->window);
    }
}

static void each_thread_sees_its_own_plan(void)
{
    in_threads(see_own_plan, NULL);
}

int main(int argc, char **argv)
{
    mt_init_threads(&argc, &argv, "threads");
    for (int t = 0; t < THREADS; ++t) {
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
    }
    MT_RUN(windows_made_and_freed_at_once);
    MT_RUN(collectives_on_communicators_of_their_own);
    MT_RUN(one_epoch_of_many_threads);
    MT_RUN(one_epoch_on_memory_of_ones_own);
    MT_RUN(attaching_in_many_threads);
    MT_RUN(operations_beside_collectives);
    MT_RUN(locks_of_different_targets);
    MT_RUN(windows_are_found_while_others_come_and_go);
    MT_RUN(each_thread_sees_its_own_plan);
    for (int t = 0; t < THREADS; ++t) {
        CHECK_OK(MPI_Comm_free(&comms[t]));
    }
    return mt_finish();
}
