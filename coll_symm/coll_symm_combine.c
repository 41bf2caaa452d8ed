/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Reductions: every collective that combines elements gives each rank a share of the result, which
 * is the inputs of some ranks combined in rank order. All paths are built on one element-wise
 * reduction of several sources into several destinations (symm_reduce.h).
 *
 * NOTE in place. An output that is an input may be written only by whoever reads that input last.
 * Two-shot has one rank read and write each element of all buffers. Prefixes go from the last
 * rank's output to the first's, as no lower prefix reads a higher rank's input. A scattered result
 * goes to where its elements came from, which no other rank reads, and to the front of the buffer
 * once all ranks have read. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_copy.h"
#include "symm_device.h"
#include "symm_reduce_kernel.h"

/* Blocks that combine what copy engines bring: enough for their speed (measured on H200), an eighth
 * of a GPU's multiprocessors. */
#define FEW_BLOCKS 16u

static int rank_of(const coll_symm_call_t *call)
{
    return call->module->comm->exchange.rank;
}

static int size_of(const coll_symm_call_t *call)
{
    return call->module->comm->exchange.size;
}

void coll_symm_describe_reduction(coll_symm_call_t *call, size_t count,
                                  const ompi_datatype_t *dtype, MPI_Op op)
{
    mca_coll_symm_module_t *module = call->module;
    bool known = coll_symm_known(module, (MPI_Datatype) dtype, op);
    call->mine.bytes = count * dtype->super.size;
    call->mine.flags = MPI_IN_PLACE == call->sbuf ? COLL_SYMM_IN_PLACE : 0;
    if (known) {
        call->mine.op = (uint8_t) module->op;
        call->mine.dtype = (uint8_t) module->dtype;
        call->mine.bytes = count * symm_dtype_size(module->dtype); /* gaps of pairs included */
    } else {
        call->mine.flags |= COLL_SYMM_UNSUPPORTED;
    }
    call->share.count = count;
}

int coll_symm_ranks_for(const coll_symm_call_t *call, int rank)
{
    switch (coll_symm_traits(call->mine.collective)->prefix) {
    case COLL_SYMM_INCLUSIVE:
        return rank + 1;
    case COLL_SYMM_EXCLUSIVE:
        return rank;
    default:
        return size_of(call);
    }
}

void coll_symm_share_of(const coll_symm_call_t *call, int rank, uint64_t *first_p, uint64_t *own_p)
{
    const coll_symm_share_t *share = &call->share;
    *first_p = 0;
    *own_p = share->count;
    if (COLL_SYMM_SAME == coll_symm_traits(call->mine.collective)->recv) {
        return;
    }
    *own_p = NULL == share->counts ? share->count / (uint64_t) size_of(call)
                                   : (uint64_t) share->counts[rank];
    for (int r = 0; r < rank; ++r) {
        *first_p += NULL == share->counts ? *own_p : (uint64_t) share->counts[r];
    }
}

static int own_ranks(const coll_symm_call_t *call)
{
    return coll_symm_ranks_for(call, rank_of(call));
}

static size_t element_size(const coll_symm_call_t *call)
{
    return symm_dtype_size((symm_dtype_t) call->mine.dtype);
}

/* The reduction of count elements of call->work->src [nsrc] into call->work->dst [ndst]. */
static symm_reduce_t make_reduce(const coll_symm_call_t *call, uint64_t count, int nsrc, int ndst)
{
    return (symm_reduce_t){.op = (symm_op_t) call->mine.op,
                           .dtype = (symm_dtype_t) call->mine.dtype,
                           .count = count,
                           .nsrc = (uint32_t) nsrc,
                           .ndst = (uint32_t) ndst,
                           .src = call->work->src,
                           .dst = call->work->dst};
}

uint32_t coll_symm_reduce_blocks(const coll_symm_call_t *call, const symm_mapping_t *mapping,
                                 uint64_t bytes)
{
    uint32_t all = mapping->ops->multiprocessors(mapping->device);
    uint32_t most = call->module->policy.max_multiprocessors;
    return 0 == all ? 0 : symm_reduce_blocks(bytes, all < most ? all : most);
}

/* Whether copy engines bring the inputs, which then takes few blocks. They are ahead of kernels
 * where results travel, too. Each rank's own affair, as its peers cannot tell. Persistent calls do
 * without: what is noted are kernels and copies. */
static bool wants_stage(const coll_symm_call_t *call, uint64_t bytes)
{
    const coll_symm_policy_t *policy = &call->module->policy;
    bool takes = COLL_SYMM_TWO_SHOT_PATH == call->plan.path &&
                 COLL_SYMM_SAME == coll_symm_traits(call->mine.collective)->recv;
    bool large = bytes >= policy->copy_engine_min[call->plan.link];
    return COLL_SYMM_PERSISTENT != call->mode &&
           (COLL_SYMM_COPY_ENGINE == policy->algorithm ||
            (COLL_SYMM_AUTO == policy->algorithm && takes && large));
}

