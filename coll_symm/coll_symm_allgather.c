/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Blocking MPI_Allgather: copies only, on GPUs by the copy engines with no multiprocessor in use.
 */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_copy.h"
#include "symm_device.h"

#include <string.h>

/* The arguments, to pass on. */
typedef struct arguments {
    const void *sbuf;
    int scount;
    ompi_datatype_t *sdtype;
    void *rbuf;
    int rcount;
    ompi_datatype_t *rdtype;
    ompi_communicator_t *comm;
} arguments_t;

static int call_next(const mca_coll_symm_module_t *module, const arguments_t *a, const void *sbuf,
                     void *rbuf)
{
    return module->next_allgather(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->comm,
                                  module->next_allgather_module);
}

/* The next component's allgather, on host copies where this rank's buffers are on a GPU. */
static int pass_on(coll_symm_call_t *call, const arguments_t *a)
{
    const mca_coll_symm_module_t *module = call->module;
    if (!call->plan.stage) {
        return call_next(module, a, a->sbuf, a->rbuf);
    }
    coll_symm_stage_t send, recv;
    bool in_place = MPI_IN_PLACE == a->sbuf;
    bool device_send = !in_place && coll_symm_is_device(call->mine.send_place);
    size_t total = (size_t) a->rcount * (size_t) module->comm->exchange.size;
    int rc = coll_symm_stage_in(&send, a->sbuf, in_place ? 0 : (size_t) a->scount,
                                in_place ? a->rdtype : a->sdtype, device_send, true);
    int rc2 = coll_symm_stage_in(&recv, a->rbuf, total, a->rdtype,
                                 coll_symm_is_device(call->mine.recv_place), true);
    /* A rank that cannot stage must not stay away while the others wait in the next component. */
    rc = coll_symm_call_end(call, MPI_SUCCESS == rc ? rc2 : rc);
    if (MPI_SUCCESS == rc) {
        rc = call_next(module, a, in_place ? MPI_IN_PLACE : send.host, recv.host);
        rc = OMPI_SUCCESS == rc ? coll_symm_stage_out(&recv) : rc;
        rc = coll_symm_call_end_again(call, rc);
    }
    coll_symm_stage_end(&send);
    coll_symm_stage_end(&recv);
    return rc;
}

/* Low latency: the contributions are in the slots already. */
static int copy_slots(const coll_symm_call_t *call)
{
    int size = call->module->comm->exchange.size;
    size_t bytes = (size_t) call->mine.bytes;
    for (int r = 0; r < size; ++r) {
        memcpy((char *) call->recv + (size_t) r * bytes, coll_symm_call_payload_of(call, r), bytes);
    }
    return MPI_SUCCESS;
}

/* Copies this rank's contribution into rank's output. Its own goes on the other lane, so that it
 * does not wait behind the copies to peers. */
static int push_to(coll_symm_call_t *call, const symm_mapping_t *mapping, int rank)
{
    int me = call->module->comm->exchange.rank;
    size_t bytes = (size_t) call->mine.bytes;
    char *output = coll_symm_call_recv_of(call, rank);
    if (NULL == output) {
        return MPI_ERR_INTERN;
    }
    char *dst = output + (size_t) me * bytes;
    if (dst == call->send) {
        return MPI_SUCCESS; /* in place */
    }
    symm_lane_t lane = rank == me ? SYMM_LANE_LOCAL : SYMM_LANE_MAIN;
    return mapping->ops->copy(mapping->queue, lane, dst, call->send, bytes);
}

/* Copies rank's contribution into this rank's output. */
static int pull_from(coll_symm_call_t *call, const symm_mapping_t *mapping, int rank)
{
    int me = call->module->comm->exchange.rank;
    size_t bytes = (size_t) call->mine.bytes;
    const void *src = coll_symm_call_send_of(call, rank);
    char *dst = (char *) call->recv + (size_t) rank * bytes;
    if (NULL == src) {
        return MPI_ERR_INTERN;
    }
    if (dst == src) {
        return MPI_SUCCESS; /* in place */
    }
    symm_lane_t lane = rank == me ? SYMM_LANE_LOCAL : SYMM_LANE_MAIN;
    return mapping->ops->copy(mapping->queue, lane, dst, src, bytes);
}

