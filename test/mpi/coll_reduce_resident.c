/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_reduce.c with small calls done by the resident kernel. */
#define RESIDENT
#include "coll_reduce.c"
