/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Windows on memory that the program has: MPI_Win_create, and dynamic windows with what is attached
 * to them. win_own_progress.c does the same where the target itself must copy. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdlib.h>
#include <string.h>

#ifdef WIN_OWN_PROGRESS
#    define NAME "win_own_progress"
#else
#    define NAME "win_own"
#endif

/* Memory of the kind of this run, with guards around it. */
typedef struct own {
    mt_memory_t memory;
    char *whole;
    char *base;
    size_t len;
} own_t;

static own_t own_alloc(size_t len)
{
    own_t own = {.memory = SYMM_KIND_CUDA_DEVICE == mt_kind ? MT_DEVICE : MT_HOST, .len = len};
    own.whole = mt_alloc(own.memory, len + 2 * MT_GUARD);
    own.base = own.whole + MT_GUARD;
    mt_poison(own.whole, len + 2 * MT_GUARD);
    return own;
}

static void own_free(own_t *own)
{
    CHECK_POISON(own->whole, MT_GUARD);
    CHECK_POISON(own->base + own->len, MT_GUARD);
    mt_free(own->memory, own->whole);
}

static int right_of_me(void)
{
    return (mt_rank + 1) % mt_size;
}

static int left_of_me(void)
{
    return (mt_rank + mt_size - 1) % mt_size;
}

static MPI_Aint address_of(const void *ptr)
{
    MPI_Aint address = 0;
    CHECK_OK(MPI_Get_address(ptr, &address));
    return address;
}

/* What rank tells, which all ranks call. */
static MPI_Aint address_at(int rank, const void *mine)
{
    MPI_Aint all[64];
    MPI_Aint address = NULL == mine ? 0 : address_of(mine);
    CHECK_OK(MPI_Allgather(&address, 1, MPI_AINT, all, 1, MPI_AINT, mt_comm));
    return all[rank];
}

static bool create(own_t *own, int disp_unit, MPI_Win *win_p)
{
    MPI_Info info = mt_info();
    bool created = CHECK_OK(
        MPI_Win_create(own->base, (MPI_Aint) own->len, disp_unit, info, MPI_COMM_WORLD, win_p));
    CHECK_OK(MPI_Info_free(&info));
    if (created) {
        CHECK_OK(MPI_Win_set_errhandler(*win_p, MPI_ERRORS_RETURN));
        CHECK_OURS(*win_p);
    }
    return created;
}

static bool create_dynamic(MPI_Win *win_p)
{
    MPI_Info info = mt_info();
    bool created = CHECK_OK(MPI_Win_create_dynamic(info, MPI_COMM_WORLD, win_p));
    CHECK_OK(MPI_Info_free(&info));
    if (created) {
        CHECK_OK(MPI_Win_set_errhandler(*win_p, MPI_ERRORS_RETURN));
        CHECK_OURS(*win_p);
    }
    return created;
}

/* ---- MPI_Win_create ---- */

static void check_attributes(MPI_Win win, const own_t *own, int disp_unit)
{
    symm_window_info_t info = {0};
    void *base = NULL;
    MPI_Aint *size = NULL;
    int *unit = NULL, *flavor = NULL;
    int found = 0;
    CHECK_OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &found));
    CHECK(found && own->base == base);
    CHECK_OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &found));
    CHECK(found && (MPI_Aint) own->len == *size);
    CHECK_OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &found));
    CHECK(found && disp_unit == *unit);
    CHECK_OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &found));
    CHECK(found && MPI_WIN_FLAVOR_CREATE == *flavor);
    CHECK_OK(symm_window_query(win, &info));
    CHECK(own->base == info.base);
    CHECK_INT(own->len, info.size_bytes);
}

