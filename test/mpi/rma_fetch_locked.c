/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * rma_fetch.c where GPUs have no atomics on each other's memory, so that updates take turns. Only
 * the fake driver can be told so. */
#define RMA_FETCH_LOCKED
#include "rma_fetch.c"