/* Hands it to the kernel that stays on the GPU. MPI_ERR_UNSUPPORTED_OPERATION where that is not
 * wanted, or not for this; persistent calls have kernels of their own. */
static int start_resident(coll_symm_call_t *call, const symm_mapping_t *mapping,
                          const symm_reduce_t *reduce)
{
    const coll_symm_policy_t *policy = &call->module->policy;
    bool wanted = policy->resident && COLL_SYMM_COPY_ENGINE != policy->algorithm &&
                  COLL_SYMM_PERSISTENT != call->mode;
    int rc = wanted ? mapping->ops->reduce_resident(mapping->queue, reduce)
                    : MPI_ERR_UNSUPPORTED_OPERATION;
    call->resident = MPI_SUCCESS == rc;
    return rc;
}

/* Starts it on the device that the windows are on; own_src and own_dst are those of its sources and
 * destinations that are this rank's memory, -1 for none. */
static int start(coll_symm_call_t *call, const symm_mapping_t *mapping, const symm_reduce_t *reduce,
                 int own_src, int own_dst)
{
    int rc = start_resident(call, mapping, reduce);
    if (MPI_ERR_UNSUPPORTED_OPERATION != rc) {
        return rc;
    }
    uint64_t bytes = reduce->count * symm_dtype_size(reduce->dtype);
    call->blocks = coll_symm_reduce_blocks(call, mapping, bytes);
    if (wants_stage(call, bytes * reduce->nsrc)) {
        uint32_t few = call->blocks < FEW_BLOCKS ? call->blocks : FEW_BLOCKS;
        rc = mapping->ops->reduce_staged(mapping->queue, reduce, own_src, own_dst,
                                         (size_t) call->module->policy.stage_bytes, few);
        if (MPI_ERR_UNSUPPORTED_OPERATION != rc) {
            call->plan.staged = true;
            call->blocks = few;
            return rc;
        }
    }
    return coll_symm_work_reduce(call, mapping, reduce, call->blocks);
}

/* Low latency: the inputs are in the slots already. Only an eager call may have its output on a
 * GPU. */
static int reduce_slots(coll_symm_call_t *call)
{
    _Alignas(SYMM_LINE_BYTES) char host[SYMM_SLOT_PAYLOAD_BYTES];
    bool on_gpu = coll_symm_is_device(call->mine.recv_place);
    int ranks = own_ranks(call);
    if (0 == ranks || 0 == call->share.own) {
        return MPI_SUCCESS;
    }
    for (int r = 0; r < ranks; ++r) {
        const char *payload = coll_symm_call_payload_of(call, r);
        call->work->src[r] = payload + call->share.first * element_size(call);
    }
    call->work->dst[0] = on_gpu ? host : call->recv;
    symm_reduce_t reduce = make_reduce(call, call->share.own, ranks, 1);
    int rc = coll_symm_work_reduce_here(call, &reduce);
    return MPI_SUCCESS == rc && on_gpu ? symm_copy_blocking(call->recv, host, call->recv_len) : rc;
}

/* Points call->work->src at element `first` of the ranks' inputs. */
static int find_sources(coll_symm_call_t *call, int ranks, uint64_t first)
{
    for (int r = 0; r < ranks; ++r) {
        const char *input = coll_symm_call_send_of(call, r);
        if (NULL == input) {
            return MPI_ERR_INTERN;
        }
        call->work->src[r] = input + first * element_size(call);
    }
    return MPI_SUCCESS;
}

/* One-shot: this rank reads what its result is of and writes that to `to`. */
static int one_shot(coll_symm_call_t *call, char *to)
{
    int ranks = own_ranks(call);
    if (0 == ranks || 0 == call->share.own) {
        return MPI_SUCCESS;
    }
    symm_mapping_t *mapping = coll_symm_call_mapping(call);
    int rc = find_sources(call, ranks, call->share.first);
    if (MPI_SUCCESS != rc || NULL == mapping) {
        return MPI_ERR_INTERN;
    }
    call->work->dst[0] = to;
    symm_reduce_t reduce = make_reduce(call, call->share.own, ranks, 1);
    int own_src = rank_of(call) < ranks ? rank_of(call) : -1;
    return coll_symm_call_wait(call, mapping, start(call, mapping, &reduce, own_src, 0));
}

/* Points call->work->dst at element `first` of the outputs that all get the same. Returns how many.
 */
static int find_destinations(coll_symm_call_t *call, uint64_t first)
{
    bool rooted = COLL_SYMM_TO_ROOT == coll_symm_traits(call->mine.collective)->rooted;
    int ndst = rooted ? 1 : size_of(call);
    for (int d = 0; d < ndst; ++d) {
        char *output = coll_symm_call_recv_of(call, rooted ? (int) call->mine.root : d);
        if (NULL == output) {
            return 0;
        }
        call->work->dst[d] = output + first * element_size(call);
    }
    return ndst;
}

