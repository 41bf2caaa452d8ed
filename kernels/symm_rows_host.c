/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Copying rows of host memory. */
#include "symm_rows.h"

#include <string.h>

/* A loop over rows whose length the compiler knows: a load and a store each, and not a call. */
#define COPY_FIXED(bytes)                                                                          \
    case bytes:                                                                                    \
        for (size_t row = 0; row < r->rows; ++row) {                                               \
            memcpy(dst, src, bytes);                                                               \
            dst += r->dst_pitch;                                                                   \
            src += r->src_pitch;                                                                   \
        }                                                                                          \
        break;

void symm_rows_copy_host(const symm_rows_t *r)
{
    char *dst = r->dst;
    const char *src = r->src;
    switch (r->len) {
        COPY_FIXED(1)
        COPY_FIXED(2)
        COPY_FIXED(4)
        COPY_FIXED(8)
        COPY_FIXED(16)
    default:
        for (size_t row = 0; row < r->rows; ++row) {
            memcpy(dst, src, r->len);
            dst += r->dst_pitch;
            src += r->src_pitch;
        }
        break;
    }
}
