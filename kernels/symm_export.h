/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Marks what the shared library shows of these functions; everything else is hidden. */
#ifndef SYMM_EXPORT_H
#define SYMM_EXPORT_H

#ifndef SYMM_EXPORT
#    define SYMM_EXPORT __attribute__((visibility("default")))
#endif

#endif