/* Every rank puts its part into every rank's memory, then gets all parts of all. */
static void exchange_parts(MPI_Win win, const own_t *own, int disp_unit, size_t part,
                           uint64_t round)
{
    char *mine = mt_alloc(MT_HOST, part);
    MPI_Aint slot = (MPI_Aint) part / disp_unit;
    int count = (int) part;
    CHECK_OK(MPI_Win_fence(0, win));
    mt_pattern(mine, part, mt_seed(mt_rank, round));
    for (int r = 0; r < mt_size; ++r) {
        CHECK_OK(MPI_Put(mine, count, MPI_BYTE, r, mt_rank * slot, count, MPI_BYTE, win));
    }
    CHECK_OK(MPI_Win_fence(0, win));
    for (int r = 0; r < mt_size; ++r) {
        CHECK_PATTERN(own->base + (size_t) r * part, part, mt_seed(r, round));
        for (int target = 0; target < mt_size; ++target) {
            mt_poison(mine, part);
            CHECK_OK(MPI_Get(mine, count, MPI_BYTE, target, r * slot, count, MPI_BYTE, win));
            CHECK_OK(MPI_Win_fence(0, win));
            CHECK_PATTERN(mine, part, mt_seed(r, round));
        }
    }
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    mt_free(MT_HOST, mine);
}

static void memory_of_every_size(void)
{
    static const size_t parts[] = {8, 4096, 100000, 3 << 20};
    for (int i = 0; i < 4; ++i) {
        MPI_Win win;
        own_t own = own_alloc(parts[i] * (size_t) mt_size + 24);
        mt_context("parts of %zu bytes", parts[i]);
        if (create(&own, 8, &win)) {
            check_attributes(win, &own, 8);
            exchange_parts(win, &own, 8, parts[i], (uint64_t) i);
            CHECK_POISON(own.base + parts[i] * (size_t) mt_size, 24);
            CHECK_OK(MPI_Win_free(&win));
        }
        own_free(&own);
    }
}

/* The size and the unit of displacements depend on the rank; one has nothing at all. */
static void sizes_and_units_differ(void)
{
    MPI_Win win;
    size_t units = (size_t) mt_rank * 10;
    int unit = mt_rank + 1;
    int target = right_of_me();
    own_t own = own_alloc(units * (size_t) unit);
    char byte = (char) ('a' + mt_rank);
    if (create(&own, unit, &win)) {
        CHECK_OK(MPI_Win_lock_all(0, win));
        CHECK_CLASS(MPI_ERR_RMA_RANGE,
                    MPI_Put(&byte, 1, MPI_BYTE, target, 10 * target, 1, MPI_BYTE, win));
        if (0 < target) {
            CHECK_OK(MPI_Put(&byte, 1, MPI_BYTE, target, 10 * target - 1, 1, MPI_BYTE, win));
        }
        CHECK_OK(MPI_Win_unlock_all(win));
        mt_barrier();
        if (0 < mt_rank) {
            size_t at = (units - 1) * (size_t) unit;
            char got = 0;
            mt_read(&got, own.base + at, 1);
            CHECK_INT('a' + left_of_me(), got);
            CHECK_POISON(own.base, at);
            CHECK_POISON(own.base + at + 1, own.len - at - 1);
        }
        CHECK_OK(MPI_Win_free(&win));
    }
    own_free(&own);
}

static void nobody_has_memory(void)
{
    MPI_Win win;
    MPI_Info info = mt_info();
    if (CHECK_OK(MPI_Win_create(NULL, 0, 1, info, MPI_COMM_WORLD, &win))) {
        CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        CHECK_OK(MPI_Win_fence(0, win));
        CHECK_OK(MPI_Put(NULL, 0, MPI_BYTE, right_of_me(), 0, 0, MPI_BYTE, win));
        CHECK_CLASS(MPI_ERR_RMA_RANGE,
                    MPI_Put("x", 1, MPI_BYTE, right_of_me(), 0, 1, MPI_BYTE, win));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        CHECK_OK(MPI_Win_free(&win));
    }
    CHECK_OK(MPI_Info_free(&info));
}

