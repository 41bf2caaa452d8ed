/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_reduce.c with its algorithm forced. */
#define REDUCE_ALGORITHM "two_shot"
#include "coll_reduce.c"
