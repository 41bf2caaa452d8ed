/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Gather and MPI_Gatherv. What only the root passes is not looked at elsewhere. */
#include "symm_config.h"

#include "coll_symm_functions.h"

static bool is_root(const coll_symm_call_t *call, int root)
{
    return root == call->module->comm->exchange.rank;
}

typedef struct gather_arguments {
    int scount;
    ompi_datatype_t *sdtype;
    int rcount;
    ompi_datatype_t *rdtype;
    int root;
    ompi_communicator_t *comm;
} gather_arguments_t;

static int next_gather(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const gather_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->gather(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->root,
                             a->comm, functions->gather_module);
}

static void describe_gather(coll_symm_call_t *call)
{
    const gather_arguments_t *a = call->arguments;
    bool known = true;
    call->mine.collective = COLL_SYMM_GATHER;
    call->mine.root = (uint16_t) a->root;
    if (is_root(call, a->root)) {
        call->mine.bytes = (size_t) a->rcount * a->rdtype->super.size;
        known = coll_symm_call_output(call, call->rbuf, call->module->comm->exchange.size,
                                      (size_t) a->rcount, a->rdtype, call->mine.bytes);
    } else {
        call->mine.bytes = (size_t) a->scount * a->sdtype->super.size;
    }
    if (MPI_IN_PLACE == call->sbuf) {
        call->mine.flags = COLL_SYMM_IN_PLACE;
    } else {
        known = coll_symm_call_input(call, call->sbuf, 1, (size_t) a->scount, a->sdtype,
                                     call->mine.bytes) &&
                known;
    }
    call->mine.flags |= known ? 0 : COLL_SYMM_UNSUPPORTED;
}

static int start_gather(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                        const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                        ompi_request_t **request_p)
{
    const gather_arguments_t *a = call->arguments;
    return functions->igather(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->root, comm,
                              request_p, functions->igather_module);
}

static int init_gather(const coll_symm_call_t *call, const void *sbuf, void *rbuf,
                       ompi_info_t *info, ompi_request_t **request_p)
{
    const gather_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->gather_init(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->root,
                                  a->comm, info, request_p, functions->gather_init_module);
}

static const coll_symm_steps_t gather_steps = {.describe = describe_gather,
                                               .next = next_gather,
                                               .carry_out = coll_symm_move,
                                               .start_next = start_gather,
                                               .init_next = init_gather};

int mca_coll_symm_gather(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                         int rcount, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                         mca_coll_base_module_t *module)
{
    gather_arguments_t arguments = {scount, sdtype, rcount, rdtype, root, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &gather_steps, &arguments, sbuf,
                                rbuf);
}

int mca_coll_symm_igather(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                          int rcount, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                          ompi_request_t **request, mca_coll_base_module_t *module)
{
    gather_arguments_t arguments = {scount, sdtype, rcount, rdtype, root, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &gather_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_gather_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                              int rcount, ompi_datatype_t *rdtype, int root,
                              ompi_communicator_t *comm, ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module)
{
    gather_arguments_t arguments = {scount, sdtype, rcount, rdtype, root, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &gather_steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}

typedef struct gatherv_arguments {
    int scount;
    ompi_datatype_t *sdtype;
    const int *rcounts;
    const int *disps;
    ompi_datatype_t *rdtype;
    int root;
    ompi_communicator_t *comm;
} gatherv_arguments_t;

static int next_gatherv(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const gatherv_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->gatherv(sbuf, a->scount, a->sdtype, rbuf, a->rcounts, a->disps, a->rdtype,
                              a->root, a->comm, functions->gatherv_module);
}

static void describe_gatherv(coll_symm_call_t *call)
{
    const gatherv_arguments_t *a = call->arguments;
    coll_symm_vector_t outputs = {.counts = a->rcounts, .disps = a->disps, .type = a->rdtype};
    bool known = !is_root(call, a->root) || coll_symm_call_outputs(call, call->rbuf, &outputs);
    call->mine.collective = COLL_SYMM_GATHERV;
    call->mine.root = (uint16_t) a->root;
    if (MPI_IN_PLACE == call->sbuf) {
        call->mine.flags = COLL_SYMM_IN_PLACE;
        coll_symm_call_one_input(call, 0);
    } else {
        size_t bytes = (size_t) a->scount * a->sdtype->super.size;
        known = coll_symm_call_input(call, call->sbuf, 1, (size_t) a->scount, a->sdtype, bytes) &&
                known;
        coll_symm_call_one_input(call, bytes);
    }
    call->mine.flags |= known ? 0 : COLL_SYMM_UNSUPPORTED;
}

static int start_gatherv(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                         const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                         ompi_request_t **request_p)
{
    const gatherv_arguments_t *a = call->arguments;
    return functions->igatherv(sbuf, a->scount, a->sdtype, rbuf, a->rcounts, a->disps, a->rdtype,
                               a->root, comm, request_p, functions->igatherv_module);
}

static int init_gatherv(const coll_symm_call_t *call, const void *sbuf, void *rbuf,
                        ompi_info_t *info, ompi_request_t **request_p)
{
    const gatherv_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->gatherv_init(sbuf, a->scount, a->sdtype, rbuf, a->rcounts, a->disps,
                                   a->rdtype, a->root, a->comm, info, request_p,
                                   functions->gatherv_init_module);
}

static const coll_symm_steps_t gatherv_steps = {.describe = describe_gatherv,
                                                .next = next_gatherv,
                                                .carry_out = coll_symm_move,
                                                .start_next = start_gatherv,
                                                .init_next = init_gatherv};

int mca_coll_symm_gatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                          const int *rcounts, const int *disps, ompi_datatype_t *rdtype, int root,
                          ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    gatherv_arguments_t arguments = {scount, sdtype, rcounts, disps, rdtype, root, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &gatherv_steps, &arguments, sbuf,
                                rbuf);
}

int mca_coll_symm_igatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                           const int *rcounts, const int *disps, ompi_datatype_t *rdtype, int root,
                           ompi_communicator_t *comm, ompi_request_t **request,
                           mca_coll_base_module_t *module)
{
    gatherv_arguments_t arguments = {scount, sdtype, rcounts, disps, rdtype, root, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &gatherv_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

int mca_coll_symm_gatherv_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                               const int *rcounts, const int *disps, ompi_datatype_t *rdtype,
                               int root, ompi_communicator_t *comm, ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module)
{
    gatherv_arguments_t arguments = {scount, sdtype, rcounts, disps, rdtype, root, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &gatherv_steps, &arguments,
                                    sizeof(arguments), sbuf, rbuf, info, request);
}