/* Memory of a window is memory of the program's, for another window. */
static void window_on_a_windows_memory(void)
{
    mt_win_t w;
    MPI_Win win;
    if (!mt_allocate(5000, 1, MPI_COMM_WORLD, &w)) {
        return;
    }
    own_t inner = {.base = w.base + 1000, .len = 800 * (size_t) (mt_size < 5 ? mt_size : 5)};
    mt_poison(w.base, w.size);
    if (5 >= mt_size && create(&inner, 1, &win)) {
        exchange_parts(win, &inner, 1, 800, 77);
        CHECK_OK(MPI_Win_free(&win));
        CHECK_POISON(w.base, 1000);
        CHECK_POISON(inner.base + inner.len, 4000 - inner.len);
    }
    mt_win_free(&w);
}

/* The program's own virtual memory management, with a handle to share and without. */
static void memory_of_vmm(void)
{
    MPI_Win win = MPI_WIN_NULL;
    size_t whole;
    if (SYMM_KIND_CUDA_DEVICE != mt_kind) {
        mt_note("left out, it is about GPU memory");
        return;
    }
    own_t own = {.len = 1000 * (size_t) mt_size};
    char *memory = mt_vmm_alloc(own.len + 8192, true, &whole);
    own.base = memory + 4096;
    mt_poison(memory, whole);
    if (create(&own, 1, &win)) {
        exchange_parts(win, &own, 1, 1000, 55);
        CHECK_OK(MPI_Win_free(&win));
    }
    CHECK_POISON(memory, 4096);
    CHECK_POISON(own.base + own.len, whole - 4096 - own.len);
    mt_vmm_free(memory, whole);
}

/* Host memory on even ranks, GPU memory on odd ones. */
static void kinds_differ_by_rank(void)
{
    MPI_Win win;
    if (!mt_all(mt_has_memory(MT_DEVICE)) || !mt_needs_ranks(2)) {
        return;
    }
    bool host = 0 == mt_rank % 2;
    own_t own = {.memory = host ? MT_HOST : MT_DEVICE, .len = 500 * (size_t) mt_size};
    own.base = mt_alloc(own.memory, own.len);
    mt_poison(own.base, own.len);
    symm_stats_t before = mt_stats();
    if (CHECK_OK(
            MPI_Win_create(own.base, (MPI_Aint) own.len, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win))) {
        CHECK_INT(before.windows_created + 1, mt_stats().windows_created);
        CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        exchange_parts(win, &own, 1, 500, 66);
        CHECK_OK(MPI_Win_free(&win));
    }
    mt_free(own.memory, own.base);
}

/* The origin's memory is of every kind; a large piece of it, so that it goes in parts. */
static void origins_of_every_kind(void)
{
    enum { LENGTH = 2500000 };
    MPI_Win win;
    own_t own = own_alloc(LENGTH);
    if (create(&own, 1, &win)) {
        for (int kind = 0; kind < MT_MEMORY_COUNT; ++kind) {
            if (!mt_has_memory((mt_memory_t) kind)) {
                continue;
            }
            char *origin = mt_alloc((mt_memory_t) kind, LENGTH);
            uint64_t seed = mt_seed(mt_rank, 900 + (uint64_t) kind);
            mt_context("%s origin", mt_memory_name((mt_memory_t) kind));
            mt_fill(origin, LENGTH, seed);
            CHECK_OK(MPI_Win_fence(0, win));
            CHECK_OK(MPI_Put(origin, LENGTH, MPI_BYTE, right_of_me(), 0, LENGTH, MPI_BYTE, win));
            CHECK_OK(MPI_Win_fence(0, win));
            CHECK_PATTERN(own.base, LENGTH, mt_seed(left_of_me(), 900 + (uint64_t) kind));
            mt_poison(origin, LENGTH);
            CHECK_OK(MPI_Get(origin, LENGTH, MPI_BYTE, right_of_me(), 0, LENGTH, MPI_BYTE, win));
            CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
            CHECK_PATTERN(origin, LENGTH, seed);
            mt_free((mt_memory_t) kind, origin);
        }
        CHECK_OK(MPI_Win_free(&win));
    }
    own_free(&own);
}

