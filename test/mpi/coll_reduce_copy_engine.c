/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_reduce.c with its algorithm forced, and so small a stage that much goes in many pieces. */
#define REDUCE_ALGORITHM "copy_engine"
#define STAGE_BYTES      "200000"
#include "coll_reduce.c"
