/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The regions of memory that a rank has attached to a dynamic window: a sorted table in shared
 * memory which its owner changes and all ranks look at. Zeroed memory is an empty table.
 *
 * NOTE reading. The owner makes the version odd while it changes the table and even again
 * afterwards; who looks tries again when the version was odd or has changed meanwhile. */
#ifndef SYMM_REGIONS_H
#define SYMM_REGIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_symm.h"

typedef struct symm_region {
    uint64_t start; /* address in the owner's process */
    uint64_t len;   /* bytes, may be 0 */
    uint64_t tag;   /* the owner's, for whoever finds it; pieces with the same tag join */
} symm_region_t;

typedef struct symm_region_entry {
    _Atomic uint64_t start, len, tag;
} symm_region_entry_t;

typedef struct symm_regions {
    _Alignas(64) _Atomic uint64_t version;
    _Atomic uint64_t count;
    symm_region_entry_t entries[]; /* [capacity], by rising start, then length */
} symm_regions_t;

/* Bytes of a table with room for that many regions. */
SYMM_EXPORT size_t symm_regions_len(size_t capacity);

/* Adds a region; one call of the owner at a time. Returns MPI_SUCCESS, or MPI_ERR_RMA_ATTACH when
 * it overlaps another or the table is full. O(n). */
SYMM_EXPORT int symm_regions_add(symm_regions_t *table, size_t capacity,
                                 const symm_region_t *region);

/* Removes a region that starts at start (the longest one) and writes it to *removed_p; one call of
 * the owner at a time. Returns whether there is one. O(n). */
SYMM_EXPORT bool symm_regions_remove(symm_regions_t *table, const void *start,
                                     symm_region_t *removed_p);

/* Finds the region that address start lies in, and whether all of [start, start + len) does, or
 * goes on in regions that follow without a gap and have the same tag. Any thread of any rank.
 * O(log n). */
SYMM_EXPORT bool symm_regions_find(const symm_regions_t *table, uint64_t start, uint64_t len,
                                   symm_region_t *region_p);

#endif