static void other_epochs_work(void)
{
    MPI_Win win;
    MPI_Group world, left, right;
    int to = right_of_me(), from = left_of_me();
    own_t own = own_alloc(64);
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Group_incl(world, 1, &from, &left));
    CHECK_OK(MPI_Group_incl(world, 1, &to, &right));
    if (create(&own, 1, &win)) {
        int64_t value = 1000 + mt_rank, got = 0;
        CHECK_OK(MPI_Win_post(left, 0, win));
        CHECK_OK(MPI_Win_start(right, 0, win));
        CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, to, 8, 1, MPI_INT64_T, win));
        CHECK_OK(MPI_Win_complete(win));
        CHECK_OK(MPI_Win_wait(win));
        mt_read(&got, own.base + 8, sizeof(got));
        CHECK_INT(1000 + from, got);
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win));
        CHECK_OK(MPI_Get(&got, 1, MPI_INT64_T, to, 8, 1, MPI_INT64_T, win));
        CHECK_OK(MPI_Win_unlock(to, win));
        CHECK_INT(value, got);
        CHECK_OK(MPI_Win_free(&win));
    }
    CHECK_OK(MPI_Group_free(&left));
    CHECK_OK(MPI_Group_free(&right));
    CHECK_OK(MPI_Group_free(&world));
    own_free(&own);
}

/* ---- updates ---- */

/* All ranks, the owner among them, add to and swap words of rank 0's memory with every operation at
 * once: nothing is lost if they are atomic to each other. disp is of word 0. */
static void update_words(MPI_Win win, MPI_Aint disp)
{
    enum { ROUNDS = 200 };
    const int64_t one = 1;
    int64_t before[2] = {0, 0};
    for (int i = 0; i < ROUNDS; ++i) {
        int64_t pair[2] = {1, 1};
        int64_t seen, expected;
        CHECK_OK(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, disp, 1, MPI_INT64_T, MPI_SUM, win));
        CHECK_OK(MPI_Fetch_and_op(&one, &seen, MPI_INT64_T, 0, disp, MPI_SUM, win));
        CHECK_OK(MPI_Get_accumulate(pair, 2, MPI_INT64_T, before, 2, MPI_INT64_T, 0, disp, 2,
                                    MPI_INT64_T, MPI_SUM, win));
        CHECK_OK(MPI_Win_flush(0, win));
        CHECK(0 <= seen && seen < 4 * ROUNDS * mt_size);
        do { /* adds one as well */
            CHECK_OK(MPI_Fetch_and_op(NULL, &seen, MPI_INT64_T, 0, disp, MPI_NO_OP, win));
            CHECK_OK(MPI_Win_flush_local(0, win));
            int64_t next = seen + 1;
            expected = seen;
            CHECK_OK(MPI_Compare_and_swap(&next, &expected, &seen, MPI_INT64_T, 0, disp, win));
            CHECK_OK(MPI_Win_flush(0, win));
        } while (seen != expected);
    }
    mt_barrier();
    CHECK_OK(MPI_Get(before, 2, MPI_INT64_T, 0, disp, 2, MPI_INT64_T, win));
    CHECK_OK(MPI_Win_flush(0, win));
    CHECK_INT(4 * ROUNDS * mt_size, before[0]);
    CHECK_INT(ROUNDS * mt_size, before[1]);
}

static void updates_are_atomic(void)
{
    MPI_Win win;
    own_t own = own_alloc(64);
    int64_t zeros[8] = {0};
    mt_write(own.base, zeros, sizeof(zeros));
    if (create(&own, 8, &win)) {
        CHECK_OK(MPI_Win_lock_all(0, win));
        update_words(win, 2);
        CHECK_OK(MPI_Win_unlock_all(win));
        CHECK_OK(MPI_Win_free(&win));
    }
    mt_barrier();
    mt_write(own.base, zeros, sizeof(zeros));
    if (create_dynamic(&win)) {
        CHECK_OK(MPI_Win_attach(win, own.base, 64));
        MPI_Aint there = address_at(0, own.base + 16);
        CHECK_OK(MPI_Win_lock_all(0, win));
        update_words(win, there);
        CHECK_OK(MPI_Win_unlock_all(win));
        CHECK_OK(MPI_Win_free(&win));
    }
    own_free(&own);
}

