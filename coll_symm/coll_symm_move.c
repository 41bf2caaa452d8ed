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

#include "symm_device.h"
#include "symm_log.h"

/* Local copies of so many bytes go on a lane of their own; below, asking a second stream whether it
 * is done costs more. */
#define LOCAL_LANE_MIN ((size_t) 2 << 20)

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

/* ---- ends of a copy, in this rank's buffers and elsewhere ---- */

static coll_symm_end_t input_end(const coll_symm_call_t *call, int to, size_t at)
{
    return 0 != call->mine.send_gaps
               ? (coll_symm_end_t){.typed = &call->work->typed[COLL_SYMM_SEND_SIDE][to]}
               : (coll_symm_end_t){.bytes = (char *) call->send + at};
}

static coll_symm_end_t output_end(const coll_symm_call_t *call, int from, size_t at)
{
    return 0 != call->mine.recv_gaps
               ? (coll_symm_end_t){.typed = &call->work->typed[COLL_SYMM_RECV_SIDE][from]}
               : (coll_symm_end_t){.bytes = call->recv + at};
}

/* Memory of another rank's window, or scratch. */
static coll_symm_end_t known_end(const void *bytes)
{
    return (coll_symm_end_t){.bytes = (char *) bytes, .known = true};
}

/* ---- copies, collected and then done together ---- */

static void add_copy(coll_symm_call_t *call, bool local, void *dst, const void *src, size_t len)
{
    coll_symm_copies_t *copies = &call->work->copies;
    if (0 < len && dst != src) {
        copies->moves[copies->count] = (symm_move_t){dst, src, len};
        copies->local[copies->count++] = local;
    }
}

/* Adds a copy without gaps, between memory of this rank or not; starts one with gaps. */
static int add(coll_symm_call_t *call, symm_mapping_t *mapping, bool local, coll_symm_end_t dst,
               coll_symm_end_t src, size_t len)
{
    if (0 < len && (NULL != dst.typed || NULL != src.typed)) {
        return coll_symm_typed_move(call, mapping, dst, src, len);
    }
    add_copy(call, local, dst.bytes, src.bytes, len);
    return MPI_SUCCESS;
}

static uint64_t sum_of(const coll_symm_copies_t *copies)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < copies->count; ++i) {
        sum += copies->moves[i].len;
    }
    return sum;
}

/* Whether kernels on mapping's device can touch this rank's buffer in that place. */
static bool kernel_reaches(const symm_mapping_t *mapping, uint8_t place, const void *buffer)
{
    return COLL_SYMM_WINDOW_CUDA == place || COLL_SYMM_NOWHERE == place ||
           (COLL_SYMM_DEVICE == place && mapping->ops->reaches(mapping->device, buffer));
}

/* Whether a kernel may do the copies: it reaches what they are about, and multiprocessors may be
 * used. */
static bool may_use_kernel(const coll_symm_call_t *call, const symm_mapping_t *mapping)
{
    const coll_symm_policy_t *policy = &call->module->policy;
    const coll_symm_descriptor_t *mine = &call->mine;
    return 0 < mapping->ops->multiprocessors(mapping->device) && !policy->copy_engine_only &&
           COLL_SYMM_COPY_ENGINE != policy->algorithm &&
           kernel_reaches(mapping, mine->send_place, call->send) &&
           kernel_reaches(mapping, mine->recv_place, call->recv);
}

/* Whether a kernel does the copies: it has several of them done sooner than copy engines where
 * these are small. Each rank's own affair, as its peers cannot tell. */
static bool wants_kernel(const coll_symm_call_t *call, const symm_mapping_t *mapping)
{
    const coll_symm_copies_t *copies = &call->work->copies;
    const coll_symm_policy_t *policy = &call->module->policy;
    bool small = 1 < copies->count && sum_of(copies) <= policy->kernel_max[call->plan.link];
    return SYMM_MOVE_MAX >= copies->count && (small || COLL_SYMM_KERNEL == policy->algorithm) &&
           may_use_kernel(call, mapping);
}

/* Hands the copies to the kernel that stays on the GPU. MPI_ERR_UNSUPPORTED_OPERATION where that is
 * not wanted, or not for these. */
