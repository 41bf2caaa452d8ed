/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The host twin of the reduction kernels: one core, host memory. It owns the walk over blocks and
 * the loops that compilers vectorise; what an operation computes is symm_reduce_ops.h's work. */
#include "symm_reduce.h"

#include <errno.h>
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
 * needs glibc's indirect functions, whose resolvers run too early for sanitizers. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#    define COMBINE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#    define COMBINE_CLONES
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

#define COMBINE_DEFINE(op, name, dtype, dtype_name, ctype, atype)                                  \
    COMBINE_CLONES static void combine_##name##_##dtype_name(void *dst, const void *left,          \
                                                             const void *right, uint64_t count)    \
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
SYMM_REDUCE_LIST(COMBINE_DEFINE)
#undef COMBINE_DEFINE

#define COMBINE_ENTRY(op, name, dtype, dtype_name, ctype, atype)                                   \
    [op][dtype] = combine_##name##_##dtype_name,
static combine_fn_t *const combine_table[SYMM_OP_COUNT][SYMM_DTYPE_COUNT] = {
    SYMM_REDUCE_LIST(COMBINE_ENTRY)};
#undef COMBINE_ENTRY

/* Reduces `count` elements, `len_bytes` bytes, that start `offset` bytes into each buffer. All
 * sources are read before a destination is written, except that the last step may write dst[0] over
 * what it reads. With more than two sources the elements must fit the accumulator. */
static void reduce_block(const symm_reduce_t *reduce, combine_fn_t *combine, uint64_t offset,
                         uint64_t count, size_t len_bytes)
{
    _Alignas(64) unsigned char accumulator[BLOCK_BYTES];
    const void *result = (const char *) reduce->src[0] + offset;

    for (uint32_t s = 1; s < reduce->nsrc; s++) {
        void *to = s + 1 < reduce->nsrc ? accumulator : (unsigned char *) reduce->dst[0] + offset;

        combine(to, result, (const char *) reduce->src[s] + offset, count);
        result = to;
    }
    for (uint32_t d = 0; d < reduce->ndst; d++) {
        void *to = (char *) reduce->dst[d] + offset;

        /* Equal for dst[0] after a combination, and for a lone source reduced in place. */
        if (to != result) {
            memcpy(to, result, len_bytes);
        }
    }
}

int symm_reduce_host(const symm_reduce_t *reduce)
{
    uint64_t block, size, done = 0;
    combine_fn_t *combine;

    if (!symm_op_defined(reduce->op, reduce->dtype) || 0 == reduce->nsrc || 0 == reduce->ndst) {
        return EINVAL;
    }
    combine = combine_table[reduce->op][symm_op_carrier(reduce->op, reduce->dtype)];
    size = symm_dtype_size(reduce->dtype);
    block = BLOCK_BYTES / size;
    if (reduce->nsrc <= 2 && 1 == reduce->ndst) {
        /* One pass without an accumulator, so nothing is gained by blocks. */
        block = reduce->count;
    }
    while (done < reduce->count) {
        uint64_t count = reduce->count - done < block ? reduce->count - done : block;

        reduce_block(reduce, combine, done * size, count, count * size);
        done += count;
    }
    return 0;
}
