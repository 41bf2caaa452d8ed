/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_persistent.c where copy engines do what they can, and so little scratch that what goes
 * through it takes many rounds. */
#define PERSISTENT_ALGORITHM "copy_engine"
#define SCRATCH_BYTES        "10000"
#include "coll_persistent.c"
