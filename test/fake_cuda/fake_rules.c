/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The rules for calls that fail, compiled for the fake, hidden in it. */
#include "fault_rules.c"
