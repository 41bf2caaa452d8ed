/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The element types and operations that reduction kernels know, and their names.
 * Mapping MPI handles to these is the coll component's work. Usable from C and CUDA C++. */
#ifndef SYMM_TYPES_H
#define SYMM_TYPES_H

#include <stdbool.h>
#include <stddef.h>

#include "symm_export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* SYMM_DTYPE(enumerator, short name, C type): machine types, not MPI types. */
#define SYMM_DTYPE_LIST(SYMM_DTYPE)                                                                \
    SYMM_DTYPE(SYMM_INT8, i8, int8_t)                                                              \
    SYMM_DTYPE(SYMM_UINT8, u8, uint8_t)                                                            \
    SYMM_DTYPE(SYMM_INT16, i16, int16_t)                                                           \
    SYMM_DTYPE(SYMM_UINT16, u16, uint16_t)                                                         \
    SYMM_DTYPE(SYMM_INT32, i32, int32_t)                                                           \
    SYMM_DTYPE(SYMM_UINT32, u32, uint32_t)                                                         \
    SYMM_DTYPE(SYMM_INT64, i64, int64_t)                                                           \
    SYMM_DTYPE(SYMM_UINT64, u64, uint64_t)                                                         \
    SYMM_DTYPE(SYMM_FLOAT32, f32, float)                                                           \
    SYMM_DTYPE(SYMM_FLOAT64, f64, double)

/* SYMM_OP(enumerator, short name) */
#define SYMM_OP_LIST(SYMM_OP)                                                                      \
    SYMM_OP(SYMM_SUM, sum)                                                                         \
    SYMM_OP(SYMM_PROD, prod)                                                                       \
    SYMM_OP(SYMM_MAX, max)                                                                         \
    SYMM_OP(SYMM_MIN, min)                                                                         \
    SYMM_OP(SYMM_LAND, land)                                                                       \
    SYMM_OP(SYMM_LOR, lor)                                                                         \
    SYMM_OP(SYMM_LXOR, lxor)                                                                       \
    SYMM_OP(SYMM_BAND, band)                                                                       \
    SYMM_OP(SYMM_BOR, bor)                                                                         \
    SYMM_OP(SYMM_BXOR, bxor)

#define SYMM_TYPES_ENUM3(enumerator, name, ctype) enumerator,
#define SYMM_TYPES_ENUM2(enumerator, name)        enumerator,

typedef enum symm_dtype { SYMM_DTYPE_LIST(SYMM_TYPES_ENUM3) SYMM_DTYPE_COUNT } symm_dtype_t;

typedef enum symm_op { SYMM_OP_LIST(SYMM_TYPES_ENUM2) SYMM_OP_COUNT } symm_op_t;

#undef SYMM_TYPES_ENUM3
#undef SYMM_TYPES_ENUM2

/* Bytes of one element; 0 when dtype is out of range. */
SYMM_EXPORT size_t symm_dtype_size(symm_dtype_t dtype);

/* Short static names, "f32", "sum"; "?" when out of range. */
SYMM_EXPORT const char *symm_dtype_name(symm_dtype_t dtype);
SYMM_EXPORT const char *symm_op_name(symm_op_t op);

/* Whether MPI defines op on dtype (MPI-4.0, 6.9.2): logical and bitwise operations are for integers
 * only. False when either is out of range. */
SYMM_EXPORT bool symm_op_defined(symm_op_t op, symm_dtype_t dtype);

/* The type in which op is computed on dtype: two's complement makes every operation but MAX and MIN
 * the same bits on signed and unsigned integers, so the signed ones are served by the unsigned (and
 * wrap on overflow). Other types, and values out of range, come back unchanged. */
symm_dtype_t symm_op_carrier(symm_op_t op, symm_dtype_t dtype);

#ifdef __cplusplus
}
#endif

#endif
