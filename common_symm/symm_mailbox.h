/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Reaching memory that only its owner can: others leave requests in the owner's mailbox, in shared
 * memory, and the owner copies when it makes progress. Zeroed memory is an empty mailbox.
 *
 * NOTE states. A slot goes round FREE, CLAIMED by who asks, ASKED, SERVED, and back; who asks and
 * the owner hand it to each other, so neither looks at it while the other works. The owner serves
 * one slot at a time, also when several of its threads make progress. */
#ifndef SYMM_MAILBOX_H
#define SYMM_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "mpi_symm.h"

#define SYMM_MAILBOX_SLOTS  4
#define SYMM_MAILBOX_PIECES 256
#define SYMM_MAILBOX_BYTES  ((size_t) 32768)

typedef struct symm_mailbox_piece {
    uint64_t address; /* in the owner's process */
    uint64_t len;
} symm_mailbox_piece_t;

typedef struct symm_mailbox_slot {
    _Alignas(64) _Atomic uint32_t state;
    uint32_t write; /* data goes into the pieces, else out of them */
    uint32_t count;
    int32_t code; /* how it went: an MPI error class */
    symm_mailbox_piece_t pieces[SYMM_MAILBOX_PIECES];
    unsigned char data[SYMM_MAILBOX_BYTES]; /* of all pieces, one after the other */
} symm_mailbox_slot_t;

typedef struct symm_mailbox {
    _Alignas(64) _Atomic uint32_t asked; /* slots in state ASKED, or about to be */
    _Alignas(64) _Atomic uint32_t serving;
    symm_mailbox_slot_t slots[SYMM_MAILBOX_SLOTS];
} symm_mailbox_t;

/* Copies between pieces of this process's host memory and pieces of the owner's memory, whose bytes
 * are the same in number: from the first to the second when write is set, else the other way. Waits
 * for the owner, driving progress; done when it returns. Any thread, not the owner's own. Returns
 * MPI_SUCCESS or the owner's MPI error class. */
SYMM_EXPORT int symm_mailbox_transfer(symm_mailbox_t *mailbox, bool write,
                                      const struct iovec *local, size_t local_count,
                                      const struct iovec *remote, size_t remote_count);

/* Copies len bytes, done when it returns; returns an MPI error class. */
typedef int (*symm_mailbox_copy_fn_t)(void *context, void *dst, const void *src, size_t len);

/* The owner's side: does what is asked, with copy, which may make progress. Does nothing within
 * itself, or while another thread is at it. Returns how many requests were served. */
SYMM_EXPORT int symm_mailbox_serve(symm_mailbox_t *mailbox, symm_mailbox_copy_fn_t copy,
                                   void *context);

#endif
