/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Bcast. The buffer is the root's input and the others' output; steps get it as both. */
#include "symm_config.h"

#include "coll_symm_functions.h"

typedef struct bcast_arguments {
    int count;
    ompi_datatype_t *datatype;
    int root;
    ompi_communicator_t *comm;
} bcast_arguments_t;

static bool is_root(const mca_coll_symm_module_t *module, const bcast_arguments_t *a)
{
    return a->root == module->comm->exchange.rank;
}

static int next_bcast(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const bcast_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->bcast(is_root(call->module, a) ? (void *) sbuf : rbuf, a->count, a->datatype,
                            a->root, a->comm, functions->bcast_module);
}

static void describe_bcast(coll_symm_call_t *call)
{
    const bcast_arguments_t *a = call->arguments;
    size_t count = (size_t) a->count;
    size_t bytes = count * a->datatype->super.size;
    bool known;
    if (is_root(call->module, a)) {
        known = coll_symm_call_input(call, call->sbuf, 1, count, a->datatype, bytes);
    } else {
        known = coll_symm_call_output(call, call->rbuf, 1, count, a->datatype, bytes);
    }
    call->mine.collective = COLL_SYMM_BCAST;
    call->mine.root = (uint16_t) a->root;
    call->mine.bytes = bytes;
    call->mine.flags = (uint8_t) (COLL_SYMM_IN_PLACE | (known ? 0 : COLL_SYMM_UNSUPPORTED));
}

static int start_bcast(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                       const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                       ompi_request_t **request_p)
{
    const bcast_arguments_t *a = call->arguments;
    return functions->ibcast(is_root(call->module, a) ? (void *) sbuf : rbuf, a->count, a->datatype,
                             a->root, comm, request_p, functions->ibcast_module);
}

static int init_bcast(const coll_symm_call_t *call, const void *sbuf, void *rbuf, ompi_info_t *info,
                      ompi_request_t **request_p)
{
    const bcast_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    return functions->bcast_init(is_root(call->module, a) ? (void *) sbuf : rbuf, a->count,
                                 a->datatype, a->root, a->comm, info, request_p,
                                 functions->bcast_init_module);
}

static const coll_symm_steps_t bcast_steps = {.describe = describe_bcast,
                                              .next = next_bcast,
                                              .carry_out = coll_symm_move,
                                              .start_next = start_bcast,
                                              .init_next = init_bcast};

int mca_coll_symm_bcast(void *buffer, int count, ompi_datatype_t *datatype, int root,
                        ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    bcast_arguments_t arguments = {count, datatype, root, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &bcast_steps, &arguments, buffer,
                                buffer);
}

int mca_coll_symm_ibcast(void *buffer, int count, ompi_datatype_t *datatype, int root,
                         ompi_communicator_t *comm, ompi_request_t **request,
                         mca_coll_base_module_t *module)
{
    bcast_arguments_t arguments = {count, datatype, root, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &bcast_steps, &arguments,
                                 sizeof(arguments), buffer, buffer, request);
}

int mca_coll_symm_bcast_init(void *buffer, int count, ompi_datatype_t *datatype, int root,
                             ompi_communicator_t *comm, ompi_info_t *info, ompi_request_t **request,
                             mca_coll_base_module_t *module)
{
    bcast_arguments_t arguments = {count, datatype, root, comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &bcast_steps, &arguments,
                                    sizeof(arguments), buffer, buffer, info, request);
}
