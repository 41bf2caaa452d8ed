/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_allreduce.c with buffers in no window, and so little scratch that much goes in many pieces.
 */
#define NAME                "coll_allreduce_scratch"
#define ALLREDUCE_ALGORITHM "auto"
#define SCRATCH_BYTES       "200000"
#include "coll_allreduce.c"
