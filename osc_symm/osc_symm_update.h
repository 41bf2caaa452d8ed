/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Updates of a target's memory: what accumulate-class operations come down to.
 *
 * NOTE one atomicity domain. How an element is updated depends on its type and place alone, so all
 * ranks and all operations do it alike:
 *   host memory     by atomics, inside the target's update gate (symm_locks.h), or without them
 * when one has closed it: for many elements that is faster, and for wide and misplaced ones there
 * is no other way. The gate makes the two one domain. GPU memory      by the GPU's atomics, also at
 * the owner's own; elements that these cannot update always behind the closed gate, waiting for the
 * GPU before it is opened. other memory    always behind the closed gate (osc_symm_target.h). */
#ifndef OSC_SYMM_UPDATE_H
#define OSC_SYMM_UPDATE_H

#include "osc_symm.h"

#include "symm_atomic.h"
#include "symm_device.h"

/* What is done to which elements. */
typedef struct osc_symm_element {
    symm_atomic_op_t op;
    symm_dtype_t dtype;       /* for moves of an atomic element the unsigned integer of its size */
    size_t size;              /* bytes from one element to the next */
    size_t span;              /* bytes from its beginning to the end of its data */
    bool atomic;              /* of those that need no lock where they are aligned */
    bool gaps;                /* has bytes that are nobody's, which copies must leave out */
    symm_atomic_fn_t *update; /* how the host does that to a row; NULL unless atomic */
    MPI_Datatype datatype;
} osc_symm_element_t;

/* Finds the element that a predefined datatype and an operation stand for; with MPI_OP_NULL for
 * compare-and-swap. *element_p stays valid as long as MPI. Any thread. Returns MPI_SUCCESS;
 * MPI_ERR_TYPE when datatype is not predefined, or has no compare-and-swap; MPI_ERR_OP when MPI
 * does not define op on it. */
int ompi_osc_symm_element_find(MPI_Datatype datatype, MPI_Op op,
                               const osc_symm_element_t **element_p);

/* Rows of elements at the target, with origins and results; either may be NULL. */
typedef struct osc_symm_rows {
    char *target;
    const char *origin;
    char *result;
    uint64_t count; /* elements of a row */
    uint64_t rows;
    ptrdiff_t target_pitch, origin_pitch, result_pitch;
} osc_symm_rows_t;

/* A call under way: its updates are applied one after the other, then it is ended. */
typedef struct osc_symm_updates {
    ompi_osc_symm_module_t *module;
    const osc_symm_element_t *element;
    osc_symm_place_t place; /* says what memory the targets are; its address is not looked at */
    /* The rest is set by begin and apply. */
    const symm_device_ops_t *ops; /* what works on the targets, and its queue */
    symm_queue_t *queue;
    bool on_host; /* the targets are host memory, or not mapped */
    symm_reach_t origin, result;
    bool first;  /* none has been applied yet */
    bool closed; /* the target's gate is closed by us */
} osc_symm_updates_t;

/* Begins a call whose module and element are set; place is to be set before each update, if it is
 * not the same for all. origin and result are some places in the program's buffers, for finding out
 * what memory they are, or NULL. */
void ompi_osc_symm_updates_begin(osc_symm_updates_t *updates, const void *origin,
                                 const void *result);

/* Applies one update of the call; last tells that no other follows. */
int ompi_osc_symm_updates_apply(osc_symm_updates_t *updates, const osc_symm_rows_t *rows,
                                bool last);

/* Ends the call, whatever became of it: rc is passed on unless ending fails. */
int ompi_osc_symm_updates_end(osc_symm_updates_t *updates, int rc);

/* Updates `count` elements next to each other on all sides, 1 or more, at place: a whole call.
 * origin and result are NULL where there is nothing to take or to fetch. */
int ompi_osc_symm_update_run(ompi_osc_symm_module_t *module, const osc_symm_element_t *element,
                             const osc_symm_place_t *place, const void *origin, void *result,
                             uint64_t count);

/* Compares the element at place with *compare and, if they are equal, stores *origin; the old value
 * goes to *result. Any memory. */
int ompi_osc_symm_update_cas(ompi_osc_symm_module_t *module, const osc_symm_element_t *element,
                             const osc_symm_place_t *place, const void *origin, const void *compare,
                             void *result);

#endif
