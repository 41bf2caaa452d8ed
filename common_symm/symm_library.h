/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The life of the shared library inside a process. The osc component goes before communicators do,
 * and with these go cached segments; so each component holds the library open until it is closed
 * itself. */
#ifndef SYMM_LIBRARY_H
#define SYMM_LIBRARY_H

#include "mpi_symm.h"

/* Holds the library open. Any thread. */
SYMM_EXPORT void symm_library_open(void);

/* Lets go; the last one frees what the library keeps for the life of the process: devices, kernels,
 * queues for staging. No window may be alive then, no other call be under way. */
SYMM_EXPORT void symm_library_close(void);

#endif
