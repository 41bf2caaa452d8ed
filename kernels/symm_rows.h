/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Rows: what a copy of non-contiguous data comes down to. */
#ifndef SYMM_ROWS_H
#define SYMM_ROWS_H

#include <stddef.h>

#include "symm_export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `rows` rows of `len` bytes, in order. Pitches may be negative or 0, which repeats a row. Rows of
 * the destination must not overlap one another or a row of the source. */
typedef struct symm_rows {
    char *dst;
    const char *src;
    size_t len;
    size_t rows;
    ptrdiff_t dst_pitch; /* bytes from one row to the next */
    ptrdiff_t src_pitch;
} symm_rows_t;

/* Copies host memory on the calling thread. */
SYMM_EXPORT void symm_rows_copy_host(const symm_rows_t *rows);

#ifdef __cplusplus
}
#endif

#endif
