/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The launch shape of the kernel of several copies. */
#include "symm_move.h"

/* Bytes that a block moves when each thread has one access of 16 bytes: the shortest time for small
 * copies, which latency bounds. */
#define BLOCK_BYTES (16u * SYMM_MOVE_THREADS)

/* As many saturate NVLink and leave a large GPU some multiprocessors. */
#define BLOCKS_MAX 128u

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t symm_move_blocks(const symm_move_t *moves, uint32_t count, uint32_t multiprocessors,
                          uint32_t max_multiprocessors)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < count; ++i) {
        longest = moves[i].len > longest ? moves[i].len : longest;
    }
    uint64_t wanted = (longest + BLOCK_BYTES - 1) / BLOCK_BYTES;
    uint32_t most = smaller(BLOCKS_MAX, SYMM_MOVE_BLOCKS_PER_MULTIPROCESSOR *
                                            smaller(multiprocessors, max_multiprocessors));
    uint32_t each = most / count;
    each = wanted < each ? (uint32_t) wanted : each;
    return 0 < each ? each : 1;
}
