/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A thousand windows made and freed: what the process holds stays flat. win_leak_nocache.c does the
 * same without the cache of freed segments; win_cache.c looks at the cache itself. */
#include "symm_config.h"

#include "mpi_test.h"

#ifdef WIN_LEAK_NOCACHE
#    define NAME "win_leak_nocache"
#else
#    define NAME "win_leak"
#endif

/* Growth of the resident set that the rounds may show: Open MPI's own free lists and attributes.
 * One leaked page a round would be four times as much in a thousand rounds. A sanitizer keeps what
 * was freed for a while, to see whether it is used again. */
#ifdef __SANITIZE_ADDRESS__
#    define RESIDENT_SLACK_KIB (64 << 10)
#else
#    define RESIDENT_SLACK_KIB 1000
#endif

/* A window that comes from the cache is made in microseconds, another one in milliseconds, and in
 * tens of them where ranks share cores. */
static int rounds(void)
{
#ifdef WIN_LEAK_NOCACHE
    return 1 == mt_size ? 1000 : 2 == mt_size ? 400 : 100;
#else
    return 1000;
#endif
}

static int few_rounds(void)
{
    return rounds() / 5;
}

/* Makes a window, uses its last byte, and frees it. size_of is every rank's size in this round. */
static void one_round(int round, size_t (*size_of)(int, int), bool shared)
{
    mt_win_t w;
    size_t size = size_of(round, mt_rank);
    int right = (mt_rank + 1) % mt_size;
    mt_context("round %d, %zu bytes", round, size);
    bool made = shared ? mt_allocate_shared(size, 1, false, MPI_COMM_WORLD, &w)
                       : mt_allocate(size, 1, MPI_COMM_WORLD, &w);
    if (!made) {
        return;
    }
    unsigned char mark = (unsigned char) round;
    unsigned char got = (unsigned char) ~mark;
    CHECK_OK(MPI_Win_fence(0, w.win));
    CHECK_OK(MPI_Put(&mark, 1, MPI_BYTE, right, (MPI_Aint) size_of(round, right) - 1, 1, MPI_BYTE,
                     w.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
    mt_read(&got, w.base + size - 1, 1);
    CHECK_INT(mark, got);
    mt_win_free(&w);
}

/* Runs the rounds after a warm-up of the same sizes, and compares. */
static void rounds_are_flat(int count, size_t (*size_of)(int, int), bool shared)
{
    for (int i = 0; i < count / 4; ++i) {
        one_round(i, size_of, shared);
    }
    mt_barrier();
    mt_resources_t before = mt_resources();
    for (int i = 0; i < count; ++i) {
        one_round(i, size_of, shared);
    }
    mt_context("after %d rounds", count);
    mt_barrier();
    CHECK_RESOURCES(&before, 8);
    long grown = mt_resources().resident_kib - before.resident_kib;
    CHECK_MSG(grown < RESIDENT_SLACK_KIB, "the resident set grew by %ld KiB", grown);
}

static size_t same_size(int round, int rank)
{
    (void) round;
    (void) rank;
    return 20000;
}

static size_t varying_size(int round, int rank)
{
    static const size_t sizes[] = {1, 4096, 70000, 300, 1000000};
    (void) rank;
    return sizes[round % 5];
}

/* What the ranks ask for differs, so what one of them evicts from its cache another might keep. */
static size_t unequal_size(int round, int rank)
{
    return (size_t) (1 + (round * 7 + rank * 3) % 5) * 10000;
}

static void windows_of_one_size(void)
{
    rounds_are_flat(rounds(), same_size, false);
}

static void windows_of_varying_sizes(void)
{
    rounds_are_flat(few_rounds(), varying_size, false);
}

static void windows_of_unequal_sizes(void)
{
    rounds_are_flat(few_rounds(), unequal_size, false);
}

/* The smallest ones lie in one page, which the first rank owns: the others have no memory to free.
 */
static void shared_windows(void)
{
    rounds_are_flat(few_rounds(), varying_size, true);
}

static void communicators_with_a_window_each(void)
{
    mt_resources_t before = {0};
    for (int i = 0; i < 50; ++i) {
        MPI_Comm comm;
        mt_win_t w;
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        if (mt_allocate(5000, 1, comm, &w)) {
            mt_win_free(&w);
        }
        CHECK_OK(MPI_Comm_free(&comm));
        if (9 == i) {
            before = mt_resources();
        }
    }
    CHECK_RESOURCES(&before, 8);
}

int main(int argc, char **argv)
{
#ifdef WIN_LEAK_NOCACHE
    mt_set_param("osc_symm_cache_bytes", "0");
#endif
    mt_init(&argc, &argv, NAME);
    MT_RUN(windows_of_one_size);
    MT_RUN(windows_of_varying_sizes);
    MT_RUN(windows_of_unequal_sizes);
    MT_RUN(shared_windows);
    MT_RUN(communicators_with_a_window_each);
    return mt_finish();
}
