/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Blocking MPI_Barrier: the agreement is one. */
#include "symm_config.h"

#include "coll_symm.h"

typedef struct barrier_arguments {
    ompi_communicator_t *comm;
} barrier_arguments_t;

static int call_barrier(const mca_coll_symm_module_t *module, const barrier_arguments_t *a)
{
    return module->next.barrier(a->comm, module->next.barrier_module);
}

static int next_barrier(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    (void) sbuf;
    (void) rbuf;
    return call_barrier(call->module, call->arguments);
}

int mca_coll_symm_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    static const coll_symm_steps_t steps = {.next = next_barrier, .carry_out = coll_symm_move};
    mca_coll_symm_module_t *symm = (mca_coll_symm_module_t *) module;
    barrier_arguments_t arguments = {comm};
    if (coll_symm_asleep(symm)) {
        return call_barrier(symm, &arguments);
    }
    coll_symm_call_t call = {.module = symm, .steps = &steps, .arguments = &arguments};
    call.mine.collective = COLL_SYMM_BARRIER;
    return coll_symm_call_run(&call);
}
