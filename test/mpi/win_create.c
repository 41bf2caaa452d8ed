/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Windows as the user sees them: sizes, attributes, addresses, and whose memory lies where. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdlib.h>
#include <string.h>

#define MANY_WINDOWS 40

static void check_attributes(const mt_win_t *w, int flavor)
{
    char *base = NULL;
    MPI_Aint *size = NULL;
    int *disp_unit = NULL, *found_flavor = NULL, *model = NULL;
    int found = 0;
    CHECK_OK(MPI_Win_get_attr(w->win, MPI_WIN_BASE, &base, &found));
    CHECK(found && w->base == base);
    CHECK_OK(MPI_Win_get_attr(w->win, MPI_WIN_SIZE, &size, &found));
    CHECK(found && (MPI_Aint) w->size == *size);
    CHECK_OK(MPI_Win_get_attr(w->win, MPI_WIN_DISP_UNIT, &disp_unit, &found));
    CHECK(found && w->disp_unit == *disp_unit);
    CHECK_OK(MPI_Win_get_attr(w->win, MPI_WIN_CREATE_FLAVOR, &found_flavor, &found));
    CHECK(found && flavor == *found_flavor);
    CHECK_OK(MPI_Win_get_attr(w->win, MPI_WIN_MODEL, &model, &found));
    CHECK(found && MPI_WIN_UNIFIED == *model);
}

static void check_query(const mt_win_t *w, MPI_Comm comm)
{
    symm_window_info_t info = {0};
    int rank, size;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    if (CHECK_OK(symm_window_query(w->win, &info))) {
        CHECK_INT(rank, info.rank);
        CHECK_INT(size, info.size);
        CHECK(w->base == info.base);
        CHECK_INT(w->size, info.size_bytes);
        CHECK(0 != info.serial);
    }
}

/* What shared_query must say of every rank, where sizes and units depend on the rank. */
static void check_shared_query(const mt_win_t *w, size_t (*size_of)(int), int (*unit_of)(int))
{
    for (int r = 0; r < mt_size; ++r) {
        MPI_Aint size = -1;
        int disp_unit = -1;
        char *base = NULL;
        CHECK_OK(MPI_Win_shared_query(w->win, r, &size, &disp_unit, &base));
        CHECK_INT(size_of(r), size);
        CHECK_INT(unit_of(r), disp_unit);
        CHECK(NULL != base || 0 == size);
        CHECK(r != mt_rank || w->base == base);
    }
}

/* Each rank writes a part into every rank's memory through the address that shared_query gives;
 * then the owner finds all parts, and every rank reads all of everyone's memory. */
static void exchange_through_addresses(const mt_win_t *w, size_t (*size_of)(int), uint64_t round)
{
    mt_poison(w->base, w->size);
    mt_barrier();
    for (int r = 0; r < mt_size; ++r) {
        size_t part = size_of(r) / (size_t) mt_size;
        if (0 < part) {
            mt_fill(mt_peer(w, r) + (size_t) mt_rank * part, part, mt_seed(mt_rank, round + r));
        }
    }
    mt_barrier();
    for (int r = 0; r < mt_size; ++r) {
        size_t part = size_of(r) / (size_t) mt_size;
        for (int origin = 0; 0 < part && origin < mt_size; ++origin) {
            CHECK_PATTERN(mt_peer(w, r) + (size_t) origin * part, part, mt_seed(origin, round + r));
        }
        size_t rest = size_of(r) - part * (size_t) mt_size;
        if (0 < rest) {
            CHECK_POISON(mt_peer(w, r) + part * (size_t) mt_size, rest);
        }
    }
    mt_barrier();
}

/* ---- MPI_Win_allocate ---- */

static const size_t some_sizes[] = {1, 100, 4095, 4096, 4097, 1 << 20, (3 << 20) + 1};
#define SOME_SIZES (sizeof(some_sizes) / sizeof(some_sizes[0]))

