/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Agreement among the ranks of a window, and the exchange over an MPI communicator. */
#include "symm_config.h"

#include "symm_exchange.h"
#include "symm_comm.h"
#include "symm_log.h"
#include "symm_options.h"

#include <mpi.h>

int symm_exchange_mpi_allgather(const symm_exchange_t *exchange, const void *send, void *recv,
                                size_t len)
{
    symm_comm_t *comm = exchange->context;
    int bytes = (int) len; /* set-up records are small */
    comm->setting_up = true;
    int rc = PMPI_Allgather(send, bytes, MPI_BYTE, recv, bytes, MPI_BYTE, comm->handle);
    comm->setting_up = false;
    return rc;
}

int symm_agree_first_error(const int *codes, int size)
{
    for (int r = 0; r < size; ++r) {
        if (MPI_SUCCESS != codes[r]) {
            return r;
        }
    }
    return -1;
}

int symm_agree_gathered(const symm_exchange_t *exchange, const symm_error_t *error,
                        const char *what)
{
    int first = symm_agree_first_error(exchange->codes, exchange->size);
    if (0 > first) {
        return MPI_SUCCESS;
    }
    if (first == exchange->rank) {
        bool wait = exchange->will_retry && MPI_ERR_NO_MEM == error->code;
        symm_log(wait ? SYMM_LOG_DEBUG : SYMM_LOG_ERROR, "%s: rank %d: %s", what, first,
                 error->text);
    }
    return exchange->codes[first];
}

int symm_gather(const symm_exchange_t *exchange, const void *record, void *records, size_t len,
                const char *what)
{
    int rc = exchange->allgather(exchange, record, records, len);
    if (MPI_SUCCESS != rc) {
        symm_log(SYMM_LOG_ERROR, "%s: rank %d: the communicator failed to gather %zu bytes", what,
                 exchange->rank, len);
    }
    return rc;
}

int symm_agree(const symm_exchange_t *exchange, const symm_error_t *error, const char *what)
{
    int rc = symm_gather(exchange, &error->code, exchange->codes, sizeof(error->code), what);
    return MPI_SUCCESS == rc ? symm_agree_gathered(exchange, error, what) : rc;
}

/* What goes round before descriptors are swapped: how each rank stands and how to reach it. */
typedef struct swap_record {
    int code;
    symm_rendezvous_card_t card;
} swap_record_t;

_Static_assert(sizeof(swap_record_t) + sizeof(symm_rendezvous_card_t) <= SYMM_EXCHANGE_RECORD_MAX,
               "does not fit the scratch");

/* Gathers the cards [size] of all ranks, agreeing that all of them have one. */
static int gather_cards(const symm_exchange_t *exchange, const swap_record_t *mine,
                        symm_rendezvous_card_t *cards, swap_record_t *records,
                        const symm_error_t *error, const char *what)
{
    int rc = symm_gather(exchange, mine, records, sizeof(*records), what);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    for (int r = 0; r < exchange->size; ++r) {
        exchange->codes[r] = records[r].code;
        cards[r] = records[r].card;
    }
    return symm_agree_gathered(exchange, error, what);
}

void symm_exchange_close_received(const symm_exchange_t *exchange)
{
    for (int r = 0; r < exchange->size; ++r) {
        symm_fds_close(&exchange->received[r]);
    }
}

int symm_exchange_descriptors(const symm_exchange_t *exchange, const symm_fds_t *mine,
                              symm_error_t *error, const char *what)
{
    symm_rendezvous_t rendezvous = {.socket = -1};
    swap_record_t record = {0};
    swap_record_t *records = exchange->scratch;
    symm_rendezvous_card_t *cards = (symm_rendezvous_card_t *) (records + exchange->size);
    if (MPI_SUCCESS == error->code) {
        (void) symm_rendezvous_open(&rendezvous, &record.card, error); /* error keeps the outcome */
    }
    record.code = error->code;
    int rc = gather_cards(exchange, &record, cards, records, error, what);
    if (MPI_SUCCESS == rc) {
        (void) symm_rendezvous_swap(&rendezvous, exchange->rank, exchange->size, cards, mine,
                                    exchange->received, symm_options.rendezvous_timeout_ms, error);
        rc = symm_agree(exchange, error, what);
    }
    if (MPI_SUCCESS != rc) {
        symm_exchange_close_received(exchange);
    }
    symm_rendezvous_close(&rendezvous);
    return rc;
}
