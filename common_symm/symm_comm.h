/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What this library keeps for a communicator: its symmetric windows, the control block of its
 * collectives, and the cache of freed segments.
 *
 * NOTE lifetime. The coll component's module of a communicator creates its symm_comm_t and takes it
 * out of the table when the communicator goes; windows hold references of their own, since a window
 * may outlive its communicator. Without that component a window creates one for itself alone. */
#ifndef SYMM_COMM_H
#define SYMM_COMM_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "symm_control.h"
#include "symm_exchange.h"
#include "symm_mapping.h"

typedef struct symm_window symm_window_t;

typedef struct symm_comm {
    struct symm_comm *next;   /* in the table */
    MPI_Comm handle;          /* valid while the communicator lives */
    symm_exchange_t exchange; /* likewise; rank and size always */
    bool shared;              /* in the table: the coll component looks at it */
    _Atomic int references;
    /* Live symmetric windows that collectives may use; 0 sends every collective on its way. Changes
     * on all ranks between the same two collective calls. */
    _Atomic int live_windows;
    symm_comm_control_t *control; /* NULL until the first window */
    /* How many windows have gone: what was found before may be gone where this has changed. */
    _Atomic uint64_t windows_gone;
    uint64_t call;        /* number of the latest agreed collective */
    bool setting_up;      /* the collective under way is our own, for a window's creation */
    uint32_t next_window; /* serial numbers, alike on all ranks; 0 is no window */
    uint32_t next_mapping;
    pthread_mutex_t lock;    /* of all below */
    symm_window_t **windows; /* [window_count], sorted by serial */
    int window_count;
    int window_capacity;
    symm_mapping_t *cache; /* freed mappings, oldest first */
    size_t cached_bytes;   /* the sum of their cache costs */
} symm_comm_t;

/* Creates the state of communicator handle and puts it into the table, with one reference for the
 * caller. Local. handle need not be able to communicate yet. NULL when memory is short. */
SYMM_EXPORT symm_comm_t *symm_comm_create_shared(MPI_Comm handle, int rank, int size);

/* The state of handle with a new reference: the one in the table, or a new one for the caller
 * alone. Local. NULL when memory is short. */
SYMM_EXPORT symm_comm_t *symm_comm_acquire(MPI_Comm handle, int rank, int size);

/* Takes comm out of the table and empties its cache, since its communicator is going. Local. */
SYMM_EXPORT void symm_comm_detach(symm_comm_t *comm);

/* Gives up a reference; the last one frees the state. NULL is allowed. */
SYMM_EXPORT void symm_comm_release(symm_comm_t *comm);

/* The live window of that serial number, NULL when there is none. O(log n). Any thread. */
SYMM_EXPORT symm_window_t *symm_comm_find_window(symm_comm_t *comm, uint32_t serial);

/* Adds a window whose serial is above all others'; MPI_ERR_NO_MEM on failure. Removes it. */
int symm_comm_add_window(symm_comm_t *comm, symm_window_t *window);
void symm_comm_remove_window(symm_comm_t *comm, const symm_window_t *window);

/* The cache, first in first out: keeps mapping (destroying the oldest beyond the limit, or mapping
 * itself when nothing may be kept); the id of a kept one that could stand in for `wanted`, 0 if
 * none; takes that one out, NULL when it is gone. Local: ranks agree on the id before taking. */
void symm_comm_cache_mapping(symm_comm_t *comm, symm_mapping_t *mapping);
uint32_t symm_comm_cached_match(symm_comm_t *comm, const symm_mapping_t *wanted);
symm_mapping_t *symm_comm_take_cached(symm_comm_t *comm, uint32_t id);

/* Whether any communicator of this process has cached segments; frees all of them. Local. */
bool symm_comm_any_cached(void);
void symm_comm_empty_caches(void);

/* Makes the control block, on all ranks or none. Collective; no effect where it exists already.
 * Returns the agreed MPI error class. */
int symm_comm_make_control(symm_comm_t *comm, const char *what);

#endif
