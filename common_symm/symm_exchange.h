/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * How the ranks of a window talk while they set it up, and how they agree on a step's outcome.
 * The set-up code sees only this table, so that tests can run it over threads or forked processes.
 *
 * NOTE agreement: creation is a sequence of local steps. No rank acts on its own failure: it
 * records an error, goes to the next symm_agree() with all the others, and then all go on or all
 * undo. */
#ifndef SYMM_EXCHANGE_H
#define SYMM_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "symm_error.h"
#include "symm_rendezvous.h"

/* Most bytes of a record, per rank, that is gathered into the scratch. */
#define SYMM_EXCHANGE_RECORD_MAX ((size_t) 512)

typedef struct symm_exchange symm_exchange_t;
struct symm_exchange {
    int rank;
    int size;
    void *context; /* the implementation's own */
    /* The owner's, made with the exchange: agreement must not fail for want of memory. */
    int *codes;           /* [size] */
    void *scratch;        /* [size * SYMM_EXCHANGE_RECORD_MAX] bytes, for records being gathered */
    bool will_retry;      /* running out of memory is not the end: do not report it yet */
    symm_fds_t *received; /* [size] what symm_exchange_descriptors() got */
    /* Gathers len bytes of each rank into recv [size * len], alike on all ranks. Collective; waits
     * for the slowest rank, driving progress. Returns an MPI error class; after a failure nothing
     * is known of the other ranks. */
    int (*allgather)(const symm_exchange_t *exchange, const void *send, void *recv, size_t len);
};

/* Runs on the MPI communicator of context, a symm_comm_t, whose error handler sees failures. */
int symm_exchange_mpi_allgather(const symm_exchange_t *exchange, const void *send, void *recv,
                                size_t len);

/* Collective. Gathers len bytes of each rank into records [size * len]. Logs a failed exchange.
 * Returns an MPI error class. */
SYMM_EXPORT int symm_gather(const symm_exchange_t *exchange, const void *record, void *records,
                            size_t len, const char *what);

/* Collective. Returns MPI_SUCCESS when no rank has an error recorded, otherwise the code of the
 * lowest rank that has one, the same on all ranks; that rank alone logs its text, in front of it
 * `what`, the user's call that is failing. */
SYMM_EXPORT int symm_agree(const symm_exchange_t *exchange, const symm_error_t *error,
                           const char *what);

/* The second half of symm_agree(), for codes that came with another record: exchange->codes holds
 * them. Local. */
SYMM_EXPORT int symm_agree_gathered(const symm_exchange_t *exchange, const symm_error_t *error,
                                    const char *what);

/* Collective: swaps file descriptors between all ranks through a rendezvous (symm_rendezvous.h),
 * which all enter only when none has an error recorded, and agrees on how that went. Each rank's
 * are then in exchange->received, for the caller to close with symm_exchange_close_received();
 * after a failure there are none. Returns the agreed code. */
SYMM_EXPORT int symm_exchange_descriptors(const symm_exchange_t *exchange, const symm_fds_t *mine,
                                          symm_error_t *error, const char *what);

SYMM_EXPORT void symm_exchange_close_received(const symm_exchange_t *exchange);

/* Picks the outcome from the gathered codes: the rank of the first error, -1 when all succeeded. */
int symm_agree_first_error(const int *codes, int size);

#endif
