/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Atomic updates of host memory: against a reference that is written here, element by element, with
 * guard bytes around every buffer; then by threads, whose counts must come out exactly. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symm_atomic_params.h"

#define COUNT   37
#define BYTES   (COUNT * SYMM_ATOMIC_MAX_BYTES)
#define GUARD   16
#define THREADS 4
#define ROUNDS  20000

static uint64_t prng_state = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t prng_next(void)
{
    prng_state ^= prng_state >> 12;
    prng_state ^= prng_state << 25;
    prng_state ^= prng_state >> 27;
    return prng_state * UINT64_C(0x2545f4914f6cdd1d);
}

/* ---- the reference ---- */

static bool is_float(symm_dtype_t dtype)
{
    return SYMM_FLOAT32 == dtype || SYMM_FLOAT64 == dtype;
}

static double reference_float(symm_atomic_op_t op, double a, double b)
{
    switch (op) {
    case SYMM_SUM:
        return a + b;
    case SYMM_PROD:
        return a * b;
    case SYMM_MAX:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
}

static uint64_t reference_bits(symm_atomic_op_t op, int64_t a, int64_t b, bool is_signed)
{
    bool less = is_signed ? a < b : (uint64_t) a < (uint64_t) b;
    switch (op) {
    case SYMM_SUM:
        return (uint64_t) a + (uint64_t) b;
    case SYMM_PROD:
        return (uint64_t) a * (uint64_t) b;
    case SYMM_MAX:
        return (uint64_t) (less ? b : a);
    case SYMM_MIN:
        return (uint64_t) (less ? a : b);
    case SYMM_LAND:
        return a && b;
    case SYMM_LOR:
        return a || b;
    case SYMM_LXOR:
        return !a != !b;
    case SYMM_BAND:
        return (uint64_t) (a & b);
    case SYMM_BOR:
        return (uint64_t) (a | b);
    case SYMM_BXOR:
        return (uint64_t) (a ^ b);
    case SYMM_ATOMIC_REPLACE:
        return (uint64_t) b;
    default:
        return (uint64_t) a;
    }
}

static bool is_signed_type(symm_dtype_t dtype)
{
    return SYMM_INT8 == dtype || SYMM_INT16 == dtype || SYMM_INT32 == dtype || SYMM_INT64 == dtype;
}

/* An integer of dtype, extended to 64 bits. There are tests on little-endian machines only. */
static int64_t read_integer(symm_dtype_t dtype, const void *at)
{
    size_t size = symm_dtype_size(dtype);
    int64_t value = 0;
    memcpy(&value, at, size);
    if (is_signed_type(dtype) && 8 > size && 0 != (value >> (8 * size - 1) & 1)) {
        value |= (int64_t) (UINT64_MAX << (8 * size));
    }
    return value;
}

static void reference_update(symm_atomic_op_t op, symm_dtype_t dtype, void *target,
                             const void *operand)
{
    if (SYMM_FLOAT32 == dtype) {
        float a, b;
        memcpy(&a, target, sizeof(a));
        memcpy(&b, operand, sizeof(b));
        a = (float) reference_float(op, a, b); /* exact for the small integers used here */
        memcpy(target, &a, sizeof(a));
    } else if (SYMM_FLOAT64 == dtype) {
        double a, b;
        memcpy(&a, target, sizeof(a));
        memcpy(&b, operand, sizeof(b));
        a = reference_float(op, a, b);
        memcpy(target, &a, sizeof(a));
    } else {
        uint64_t bits = reference_bits(op, read_integer(dtype, target),
                                       read_integer(dtype, operand), is_signed_type(dtype));
        memcpy(target, &bits, symm_dtype_size(dtype));
    }
}

/* ---- one call against it ---- */

static void fill_values(symm_dtype_t dtype, unsigned char *at)
{
    size_t size = symm_dtype_size(dtype);
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t bits = 0 == prng_next() % 4 ? 0 : prng_next();
        float f = (float) (int) (prng_next() % 200) - 100;
        double d = f;
        memcpy(at + i * size,
               SYMM_FLOAT32 == dtype   ? (void *) &f
               : SYMM_FLOAT64 == dtype ? (void *) &d
                                       : (void *) &bits,
               size);
    }
}

