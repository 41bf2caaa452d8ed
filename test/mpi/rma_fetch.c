/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Fetch_and_op and MPI_Compare_and_swap: every datatype and operation, and what several ranks
 * do to one element at the same time, which must come out exactly. */
#include "symm_config.h"

#include "mpi_test.h"
#include "mpi_test_values.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_SIZE ((size_t) 65536)
#define ROUNDS      200
#define VALUE_MAX   32

static mt_win_t window;
static uint64_t round_number;

static int right(void)
{
    return (mt_rank + 1) % mt_size;
}

static int left(void)
{
    return (mt_rank + mt_size - 1) % mt_size;
}

/* Rounds of a test on the fake driver or a GPU are dearer. */
static int rounds(void)
{
    return SYMM_KIND_SYSTEM == mt_kind ? ROUNDS : ROUNDS / 4;
}

/* ---- one operation at a time ---- */

static void fetch_once(const mt_value_type_t *type, MPI_Op op, size_t at)
{
    _Alignas(16) char mine[VALUE_MAX], origin[VALUE_MAX], result[VALUE_MAX], peers[VALUE_MAX];
    _Alignas(16) char incoming[VALUE_MAX], after[VALUE_MAX];
    uint64_t round = ++round_number;
    memset(result, 0x5a, sizeof(result));
    memset(mine, 0, sizeof(mine));
    mt_values(type, mine, 1, mt_seed(mt_rank, round));
    mt_values(type, peers, 1, mt_seed(right(), round));
    mt_values(type, origin, 1, mt_seed(mt_rank + 100, round));
    mt_values(type, incoming, 1, mt_seed(left() + 100, round));
    mt_poison(window.base, at + type->size + MT_GUARD);
    mt_write(window.base + at, mine, type->size);
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Fetch_and_op(MPI_NO_OP == op ? NULL : origin, result, type->datatype, right(),
                              (MPI_Aint) at, op, window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    CHECK_VALUES(type, peers, result, 1);
    mt_values_update(type, op, mine, incoming, 1);
    mt_read(after, window.base + at, type->size);
    CHECK_VALUES(type, mine, after, 1);
    CHECK_POISON(window.base, at);
    CHECK_POISON(window.base + at + type->size, MT_GUARD);
    mt_barrier();
}

/* Whether windows of this kind take the type: GPUs have no long double. */
static bool has_type(const mt_value_type_t *type)
{
    return SYMM_KIND_SYSTEM == mt_kind ||
           (MT_FORM_LONG_DOUBLE != type->form && MT_FORM_COMPLEX_LONG_DOUBLE != type->form &&
            MT_FORM_LONG_DOUBLE_INT != type->form);
}

static void fetch_every_op_and_type(void)
{
    mt_value_type_t type;
    MPI_Op op;
    const char *name;
    symm_stats_t before = mt_stats();
    uint64_t calls = 0;
    for (int t = 0; mt_value_type(t, &type); ++t) {
        for (int o = 0; mt_value_op(o, &op, &name); ++o) {
            for (size_t at = 64; at < 66 && has_type(&type) && mt_value_allows(type.form, op);
                 ++at) {
                mt_context("%s of %s at %zu", name, type.name, at);
                fetch_once(&type, op, at);
                ++calls;
            }
        }
    }
    CHECK_INT(calls, mt_stats().accumulates - before.accumulates);
}

/* Integers, logical types and bytes. */
static bool can_compare(const mt_value_type_t *type)
{
    return MT_FORM_INTEGER == type->form || MT_FORM_LOGICAL == type->form ||
           MT_FORM_BYTE == type->form;
}

static void swap_once(const mt_value_type_t *type, size_t at, bool equal)
{
    char mine[8], compare[8], origin[8], result[8], after[8];
    memset(mine, mt_rank + 1, sizeof(mine));
    memset(compare, right() + (equal ? 1 : 2), sizeof(compare));
    memset(origin, 0x77, sizeof(origin));
    mt_poison(window.base, at + type->size + MT_GUARD);
    mt_write(window.base + at, mine, type->size);
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Compare_and_swap(origin, compare, result, type->datatype, right(), (MPI_Aint) at,
                                  window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    memset(compare, right() + 1, sizeof(compare));
    CHECK(0 == memcmp(compare, result, type->size));
    mt_read(after, window.base + at, type->size);
    CHECK(0 == memcmp(equal ? origin : mine, after, type->size));
    CHECK_POISON(window.base, at);
    CHECK_POISON(window.base + at + type->size, MT_GUARD);
    mt_barrier();
}

static void swap_every_type(void)
{
    mt_value_type_t type;
    for (int t = 0; mt_value_type(t, &type); ++t) {
        for (size_t at = 64; at < 66 && can_compare(&type); ++at) {
            mt_context("%s at %zu", type.name, at);
            swap_once(&type, at, true);
            swap_once(&type, at, false);
        }
    }
}

/* Has hung elsewhere. */
static void swap_16_bits_with_oneself_alone(void)
{
    mt_win_t w;
    if (!mt_allocate(64, 2, MPI_COMM_SELF, &w)) {
        return;
    }
    short value = 3, next = 4, old = 0;
    mt_write(w.base + 2, &value, sizeof(value));
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
    for (short i = 3; i < 20; ++i) {
        next = (short) (i + 1);
        CHECK_OK(MPI_Compare_and_swap(&next, &i, &old, MPI_SHORT, 0, 1, w.win));
        CHECK_OK(MPI_Win_flush(0, w.win));
        CHECK_INT(i, old);
    }
    CHECK_OK(MPI_Win_unlock(0, w.win));
    mt_read(&value, w.base + 2, sizeof(value));
    CHECK_INT(20, value);
    mt_win_free(&w);
}

/* Origins, values to compare with and results in memory of every kind. */
static void every_memory(void)
{
    for (int m = 0; m < MT_MEMORY_COUNT; ++m) {
        mt_memory_t memory = (mt_memory_t) m;
        if (!mt_has_memory(memory)) {
            mt_note("%s memory left out, there is no GPU", mt_memory_name(memory));
            continue;
        }
        mt_context("%s memory", mt_memory_name(memory));
        long mine = 10 * mt_rank, values[3] = {7, 10 * right() + 7, 0}, after;
        char *there = mt_alloc(memory, sizeof(values));
        mt_write(there, values, sizeof(values));
        mt_write(window.base, &mine, sizeof(mine));
        mt_barrier();
        CHECK_OK(MPI_Win_lock_all(0, window.win));
        CHECK_OK(MPI_Fetch_and_op(there, there + 16, MPI_LONG, right(), 0, MPI_SUM, window.win));
        CHECK_OK(MPI_Win_flush(right(), window.win));
        mt_read(values, there, sizeof(values));
        CHECK_INT(10 * right(), values[2]);
        CHECK_OK(
            MPI_Compare_and_swap(there, there + 8, there + 16, MPI_LONG, right(), 0, window.win));
        CHECK_OK(MPI_Win_flush_local(right(), window.win));
        mt_read(values, there, sizeof(values));
        CHECK_INT(10 * right() + 7, values[2]);
        CHECK_OK(MPI_Win_unlock_all(window.win));
        mt_barrier();
        mt_read(&after, window.base, sizeof(after));
        CHECK_INT(7, after);
        mt_free(memory, there);
        mt_barrier();
    }
}

/* ---- all ranks at once ---- */

static int compare_longs(const void *a, const void *b)
{
    long x = *(const long *) a, y = *(const long *) b;
    return (x > y) - (x < y);
}

/* Every value of a counter is fetched once. */
static void counters_give_each_number_once(void)
{
    long zero = 0, one = 1;
    int n = rounds();
    long *mine = malloc((size_t) n * sizeof(*mine));
    long *all = malloc((size_t) (n * mt_size) * sizeof(*all));
    mt_write(window.base, &zero, sizeof(zero));
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    for (int i = 0; i < n; ++i) {
        CHECK_OK(MPI_Fetch_and_op(&one, &mine[i], MPI_LONG, 0, 0, MPI_SUM, window.win));
        if (0 == i % 3) { /* otherwise several wait for the same flush */
            CHECK_OK(MPI_Win_flush(0, window.win));
        }
    }
    CHECK_OK(MPI_Win_unlock_all(window.win));
    for (int i = 1; i < n; ++i) {
        CHECK_MSG(mine[i] > mine[i - 1], "%ld after %ld", mine[i], mine[i - 1]);
    }
    CHECK_OK(MPI_Allgather(mine, n, MPI_LONG, all, n, MPI_LONG, mt_comm));
    qsort(all, (size_t) (n * mt_size), sizeof(*all), compare_longs);
    for (int i = 0; i < n * mt_size; ++i) {
        CHECK_INT(i, all[i]);
    }
    free(mine);
    free(all);
    mt_barrier();
}

/* Adds 1 by compare-and-swap, however often that takes. */
static void add_by_swapping(MPI_Datatype type, size_t size, int target, MPI_Aint at)
{
    uint64_t compare = 0, next, old = 0;
    for (;;) {
        next = compare + 1;
        bool good =
            CHECK_OK(MPI_Compare_and_swap(&next, &compare, &old, type, target, at, window.win)) &&
            CHECK_OK(MPI_Win_flush(target, window.win));
        if (!good || 0 == memcmp(&old, &compare, size)) {
            return;
        }
        compare = 0;
        memcpy(&compare, &old, size);
    }
}

/* All four operations on one element, from all ranks: one atomicity domain. Long accumulates next
 * to it take other paths than short ones. */
static void all_operations_share_one_domain(void)
{
    const struct {
        MPI_Datatype type;
        size_t size;
    } types[] = {{MPI_UINT8_T, 1}, {MPI_UINT16_T, 2}, {MPI_UINT32_T, 4}, {MPI_UINT64_T, 8}};
    enum { LONG_COUNT = 300 };
    static uint64_t ones[LONG_COUNT], old[LONG_COUNT];
    for (size_t t = 0; t < 4; ++t) {
        unsigned char zeros[LONG_COUNT * 8] = {0};
        size_t size = types[t].size;
        int n = rounds() / 10;
        mt_context("%zu bytes", size);
        for (size_t i = 0; i < LONG_COUNT; ++i) {
            uint64_t one = 1;
            memcpy((char *) ones + i * size, &one, size);
        }
        mt_write(window.base, zeros, sizeof(zeros));
        mt_barrier();
        CHECK_OK(MPI_Win_lock_all(0, window.win));
        for (int i = 0; i < n; ++i) {
            uint64_t fetched;
            MPI_Aint at = 5 * (MPI_Aint) size;
            CHECK_OK(MPI_Accumulate(ones, 1, types[t].type, 0, at, 1, types[t].type, MPI_SUM,
                                    window.win));
            CHECK_OK(MPI_Fetch_and_op(ones, &fetched, types[t].type, 0, at, MPI_SUM, window.win));
            CHECK_OK(MPI_Accumulate(ones, LONG_COUNT, types[t].type, 0, 0, LONG_COUNT,
                                    types[t].type, MPI_SUM, window.win));
            CHECK_OK(MPI_Get_accumulate(ones, 20, types[t].type, old, 20, types[t].type, 0, 0, 20,
                                        types[t].type, MPI_SUM, window.win));
            add_by_swapping(types[t].type, size, 0, at);
        }
        CHECK_OK(MPI_Win_unlock_all(window.win));
        mt_barrier();
        if (0 == mt_rank) {
            mt_read(zeros, window.base, sizeof(zeros));
            for (size_t i = 0; i < LONG_COUNT; ++i) {
                uint64_t expected = (uint64_t) (n * mt_size) * (5 == i ? 5 : i < 20 ? 2 : 1);
                CHECK_MSG(0 == memcmp(&expected, zeros + i * size, size), "element %zu", i);
            }
        }
        mt_barrier();
    }
}

/* Ranks that update neighbouring bytes, while others put into those between them. */
static void small_elements_leave_their_neighbours_alone(void)
{
    unsigned char zeros[64] = {0}, one = 1;
    int n = rounds();
    if (!mt_needs_ranks(2) || 20 < mt_size) {
        return;
    }
    mt_write(window.base, zeros, sizeof(zeros));
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    for (int i = 1; i <= n; ++i) {
        unsigned char value = (unsigned char) i;
        CHECK_OK(MPI_Accumulate(&one, 1, MPI_UINT8_T, 0, 3 * mt_rank, 1, MPI_UINT8_T, MPI_SUM,
                                window.win));
        CHECK_OK(MPI_Put(&value, 1, MPI_BYTE, 0, 3 * mt_rank + 1, 1, MPI_BYTE, window.win));
        CHECK_OK(MPI_Win_flush(0, window.win));
    }
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
    if (0 == mt_rank) {
        mt_read(zeros, window.base, sizeof(zeros));
        for (int r = 0; r < mt_size; ++r) {
            CHECK_INT(n % 256, zeros[3 * r]);
            CHECK_INT(n % 256, zeros[3 * r + 1]);
            CHECK_INT(0, zeros[3 * r + 2]);
        }
    }
    mt_barrier();
}

/* A rank that polls must let those in who need its progress, and see what they do. */
static void polling_lets_others_in(void)
{
    int zero = 0, one = 1, seen = 0;
    enum { BIG = 1 << 20 };
    if (!mt_needs_ranks(2)) {
        return;
    }
    char *message = calloc(BIG, 1);
    mt_write(window.base, &zero, sizeof(zero));
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    if (0 == mt_rank) {
        MPI_Request request;
        CHECK_OK(MPI_Isend(message, BIG, MPI_BYTE, 1, 0, mt_comm, &request));
        while (0 == seen) {
            CHECK_OK(MPI_Fetch_and_op(NULL, &seen, MPI_INT, 0, 0, MPI_NO_OP, window.win));
            CHECK_OK(MPI_Win_flush_local(0, window.win));
        }
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else if (1 == mt_rank) {
        CHECK_OK(MPI_Recv(message, BIG, MPI_BYTE, 0, 0, mt_comm, MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, window.win));
    }
    CHECK_OK(MPI_Win_unlock_all(window.win));
    free(message);
    mt_barrier();
}

/* ---- what is refused ---- */

static void bad_calls_are_refused(void)
{
    double value = 1, result = 2;
    int number = 1, other = 2, old = 3;
    MPI_Aint end = (MPI_Aint) WINDOW_SIZE;
    MPI_Op mine;
    CHECK_CLASS(MPI_ERR_RMA_SYNC,
                MPI_Fetch_and_op(&number, &old, MPI_INT, 0, 0, MPI_SUM, window.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC,
                MPI_Compare_and_swap(&number, &other, &old, MPI_INT, 0, 0, window.win));
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_RANGE,
                MPI_Fetch_and_op(&number, &old, MPI_INT, 0, end - 3, MPI_SUM, window.win));
    CHECK_CLASS(MPI_ERR_RMA_RANGE,
                MPI_Compare_and_swap(&number, &other, &old, MPI_INT, 0, end, window.win));
    CHECK_CLASS(MPI_ERR_OP,
                MPI_Fetch_and_op(&value, &result, MPI_DOUBLE, 0, 0, MPI_BAND, window.win));
    CHECK_CLASS(MPI_ERR_TYPE,
                MPI_Compare_and_swap(&value, &value, &result, MPI_DOUBLE, 0, 0, window.win));
    CHECK_OK(MPI_Op_create((MPI_User_function *) abort, 1, &mine));
    CHECK_CLASS(MPI_ERR_OP, MPI_Fetch_and_op(&number, &old, MPI_INT, 0, 0, mine, window.win));
    CHECK_OK(MPI_Op_free(&mine));
    CHECK_OK(MPI_Fetch_and_op(NULL, NULL, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, window.win));
    CHECK_OK(MPI_Compare_and_swap(NULL, NULL, NULL, MPI_INT, MPI_PROC_NULL, 0, window.win));
    CHECK_INT(3, old);
    CHECK_OK(MPI_Fetch_and_op(&number, &old, MPI_INT, mt_rank, 0, MPI_SUM, window.win));
    CHECK_OK(MPI_Win_unlock_all(window.win));
}

int main(int argc, char **argv)
{
#ifdef RMA_FETCH_LOCKED
    (void) setenv("FAKE_CUDA_MACHINE", SYMM_TEST_MACHINES "/two-pcie", 1);
    mt_init(&argc, &argv, "rma_fetch_locked");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (SYMM_KIND_SYSTEM == mt_kind || NULL == driver || NULL == dlsym(driver, "fake_cuda_count")) {
        mt_skip("it is for the fake driver");
    }
#else
    mt_init(&argc, &argv, "rma_fetch");
#endif
    if (mt_allocate(WINDOW_SIZE, 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(fetch_every_op_and_type);
        MT_RUN(swap_every_type);
        MT_RUN(swap_16_bits_with_oneself_alone);
        MT_RUN(every_memory);
        MT_RUN(counters_give_each_number_once);
        MT_RUN(all_operations_share_one_domain);
        MT_RUN(small_elements_leave_their_neighbours_alone);
        MT_RUN(polling_lets_others_in);
        MT_RUN(bad_calls_are_refused);
        mt_win_free(&window);
    }
    return mt_finish();
}
