/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Copies that graphs have. */
#ifndef FAKE_COPY_H
#define FAKE_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "fake_cuda.h"

/* A copy of len bytes in a row. */
typedef struct fake_copy {
    uintptr_t dst, src;
    size_t len;
} fake_copy_t;

/* Takes a node's parameters over. The fake knows copies of one row between addresses of the one
 * address space. */
CUresult fake_copy_read(const CUDA_MEMCPY3D *node, fake_copy_t *copy_p);

/* Queues a copy between memory of devices and pinned memory: of ordinary memory, it is not said
 * when a graph would take it. */
CUresult fake_copy_queue(const fake_copy_t *copy, CUstream stream);

#endif
