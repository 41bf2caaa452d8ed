/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The host twin of the reduction kernels: one core, host memory. It owns the walk over blocks and
 * the loops that compilers vectorise; what an operation computes is symm_reduce_ops.h's work. */
#include "symm_reduce.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "symm_reduce_ops.h"

/* Bytes of each source taken at a time with more than two sources or one destination. The partial
 * result, and the block of a source next to it, stay in the first-level cache (32 KiB or more), so
 * that memory sees every byte once. */
#define BLOCK_BYTES 4096

/* Bytes of a loop of fixed length. At -O2 gcc vectorises loops of known length only; more than 16
 * iterations of the widest type keep it from unrolling the loop before it would vectorise. */
#define STEP_BYTES 256

/* The loops are compiled for each of these and the best is taken when the library is loaded. That
 * needs glibc's indirect functions, whose resolvers run too early for sanitizers. Complex loops go
 * without AVX-512, as gcc 12 makes fused multiply-adds of their products there, whatever
 * -ffp-contract says, and of some elements only. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#    define COMBINE_CLONES         __attribute__((target_clones("avx512f", "avx2", "default")))
#    define COMBINE_CLONES_COMPLEX __attribute__((target_clones("avx2", "default")))
#else
#    define COMBINE_CLONES
#    define COMBINE_CLONES_COMPLEX
#endif

/* Says that no iteration needs the result of an earlier one. A destination that is a source,
 * element for element, keeps that promise and would break `restrict`. */
#if defined(__GNUC__) && !defined(__clang__)
#    define COMBINE_INDEPENDENT _Pragma("GCC ivdep")
#else
#    define COMBINE_INDEPENDENT
#endif

/* dst[i] = left[i] op right[i]. dst may be left or right; no alignment is asked for. */
typedef void combine_fn_t(void *dst, const void *left, const void *right, uint64_t count);

#define COMBINE_LOOP(clones, name, dtype_name, ctype, atype)                                       \
    clones static void combine_##name##_##dtype_name(void *dst, const void *left,                  \
                                                     const void *right, uint64_t count)            \
    {                                                                                              \
        typedef ctype element_t __attribute__((may_alias, aligned(1)));                            \
        const uint64_t step = STEP_BYTES / sizeof(ctype);                                          \
        const element_t *a = left;                                                                 \
        const element_t *b = right;                                                                \
        element_t *d = dst;                                                                        \
                                                                                                   \
        for (; count >= step; count -= step, a += step, b += step, d += step) {                    \
            COMBINE_INDEPENDENT                                                                    \
            for (uint64_t i = 0; i < step; i++) {                                                  \
                d[i] = (ctype) SYMM_COMBINE_##name((atype) a[i], (atype) b[i]);                    \
            }                                                                                      \
        }                                                                                          \
        COMBINE_INDEPENDENT                                                                        \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            d[i] = (ctype) SYMM_COMBINE_##name((atype) a[i], (atype) b[i]);                        \
        }                                                                                          \
    }

#define COMBINE_DEFINE(op, name, dtype, dtype_name, ctype, atype)                                  \
    COMBINE_LOOP(COMBINE_CLONES, name, dtype_name, ctype, atype)
#define COMBINE_DEFINE_COMPLEX(op, name, dtype, dtype_name, ctype, atype)                          \
    COMBINE_LOOP(COMBINE_CLONES_COMPLEX, name, dtype_name, ctype, atype)
#define COMBINE_DEFINE_SCALAR(op, name, dtype, dtype_name, ctype, atype)                           \
    COMBINE_LOOP(, name, dtype_name, ctype, atype)
SYMM_REDUCE_PLAIN_LIST(COMBINE_DEFINE)
SYMM_REDUCE_COMPLEX_LIST(COMBINE_DEFINE_COMPLEX)
SYMM_REDUCE_LONG_DOUBLE_LIST(COMBINE_DEFINE_SCALAR)
#undef COMBINE_DEFINE
#undef COMBINE_DEFINE_COMPLEX
#undef COMBINE_DEFINE_SCALAR
#undef COMBINE_LOOP

