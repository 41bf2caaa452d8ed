/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Reduce_scatter and MPI_Reduce_scatter_block. In place the input is all of recvbuf,
 * the output its front; what is behind that may change. */
#include "symm_config.h"

#include "coll_symm_functions.h"

#include "symm_float16.h"

/* Most pieces in which a result is moved to the front of its buffer, see coll_symm_combine.c. */
#define PIECES_MAX 4096

typedef struct arguments {
    const int *counts; /* NULL: each rank gets `count` */
    int count;
    ompi_datatype_t *dtype;
    MPI_Op op;
    ompi_communicator_t *comm;
} arguments_t;

static int next(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    MPI_Op op = symm_float16_portable_op(a->dtype, a->op);
    if (NULL == a->counts) {
        return functions->reduce_scatter_block(sbuf, rbuf, a->count, a->dtype, op, a->comm,
                                               functions->reduce_scatter_block_module);
    }
    return functions->reduce_scatter(sbuf, rbuf, a->counts, a->dtype, op, a->comm,
                                     functions->reduce_scatter_module);
}

/* Fills in this rank's share. Returns whether every rank's result could be moved to the front. */
static bool find_share(coll_symm_call_t *call, const arguments_t *a)
{
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    uint64_t first, own;
    bool movable = true;
    call->share.counts = a->counts;
    call->share.count = (uint64_t) a->count * (uint64_t) exchange->size;
    for (int r = 0; NULL != a->counts && r < exchange->size; ++r) {
        call->share.count += (uint64_t) a->counts[r];
    }
    for (int r = 0; r < exchange->size; ++r) {
        coll_symm_share_of(call, r, &first, &own);
        movable = movable && (0 == first || own / first < PIECES_MAX);
    }
    coll_symm_share_of(call, exchange->rank, &call->share.first, &call->share.own);
    return movable;
}

static void describe(coll_symm_call_t *call)
{
    const arguments_t *a = call->arguments;
    bool in_place = MPI_IN_PLACE == call->sbuf;
    call->mine.collective =
        NULL == a->counts ? COLL_SYMM_REDUCE_SCATTER_BLOCK : COLL_SYMM_REDUCE_SCATTER;
    bool movable = find_share(call, a);
    size_t all = (size_t) call->share.count;
    size_t own = in_place ? all : (size_t) call->share.own;
    (void) coll_symm_call_input(call, in_place ? call->rbuf : call->sbuf, 1, all, a->dtype, 0);
    (void) coll_symm_call_output(call, call->rbuf, 1, own, a->dtype, 0);
    coll_symm_describe_reduction(call, all, a->dtype, a->op);
    call->mine.flags |= in_place && !movable ? COLL_SYMM_UNSUPPORTED : 0;
}

static int start_next(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                      const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                      ompi_request_t **request_p)
{
    const arguments_t *a = call->arguments;
    MPI_Op op = symm_float16_portable_op(a->dtype, a->op);
    if (NULL == a->counts) {
        return functions->ireduce_scatter_block(sbuf, rbuf, a->count, a->dtype, op, comm, request_p,
                                                functions->ireduce_scatter_block_module);
    }
    return functions->ireduce_scatter(sbuf, rbuf, a->counts, a->dtype, op, comm, request_p,
                                      functions->ireduce_scatter_module);
}

static int init_next(const coll_symm_call_t *call, const void *sbuf, void *rbuf, ompi_info_t *info,
                     ompi_request_t **request_p)
{
    const arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    MPI_Op op = symm_float16_portable_op(a->dtype, a->op);
    if (NULL == a->counts) {
        return functions->reduce_scatter_block_init(sbuf, rbuf, a->count, a->dtype, op, a->comm,
                                                    info, request_p,
                                                    functions->reduce_scatter_block_init_module);
    }
    return functions->reduce_scatter_init(sbuf, rbuf, a->counts, a->dtype, op, a->comm, info,
                                          request_p, functions->reduce_scatter_init_module);
}

static const coll_symm_steps_t steps = {.describe = describe,
                                        .next = next,
                                        .carry_out = coll_symm_combine,
                                        .start_next = start_next,
                                        .init_next = init_next};

int mca_coll_symm_reduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
                                 ompi_datatype_t *dtype, MPI_Op op, ompi_communicator_t *comm,
                                 mca_coll_base_module_t *module)
{
    arguments_t arguments = {rcounts, 0, dtype, op, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &steps, &arguments, sbuf, rbuf);
}

int mca_coll_symm_ireduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
                                  ompi_datatype_t *dtype, MPI_Op op, ompi_communicator_t *comm,
                                  ompi_request_t **request, mca_coll_base_module_t *module)
{
    arguments_t arguments = {rcounts, 0, dtype, op, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_reduce_scatter_init(const void *sbuf, void *rbuf, const int *rcounts,
                                      ompi_datatype_t *dtype, MPI_Op op, ompi_communicator_t *comm,
                                      ompi_info_t *info, ompi_request_t **request,
                                      mca_coll_base_module_t *module)
{
    arguments_t arguments = {rcounts, 0, dtype, op, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}

int mca_coll_symm_reduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
                                       ompi_datatype_t *dtype, MPI_Op op, ompi_communicator_t *comm,
                                       mca_coll_base_module_t *module)
{
    arguments_t arguments = {NULL, rcount, dtype, op, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &steps, &arguments, sbuf, rbuf);
}

int mca_coll_symm_ireduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
                                        ompi_datatype_t *dtype, MPI_Op op,
                                        ompi_communicator_t *comm, ompi_request_t **request,
                                        mca_coll_base_module_t *module)
{
    arguments_t arguments = {NULL, rcount, dtype, op, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_reduce_scatter_block_init(const void *sbuf, void *rbuf, int rcount,
                                            ompi_datatype_t *dtype, MPI_Op op,
                                            ompi_communicator_t *comm, ompi_info_t *info,
                                            ompi_request_t **request,
                                            mca_coll_base_module_t *module)
{
    arguments_t arguments = {NULL, rcount, dtype, op, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}
