/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What each reduction computes for one pair of elements, and the list of the loops that must exist:
 * the one source of both for the host twin and the kernels, so that the two cannot differ. */
#ifndef SYMM_REDUCE_OPS_H
#define SYMM_REDUCE_OPS_H

#include <stdint.h>

#include "symm_elements.h"
#include "symm_types.h"

/* SYMM_COMBINE_<op>(a, b): a is the lower rank's value. Both are of the arithmetic type of the list
 * below; the caller casts the result back to the element type. MAX and MIN give b when they compare
 * false, so for a NaN and for zeros of both signs too. Logical operations avoid && and ||, whose
 * branches keep compilers from vectorising, and give 0 or 1. */
#define SYMM_COMBINE_sum(a, b)  ((a) + (b))
#define SYMM_COMBINE_prod(a, b) ((a) * (b))
#define SYMM_COMBINE_max(a, b)  ((a) > (b) ? (a) : (b))
#define SYMM_COMBINE_min(a, b)  ((a) < (b) ? (a) : (b))
#define SYMM_COMBINE_land(a, b) (((a) != 0) & ((b) != 0))
#define SYMM_COMBINE_lor(a, b)  (((a) | (b)) != 0)
#define SYMM_COMBINE_lxor(a, b) (((a) != 0) ^ ((b) != 0))
#define SYMM_COMBINE_band(a, b) ((a) & (b))
#define SYMM_COMBINE_bor(a, b)  ((a) | (b))
#define SYMM_COMBINE_bxor(a, b) ((a) ^ (b))

/* Of pairs with equal values the lower index. b when the values compare false, so for a NaN. */
#define SYMM_COMBINE_maxloc(a, b)                                                                  \
    ((((a).value > (b).value) | (((a).value == (b).value) & ((a).index < (b).index))) ? (a) : (b))
#define SYMM_COMBINE_minloc(a, b)                                                                  \
    ((((a).value < (b).value) | (((a).value == (b).value) & ((a).index < (b).index))) ? (a) : (b))

/* SYMM_REDUCE(op, op name, dtype, dtype name, element type, arithmetic type): every op on every
 * type that carries it, see symm_op_carrier(). The arithmetic type of narrow unsigned integers is
 * uint32_t, because int, to which C promotes them, overflows in 65535 * 65535. */
#define SYMM_REDUCE_UNSIGNED(SYMM_REDUCE, op, name)                                                \
    SYMM_REDUCE(op, name, SYMM_UINT8, u8, uint8_t, uint32_t)                                       \
    SYMM_REDUCE(op, name, SYMM_UINT16, u16, uint16_t, uint32_t)                                    \
    SYMM_REDUCE(op, name, SYMM_UINT32, u32, uint32_t, uint32_t)                                    \
    SYMM_REDUCE(op, name, SYMM_UINT64, u64, uint64_t, uint64_t)

#define SYMM_REDUCE_SIGNED(SYMM_REDUCE, op, name)                                                  \
    SYMM_REDUCE(op, name, SYMM_INT8, i8, int8_t, int32_t)                                          \
    SYMM_REDUCE(op, name, SYMM_INT16, i16, int16_t, int32_t)                                       \
    SYMM_REDUCE(op, name, SYMM_INT32, i32, int32_t, int32_t)                                       \
    SYMM_REDUCE(op, name, SYMM_INT64, i64, int64_t, int64_t)

#define SYMM_REDUCE_FLOAT(SYMM_REDUCE, op, name)                                                   \
    SYMM_REDUCE(op, name, SYMM_FLOAT32, f32, float, float)                                         \
    SYMM_REDUCE(op, name, SYMM_FLOAT64, f64, double, double)

/* Plain numbers. */
#define SYMM_REDUCE_PLAIN_LIST(SYMM_REDUCE)                                                        \
    SYMM_REDUCE_UNSIGNED(SYMM_REDUCE, SYMM_SUM, sum)                                               \
    SYMM_REDUCE_FLOAT(SYMM_REDUCE, SYMM_SUM, sum)                                                  \
    SYMM_REDUCE_UNSIGNED(SYMM_REDUCE, SYMM_PROD, prod)                                             \
    SYMM_REDUCE_FLOAT(SYMM_REDUCE, SYMM_PROD, prod)                                                \
    SYMM_REDUCE_UNSIGNED(SYMM_REDUCE, SYMM_MAX, max)                                               \
    SYMM_REDUCE_SIGNED(SYMM_REDUCE, SYMM_MAX, max)                                                 \
    SYMM_REDUCE_FLOAT(SYMM_REDUCE, SYMM_MAX, max)                                                  \
    SYMM_REDUCE_UNSIGNED(SYMM_REDUCE, SYMM_MIN, min)                                               \
    SYMM_REDUCE_SIGNED(SYMM_REDUCE, SYMM_MIN, min)                                                 \
    SYMM_REDUCE_FLOAT(SYMM_REDUCE, SYMM_MIN, min)                                                  \
    SYMM_REDUCE_UNSIGNED(SYMM_REDUCE, SYMM_LAND, land)                                             \
    SYMM_REDUCE_UNSIGNED(SYMM_REDUCE, SYMM_LOR, lor)                                               \
    SYMM_REDUCE_UNSIGNED(SYMM_REDUCE, SYMM_LXOR, lxor)                                             \
    SYMM_REDUCE_UNSIGNED(SYMM_REDUCE, SYMM_BAND, band)                                             \
    SYMM_REDUCE_UNSIGNED(SYMM_REDUCE, SYMM_BOR, bor)                                               \
    SYMM_REDUCE_UNSIGNED(SYMM_REDUCE, SYMM_BXOR, bxor)

