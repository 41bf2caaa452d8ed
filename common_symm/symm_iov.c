/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The cursor of symm_iov.h. */
#include "symm_config.h"

#include "symm_iov.h"

#include <string.h>

size_t symm_iov_peek(const symm_iov_cursor_t *cursor, struct iovec *out, size_t max, size_t max_len,
                     size_t *len_p)
{
    size_t found = 0;
    size_t offset = cursor->offset;
    *len_p = 0;
    for (size_t i = cursor->index; i < cursor->count && found < max && *len_p < max_len; ++i) {
        size_t len = cursor->pieces[i].iov_len - offset;
        len = len < max_len - *len_p ? len : max_len - *len_p;
        if (0 < len) {
            out[found++] = (struct iovec){(char *) cursor->pieces[i].iov_base + offset, len};
            *len_p += len;
        }
        offset = 0;
    }
    return found;
}

void symm_iov_advance(symm_iov_cursor_t *cursor, size_t len)
{
    while (cursor->index < cursor->count &&
           len >= cursor->pieces[cursor->index].iov_len - cursor->offset) {
        len -= cursor->pieces[cursor->index].iov_len - cursor->offset;
        cursor->offset = 0;
        ++cursor->index;
    }
    cursor->offset += len;
}

/* Moves len bytes piece by piece; into the list when in is set. */
static void copy(symm_iov_cursor_t *cursor, bool in, char *bytes, size_t len)
{
    struct iovec piece;
    size_t part;
    while (0 < len && 0 < symm_iov_peek(cursor, &piece, 1, len, &part)) {
        memcpy(in ? piece.iov_base : bytes, in ? bytes : piece.iov_base, part);
        symm_iov_advance(cursor, part);
        bytes += part;
        len -= part;
    }
}

void symm_iov_copy_out(symm_iov_cursor_t *cursor, void *bytes, size_t len)
{
    copy(cursor, false, bytes, len);
}

void symm_iov_copy_in(symm_iov_cursor_t *cursor, const void *bytes, size_t len)
{
    copy(cursor, true, (char *) bytes, len);
}
