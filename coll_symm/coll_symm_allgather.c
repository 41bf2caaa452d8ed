/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Blocking MPI_Allgather. */
#include "symm_config.h"

#include "coll_symm.h"

/* The arguments, to pass on. */
typedef struct arguments {
    int scount;
    ompi_datatype_t *sdtype;
    int rcount;
    ompi_datatype_t *rdtype;
    ompi_communicator_t *comm;
} arguments_t;

static int call_next(const mca_coll_symm_module_t *module, const arguments_t *a, const void *sbuf,
                     void *rbuf)
{
    return module->next.allgather(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->comm,
                                  module->next.allgather_module);
}

static int next(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    return call_next(call->module, call->arguments, sbuf, rbuf);
}

static void describe(coll_symm_call_t *call, const arguments_t *a)
{
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

int mca_coll_symm_allgather(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                            int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                            mca_coll_base_module_t *module)
{
    static const coll_symm_steps_t steps = {next, coll_symm_move};
    mca_coll_symm_module_t *symm = (mca_coll_symm_module_t *) module;
    arguments_t arguments = {scount, sdtype, rcount, rdtype, comm};
    if (coll_symm_asleep(symm)) {
        return call_next(symm, &arguments, sbuf, rbuf);
    }
    coll_symm_call_t call = {
        .module = symm, .steps = &steps, .arguments = &arguments, .sbuf = sbuf, .rbuf = rbuf};
    describe(&call, &arguments);
    return coll_symm_call_run(&call);
}