/* What cannot be shared is copied by its owner: in a created window, and in a dynamic one. */
static void memory_that_cannot_be_shared(void)
{
    MPI_Win win = MPI_WIN_NULL;
    size_t whole;
    if (SYMM_KIND_CUDA_DEVICE != mt_kind) {
        mt_note("left out, it is about GPU memory");
        return;
    }
    own_t own = {.len = 1000 * (size_t) mt_size};
    own.base = mt_vmm_alloc(own.len, false, &whole);
    int64_t zeros[8] = {0};
    mt_poison(own.base, whole);
    if (create(&own, 1, &win)) {
        exchange_parts(win, &own, 1, 1000, 56);
        CHECK_OK(MPI_Win_free(&win));
    }
    CHECK_POISON(own.base + own.len, whole - own.len);
    mt_write(own.base, zeros, sizeof(zeros));
    if (create_dynamic(&win)) {
        CHECK_OK(MPI_Win_attach(win, own.base, (MPI_Aint) own.len));
        MPI_Aint there = address_at(0, own.base + 16);
        CHECK_OK(MPI_Win_lock_all(0, win));
        update_words(win, there);
        CHECK_OK(MPI_Win_unlock_all(win));
        CHECK_OK(MPI_Win_detach(win, own.base));
        CHECK_OK(MPI_Win_free(&win));
    }
    mt_vmm_free(own.base, whole);
}

/* All ranks add to the same blocks of rank 0's memory, many of them; the gaps stay as they are. */
static void updates_of_many_blocks(void)
{
    enum { BLOCKS = 300, BLOCK = 3, STRIDE = 5, INTS = BLOCKS * STRIDE };
    MPI_Win win;
    MPI_Datatype blocks;
    static int got[INTS], origin[BLOCKS * BLOCK], result[INTS];
    own_t own = own_alloc(sizeof(got));
    for (int i = 0; i < INTS; ++i) {
        got[i] = i;
        origin[i % (BLOCKS * BLOCK)] = 7 * (i % (BLOCKS * BLOCK));
    }
    mt_write(own.base, got, sizeof(got));
    CHECK_OK(MPI_Type_vector(BLOCKS, BLOCK, STRIDE, MPI_INT, &blocks));
    CHECK_OK(MPI_Type_commit(&blocks));
    if (create(&own, 4, &win)) {
        CHECK_OK(MPI_Win_fence(0, win));
        CHECK_OK(MPI_Get_accumulate(origin, BLOCKS * BLOCK, MPI_INT, result, 1, blocks, 0, 0, 1,
                                    blocks, MPI_SUM, win));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        CHECK_OK(MPI_Win_free(&win));
    }
    mt_read(got, own.base, sizeof(got));
    long wrong = 0;
    for (int i = 0; i < INTS - (STRIDE - BLOCK); ++i) {
        bool inside = i % STRIDE < BLOCK;
        int added = inside ? 7 * (i / STRIDE * BLOCK + i % STRIDE) : 0;
        wrong += got[i] == i + (0 == mt_rank ? mt_size * added : 0) ? 0 : 1;
        /* What was there before: some number of ranks had added theirs. */
        int before = result[i] - i;
        wrong += inside ? (0 != added &&
                           (0 != before % added || 0 > before || before / added >= mt_size))
                        : 0 != result[i];
    }
    CHECK_INT(0, wrong);
    CHECK_OK(MPI_Type_free(&blocks));
    own_free(&own);
}

/* Rank 0 polls its memory with operations alone until all others have changed it: they must be let
 * in, though some of them may need rank 0's own hand. */
