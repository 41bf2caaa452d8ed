/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Element-wise reduction of several sources into several destinations: the one loop behind one-shot
 * (all sources, one destination) and two-shot (all sources, all destinations, one slice)
 * all-reduce.
 *
 * The sources are combined in the order given, ((s0 op s1) op s2) ..., so every rank that reduces
 * the same elements gets the same bits. A destination may be the same memory as a source, element
 * for element; any other overlap is undefined. Any count and any alignment of at least one byte. */
#ifndef SYMM_REDUCE_H
#define SYMM_REDUCE_H

#include <stdint.h>

#include "symm_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One reduction. The arrays belong to the caller and are not kept. */
typedef struct symm_reduce {
    symm_op_t op;
    symm_dtype_t dtype;
    uint64_t count;         /* elements */
    uint32_t nsrc;          /* at least 1 */
    uint32_t ndst;          /* at least 1 */
    const void *const *src; /* [nsrc] */
    void *const *dst;       /* [ndst] */
} symm_reduce_t;

/* Reduces host memory on the calling thread; returns when done.
 * Returns 0, or EINVAL when op is not defined on dtype or nsrc or ndst is 0 (nothing is written).
 */
SYMM_EXPORT int symm_reduce_host(const symm_reduce_t *reduce);

#ifdef __cplusplus
}
#endif

#endif
