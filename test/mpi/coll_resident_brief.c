/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_resident.c with a kernel that ends before the next call, or in the midst of it. */
#define IDLE_US "1"
#include "coll_resident.c"
