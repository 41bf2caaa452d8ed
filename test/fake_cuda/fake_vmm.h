/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Virtual memory management: the handles of physical memory. */
#ifndef FAKE_VMM_H
#define FAKE_VMM_H

/* Handles not released yet. */
long fake_vmm_handles(void);

#endif
