/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Passes file descriptors between the ranks of one host: SCM_RIGHTS over Unix datagram sockets with
 * abstract addresses, so no file is left behind by a killed process.
 *
 * NOTE protocol. Each rank opens a socket with an address the kernel chooses and a random token;
 * the cards that hold both are gathered through the communicator. Then each rank sends each other
 * rank one datagram with its descriptors, the receiver's token and its own rank. A receiver takes a
 * datagram only if the kernel vouches for the same user id and the token is its own; everything
 * else (strangers, duplicates, truncated messages) is closed and ignored. Needs no privileges. */
#ifndef SYMM_RENDEZVOUS_H
#define SYMM_RENDEZVOUS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "symm_error.h"

#define SYMM_RENDEZVOUS_MAX_FDS 3
#define SYMM_RENDEZVOUS_TOKEN   16

/* What a rank must know of another to send to it. Gathered as bytes. */
typedef struct symm_rendezvous_card {
    struct sockaddr_un address;
    uint32_t address_len;
    uint8_t token[SYMM_RENDEZVOUS_TOKEN];
} symm_rendezvous_card_t;

typedef struct symm_rendezvous {
    int socket; /* -1 when closed */
    uint8_t token[SYMM_RENDEZVOUS_TOKEN];
} symm_rendezvous_t;

/* The descriptors that one rank sends, or that came from one rank. */
typedef struct symm_fds {
    int count;
    int fd[SYMM_RENDEZVOUS_MAX_FDS];
} symm_fds_t;

/* Opens this rank's end and fills the card to gather. Local. Returns MPI_SUCCESS or MPI_ERR_OTHER
 * with error recorded and nothing open. */
int symm_rendezvous_open(symm_rendezvous_t *rendezvous, symm_rendezvous_card_t *card_p,
                         symm_error_t *error);

/* Sends `mine` to every other rank and receives theirs into theirs_p [size] (this rank's own entry
 * gets count 0). All ranks must call it; waits, driving progress, at most timeout_ms for them.
 * The received descriptors belong to the caller, also on failure (close them all). `mine` stays the
 * caller's. Returns MPI_SUCCESS or MPI_ERR_OTHER with error recorded. */
int symm_rendezvous_swap(symm_rendezvous_t *rendezvous, int rank, int size,
                         const symm_rendezvous_card_t *cards, const symm_fds_t *mine,
                         symm_fds_t *theirs_p, unsigned timeout_ms, symm_error_t *error);

/* Closes this rank's end. May be called on one that never opened (socket -1). */
void symm_rendezvous_close(symm_rendezvous_t *rendezvous);

/* Closes the descriptors and empties the set. */
SYMM_EXPORT void symm_fds_close(symm_fds_t *fds);

#endif
