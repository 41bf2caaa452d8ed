/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_reduce.c with the nonblocking forms of its collectives, buffers in no window, and so little
 * scratch that much goes in many pieces. */
#define NONBLOCKING   true
#define SCRATCH_BYTES "200000"
#include "coll_reduce.c"
