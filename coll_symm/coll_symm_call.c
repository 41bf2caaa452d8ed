/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The course that every collective takes, from its description to the report. */
#include "symm_config.h"

#include "coll_symm.h"

bool coll_symm_call_input(coll_symm_call_t *call, const void *buf, size_t count,
                          const ompi_datatype_t *datatype, size_t len)
{
    ptrdiff_t start;
    size_t bytes;
    call->send_len = symm_ompi_span(datatype, count, &start);
    call->send = (const char *) buf + start;
    return symm_ompi_contiguous(datatype, count, &start, &bytes) && bytes == len;
}

bool coll_symm_call_output(coll_symm_call_t *call, void *buf, size_t count,
                           const ompi_datatype_t *datatype, size_t len)
{
    ptrdiff_t start;
    size_t bytes;
    call->recv_len = symm_ompi_span(datatype, count, &start);
    call->recv = (char *) buf + start;
    return symm_ompi_contiguous(datatype, count, &start, &bytes) && bytes == len;
}

/* Makes the scratch if the plan needs it, or lets the next component do the call where it cannot be
 * had: on all ranks alike. */
static void provide_scratch(coll_symm_call_t *call)
{
    mca_coll_symm_module_t *module = call->module;
    symm_comm_t *comm = module->comm;
    if (COLL_SYMM_COPY_SCRATCH != call->plan.path || NULL != comm->scratch) {
        return;
    }
    size_t bytes = (size_t) module->policy.scratch_bytes;
    comm->scratch_failed =
        comm->scratch_failed ||
        MPI_SUCCESS != symm_comm_make_scratch(comm, bytes, "the scratch of collectives");
    call->plan.path = comm->scratch_failed ? COLL_SYMM_PASS : call->plan.path;
}

static int carry_out(coll_symm_call_t *call)
{
    if (COLL_SYMM_MISMATCH == call->plan.path) {
        coll_symm_report_mismatch(call);
        return call->plan.code;
    }
    return COLL_SYMM_PASS == call->plan.path ? coll_symm_pass_on(call, true)
                                             : call->steps->carry_out(call);
}

int coll_symm_call_run(coll_symm_call_t *call)
{
    bool agreed = coll_symm_call_open(call->module);
    coll_symm_call_place(call);
    if (!agreed) {
        return coll_symm_pass_on(call, false);
    }
    coll_symm_call_begin(call);
    provide_scratch(call);
    int rc = carry_out(call);
    coll_symm_report(call);
    return rc;
}