static void size_is_what_was_asked(void)
{
    for (size_t i = 0; i < SOME_SIZES; ++i) {
        mt_win_t w;
        mt_context("%zu bytes", some_sizes[i]);
        if (!mt_allocate(some_sizes[i], 1, MPI_COMM_WORLD, &w)) {
            return;
        }
        check_attributes(&w, MPI_WIN_FLAVOR_ALLOCATE);
        check_query(&w, MPI_COMM_WORLD);
        mt_fill(w.base, w.size, mt_seed(mt_rank, i));
        mt_barrier();
        CHECK_PATTERN(w.base, w.size, mt_seed(mt_rank, i));
        mt_win_free(&w);
    }
}

static void base_is_aligned_for_every_type(void)
{
    mt_win_t w;
    if (mt_allocate(100, 1, MPI_COMM_WORLD, &w)) {
        CHECK_INT(0, (uintptr_t) w.base % 256);
        mt_win_free(&w);
    }
}

static size_t no_bytes(int rank)
{
    (void) rank;
    return 0;
}

static int unit_one(int rank)
{
    (void) rank;
    return 1;
}

static void zero_size_on_all_ranks(void)
{
    mt_win_t w;
    if (mt_allocate(0, 1, MPI_COMM_WORLD, &w)) {
        check_attributes(&w, MPI_WIN_FLAVOR_ALLOCATE);
        check_query(&w, MPI_COMM_WORLD);
        check_shared_query(&w, no_bytes, unit_one);
        CHECK_OK(MPI_Win_fence(0, w.win));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
        mt_win_free(&w);
    }
}

static int empty_rank;

static size_t all_but_one(int rank)
{
    return rank == empty_rank ? 0 : 5000;
}

static void zero_size_on_one_rank(void)
{
    for (empty_rank = 0; empty_rank < mt_size; ++empty_rank) {
        mt_win_t w;
        mt_context("rank %d has none", empty_rank);
        if (!mt_allocate(all_but_one(mt_rank), 1, MPI_COMM_WORLD, &w)) {
            return;
        }
        check_attributes(&w, MPI_WIN_FLAVOR_ALLOCATE);
        check_query(&w, MPI_COMM_WORLD);
        check_shared_query(&w, all_but_one, unit_one);
        exchange_through_addresses(&w, all_but_one, 7);
        mt_win_free(&w);
    }
}

static size_t unequal_size(int rank)
{
    return 1000 * (size_t) (rank + 1) * (size_t) (rank + 1) + (size_t) rank;
}

static int unequal_unit(int rank)
{
    return 1 << rank % 4;
}

static void sizes_and_units_differ(void)
{
    mt_win_t w;
    if (mt_allocate(unequal_size(mt_rank), unequal_unit(mt_rank), MPI_COMM_WORLD, &w)) {
        check_attributes(&w, MPI_WIN_FLAVOR_ALLOCATE);
        check_query(&w, MPI_COMM_WORLD);
        check_shared_query(&w, unequal_size, unequal_unit);
        exchange_through_addresses(&w, unequal_size, 8);
        mt_win_free(&w);
    }
}

static size_t large_on_last(int rank)
{
    return rank == mt_size - 1 ? (size_t) 9 << 20 : 10;
}

static void one_rank_has_almost_all(void)
{
    mt_win_t w;
    if (mt_allocate(large_on_last(mt_rank), 1, MPI_COMM_WORLD, &w)) {
        check_shared_query(&w, large_on_last, unit_one);
        exchange_through_addresses(&w, large_on_last, 9);
        mt_win_free(&w);
    }
}

/* peer = base + (peer - rank) * stride, as mpi_symm.h promises to kernels. */
static void stride_leads_to_every_peer(void)
{
    mt_win_t w;
    symm_window_info_t info = {0};
    if (mt_allocate(5000, 8, MPI_COMM_WORLD, &w)) {
        if (CHECK_OK(symm_window_query(w.win, &info))) {
            CHECK(0 < info.stride);
            for (int r = 0; r < mt_size; ++r) {
                CHECK(mt_peer(&w, r) ==
                      (char *) info.base + (ptrdiff_t) (r - mt_rank) * (ptrdiff_t) info.stride);
            }
        }
        mt_win_free(&w);
    }
}