typedef struct buffers {
    _Alignas(8) unsigned char target[GUARD + BYTES + GUARD];
    unsigned char origin[BYTES + 1];
    unsigned char result[GUARD + BYTES + GUARD];
    unsigned char expected[GUARD + BYTES + GUARD];
} buffers_t;

static void check_update(symm_atomic_op_t op, symm_dtype_t dtype, uint64_t count, bool fetch)
{
    static buffers_t b;
    size_t size = symm_dtype_size(dtype);
    unsigned char *target = b.target + GUARD;
    memset(&b, 0xa5, sizeof(b));
    fill_values(dtype, target);
    fill_values(dtype, b.origin + 1); /* operands and results at odd addresses */
    memcpy(b.expected, b.target, sizeof(b.target));
    symm_atomic_t atomic = {.op = op,
                            .dtype = dtype,
                            .count = count,
                            .rows = 1,
                            .target = target,
                            .origin = SYMM_ATOMIC_NO_OP == op ? NULL : b.origin + 1,
                            .result = fetch ? b.result + GUARD - 1 : NULL};
    unsigned char before[BYTES];
    memcpy(before, target, BYTES);
    assert_int_equal(0, symm_atomic_host(&atomic));
    for (uint64_t i = 0; i < count; i++) {
        reference_update(op, dtype, b.expected + GUARD + i * size, b.origin + 1 + i * size);
    }
    assert_memory_equal(b.expected, b.target, sizeof(b.target));
    if (fetch) {
        assert_memory_equal(before, b.result + GUARD - 1, count * size);
        memset(b.result + GUARD - 1, 0xa5, count * size);
    }
    for (size_t i = 0; i < sizeof(b.result); i++) {
        assert_int_equal(0xa5, b.result[i]);
    }
}

static void every_op_on_every_type(void **state)
{
    (void) state;
    int updates = 0;
    for (symm_atomic_op_t op = 0; op < SYMM_ATOMIC_CAS; op++) {
        for (int d = 0; d < SYMM_DTYPE_COUNT; d++) {
            symm_dtype_t dtype = (symm_dtype_t) d;
            if (!symm_atomic_defined(op, dtype)) {
                continue;
            }
            for (int fetch = 0; fetch < 2; fetch++) {
                check_update(op, dtype, 0, fetch);
                check_update(op, dtype, 1, fetch);
                check_update(op, dtype, COUNT, fetch);
            }
            updates++;
        }
    }
    /* 10 operations on 8 integers, 4 on 2 floats, 2 on the unsigned ones. */
    assert_int_equal(96, updates);
}

/* Of 3 rows of 2 elements each, in targets 4 elements apart. */
static void rows_have_pitches_of_their_own(void **state)
{
    (void) state;
    uint32_t target[12], origin[9], result[6];
    for (uint32_t i = 0; i < 12; i++) {
        target[i] = 100 * i;
        origin[i % 9] = i % 9;
    }
    symm_atomic_t atomic = {.op = SYMM_SUM,
                            .dtype = SYMM_UINT32,
                            .count = 2,
                            .rows = 3,
                            .target = target + 8,
                            .origin = origin,
                            .result = result,
                            .target_pitch = -16,
                            .origin_pitch = 12,
                            .result_pitch = 8};
    assert_int_equal(0, symm_atomic_host(&atomic));
    for (uint32_t row = 0; row < 3; row++) {
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t at = 8 - 4 * row + i;
            assert_int_equal(100 * at + (i < 2 ? 3 * row + i : 0), target[at]);
            if (i < 2) {
                assert_int_equal(100 * at, result[2 * row + i]);
            }
        }
    }
}