/* Field by field: the gap behind the last pair of a buffer may be nobody's memory. */
#define COMBINE_READ_PAIR(pair, at, ctype)                                                         \
    memcpy(&(pair).value, (at) + offsetof(ctype, value), sizeof((pair).value));                    \
    memcpy(&(pair).index, (at) + offsetof(ctype, index), sizeof((pair).index))

#define COMBINE_DEFINE_PAIR(op, name, dtype, dtype_name, ctype, atype)                             \
    static void combine_##name##_##dtype_name(void *dst, const void *left, const void *right,      \
                                              uint64_t count)                                      \
    {                                                                                              \
        for (uint64_t at = 0; at < count * sizeof(ctype); at += sizeof(ctype)) {                   \
            unsigned char *to = (unsigned char *) dst + at;                                        \
            ctype a, b;                                                                            \
                                                                                                   \
            COMBINE_READ_PAIR(a, (const unsigned char *) left + at, ctype);                        \
            COMBINE_READ_PAIR(b, (const unsigned char *) right + at, ctype);                       \
            a = SYMM_COMBINE_##name(a, b);                                                         \
            memcpy(to + offsetof(ctype, value), &a.value, sizeof(a.value));                        \
            memcpy(to + offsetof(ctype, index), &a.index, sizeof(a.index));                        \
        }                                                                                          \
    }
SYMM_REDUCE_PAIR_LIST(COMBINE_DEFINE_PAIR)
SYMM_REDUCE_LONG_DOUBLE_PAIR_LIST(COMBINE_DEFINE_PAIR)
#undef COMBINE_DEFINE_PAIR
#undef COMBINE_READ_PAIR

#define COMBINE_ENTRY(op, name, dtype, dtype_name, ctype, atype)                                   \
    [op][dtype] = combine_##name##_##dtype_name,
/* clang-format off */
static combine_fn_t *const combine_table[SYMM_OP_COUNT][SYMM_DTYPE_COUNT] = {
    SYMM_REDUCE_PLAIN_LIST(COMBINE_ENTRY)
    SYMM_REDUCE_COMPLEX_LIST(COMBINE_ENTRY)
    SYMM_REDUCE_LONG_DOUBLE_LIST(COMBINE_ENTRY)
    SYMM_REDUCE_PAIR_LIST(COMBINE_ENTRY)
    SYMM_REDUCE_LONG_DOUBLE_PAIR_LIST(COMBINE_ENTRY)};
/* clang-format on */
#undef COMBINE_ENTRY

/* Conversions of 16-bit floats, any alignment of their side. */
typedef uint16_t bits_t __attribute__((may_alias, aligned(1)));
typedef void widen_fn_t(float *to, const void *from, uint64_t count);
typedef void narrow_fn_t(void *to, const float *from, uint64_t count);

#define CONVERT_DEFINE(name, ctype)                                                                \
    COMBINE_CLONES static void widen_##name(float *to, const void *from, uint64_t count)           \
    {                                                                                              \
        const bits_t *f = from;                                                                    \
                                                                                                   \
        COMBINE_INDEPENDENT                                                                        \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            to[i] = symm_##name##_widen((ctype){f[i]});                                            \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    COMBINE_CLONES static void narrow_##name(void *to, const float *from, uint64_t count)          \
    {                                                                                              \
        bits_t *t = to;                                                                            \
                                                                                                   \
        COMBINE_INDEPENDENT                                                                        \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            t[i] = symm_##name##_narrow(from[i]).bits;                                             \
        }                                                                                          \
    }
CONVERT_DEFINE(float16, symm_float16_t)
CONVERT_DEFINE(bfloat16, symm_bfloat16_t)
#undef CONVERT_DEFINE

/* What reduces elements of a type; widen and narrow are NULL unless they are 16-bit floats, which
 * `combine` takes as float. */
typedef struct method {
    combine_fn_t *combine;
    widen_fn_t *widen;
    narrow_fn_t *narrow;
    bool gaps;
} method_t;

