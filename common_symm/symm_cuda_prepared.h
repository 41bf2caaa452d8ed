/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What launches need of work that is being prepared. */
#ifndef SYMM_CUDA_PREPARED_H
#define SYMM_CUDA_PREPARED_H

#include "symm_cuda_queue.h"

/* Adds a kernel, behind those that were added before. Returns MPI_SUCCESS, or MPI_ERR_OTHER with
 * the cause logged. */
int symm_cuda_prepared_add_kernel(symm_prepared_t *prepared, const symm_cuda_node_t *node);

#endif
