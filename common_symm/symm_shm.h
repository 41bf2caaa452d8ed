/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Anonymous shared host memory (memfd): it has no name in any file system, so nothing is left
 * behind when a process is killed. Passing the descriptors to peers is symm_rendezvous.c's work. */
#ifndef SYMM_SHM_H
#define SYMM_SHM_H

#include <stddef.h>

#include "symm_error.h"

/* Creates len zeroed bytes that really exist (a later access cannot fail for want of memory).
 * *fd_p is the caller's to close. Returns MPI_SUCCESS or MPI_ERR_NO_MEM with error recorded. */
int symm_shm_create(size_t len, int *fd_p, symm_error_t *error);

/* Maps len bytes of fd for reading and writing, at `at` (replacing what is mapped there) or
 * anywhere when NULL. The mapping lives on when fd is closed. Returns MPI_SUCCESS or
 * MPI_ERR_NO_MEM. */
int symm_shm_map(int fd, size_t len, void *at, void **address_p, symm_error_t *error);

/* Ends a mapping; warns when the system refuses, and goes on. NULL is allowed. */
SYMM_EXPORT void symm_shm_unmap(void *address, size_t len);

#endif
