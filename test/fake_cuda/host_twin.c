/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The host twins of the kernels, compiled once more for the fake, hidden in it. */
#include "symm_atomic_host.c"
#include "symm_batch.c"
#include "symm_move_host.c"
#include "symm_reduce_host.c"
#include "symm_rows_host.c"
#include "symm_types.c"
