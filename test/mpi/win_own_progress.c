/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * win_own.c where the kernel forbids cross-memory attach, so that the target itself must copy. */
#define WIN_OWN_PROGRESS
#include "win_own.c"