static void polling_lets_others_in(void)
{
    MPI_Win win;
    own_t own = own_alloc(64);
    int64_t zeros[8] = {0};
    const int64_t one = 1;
    mt_write(own.base, zeros, sizeof(zeros));
    if (create(&own, 8, &win)) {
        CHECK_OK(MPI_Win_lock_all(0, win));
        if (0 == mt_rank) {
            int64_t sum = 0;
            while (mt_size - 1 > sum &&
                   CHECK_OK(MPI_Fetch_and_op(NULL, &sum, MPI_INT64_T, 0, 5, MPI_NO_OP, win))) {
                CHECK_OK(MPI_Win_flush_local(0, win));
            }
            CHECK_INT(mt_size - 1, sum);
        } else {
            CHECK_OK(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 5, 1, MPI_INT64_T, MPI_SUM, win));
            CHECK_OK(MPI_Win_flush(0, win));
        }
        CHECK_OK(MPI_Win_unlock_all(win));
        CHECK_OK(MPI_Win_free(&win));
    }
    own_free(&own);
}

/* ---- dynamic windows ---- */

static int put_byte(MPI_Win win, int target, MPI_Aint address)
{
    return MPI_Put("y", 1, MPI_BYTE, target, address, 1, MPI_BYTE, win);
}

static void regions_are_reached_by_address(void)
{
    MPI_Win win;
    if (!create_dynamic(&win)) {
        return;
    }
    own_t own[3];
    MPI_Aint there[3];
    char got[100];
    for (int i = 0; i < 3; ++i) {
        own[i] = own_alloc(100000);
        CHECK_OK(MPI_Win_attach(win, own[i].base, (MPI_Aint) own[i].len));
        there[i] = address_at(right_of_me(), own[i].base);
    }
    CHECK_OK(MPI_Win_lock_all(0, win));
    for (int i = 0; i < 3; ++i) {
        mt_pattern(got, sizeof(got), mt_seed(mt_rank, (uint64_t) i));
        CHECK_OK(MPI_Put(got, 100, MPI_BYTE, right_of_me(), there[i] + 99900, 100, MPI_BYTE, win));
        CHECK_OK(MPI_Win_flush(right_of_me(), win));
        mt_poison(got, sizeof(got));
        CHECK_OK(MPI_Get(got, 100, MPI_BYTE, right_of_me(), there[i] + 99900, 100, MPI_BYTE, win));
        CHECK_OK(MPI_Win_flush(right_of_me(), win));
        CHECK_PATTERN(got, sizeof(got), mt_seed(mt_rank, (uint64_t) i));
    }
    CHECK_OK(MPI_Win_unlock_all(win));
    mt_barrier();
    for (int i = 0; i < 3; ++i) {
        CHECK_POISON(own[i].base, 99900);
        CHECK_PATTERN(own[i].base + 99900, 100, mt_seed(left_of_me(), (uint64_t) i));
        CHECK_OK(MPI_Win_detach(win, own[i].base));
        own_free(&own[i]);
    }
    CHECK_OK(MPI_Win_free(&win));
}

static void what_is_not_attached_is_refused(void)
{
    MPI_Win win;
    own_t own = own_alloc(4096);
    if (create_dynamic(&win)) {
        MPI_Aint there = address_at(right_of_me(), own.base);
        CHECK_OK(MPI_Win_lock_all(0, win));
        CHECK_CLASS(MPI_ERR_RMA_RANGE, put_byte(win, right_of_me(), there));
        mt_barrier();
        CHECK_OK(MPI_Win_attach(win, own.base + 100, 200));
        mt_barrier();
        CHECK_CLASS(MPI_ERR_RMA_RANGE, put_byte(win, right_of_me(), there + 99));
        CHECK_CLASS(MPI_ERR_RMA_RANGE, put_byte(win, right_of_me(), there + 300));
        CHECK_CLASS(MPI_ERR_RMA_RANGE,
                    MPI_Put("yy", 2, MPI_BYTE, right_of_me(), there + 299, 2, MPI_BYTE, win));
        CHECK_OK(put_byte(win, right_of_me(), there + 299));
        CHECK_OK(MPI_Win_flush_all(win));
        mt_barrier();
        CHECK_OK(MPI_Win_detach(win, own.base + 100));
        mt_barrier();
        CHECK_CLASS(MPI_ERR_RMA_RANGE, put_byte(win, right_of_me(), there + 299));
        CHECK_OK(MPI_Win_unlock_all(win));
        CHECK_POISON(own.base, 299);
        CHECK_POISON(own.base + 300, own.len - 300);
        CHECK_OK(MPI_Win_free(&win));
    }
    own_free(&own);
}

