/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Names, sizes and the op x type matrix, each written out here once more and not from the lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symm_types.h"

static const struct {
    symm_dtype_t dtype;
    size_t size;
    const char *name;
    bool is_float;
    symm_dtype_t unsigned_dtype;
} dtypes[] = {
    {SYMM_INT8, 1, "i8", false, SYMM_UINT8},      {SYMM_UINT8, 1, "u8", false, SYMM_UINT8},
    {SYMM_INT16, 2, "i16", false, SYMM_UINT16},   {SYMM_UINT16, 2, "u16", false, SYMM_UINT16},
    {SYMM_INT32, 4, "i32", false, SYMM_UINT32},   {SYMM_UINT32, 4, "u32", false, SYMM_UINT32},
    {SYMM_INT64, 8, "i64", false, SYMM_UINT64},   {SYMM_UINT64, 8, "u64", false, SYMM_UINT64},
    {SYMM_FLOAT32, 4, "f32", true, SYMM_FLOAT32}, {SYMM_FLOAT64, 8, "f64", true, SYMM_FLOAT64},
};

static const struct {
    symm_op_t op;
    const char *name;
    bool on_float;
    bool is_order;
} ops[] = {
    {SYMM_SUM, "sum", true, false},    {SYMM_PROD, "prod", true, false},
    {SYMM_MAX, "max", true, true},     {SYMM_MIN, "min", true, true},
    {SYMM_LAND, "land", false, false}, {SYMM_LOR, "lor", false, false},
    {SYMM_LXOR, "lxor", false, false}, {SYMM_BAND, "band", false, false},
    {SYMM_BOR, "bor", false, false},   {SYMM_BXOR, "bxor", false, false},
};

#define DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))
#define OPS    (sizeof(ops) / sizeof(ops[0]))

static const int out_of_range[] = {-1, 10, 11, 1000, INT32_MAX, INT32_MIN};

#define OUT_OF_RANGE (sizeof(out_of_range) / sizeof(out_of_range[0]))

static void lists_are_complete(void **state)
{
    (void) state;
    assert_int_equal(SYMM_DTYPE_COUNT, DTYPES);
    assert_int_equal(SYMM_OP_COUNT, OPS);
}

static void dtype_name_and_size(void **state)
{
    (void) state;
    for (size_t i = 0; i < DTYPES; i++) {
        assert_string_equal(symm_dtype_name(dtypes[i].dtype), dtypes[i].name);
        assert_int_equal(symm_dtype_size(dtypes[i].dtype), dtypes[i].size);
    }
    for (size_t i = 0; i < OUT_OF_RANGE; i++) {
        assert_string_equal(symm_dtype_name((symm_dtype_t) out_of_range[i]), "?");
        assert_int_equal(symm_dtype_size((symm_dtype_t) out_of_range[i]), 0);
    }
}

static void op_name(void **state)
{
    (void) state;
    for (size_t i = 0; i < OPS; i++) {
        assert_string_equal(symm_op_name(ops[i].op), ops[i].name);
    }
    for (size_t i = 0; i < OUT_OF_RANGE; i++) {
        assert_string_equal(symm_op_name((symm_op_t) out_of_range[i]), "?");
    }
}

static void op_defined(void **state)
{
    (void) state;
    for (size_t o = 0; o < OPS; o++) {
        for (size_t d = 0; d < DTYPES; d++) {
            assert_int_equal(symm_op_defined(ops[o].op, dtypes[d].dtype),
                             ops[o].on_float || !dtypes[d].is_float);
        }
    }
    for (size_t i = 0; i < OUT_OF_RANGE; i++) {
        assert_false(symm_op_defined((symm_op_t) out_of_range[i], SYMM_INT32));
        assert_false(symm_op_defined(SYMM_SUM, (symm_dtype_t) out_of_range[i]));
        assert_false(symm_op_defined(SYMM_BAND, (symm_dtype_t) out_of_range[i]));
    }
}

static void op_carrier(void **state)
{
    (void) state;
    for (size_t o = 0; o < OPS; o++) {
        for (size_t d = 0; d < DTYPES; d++) {
            assert_int_equal(symm_op_carrier(ops[o].op, dtypes[d].dtype),
                             ops[o].is_order ? dtypes[d].dtype : dtypes[d].unsigned_dtype);
        }
        for (size_t i = 0; i < OUT_OF_RANGE; i++) {
            symm_dtype_t dtype = (symm_dtype_t) out_of_range[i];

            assert_int_equal(symm_op_carrier(ops[o].op, dtype), dtype);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_complete),
        cmocka_unit_test(dtype_name_and_size),
        cmocka_unit_test(op_name),
        cmocka_unit_test(op_defined),
        cmocka_unit_test(op_carrier),
    };

    return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