/* ---- MPI_Win_allocate_shared ---- */

static void check_contiguous(const mt_win_t *w, size_t (*size_of)(int))
{
    for (int r = 0; r + 1 < mt_size; ++r) {
        CHECK_MSG(mt_peer(w, r + 1) == mt_peer(w, r) + size_of(r),
                  "rank %d's memory does not end where rank %d's begins", r, r + 1);
    }
}

static void shared_is_contiguous(void)
{
    mt_win_t w;
    if (mt_allocate_shared(unequal_size(mt_rank), unequal_unit(mt_rank), false, MPI_COMM_WORLD,
                           &w)) {
        check_attributes(&w, MPI_WIN_FLAVOR_SHARED);
        check_query(&w, MPI_COMM_WORLD);
        check_shared_query(&w, unequal_size, unequal_unit);
        check_contiguous(&w, unequal_size);
        exchange_through_addresses(&w, unequal_size, 10);
        mt_win_free(&w);
    }
}

static void shared_is_contiguous_with_an_empty_rank(void)
{
    for (empty_rank = 0; empty_rank < mt_size; ++empty_rank) {
        mt_win_t w;
        mt_context("rank %d has none", empty_rank);
        if (!mt_allocate_shared(all_but_one(mt_rank), 1, false, MPI_COMM_WORLD, &w)) {
            return;
        }
        check_attributes(&w, MPI_WIN_FLAVOR_SHARED);
        check_query(&w, MPI_COMM_WORLD);
        check_shared_query(&w, all_but_one, unit_one);
        check_contiguous(&w, all_but_one);
        exchange_through_addresses(&w, all_but_one, 11);
        mt_win_free(&w);
    }
}

static size_t page_each_but_last(int rank)
{
    return rank == mt_size - 1 ? 0 : 4096;
}

/* The empty rank's base is then the end of the mapped range. */
static void shared_with_whole_pages_and_an_empty_last_rank(void)
{
    mt_win_t w;
    if (mt_allocate_shared(page_each_but_last(mt_rank), 1, false, MPI_COMM_WORLD, &w)) {
        check_query(&w, MPI_COMM_WORLD);
        check_shared_query(&w, page_each_but_last, unit_one);
        check_contiguous(&w, page_each_but_last);
        mt_win_free(&w);
    }
}

static void shared_zero_size_on_all_ranks(void)
{
    mt_win_t w;
    if (mt_allocate_shared(0, 1, false, MPI_COMM_WORLD, &w)) {
        check_attributes(&w, MPI_WIN_FLAVOR_SHARED);
        check_query(&w, MPI_COMM_WORLD);
        check_shared_query(&w, no_bytes, unit_one);
        mt_win_free(&w);
    }
}

static void shared_noncontig_keeps_ranks_apart(void)
{
    mt_win_t w;
    if (mt_allocate_shared(unequal_size(mt_rank), unequal_unit(mt_rank), true, MPI_COMM_WORLD,
                           &w)) {
        check_attributes(&w, MPI_WIN_FLAVOR_SHARED);
        check_query(&w, MPI_COMM_WORLD);
        check_shared_query(&w, unequal_size, unequal_unit);
        exchange_through_addresses(&w, unequal_size, 12);
        /* Each rank's memory starts on a page of its own. */
        CHECK_INT(0, (mt_peer(&w, mt_size - 1) - mt_peer(&w, 0)) % 4096);
        mt_win_free(&w);
    }
}

static size_t first_ranks_empty(int rank)
{
    return rank < mt_size / 2 ? 0 : 300 * (size_t) (rank + 1);
}

