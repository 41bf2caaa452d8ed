/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * How a kernel tells the host that it is done: the first member of every kernel's parameters, laid
 * out alike for the C launcher and the CUDA kernel.
 *
 * NOTE numbers. A launch's number is not among its parameters: the kernels of a queue count their
 * launches in device memory, as the host does on its side. So a launch with the parameters of an
 * earlier one is that graph launched again, with nothing to set. */
#ifndef SYMM_DONE_H
#define SYMM_DONE_H

#include <stdint.h>

/* What the kernels of a queue keep from launch to launch; zero at first. */
typedef struct symm_done_state {
    uint32_t blocks;   /* of the launch under way that have ended; 0 before and after it */
    uint32_t launches; /* that have ended */
} symm_done_state_t;

typedef struct symm_done {
    symm_done_state_t *state; /* device memory */
    uint32_t *flag;           /* mapped host memory; gets state->launches when all is written */
} symm_done_t;

/* Bytes of a kernel's parameters at most: the limit of all GPUs and drivers. */
#define SYMM_KERNEL_PARAMS_MAX 4096

#endif
