/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A sorted table of address ranges. What an owner is, the users know. */
#include "symm_config.h"

#include "symm_registry.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Index of the first entry that starts above address; entries before it start at or below. */
static size_t upper_bound(const symm_registry_t *registry, uintptr_t address)
{
    size_t low = 0;
    size_t high = registry->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (registry->entries[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int make_room(symm_registry_t *registry)
{
    if (registry->count < registry->capacity) {
        return MPI_SUCCESS;
    }
    size_t capacity = 0 == registry->capacity ? 16 : 2 * registry->capacity;
    symm_registry_entry_t *entries = realloc(registry->entries, capacity * sizeof(*entries));
    if (NULL == entries) {
        return MPI_ERR_NO_MEM;
    }
    registry->entries = entries;
    registry->capacity = capacity;
    return MPI_SUCCESS;
}

static bool overlaps(const symm_registry_t *registry, size_t at, uintptr_t start, size_t len)
{
    const symm_registry_entry_t *entries = registry->entries;
    bool below = 0 < at && start - entries[at - 1].start < entries[at - 1].len;
    bool above = at < registry->count && entries[at].start - start < len;
    return below || above;
}

int symm_registry_insert(symm_registry_t *registry, const void *start, size_t len, void *owner)
{
    (void) pthread_rwlock_wrlock(&registry->lock); /* fails only on misuse */
    size_t at = upper_bound(registry, (uintptr_t) start);
    int rc = MPI_ERR_BASE;
    if (!overlaps(registry, at, (uintptr_t) start, len)) {
        rc = make_room(registry);
    }
    if (MPI_SUCCESS == rc) {
        symm_registry_entry_t *entry = &registry->entries[at];
        memmove(entry + 1, entry, (registry->count - at) * sizeof(*entry));
        *entry = (symm_registry_entry_t){(uintptr_t) start, len, owner};
        ++registry->count;
    }
    (void) pthread_rwlock_unlock(&registry->lock);
    return rc;
}

void symm_registry_remove(symm_registry_t *registry, const void *start)
{
    (void) pthread_rwlock_wrlock(&registry->lock);
    size_t above = upper_bound(registry, (uintptr_t) start);
    if (0 < above && registry->entries[above - 1].start == (uintptr_t) start) {
        symm_registry_entry_t *entry = &registry->entries[above - 1];
        memmove(entry, entry + 1, (registry->count - above) * sizeof(*entry));
        --registry->count;
    }
    (void) pthread_rwlock_unlock(&registry->lock);
}

void *symm_registry_find(symm_registry_t *registry, const void *ptr, size_t len)
{
    void *owner = NULL;
    (void) pthread_rwlock_rdlock(&registry->lock);
    size_t above = upper_bound(registry, (uintptr_t) ptr);
    if (0 < above) {
        const symm_registry_entry_t *entry = &registry->entries[above - 1];
        size_t offset = (uintptr_t) ptr - entry->start;
        if (offset < entry->len && len <= entry->len - offset) {
            owner = entry->owner;
        }
    }
    (void) pthread_rwlock_unlock(&registry->lock);
    return owner;
}

void symm_registry_clear(symm_registry_t *registry)
{
    (void) pthread_rwlock_wrlock(&registry->lock);
    free(registry->entries);
    registry->entries = NULL;
    registry->count = 0;
    registry->capacity = 0;
    (void) pthread_rwlock_unlock(&registry->lock);
}
