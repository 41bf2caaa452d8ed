/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The hash table and the ranges of symm_touched.h. */
#include "symm_config.h"

#include "symm_touched.h"

#include <string.h>

#define GRAIN_SHIFT 3

static bool overlap(const symm_range_t *range, uintptr_t begin, uintptr_t end)
{
    return begin < range->end && range->begin < end;
}

static void widen(symm_range_t *range, uintptr_t begin, uintptr_t end)
{
    if (range->begin == range->end) {
        *range = (symm_range_t){begin, end};
        return;
    }
    range->begin = begin < range->begin ? begin : range->begin;
    range->end = end > range->end ? end : range->end;
}

void symm_touched_clear(symm_touched_t *touched)
{
    touched->shorts = touched->longs = (symm_range_t){0, 0};
    touched->used = 0;
    if (0 == ++touched->round) { /* the count came round: old keys must not count again */
        memset(touched->rounds, 0, sizeof(touched->rounds));
        touched->round = 1;
    }
}

/* The place of key, or the free one where it belongs. */
static uint32_t find(const symm_touched_t *touched, uintptr_t key)
{
    uint32_t at = (uint32_t) ((key * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % SYMM_TOUCHED_PLACES;
    while (touched->rounds[at] == touched->round && touched->keys[at] != key) {
        at = (at + 1) % SYMM_TOUCHED_PLACES;
    }
    return at;
}

bool symm_touched_has(const symm_touched_t *touched, uintptr_t begin, uintptr_t end)
{
    if (overlap(&touched->longs, begin, end)) {
        return true;
    }
    if (!overlap(&touched->shorts, begin, end)) {
        return false;
    }
    bool found = SYMM_TOUCHED_SHORT < end - begin;
    for (uintptr_t key = begin >> GRAIN_SHIFT; !found && key <= (end - 1) >> GRAIN_SHIFT; ++key) {
        found = touched->rounds[find(touched, key)] == touched->round;
    }
    return found;
}

bool symm_touched_add(symm_touched_t *touched, uintptr_t begin, uintptr_t end)
{
    if (SYMM_TOUCHED_SHORT < end - begin) {
        widen(&touched->longs, begin, end);
        return true;
    }
    uintptr_t last = (end - 1) >> GRAIN_SHIFT;
    if (touched->used + (last - (begin >> GRAIN_SHIFT)) + 1 > SYMM_TOUCHED_PLACES / 2) {
        return false;
    }
    for (uintptr_t key = begin >> GRAIN_SHIFT; key <= last; ++key) {
        uint32_t at = find(touched, key);
        touched->used += touched->rounds[at] != touched->round;
        touched->rounds[at] = touched->round;
        touched->keys[at] = key;
    }
    widen(&touched->shorts, begin, end);
    return true;
}
