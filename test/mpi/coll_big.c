/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Data movements and reductions of more than 2^31 bytes: a broadcast, an all-gather whose output is
 * that large, and in-place reductions. Samples are compared, among them those around 2^31, where a
 * count that is cut shows. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB     ((size_t) 1 << 20)
#define BIG     ((size_t) 2052 * MIB) /* a little more than 2^31 */
#define SAMPLE  ((size_t) 4096)
#define SAMPLES 9

static mt_win_t window;

/* Where samples are taken in len bytes. */
static size_t sample_at(int i, size_t len)
{
    const size_t gib = (size_t) 1 << 30;
    const size_t at[SAMPLES] = {0,           12345678,      gib - SAMPLE / 2, 2 * gib - SAMPLE,
                                2 * gib - 8, 2 * gib + 100, len / 3,          len / 2 + 777,
                                len - SAMPLE};
    return at[i] + SAMPLE <= len ? at[i] : len - SAMPLE;
}

static void fill_samples(char *at, size_t len, uint64_t seed)
{
    for (int i = 0; i < SAMPLES; ++i) {
        mt_fill(at + sample_at(i, len), SAMPLE, seed + (uint64_t) sample_at(i, len));
    }
}

static void poison_samples(char *at, size_t len)
{
    for (int i = 0; i < SAMPLES; ++i) {
        mt_poison(at + sample_at(i, len), SAMPLE);
    }
}

/* Samples overlap where they are next to each other, so the last one filled is what is there. */
static void check_samples(const char *at, size_t len, uint64_t seed)
{
    for (int i = SAMPLES - 1; 0 <= i; --i) {
        bool covered = false;
        for (int later = i + 1; later < SAMPLES; ++later) {
            size_t a = sample_at(i, len), b = sample_at(later, len);
            covered = covered || (a < b + SAMPLE && b < a + SAMPLE);
        }
        if (!covered) {
            CHECK_PATTERN(at + sample_at(i, len), SAMPLE, seed + (uint64_t) sample_at(i, len));
        }
    }
}

static void broadcast(void)
{
    MPI_Datatype mebibyte;
    CHECK_OK(MPI_Type_contiguous((int) MIB, MPI_BYTE, &mebibyte));
    CHECK_OK(MPI_Type_commit(&mebibyte));
    poison_samples(window.base, BIG);
    if (1 == mt_rank) {
        fill_samples(window.base, BIG, 77);
    }
    mt_barrier();
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Bcast(window.base, (int) (BIG / MIB), mebibyte, 1, MPI_COMM_WORLD));
    CHECK_SERVED(&before, "copy_");
    check_samples(window.base, BIG, 77);
    CHECK_OK(MPI_Type_free(&mebibyte));
}

/* Each rank has its part of the output in place. */
static void allgather_in_place(void)
{
    size_t part = BIG / (size_t) mt_size / sizeof(int) * sizeof(int);
    for (int r = 0; r < mt_size; ++r) {
        poison_samples(window.base + (size_t) r * part, part);
    }
    fill_samples(window.base + (size_t) mt_rank * part, part, (uint64_t) mt_rank + 5);
    mt_barrier();
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, window.base, (int) (part / sizeof(int)),
                           MPI_INT, MPI_COMM_WORLD));
    CHECK_SERVED(&before, "copy_");
    for (int r = 0; r < mt_size; ++r) {
        check_samples(window.base + (size_t) r * part, part, (uint64_t) r + 5);
    }
}

/* ---- reductions of 64-bit integers ---- */

#define NUMBERS (SAMPLE / sizeof(uint64_t))
#define POINTS  6

/* Where numbers are looked at: bytes, apart from one another, the fourth around 2^31. */
static size_t point(int i)
{
    const size_t gib = (size_t) 1 << 30;
    const size_t at[POINTS] = {0, 12345680, gib - 2048, 2 * gib - 2048, BIG / 3, BIG - SAMPLE};
    return at[i] / sizeof(uint64_t) * sizeof(uint64_t);
}

static uint64_t seed_of(int rank, int i, uint64_t round)
{
    return mt_seed(rank, round * POINTS + (uint64_t) i);
}

static void fill_points(uint64_t round)
{
    for (int i = 0; i < POINTS; ++i) {
        mt_fill(window.base + point(i), SAMPLE, seed_of(mt_rank, i, round));
    }
    mt_barrier();
}

/* Checks the sums over all ranks of what was at point i, which are at `at` now. */
static void check_point(int i, uint64_t round, const char *at)
{
    uint64_t sums[NUMBERS] = {0}, theirs[NUMBERS], got[NUMBERS];
    for (int r = 0; r < mt_size; ++r) {
        mt_pattern(theirs, SAMPLE, seed_of(r, i, round));
        for (size_t k = 0; k < NUMBERS; ++k) {
            sums[k] += theirs[k];
        }
    }
    mt_read(got, at, SAMPLE);
    CHECK_MSG(0 == memcmp(sums, got, SAMPLE), "the sums at byte %zu are wrong", point(i));
}

static void allreduce_in_place(void)
{
    fill_points(1);
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, window.base, (int) (BIG / sizeof(uint64_t)), MPI_UINT64_T,
                           MPI_SUM, MPI_COMM_WORLD));
    CHECK_SERVED(&before, "two_shot");
    for (int i = 0; i < POINTS; ++i) {
        check_point(i, 1, window.base + point(i));
    }
}

static void reduce_in_place(void)
{
    const void *input = 1 == mt_rank ? MPI_IN_PLACE : window.base;
    fill_points(2);
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Reduce(input, window.base, (int) (BIG / sizeof(uint64_t)), MPI_UINT64_T, MPI_SUM,
                        1, MPI_COMM_WORLD));
    CHECK_SERVED(&before, NULL);
    for (int i = 0; i < POINTS && 1 == mt_rank; ++i) {
        check_point(i, 2, window.base + point(i));
    }
}

/* The second rank's part is what goes beyond 2^31. */
static void reduce_scatter_in_place(void)
{
    const size_t part = BIG / 2;
    size_t first = (size_t) mt_rank * part;
    fill_points(3);
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, window.base, (int) (part / sizeof(uint64_t)),
                                      MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    CHECK_SERVED(&before, NULL);
    for (int i = 0; i < POINTS; ++i) {
        if (first <= point(i) && point(i) + SAMPLE <= first + part) {
            check_point(i, 3, window.base + point(i) - first);
        }
    }
}

/* Whether this host has room for both windows and as much again; the fake driver's GPUs have their
 * memory there, too. */
static bool has_room(void)
{
    unsigned long long pages = (unsigned long long) sysconf(_SC_AVPHYS_PAGES);
    unsigned long long page = (unsigned long long) sysconf(_SC_PAGESIZE);
    return pages * page > 4ull * BIG;
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "coll_big");
    if (2 != mt_size) {
        mt_skip("two ranks show it");
    }
    if (!mt_all(has_room())) {
        mt_skip("less than 8 GiB of memory are free");
    }
    if (mt_allocate(BIG, 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(broadcast);
        MT_RUN(allgather_in_place);
        MT_RUN(allreduce_in_place);
        MT_RUN(reduce_in_place);
        MT_RUN(reduce_scatter_in_place);
        mt_win_free(&window);
    }
    return mt_finish();
}
