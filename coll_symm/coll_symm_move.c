/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Data movements: every collective that combines no elements is a set of blocks, each from one
 * rank's input to another's output. Who copies them, and by which way, is the plan's choice.
 *
 * NOTE scratch. Each rank's scratch has two halves, each with a part for every other rank. In round
 * k all ranks write piece k of their blocks into half k % 2 of the receivers' scratch, while they
 * copy out piece k - 1 of what came; then a barrier. So the half that round k + 1 writes to was
 * emptied in round k, before the barrier. Blocks for outputs in GPU windows need no scratch and go
 * in round 0. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_copy.h"
#include "symm_device.h"
#include "symm_log.h"

#include <string.h>

/* A block, as one end describes it: bytes from the start of that end's buffer. */
typedef struct block {
    size_t at, len;
} block_t;

static int rank_of(const coll_symm_call_t *call)
{
    return call->module->comm->exchange.rank;
}

static int size_of(const coll_symm_call_t *call)
{
    return call->module->comm->exchange.size;
}

/* The block of owner's input that is for rank `to`. */
static block_t input_of(const coll_symm_call_t *call, int owner, int to)
{
    size_t bytes = (size_t) call->mine.bytes;
    switch (coll_symm_traits(call->mine.collective)->send) {
    case COLL_SYMM_BLOCKS:
        return (block_t){(size_t) to * bytes, bytes};
    case COLL_SYMM_ROWS: {
        const symm_block_t *b = &coll_symm_call_row_of(call, owner)[to];
        return (block_t){b->send_at, b->send_len};
    }
    default:
        return (block_t){0, bytes};
    }
}

/* The block of owner's output that is rank `from`'s. */
static block_t output_of(const coll_symm_call_t *call, int owner, int from)
{
    size_t bytes = (size_t) call->mine.bytes;
    switch (coll_symm_traits(call->mine.collective)->recv) {
    case COLL_SYMM_BLOCKS:
        return (block_t){(size_t) from * bytes, bytes};
    case COLL_SYMM_ROWS: {
        const symm_block_t *b = &coll_symm_call_row_of(call, owner)[from];
        return (block_t){b->recv_at, b->recv_len};
    }
    default:
        return (block_t){0, bytes};
    }
}

/* Whether there is a block from one rank to the other that has to be moved. */
static bool is_moved(const coll_symm_call_t *call, int from, int to)
{
    const coll_symm_descriptor_t *d = &call->mine;
    coll_symm_rooted_t rooted = coll_symm_traits(d->collective)->rooted;
    if (from == to && 0 != (d->flags & COLL_SYMM_IN_PLACE)) {
        return false;
    }
    return COLL_SYMM_ALL_RANKS == rooted ||
           (COLL_SYMM_FROM_ROOT == rooted ? from : to) == (int) d->root;
}

/* What both ends say of a block: its place at each, and its length on which they must agree.
 * Returns MPI_ERR_TRUNCATE when they do not; a block that is not moved has length 0. */
static int find_block(const coll_symm_call_t *call, int from, int to, block_t *in_p, block_t *out_p)
{
    *in_p = *out_p = (block_t){0, 0};
    if (!is_moved(call, from, to)) {
        return MPI_SUCCESS;
    }
    *in_p = input_of(call, from, to);
    *out_p = output_of(call, to, from);
    if (in_p->len != out_p->len) {
        symm_log(SYMM_LOG_ERROR, "%s: rank %d sends %zu bytes to rank %d, which expects %zu",
                 coll_symm_traits(call->mine.collective)->name, from, in_p->len, to, out_p->len);
        return MPI_ERR_TRUNCATE;
    }
    return MPI_SUCCESS;
}

/* The rank to work for in turn i: each begins with its neighbour, so that not all work for one, and
 * ends with itself. */
static int in_turn(const coll_symm_call_t *call, int i)
{
    return (rank_of(call) + 1 + i) % size_of(call);
}

