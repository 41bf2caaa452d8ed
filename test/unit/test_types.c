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
    symm_class_t class;
    symm_dtype_t unsigned_dtype;
    bool gaps, on_host_alone;
} dtypes[] = {
    {SYMM_INT8, 1, "i8", SYMM_CLASS_INTEGER, SYMM_UINT8, false, false},
    {SYMM_UINT8, 1, "u8", SYMM_CLASS_INTEGER, SYMM_UINT8, false, false},
    {SYMM_INT16, 2, "i16", SYMM_CLASS_INTEGER, SYMM_UINT16, false, false},
    {SYMM_UINT16, 2, "u16", SYMM_CLASS_INTEGER, SYMM_UINT16, false, false},
    {SYMM_INT32, 4, "i32", SYMM_CLASS_INTEGER, SYMM_UINT32, false, false},
    {SYMM_UINT32, 4, "u32", SYMM_CLASS_INTEGER, SYMM_UINT32, false, false},
    {SYMM_INT64, 8, "i64", SYMM_CLASS_INTEGER, SYMM_UINT64, false, false},
    {SYMM_UINT64, 8, "u64", SYMM_CLASS_INTEGER, SYMM_UINT64, false, false},
    {SYMM_FLOAT16, 2, "f16", SYMM_CLASS_FLOAT, SYMM_FLOAT16, false, false},
    {SYMM_BFLOAT16, 2, "bf16", SYMM_CLASS_FLOAT, SYMM_BFLOAT16, false, false},
    {SYMM_FLOAT32, 4, "f32", SYMM_CLASS_FLOAT, SYMM_FLOAT32, false, false},
    {SYMM_FLOAT64, 8, "f64", SYMM_CLASS_FLOAT, SYMM_FLOAT64, false, false},
    {SYMM_LONG_DOUBLE, sizeof(long double), "ld", SYMM_CLASS_FLOAT, SYMM_LONG_DOUBLE, false, true},
    {SYMM_COMPLEX_FLOAT32, 8, "cf32", SYMM_CLASS_COMPLEX, SYMM_COMPLEX_FLOAT32, false, false},
    {SYMM_COMPLEX_FLOAT64, 16, "cf64", SYMM_CLASS_COMPLEX, SYMM_COMPLEX_FLOAT64, false, false},
    {SYMM_COMPLEX_LONG_DOUBLE, 2 * sizeof(long double), "cld", SYMM_CLASS_COMPLEX,
     SYMM_COMPLEX_LONG_DOUBLE, false, true},
    {SYMM_FLOAT_INT, 8, "f32_i32", SYMM_CLASS_PAIR, SYMM_FLOAT_INT, false, false},
    {SYMM_DOUBLE_INT, 16, "f64_i32", SYMM_CLASS_PAIR, SYMM_DOUBLE_INT, true, false},
    {SYMM_LONG_INT, 16, "i64_i32", SYMM_CLASS_PAIR, SYMM_LONG_INT, true, false},
    {SYMM_INT_INT, 8, "i32_i32", SYMM_CLASS_PAIR, SYMM_INT_INT, false, false},
    {SYMM_SHORT_INT, 8, "i16_i32", SYMM_CLASS_PAIR, SYMM_SHORT_INT, true, false},
    {SYMM_FLOAT_FLOAT, 8, "f32_f32", SYMM_CLASS_PAIR, SYMM_FLOAT_FLOAT, false, false},
    {SYMM_DOUBLE_DOUBLE, 16, "f64_f64", SYMM_CLASS_PAIR, SYMM_DOUBLE_DOUBLE, false, false},
    {SYMM_LONG_DOUBLE_INT, 2 * sizeof(long double), "ld_i32", SYMM_CLASS_PAIR, SYMM_LONG_DOUBLE_INT,
     true, true},
};

/* on[class]: whether MPI has the operation there. */
static const struct {
    symm_op_t op;
    const char *name;
    bool on[SYMM_CLASS_NONE];
    bool is_order;
} ops[] = {
    {SYMM_SUM, "sum", {true, true, true, false}, false},
    {SYMM_PROD, "prod", {true, true, true, false}, false},
    {SYMM_MAX, "max", {true, true, false, false}, true},
    {SYMM_MIN, "min", {true, true, false, false}, true},
    {SYMM_LAND, "land", {true, false, false, false}, false},
    {SYMM_LOR, "lor", {true, false, false, false}, false},
    {SYMM_LXOR, "lxor", {true, false, false, false}, false},
    {SYMM_BAND, "band", {true, false, false, false}, false},
    {SYMM_BOR, "bor", {true, false, false, false}, false},
    {SYMM_BXOR, "bxor", {true, false, false, false}, false},
    {SYMM_MAXLOC, "maxloc", {false, false, false, true}, false},
    {SYMM_MINLOC, "minloc", {false, false, false, true}, false},
};

#define DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))
#define OPS    (sizeof(ops) / sizeof(ops[0]))

static const int out_of_range[] = {-1, 24, 25, 1000, INT32_MAX, INT32_MIN};

#define OUT_OF_RANGE (sizeof(out_of_range) / sizeof(out_of_range[0]))

static void lists_are_complete(void **state)
{
    (void) state;
    assert_int_equal(SYMM_DTYPE_COUNT, DTYPES);
    assert_int_equal(SYMM_OP_COUNT, OPS);
}

static void dtype_properties(void **state)
{
    (void) state;
    for (size_t i = 0; i < DTYPES; i++) {
        assert_string_equal(symm_dtype_name(dtypes[i].dtype), dtypes[i].name);
        assert_int_equal(symm_dtype_size(dtypes[i].dtype), dtypes[i].size);
        assert_int_equal(symm_dtype_class(dtypes[i].dtype), dtypes[i].class);
        assert_int_equal(symm_dtype_has_gaps(dtypes[i].dtype), dtypes[i].gaps);
        assert_int_equal(symm_dtype_on_gpu(dtypes[i].dtype), !dtypes[i].on_host_alone);
    }
    for (size_t i = 0; i < OUT_OF_RANGE; i++) {
        assert_string_equal(symm_dtype_name((symm_dtype_t) out_of_range[i]), "?");
        assert_int_equal(symm_dtype_size((symm_dtype_t) out_of_range[i]), 0);
        assert_int_equal(symm_dtype_class((symm_dtype_t) out_of_range[i]), SYMM_CLASS_NONE);
        assert_false(symm_dtype_has_gaps((symm_dtype_t) out_of_range[i]));
        assert_false(symm_dtype_on_gpu((symm_dtype_t) out_of_range[i]));
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
                             ops[o].on[dtypes[d].class]);
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
        cmocka_unit_test(dtype_properties),
        cmocka_unit_test(op_name),
        cmocka_unit_test(op_defined),
        cmocka_unit_test(op_carrier),
    };

    return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
