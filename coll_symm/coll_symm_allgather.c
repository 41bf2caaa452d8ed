/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Allgather, MPI_Iallgather and MPI_Allgatherv. */
#include "symm_config.h"

#include "coll_symm.h"

static int next_allgather(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->allgather(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->comm,
                                functions->allgather_module);
}

static void describe_allgather(coll_symm_call_t *call)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    size_t ranks = (size_t) exchange->size;
    size_t bytes = (size_t) a->rcount * a->rdtype->super.size;
    bool known = coll_symm_call_output(call, call->rbuf, ranks * (size_t) a->rcount, a->rdtype,
                                       ranks * bytes);
    call->mine.collective = COLL_SYMM_ALLGATHER;
    call->mine.bytes = bytes;
    if (MPI_IN_PLACE == call->sbuf) {
        call->mine.flags = COLL_SYMM_IN_PLACE;
        call->send = call->recv + (size_t) exchange->rank * bytes;
        call->send_len = bytes;
    } else {
        known =
            coll_symm_call_input(call, call->sbuf, (size_t) a->scount, a->sdtype, bytes) && known;
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
    const symm_block_t *own = &call->work->row[call->module->comm->exchange.rank];
    call->mine.collective = COLL_SYMM_ALLGATHERV;
    if (MPI_IN_PLACE == call->sbuf) {
        call->mine.flags = COLL_SYMM_IN_PLACE;
        call->send = call->recv + own->recv_at;
        call->send_len = own->recv_len;
    } else {
        known = coll_symm_call_input(call, call->sbuf, (size_t) a->scount, a->sdtype,
                                     (size_t) a->scount * a->sdtype->super.size) &&
                known;
    }
    coll_symm_call_one_input(call);
    call->mine.flags |= known ? 0 : COLL_SYMM_UNSUPPORTED;
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
