/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The arithmetic of batches. */
#include "symm_batch.h"

/* Makes one piece of part of each row: len bytes from `from` on. */
static symm_batch_piece_t piece_of(const symm_rows_t *rows, uint64_t from, uint64_t len)
{
    symm_batch_piece_t piece = {
        .dst = (uint64_t) (uintptr_t) rows->dst + from,
        .src = (uint64_t) (uintptr_t) rows->src + from,
        .len = len,
        .rows = rows->rows,
        .dst_pitch = rows->dst_pitch,
        .src_pitch = rows->src_pitch,
    };
    uint64_t pitches = 1 < rows->rows ? (uint64_t) rows->dst_pitch | (uint64_t) rows->src_pitch : 0;
    piece.width = symm_batch_width(piece.dst | piece.src | len | pitches);
    if (SYMM_BATCH_UNIT < len) {
        piece.split = (uint32_t) ((len + SYMM_BATCH_UNIT - 1) / SYMM_BATCH_UNIT);
        piece.units = (uint32_t) (rows->rows * piece.split);
    } else {
        piece.split = (uint32_t) (SYMM_BATCH_UNIT / len);
        piece.units = (uint32_t) ((rows->rows + piece.split - 1) / piece.split);
    }
    return piece;
}

unsigned symm_batch_cut(const symm_rows_t *rows, symm_batch_piece_t *pieces)
{
    uint64_t dst = (uint64_t) (uintptr_t) rows->dst;
    uint64_t src = (uint64_t) (uintptr_t) rows->src;
    uint64_t pitches = 1 < rows->rows ? (uint64_t) rows->dst_pitch | (uint64_t) rows->src_pitch : 0;
    uint64_t width =
        symm_batch_width((dst ^ src) | pitches); /* that both sides have after a few bytes */
    uint64_t head = -dst & (width - 1);
    uint64_t tail = (rows->len - head) & (width - 1);
    unsigned count = 0;
    if (SYMM_BATCH_WORTH_CUTTING > rows->len || 0 == (head | tail)) {
        pieces[0] = piece_of(rows, 0, rows->len);
        return 1;
    }
    pieces[count++] = piece_of(rows, head, rows->len - head - tail);
    if (0 < head) {
        pieces[count++] = piece_of(rows, 0, head);
    }
    if (0 < tail) {
        pieces[count++] = piece_of(rows, rows->len - tail, tail);
    }
    return count;
}

uint32_t symm_batch_blocks(uint32_t units, uint32_t multiprocessors)
{
    const uint32_t warps = SYMM_BATCH_THREADS / 32;
    uint32_t most = SYMM_BATCH_BLOCKS_PER_MULTIPROCESSOR * multiprocessors;
    uint32_t wanted = units / warps + (0 != units % warps ? 1 : 0);
    wanted = wanted < most ? wanted : most;
    return 0 < wanted ? wanted : 1;
}

symm_rows_t symm_batch_unit(const symm_batch_piece_t *piece, uint32_t unit)
{
    bool cut = SYMM_BATCH_UNIT < piece->len; /* several units to a row */
    uint64_t row = cut ? unit / piece->split : (uint64_t) unit * piece->split;
    uint64_t from = cut ? (uint64_t) (unit % piece->split) * SYMM_BATCH_UNIT : 0;
    uint64_t len = piece->len - from;
    uint64_t rows = cut ? 1 : piece->rows - row;
    if (SYMM_BATCH_INSIDE == piece->src) {
        return (symm_rows_t){.dst = (char *) (uintptr_t) piece->dst,
                             .src = (const char *) piece->inside,
                             .len = piece->len,
                             .rows = 1};
    }
    return (symm_rows_t){
        .dst = (char *) (uintptr_t) (piece->dst + row * (uint64_t) piece->dst_pitch + from),
        .src = (char *) (uintptr_t) (piece->src + row * (uint64_t) piece->src_pitch + from),
        .len = len < SYMM_BATCH_UNIT ? len : SYMM_BATCH_UNIT,
        .rows = cut || rows < piece->split ? rows : piece->split,
        .dst_pitch = piece->dst_pitch,
        .src_pitch = piece->src_pitch,
    };
}