/* Starts all copies and waits for them. Peers are taken in turn from the own rank on, so that not
 * all ranks work on the same one. */
static int copy_all(coll_symm_call_t *call)
{
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    const symm_mapping_t *mapping = coll_symm_call_mapping(call);
    bool push = COLL_SYMM_COPY_PUSH == call->plan.path;
    if (NULL == mapping) {
        return MPI_ERR_INTERN;
    }
    int rc = MPI_SUCCESS;
    for (int i = 0; MPI_SUCCESS == rc && i < exchange->size; ++i) {
        int rank = (exchange->rank + 1 + i) % exchange->size;
        rc = push ? push_to(call, mapping, rank) : pull_from(call, mapping, rank);
    }
    int waited = mapping->ops->queue_wait(mapping->queue); /* also for what a failure left behind */
    return MPI_SUCCESS == rc ? waited : rc;
}

/* The plan's work on this rank, the barrier behind it where one is needed included. */
static int carry_out(coll_symm_call_t *call)
{
    switch (call->plan.path) {
    case COLL_SYMM_MISMATCH:
        coll_symm_report_mismatch(call);
        return call->plan.code;
    case COLL_SYMM_PUSH_SLOT:
        return copy_slots(call);
    case COLL_SYMM_LOCAL:
        return call->send == call->recv
                   ? MPI_SUCCESS
                   : symm_copy_blocking(call->recv, call->send, (size_t) call->mine.bytes);
    case COLL_SYMM_COPY_PUSH:
    case COLL_SYMM_COPY_PULL:
        return coll_symm_call_end(call, copy_all(call));
    default:
        return MPI_ERR_INTERN; /* no other path is chosen for this collective */
    }
}

/* Whether count elements are one gap-free run of len bytes. */
static bool is_run_of(const ompi_datatype_t *datatype, size_t count, size_t len)
{
    ptrdiff_t start;
    size_t bytes;
    return symm_ompi_contiguous(datatype, count, &start, &bytes) && bytes == len;
}

static void describe(coll_symm_call_t *call, const arguments_t *a)
{
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    bool in_place = MPI_IN_PLACE == a->sbuf;
    size_t total_count = (size_t) a->rcount * (size_t) exchange->size;
    size_t bytes = (size_t) a->rcount * a->rdtype->super.size;
    size_t send_span = bytes;
    ptrdiff_t start;
    size_t recv_span = symm_ompi_span(a->rdtype, total_count, &start);
    call->recv = (char *) a->rbuf + start;
    call->send = (char *) call->recv + (size_t) exchange->rank * bytes;
    bool known = is_run_of(a->rdtype, total_count, bytes * (size_t) exchange->size);
    if (!in_place) {
        send_span = symm_ompi_span(a->sdtype, (size_t) a->scount, &start);
        call->send = (const char *) a->sbuf + start;
        known = known && is_run_of(a->sdtype, (size_t) a->scount, bytes);
    }
    call->mine.collective = COLL_SYMM_ALLGATHER;
    call->mine.algorithm = (uint8_t) mca_coll_symm_component.algorithm;
    call->mine.flags =
        (uint8_t) ((in_place ? COLL_SYMM_IN_PLACE : 0) | (known ? 0 : COLL_SYMM_UNSUPPORTED));
    call->mine.bytes = bytes;
    coll_symm_call_place(call, send_span, recv_span);
}

int mca_coll_symm_allgather(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                            int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                            mca_coll_base_module_t *module)
{
    mca_coll_symm_module_t *symm = (mca_coll_symm_module_t *) module;
    arguments_t arguments = {sbuf, scount, sdtype, rbuf, rcount, rdtype, comm};
    if (0 == atomic_load_explicit(&symm->comm->live_windows, memory_order_relaxed)) {
        return call_next(symm, &arguments, sbuf, rbuf);
    }
    coll_symm_call_t call = {.module = symm};
    describe(&call, &arguments);
    coll_symm_call_begin(&call);
    int rc = COLL_SYMM_PASS == call.plan.path ? pass_on(&call, &arguments) : carry_out(&call);
    coll_symm_report(&call);
    return rc;
}