#define SYMM_REDUCE_COMPLEX(SYMM_REDUCE, op, name)                                                 \
    SYMM_REDUCE(op, name, SYMM_COMPLEX_FLOAT32, cf32, symm_complex_float_t, symm_complex_float_t)  \
    SYMM_REDUCE(op, name, SYMM_COMPLEX_FLOAT64, cf64, symm_complex_double_t, symm_complex_double_t)

#define SYMM_REDUCE_COMPLEX_LIST(SYMM_REDUCE)                                                      \
    SYMM_REDUCE_COMPLEX(SYMM_REDUCE, SYMM_SUM, sum)                                                \
    SYMM_REDUCE_COMPLEX(SYMM_REDUCE, SYMM_PROD, prod)

/* 16-bit floats: widened, combined as float over all sources and rounded once at the end. */
#define SYMM_REDUCE_NARROW(SYMM_REDUCE, op, name)                                                  \
    SYMM_REDUCE(op, name, SYMM_FLOAT16, f16, symm_float16_t, float)                                \
    SYMM_REDUCE(op, name, SYMM_BFLOAT16, bf16, symm_bfloat16_t, float)

#define SYMM_REDUCE_NARROW_LIST(SYMM_REDUCE)                                                       \
    SYMM_REDUCE_NARROW(SYMM_REDUCE, SYMM_SUM, sum)                                                 \
    SYMM_REDUCE_NARROW(SYMM_REDUCE, SYMM_PROD, prod)                                               \
    SYMM_REDUCE_NARROW(SYMM_REDUCE, SYMM_MAX, max)                                                 \
    SYMM_REDUCE_NARROW(SYMM_REDUCE, SYMM_MIN, min)

/* Pairs of value and index. */
#define SYMM_REDUCE_PAIR(SYMM_REDUCE, op, name)                                                    \
    SYMM_REDUCE(op, name, SYMM_FLOAT_INT, f32_i32, symm_float_int_t, symm_float_int_t)             \
    SYMM_REDUCE(op, name, SYMM_DOUBLE_INT, f64_i32, symm_double_int_t, symm_double_int_t)          \
    SYMM_REDUCE(op, name, SYMM_LONG_INT, i64_i32, symm_long_int_t, symm_long_int_t)                \
    SYMM_REDUCE(op, name, SYMM_INT_INT, i32_i32, symm_int_int_t, symm_int_int_t)                   \
    SYMM_REDUCE(op, name, SYMM_SHORT_INT, i16_i32, symm_short_int_t, symm_short_int_t)             \
    SYMM_REDUCE(op, name, SYMM_FLOAT_FLOAT, f32_f32, symm_float_float_t, symm_float_float_t)       \
    SYMM_REDUCE(op, name, SYMM_DOUBLE_DOUBLE, f64_f64, symm_double_double_t, symm_double_double_t)

#define SYMM_REDUCE_PAIR_LIST(SYMM_REDUCE)                                                         \
    SYMM_REDUCE_PAIR(SYMM_REDUCE, SYMM_MAXLOC, maxloc)                                             \
    SYMM_REDUCE_PAIR(SYMM_REDUCE, SYMM_MINLOC, minloc)

/* All that GPUs do: one kernel each. */
#define SYMM_REDUCE_LIST(SYMM_REDUCE)                                                              \
    SYMM_REDUCE_PLAIN_LIST(SYMM_REDUCE)                                                            \
    SYMM_REDUCE_COMPLEX_LIST(SYMM_REDUCE)                                                          \
    SYMM_REDUCE_NARROW_LIST(SYMM_REDUCE)                                                           \
    SYMM_REDUCE_PAIR_LIST(SYMM_REDUCE)

/* What the host alone does, as above. */
#define SYMM_REDUCE_LONG_DOUBLE_LIST(SYMM_REDUCE)                                                  \
    SYMM_REDUCE(SYMM_SUM, sum, SYMM_LONG_DOUBLE, ld, long double, long double)                     \
    SYMM_REDUCE(SYMM_PROD, prod, SYMM_LONG_DOUBLE, ld, long double, long double)                   \
    SYMM_REDUCE(SYMM_MAX, max, SYMM_LONG_DOUBLE, ld, long double, long double)                     \
    SYMM_REDUCE(SYMM_MIN, min, SYMM_LONG_DOUBLE, ld, long double, long double)                     \
    SYMM_REDUCE(SYMM_SUM, sum, SYMM_COMPLEX_LONG_DOUBLE, cld, symm_complex_long_double_t,          \
                symm_complex_long_double_t)                                                        \
    SYMM_REDUCE(SYMM_PROD, prod, SYMM_COMPLEX_LONG_DOUBLE, cld, symm_complex_long_double_t,        \
                symm_complex_long_double_t)

#define SYMM_REDUCE_LONG_DOUBLE_PAIR_LIST(SYMM_REDUCE)                                             \
    SYMM_REDUCE(SYMM_MAXLOC, maxloc, SYMM_LONG_DOUBLE_INT, ld_i32, symm_long_double_int_t,         \
                symm_long_double_int_t)                                                            \
    SYMM_REDUCE(SYMM_MINLOC, minloc, SYMM_LONG_DOUBLE_INT, ld_i32, symm_long_double_int_t,         \
                symm_long_double_int_t)

#endif
