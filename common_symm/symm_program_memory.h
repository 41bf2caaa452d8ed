/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Memory that cannot be a GPU's, known without asking the driver, which costs more than moving a
 * few bytes. */
#ifndef SYMM_PROGRAM_MEMORY_H
#define SYMM_PROGRAM_MEMORY_H

#include <stdbool.h>

#include "mpi_symm.h"

/* Whether ptr is in memory that is the host's as long as the caller runs: the heap that grows by
 * brk(), the calling thread's stack, the program's static data. No driver maps anything there. What
 * malloc() takes from elsewhere is not known here: false means nothing. Any thread. */
SYMM_EXPORT bool symm_program_memory(const void *ptr);

#endif
