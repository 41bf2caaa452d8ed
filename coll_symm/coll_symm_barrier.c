/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Barrier: the agreement is one. */
#include "symm_config.h"

#include "coll_symm_functions.h"

typedef struct barrier_arguments {
    ompi_communicator_t *comm;
} barrier_arguments_t;

static int next_barrier(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const barrier_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    (void) sbuf;
    (void) rbuf;
    return functions->barrier(a->comm, functions->barrier_module);
}

static void describe_barrier(coll_symm_call_t *call)
{
    call->mine.collective = COLL_SYMM_BARRIER;
}

static int start_barrier(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                         const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                         ompi_request_t **request_p)
{
    (void) call;
    (void) sbuf;
    (void) rbuf;
    return functions->ibarrier(comm, request_p, functions->ibarrier_module);
}

static int init_barrier(const coll_symm_call_t *call, const void *sbuf, void *rbuf,
                        ompi_info_t *info, ompi_request_t **request_p)
{
    const barrier_arguments_t *a = call->arguments;
    const coll_symm_next_t *functions = &call->module->next;
    (void) sbuf;
    (void) rbuf;
    return functions->barrier_init(a->comm, info, request_p, functions->barrier_init_module);
}

static const coll_symm_steps_t barrier_steps = {.describe = describe_barrier,
                                                .next = next_barrier,
                                                .carry_out = coll_symm_move,
                                                .start_next = start_barrier,
                                                .init_next = init_barrier};

int mca_coll_symm_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    barrier_arguments_t arguments = {comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &barrier_steps, &arguments, NULL,
                                NULL);
}

int mca_coll_symm_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                           mca_coll_base_module_t *module)
{
    barrier_arguments_t arguments = {comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &barrier_steps, &arguments,
                                 sizeof(arguments), NULL, NULL, request);
}

int mca_coll_symm_barrier_init(ompi_communicator_t *comm, ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module)
{
    barrier_arguments_t arguments = {comm};
    return coll_symm_persistent_run((mca_coll_symm_module_t *) module, &barrier_steps, &arguments,
                                    sizeof(arguments), NULL, NULL, info, request);
}
