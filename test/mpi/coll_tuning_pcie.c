/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * coll_tuning.c where GPUs are joined by PCIe. Only the fake driver can be told so. */
#define MACHINE SYMM_TEST_MACHINES "/two-pcie"
#define LINK    SYMM_LINK_PCIE
#include "coll_tuning.c"
