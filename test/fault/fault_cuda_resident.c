/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * fault_cuda.c with a resident kernel, which hardly stays: so it is launched often. */
#define FAULT_CUDA_RESIDENT
#include "fault_cuda.c"
