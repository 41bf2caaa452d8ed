/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Data movements of more than 2^31 bytes: a broadcast, and an all-gather whose output is that
 * large. Samples are compared, among them those around 2^31 and 2^32, where a count that is cut
 * shows. */
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
        mt_win_free(&window);
    }
    return mt_finish();
}
