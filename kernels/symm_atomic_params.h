/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What a kernel of atomic updates takes, laid out alike for the C launcher and the CUDA kernel, and
 * how the kernels in the fatbin are named. See symm_atomic.h for what an update means. */
#ifndef SYMM_ATOMIC_PARAMS_H
#define SYMM_ATOMIC_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#include "symm_atomic.h"
#include "symm_done.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory to update, in rows as in symm_atomic_t. */
typedef struct symm_atomic_piece {
    void *target;
    const void *origin;  /* NULL: the one operand is in value[0] */
    const void *compare; /* NULL: the one value to compare with is in value[1] */
    void *result;        /* NULL: nothing is fetched */
    uint64_t count;      /* elements of a row */
    uint64_t rows;
    int64_t target_pitch, origin_pitch, result_pitch;
    uint64_t value[2]; /* their first bytes */
    uint64_t reserved; /* makes the size a multiple of 32; 0 */
} symm_atomic_piece_t;

/* Pieces of one launch are updated in any order, so no two of them may touch the same element,
 * unless the order cannot be told afterwards. */
typedef struct symm_atomic_params {
    symm_done_t done;
    uint64_t piece_count;              /* 1 or more */
    const symm_atomic_piece_t *pieces; /* [piece_count], unless that is 1 */
    symm_atomic_piece_t one;           /* the piece when piece_count is 1 */
} symm_atomic_params_t;

/* Threads of a block. A warp takes a piece; a single piece is shared out to all threads. */
#define SYMM_ATOMIC_THREADS 256
#define SYMM_ATOMIC_WARP    32

/* Blocks that run on a multiprocessor at once, see SYMM_REDUCE_BLOCKS_PER_MULTIPROCESSOR. */
#define SYMM_ATOMIC_BLOCKS_PER_MULTIPROCESSOR 3

/* A kernel is named SYMM_ATOMIC_KERNEL_PREFIX <op name> "_" <dtype name>: "symm_atomic_sum_f32". */
#define SYMM_ATOMIC_KERNEL_PREFIX "symm_atomic_"

/* Bytes that hold any kernel's name and its terminating zero. */
#define SYMM_ATOMIC_KERNEL_NAME_MAX 32

/* Writes the name of the kernel that serves op on dtype into buf (out, len bytes). Returns 0;
 * EINVAL when op is not defined on dtype, ERANGE when buf is too short (buf untouched). */
int symm_atomic_kernel_name(symm_atomic_op_t op, symm_dtype_t dtype, char *buf, size_t len);

/* The number of blocks for piece_count pieces, of which the one has `elements` elements if it is
 * one, on a device of that many multiprocessors; 1 or more. */
uint32_t symm_atomic_blocks(uint64_t piece_count, uint64_t elements, uint32_t multiprocessors);

#ifdef __cplusplus
}
#endif

#endif
