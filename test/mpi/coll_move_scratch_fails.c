/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_move.c where the scratch cannot be made: what needs it is staged on the host, on all ranks.
 */
#define SCRATCH_FAILS
#define SCRATCH_BYTES "2000000000000"
#include "coll_move.c"