/* Starts the reduction of one slice of all inputs into all outputs. */
static int start_slice(coll_symm_call_t *call, const symm_mapping_t *mapping, uint64_t first,
                       uint64_t count)
{
    int ndst = find_destinations(call, first);
    if (0 == ndst) {
        return MPI_ERR_INTERN;
    }
    symm_reduce_t reduce = make_reduce(call, count, size_of(call), ndst);
    int own = rank_of(call);
    bool rooted = COLL_SYMM_TO_ROOT == coll_symm_traits(call->mine.collective)->rooted;
    int own_dst = !rooted ? own : (int) call->mine.root == own ? 0 : -1;
    return start(call, mapping, &reduce, own, own_dst);
}

/* Starts the reductions of one slice into each output, which is of a prefix of the ranks. */
static int start_prefixes(coll_symm_call_t *call, const symm_mapping_t *mapping, uint64_t first,
                          uint64_t count)
{
    int rc = MPI_SUCCESS;
    for (int r = size_of(call) - 1; MPI_SUCCESS == rc && 0 <= r && 0 < coll_symm_ranks_for(call, r);
         --r) {
        char *output = coll_symm_call_recv_of(call, r);
        if (NULL == output) {
            return MPI_ERR_INTERN;
        }
        call->work->dst[0] = output + first * element_size(call);
        symm_reduce_t reduce = make_reduce(call, count, coll_symm_ranks_for(call, r), 1);
        int own_src = rank_of(call) < (int) reduce.nsrc ? rank_of(call) : -1;
        rc = start(call, mapping, &reduce, own_src, rank_of(call) == r ? 0 : -1);
    }
    return rc;
}

/* Two-shot: this rank reduces its slice of all inputs and writes it into all outputs. */
static int two_shot(coll_symm_call_t *call)
{
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    bool prefix = COLL_SYMM_WHOLE != coll_symm_traits(call->mine.collective)->prefix;
    uint64_t first, count;
    coll_symm_slice(call->share.count, element_size(call), exchange->size, exchange->rank, &first,
                    &count);
    if (0 == count) {
        return MPI_SUCCESS;
    }
    symm_mapping_t *mapping = coll_symm_call_mapping(call);
    int rc = find_sources(call, exchange->size, first);
    if (MPI_SUCCESS != rc || NULL == mapping) {
        return MPI_ERR_INTERN;
    }
    rc = prefix ? start_prefixes(call, mapping, first, count)
                : start_slice(call, mapping, first, count);
    return coll_symm_call_wait(call, mapping, rc);
}

/* Moves len bytes at `from` to `to`, which is before it: in pieces that do not overlap themselves.
 */
static int move_down(coll_symm_call_t *call, symm_mapping_t *mapping, char *to, const char *from,
                     size_t len)
{
    size_t piece = (size_t) (from - to);
    int rc = MPI_SUCCESS;
    for (size_t at = 0; MPI_SUCCESS == rc && 0 < piece && at < len; at += piece) {
        size_t now = len - at < piece ? len - at : piece;
        rc = coll_symm_work_copy(call, mapping, SYMM_LANE_MAIN, to + at, from + at, now);
    }
    return coll_symm_call_wait(call, mapping, rc);
}

/* A scattered result where some rank's output is its input, too: once all have read, in round 1, it
 * goes to the front. */
static int scatter_in_place(coll_symm_call_t *call)
{
    size_t first = call->share.first * element_size(call);
    size_t own = call->share.own * element_size(call);
    bool in_place = 0 != (call->mine.flags & COLL_SYMM_IN_PLACE);
    char *result = in_place ? call->recv + first : call->recv;
    call->last_round = 1;
    if (0 == call->round) {
        return one_shot(call, result);
    }
    return in_place && 0 < own
               ? move_down(call, coll_symm_call_mapping(call), call->recv, result, own)
               : MPI_SUCCESS;
}

/* One rank alone. */
static int copy_own(const coll_symm_call_t *call)
{
    return 0 == call->recv_len || 0 == own_ranks(call) || call->send == call->recv
               ? MPI_SUCCESS
               : coll_symm_work_copy_alone(call, call->recv, call->send, call->send_len);
}

int coll_symm_combine(coll_symm_call_t *call)
{
    bool scattered = COLL_SYMM_SAME != coll_symm_traits(call->mine.collective)->recv;
    switch (call->plan.path) {
    case COLL_SYMM_PUSH_SLOT:
    case COLL_SYMM_EAGER_SLOT:
        return reduce_slots(call);
    case COLL_SYMM_LOCAL:
        return copy_own(call);
    case COLL_SYMM_ONE_SHOT_PATH:
        return one_shot(call, call->recv);
    case COLL_SYMM_ONE_SHOT_SCRATCH_PATH:
        return coll_symm_combine_through_scratch(call);
    case COLL_SYMM_TWO_SHOT_PATH:
        return scattered ? scatter_in_place(call) : two_shot(call);
    default:
        return MPI_ERR_INTERN; /* no other path is chosen for a reduction */
    }
}
