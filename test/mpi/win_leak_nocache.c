/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * win_leak.c with nothing kept of freed windows. */
#define WIN_LEAK_NOCACHE
#include "win_leak.c"
