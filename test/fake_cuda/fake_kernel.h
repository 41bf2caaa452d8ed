/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Modules, and running a kernel of ours by its host twin. */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <stdbool.h>

#include "fake_cuda.h"
#include "symm_reduce_params.h"

/* A kernel launch with its parameters, copied. */
typedef struct fake_launch {
    CUfunction function;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    symm_reduce_params_t params;
} fake_launch_t;

/* Takes a node's parameters over, checking what the driver checks. */
CUresult fake_launch_read(const CUDA_KERNEL_NODE_PARAMS *node, fake_launch_t *launch_p);

/* Queues a launch to a stream of the kernel's own context. */
CUresult fake_launch_queue(const fake_launch_t *launch, CUstream stream);

/* Frees a module, taken out of the register already. */
void fake_module_free(CUmodule module);

#endif
