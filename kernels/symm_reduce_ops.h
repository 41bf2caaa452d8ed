/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What each reduction computes for one pair of elements, and the list of the loops that must exist:
 * the one source of both for the host twin and the kernels, so that the two cannot differ. */
#ifndef SYMM_REDUCE_OPS_H
#define SYMM_REDUCE_OPS_H

#include <stdint.h>

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

#define SYMM_REDUCE_LIST(SYMM_REDUCE)                                                              \
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

#endif
