/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What the elements of a reduction look like where C has no plain number for them: value and index
 * pairs, complex numbers and 16-bit floats. Usable from C and CUDA C++. */
#ifndef SYMM_ELEMENTS_H
#define SYMM_ELEMENTS_H

#include <stdint.h>
#include <string.h>

/* The pairs of MAXLOC and MINLOC, laid out as C lays out a struct: some have gaps, which a
 * reduction neither reads nor writes. */
#define SYMM_PAIR_TYPE(name, value_type, index_type)                                               \
    typedef struct name {                                                                          \
        value_type value;                                                                          \
        index_type index;                                                                          \
    } name##_t;
SYMM_PAIR_TYPE(symm_float_int, float, int32_t)
SYMM_PAIR_TYPE(symm_double_int, double, int32_t)
SYMM_PAIR_TYPE(symm_long_int, int64_t, int32_t)
SYMM_PAIR_TYPE(symm_int_int, int32_t, int32_t)
SYMM_PAIR_TYPE(symm_short_int, int16_t, int32_t)
SYMM_PAIR_TYPE(symm_float_float, float, float)
SYMM_PAIR_TYPE(symm_double_double, double, double)
SYMM_PAIR_TYPE(symm_long_double_int, long double, int32_t)
#undef SYMM_PAIR_TYPE

/* IEEE binary16 and its cousin with the exponent of binary32, as bits. */
typedef struct symm_float16 {
    uint16_t bits;
} symm_float16_t;

typedef struct symm_bfloat16 {
    uint16_t bits;
} symm_bfloat16_t;

/* Complex numbers. Products are the plain formula, without the repair of infinities that C's own
 * operator makes: the host twin is compiled with -fcx-limited-range. */
#ifdef __cplusplus
template <typename T> struct symm_complex {
    T re, im;
};
typedef symm_complex<float> symm_complex_float_t;
typedef symm_complex<double> symm_complex_double_t;
#else
typedef float _Complex symm_complex_float_t;
typedef double _Complex symm_complex_double_t;
typedef long double _Complex symm_complex_long_double_t;
#endif

/* ---- 16-bit floats on the host. No branches, so that compilers make vector code, and no operand
 * that is a denormal float, so that a program which flushes these gets the same results. A NaN
 * becomes 0x7fff, as GPUs have it. ---- */

static inline float symm_float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint32_t symm_float_to_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float symm_float16_widen(symm_float16_t from)
{
    const uint32_t rebias = (127u - 15u) << 23;
    uint32_t magnitude = (from.bits & 0x7fffu) << 13;
    /* Denormals: 2^-14 of a normal float is put in front and taken off again. */
    uint32_t small =
        symm_float_to_bits(symm_float_from_bits(magnitude + rebias + (1u << 23)) - 0x1p-14f);
    uint32_t bits = magnitude + rebias;
    bits = magnitude >= (31u << 23) ? bits + rebias : bits; /* infinity and NaN */
    bits = magnitude < (1u << 23) ? small : bits;
    return symm_float_from_bits(bits | (from.bits & 0x8000u) << 16);
}

/* To nearest, ties to even. */
static inline symm_float16_t symm_float16_narrow(float from)
{
    const uint32_t all = symm_float_to_bits(from);
    const uint32_t magnitude = all & 0x7fffffffu;
    /* Denormals: adding 0.5 leaves in the lowest bits what remains, rounded by the addition. */
    uint32_t small = symm_float_to_bits(symm_float_from_bits(magnitude) + 0.5f) - (126u << 23);
    uint32_t bits = (magnitude - ((127u - 15u) << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    bits = magnitude < (113u << 23) ? small : bits;
    bits = magnitude >= (143u << 23) ? 0x7c00u : bits; /* too large */
    bits |= all >> 16 & 0x8000u;
    bits = magnitude > 0x7f800000u ? 0x7fffu : bits;
    return (symm_float16_t){(uint16_t) bits};
}

static inline float symm_bfloat16_widen(symm_bfloat16_t from)
{
    return symm_float_from_bits((uint32_t) from.bits << 16);
}

/* To nearest, ties to even. */
static inline symm_bfloat16_t symm_bfloat16_narrow(float from)
{
    const uint32_t all = symm_float_to_bits(from);
    uint32_t bits = (all + 0x7fffu + (all >> 16 & 1u)) >> 16;
    bits = (all & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : bits;
    return (symm_bfloat16_t){(uint16_t) bits};
}

#endif
