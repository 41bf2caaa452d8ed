/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_allreduce.c with its algorithm forced. */
#define ALLREDUCE_ALGORITHM "two_shot"
#include "coll_allreduce.c"
