/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Walking along a list of pieces of memory, as both ends of a transfer do that are cut differently.
 */
#ifndef SYMM_IOV_H
#define SYMM_IOV_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "mpi_symm.h"

/* How far into the list a transfer has come. */
typedef struct symm_iov_cursor {
    const struct iovec *pieces; /* [count] */
    size_t count;
    size_t index;
    size_t offset; /* bytes of pieces[index] that are done */
} symm_iov_cursor_t;

#define SYMM_IOV_CURSOR(pieces, count)                                                             \
    {                                                                                              \
        (pieces), (count), 0, 0                                                                    \
    }

/* Writes what comes next into out [max], empty pieces left out, of at most max_len bytes together.
 * Returns how many pieces that are; 0 at the end. Does not move the cursor. *len_p gets their
 * bytes. */
SYMM_EXPORT size_t symm_iov_peek(const symm_iov_cursor_t *cursor, struct iovec *out, size_t max,
                                 size_t max_len, size_t *len_p);

/* Goes on by len bytes, no more than are left. */
SYMM_EXPORT void symm_iov_advance(symm_iov_cursor_t *cursor, size_t len);

/* Copies the next len bytes between the list and `bytes`, and goes on: out of the list, or into it.
 * No more than are left. */
SYMM_EXPORT void symm_iov_copy_out(symm_iov_cursor_t *cursor, void *bytes, size_t len);
SYMM_EXPORT void symm_iov_copy_in(symm_iov_cursor_t *cursor, const void *bytes, size_t len);

#endif