static void compare_and_swap_stores_on_equality_alone(void **state)
{
    (void) state;
    for (size_t size = 1; size <= SYMM_ATOMIC_MAX_BYTES; size *= 2) {
        symm_dtype_t dtype;
        _Alignas(8) unsigned char target[24];
        uint64_t have = UINT64_C(0x1122334455667788), next = UINT64_C(0x99aabbccddeeff00);
        assert_true(symm_atomic_word(size, &dtype));
        for (int equal = 0; equal < 2; equal++) {
            uint64_t compare = equal ? have : have ^ UINT64_C(0x0101010101010101);
            uint64_t old = 0, got = 0;
            memset(target, 0xa5, sizeof(target));
            memcpy(target + 8, &have, size);
            symm_atomic_t atomic = {.op = SYMM_ATOMIC_CAS,
                                    .dtype = dtype,
                                    .count = 1,
                                    .rows = 1,
                                    .target = target + 8,
                                    .origin = &next,
                                    .compare = &compare,
                                    .result = &old};
            assert_int_equal(0, symm_atomic_host(&atomic));
            memcpy(&got, target + 8, size);
            assert_memory_equal(&have, &old, size);
            assert_memory_equal(equal ? &next : &have, &got, size);
            assert_int_equal(0xa5, target[7]);
            assert_int_equal(0xa5, target[8 + size]);
        }
    }
}

static void undefined_updates_are_refused(void **state)
{
    (void) state;
    uint64_t word = 5, operand = 1;
    symm_dtype_t dtype;
    symm_atomic_t atomic = {.op = SYMM_BAND,
                            .dtype = SYMM_FLOAT64,
                            .count = 1,
                            .rows = 1,
                            .target = &word,
                            .origin = &operand};
    assert_int_equal(EINVAL, symm_atomic_host(&atomic));
    atomic.op = SYMM_ATOMIC_OP_COUNT;
    assert_int_equal(EINVAL, symm_atomic_host(&atomic));
    atomic.op = SYMM_SUM;
    atomic.dtype = (symm_dtype_t) -1;
    assert_int_equal(EINVAL, symm_atomic_host(&atomic));
    assert_int_equal(5, word);
    assert_false(symm_atomic_defined(SYMM_ATOMIC_CAS, SYMM_FLOAT32));
    assert_false(symm_atomic_word(3, &dtype));
    assert_false(symm_atomic_word(16, &dtype));
}

/* ---- threads ---- */

/* A cell that all threads update, between bytes that each updates alone. */
typedef struct shared {
    symm_dtype_t dtype;
    symm_atomic_op_t op;
    _Alignas(8) unsigned char bytes[16];
    unsigned char *target;
} shared_t;

static void *add_many(void *arg)
{
    shared_t *shared = arg;
    uint64_t one = 1;
    float one_f32 = 1;
    double one_f64 = 1;
    symm_atomic_t atomic = {.op = shared->op,
                            .dtype = shared->dtype,
                            .count = 1,
                            .rows = 1,
                            .target = shared->target,
                            .origin = SYMM_FLOAT32 == shared->dtype   ? (void *) &one_f32
                                      : SYMM_FLOAT64 == shared->dtype ? (void *) &one_f64
                                                                      : (void *) &one};
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(0, symm_atomic_host(&atomic));
    }
    return NULL;
}

static void run_threads(void *(*function)(void *), void *args, size_t arg_len)
{
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(
            0, pthread_create(&threads[t], NULL, function, (char *) args + (size_t) t * arg_len));
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(0, pthread_join(threads[t], NULL));
    }
}

static void sums_of_threads_are_exact(void **state)
{
    (void) state;
    for (int d = 0; d < SYMM_DTYPE_COUNT; d++) {
        shared_t shared = {.dtype = (symm_dtype_t) d, .op = SYMM_SUM};
        if (!symm_atomic_defined(SYMM_SUM, shared.dtype)) {
            continue;
        }
        shared.target = shared.bytes + 8;
        run_threads(add_many, &shared, 0);
        uint64_t sum = (uint64_t) THREADS * ROUNDS;
        if (is_float(shared.dtype)) {
            float f = 0;
            double value = 0;
            memcpy(&f, shared.target, sizeof(f));
            memcpy(&value, shared.target, sizeof(value));
            assert_true((SYMM_FLOAT32 == shared.dtype ? (double) f : value) == (double) sum);
        } else {
            assert_memory_equal(&sum, shared.target, symm_dtype_size(shared.dtype));
        }
    }
}

