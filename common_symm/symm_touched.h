/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Which memory a batch of updates touches, to tell whether one more would have to stay behind one
 * of them. Short runs are kept exactly, to 8 bytes, in a hash table that is emptied at no cost;
 * of long ones their common range is kept. Local to its owner's lock. */
#ifndef SYMM_TOUCHED_H
#define SYMM_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the longest short run. */
#define SYMM_TOUCHED_SHORT 64

/* Places of the table, a power of 2, of which half are used at most. */
#define SYMM_TOUCHED_PLACES 4096

typedef struct symm_range {
    uintptr_t begin, end;
} symm_range_t;

typedef struct symm_touched {
    symm_range_t shorts, longs; /* around all of each */
    uint32_t round;             /* of the keys that count; starts at 1 */
    uint32_t used;
    uint32_t rounds[SYMM_TOUCHED_PLACES];
    uintptr_t keys[SYMM_TOUCHED_PLACES];
} symm_touched_t;

/* Forgets everything; also the first thing to call on zeroed memory. */
void symm_touched_clear(symm_touched_t *touched);

/* Whether something of [begin, end) may have been touched; never wrong when it has been. */
bool symm_touched_has(const symm_touched_t *touched, uintptr_t begin, uintptr_t end);

/* Adds [begin, end). Returns false, having added nothing, when there is no room. */
bool symm_touched_add(symm_touched_t *touched, uintptr_t begin, uintptr_t end);

#endif
