/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw. */
#include "symm_config.h"

#include "coll_symm_functions.h"

static int next_alltoall(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->alltoall(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->comm,
                               functions->alltoall_module);
}

static void describe_alltoall(coll_symm_call_t *call)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    int ranks = call->module->comm->exchange.size;
    size_t bytes = (size_t) a->rcount * a->rdtype->super.size;
    bool in_place = MPI_IN_PLACE == call->sbuf;
    bool known =
        coll_symm_call_output(call, call->rbuf, ranks, (size_t) a->rcount, a->rdtype, bytes);
    /* In place, the outputs are the inputs: a rank gets from each as much as it gives. */
    known = coll_symm_call_input(call, in_place ? call->rbuf : call->sbuf, ranks,
                                 (size_t) (in_place ? a->rcount : a->scount),
                                 in_place ? a->rdtype : a->sdtype, bytes) &&
            known;
    call->mine.collective = COLL_SYMM_ALLTOALL;
    call->mine.bytes = bytes;
    call->mine.flags =
        (uint8_t) ((in_place ? COLL_SYMM_IN_PLACE : 0) | (known ? 0 : COLL_SYMM_UNSUPPORTED));
}

static int start_alltoall(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                          const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                          ompi_request_t **request_p)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    return functions->ialltoall(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, comm,
                                request_p, functions->ialltoall_module);
}

static int init_alltoall(const coll_symm_call_t *call, const void *sbuf, void *rbuf,
                         ompi_info_t *info, ompi_request_t **request_p)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->alltoall_init(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->comm,
                                    info, request_p, functions->alltoall_init_module);
}

static const coll_symm_steps_t alltoall_steps = {.describe = describe_alltoall,
                                                 .next = next_alltoall,
                                                 .carry_out = coll_symm_move,
                                                 .start_next = start_alltoall,
                                                 .init_next = init_alltoall};

int mca_coll_symm_alltoall(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                           int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                           mca_coll_base_module_t *module)
{
    coll_symm_blocks_arguments_t arguments = {scount, sdtype, rcount, rdtype, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &alltoall_steps, &arguments,
                                sbuf, rbuf);
}