static int copy_by_resident(coll_symm_call_t *call, const symm_mapping_t *mapping)
{
    const coll_symm_copies_t *copies = &call->work->copies;
    const coll_symm_policy_t *policy = &call->module->policy;
    bool small = sum_of(copies) <= policy->kernel_max[call->plan.link] ||
                 COLL_SYMM_KERNEL == policy->algorithm;
    bool wanted = policy->resident && small && COLL_SYMM_PERSISTENT != call->mode &&
                  may_use_kernel(call, mapping);
    int rc = wanted ? mapping->ops->copy_resident(mapping->queue, copies->moves, copies->count)
                    : MPI_ERR_UNSUPPORTED_OPERATION;
    call->resident = MPI_SUCCESS == rc;
    call->plan.kernel = call->plan.kernel || call->resident;
    return rc;
}

static int copy_by_kernel(coll_symm_call_t *call, const symm_mapping_t *mapping)
{
    const coll_symm_copies_t *copies = &call->work->copies;
    uint32_t each = symm_move_blocks(copies->moves, copies->count,
                                     mapping->ops->multiprocessors(mapping->device),
                                     call->module->policy.max_multiprocessors);
    call->blocks = each * copies->count;
    call->plan.kernel = true;
    return coll_symm_work_copy_many(call, mapping, copies->moves, copies->count, each);
}

/* Large local copies go on the other lane, so as not to wait behind those to peers. Noted ones may
 * all stand apart: no stream is asked for them one by one. */
static int copy_by_engine(const coll_symm_call_t *call, const symm_mapping_t *mapping)
{
    const coll_symm_copies_t *copies = &call->work->copies;
    bool noted = COLL_SYMM_PERSISTENT == call->mode;
    int rc = MPI_SUCCESS;
    for (uint32_t i = 0; MPI_SUCCESS == rc && i < copies->count; ++i) {
        const symm_move_t *m = &copies->moves[i];
        bool apart = noted || (copies->local[i] && LOCAL_LANE_MIN <= m->len);
        rc = coll_symm_work_copy(call, mapping, apart ? SYMM_LANE_LOCAL : SYMM_LANE_MAIN, m->dst,
                                 m->src, (size_t) m->len);
    }
    return rc;
}

static int start_copies(coll_symm_call_t *call, const symm_mapping_t *mapping)
{
    int rc = copy_by_resident(call, mapping);
    if (MPI_ERR_UNSUPPORTED_OPERATION != rc) {
        return rc;
    }
    return wants_kernel(call, mapping) ? copy_by_kernel(call, mapping)
                                       : copy_by_engine(call, mapping);
}

/* Does the copies that were added, unless rc tells that adding failed, and waits for them. */
static int do_copies(coll_symm_call_t *call, symm_mapping_t *mapping, int rc)
{
    coll_symm_copies_t *copies = &call->work->copies;
    bool started = copies->started;
    if (MPI_SUCCESS == rc && 0 < copies->count) {
        started = NULL != mapping;
        rc = NULL == mapping ? MPI_ERR_INTERN : start_copies(call, mapping);
    }
    copies->count = 0;
    copies->started = false;
    return started ? coll_symm_call_wait(call, mapping, rc) : rc;
}

/* Leaves of a block with peer what this rank copies of it: where both ends do, the root's part is
 * one of as many as there are ranks, so that all have about the same to do. The receiver has the
 * first part, in whole lines. */
static void keep_part(const coll_symm_call_t *call, int peer, bool push, block_t *in, block_t *out)
{
    if (COLL_SYMM_COPY_SHARED != call->plan.path || rank_of(call) == peer) {
        return;
    }
    bool from_root = COLL_SYMM_FROM_ROOT == coll_symm_traits(call->mine.collective)->rooted;
    size_t roots = in->len / (size_t) size_of(call) / SYMM_LINE_BYTES * SYMM_LINE_BYTES;
    size_t pulled = from_root ? in->len - roots : roots;
    if (push) {
        in->at += pulled;
        out->at += pulled;
    }
    in->len = push ? in->len - pulled : pulled;
    out->len = in->len;
}

/* Adds the copy of this rank's block for rank `to` into that rank's output. */
static int push_to(coll_symm_call_t *call, symm_mapping_t *mapping, int to)
{
    block_t in, out;
    int rc = find_block(call, rank_of(call), to, &in, &out);
    keep_part(call, to, true, &in, &out);
    if (MPI_SUCCESS != rc || 0 == out.len) {
        return rc;
    }
    coll_symm_end_t src = input_end(call, to, in.at);
    if (to == rank_of(call)) {
        return add(call, mapping, true, output_end(call, to, out.at), src, in.len);
    }
    char *output = coll_symm_call_recv_of(call, to);
    return NULL == output ? MPI_ERR_INTERN
                          : add(call, mapping, false, known_end(output + out.at), src, in.len);
}

