/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The cache of freed segments: when a window comes from it, that such a window is like any other,
 * and that what it keeps is bounded on every rank. */
#include "symm_config.h"

#include "mpi_test.h"

/* Two windows of KEPT bytes a rank fit the cache, on the host and in a GPU's granules of 2 MiB. */
#define CACHE_BYTES      (8 << 20)
#define CACHE_BYTES_TEXT "8388608"
#define KEPT             ((size_t) 3 << 20)

/* Makes and frees a window. Returns whether it came from the cache; the same on all ranks. */
static bool from_cache(size_t size, bool shared, MPI_Comm comm)
{
    mt_win_t w;
    symm_stats_t before = mt_stats();
    bool made =
        shared ? mt_allocate_shared(size, 1, false, comm, &w) : mt_allocate(size, 1, comm, &w);
    uint64_t taken = mt_stats().windows_from_cache - before.windows_from_cache;
    if (made) {
        mt_win_free(&w);
    }
    CHECK_SAME(taken);
    return 0 < taken;
}

/* A communicator of the world with an empty cache. */
static MPI_Comm new_comm(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    return comm;
}

static void same_shape_comes_from_the_cache(void)
{
    MPI_Comm comm = new_comm();
    CHECK(!from_cache(10000, false, comm));
    for (int i = 0; i < 5; ++i) {
        CHECK(from_cache(10000, false, comm));
    }
    CHECK_OK(MPI_Comm_free(&comm));
}

static void other_shape_does_not(void)
{
    MPI_Comm comm = new_comm();
    CHECK(!from_cache(10000, false, comm));
    CHECK(!from_cache(10001, false, comm));
    CHECK(!from_cache(10000, true, comm));
    CHECK(!from_cache(10000, false, MPI_COMM_WORLD));
    CHECK_OK(MPI_Comm_free(&comm));
}

/* One rank whose size differs makes another shape on all. */
static void shape_of_one_rank_counts(void)
{
    MPI_Comm comm = new_comm();
    CHECK(!from_cache(10000, false, comm));
    CHECK(!from_cache(mt_rank == mt_size - 1 ? 20000 : 10000, false, comm));
    CHECK(from_cache(10000, false, comm));
    CHECK_OK(MPI_Comm_free(&comm));
}

static void live_window_is_not_taken_over(void)
{
    MPI_Comm comm = new_comm();
    mt_win_t w;
    if (mt_allocate(10000, 1, comm, &w)) {
        mt_fill(w.base, w.size, mt_seed(mt_rank, 1));
        CHECK(!from_cache(10000, false, comm));
        CHECK(from_cache(10000, false, comm));
        CHECK_PATTERN(w.base, w.size, mt_seed(mt_rank, 1));
        mt_win_free(&w);
    }
    CHECK_OK(MPI_Comm_free(&comm));
}

static void oldest_is_evicted_first(void)
{
    MPI_Comm comm = new_comm();
    CHECK(!from_cache(KEPT, false, comm));
    CHECK(!from_cache(KEPT + 1, false, comm));
    CHECK(!from_cache(KEPT + 2, false, comm)); /* drives out the first */
    CHECK(from_cache(KEPT + 1, false, comm));
    CHECK(from_cache(KEPT + 2, false, comm));
    CHECK(!from_cache(KEPT, false, comm));
    CHECK_OK(MPI_Comm_free(&comm));
}

static void too_large_is_not_kept(void)
{
    MPI_Comm comm = new_comm();
    CHECK(!from_cache(1000, false, comm));
    mt_resources_t before = mt_resources();
    CHECK(!from_cache(2 * CACHE_BYTES, false, comm));
    CHECK_RESOURCES(&before, 8);
    CHECK(!from_cache(2 * CACHE_BYTES, false, comm));
    CHECK(from_cache(1000, false, comm)); /* nothing was evicted for its sake */
    CHECK_OK(MPI_Comm_free(&comm));
}

/* A freed window's memory is given back when one rank's share is too large to keep: a peer that
 * kept its own small share would keep the mapping, and with it the large one's memory. */
static void peers_memory_is_given_back(void)
{
    MPI_Comm comm = new_comm();
    mt_win_t w;
    if (mt_allocate(1000, 1, comm, &w)) {
        mt_win_free(&w);
    }
    mt_resources_t before = mt_resources();
    for (int i = 0; i < 5; ++i) {
        size_t size = 0 == mt_rank ? (size_t) (2 * CACHE_BYTES + i) : 100;
        CHECK(!from_cache(size, false, comm));
        CHECK(!from_cache(size, true, comm));
    }
    mt_resources_t after = mt_resources();
    uint64_t bound = before.symm_bytes + (uint64_t) CACHE_BYTES * (uint64_t) mt_size;
    CHECK_MSG(after.symm_bytes <= bound, "%llu bytes of shared memory are mapped, before %llu",
              (unsigned long long) after.symm_bytes, (unsigned long long) before.symm_bytes);
    CHECK_OK(MPI_Comm_free(&comm));
}

static void communicator_takes_its_cache_along(void)
{
    mt_resources_t before = mt_resources();
    MPI_Comm comm = new_comm();
    for (size_t i = 0; i < 5; ++i) {
        CHECK(!from_cache(1000 + i, false, comm));
    }
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_RESOURCES(&before, 8);
}

