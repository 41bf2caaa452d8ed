/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_allreduce.c with its algorithm forced, and so small a stage that much goes in many pieces.
 */
#define ALLREDUCE_ALGORITHM "copy_engine"
#define STAGE_BYTES         "200000"
#include "coll_allreduce.c"
