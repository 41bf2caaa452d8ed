/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_move.c with so little scratch that most blocks travel in many pieces. */
#define SCRATCH_BYTES "10000"
#include "coll_move.c"
