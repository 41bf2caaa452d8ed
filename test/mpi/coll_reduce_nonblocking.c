/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_reduce.c with the nonblocking forms of its collectives. */
#define NONBLOCKING true
#include "coll_reduce.c"