/* Starts a copy. Blocks of a rank's own go on the other lane, so as not to wait behind others. */
static int start_copy(const coll_symm_call_t *call, const symm_mapping_t *mapping, int peer,
                      void *dst, const void *src, size_t len)
{
    if (0 == len || dst == src) {
        return MPI_SUCCESS;
    }
    if (NULL == mapping) {
        return MPI_ERR_INTERN;
    }
    symm_lane_t lane = rank_of(call) == peer ? SYMM_LANE_LOCAL : SYMM_LANE_MAIN;
    return mapping->ops->copy(mapping->queue, lane, dst, src, len);
}

/* Starts copying this rank's block for rank `to` into that rank's output. */
static int push_to(coll_symm_call_t *call, const symm_mapping_t *mapping, int to)
{
    block_t in, out;
    int rc = find_block(call, rank_of(call), to, &in, &out);
    if (MPI_SUCCESS != rc || 0 == out.len) {
        return rc;
    }
    char *output = to == rank_of(call) ? call->recv : coll_symm_call_recv_of(call, to);
    return NULL == output
               ? MPI_ERR_INTERN
               : start_copy(call, mapping, to, output + out.at, call->send + in.at, in.len);
}

/* Starts copying rank `from`'s block for this rank into this rank's output. */
static int pull_from(coll_symm_call_t *call, const symm_mapping_t *mapping, int from)
{
    block_t in, out;
    int rc = find_block(call, from, rank_of(call), &in, &out);
    if (MPI_SUCCESS != rc || 0 == out.len) {
        return rc;
    }
    const char *input = from == rank_of(call) ? call->send : coll_symm_call_send_of(call, from);
    return NULL == input
               ? MPI_ERR_INTERN
               : start_copy(call, mapping, from, call->recv + out.at, input + in.at, in.len);
}

/* Push or pull of whole blocks. Where no rank has any byte there is no window and no mapping. */
static int copy_all(coll_symm_call_t *call)
{
    symm_mapping_t *mapping = coll_symm_call_mapping(call);
    bool push = COLL_SYMM_COPY_PUSH == call->plan.path;
    int rc = MPI_SUCCESS;
    for (int i = 0; MPI_SUCCESS == rc && i < size_of(call); ++i) {
        int peer = in_turn(call, i);
        rc = push ? push_to(call, mapping, peer) : pull_from(call, mapping, peer);
    }
    return NULL == mapping ? rc : coll_symm_call_wait(call, mapping, rc);
}

/* ---- through scratch ---- */

static size_t piece_bytes(const coll_symm_call_t *call)
{
    const symm_mapping_t *scratch = call->module->comm->scratch;
    return coll_symm_scratch_piece(scratch->layout.data[0].len, size_of(call));
}

/* The part of half `half` of owner's scratch that rank `from` writes. */
static char *part_of(const coll_symm_call_t *call, int owner, int from, uint64_t half)
{
    const symm_mapping_t *scratch = call->module->comm->scratch;
    int size = size_of(call);
    size_t part = (size_t) ((from - owner - 1 + size) % size);
    size_t parts = (size_t) size - 1;
    return (char *) symm_mapping_data(scratch, owner) +
           ((half % 2) * parts + part) * piece_bytes(call);
}

/* How many pieces the largest block has that goes through scratch: the same on all ranks. */
static uint64_t count_rounds(const coll_symm_call_t *call)
{
    uint64_t most = 0;
    for (int r = 0; r < size_of(call); ++r) {
        const coll_symm_descriptor_t *d = &call->work->all[r];
        bool takes_part = COLL_SYMM_NOWHERE != d->recv_place && coll_symm_lands_in_scratch(d);
        most = takes_part && d->bytes > most ? d->bytes : most;
    }
    size_t piece = piece_bytes(call);
    return (most + piece - 1) / piece;
}

/* The piece of a block of len bytes that travels in that round. */
static block_t piece_of(const coll_symm_call_t *call, size_t len, uint64_t round)
{
    size_t piece = piece_bytes(call);
    size_t at = (size_t) round * piece;
    if (at >= len) {
        return (block_t){len, 0};
    }
    return (block_t){at, len - at < piece ? len - at : piece};
}