static void check_proc_null(const mt_win_t *w, size_t (*size_of)(int), int lowest)
{
    MPI_Aint size = -1;
    int disp_unit = -1;
    char *base = w->base;
    CHECK_OK(MPI_Win_shared_query(w->win, MPI_PROC_NULL, &size, &disp_unit, &base));
    if (0 > lowest) {
        CHECK_INT(0, size);
        CHECK(NULL == base);
    } else {
        CHECK_INT(size_of(lowest), size);
        CHECK_INT(1, disp_unit);
        CHECK(mt_peer(w, lowest) == base);
    }
}

static void proc_null_means_lowest_rank_with_memory(void)
{
    mt_win_t w;
    for (int shared = 0; shared < 2; ++shared) {
        size_t mine = first_ranks_empty(mt_rank);
        mt_context(shared ? "shared" : "allocated");
        bool made = shared ? mt_allocate_shared(mine, 1, false, MPI_COMM_WORLD, &w)
                           : mt_allocate(mine, 1, MPI_COMM_WORLD, &w);
        if (made) {
            check_proc_null(&w, first_ranks_empty, mt_size / 2);
            mt_win_free(&w);
        }
        made = shared ? mt_allocate_shared(0, 1, false, MPI_COMM_WORLD, &w)
                      : mt_allocate(0, 1, MPI_COMM_WORLD, &w);
        if (made) {
            check_proc_null(&w, no_bytes, -1);
            mt_win_free(&w);
        }
    }
}

/* ---- finding windows ---- */

static void pointer_is_found_in_its_window(void)
{
    mt_win_t w;
    MPI_Win found = MPI_WIN_NULL;
    int mine = 0;
    if (!mt_allocate(1000, 1, MPI_COMM_WORLD, &w)) {
        return;
    }
    CHECK_OK(symm_pointer_query(w.base, 1000, &found));
    CHECK(w.win == found);
    CHECK_OK(symm_pointer_query(w.base + 999, 1, &found));
    CHECK_OK(symm_pointer_query(mt_peer(&w, mt_size - 1) + 10, 20, &found));
    CHECK_INT(MPI_ERR_BASE, symm_pointer_query(&mine, sizeof(mine), &found));
    CHECK_INT(MPI_ERR_ARG, symm_pointer_query(w.base, 1, NULL));
    CHECK_INT(MPI_ERR_ARG, symm_window_query(w.win, NULL));
    char *gone = w.base;
    mt_win_free(&w);
    CHECK_INT(MPI_ERR_BASE, symm_pointer_query(gone, 1, &found));
    symm_window_info_t info;
    CHECK_INT(MPI_ERR_WIN, symm_window_query(MPI_WIN_NULL, &info));
}

static void many_windows_at_once(void)
{
    static mt_win_t w[MANY_WINDOWS];
    int made = 0;
    while (made < MANY_WINDOWS &&
           mt_allocate(100 + 300 * (size_t) (made % 7), 1, MPI_COMM_WORLD, &w[made])) {
        mt_fill(w[made].base, w[made].size, mt_seed(mt_rank, (uint64_t) made));
        ++made;
    }
    mt_barrier();
    for (int i = 0; i < made; ++i) {
        MPI_Win found = MPI_WIN_NULL;
        int peer = (mt_rank + i) % mt_size;
        mt_context("window %d", i);
        CHECK_PATTERN(mt_peer(&w[i], peer), w[i].size, mt_seed(peer, (uint64_t) i));
        CHECK_OK(symm_pointer_query(w[i].base, w[i].size, &found));
        CHECK(w[i].win == found);
    }
    for (int i = 0; i < made; ++i) { /* freed in another order than made */
        mt_win_free(&w[(i * 7) % made]);
    }
}

/* ---- communicators ---- */

