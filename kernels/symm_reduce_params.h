/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What a reduction kernel takes, laid out alike for the C launcher and the CUDA kernel, and how the
 * kernels in the fatbin are named. See symm_reduce.h for what a reduction means. */
#ifndef SYMM_REDUCE_PARAMS_H
#define SYMM_REDUCE_PARAMS_H

#include <stdint.h>

#include "symm_done.h"

/* Ranks that fit the kernel's parameter block: 2 x 32 pointers are 512 bytes of its 4 KiB. */
#define SYMM_REDUCE_MAX_RANKS 32

/* Threads of a block: 4 packs of 16 bytes in flight per thread and source at 512 threads saturate
 * NVLink from 32 blocks on. Blocks are the launcher's choice, see symm_reduce_blocks(). */
#define SYMM_REDUCE_THREADS 512

/* Blocks that run on a multiprocessor at once: what the kernels keep registers for, and the most
 * that is worth launching. */
#define SYMM_REDUCE_BLOCKS_PER_MULTIPROCESSOR 2

/* A kernel is named SYMM_REDUCE_KERNEL_PREFIX <op name> "_" <dtype name>, as "symm_reduce_sum_f32".
 * Not every dtype has its own: symm_reduce_kernel_name() tells which kernel serves. */
#define SYMM_REDUCE_KERNEL_PREFIX "symm_reduce_"

typedef struct symm_reduce_params {
    symm_done_t done;
    uint64_t count; /* elements */
    uint32_t nsrc;
    uint32_t ndst;
    const void *src[SYMM_REDUCE_MAX_RANKS];
    void *dst[SYMM_REDUCE_MAX_RANKS];
} symm_reduce_params_t;

#endif
