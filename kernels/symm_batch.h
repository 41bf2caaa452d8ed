/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Batches: many moves of rows of bytes done by one kernel, as small operations gathered and data
 * without a simple shape need them. What the kernel takes is laid out alike for the C launcher and
 * for CUDA.
 *
 * NOTE units. The work is shared out in units of at most SYMM_BATCH_UNIT bytes, one for a warp at a
 * time. Rows longer than a unit take `split` units each, of shorter ones `split` rows make a unit.
 * Units are numbered through the batch; each piece says which is its first. */
#ifndef SYMM_BATCH_H
#define SYMM_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "symm_done.h"
#include "symm_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel's name in the fatbin, and the threads of a block. */
#define SYMM_BATCH_KERNEL  "symm_batch"
#define SYMM_BATCH_THREADS 256

/* Blocks that run on a multiprocessor at once, which the kernel keeps registers for. */
#define SYMM_BATCH_BLOCKS_PER_MULTIPROCESSOR 3

/* Bytes that a warp moves at a time: four accesses of 16 bytes by each of its threads. */
#define SYMM_BATCH_UNIT 2048

/* A source below this is an offset into the batch's data, not an address. */
#define SYMM_BATCH_DATA_MAX ((uint64_t) 1 << 20)

/* The source of a single row that is in the piece itself, and its most bytes: so the GPU has it
 * with the piece, and not a round trip later. */
#define SYMM_BATCH_INSIDE     UINT64_MAX
#define SYMM_BATCH_INSIDE_MAX 16

/* Bytes of pieces and data that travel in the kernel's parameters, where the GPU has them at once;
 * more stays in mapped host memory, two round trips over PCIe away. */
#define SYMM_BATCH_CARRIED 1024

/* Rows as symm_rows.h has them. 64 bytes, so that two make a line of memory. */
typedef struct symm_batch_piece {
    uint64_t dst;
    uint64_t src;
    uint64_t len;
    uint64_t rows;
    union {
        struct {
            int64_t dst_pitch;
            int64_t src_pitch;
        };
        unsigned char inside[SYMM_BATCH_INSIDE_MAX]; /* the source, when src says so */
    };
    uint32_t first_unit;
    uint32_t units;
    uint32_t split;
    uint32_t width; /* bytes of an access: what addresses, pitches and length allow, up to 16 */
} symm_batch_piece_t;

typedef struct symm_batch_params {
    symm_done_t done;
    const symm_batch_piece_t *pieces; /* mapped host memory; NULL when they are in `carried` */
    const unsigned char *data;        /* likewise; carried, it comes behind the pieces */
    uint32_t piece_count;
    uint32_t unit_count;
    uint32_t units_per_block;
    uint32_t reserved; /* 0 */
    unsigned char carried[SYMM_BATCH_CARRIED] __attribute__((aligned(16)));
} symm_batch_params_t;

/* ---- for whoever fills a batch ---- */

/* Rows shorter than this are not worth cutting. */
#define SYMM_BATCH_WORTH_CUTTING 64

/* Rows that a kernel can move well: what has ends that are not aligned is cut in up to three. */
#define SYMM_BATCH_CUTS 3

/* Whether a run of bytes makes one piece of one unit, as it is. */
static inline bool symm_batch_is_simple(uint64_t len)
{
    return len < SYMM_BATCH_WORTH_CUTTING;
}

/* The width of access that all the bits allow, see symm_batch_piece_t. */
static inline uint32_t symm_batch_width(uint64_t bits)
{
    bits |= 16;
    return (uint32_t) (bits & -bits);
}

/* Writes the piece of a run with its bytes inside; at most SYMM_BATCH_INSIDE_MAX, which the caller
 * copies. */
static inline void symm_batch_inside(symm_batch_piece_t *piece, uint64_t dst, uint64_t len,
                                     uint32_t unit)
{
    piece->dst = dst;
    piece->src = SYMM_BATCH_INSIDE;
    piece->len = len;
    piece->rows = 1;
    piece->first_unit = unit;
    piece->units = 1;
    piece->split = 1;
    piece->width = symm_batch_width(dst | len);
}

/* Writes the piece of a simple run. */
static inline void symm_batch_simple(symm_batch_piece_t *piece, uint64_t dst, uint64_t src,
                                     uint64_t len, uint32_t unit)
{
    piece->dst = dst;
    piece->src = src;
    piece->len = len;
    piece->rows = 1;
    piece->dst_pitch = 0;
    piece->src_pitch = 0;
    piece->first_unit = unit;
    piece->units = 1;
    piece->split = 1;
    piece->width = symm_batch_width(dst | src | len);
}

/* Makes pieces [SYMM_BATCH_CUTS] out of rows, whose addresses are those of the device; returns how
 * many. first_unit is left to the caller. */
SYMM_EXPORT unsigned symm_batch_cut(const symm_rows_t *rows, symm_batch_piece_t *pieces);

/* The number of blocks for a batch of so many units on a device of that many multiprocessors; at
 * least 1. */
SYMM_EXPORT uint32_t symm_batch_blocks(uint32_t units, uint32_t multiprocessors);

/* The rows of a unit of a piece, counted from the piece's first: what a warp moves. For the host
 * twin and tests; the kernel has the same arithmetic. */
SYMM_EXPORT symm_rows_t symm_batch_unit(const symm_batch_piece_t *piece, uint32_t unit);

#ifdef __cplusplus
}
#endif

#endif
