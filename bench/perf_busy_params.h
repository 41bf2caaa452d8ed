/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What the kernel of perf_busy.cu and who launches it share. */
#ifndef PERF_BUSY_PARAMS_H
#define PERF_BUSY_PARAMS_H

#include <stdint.h>

#define PERF_BUSY_KERNEL "perf_busy"

/* Two blocks take all the threads that a multiprocessor has room for: no other block gets in. */
#define PERF_BUSY_THREADS                   1024
#define PERF_BUSY_BLOCKS_PER_MULTIPROCESSOR 2

/* Blocks that each place of a block has after one another, as kernels of real programs have them.
 */
#define PERF_BUSY_WAVES 16

typedef struct perf_busy_params {
    float *sink; /* GPU memory of one float, which is never written */
    uint64_t steps;
} perf_busy_params_t;

#endif
