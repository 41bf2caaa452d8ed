/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Control blocks: the small shared host memory through which the ranks of a window, or of a
 * communicator, synchronise without messages. Zeroed memory is the initial state of both.
 *
 * NOTE one writer. Every word below has one writing rank, except the locks, the room and the
 * counters that say so; a word's writer keeps it on a cache line of its own. */
#ifndef SYMM_CONTROL_H
#define SYMM_CONTROL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_symm.h"
#include "symm_locks.h"

#define SYMM_LINE_BYTES 64

/* ---- of a window: fence, passive target and post/start ---- */

typedef struct symm_window_peer {
    _Alignas(SYMM_LINE_BYTES) _Atomic uint32_t arrivals; /* barriers this rank has come to */
    _Alignas(SYMM_LINE_BYTES) symm_rwlock_t lock;        /* MPI_Win_lock of this rank; all write */
    _Alignas(SYMM_LINE_BYTES) symm_gate_t update;        /* updates of its memory: with atomics
                                                          * side by side, or alone; all write */
    _Alignas(SYMM_LINE_BYTES) _Atomic uint32_t
        completions; /* of origins, since creation; all write */
} symm_window_peer_t;

typedef struct symm_window_control {
    uint64_t identity; /* of this block among all of the host; written before anybody maps it */
    _Alignas(SYMM_LINE_BYTES) symm_room_t room; /* lock_all against exclusive locks; all write */
    /* The worst symm_link_t between a rank's device and any rank's memory; all write. */
    _Alignas(SYMM_LINE_BYTES) _Atomic uint32_t link;
    symm_window_peer_t peers[]; /* [size], then the posts, then who is inside the update gates */
} symm_window_control_t;

size_t symm_window_control_len(int size);

/* The count of exposure epochs that target has posted to origin since creation. */
SYMM_EXPORT _Atomic uint32_t *symm_window_control_post(symm_window_control_t *control, int size,
                                                       int origin, int target);

/* How often origin is inside the update gate of target now; the words of one origin are next to
 * each other. */
SYMM_EXPORT _Atomic uint32_t *symm_window_control_inside(symm_window_control_t *control, int size,
                                                         int origin, int target);

/* Closes the update gate of target to all: waits until none of the ranks is inside, driving
 * progress. Opened by symm_gate_open(). */
SYMM_EXPORT void symm_window_control_close(symm_window_control_t *control, int size, int target);

/* Barrier of all ranks; *round is this rank's own count of barriers, 0 at first. Orders what each
 * rank did before it with what any rank does after it. Drives progress. */
SYMM_EXPORT void symm_window_control_barrier(symm_window_control_t *control, int rank, int size,
                                             uint32_t *round);

/* ---- of a communicator: the agreement of collectives ---- */

/* Bytes of the descriptor that ranks show each other. */
#define SYMM_SLOT_DESCRIPTOR_BYTES 40

/* Bytes that travel behind the descriptor: a small message needs no second look at its buffer, and
 * the first 16 bytes of it come with the descriptor's own cache line. */
#define SYMM_SLOT_PAYLOAD_BYTES 8192

typedef struct symm_slot {
    _Alignas(SYMM_LINE_BYTES) _Atomic uint64_t call; /* number of the call that it describes */
    unsigned char descriptor[SYMM_SLOT_DESCRIPTOR_BYTES];
    unsigned char payload[SYMM_SLOT_PAYLOAD_BYTES];
} symm_slot_t;

/* Nonblocking calls of a communicator that can be under way at once; more wait for their turn. */
#define SYMM_PENDING_MAX 8

/* A nonblocking call: as a slot and what stands behind the slots, for calls n, n + the ring's
 * length... A rank writes a call over an older one once all ranks have left that. */
typedef struct symm_pending {
    symm_slot_t slot;
    _Alignas(SYMM_LINE_BYTES) _Atomic uint64_t left;
    int32_t left_code;
    _Atomic uint64_t step; /* barriers inside this call that the rank has come to */
} symm_pending_t;

/* Slots of each rank: so many calls it may be ahead of a rank that it need not wait for. */
#define SYMM_SLOTS 16

/* Slots are used in turn: a rank writes call n + SYMM_SLOTS over call n only when it knows that
 * every rank has come to call n + 1, hence is done with reading call n. */
typedef struct symm_comm_peer {
    symm_slot_t slots[SYMM_SLOTS];                    /* by number % SYMM_SLOTS */
    _Alignas(SYMM_LINE_BYTES) _Atomic uint64_t begun; /* number of the last call it has come to */
    _Alignas(SYMM_LINE_BYTES) _Atomic uint64_t left;  /* number of the last call it has finished */
    int32_t
        left_code[2]; /* how that and the one before it ended: MPI error classes, by number % 2 */
    _Alignas(SYMM_LINE_BYTES) _Atomic uint64_t step; /* barriers inside calls it has come to */
    symm_pending_t pending[SYMM_PENDING_MAX];        /* by number % SYMM_PENDING_MAX */
} symm_comm_peer_t;

/* What one rank sends to and receives from another in a collective with counts per rank: bytes,
 * from the start of the part of its buffers that its descriptor shows. */
typedef struct symm_block {
    uint64_t send_at, send_len;
    uint64_t recv_at, recv_len;
} symm_block_t;

/* Rows of blocks that a rank has: those that blocking calls use in turn, then one for each pending
 * call. */
#define SYMM_BLOCKING_ROWS 2
#define SYMM_ROWS          (SYMM_BLOCKING_ROWS + SYMM_PENDING_MAX)

/* Most ranks that have rows of blocks: size * size blocks, SYMM_ROWS times. */
#define SYMM_ROW_RANKS_MAX 64

typedef struct symm_comm_control {
    /* 1: a rank has given up waiting for another one. Any may set it, and none takes it back. */
    _Alignas(SYMM_LINE_BYTES) _Atomic uint32_t broken;
    symm_comm_peer_t peers[]; /* [size], then the rows */
} symm_comm_control_t;

size_t symm_comm_control_len(int size);

/* Row number `row` [size] of rank, below SYMM_ROWS. NULL when there are more than
 * SYMM_ROW_RANKS_MAX ranks. */
SYMM_EXPORT symm_block_t *symm_comm_control_row(symm_comm_control_t *control, int size, int rank,
                                                int row);

#endif
