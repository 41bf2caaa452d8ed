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

/* What a type is for MPI (MPI-4.0, 6.9.2): the operations that it takes. */
typedef enum symm_class {
    SYMM_CLASS_INTEGER,
    SYMM_CLASS_FLOAT,
    SYMM_CLASS_COMPLEX,
    SYMM_CLASS_PAIR, /* value and index */
    SYMM_CLASS_NONE, /* out of range */
} symm_class_t;

/* SYMM_DTYPE(enumerator, short name, C type, class): machine types, not MPI types. The C types are
 * those of symm_elements.h. */
#define SYMM_DTYPE_LIST(SYMM_DTYPE)                                                                \
    SYMM_DTYPE(SYMM_INT8, i8, int8_t, SYMM_CLASS_INTEGER)                                          \
    SYMM_DTYPE(SYMM_UINT8, u8, uint8_t, SYMM_CLASS_INTEGER)                                        \
    SYMM_DTYPE(SYMM_INT16, i16, int16_t, SYMM_CLASS_INTEGER)                                       \
    SYMM_DTYPE(SYMM_UINT16, u16, uint16_t, SYMM_CLASS_INTEGER)                                     \
    SYMM_DTYPE(SYMM_INT32, i32, int32_t, SYMM_CLASS_INTEGER)                                       \
    SYMM_DTYPE(SYMM_UINT32, u32, uint32_t, SYMM_CLASS_INTEGER)                                     \
    SYMM_DTYPE(SYMM_INT64, i64, int64_t, SYMM_CLASS_INTEGER)                                       \
    SYMM_DTYPE(SYMM_UINT64, u64, uint64_t, SYMM_CLASS_INTEGER)                                     \
    SYMM_DTYPE(SYMM_FLOAT16, f16, symm_float16_t, SYMM_CLASS_FLOAT)                                \
    SYMM_DTYPE(SYMM_BFLOAT16, bf16, symm_bfloat16_t, SYMM_CLASS_FLOAT)                             \
    SYMM_DTYPE(SYMM_FLOAT32, f32, float, SYMM_CLASS_FLOAT)                                         \
    SYMM_DTYPE(SYMM_FLOAT64, f64, double, SYMM_CLASS_FLOAT)                                        \
    SYMM_DTYPE(SYMM_LONG_DOUBLE, ld, long double, SYMM_CLASS_FLOAT)                                \
    SYMM_DTYPE(SYMM_COMPLEX_FLOAT32, cf32, symm_complex_float_t, SYMM_CLASS_COMPLEX)               \
    SYMM_DTYPE(SYMM_COMPLEX_FLOAT64, cf64, symm_complex_double_t, SYMM_CLASS_COMPLEX)              \
    SYMM_DTYPE(SYMM_COMPLEX_LONG_DOUBLE, cld, symm_complex_long_double_t, SYMM_CLASS_COMPLEX)      \
    SYMM_DTYPE(SYMM_FLOAT_INT, f32_i32, symm_float_int_t, SYMM_CLASS_PAIR)                         \
    SYMM_DTYPE(SYMM_DOUBLE_INT, f64_i32, symm_double_int_t, SYMM_CLASS_PAIR)                       \
    SYMM_DTYPE(SYMM_LONG_INT, i64_i32, symm_long_int_t, SYMM_CLASS_PAIR)                           \
    SYMM_DTYPE(SYMM_INT_INT, i32_i32, symm_int_int_t, SYMM_CLASS_PAIR)                             \
    SYMM_DTYPE(SYMM_SHORT_INT, i16_i32, symm_short_int_t, SYMM_CLASS_PAIR)                         \
    SYMM_DTYPE(SYMM_FLOAT_FLOAT, f32_f32, symm_float_float_t, SYMM_CLASS_PAIR)                     \
    SYMM_DTYPE(SYMM_DOUBLE_DOUBLE, f64_f64, symm_double_double_t, SYMM_CLASS_PAIR)                 \
    SYMM_DTYPE(SYMM_LONG_DOUBLE_INT, ld_i32, symm_long_double_int_t, SYMM_CLASS_PAIR)

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
    SYMM_OP(SYMM_BXOR, bxor)                                                                       \
    SYMM_OP(SYMM_MAXLOC, maxloc)                                                                   \
    SYMM_OP(SYMM_MINLOC, minloc)

#define SYMM_TYPES_ENUM4(enumerator, name, ctype, class) enumerator,
#define SYMM_TYPES_ENUM2(enumerator, name)               enumerator,

typedef enum symm_dtype { SYMM_DTYPE_LIST(SYMM_TYPES_ENUM4) SYMM_DTYPE_COUNT } symm_dtype_t;

typedef enum symm_op { SYMM_OP_LIST(SYMM_TYPES_ENUM2) SYMM_OP_COUNT } symm_op_t;

#undef SYMM_TYPES_ENUM4
#undef SYMM_TYPES_ENUM2

/* Bytes from one element to the next, the gap behind some pairs included; 0 when dtype is out of
 * range. */
SYMM_EXPORT size_t symm_dtype_size(symm_dtype_t dtype);

/* SYMM_CLASS_NONE when out of range. */
SYMM_EXPORT symm_class_t symm_dtype_class(symm_dtype_t dtype);

/* Whether dtype is a pair with bytes between or behind its fields, which belong to nobody: copying
 * elements whole would write them, a reduction does not. False when out of range. */
SYMM_EXPORT bool symm_dtype_has_gaps(symm_dtype_t dtype);

/* Whether GPUs know the type. False for the long doubles, and when out of range. */
SYMM_EXPORT bool symm_dtype_on_gpu(symm_dtype_t dtype);

/* Short static names, "f32", "sum"; "?" when out of range. */
SYMM_EXPORT const char *symm_dtype_name(symm_dtype_t dtype);
SYMM_EXPORT const char *symm_op_name(symm_op_t op);

/* Whether MPI defines op on dtype (MPI-4.0, 6.9.2). False when either is out of range. */
SYMM_EXPORT bool symm_op_defined(symm_op_t op, symm_dtype_t dtype);

/* The type in which op is computed on dtype: two's complement makes every operation but MAX and MIN
 * the same bits on signed and unsigned integers, so the signed ones are served by the unsigned (and
 * wrap on overflow). Other types, and values out of range, come back unchanged. */
symm_dtype_t symm_op_carrier(symm_op_t op, symm_dtype_t dtype);

#ifdef __cplusplus
}
#endif

#endif
