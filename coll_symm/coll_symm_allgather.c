/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Allgather, MPI_Iallgather and MPI_Allgatherv. */
#include "symm_config.h"

#include "coll_symm_functions.h"

static int next_allgather(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->allgather(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->comm,
                                functions->allgather_module);
}

/* The block that begins with element `first` of buf: where, in place, this rank's input is. */
static const char *block_at(const void *buf, const ompi_datatype_t *type, ptrdiff_t first)
{
    return (const char *) buf + first * (type->super.ub - type->super.lb);
}

static void describe_allgather(coll_symm_call_t *call)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    size_t bytes = (size_t) a->rcount * a->rdtype->super.size;
    bool known = coll_symm_call_output(call, call->rbuf, exchange->size, (size_t) a->rcount,
                                       a->rdtype, bytes);
    call->mine.collective = COLL_SYMM_ALLGATHER;
    call->mine.bytes = bytes;
    if (MPI_IN_PLACE == call->sbuf) {
        call->mine.flags = COLL_SYMM_IN_PLACE;
        const char *own = block_at(call->rbuf, a->rdtype, (ptrdiff_t) exchange->rank * a->rcount);
        known = coll_symm_call_input(call, own, 1, (size_t) a->rcount, a->rdtype, bytes) && known;
    } else {
        known = coll_symm_call_input(call, call->sbuf, 1, (size_t) a->scount, a->sdtype, bytes) &&
                known;
    }
    call->mine.flags |= known ? 0 : COLL_SYMM_UNSUPPORTED;
}

static int start_allgather(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                           const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                           ompi_request_t **request_p)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    return functions->iallgather(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, comm,
                                 request_p, functions->iallgather_module);
}

static int init_allgather(const coll_symm_call_t *call, const void *sbuf, void *rbuf,
                          ompi_info_t *info, ompi_request_t **request_p)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->allgather_init(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype,
                                     a->comm, info, request_p, functions->allgather_init_module);
}

static const coll_symm_steps_t allgather_steps = {.describe = describe_allgather,
                                                  .next = next_allgather,
                                                  .carry_out = coll_symm_move,
                                                  .start_next = start_allgather,
                                                  .init_next = init_allgather};

int mca_coll_symm_allgather(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                            int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                            mca_coll_base_module_t *module)
{
    coll_symm_blocks_arguments_t arguments = {scount, sdtype, rcount, rdtype, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &allgather_steps, &arguments,
                                sbuf, rbuf);
}

int mca_coll_symm_iallgather(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                             int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                             ompi_request_t **request, mca_coll_base_module_t *module)
{
    coll_symm_blocks_arguments_t arguments = {scount, sdtype, rcount, rdtype, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &allgather_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_allgather_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                                 int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                 ompi_info_t *info, ompi_request_t **request,
                                 mca_coll_base_module_t *module)
{
    coll_symm_blocks_arguments_t arguments = {scount, sdtype, rcount, rdtype, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &allgather_steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}

static int next_allgatherv(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const coll_symm_allgatherv_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->allgatherv(sbuf, a->scount, a->sdtype, rbuf, a->rcounts, a->disps, a->rdtype,
                                 a->comm, functions->allgatherv_module);
}

static void describe_allgatherv(coll_symm_call_t *call)
{
    const coll_symm_allgatherv_arguments_t *a = call->arguments;
    coll_symm_vector_t outputs = {.counts = a->rcounts, .disps = a->disps, .type = a->rdtype};
    bool known = coll_symm_call_outputs(call, call->rbuf, &outputs);
    bool in_place = MPI_IN_PLACE == call->sbuf;
    int rank = call->module->comm->exchange.rank;
    const void *input = in_place ? block_at(call->rbuf, a->rdtype, a->disps[rank]) : call->sbuf;
    const ompi_datatype_t *type = in_place ? a->rdtype : a->sdtype;
    size_t count = (size_t) (in_place ? a->rcounts[rank] : a->scount);
    size_t bytes = count * type->super.size;
    call->mine.collective = COLL_SYMM_ALLGATHERV;
    known = coll_symm_call_input(call, input, 1, count, type, bytes) && known;
    coll_symm_call_one_input(call, bytes);
    call->mine.flags =
        (uint8_t) ((in_place ? COLL_SYMM_IN_PLACE : 0) | (known ? 0 : COLL_SYMM_UNSUPPORTED));
}

static int start_allgatherv(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                            const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                            ompi_request_t **request_p)
{
    const coll_symm_allgatherv_arguments_t *a = call->arguments;
    return functions->iallgatherv(sbuf, a->scount, a->sdtype, rbuf, a->rcounts, a->disps, a->rdtype,
                                  comm, request_p, functions->iallgatherv_module);
}

static int init_allgatherv(const coll_symm_call_t *call, const void *sbuf, void *rbuf,
                           ompi_info_t *info, ompi_request_t **request_p)
{
    const coll_symm_allgatherv_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->allgatherv_init(sbuf, a->scount, a->sdtype, rbuf, a->rcounts, a->disps,
                                      a->rdtype, a->comm, info, request_p,
                                      functions->allgatherv_init_module);
}

static const coll_symm_steps_t allgatherv_steps = {.describe = describe_allgatherv,
                                                   .next = next_allgatherv,
                                                   .carry_out = coll_symm_move,
                                                   .start_next = start_allgatherv,
                                                   .init_next = init_allgatherv};

int mca_coll_symm_allgatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                             const int *rcounts, const int *disps, ompi_datatype_t *rdtype,
                             ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    coll_symm_allgatherv_arguments_t arguments = {scount, sdtype, rcounts, disps, rdtype, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &allgatherv_steps, &arguments,
                                sbuf, rbuf);
}

int mca_coll_symm_iallgatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                              const int *rcounts, const int *disps, ompi_datatype_t *rdtype,
                              ompi_communicator_t *comm, ompi_request_t **request,
                              mca_coll_base_module_t *module)
{
    coll_symm_allgatherv_arguments_t arguments = {scount, sdtype, rcounts, disps, rdtype, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &allgatherv_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_allgatherv_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                                  const int *rcounts, const int *disps, ompi_datatype_t *rdtype,
                                  ompi_communicator_t *comm, ompi_info_t *info,
                                  ompi_request_t **request, mca_coll_base_module_t *module)
{
    coll_symm_allgatherv_arguments_t arguments = {scount, sdtype, rcounts, disps, rdtype, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &allgatherv_steps,
                                    &arguments, sizeof(arguments), sbuf, rbuf, info, request);
}
