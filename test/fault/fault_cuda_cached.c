/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * fault_cuda.c with the cache of freed segments. */
#define FAULT_CUDA_CACHED
#include "fault_cuda.c"