static void window_that_outlives_its_communicator_is_not_kept(void)
{
    mt_resources_t before = mt_resources();
    MPI_Comm comm = new_comm();
    mt_win_t w;
    bool made = mt_allocate(1000, 1, comm, &w);
    CHECK_OK(MPI_Comm_free(&comm));
    if (made) {
        mt_win_free(&w);
    }
    CHECK_RESOURCES(&before, 8);
}

static void check_window(size_t size, bool shared, int disp_unit, uint64_t round)
{
    mt_win_t w;
    bool made = shared ? mt_allocate_shared(size, disp_unit, false, MPI_COMM_WORLD, &w)
                       : mt_allocate(size, disp_unit, MPI_COMM_WORLD, &w);
    if (!made) {
        return;
    }
    MPI_Aint *found_size;
    int *found_unit, found = 0;
    CHECK_OK(MPI_Win_get_attr(w.win, MPI_WIN_SIZE, &found_size, &found));
    CHECK(found && (MPI_Aint) size == *found_size);
    CHECK_OK(MPI_Win_get_attr(w.win, MPI_WIN_DISP_UNIT, &found_unit, &found));
    CHECK(found && disp_unit == *found_unit);
    mt_fill(w.base, size, mt_seed(mt_rank, round));
    mt_barrier();
    for (int r = 0; r < mt_size; ++r) {
        CHECK_PATTERN(mt_peer(&w, r), size, mt_seed(r, round));
    }
    mt_barrier();
    mt_win_free(&w);
}

/* Sizes that round to the same segment, units that differ, and both shapes: each is as asked for.
 */
static void window_from_the_cache_is_as_asked(void)
{
    for (uint64_t round = 0; round < 3; ++round) {
        check_window(5000, false, 1, round);
        check_window(5000, false, 8, round + 10);
        check_window(5001, false, 1, round + 20);
        check_window(5000, true, 1, round + 30);
        check_window(5008, true, 4, round + 40);
    }
}

static void use_every_epoch(const mt_win_t *w, MPI_Group world)
{
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Put("a", 1, MPI_CHAR, 0, 0, 1, MPI_CHAR, w->win));
    CHECK_OK(MPI_Win_post(world, 0, w->win));
    CHECK_OK(MPI_Win_start(world, 0, w->win));
    CHECK_OK(MPI_Put("a", 1, MPI_CHAR, 0, mt_rank, 1, MPI_CHAR, w->win));
    CHECK_OK(MPI_Win_complete(w->win));
    CHECK_OK(MPI_Win_wait(w->win));
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
    CHECK_OK(MPI_Win_unlock(0, w->win));
    CHECK_OK(MPI_Win_lock_all(0, w->win));
    CHECK_OK(MPI_Win_unlock_all(w->win));
    CHECK_OK(MPI_Win_fence(0, w->win)); /* left open */
}

/* A window's signal pad lies right before its memory (symm_layout.h), and is clean whatever its
 * former life left there. */
static void window_from_the_cache_has_a_clean_pad(void)
{
    enum { PAD = 64 << 10 };
    static unsigned char pad[PAD];
    for (int i = 0; i < 3; ++i) {
        mt_win_t w;
        size_t dirty = 0;
        if (!mt_allocate(888, 1, MPI_COMM_WORLD, &w)) {
            return;
        }
        mt_read(pad, w.base - PAD, PAD);
        for (size_t k = 0; k < PAD; ++k) {
            dirty += 0 != pad[k] ? 1 : 0;
        }
        CHECK_INT(0, dirty);
        mt_barrier();
        mt_poison(mt_peer(&w, (mt_rank + 1) % mt_size) - PAD, PAD);
        mt_barrier();
        mt_win_free(&w);
    }
}

/* What a window's former life left in its counters must not count in the next one. */
static void window_from_the_cache_has_clean_epochs(void)
{
    MPI_Group world;
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int i = 0; i < 5; ++i) {
        mt_win_t w;
        if (mt_allocate(777, 1, MPI_COMM_WORLD, &w)) {
            use_every_epoch(&w, world);
            mt_win_free(&w);
        }
    }
    CHECK_OK(MPI_Group_free(&world));
}

int main(int argc, char **argv)
{
    mt_set_param("osc_symm_cache_bytes", CACHE_BYTES_TEXT);
    mt_init(&argc, &argv, "win_cache");
    MT_RUN(same_shape_comes_from_the_cache);
    MT_RUN(other_shape_does_not);
    MT_RUN(shape_of_one_rank_counts);
    MT_RUN(live_window_is_not_taken_over);
    MT_RUN(oldest_is_evicted_first);
    MT_RUN(too_large_is_not_kept);
    MT_RUN(peers_memory_is_given_back);
    MT_RUN(communicator_takes_its_cache_along);
    MT_RUN(window_that_outlives_its_communicator_is_not_kept);
    MT_RUN(window_from_the_cache_is_as_asked);
    MT_RUN(window_from_the_cache_has_a_clean_pad);
    MT_RUN(window_from_the_cache_has_clean_epochs);
    return mt_finish();
}
