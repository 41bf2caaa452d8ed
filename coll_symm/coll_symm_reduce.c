/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Reduce. What only the root passes is not looked at elsewhere. */
#include "symm_config.h"

#include "coll_symm_functions.h"

#include "symm_float16.h"

typedef struct arguments {
    int count;
    ompi_datatype_t *dtype;
    MPI_Op op;
    int root;
    ompi_communicator_t *comm;
} arguments_t;

static int next(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->reduce(sbuf, rbuf, a->count, a->dtype,
                             symm_float16_portable_op(a->dtype, a->op), a->root, a->comm,
                             functions->reduce_module);
}

static void describe(coll_symm_call_t *call)
{
    const arguments_t *a = call->arguments;
    size_t count = (size_t) a->count;
    const void *input = MPI_IN_PLACE == call->sbuf ? call->rbuf : call->sbuf;
    (void) coll_symm_call_input(call, input, 1, count, a->dtype, 0);
    coll_symm_describe_reduction(call, count, a->dtype, a->op);
    call->mine.collective = COLL_SYMM_REDUCE;
    call->mine.root = (uint16_t) a->root;
    if (a->root == call->module->comm->exchange.rank) {
        (void) coll_symm_call_output(call, call->rbuf, 1, count, a->dtype, 0);
        call->share.own = count;
    }
}

static int start_next(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                      const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                      ompi_request_t **request_p)
{
    const arguments_t *a = call->arguments;
    return functions->ireduce(sbuf, rbuf, a->count, a->dtype,
                              symm_float16_portable_op(a->dtype, a->op), a->root, comm, request_p,
                              functions->ireduce_module);
}

static int init_next(const coll_symm_call_t *call, const void *sbuf, void *rbuf, ompi_info_t *info,
                     ompi_request_t **request_p)
{
    const arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->reduce_init(sbuf, rbuf, a->count, a->dtype,
                                  symm_float16_portable_op(a->dtype, a->op), a->root, a->comm, info,
                                  request_p, functions->reduce_init_module);
}

static const coll_symm_steps_t steps = {.describe = describe,
                                        .next = next,
                                        .carry_out = coll_symm_combine,
                                        .start_next = start_next,
                                        .init_next = init_next};

int mca_coll_symm_reduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype, MPI_Op op,
                         int root, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    arguments_t arguments = {count, dtype, op, root, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &steps, &arguments, sbuf, rbuf);
}

int mca_coll_symm_ireduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                          MPI_Op op, int root, ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *module)
{
    arguments_t arguments = {count, dtype, op, root, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_reduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                              MPI_Op op, int root, ompi_communicator_t *comm, ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module)
{
    arguments_t arguments = {count, dtype, op, root, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}
