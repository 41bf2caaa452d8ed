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

/* Memory that collectives work through, by who does: blocking calls, of which there is one at a
 * time, or nonblocking ones, which take turns while blocking calls come and go. */
typedef enum symm_scratch {
    SYMM_SCRATCH_BLOCKING,
    SYMM_SCRATCH_PENDING,
    SYMM_SCRATCH_COUNT
} symm_scratch_t;

typedef struct symm_comm {
    struct symm_comm *next;   /* in the table */
    MPI_Comm handle;          /* valid while the communicator lives */
    symm_exchange_t exchange; /* likewise; rank and size always */
    bool shared;              /* in the table: the coll component looks at it */
    bool ruled_out;           /* but this rank wants none of its collectives served there */
    _Atomic int references;
    uint64_t *members; /* [size] a number for each process, unique in its job; NULL: not known */
    /* Live symmetric windows that collectives may use: the communicator's own, and those of others
     * that all its ranks are in. Changes on all ranks between the same two collective calls. */
    _Atomic int live_windows;
    _Atomic int gpu_windows; /* of these, how many are on GPUs */
    /* Live windows for which a collective must look at its buffers: those above, and all on GPUs.
     * 0 sends every collective on its way. */
    _Atomic int watch;
    /* The worst link, a symm_link_t, of the GPU memory that its collectives have had to do with;
     * SYMM_LINK_HOST: of none yet. Changes as live_windows does. */
    _Atomic int link;
    symm_comm_control_t *control; /* NULL until it is needed first */
    bool control_failed;          /* it cannot be made; alike on all ranks */
    /* The same ranks, for nonblocking collectives that others carry out once they are agreed on:
     * the communicator's own next ones must not get in between. Made with the control block;
     * MPI_COMM_NULL where ranks do not talk through MPI. */
    MPI_Comm relay;
    /* How many windows have gone: what was found before may be gone where this has changed. */
    _Atomic uint64_t windows_gone;
    uint64_t call;   /* number of the latest agreed collective */
    uint64_t begun;  /* number of one that all ranks are known to have come to */
    uint64_t step;   /* number of the latest barrier inside a collective */
    bool setting_up; /* the collective under way is our own, for a window's creation */
    symm_mapping_t *scratch[SYMM_SCRATCH_COUNT]; /* NULL until it is needed first */
    bool scratch_failed[SYMM_SCRATCH_COUNT];     /* it cannot be made; alike on all ranks */
    uint32_t next_mapping;
    pthread_mutex_t lock;    /* of all below */
    symm_window_t **windows; /* [window_count] that collectives find, sorted by serial */
    int window_count;
    int window_capacity;
    symm_mapping_t *cache; /* freed mappings, oldest first */
    size_t cached_bytes;   /* the sum of their cache costs */
} symm_comm_t;

/* Creates the state of communicator handle and puts it into the table, with one reference for the
 * caller; live windows that all members [size] are in become visible to it. members is copied; NULL
 * hides other communicators' windows. Local. handle need not be able to communicate yet. NULL when
 * memory is short. */
SYMM_EXPORT symm_comm_t *symm_comm_create_shared(MPI_Comm handle, int rank, int size,
                                                 const uint64_t *members);

/* The state of handle with a new reference: the one in the table, or a new one for the caller
 * alone. Local. NULL when memory is short. */
SYMM_EXPORT symm_comm_t *symm_comm_acquire(MPI_Comm handle, int rank, int size);

/* Takes comm out of the table and empties its cache, since its communicator is going. Local. */
SYMM_EXPORT void symm_comm_detach(symm_comm_t *comm);

/* Gives up a reference; the last one frees the state. NULL is allowed. */
SYMM_EXPORT void symm_comm_release(symm_comm_t *comm);

/* The live window of that serial number that comm sees, NULL when there is none. O(log n). Any
 * thread. */
SYMM_EXPORT symm_window_t *symm_comm_find_window(symm_comm_t *comm, uint32_t serial);

/* Lets a window's own communicator find it, and all others whose ranks are all in it, unless
 * threads may create windows beside other threads' collectives (symm_options.share_windows).
 * Returns MPI_ERR_NO_MEM on failure, then nobody finds it. Local. */
int symm_comm_add_window(symm_window_t *window);

/* Counts an added window that all ranks have added as live; takes that back. Local. */
void symm_comm_count_window(symm_window_t *window, bool live);

/* Ends what symm_comm_add_window() began; no effect otherwise. Local. */
void symm_comm_remove_window(symm_window_t *window);

/* The number that a window created next should have here at least, and notes that one was used. A
 * window has the same on all its ranks, and no other window of any of these processes has it. */
uint32_t symm_comm_next_serial(void);
void symm_comm_use_serial(uint32_t serial);

/* The cache, first in first out: keeps mapping (destroying the oldest beyond the limit, or mapping
 * itself when nothing may be kept); the id of a kept one that could stand in for `wanted`, 0 if
 * none; takes that one out, NULL when it is gone. Local: ranks agree on the id before taking. */
void symm_comm_cache_mapping(symm_comm_t *comm, symm_mapping_t *mapping);
uint32_t symm_comm_cached_match(symm_comm_t *comm, const symm_mapping_t *wanted);
symm_mapping_t *symm_comm_take_cached(symm_comm_t *comm, uint32_t id);

/* Whether any communicator of this process has cached segments; frees all of them. Local. */
bool symm_comm_any_cached(void);
void symm_comm_empty_caches(void);

/* Makes len bytes of zeroed host memory that all ranks map, on all of them or none: none when one
 * has an error recorded. Collective. Each rank ends its mapping with symm_shm_unmap(). Returns the
 * agreed MPI error class. */
SYMM_EXPORT int symm_comm_share(symm_comm_t *comm, size_t len, symm_error_t *error,
                                const char *what, void **address_p);

/* Makes the control block, on all ranks or none. Collective; no effect where it exists already.
 * Returns the agreed MPI error class. */
SYMM_EXPORT int symm_comm_make_control(symm_comm_t *comm, const char *what);

/* Makes memory for collectives to work through, bytes on each rank's GPU, on all ranks or none.
 * Collective. Ended by symm_mapping_destroy(). Returns the agreed MPI error class. */
SYMM_EXPORT int symm_comm_create_scratch(symm_comm_t *comm, size_t bytes, const char *what,
                                         symm_mapping_t **mapping_p);

/* Makes a scratch, bytes of GPU memory per rank, on all ranks or none. Collective; no effect where
 * it exists already, or where making it has failed before. Returns the agreed MPI error class. */
SYMM_EXPORT int symm_comm_make_scratch(symm_comm_t *comm, symm_scratch_t scratch, size_t bytes,
                                       const char *what);

#endif
