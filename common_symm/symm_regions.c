/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The table of symm_regions.h. */
#include "symm_config.h"

#include "symm_regions.h"
#include "symm_spin.h"

#include <mpi.h>

size_t symm_regions_len(size_t capacity)
{
    return sizeof(symm_regions_t) + capacity * sizeof(symm_region_entry_t);
}

static symm_region_t load_entry(const symm_regions_t *table, uint64_t at)
{
    const symm_region_entry_t *entry = &table->entries[at];
    return (symm_region_t){atomic_load_explicit(&entry->start, memory_order_relaxed),
                           atomic_load_explicit(&entry->len, memory_order_relaxed),
                           atomic_load_explicit(&entry->tag, memory_order_relaxed)};
}

static void store_entry(symm_regions_t *table, uint64_t at, const symm_region_t *region)
{
    symm_region_entry_t *entry = &table->entries[at];
    atomic_store_explicit(&entry->start, region->start, memory_order_relaxed);
    atomic_store_explicit(&entry->len, region->len, memory_order_relaxed);
    atomic_store_explicit(&entry->tag, region->tag, memory_order_relaxed);
}

/* How many of the first count entries come before a region of that start and length, or are like
 * it. */
static uint64_t upper_bound(const symm_regions_t *table, uint64_t count, uint64_t start,
                            uint64_t len)
{
    uint64_t low = 0;
    uint64_t high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        symm_region_t entry = load_entry(table, middle);
        if (entry.start < start || (entry.start == start && entry.len <= len)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void begin_change(symm_regions_t *table)
{
    atomic_fetch_add_explicit(&table->version, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* the odd version is seen before any change */
}

static void end_change(symm_regions_t *table)
{
    atomic_fetch_add_explicit(&table->version, 1, memory_order_release);
}

/* Whether a region of len bytes at place `at` of the table would overlap a neighbour. */
static bool overlaps(const symm_regions_t *table, uint64_t count, uint64_t at, uint64_t start,
                     uint64_t len)
{
    if (0 == len) {
        return false;
    }
    for (uint64_t i = at; i < count; ++i) { /* over empty ones to the next */
        symm_region_t next = load_entry(table, i);
        if (next.start - start >= len) {
            break;
        }
        if (0 < next.len) {
            return true;
        }
    }
    for (uint64_t i = at; 0 < i; --i) {
        symm_region_t previous = load_entry(table, i - 1);
        if (0 < previous.len) {
            return start - previous.start < previous.len;
        }
    }
    return false;
}

int symm_regions_add(symm_regions_t *table, size_t capacity, const symm_region_t *region)
{
    uint64_t count = atomic_load_explicit(&table->count, memory_order_relaxed);
    uint64_t at = upper_bound(table, count, region->start, region->len);
    if (count == capacity || overlaps(table, count, at, region->start, region->len)) {
        return MPI_ERR_RMA_ATTACH;
    }
    begin_change(table);
    for (uint64_t i = count; i > at; --i) {
        symm_region_t moved = load_entry(table, i - 1);
        store_entry(table, i, &moved);
    }
    store_entry(table, at, region);
    atomic_store_explicit(&table->count, count + 1, memory_order_relaxed);
    end_change(table);
    return MPI_SUCCESS;
}

bool symm_regions_remove(symm_regions_t *table, const void *start, symm_region_t *removed_p)
{
    uint64_t count = atomic_load_explicit(&table->count, memory_order_relaxed);
    uint64_t behind = upper_bound(table, count, (uintptr_t) start, UINT64_MAX);
    if (0 == behind) {
        return false;
    }
    symm_region_t found = load_entry(table, behind - 1);
    if (found.start != (uintptr_t) start) {
        return false;
    }
    begin_change(table);
    for (uint64_t i = behind; i < count; ++i) {
        symm_region_t moved = load_entry(table, i);
        store_entry(table, i - 1, &moved);
    }
    atomic_store_explicit(&table->count, count - 1, memory_order_relaxed);
    end_change(table);
    *removed_p = found;
    return true;
}

/* One look at the table, which may be changing. */
static bool look(const symm_regions_t *table, uint64_t start, uint64_t len, symm_region_t *region_p)
{
    uint64_t count = atomic_load_explicit(&table->count, memory_order_relaxed);
    uint64_t behind = upper_bound(table, count, start, UINT64_MAX);
    symm_region_t first = {0};
    uint64_t at = behind;
    while (0 < at && 0 == first.len) {
        first = load_entry(table, --at);
    }
    if (start - first.start >= first.len) {
        return false;
    }
    *region_p = first;
    uint64_t end = first.start + first.len;
    for (uint64_t i = behind; end - start < len && i < count; ++i) {
        symm_region_t next = load_entry(table, i);
        if (0 < next.len && (next.start != end || next.tag != first.tag)) {
            return false;
        }
        end += next.len;
    }
    return end - start >= len;
}

bool symm_regions_find(const symm_regions_t *table, uint64_t start, uint64_t len,
                       symm_region_t *region_p)
{
    symm_spin_t spin = SYMM_SPIN_INIT;
    for (;;) {
        uint64_t before = atomic_load_explicit(&table->version, memory_order_acquire);
        if (0 == before % 2) {
            bool found = look(table, start, len, region_p);
            atomic_thread_fence(memory_order_acquire); /* the look comes before the next load */
            if (before == atomic_load_explicit(&table->version, memory_order_relaxed)) {
                return found;
            }
        }
        symm_spin_once(&spin);
    }
}
