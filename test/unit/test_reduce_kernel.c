/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Which kernel serves an operation, and with how many blocks. No device is needed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symm_reduce_kernel.h"
#include "symm_reduce_ops.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

static void name_written_out(void **state)
{
    static const struct {
        symm_op_t op;
        symm_dtype_t dtype;
        const char *name;
    } expected[] = {
        {SYMM_SUM, SYMM_FLOAT32, "symm_reduce_sum_f32"},
        {SYMM_SUM, SYMM_FLOAT64, "symm_reduce_sum_f64"},
        {SYMM_SUM, SYMM_INT8, "symm_reduce_sum_u8"},
        {SYMM_PROD, SYMM_INT16, "symm_reduce_prod_u16"},
        {SYMM_PROD, SYMM_UINT64, "symm_reduce_prod_u64"},
        {SYMM_MAX, SYMM_INT32, "symm_reduce_max_i32"},
        {SYMM_MAX, SYMM_UINT32, "symm_reduce_max_u32"},
        {SYMM_MIN, SYMM_INT8, "symm_reduce_min_i8"},
        {SYMM_LAND, SYMM_INT64, "symm_reduce_land_u64"},
        {SYMM_LXOR, SYMM_UINT8, "symm_reduce_lxor_u8"},
        {SYMM_BXOR, SYMM_INT32, "symm_reduce_bxor_u32"},
        {SYMM_SUM, SYMM_BFLOAT16, "symm_reduce_sum_bf16"},
        {SYMM_PROD, SYMM_COMPLEX_FLOAT64, "symm_reduce_prod_cf64"},
        {SYMM_MAXLOC, SYMM_DOUBLE_DOUBLE, "symm_reduce_maxloc_f64_f64"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        char name[SYMM_REDUCE_KERNEL_NAME_MAX];

        assert_int_equal(
            symm_reduce_kernel_name(expected[i].op, expected[i].dtype, name, sizeof(name)), 0);
        assert_string_equal(name, expected[i].name);
    }
}

/* Whether SYMM_REDUCE_LIST, from which the kernels are compiled, has a kernel of this name. */
static bool kernel_exists(const char *name)
{
#define KERNEL_NAME(op, op_name, dtype, dtype_name, ctype, atype)                                  \
    "symm_reduce_" #op_name "_" #dtype_name,
    static const char *const kernels[] = {SYMM_REDUCE_LIST(KERNEL_NAME)};
#undef KERNEL_NAME

    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if (0 == strcmp(kernels[i], name)) {
            return true;
        }
    }
    return false;
}

static void name_exists_for_all_defined(void **state)
{
    (void) state;
    for (int op = 0; op < SYMM_OP_COUNT; op++) {
        for (int dtype = 0; dtype < SYMM_DTYPE_COUNT; dtype++) {
            char name[SYMM_REDUCE_KERNEL_NAME_MAX] = "untouched";
            int rc =
                symm_reduce_kernel_name((symm_op_t) op, (symm_dtype_t) dtype, name, sizeof(name));

            if (symm_op_defined((symm_op_t) op, (symm_dtype_t) dtype) &&
                symm_dtype_on_gpu((symm_dtype_t) dtype)) {
                assert_int_equal(rc, 0);
                assert_true(kernel_exists(name));
            } else {
                assert_int_equal(rc, EINVAL);
                assert_string_equal(name, "untouched");
            }
        }
    }
}

static void name_undefined_is_refused(void **state)
{
    char name[SYMM_REDUCE_KERNEL_NAME_MAX] = "untouched";

    (void) state;
    assert_int_equal(symm_reduce_kernel_name(SYMM_BAND, SYMM_FLOAT32, name, sizeof(name)), EINVAL);
    assert_int_equal(symm_reduce_kernel_name(SYMM_SUM, SYMM_LONG_DOUBLE, name, sizeof(name)),
                     EINVAL);
    assert_int_equal(symm_reduce_kernel_name(SYMM_OP_COUNT, SYMM_INT8, name, sizeof(name)), EINVAL);
    assert_int_equal(symm_reduce_kernel_name(SYMM_SUM, SYMM_DTYPE_COUNT, name, sizeof(name)),
                     EINVAL);
    assert_int_equal(symm_reduce_kernel_name((symm_op_t) -1, SYMM_INT8, name, sizeof(name)),
                     EINVAL);
    assert_string_equal(name, "untouched");
}

static void name_needs_room_for_its_end(void **state)
{
    const char *expected = "symm_reduce_sum_f32";
    char name[SYMM_REDUCE_KERNEL_NAME_MAX];

    (void) state;
    for (size_t len = 0; len <= strlen(expected); len++) {
        memset(name, 'x', sizeof(name));
        assert_int_equal(symm_reduce_kernel_name(SYMM_SUM, SYMM_FLOAT32, name, len), ERANGE);
        for (size_t i = 0; i < sizeof(name); i++) {
            assert_int_equal(name[i], 'x');
        }
    }
    assert_int_equal(symm_reduce_kernel_name(SYMM_SUM, SYMM_FLOAT32, name, strlen(expected) + 1),
                     0);
    assert_string_equal(name, expected);
    assert_int_equal(name[strlen(expected) + 1], 'x');
}

static void blocks_on_132_multiprocessors(void **state)
{
    static const struct {
        uint64_t bytes;
        uint32_t blocks;
    } expected[] = {
        {0, 1},          {1, 1},           {8 * KIB, 1},      {8 * KIB + 1, 2}, {16 * KIB, 2},
        {64 * KIB, 8},   {MIB - 1, 128},   {MIB, 128},        {16 * MIB, 128},  {64 * MIB - 1, 128},
        {64 * MIB, 264}, {256 * MIB, 264}, {UINT64_MAX, 264},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(symm_reduce_blocks(expected[i].bytes, 132), expected[i].blocks);
    }
}

static void blocks_fit_a_small_device(void **state)
{
    (void) state;
    assert_int_equal(symm_reduce_blocks(0, 1), 1);
    assert_int_equal(symm_reduce_blocks(MIB, 1), 2);
    assert_int_equal(symm_reduce_blocks(MIB, 20), 40);
    assert_int_equal(symm_reduce_blocks(256 * MIB, 20), 40);
}

static void blocks_are_never_none(void **state)
{
    (void) state;
    assert_int_equal(symm_reduce_blocks(0, 0), 1);
    assert_int_equal(symm_reduce_blocks(MIB, 0), 1);
    assert_int_equal(symm_reduce_blocks(UINT64_MAX, 0), 1);
}

static void blocks_grow_with_size(void **state)
{
    (void) state;
    for (uint32_t multiprocessors = 1; multiprocessors < 200; multiprocessors += 13) {
        uint32_t before = 1;

        for (uint64_t bytes = 0; bytes < 256 * MIB; bytes += bytes / 3 + 4097) {
            uint32_t blocks = symm_reduce_blocks(bytes, multiprocessors);

            assert_true(blocks >= before);
            before = blocks;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_written_out),
        cmocka_unit_test(name_exists_for_all_defined),
        cmocka_unit_test(name_undefined_is_refused),
        cmocka_unit_test(name_needs_room_for_its_end),
        cmocka_unit_test(blocks_on_132_multiprocessors),
        cmocka_unit_test(blocks_fit_a_small_device),
        cmocka_unit_test(blocks_are_never_none),
        cmocka_unit_test(blocks_grow_with_size),
    };

    return cmocka_run_group_tests_name("reduce_kernel", tests, NULL, NULL);
}
