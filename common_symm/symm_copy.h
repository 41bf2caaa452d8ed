/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Copies on behalf of callers that have no queue at hand, as staging a device buffer. */
#ifndef SYMM_COPY_H
#define SYMM_COPY_H

#include <stddef.h>

#include "mpi_symm.h"
#include "symm_typemap.h"

/* Copies len bytes between any two kinds of memory and waits, driving progress. A GPU copy runs on
 * the device of the symmetric window that one of the buffers lies in, otherwise on that of the
 * thread's current context. Any thread. Returns MPI_SUCCESS, or an MPI error class with the cause
 * logged. */
SYMM_EXPORT int symm_copy_blocking(void *dst, const void *src, size_t len);

/* The same for all that is left of walk, from src, its side b, to dst, its side a. */
SYMM_EXPORT int symm_move_blocking(void *dst, const void *src, symm_typewalk_t *walk);

/* Frees what these copies keep. No other call may be under way. */
void symm_copy_finalize(void);

#endif
