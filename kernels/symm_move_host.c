/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The host twin of the kernel of several copies. */
#include "symm_move.h"

#include <string.h>

void symm_move_host(const symm_move_t *moves, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        memcpy(moves[i].dst, moves[i].src, moves[i].len);
    }
}