/* Starts sending what goes to rank `to` in that round. */
static int send_piece(coll_symm_call_t *call, int to, uint64_t round)
{
    const symm_mapping_t *scratch = call->module->comm->scratch;
    bool lands_there = to != rank_of(call) && coll_symm_lands_in_scratch(&call->work->all[to]);
    block_t in, out;
    if (!lands_there) {
        return 0 == round ? push_to(call, scratch, to) : MPI_SUCCESS;
    }
    int rc = find_block(call, rank_of(call), to, &in, &out);
    block_t piece = piece_of(call, in.len, round);
    return MPI_SUCCESS != rc
               ? rc
               : start_copy(call, scratch, to, part_of(call, to, rank_of(call), round),
                            call->send + in.at + piece.at, piece.len);
}

/* Starts copying out what came from rank `from` in that round. */
static int take_piece(coll_symm_call_t *call, int from, uint64_t round)
{
    const symm_mapping_t *scratch = call->module->comm->scratch;
    block_t in, out;
    if (from == rank_of(call) || !coll_symm_lands_in_scratch(&call->mine)) {
        return MPI_SUCCESS;
    }
    int rc = find_block(call, from, rank_of(call), &in, &out);
    block_t piece = piece_of(call, out.len, round);
    return MPI_SUCCESS != rc
               ? rc
               : start_copy(call, scratch, rank_of(call), call->recv + out.at + piece.at,
                            part_of(call, rank_of(call), from, round), piece.len);
}

/* A round: sends its pieces, unless it is the one behind the last, and takes those of the one
 * before.
 */
static int do_round(coll_symm_call_t *call, uint64_t round, uint64_t rounds)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; MPI_SUCCESS == rc && i < size_of(call); ++i) {
        int peer = in_turn(call, i);
        rc = round < rounds || 0 == round ? send_piece(call, peer, round) : MPI_SUCCESS;
        if (MPI_SUCCESS == rc && 0 < round) {
            rc = take_piece(call, peer, round - 1);
        }
    }
    return coll_symm_call_wait(call, call->module->comm->scratch, rc);
}

/* All rounds, in step with the others whatever fails here. */
static int copy_through_scratch(coll_symm_call_t *call)
{
    uint64_t rounds = count_rounds(call);
    int rc = MPI_SUCCESS;
    for (uint64_t round = 0; round <= rounds; ++round) {
        rc = MPI_SUCCESS == rc ? do_round(call, round, rounds) : rc;
        if (round < rounds) {
            coll_symm_call_step(call);
        }
    }
    return rc;
}

/* ---- without copies between GPUs ---- */

/* Low latency: the inputs are in the slots already. */
static int copy_slots(const coll_symm_call_t *call)
{
    int rc = MPI_SUCCESS;
    for (int from = 0; MPI_SUCCESS == rc && from < size_of(call); ++from) {
        block_t in, out;
        rc = find_block(call, from, rank_of(call), &in, &out);
        if (MPI_SUCCESS == rc && 0 < out.len) {
            const char *input = coll_symm_call_payload_of(call, from);
            memcpy(call->recv + out.at, input + in.at, in.len);
        }
    }
    return rc;
}

/* One rank alone. */
static int copy_own(const coll_symm_call_t *call)
{
    block_t in, out;
    int rc = find_block(call, 0, 0, &in, &out);
    return MPI_SUCCESS != rc || 0 == out.len || call->recv + out.at == call->send + in.at
               ? rc
               : symm_copy_blocking(call->recv + out.at, call->send + in.at, in.len);
}

int coll_symm_move(coll_symm_call_t *call)
{
    switch (call->plan.path) {
    case COLL_SYMM_PUSH_SLOT: {
        int rc = copy_slots(call);
        /* Each rank looks at its own blocks alone. */
        return coll_symm_traits(call->mine.collective)->rows ? coll_symm_call_end(call, rc) : rc;
    }
    case COLL_SYMM_LOCAL:
        return copy_own(call);
    case COLL_SYMM_COPY_PUSH:
    case COLL_SYMM_COPY_PULL:
        return coll_symm_call_end(call, copy_all(call));
    case COLL_SYMM_COPY_SCRATCH:
        return coll_symm_call_end(call, copy_through_scratch(call));
    default:
        return MPI_ERR_INTERN; /* no other path is chosen for a data movement */
    }
}