/* Puts to the right neighbour in comm and checks what came from the left one. */
static void check_put_ring(const mt_win_t *w, MPI_Comm comm, uint64_t round)
{
    int rank, size;
    unsigned char data[64];
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    mt_pattern(data, sizeof(data), mt_seed(rank, round));
    CHECK_OK(MPI_Win_fence(0, w->win));
    CHECK_OK(MPI_Put(data, sizeof(data), MPI_BYTE, (rank + 1) % size, 0, sizeof(data), MPI_BYTE,
                     w->win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    CHECK_PATTERN(w->base, sizeof(data), mt_seed((rank + size - 1) % size, round));
}

static void window_on(MPI_Comm comm, uint64_t round)
{
    mt_win_t w;
    if (mt_allocate(4096, 1, comm, &w)) {
        check_query(&w, comm);
        check_put_ring(&w, comm, round);
        mt_win_free(&w);
    }
}

static void communicators_of_all_kinds(void)
{
    MPI_Comm dup, half, reversed;
    mt_context("self");
    window_on(MPI_COMM_SELF, 1);
    mt_context("duplicate");
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    window_on(dup, 2);
    CHECK_OK(MPI_Comm_free(&dup));
    mt_context("half");
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, 0, &half));
    window_on(half, 3);
    CHECK_OK(MPI_Comm_free(&half));
    mt_context("reversed");
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, mt_size - mt_rank, &reversed));
    window_on(reversed, 4);
    CHECK_OK(MPI_Comm_free(&reversed));
}

static void window_outlives_its_communicator(void)
{
    MPI_Comm dup;
    mt_win_t w;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    if (mt_allocate(4096, 1, dup, &w)) {
        CHECK_OK(MPI_Comm_free(&dup));
        check_put_ring(&w, MPI_COMM_WORLD, 5);
        CHECK_OURS(w.win);
        mt_win_free(&w);
    }
}

/* Last of all, since nothing must come behind: MPI_Finalize has to cope. */
static void live_windows_at_finalize(void)
{
    static mt_win_t w[2];
    CHECK(mt_allocate(4096, 1, MPI_COMM_WORLD, &w[0]));
    CHECK(mt_allocate_shared(100, 1, false, MPI_COMM_WORLD, &w[1]));
}

static void counters_tell_of_windows(void)
{
    mt_win_t w;
    symm_stats_t before = mt_stats();
    if (mt_allocate(12345, 1, MPI_COMM_WORLD, &w)) {
        symm_stats_t during = mt_stats();
        CHECK_INT(before.windows_created + 1, during.windows_created);
        CHECK_INT(before.windows_freed, during.windows_freed);
        CHECK(during.bytes_mapped >= 12345);
        CHECK_INT(before.collectives, during.collectives); /* our own do not count */
        CHECK_INT(before.collectives_passed, during.collectives_passed);
        mt_win_free(&w);
        CHECK_INT(before.windows_freed + 1, mt_stats().windows_freed);
        CHECK_INT(before.windows_failed, mt_stats().windows_failed);
    }
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "win_create");
    MT_RUN(size_is_what_was_asked);
    MT_RUN(base_is_aligned_for_every_type);
    MT_RUN(zero_size_on_all_ranks);
    MT_RUN(zero_size_on_one_rank);
    MT_RUN(sizes_and_units_differ);
    MT_RUN(one_rank_has_almost_all);
    MT_RUN(stride_leads_to_every_peer);
    MT_RUN(shared_is_contiguous);
    MT_RUN(shared_is_contiguous_with_an_empty_rank);
    MT_RUN(shared_with_whole_pages_and_an_empty_last_rank);
    MT_RUN(shared_zero_size_on_all_ranks);
    MT_RUN(shared_noncontig_keeps_ranks_apart);
    MT_RUN(proc_null_means_lowest_rank_with_memory);
    MT_RUN(pointer_is_found_in_its_window);
    MT_RUN(many_windows_at_once);
    MT_RUN(communicators_of_all_kinds);
    MT_RUN(window_outlives_its_communicator);
    MT_RUN(counters_tell_of_windows);
    MT_RUN(live_windows_at_finalize);
    return mt_finish();
}
