/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A symmetric window: a mapping in use, with what its ranks asked for. What MPI does on windows is
 * the osc component's work. */
#ifndef SYMM_WINDOW_H
#define SYMM_WINDOW_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "symm_comm.h"
#include "symm_mapping.h"

/* What one rank asked for. */
typedef struct symm_window_part {
    size_t size; /* bytes */
    int disp_unit;
} symm_window_part_t;

/* A window to create; alike on all ranks but for base. */
typedef struct symm_window_request {
    MPI_Win handle;   /* MPI_WIN_NULL in tests without MPI windows */
    symm_kind_t kind; /* of its memory */
    bool contiguous;
    const symm_window_part_t *parts; /* [size] what each rank asked for */
    /* Not 0 for a window on memory that the program has: its parts are described alone, at base on
     * this rank. Its segments, always of host memory, have this many bytes for the component's use,
     * and collectives do not look for buffers in them. */
    size_t service_bytes;
    void *base;
    const char *what; /* the user's call, for messages; static */
} symm_window_request_t;

/* Somebody who is to know when a window goes. */
typedef struct symm_window_watch {
    struct symm_window_watch *next;
    symm_window_t *window; /* that is watched, NULL for none */
    void *owner;
    /* Called once, by the thread that frees the window, when all ranks have come to do that and the
     * memory is still there. It may not watch. */
    void (*gone)(struct symm_window_watch *watch);
} symm_window_watch_t;

struct symm_window {
    symm_window_t *next_live; /* in symm_comm.c's list */
    symm_comm_t *comm;        /* a reference */
    MPI_Win handle;
    uint32_t serial;
    int rank;
    int size;
    symm_kind_t kind;
    bool own_memory;           /* the program's: the segments are for the component's use */
    bool collectives;          /* they look for buffers in it; so on all ranks */
    symm_window_part_t *parts; /* [size] */
    void *base;                /* this rank's memory */
    symm_mapping_t *mapping;
    symm_window_watch_t *watches;
};

/* Creates a window on comm. Collective. A rank's failure is everyone's: all return the same MPI
 * error class, nothing is left, and comm works on. */
SYMM_EXPORT int symm_window_create(symm_comm_t *comm, const symm_window_request_t *request,
                                   symm_window_t **window_p);

/* Frees window: waits until all ranks have come (driving progress), then keeps the mapping for a
 * window of the same shape, or unmaps it. Collective over the window's ranks, needs no
 * communicator. */
SYMM_EXPORT void symm_window_free(symm_window_t *window);

/* Begins to watch window, which lives; ends that, also when the window has gone. The watch, with
 * owner and `gone` set, stays where it is in between. Any thread. */
SYMM_EXPORT void symm_window_watch(symm_window_t *window, symm_window_watch_t *watch);
SYMM_EXPORT void symm_window_unwatch(symm_window_watch_t *watch);

/* The window that holds all of [ptr, ptr + len), or NULL; len may be 0. O(log n). */
SYMM_EXPORT symm_window_t *symm_window_find(const void *ptr, size_t len);

/* A place in the segments of a symmetric window, for ranks that have that window as well. */
typedef struct symm_window_place {
    uint64_t identity; /* of the window's control block; 0 for no place */
    uint64_t offset;   /* from the start of the range */
} symm_window_place_t;

/* Where [ptr, ptr + len) lies, if in the data of one symmetric window (identity 0 if not); and the
 * address of that place in this process, NULL when it does not have the window. Any thread. */
SYMM_EXPORT symm_window_place_t symm_window_locate(const void *ptr, size_t len);
SYMM_EXPORT void *symm_window_resolve(const symm_window_place_t *place);

/* Where rank's segment lies in this process. */
static inline void *symm_window_base(const symm_window_t *window, int rank)
{
    return symm_mapping_data(window->mapping, rank);
}

/* The address that the program is told of rank's allocated memory: NULL where there is none, unless
 * the ranks' memory is contiguous and also nothing has a place. */
static inline void *symm_window_address(const symm_window_t *window, int rank)
{
    bool placed = 0 < window->parts[rank].size || window->mapping->layout.contiguous;
    return placed ? symm_window_base(window, rank) : NULL;
}

#endif