static void attaching_and_detaching_wrongly(void)
{
    MPI_Win win;
    own_t own = own_alloc(4096);
    if (create_dynamic(&win)) {
        CHECK_CLASS(MPI_ERR_ARG, MPI_Win_detach(win, own.base));
        CHECK_OK(MPI_Win_attach(win, own.base + 1000, 1000));
        CHECK_CLASS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, own.base + 1000, 1000));
        CHECK_CLASS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, own.base, 1001));
        CHECK_CLASS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, own.base + 1999, 1));
        CHECK_CLASS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, own.base, 4096));
        CHECK_CLASS(MPI_ERR_ARG, MPI_Win_detach(win, own.base + 1001));
        CHECK_CLASS(MPI_ERR_ARG, MPI_Win_detach(win, own.base));
        CHECK_OK(MPI_Win_attach(win, own.base, 1000));
        CHECK_OK(MPI_Win_attach(win, own.base + 2000, 2096));
        CHECK_OK(MPI_Win_detach(win, own.base + 1000));
        CHECK_CLASS(MPI_ERR_ARG, MPI_Win_detach(win, own.base + 1000));
        CHECK_OK(MPI_Win_free(&win)); /* with regions attached */
    }
    own_free(&own);
}

static void empty_regions(void)
{
    MPI_Win win;
    own_t own = own_alloc(100);
    if (create_dynamic(&win)) {
        CHECK_OK(MPI_Win_attach(win, own.base, 0));
        CHECK_OK(MPI_Win_attach(win, own.base, 100));
        CHECK_OK(MPI_Win_attach(win, own.base + 50, 0));
        MPI_Aint there = address_at(right_of_me(), own.base);
        CHECK_OK(MPI_Win_fence(0, win));
        CHECK_OK(MPI_Put("0123456789", 10, MPI_BYTE, right_of_me(), there + 45, 10, MPI_BYTE, win));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        CHECK_POISON(own.base, 45);
        CHECK_POISON(own.base + 55, 45);
        CHECK_OK(MPI_Win_detach(win, own.base + 50));
        CHECK_OK(MPI_Win_detach(win, own.base));
        CHECK_OK(MPI_Win_detach(win, own.base));
        CHECK_CLASS(MPI_ERR_ARG, MPI_Win_detach(win, own.base));
        CHECK_OK(MPI_Win_free(&win));
    }
    own_free(&own);
}

/* Regions side by side are one piece of memory to whoever writes into it. */
static void regions_join(void)
{
    MPI_Win win;
    own_t own = own_alloc(300);
    char text[120];
    memset(text, 'j', sizeof(text));
    if (create_dynamic(&win)) {
        MPI_Aint there = address_at(right_of_me(), own.base);
        CHECK_OK(MPI_Win_attach(win, own.base + 100, 50));
        CHECK_OK(MPI_Win_attach(win, own.base + 150, 150));
        CHECK_OK(MPI_Win_attach(win, own.base, 99));
        CHECK_OK(MPI_Win_fence(0, win));
        CHECK_OK(MPI_Put(text, 120, MPI_BYTE, right_of_me(), there + 120, 120, MPI_BYTE, win));
        CHECK_CLASS(MPI_ERR_RMA_RANGE,
                    MPI_Put(text, 120, MPI_BYTE, right_of_me(), there + 50, 120, MPI_BYTE, win));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        CHECK_POISON(own.base, 120);
        CHECK_POISON(own.base + 240, 60);
        char got[120];
        mt_read(got, own.base + 120, sizeof(got));
        CHECK(0 == memcmp(got, text, sizeof(got)));
        CHECK_OK(MPI_Win_free(&win));
    }
    own_free(&own);
}

