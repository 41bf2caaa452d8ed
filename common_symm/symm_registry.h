/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Which owner an address range belongs to: ranges that do not overlap, kept sorted, looked up by
 * binary search. Any thread may look up while another inserts or removes. */
#ifndef SYMM_REGISTRY_H
#define SYMM_REGISTRY_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef struct symm_registry_entry {
    uintptr_t start;
    size_t len;
    void *owner;
} symm_registry_entry_t;

typedef struct symm_registry {
    pthread_rwlock_t lock;
    symm_registry_entry_t *entries; /* sorted by start */
    size_t count;
    size_t capacity;
} symm_registry_t;

#define SYMM_REGISTRY_INIT                                                                         \
    {                                                                                              \
        .lock = PTHREAD_RWLOCK_INITIALIZER                                                         \
    }

/* Adds [start, start + len), len > 0. Returns MPI_SUCCESS; MPI_ERR_NO_MEM; MPI_ERR_BASE when it
 * overlaps a range that is there. Nothing changes on failure. O(n). */
int symm_registry_insert(symm_registry_t *registry, const void *start, size_t len, void *owner);

/* Removes the range that starts at start; no effect when there is none. O(n). */
void symm_registry_remove(symm_registry_t *registry, const void *start);

/* The owner of the range that holds all of [ptr, ptr + len), or NULL. len may be 0. O(log n). The
 * owner lives as long as the caller's own use of MPI keeps its window alive. */
void *symm_registry_find(symm_registry_t *registry, const void *ptr, size_t len);

/* Frees the table's memory; the owners are not touched. */
void symm_registry_clear(symm_registry_t *registry);

#endif
