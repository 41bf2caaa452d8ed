/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Scatter and MPI_Scatterv. What only the root passes is not looked at elsewhere. */
#include "symm_config.h"

#include "coll_symm_functions.h"

static bool is_root(const coll_symm_call_t *call, int root)
{
    return root == call->module->comm->exchange.rank;
}

typedef struct scatter_arguments {
    int scount;
    ompi_datatype_t *sdtype;
    int rcount;
    ompi_datatype_t *rdtype;
    int root;
    ompi_communicator_t *comm;
} scatter_arguments_t;

static int next_scatter(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const scatter_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->scatter(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->root,
                              a->comm, functions->scatter_module);
}

static void describe_scatter(coll_symm_call_t *call)
{
    const scatter_arguments_t *a = call->arguments;
    bool known = true;
    call->mine.collective = COLL_SYMM_SCATTER;
    call->mine.root = (uint16_t) a->root;
    if (is_root(call, a->root)) {
        call->mine.bytes = (size_t) a->scount * a->sdtype->super.size;
        known = coll_symm_call_input(call, call->sbuf, call->module->comm->exchange.size,
                                     (size_t) a->scount, a->sdtype, call->mine.bytes);
    } else {
        call->mine.bytes = (size_t) a->rcount * a->rdtype->super.size;
    }
    if (MPI_IN_PLACE == call->rbuf) {
        call->mine.flags = COLL_SYMM_IN_PLACE;
    } else {
        known = coll_symm_call_output(call, call->rbuf, 1, (size_t) a->rcount, a->rdtype,
                                      call->mine.bytes) &&
                known;
    }
    call->mine.flags |= known ? 0 : COLL_SYMM_UNSUPPORTED;
}

static int start_scatter(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                         const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                         ompi_request_t **request_p)
{
    const scatter_arguments_t *a = call->arguments;
    return functions->iscatter(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->root,
                               comm, request_p, functions->iscatter_module);
}

static int init_scatter(const coll_symm_call_t *call, const void *sbuf, void *rbuf,
                        ompi_info_t *info, ompi_request_t **request_p)
{
    const scatter_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->scatter_init(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->root,
                                   a->comm, info, request_p, functions->scatter_init_module);
}

static const coll_symm_steps_t scatter_steps = {.describe = describe_scatter,
                                                .next = next_scatter,
                                                .carry_out = coll_symm_move,
                                                .start_next = start_scatter,
                                                .init_next = init_scatter};

int mca_coll_symm_scatter(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                          int rcount, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                          mca_coll_base_module_t *module)
{
    scatter_arguments_t arguments = {scount, sdtype, rcount, rdtype, root, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &scatter_steps, &arguments, sbuf,
                                rbuf);
}

int mca_coll_symm_iscatter(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                           int rcount, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                           ompi_request_t **request, mca_coll_base_module_t *module)
{
    scatter_arguments_t arguments = {scount, sdtype, rcount, rdtype, root, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &scatter_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_scatter_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                               int rcount, ompi_datatype_t *rdtype, int root,
                               ompi_communicator_t *comm, ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module)
{
    scatter_arguments_t arguments = {scount, sdtype, rcount, rdtype, root, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &scatter_steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}

typedef struct scatterv_arguments {
    const int *scounts;
    const int *disps;
    ompi_datatype_t *sdtype;
    int rcount;
    ompi_datatype_t *rdtype;
    int root;
    ompi_communicator_t *comm;
} scatterv_arguments_t;

static int next_scatterv(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const scatterv_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->scatterv(sbuf, a->scounts, a->disps, a->sdtype, rbuf, a->rcount, a->rdtype,
                               a->root, a->comm, functions->scatterv_module);
}

static void describe_scatterv(coll_symm_call_t *call)
{
    const scatterv_arguments_t *a = call->arguments;
    coll_symm_vector_t inputs = {.counts = a->scounts, .disps = a->disps, .type = a->sdtype};
    bool known = !is_root(call, a->root) || coll_symm_call_inputs(call, call->sbuf, &inputs);
    call->mine.collective = COLL_SYMM_SCATTERV;
    call->mine.root = (uint16_t) a->root;
    if (MPI_IN_PLACE == call->rbuf) {
        call->mine.flags = COLL_SYMM_IN_PLACE;
        coll_symm_call_one_output(call, 0);
    } else {
        size_t bytes = (size_t) a->rcount * a->rdtype->super.size;
        known = coll_symm_call_output(call, call->rbuf, 1, (size_t) a->rcount, a->rdtype, bytes) &&
                known;
        coll_symm_call_one_output(call, bytes);
    }
    call->mine.flags |= known ? 0 : COLL_SYMM_UNSUPPORTED;
}

static int start_scatterv(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                          const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                          ompi_request_t **request_p)
{
    const scatterv_arguments_t *a = call->arguments;
    return functions->iscatterv(sbuf, a->scounts, a->disps, a->sdtype, rbuf, a->rcount, a->rdtype,
                                a->root, comm, request_p, functions->iscatterv_module);
}

static int init_scatterv(const coll_symm_call_t *call, const void *sbuf, void *rbuf,
                         ompi_info_t *info, ompi_request_t **request_p)
{
    const scatterv_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->scatterv_init(sbuf, a->scounts, a->disps, a->sdtype, rbuf, a->rcount,
                                    a->rdtype, a->root, a->comm, info, request_p,
                                    functions->scatterv_init_module);
}

static const coll_symm_steps_t scatterv_steps = {.describe = describe_scatterv,
                                                 .next = next_scatterv,
                                                 .carry_out = coll_symm_move,
                                                 .start_next = start_scatterv,
                                                 .init_next = init_scatterv};

int mca_coll_symm_scatterv(const void *sbuf, const int *scounts, const int *disps,
                           ompi_datatype_t *sdtype, void *rbuf, int rcount, ompi_datatype_t *rdtype,
                           int root, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    scatterv_arguments_t arguments = {scounts, disps, sdtype, rcount, rdtype, root, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &scatterv_steps, &arguments,
                                sbuf, rbuf);
}

int mca_coll_symm_iscatterv(const void *sbuf, const int *scounts, const int *disps,
                            ompi_datatype_t *sdtype, void *rbuf, int rcount,
                            ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                            ompi_request_t **request, mca_coll_base_module_t *module)
{
    scatterv_arguments_t arguments = {scounts, disps, sdtype, rcount, rdtype, root, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &scatterv_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_scatterv_init(const void *sbuf, const int *scounts, const int *disps,
                                ompi_datatype_t *sdtype, void *rbuf, int rcount,
                                ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                                ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    scatterv_arguments_t arguments = {scounts, disps, sdtype, rcount, rdtype, root, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &scatterv_steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}
