/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Reductions whose data copy engines move. */
#ifndef SYMM_CUDA_STAGED_H
#define SYMM_CUDA_STAGED_H

#include "symm_cuda_queue.h"

/* Frees the queue's stage; nothing is under way. Teardown. */
void symm_cuda_stage_destroy(symm_queue_t *queue);

#endif
