/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Element-wise atomic updates of memory that several ranks update at once, with or without fetching
 * the old values: the host's side, and what it shares with the kernels.
 *
 * NOTE which elements. Those of 1, 2, 4 or 8 bytes at an address divisible by their size, with
 * operations of one machine instruction or one compare-and-swap. What this leaves out - wider or
 * misplaced elements - is for a lock; an element is in or out by its type and address alone, so all
 * ranks choose alike. Updates order nothing but updates of the same element: the flush does. */
#ifndef SYMM_ATOMIC_H
#define SYMM_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symm_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What an update does beyond the operations of symm_op_t: stores the operand; stores nothing;
 * stores the operand if the element has the value to compare with. Defined on integers, by size. */
enum {
    SYMM_ATOMIC_REPLACE = SYMM_OP_COUNT,
    SYMM_ATOMIC_NO_OP,
    SYMM_ATOMIC_CAS,
    SYMM_ATOMIC_OP_COUNT,
};

/* A symm_op_t or one of the above. */
typedef unsigned symm_atomic_op_t;

/* Bytes of the widest element. */
#define SYMM_ATOMIC_MAX_BYTES 8

/* Rows of elements, pitch bytes apart in each memory. target[i] = target[i] op origin[i] for all
 * elements of all rows, one at a time in any order, each of them atomic; result[i] is what
 * target[i] was. Targets are aligned for their elements; origins and results have any alignment,
 * and overlap with nothing. */
typedef struct symm_atomic {
    symm_atomic_op_t op;
    symm_dtype_t dtype;
    uint64_t count; /* elements of a row */
    uint64_t rows;  /* 1 or more */
    void *target;
    const void *origin;  /* NULL with SYMM_ATOMIC_NO_OP */
    const void *compare; /* the one value, with SYMM_ATOMIC_CAS, of one element, alone */
    void *result;        /* NULL: nothing is fetched */
    ptrdiff_t target_pitch, origin_pitch, result_pitch; /* of no meaning in a single row */
} symm_atomic_t;

/* Whether elements of dtype are of those that need no lock, where they are aligned. */
SYMM_EXPORT bool symm_atomic_type(symm_dtype_t dtype);

/* Whether op is there for such elements. Unsigned integers have all that is defined by size. */
SYMM_EXPORT bool symm_atomic_defined(symm_atomic_op_t op, symm_dtype_t dtype);

/* The unsigned integer of that many bytes. Returns whether there is one. */
SYMM_EXPORT bool symm_atomic_word(size_t bytes, symm_dtype_t *dtype_p);

/* Updates host memory on the calling thread. Updates of the same elements by other threads and
 * processes through this function are atomic to one another. Returns 0, or EINVAL when op is not
 * defined on dtype (nothing is written). */
SYMM_EXPORT int symm_atomic_host(const symm_atomic_t *atomic);

/* The function by which symm_atomic_host() updates each row, for callers that look it up once. It
 * takes a single row. NULL when op is not defined on dtype. */
typedef void symm_atomic_fn_t(const symm_atomic_t *row);
SYMM_EXPORT symm_atomic_fn_t *symm_atomic_find(symm_atomic_op_t op, symm_dtype_t dtype);

/* "sum", "replace" ...; "?" when out of range. Static. */
SYMM_EXPORT const char *symm_atomic_op_name(symm_atomic_op_t op);

#ifdef __cplusplus
}
#endif

#endif