typedef struct neighbour {
    unsigned char *target;
    size_t size;
} neighbour_t;

/* Adds by compare-and-swap. */
static void *count_up(void *arg)
{
    const neighbour_t *mine = arg;
    symm_dtype_t dtype = SYMM_UINT8;
    assert_true(symm_atomic_word(mine->size, &dtype));
    uint64_t old = 0;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t compare, next;
        do {
            compare = old;
            next = compare + 1;
            symm_atomic_t atomic = {.op = SYMM_ATOMIC_CAS,
                                    .dtype = dtype,
                                    .count = 1,
                                    .rows = 1,
                                    .target = mine->target,
                                    .origin = &next,
                                    .compare = &compare,
                                    .result = &old};
            assert_int_equal(0, symm_atomic_host(&atomic));
        } while (0 != memcmp(&old, &compare, mine->size));
        memcpy(&old, &next, mine->size);
    }
    return NULL;
}

/* Each thread its own element of the same word; then all the same element. */
static void compare_and_swap_loses_nothing(void **state)
{
    (void) state;
    for (size_t size = 1; size <= SYMM_ATOMIC_MAX_BYTES; size *= 2) {
        for (int same = 0; same < 2; same++) {
            _Alignas(8) unsigned char bytes[THREADS * SYMM_ATOMIC_MAX_BYTES] = {0};
            neighbour_t args[THREADS];
            for (int t = 0; t < THREADS; t++) {
                args[t] = (neighbour_t){bytes + (same ? 0 : (size_t) t * size), size};
            }
            run_threads(count_up, args, sizeof(args[0]));
            for (int t = 0; t < (same ? 1 : THREADS); t++) {
                uint64_t sum = (uint64_t) ROUNDS * (same ? THREADS : 1);
                assert_memory_equal(&sum, args[t].target, size);
            }
        }
    }
}

/* ---- kernels ---- */

static void kernels_are_named_by_op_and_carrier(void **state)
{
    (void) state;
    char name[SYMM_ATOMIC_KERNEL_NAME_MAX];
    assert_int_equal(0, symm_atomic_kernel_name(SYMM_SUM, SYMM_INT32, name, sizeof(name)));
    assert_string_equal("symm_atomic_sum_u32", name);
    assert_int_equal(0, symm_atomic_kernel_name(SYMM_MAX, SYMM_INT64, name, sizeof(name)));
    assert_string_equal("symm_atomic_max_i64", name);
    assert_int_equal(0,
                     symm_atomic_kernel_name(SYMM_ATOMIC_REPLACE, SYMM_UINT16, name, sizeof(name)));
    assert_string_equal("symm_atomic_replace_u16", name);
    assert_int_equal(ERANGE, symm_atomic_kernel_name(SYMM_SUM, SYMM_INT32, name, 19));
    assert_int_equal(EINVAL, symm_atomic_kernel_name(SYMM_LAND, SYMM_FLOAT32, name, sizeof(name)));
}

static void blocks_fit_the_work(void **state)
{
    (void) state;
    assert_int_equal(96, sizeof(symm_atomic_piece_t));
    assert_int_equal(1, symm_atomic_blocks(1, 1, 132));
    assert_int_equal(1, symm_atomic_blocks(1, SYMM_ATOMIC_THREADS, 132));
    assert_int_equal(2, symm_atomic_blocks(1, SYMM_ATOMIC_THREADS + 1, 132));
    assert_int_equal(396, symm_atomic_blocks(1, UINT64_C(1) << 40, 132));
    assert_int_equal(1, symm_atomic_blocks(8, 0, 132));
    assert_int_equal(125, symm_atomic_blocks(1000, 0, 132));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_on_every_type),
        cmocka_unit_test(rows_have_pitches_of_their_own),
        cmocka_unit_test(compare_and_swap_stores_on_equality_alone),
        cmocka_unit_test(undefined_updates_are_refused),
        cmocka_unit_test(sums_of_threads_are_exact),
        cmocka_unit_test(compare_and_swap_loses_nothing),
        cmocka_unit_test(kernels_are_named_by_op_and_carrier),
        cmocka_unit_test(blocks_fit_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