/* Adds the copy of rank `from`'s block for this rank into this rank's output. */
static int pull_from(coll_symm_call_t *call, symm_mapping_t *mapping, int from)
{
    block_t in, out;
    int rc = find_block(call, from, rank_of(call), &in, &out);
    keep_part(call, from, false, &in, &out);
    if (MPI_SUCCESS != rc || 0 == out.len) {
        return rc;
    }
    coll_symm_end_t dst = output_end(call, from, out.at);
    if (from == rank_of(call)) {
        return add(call, mapping, true, dst, input_end(call, from, in.at), in.len);
    }
    const char *input = coll_symm_call_send_of(call, from);
    return NULL == input ? MPI_ERR_INTERN
                         : add(call, mapping, false, dst, known_end(input + in.at), in.len);
}

/* Push or pull of whole blocks, or both of their parts. Where no rank has any byte there is no
 * window and no mapping. */
static int copy_all(coll_symm_call_t *call)
{
    symm_mapping_t *mapping = coll_symm_call_mapping(call);
    bool pushes = COLL_SYMM_COPY_PULL != call->plan.path;
    bool pulls = COLL_SYMM_COPY_PUSH != call->plan.path;
    int rc = MPI_SUCCESS;
    for (int i = 0; MPI_SUCCESS == rc && i < size_of(call); ++i) {
        int peer = in_turn(call, i);
        bool self = peer == rank_of(call);
        rc = pulls ? pull_from(call, mapping, peer) : MPI_SUCCESS;
        if (MPI_SUCCESS == rc && pushes && !(pulls && self)) {
            rc = push_to(call, mapping, peer);
        }
    }
    return do_copies(call, mapping, rc);
}

/* ---- broadcast to several GPUs ---- */

/* The slice of the buffer that rank, not the root, has to hand on. */
static block_t slice_of(const coll_symm_call_t *call, int rank)
{
    int size = size_of(call);
    int index = (rank - (int) call->mine.root - 1 + size) % size;
    uint64_t first, count;
    coll_symm_slice(call->mine.bytes, 1, size - 1, index, &first, &count);
    return (block_t){(size_t) first, (size_t) count};
}

static int spread_to(coll_symm_call_t *call, const char *from, int rank, block_t slice)
{
    char *output = coll_symm_call_recv_of(call, rank);
    if (NULL == output) {
        return MPI_ERR_INTERN;
    }
    add_copy(call, false, output + slice.at, from + slice.at, slice.len);
    return MPI_SUCCESS;
}

/* The root's part: a slice to each. */
static int deal_slices(coll_symm_call_t *call)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; MPI_SUCCESS == rc && i < size_of(call) - 1; ++i) {
        int rank = in_turn(call, i);
        rc = spread_to(call, call->send, rank, slice_of(call, rank));
    }
    return rc;
}

/* The others' part: the own slice to all others. */
static int pass_slice_on(coll_symm_call_t *call)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; MPI_SUCCESS == rc && i < size_of(call) - 1; ++i) {
        int rank = in_turn(call, i);
        if (rank != (int) call->mine.root) {
            rc = spread_to(call, call->recv, rank, slice_of(call, rank_of(call)));
        }
    }
    return rc;
}

/* In round 0 the root deals, in round 1 the others pass on. */
static int spread(coll_symm_call_t *call)
{
    bool is_root = rank_of(call) == (int) call->mine.root;
    call->last_round = 1;
    if (is_root != (0 == call->round)) {
        return MPI_SUCCESS;
    }
    return do_copies(call, coll_symm_call_mapping(call),
                     is_root ? deal_slices(call) : pass_slice_on(call));
}

/* ---- through scratch ---- */

static size_t piece_bytes(const coll_symm_call_t *call)
{
    const symm_mapping_t *scratch = coll_symm_call_scratch(call);
    return coll_symm_scratch_piece(scratch->layout.data[0].len, size_of(call));
}

