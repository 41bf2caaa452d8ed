/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Settings of the shared library. The osc component registers them as MCA parameters and fills them
 * before the first window; tests set them directly. */
#ifndef SYMM_OPTIONS_H
#define SYMM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "mpi_symm.h"

typedef struct symm_options {
    size_t cache_bytes; /* most bytes of freed segments kept for reuse, per communicator; of a
                         * window its largest rank counts, so that all ranks keep the same */
    unsigned rendezvous_timeout_ms; /* longest wait for a peer's handle */
    int local_rank;                 /* of this process among those of its job on this host */
    bool threads;                   /* several threads may call at once: MPI_THREAD_MULTIPLE */
    bool fabric_handles;            /* ask the driver for FABRIC handles before file descriptors */
    bool share_windows; /* collectives of other communicators use a window that all their ranks are
                         * in; not with MPI_THREAD_MULTIPLE, where the order of a window's creation
                         * and of a collective may differ between ranks */
    unsigned resident_idle_us; /* how long a resident kernel waits for the next command */
} symm_options_t;

SYMM_EXPORT extern symm_options_t symm_options;

#endif