int mca_coll_symm_ialltoall(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                            int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                            ompi_request_t **request, mca_coll_base_module_t *module)
{
    coll_symm_blocks_arguments_t arguments = {scount, sdtype, rcount, rdtype, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &alltoall_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_alltoall_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                                int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    coll_symm_blocks_arguments_t arguments = {scount, sdtype, rcount, rdtype, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &alltoall_steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}

/* The common part of those with counts per rank. */
static void describe_vectors(coll_symm_call_t *call, coll_symm_collective_t collective,
                             const coll_symm_vector_t *inputs, const coll_symm_vector_t *outputs)
{
    bool in_place = MPI_IN_PLACE == call->sbuf;
    bool known = coll_symm_call_outputs(call, call->rbuf, outputs);
    known = coll_symm_call_inputs(call, in_place ? call->rbuf : call->sbuf,
                                  in_place ? outputs : inputs) &&
            known;
    call->mine.collective = (uint8_t) collective;
    call->mine.flags =
        (uint8_t) ((in_place ? COLL_SYMM_IN_PLACE : 0) | (known ? 0 : COLL_SYMM_UNSUPPORTED));
}

static int next_alltoallv(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const coll_symm_rows_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->alltoallv(sbuf, a->scounts, a->sdisps, a->sdtype, rbuf, a->rcounts, a->rdisps,
                                a->rdtype, a->comm, functions->alltoallv_module);
}

static void describe_alltoallv(coll_symm_call_t *call)
{
    const coll_symm_rows_arguments_t *a = call->arguments;
    coll_symm_vector_t inputs = {.counts = a->scounts, .disps = a->sdisps, .type = a->sdtype};
    coll_symm_vector_t outputs = {.counts = a->rcounts, .disps = a->rdisps, .type = a->rdtype};
    describe_vectors(call, COLL_SYMM_ALLTOALLV, &inputs, &outputs);
}

/* Whether an in-place call goes on with a copy of its input (coll_symm_stage.c), which is laid out
 * as the output is. */
static bool input_is_copy(const coll_symm_call_t *call, const void *sbuf)
{
    return MPI_IN_PLACE == call->sbuf && MPI_IN_PLACE != sbuf;
}

static int start_alltoallv(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                           const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                           ompi_request_t **request_p)
{
    const coll_symm_rows_arguments_t *a = call->arguments;
    bool apart = input_is_copy(call, sbuf);
    return functions->ialltoallv(sbuf, apart ? a->rcounts : a->scounts,
                                 apart ? a->rdisps : a->sdisps, apart ? a->rdtype : a->sdtype, rbuf,
                                 a->rcounts, a->rdisps, a->rdtype, comm, request_p,
                                 functions->ialltoallv_module);
}

static int init_alltoallv(const coll_symm_call_t *call, const void *sbuf, void *rbuf,
                          ompi_info_t *info, ompi_request_t **request_p)
{
    const coll_symm_rows_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    bool apart = input_is_copy(call, sbuf);
    return functions->alltoallv_init(sbuf, apart ? a->rcounts : a->scounts,
                                     apart ? a->rdisps : a->sdisps, apart ? a->rdtype : a->sdtype,
                                     rbuf, a->rcounts, a->rdisps, a->rdtype, a->comm, info,
                                     request_p, functions->alltoallv_init_module);
}

static const coll_symm_steps_t alltoallv_steps = {.describe = describe_alltoallv,
                                                  .next = next_alltoallv,
                                                  .carry_out = coll_symm_move,
                                                  .start_next = start_alltoallv,
                                                  .init_next = init_alltoallv};

int mca_coll_symm_alltoallv(const void *sbuf, const int *scounts, const int *sdisps,
                            ompi_datatype_t *sdtype, void *rbuf, const int *rcounts,
                            const int *rdisps, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                            mca_coll_base_module_t *module)
{
    coll_symm_rows_arguments_t arguments = {scounts, sdisps, sdtype, rcounts, rdisps, rdtype, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &alltoallv_steps, &arguments,
                                sbuf, rbuf);
}

int mca_coll_symm_ialltoallv(const void *sbuf, const int *scounts, const int *sdisps,
                             ompi_datatype_t *sdtype, void *rbuf, const int *rcounts,
                             const int *rdisps, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                             ompi_request_t **request, mca_coll_base_module_t *module)
{
    coll_symm_rows_arguments_t arguments = {scounts, sdisps, sdtype, rcounts, rdisps, rdtype, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &alltoallv_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_alltoallv_init(const void *sbuf, const int *scounts, const int *sdisps,
                                 ompi_datatype_t *sdtype, void *rbuf, const int *rcounts,
                                 const int *rdisps, ompi_datatype_t *rdtype,
                                 ompi_communicator_t *comm, ompi_info_t *info,
                                 ompi_request_t **request, mca_coll_base_module_t *module)
{
    coll_symm_rows_arguments_t arguments = {scounts, sdisps, sdtype, rcounts, rdisps, rdtype, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &alltoallv_steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}

typedef struct alltoallw_arguments {
    const int *scounts;
    const int *sdisps;
    ompi_datatype_t *const *sdtypes;
    const int *rcounts;
    const int *rdisps;
    ompi_datatype_t *const *rdtypes;
    ompi_communicator_t *comm;
} alltoallw_arguments_t;

static int next_alltoallw(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const alltoallw_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->alltoallw(sbuf, a->scounts, a->sdisps, a->sdtypes, rbuf, a->rcounts,
                                a->rdisps, a->rdtypes, a->comm, functions->alltoallw_module);
}

static void describe_alltoallw(coll_symm_call_t *call)
{
    const alltoallw_arguments_t *a = call->arguments;
    coll_symm_vector_t inputs = {.counts = a->scounts, .disps = a->sdisps, .types = a->sdtypes};
    coll_symm_vector_t outputs = {.counts = a->rcounts, .disps = a->rdisps, .types = a->rdtypes};
    describe_vectors(call, COLL_SYMM_ALLTOALLW, &inputs, &outputs);
}

static int start_alltoallw(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                           const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                           ompi_request_t **request_p)
{
    const alltoallw_arguments_t *a = call->arguments;
    bool apart = input_is_copy(call, sbuf);
    return functions->ialltoallw(sbuf, apart ? a->rcounts : a->scounts,
                                 apart ? a->rdisps : a->sdisps, apart ? a->rdtypes : a->sdtypes,
                                 rbuf, a->rcounts, a->rdisps, a->rdtypes, comm, request_p,
                                 functions->ialltoallw_module);
}

static int init_alltoallw(const coll_symm_call_t *call, const void *sbuf, void *rbuf,
                          ompi_info_t *info, ompi_request_t **request_p)
{
    const alltoallw_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    bool apart = input_is_copy(call, sbuf);
    return functions->alltoallw_init(sbuf, apart ? a->rcounts : a->scounts,
                                     apart ? a->rdisps : a->sdisps, apart ? a->rdtypes : a->sdtypes,
                                     rbuf, a->rcounts, a->rdisps, a->rdtypes, a->comm, info,
                                     request_p, functions->alltoallw_init_module);
}

static const coll_symm_steps_t alltoallw_steps = {.describe = describe_alltoallw,
                                                  .next = next_alltoallw,
                                                  .carry_out = coll_symm_move,
                                                  .start_next = start_alltoallw,
                                                  .init_next = init_alltoallw};

int mca_coll_symm_alltoallw(const void *sbuf, const int *scounts, const int *sdisps,
                            ompi_datatype_t *const *sdtypes, void *rbuf, const int *rcounts,
                            const int *rdisps, ompi_datatype_t *const *rdtypes,
                            ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    alltoallw_arguments_t arguments = {scounts, sdisps, sdtypes, rcounts, rdisps, rdtypes, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &alltoallw_steps, &arguments,
                                sbuf, rbuf);
}

int mca_coll_symm_ialltoallw(const void *sbuf, const int *scounts, const int *sdisps,
                             ompi_datatype_t *const *sdtypes, void *rbuf, const int *rcounts,
                             const int *rdisps, ompi_datatype_t *const *rdtypes,
                             ompi_communicator_t *comm, ompi_request_t **request,
                             mca_coll_base_module_t *module)
{
    alltoallw_arguments_t arguments = {scounts, sdisps, sdtypes, rcounts, rdisps, rdtypes, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &alltoallw_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_alltoallw_init(const void *sbuf, const int *scounts, const int *sdisps,
                                 ompi_datatype_t *const *sdtypes, void *rbuf, const int *rcounts,
                                 const int *rdisps, ompi_datatype_t *const *rdtypes,
                                 ompi_communicator_t *comm, ompi_info_t *info,
                                 ompi_request_t **request, mca_coll_base_module_t *module)
{
    alltoallw_arguments_t arguments = {scounts, sdisps, sdtypes, rcounts, rdisps, rdtypes, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &alltoallw_steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}
