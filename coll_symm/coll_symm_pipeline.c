/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Reductions on GPUs through scratch memory, for buffers that are in no window: piece by piece each
 * rank copies its input into its own scratch and reads all ranks' scratch.
 *
 * NOTE rounds. The scratch has two halves. In round k pieces k go into halves k % 2 while pieces
 * k - 1, in the other halves, are combined; then a barrier. So what is combined in a round was
 * there before the last barrier, and the half that round k + 1 fills was done with before it. An
 * output that is an input is written in the round after its elements, or later ones', have been
 * copied. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_device.h"

typedef coll_symm_pipeline_t pipeline_t;

/* Elements [first, first + count) of each input. */
typedef struct range {
    uint64_t first, count;
} range_t;

static uint64_t at_most(uint64_t from, uint64_t end, uint64_t most)
{
    return from >= end ? 0 : end - from < most ? end - from : most;
}

/* What travels as part `part` in that round. */
static range_t range_of(const coll_symm_call_t *call, const pipeline_t *p, int part, uint64_t round)
{
    uint64_t first, own;
    coll_symm_share_of(call, part, &first, &own);
    return (range_t){first + round * p->piece, at_most(round * p->piece, own, p->piece)};
}

static char *half_of(const pipeline_t *p, int owner, uint64_t half)
{
    size_t len = coll_symm_scratch_area(p->scratch->layout.data[0].len);
    return (char *) symm_mapping_data(p->scratch, owner) + half % 2 * len;
}

static char *part_of(const pipeline_t *p, int owner, int part, uint64_t round)
{
    return half_of(p, owner, round) + (size_t) part * p->piece * p->element;
}

/* Where a result waits that no kernel can write to its output: behind the halves. */
static char *result_area(const pipeline_t *p)
{
    return (char *) symm_mapping_data(p->scratch, p->rank) +
           2 * coll_symm_scratch_area(p->scratch->layout.data[0].len);
}

static const char *input_at(const coll_symm_call_t *call, const pipeline_t *p, uint64_t first)
{
    return call->send + first * p->element;
}

/* Bytes of count elements that begin `at` bytes into a buffer of len bytes: of the last pair in a
 * buffer the gap behind it is not there. */
static size_t bytes_at(const pipeline_t *p, size_t at, uint64_t count, size_t len)
{
    size_t bytes = (size_t) count * p->element;
    return at >= len ? 0 : bytes < len - at ? bytes : len - at;
}

static int copy(const coll_symm_call_t *call, const pipeline_t *p, symm_lane_t lane, void *dst,
                const void *src, size_t bytes)
{
    return 0 == bytes ? MPI_SUCCESS : coll_symm_work_copy(call, p->scratch, lane, dst, src, bytes);
}

/* Starts bringing this rank's pieces to where they are combined. */
static int bring(const coll_symm_call_t *call, const pipeline_t *p, uint64_t round)
{
    int rc = MPI_SUCCESS;
    for (int i = 0; MPI_SUCCESS == rc && i < p->parts; ++i) {
        int part = (p->rank + 1 + i) % p->parts; /* not all to the same rank at once */
        range_t r = range_of(call, p, part, round);
        char *to = part_of(p, p->rank, part, round);
        size_t bytes = bytes_at(p, r.first * p->element, r.count, call->send_len);
        rc = copy(call, p, SYMM_LANE_LOCAL, to, input_at(call, p, r.first), bytes);
    }
    return rc;
}

/* Points call->work->src at what this rank combines in that round. */
static int find_sources(const coll_symm_call_t *call, const pipeline_t *p, int part, uint64_t round)
{
    const void **src = call->work->src;
    int ranks = coll_symm_ranks_for(call, p->rank);
    for (int from = 0; from < ranks; ++from) {
        src[from] = part_of(p, from, part, round);
    }
    return ranks;
}

/* Starts combining what came in that round. */
static int combine(coll_symm_call_t *call, const pipeline_t *p, uint64_t round)
{
    int part = 1 < p->parts ? p->rank : 0;
    range_t r = range_of(call, p, part, round);
    int ranks = find_sources(call, p, part, round);
    if (0 == r.count || 0 == ranks || 0 == call->share.own) {
        return MPI_SUCCESS;
    }
    size_t at = (r.first - call->share.first) * p->element;
    char *output = call->recv + at;
    call->work->dst[0] = p->recv_near ? output : result_area(p);
    symm_reduce_t reduce = {.op = (symm_op_t) call->mine.op,
                            .dtype = (symm_dtype_t) call->mine.dtype,
                            .count = r.count,
                            .nsrc = (uint32_t) ranks,
                            .ndst = 1,
                            .src = call->work->src,
                            .dst = call->work->dst};
    call->blocks = coll_symm_reduce_blocks(call, p->scratch, r.count * p->element);
    int rc = coll_symm_work_reduce(call, p->scratch, &reduce, call->blocks);
    if (MPI_SUCCESS == rc && !p->recv_near) {
        rc = copy(call, p, SYMM_LANE_MAIN, output, call->work->dst[0],
                  bytes_at(p, at, r.count, call->recv_len));
    }
    return rc;
}

static bool is_near(const symm_mapping_t *scratch, uint8_t place, const void *buf)
{
    return coll_symm_is_device(place) && scratch->ops->reaches(scratch->device, buf);
}

/* The most elements that any one part has. */
static uint64_t longest_part(const coll_symm_call_t *call, int parts)
{
    uint64_t longest = 0;
    for (int part = 0; part < parts; ++part) {
        uint64_t first, own;
        coll_symm_share_of(call, part, &first, &own);
        longest = own > longest ? own : longest;
    }
    return longest;
}

/* Fills in the pipeline. Returns how many pieces follow one another. */
static uint64_t prepare(coll_symm_call_t *call)
{
    pipeline_t *p = &call->work->pipeline;
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    bool scattered = COLL_SYMM_SAME != coll_symm_traits(call->mine.collective)->recv;
    *p = (pipeline_t){.scratch = coll_symm_call_scratch(call),
                      .rank = exchange->rank,
                      .size = exchange->size,
                      .element = symm_dtype_size((symm_dtype_t) call->mine.dtype)};
    p->parts = scattered ? p->size : 1;
    p->piece = coll_symm_scratch_part(p->scratch->layout.data[0].len, p->parts) / p->element;
    p->recv_near = is_near(p->scratch, call->mine.recv_place, call->recv);
    return (longest_part(call, p->parts) + p->piece - 1) / p->piece;
}

int coll_symm_combine_through_scratch(coll_symm_call_t *call)
{
    if (0 == call->round) {
        call->last_round = prepare(call);
    }
    const pipeline_t *p = &call->work->pipeline;
    int rc = 0 < call->round ? combine(call, p, call->round - 1) : MPI_SUCCESS;
    if (MPI_SUCCESS == rc && call->round < call->last_round) {
        rc = bring(call, p, call->round);
    }
    return coll_symm_call_wait(call, p->scratch, rc);
}
