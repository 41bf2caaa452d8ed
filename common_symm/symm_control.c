/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Sizes and places inside control blocks, and the barrier of a window. */
#include "symm_config.h"

#include "symm_control.h"
#include "symm_spin.h"

static size_t round_to_line(size_t len)
{
    return (len + SYMM_LINE_BYTES - 1) / SYMM_LINE_BYTES * SYMM_LINE_BYTES;
}

static size_t peers_end(int size)
{
    return sizeof(symm_window_control_t) + (size_t) size * sizeof(symm_window_peer_t);
}

/* A row of counts per origin, on lines of its own, since the origin polls it. */
static size_t post_row_len(int size)
{
    return round_to_line((size_t) size * sizeof(_Atomic uint32_t));
}

size_t symm_window_control_len(int size)
{
    return peers_end(size) + (size_t) size * post_row_len(size);
}

_Atomic uint32_t *symm_window_control_post(symm_window_control_t *control, int size, int origin,
                                           int target)
{
    char *row = (char *) control + peers_end(size) + (size_t) origin * post_row_len(size);
    return (_Atomic uint32_t *) (void *) row + target;
}

void symm_window_control_barrier(symm_window_control_t *control, int rank, int size,
                                 uint32_t *round)
{
    uint32_t mine = ++*round;
    /* Release: whoever sees our arrival sees what we wrote before. */
    atomic_store_explicit(&control->peers[rank].arrivals, mine, memory_order_release);
    symm_spin_t spin = SYMM_SPIN_INIT;
    for (int r = 0; r < size; ++r) {
        /* The difference, as the count may wrap; a rank is at most one barrier ahead of us. */
        while ((int32_t) (atomic_load_explicit(&control->peers[r].arrivals, memory_order_acquire) -
                          mine) < 0) {
            symm_spin_once(&spin);
        }
    }
}

/* Rows are on lines of their own. */
static size_t row_len(int size)
{
    return round_to_line((size_t) size * sizeof(symm_block_t));
}

size_t symm_comm_control_len(int size)
{
    size_t rows = SYMM_ROW_RANKS_MAX < size ? 0 : 2 * (size_t) size;
    return (size_t) size * sizeof(symm_comm_peer_t) + rows * row_len(size);
}

symm_block_t *symm_comm_control_row(symm_comm_control_t *control, int size, int rank, int slot)
{
    if (SYMM_ROW_RANKS_MAX < size) {
        return NULL;
    }
    char *rows = (char *) control + (size_t) size * sizeof(symm_comm_peer_t);
    return (symm_block_t *) (void *) (rows + (2 * (size_t) rank + (size_t) slot) * row_len(size));
}