/* Attached in an order of their own, each found, each gone again. */
static void many_regions(void)
{
    enum { MANY = 2000, STEP = 7 };
    MPI_Win win;
    own_t own = own_alloc(MANY * 16);
    if (create_dynamic(&win)) {
        MPI_Aint there = address_at(right_of_me(), own.base);
        for (int i = 0; i < MANY; ++i) {
            CHECK_OK(MPI_Win_attach(win, own.base + i * STEP % MANY * 16, 15));
        }
        CHECK_OK(MPI_Win_fence(0, win));
        for (int i = 0; i < MANY; i += 13) {
            CHECK_OK(put_byte(win, right_of_me(), there + i * 16 + 14));
            CHECK_CLASS(MPI_ERR_RMA_RANGE, put_byte(win, right_of_me(), there + i * 16 + 15));
        }
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
        for (int i = 0; i < MANY; ++i) {
            char got = 0;
            mt_read(&got, own.base + i * 16 + 14, 1);
            CHECK_INT(0 == i % 13, 'y' == got);
            CHECK_OK(MPI_Win_detach(win, own.base + i * 16));
        }
        CHECK_OK(MPI_Win_free(&win));
    }
    own_free(&own);
}

/* One rank attaches and detaches while the others use what stays attached. */
static void attaching_beside_accesses(void)
{
    enum { ROUNDS = 300 };
    MPI_Win win;
    own_t own = own_alloc(4096);
    if (mt_needs_ranks(2) && create_dynamic(&win)) {
        CHECK_OK(MPI_Win_attach(win, own.base + 2048, 8));
        MPI_Aint there = address_at(0, own.base + 2048);
        CHECK_OK(MPI_Win_lock_all(0, win));
        for (int i = 0; i < ROUNDS; ++i) {
            int64_t got = 0;
            if (0 == mt_rank) {
                CHECK_OK(MPI_Win_attach(win, own.base + i % 32 * 16, 16));
                CHECK_OK(MPI_Win_detach(win, own.base + i % 32 * 16));
            } else {
                CHECK_OK(MPI_Get(&got, 1, MPI_INT64_T, 0, there, 1, MPI_INT64_T, win));
                CHECK_OK(MPI_Win_flush(0, win));
            }
        }
        CHECK_OK(MPI_Win_unlock_all(win));
        CHECK_OK(MPI_Win_free(&win));
    }
    own_free(&own);
}

/* Nothing stays behind, of windows that failed neither. */
static void nothing_leaks(void)
{
    mt_resources_t before = {0};
    own_t own = own_alloc(10000);
    for (int i = 0; i < 30; ++i) {
        MPI_Win win;
        if (create(&own, 1, &win)) {
            CHECK_OK(MPI_Win_free(&win));
        }
        if (create_dynamic(&win)) {
            CHECK_OK(MPI_Win_attach(win, own.base, 10000));
            CHECK_OK(MPI_Win_free(&win));
        }
        if (9 == i) {
            before = mt_resources();
        }
    }
    CHECK_RESOURCES(&before, 8);
    own_free(&own);
}

int main(int argc, char **argv)
{
#ifdef WIN_OWN_PROGRESS
    mt_set_param("osc_symm_cma", "0");
#endif
    mt_init(&argc, &argv, NAME);
    MT_RUN(memory_of_every_size);
    MT_RUN(sizes_and_units_differ);
    MT_RUN(nobody_has_memory);
    MT_RUN(window_on_a_windows_memory);
    MT_RUN(memory_of_vmm);
    MT_RUN(kinds_differ_by_rank);
    MT_RUN(origins_of_every_kind);
    MT_RUN(other_epochs_work);
    MT_RUN(updates_are_atomic);
    MT_RUN(memory_that_cannot_be_shared);
    MT_RUN(updates_of_many_blocks);
    MT_RUN(polling_lets_others_in);
    MT_RUN(regions_are_reached_by_address);
    MT_RUN(what_is_not_attached_is_refused);
    MT_RUN(attaching_and_detaching_wrongly);
    MT_RUN(empty_regions);
    MT_RUN(regions_join);
    MT_RUN(many_regions);
    MT_RUN(attaching_beside_accesses);
    MT_RUN(nothing_leaks);
    return mt_finish();
}
