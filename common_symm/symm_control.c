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

/* A row of counts per origin, on lines of its own: the origin polls the posts to it, and alone
 * writes where it is inside. */
static size_t words_len(int size)
{
    return round_to_line((size_t) size * sizeof(_Atomic uint32_t));
}

size_t symm_window_control_len(int size)
{
    return peers_end(size) + 2 * (size_t) size * words_len(size);
}

/* The word for target in row `row` of those behind the peers. */
static _Atomic uint32_t *word_of(symm_window_control_t *control, int size, int row, int target)
{
    char *words = (char *) control + peers_end(size) + (size_t) row * words_len(size);
    return (_Atomic uint32_t *) (void *) words + target;
}

_Atomic uint32_t *symm_window_control_post(symm_window_control_t *control, int size, int origin,
                                           int target)
{
    return word_of(control, size, origin, target);
}

_Atomic uint32_t *symm_window_control_inside(symm_window_control_t *control, int size, int origin,
                                             int target)
{
    return word_of(control, size, size + origin, target);
}

void symm_window_control_close(symm_window_control_t *control, int size, int target)
{
    symm_gate_close(&control->peers[target].update,
                    symm_window_control_inside(control, size, 0, target), words_len(size), size);
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
static size_t block_row_len(int size)
{
    return round_to_line((size_t) size * sizeof(symm_block_t));
}

static size_t comm_peers_end(int size)
{
    return sizeof(symm_comm_control_t) + (size_t) size * sizeof(symm_comm_peer_t);
}

size_t symm_comm_control_len(int size)
{
    size_t rows = SYMM_ROW_RANKS_MAX < size ? 0 : SYMM_ROWS * (size_t) size;
    return comm_peers_end(size) + rows * block_row_len(size);
}

symm_block_t *symm_comm_control_row(symm_comm_control_t *control, int size, int rank, int row)
{
    if (SYMM_ROW_RANKS_MAX < size) {
        return NULL;
    }
    char *rows = (char *) control + comm_peers_end(size);
    return (symm_block_t *) (void *) (rows + (SYMM_ROWS * (size_t) rank + (size_t) row) *
                                                 block_row_len(size));
}
