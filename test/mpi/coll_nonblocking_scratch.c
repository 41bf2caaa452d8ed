/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_nonblocking.c with so little scratch that most calls through it go in many pieces. */
#define SCRATCH_BYTES "10000"
#include "coll_nonblocking.c"