/* The part of half `half` of owner's scratch that rank `from` writes. */
static char *part_of(const coll_symm_call_t *call, int owner, int from, uint64_t half)
{
    const symm_mapping_t *scratch = coll_symm_call_scratch(call);
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

/* Adds what goes to rank `to` in that round. */
static int send_piece(coll_symm_call_t *call, int to, uint64_t round)
{
    bool lands_there = to != rank_of(call) && coll_symm_lands_in_scratch(&call->work->all[to]);
    block_t in, out;
    if (!lands_there) {
        return 0 == round ? push_to(call, coll_symm_call_scratch(call), to) : MPI_SUCCESS;
    }
    int rc = find_block(call, rank_of(call), to, &in, &out);
    block_t piece = piece_of(call, in.len, round);
    return MPI_SUCCESS != rc ? rc
                             : add(call, coll_symm_call_scratch(call), false,
                                   known_end(part_of(call, to, rank_of(call), round)),
                                   input_end(call, to, in.at + piece.at), piece.len);
}

/* Adds the copying out of what came from rank `from` in that round. */
static int take_piece(coll_symm_call_t *call, int from, uint64_t round)
{
    block_t in, out;
    if (from == rank_of(call) || !coll_symm_lands_in_scratch(&call->mine)) {
        return MPI_SUCCESS;
    }
    int rc = find_block(call, from, rank_of(call), &in, &out);
    block_t piece = piece_of(call, out.len, round);
    return MPI_SUCCESS != rc ? rc
                             : add(call, coll_symm_call_scratch(call), true,
                                   output_end(call, from, out.at + piece.at),
                                   known_end(part_of(call, rank_of(call), from, round)), piece.len);
}

/* A round: sends its pieces, unless it is the one behind the last, and takes those of the one
 * before.
 */
static int copy_through_scratch(coll_symm_call_t *call)
{
    uint64_t round = call->round;
    int rc = MPI_SUCCESS;
    if (0 == round) {
        call->last_round = count_rounds(call);
    }
    for (int i = 0; MPI_SUCCESS == rc && i < size_of(call); ++i) {
        int peer = in_turn(call, i);
        rc = round < call->last_round || 0 == round ? send_piece(call, peer, round) : MPI_SUCCESS;
        if (MPI_SUCCESS == rc && 0 < round) {
            rc = take_piece(call, peer, round - 1);
        }
    }
    return do_copies(call, coll_symm_call_scratch(call), rc);
}

/* ---- without copies between GPUs ---- */

/* Takes len bytes of from's slot, whose block begins with byte `at` of the output. */
static int take_slot(coll_symm_call_t *call, int from, const char *input, size_t at, size_t len)
{
    return 0 != call->mine.recv_gaps
               ? coll_symm_typed_move(call, NULL, output_end(call, from, at), known_end(input), len)
               : coll_symm_take(call, input, at, len);
}

/* Low latency: the inputs are in the slots already. */
static int take_slots(coll_symm_call_t *call)
{
    coll_symm_ranks_t needed = coll_symm_needed(&call->mine, rank_of(call), size_of(call));
    int rc = MPI_SUCCESS;
    for (int from = needed.first; MPI_SUCCESS == rc && from < needed.end; ++from) {
        block_t in, out;
        rc = find_block(call, from, rank_of(call), &in, &out);
        if (MPI_SUCCESS == rc && 0 < out.len) {
            const char *input = coll_symm_call_payload_of(call, from);
            rc = take_slot(call, from, input + in.at, out.at, in.len);
        }
    }
    return rc;
}

/* One rank alone. */
static int copy_own(coll_symm_call_t *call)
{
    block_t in, out;
    int rc = find_block(call, 0, 0, &in, &out);
    if (MPI_SUCCESS == rc && 0 < out.len && call->plan.gaps) {
        return coll_symm_typed_move(call, NULL, output_end(call, 0, out.at),
                                    input_end(call, 0, in.at), in.len);
    }
    return MPI_SUCCESS != rc || 0 == out.len || call->recv + out.at == call->send + in.at
               ? rc
               : coll_symm_work_copy_alone(call, call->recv + out.at, call->send + in.at, in.len);
}

int coll_symm_move(coll_symm_call_t *call)
{
    switch (call->plan.path) {
    case COLL_SYMM_PUSH_SLOT:
    case COLL_SYMM_EAGER_SLOT:
        return take_slots(call);
    case COLL_SYMM_LOCAL:
        return copy_own(call);
    case COLL_SYMM_COPY_PUSH:
    case COLL_SYMM_COPY_PULL:
    case COLL_SYMM_COPY_SHARED:
        return copy_all(call);
    case COLL_SYMM_COPY_SPREAD:
        return spread(call);
    case COLL_SYMM_COPY_SCRATCH:
        return copy_through_scratch(call);
    default:
        return MPI_ERR_INTERN; /* no other path is chosen for a data movement */
    }
}
