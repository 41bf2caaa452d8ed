/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * How a kernel tells the host that it is done: the first member of every kernel's parameters, laid
 * out alike for the C launcher and the CUDA kernel. */
#ifndef SYMM_DONE_H
#define SYMM_DONE_H

#include <stdint.h>

typedef struct symm_done {
    uint32_t *block_counter_dev; /* zero before and after each launch; device memory */
    uint32_t *flag;              /* mapped host memory; gets value when all is written */
    uint32_t value;
    uint32_t reserved; /* keeps what follows 8-byte aligned; 0 */
} symm_done_t;

/* Bytes of a kernel's parameters at most: the limit of all GPUs and drivers. */
#define SYMM_KERNEL_PARAMS_MAX 4096

#endif
