/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Several copies by one kernel: what a rank's small collective comes down to, at the price of one
 * launch. What the kernel takes is laid out alike for the C launcher and for CUDA. */
#ifndef SYMM_MOVE_H
#define SYMM_MOVE_H

#include <stddef.h>
#include <stdint.h>

#include "symm_done.h"
#include "symm_export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel's name in the fatbin, and the threads of a block. */
#define SYMM_MOVE_KERNEL  "symm_move"
#define SYMM_MOVE_THREADS 512

/* Blocks that run on a multiprocessor at once, which the kernel keeps registers for. */
#define SYMM_MOVE_BLOCKS_PER_MULTIPROCESSOR 2

/* Most copies of one launch. */
#define SYMM_MOVE_MAX 64

/* A copy of len bytes, of any alignment. No destination overlaps any source or destination. */
typedef struct symm_move {
    void *dst;
    const void *src;
    uint64_t len;
} symm_move_t;

typedef struct symm_move_params {
    symm_done_t done;
    uint32_t count;           /* of copies, at least 1 */
    uint32_t blocks_per_move; /* the grid has count times as many */
    symm_move_t moves[SYMM_MOVE_MAX];
} symm_move_params_t;

/* Copies host memory on the calling thread. */
SYMM_EXPORT void symm_move_host(const symm_move_t *moves, uint32_t count);

/* The blocks for each of count copies, on a device of that many multiprocessors of which at most
 * max_multiprocessors may be used; at least 1. */
SYMM_EXPORT uint32_t symm_move_blocks(const symm_move_t *moves, uint32_t count,
                                      uint32_t multiprocessors, uint32_t max_multiprocessors);

#ifdef __cplusplus
}
#endif

#endif