static method_t find_method(symm_op_t op, symm_dtype_t dtype)
{
    if (SYMM_FLOAT16 == dtype) {
        return (method_t){combine_table[op][SYMM_FLOAT32], widen_float16, narrow_float16, false};
    }
    if (SYMM_BFLOAT16 == dtype) {
        return (method_t){combine_table[op][SYMM_FLOAT32], widen_bfloat16, narrow_bfloat16, false};
    }
    return (method_t){combine_table[op][symm_op_carrier(op, dtype)], NULL, NULL,
                      symm_dtype_has_gaps(dtype)};
}

/* Writes a result to another destination. A pair combined with itself is that pair, gaps left
 * alone.
 */
static void copy_result(const method_t *method, void *to, const void *from, uint64_t count,
                        size_t size)
{
    if (method->gaps) {
        method->combine(to, from, from, count);
    } else {
        memcpy(to, from, count * size);
    }
}

/* A part of a reduction: `count` elements of `size` bytes that start `offset` bytes into each
 * buffer. */
typedef struct part {
    uint64_t offset, count;
    size_t size;
} part_t;

/* Reduces a part. All sources are read before a destination is written, except that the last step
 * may write dst[0] over what it reads. With more than two sources the elements must fit the
 * accumulator. */
static void reduce_part(const symm_reduce_t *reduce, const method_t *method, part_t part)
{
    _Alignas(64) unsigned char accumulator[BLOCK_BYTES];
    const void *result = (const char *) reduce->src[0] + part.offset;

    for (uint32_t s = 1; s < reduce->nsrc; s++) {
        void *to =
            s + 1 < reduce->nsrc ? accumulator : (unsigned char *) reduce->dst[0] + part.offset;

        method->combine(to, result, (const char *) reduce->src[s] + part.offset, part.count);
        result = to;
    }
    for (uint32_t d = 0; d < reduce->ndst; d++) {
        void *to = (char *) reduce->dst[d] + part.offset;

        /* Equal for dst[0] after a combination, and for a lone source reduced in place. */
        if (to != result) {
            copy_result(method, to, result, part.count, part.size);
        }
    }
}

/* The same on 16-bit floats. The elements must fit the accumulator as float. */
static void reduce_part_widened(const symm_reduce_t *reduce, const method_t *method, part_t part)
{
    _Alignas(64) float accumulator[BLOCK_BYTES / sizeof(float)];
    _Alignas(64) float next[BLOCK_BYTES / sizeof(float)];

    method->widen(accumulator, (const char *) reduce->src[0] + part.offset, part.count);
    for (uint32_t s = 1; s < reduce->nsrc; s++) {
        method->widen(next, (const char *) reduce->src[s] + part.offset, part.count);
        method->combine(accumulator, accumulator, next, part.count);
    }
    for (uint32_t d = 0; d < reduce->ndst; d++) {
        method->narrow((char *) reduce->dst[d] + part.offset, accumulator, part.count);
    }
}

/* Elements that are reduced at a time. */
static uint64_t block_of(const symm_reduce_t *reduce, const method_t *method, size_t size)
{
    if (NULL != method->widen) {
        return BLOCK_BYTES / sizeof(float);
    }
    if (reduce->nsrc <= 2 && 1 == reduce->ndst) {
        /* One pass without an accumulator, so nothing is gained by blocks. */
        return reduce->count;
    }
    return BLOCK_BYTES / size;
}

int symm_reduce_host(const symm_reduce_t *reduce)
{
    if (!symm_op_defined(reduce->op, reduce->dtype) || 0 == reduce->nsrc || 0 == reduce->ndst) {
        return EINVAL;
    }
    const method_t method = find_method(reduce->op, reduce->dtype);
    const size_t size = symm_dtype_size(reduce->dtype);
    const uint64_t block = block_of(reduce, &method, size);
    for (uint64_t done = 0; done < reduce->count;) {
        uint64_t count = reduce->count - done < block ? reduce->count - done : block;
        part_t part = {done * size, count, size};

        if (NULL != method.widen) {
            reduce_part_widened(reduce, &method, part);
        } else {
            reduce_part(reduce, &method, part);
        }
        done += count;
    }
    return 0;
}
