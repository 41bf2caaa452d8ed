/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Scan and MPI_Exscan. Rank 0 of the latter gets nothing. */
#include "symm_config.h"

#include "coll_symm_functions.h"

#include "symm_float16.h"

typedef struct arguments {
    bool exclusive;
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
    if (a->exclusive) {
        return functions->exscan(sbuf, rbuf, a->count, a->dtype, op, a->comm,
                                 functions->exscan_module);
    }
    return functions->scan(sbuf, rbuf, a->count, a->dtype, op, a->comm, functions->scan_module);
}

static void describe(coll_symm_call_t *call)
{
    const arguments_t *a = call->arguments;
    size_t count = (size_t) a->count;
    const void *input = MPI_IN_PLACE == call->sbuf ? call->rbuf : call->sbuf;
    (void) coll_symm_call_input(call, input, 1, count, a->dtype, 0);
    coll_symm_describe_reduction(call, count, a->dtype, a->op);
    call->mine.collective = a->exclusive ? COLL_SYMM_EXSCAN : COLL_SYMM_SCAN;
    bool result = !a->exclusive || 0 < call->module->comm->exchange.rank;
    if (result || MPI_IN_PLACE == call->sbuf) {
        (void) coll_symm_call_output(call, call->rbuf, 1, count, a->dtype, 0);
    }
    call->share.own = result ? count : 0;
}

static int start_next(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                      const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                      ompi_request_t **request_p)
{
    const arguments_t *a = call->arguments;
    MPI_Op op = symm_float16_portable_op(a->dtype, a->op);
    if (a->exclusive) {
        return functions->iexscan(sbuf, rbuf, a->count, a->dtype, op, comm, request_p,
                                  functions->iexscan_module);
    }
    return functions->iscan(sbuf, rbuf, a->count, a->dtype, op, comm, request_p,
                            functions->iscan_module);
}

static int init_next(const coll_symm_call_t *call, const void *sbuf, void *rbuf, ompi_info_t *info,
                     ompi_request_t **request_p)
{
    const arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    MPI_Op op = symm_float16_portable_op(a->dtype, a->op);
    if (a->exclusive) {
        return functions->exscan_init(sbuf, rbuf, a->count, a->dtype, op, a->comm, info, request_p,
                                      functions->exscan_init_module);
    }
    return functions->scan_init(sbuf, rbuf, a->count, a->dtype, op, a->comm, info, request_p,
                                functions->scan_init_module);
}

static const coll_symm_steps_t steps = {.describe = describe,
                                        .next = next,
                                        .carry_out = coll_symm_combine,
                                        .start_next = start_next,
                                        .init_next = init_next};

int mca_coll_symm_scan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype, MPI_Op op,
                       ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    arguments_t arguments = {false, count, dtype, op, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &steps, &arguments, sbuf, rbuf);
}

int mca_coll_symm_iscan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype, MPI_Op op,
                        ompi_communicator_t *comm, ompi_request_t **request,
                        mca_coll_base_module_t *module)
{
    arguments_t arguments = {false, count, dtype, op, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_scan_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                            MPI_Op op, ompi_communicator_t *comm, ompi_info_t *info,
                            ompi_request_t **request, mca_coll_base_module_t *module)
{
    arguments_t arguments = {false, count, dtype, op, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}

int mca_coll_symm_exscan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype, MPI_Op op,
                         ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    arguments_t arguments = {true, count, dtype, op, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &steps, &arguments, sbuf, rbuf);
}

int mca_coll_symm_iexscan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                          MPI_Op op, ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *module)
{
    arguments_t arguments = {true, count, dtype, op, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_exscan_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                              MPI_Op op, ompi_communicator_t *comm, ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module)
{
    arguments_t arguments = {true, count, dtype, op, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}
