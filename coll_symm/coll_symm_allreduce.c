/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Blocking MPI_Allreduce: the paths of coll_symm_plan.h, all built on one element-wise reduction of
 * several sources into several destinations (symm_reduce.h). */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_copy.h"
#include "symm_device.h"
#include "symm_float16.h"
#include "symm_reduce_kernel.h"

/* The arguments, to pass on. */
typedef struct arguments {
    int count;
    ompi_datatype_t *dtype;
    MPI_Op op;
    ompi_communicator_t *comm;
} arguments_t;

static int call_next(const mca_coll_symm_module_t *module, const arguments_t *a, const void *sbuf,
                     void *rbuf)
{
    return module->next.allreduce(sbuf, rbuf, a->count, a->dtype,
                                  symm_float16_portable_op(a->dtype, a->op), a->comm,
                                  module->next.allreduce_module);
}

static int next(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    return call_next(call->module, call->arguments, sbuf, rbuf);
}

/* The reduction of count elements of all ranks' sources, module->src, into ndst of module->dst. */
static symm_reduce_t make_reduce(const mca_coll_symm_module_t *module, uint64_t count, int ndst)
{
    symm_reduce_t reduce = {.op = module->op,
                            .dtype = module->dtype,
                            .count = count,
                            .nsrc = (uint32_t) module->comm->exchange.size,
                            .ndst = (uint32_t) ndst,
                            .src = module->src,
                            .dst = module->dst};
    return reduce;
}

/* Low latency: the inputs are in the slots already. */
static int reduce_slots(coll_symm_call_t *call, uint64_t count)
{
    mca_coll_symm_module_t *module = call->module;
    for (int r = 0; r < module->comm->exchange.size; ++r) {
        module->src[r] = coll_symm_call_payload_of(call, r);
    }
    module->dst[0] = call->recv;
    symm_reduce_t reduce = make_reduce(module, count, 1);
    return 0 == symm_reduce_host(&reduce) ? MPI_SUCCESS : MPI_ERR_OP;
}

/* Runs reduce on the device that the windows are on. */
static int run(coll_symm_call_t *call, const symm_reduce_t *reduce)
{
    const symm_mapping_t *mapping = coll_symm_call_mapping(call);
    if (NULL == mapping) {
        return MPI_ERR_INTERN;
    }
    uint64_t bytes = reduce->count * symm_dtype_size(reduce->dtype);
    uint32_t multiprocessors = mapping->ops->multiprocessors(mapping->device);
    if (0 < multiprocessors) {
        call->blocks = symm_reduce_blocks(bytes, multiprocessors);
    }
    int rc = mapping->ops->reduce(mapping->queue, reduce, call->blocks);
    return MPI_SUCCESS == rc ? mapping->ops->queue_wait(mapping->queue) : rc;
}

/* One-shot: this rank reads all inputs and writes its own output. */
static int one_shot(coll_symm_call_t *call, uint64_t count)
{
    mca_coll_symm_module_t *module = call->module;
    for (int r = 0; r < module->comm->exchange.size; ++r) {
        module->src[r] = coll_symm_call_send_of(call, r);
        if (NULL == module->src[r]) {
            return MPI_ERR_INTERN;
        }
    }
    module->dst[0] = call->recv;
    symm_reduce_t reduce = make_reduce(module, count, 1);
    return run(call, &reduce);
}

/* Two-shot: this rank reduces its slice of all inputs and writes it into all outputs. In place, a
 * slice is read and written by this rank alone, element by element. */
static int two_shot(coll_symm_call_t *call, uint64_t count)
{
    mca_coll_symm_module_t *module = call->module;
    const symm_exchange_t *exchange = &module->comm->exchange;
    size_t element = symm_dtype_size(module->dtype);
    uint64_t first, mine;
    coll_symm_slice(count, element, exchange->size, exchange->rank, &first, &mine);
    if (0 == mine) {
        return MPI_SUCCESS;
    }
    for (int r = 0; r < exchange->size; ++r) {
        const char *src = coll_symm_call_send_of(call, r);
        char *dst = coll_symm_call_recv_of(call, r);
        if (NULL == src || NULL == dst) {
            return MPI_ERR_INTERN;
        }
        module->src[r] = src + first * element;
        module->dst[r] = dst + first * element;
    }
    symm_reduce_t reduce = make_reduce(module, mine, exchange->size);
    return run(call, &reduce);
}

static int carry_out(coll_symm_call_t *call)
{
    const arguments_t *a = call->arguments;
    uint64_t count = (uint64_t) a->count;
    switch (call->plan.path) {
    case COLL_SYMM_PUSH_SLOT:
        return reduce_slots(call, count);
    case COLL_SYMM_LOCAL:
        return call->send == call->recv
                   ? MPI_SUCCESS
                   : symm_copy_blocking(call->recv, call->send, call->send_len);
    case COLL_SYMM_ONE_SHOT_PATH:
        return coll_symm_call_end(call, one_shot(call, count));
    case COLL_SYMM_TWO_SHOT_PATH:
        return coll_symm_call_end(call, two_shot(call, count));
    default:
        return MPI_ERR_INTERN; /* no other path is chosen for this collective */
    }
}

static void describe(coll_symm_call_t *call, const arguments_t *a)
{
    mca_coll_symm_module_t *module = call->module;
    bool in_place = MPI_IN_PLACE == call->sbuf;
    size_t count = (size_t) a->count;
    size_t bytes = count * a->dtype->super.size;
    (void) coll_symm_call_output(call, call->rbuf, count, a->dtype, bytes);
    (void) coll_symm_call_input(call, in_place ? call->rbuf : call->sbuf, count, a->dtype, bytes);
    call->mine.collective = COLL_SYMM_ALLREDUCE;
    call->mine.bytes = bytes;
    call->mine.flags = in_place ? COLL_SYMM_IN_PLACE : 0;
    if (coll_symm_known(module, a->dtype, a->op)) {
        call->mine.op = (uint8_t) module->op;
        call->mine.dtype = (uint8_t) module->dtype;
        call->mine.bytes = count * symm_dtype_size(module->dtype); /* gaps of pairs included */
    } else {
        call->mine.flags |= COLL_SYMM_UNSUPPORTED;
    }
}

int mca_coll_symm_allreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                            MPI_Op op, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    static const coll_symm_steps_t steps = {next, carry_out};
    mca_coll_symm_module_t *symm = (mca_coll_symm_module_t *) module;
    arguments_t arguments = {count, dtype, op, comm};
    if (coll_symm_asleep(symm)) {
        return call_next(symm, &arguments, sbuf, rbuf);
    }
    coll_symm_call_t call = {
        .module = symm, .steps = &steps, .arguments = &arguments, .sbuf = sbuf, .rbuf = rbuf};
    describe(&call, &arguments);
    return coll_symm_call_run(&call);
}
