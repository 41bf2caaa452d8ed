/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A mapping: the segments of all ranks in one address range of this process, with the control block
 * and the queue that go with them. A window is a mapping in use; a freed one waits in the cache. */
#ifndef SYMM_MAPPING_H
#define SYMM_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "symm_control.h"
#include "symm_device.h"
#include "symm_exchange.h"
#include "symm_layout.h"

typedef struct symm_mapping symm_mapping_t;
struct symm_mapping {
    symm_mapping_t *next; /* in the cache */
    uint32_t id;          /* alike on all ranks, never used twice on a communicator */
    int rank;
    const symm_device_ops_t *ops;
    symm_device_t *device;
    symm_layout_t layout;
    char *range;       /* start of the reserved addresses, NULL when there are none */
    bool *mapped;      /* [size] which segments are mapped */
    size_t own_bytes;  /* of this rank's segment */
    size_t cache_cost; /* bytes of the largest rank's segment: the same on all ranks, never 0 */
    struct symm_mapping_work *work; /* what only the building needs; NULL afterwards */
    symm_queue_t *queue;
    symm_window_control_t *control;
    uint32_t barrier_round;     /* this rank's count of barriers on the control block */
    uint32_t *posts_taken;      /* [size] exposure epochs of each target that we have started */
    bool spoiled;               /* its counters do not balance: no other window may use it */
    uint32_t completions_taken; /* completions of origins that our waits have used up */
};

/* Makes an empty mapping for the layout of these sizes [size]: everything that needs memory of this
 * process, so that building cannot fail for want of it. Takes over the caller's open of device,
 * also on failure. Local. Returns an MPI error class with error recorded, *mapping_p NULL. */
int symm_mapping_prepare(const symm_device_ops_t *ops, symm_device_t *device, int rank, int size,
                         const size_t *sizes, bool contiguous, symm_mapping_t **mapping_p,
                         symm_error_t *error);

/* Allocates this rank's segment, exchanges handles and maps all ranks' segments, with zeroed signal
 * pads. Collective: prepared alike on all ranks. `what` is the user's call, for messages.
 * Returns the agreed MPI error class; after a failure mapping is good for symm_mapping_destroy
 * only. */
int symm_mapping_build(symm_mapping_t *mapping, const symm_exchange_t *exchange, const char *what);

/* Zeroes this rank's signal pad and waits for that. Local. */
int symm_mapping_zero_pad(symm_mapping_t *mapping, symm_error_t *error);

/* Unmaps and frees everything of this process. Local: peers' mappings stay whole. NULL is allowed.
 */
SYMM_EXPORT void symm_mapping_destroy(symm_mapping_t *mapping);

/* Whether mapping can serve a window of this layout on this device. */
bool symm_mapping_serves(const symm_mapping_t *mapping, const symm_device_ops_t *ops,
                         const symm_device_t *device, const symm_layout_t *layout);

/* The worst link between a rank's device and any rank's memory, alike on all ranks. */
static inline symm_link_t symm_mapping_link(const symm_mapping_t *mapping)
{
    return (symm_link_t) atomic_load_explicit(&mapping->control->link, memory_order_relaxed);
}

static inline void *symm_mapping_data(const symm_mapping_t *mapping, int rank)
{
    return mapping->range + mapping->layout.data[rank].offset;
}

static inline void *symm_mapping_pad(const symm_mapping_t *mapping, int rank)
{
    return mapping->range + (size_t) rank * mapping->layout.pad_stride;
}

#endif
