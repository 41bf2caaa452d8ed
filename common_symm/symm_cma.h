/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Cross-memory attach: reading and writing the memory of another process of this host, which takes
 * no part (process_vm_readv(2)). The kernel may forbid it (Yama's ptrace_scope, containers), so it
 * is tried before it is counted on. */
#ifndef SYMM_CMA_H
#define SYMM_CMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "mpi_symm.h"

#define SYMM_CMA_TOKEN_BYTES 16

/* How a process can be recognised by who reads its memory: process ids mean different processes in
 * different containers. */
typedef struct symm_cma_card {
    uint64_t pid;
    uint64_t address; /* of the token, in that process */
    unsigned char token[SYMM_CMA_TOKEN_BYTES];
} symm_cma_card_t;

/* Fills this process's card. Any thread. */
SYMM_EXPORT void symm_cma_card(symm_cma_card_t *card_p);

/* Whether this process can read the memory of the process with that card. Any thread. */
SYMM_EXPORT bool symm_cma_works(const symm_cma_card_t *card);

/* Whether one byte at address of that process can be read. */
SYMM_EXPORT bool symm_cma_can_read(pid_t pid, const void *address);

/* Copies between pieces of this process's memory and pieces of process pid's memory, whose bytes
 * are the same in number: from the first to the second when write is set, else the other way.
 * Done when it returns. Any thread. Returns MPI_SUCCESS, or MPI_ERR_OTHER with the cause logged and
 * any part of the bytes copied. */
SYMM_EXPORT int symm_cma_transfer(pid_t pid, bool write, const struct iovec *local,
                                  size_t local_count, const struct iovec *remote,
                                  size_t remote_count);

#endif
