/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Nonblocking collectives: the course of a blocking one in steps that never wait, driven by MPI
 * progress (coll_symm_progress.c).
 *
 * NOTE order. Nonblocking calls of a communicator are numbered apart from the blocking ones, their
 * plans are chosen in the order of the numbers, and those that the next component carries out are
 * passed on in this order, too. So they reach it alike on all ranks: on the relay, where nothing
 * else is.
 *
 * NOTE scratch. Blocking calls come between at any time, so nonblocking ones have a scratch of
 * their own, in which they take turns, again in the order of their numbers. It cannot be made here,
 * where nothing may wait: who misses it goes to the next component, and has a blocking call make
 * it. Some ranks may have it before others choose a plan, so each rank shows whether it does. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_device.h"
#include "symm_log.h"

#include <stdalign.h>

struct coll_symm_pending {
    symm_ompi_collective_request_t super;
    coll_symm_active_t active;
    coll_symm_call_t call;
    coll_symm_work_t work;
    coll_symm_stages_t stages;
    symm_mapping_t *mapping; /* whose queue has its work, NULL for none */
    ompi_request_t *inner;   /* of the next component */
    uint64_t pass;           /* its number among those that are passed on */
    uint64_t scratch_turn; /* its number among those that work through scratch, 0 if it does not */
    alignas(max_align_t) unsigned char arguments[COLL_SYMM_ARGUMENTS_MAX];
};

static void construct(coll_symm_pending_t *pending)
{
    size_t from = offsetof(coll_symm_pending_t, super.retained);
    memset((char *) pending + from, 0, sizeof(*pending) - from);
}

static void destruct(coll_symm_pending_t *pending)
{
    coll_symm_work_free(&pending->work);
    coll_symm_stages_free(&pending->stages);
}

OBJ_CLASS_INSTANCE(coll_symm_pending_t, ompi_request_t, construct, destruct);

static const symm_exchange_t *exchange_of(const coll_symm_pending_t *pending)
{
    return &pending->call.module->comm->exchange;
}

/* Whether all ranks have left the call that had the place in the ring before. */
static bool place_is_free(const coll_symm_pending_t *pending)
{
    coll_symm_call_t older = pending->call;
    if (SYMM_PENDING_MAX >= older.number) {
        return true;
    }
    older.number -= SYMM_PENDING_MAX;
    for (int r = 0; r < exchange_of(pending)->size; ++r) {
        if (!coll_symm_call_has_left(&older, r)) {
            return false;
        }
    }
    return true;
}

static bool all_seen(const coll_symm_pending_t *pending)
{
    const symm_exchange_t *exchange = exchange_of(pending);
    for (int r = 0; r < exchange->size; ++r) {
        if (r != exchange->rank && !coll_symm_call_seen(&pending->call, r)) {
            return false;
        }
    }
    return true;
}

/* Whether all ranks have left; the first failure among them becomes the call's outcome. */
static bool all_left(coll_symm_pending_t *pending)
{
    int agreed = MPI_SUCCESS;
    for (int r = 0; r < exchange_of(pending)->size; ++r) {
        if (!coll_symm_call_has_left(&pending->call, r)) {
            return false;
        }
        agreed = MPI_SUCCESS == agreed ? coll_symm_call_left_code(&pending->call, r) : agreed;
    }
    pending->active.rc =
        coll_symm_is_broken(pending->call.module->comm) ? COLL_SYMM_BROKEN : agreed;
    return true;
}

static bool all_arrived(const coll_symm_pending_t *pending)
{
    for (int r = 0; r < exchange_of(pending)->size; ++r) {
        if (!coll_symm_call_has_arrived(&pending->call, r)) {
            return false;
        }
    }
    return true;
}

static coll_symm_phase_t leave(coll_symm_pending_t *pending, coll_symm_phase_t then)
{
    coll_symm_call_leave(&pending->call, pending->active.rc);
    return then;
}

/* Starts the next component's nonblocking call, on the relay when the call was agreed on. */
static coll_symm_phase_t pass(coll_symm_pending_t *pending)
{
    const coll_symm_call_t *call = &pending->call;
    const mca_coll_symm_module_t *module = call->module;
    const coll_symm_next_t *functions = &module->next;
    ompi_communicator_t *comm = module->ompi_comm;
    if (0 < call->number) {
        comm = module->comm->relay;
        functions = &((const mca_coll_symm_module_t *) comm->c_coll->coll_iallreduce_module)->next;
    }
    pending->active.rc = call->steps->start_next(call, functions, pending->stages.send.host,
                                                 pending->stages.recv.host, comm, &pending->inner);
    return MPI_SUCCESS == pending->active.rc ? COLL_SYMM_PHASE_PASSED : COLL_SYMM_PHASE_DONE;
}

/* Host copies for the next component, where there are any to make. */
static coll_symm_phase_t prepare_pass(coll_symm_pending_t *pending)
{
    coll_symm_call_t *call = &pending->call;
    pending->pass = ++call->module->pending_passes;
    pending->active.rc = coll_symm_stages_in(&pending->stages, call);
    return leave(pending, COLL_SYMM_PHASE_TURN);
}

/* To the next component in turn, once all ranks have made their copies. */
static coll_symm_phase_t pass_in_turn(coll_symm_pending_t *pending)
{
    mca_coll_symm_module_t *module = pending->call.module;
    if (module->pending_passed + 1 != pending->pass || !all_left(pending)) {
        return COLL_SYMM_PHASE_TURN;
    }
    module->pending_passed = pending->pass;
    return MPI_SUCCESS == pending->active.rc ? pass(pending) : COLL_SYMM_PHASE_DONE;
}

/* Starts a round of the plan's work, unless one has failed. */
static coll_symm_phase_t start_round(coll_symm_pending_t *pending)
{
    coll_symm_call_t *call = &pending->call;
    pending->mapping = NULL;
    pending->active.rc =
        MPI_SUCCESS == pending->active.rc ? call->steps->carry_out(call) : pending->active.rc;
    if (0 == call->round) {
        coll_symm_report(call);
    }
    return COLL_SYMM_PHASE_RUNNING;
}

/* In turn, once all ranks are done with what the calls before it have in the scratch. */
static coll_symm_phase_t start_in_turn(coll_symm_pending_t *pending)
{
    bool turn = pending->call.module->scratch_done + 1 == pending->scratch_turn;
    return turn ? start_round(pending) : COLL_SYMM_PHASE_SCRATCH;
}

/* The plan that was chosen is no work here. */
static coll_symm_phase_t begin_nothing(coll_symm_pending_t *pending)
{
    const coll_symm_call_t *call = &pending->call;
    coll_symm_report(&pending->call);
    if (COLL_SYMM_PASS == call->plan.path) {
        return prepare_pass(pending);
    }
    coll_symm_report_mismatch(call);
    pending->active.rc = call->plan.code;
    return leave(pending, COLL_SYMM_PHASE_DONE);
}

/* Chooses the plan and starts its work. */
static coll_symm_phase_t begin(coll_symm_pending_t *pending)
{
    coll_symm_call_t *call = &pending->call;
    mca_coll_symm_module_t *module = call->module;
    if (coll_symm_is_broken(module->comm)) {
        pending->active.rc = COLL_SYMM_BROKEN;
        return COLL_SYMM_PHASE_DONE;
    }
    coll_symm_call_choose(call);
    module->pending_decided = call->number;
    module->misses_scratch = module->misses_scratch || call->plan.misses_scratch;
    if (COLL_SYMM_MISMATCH == call->plan.path || COLL_SYMM_PASS == call->plan.path) {
        return begin_nothing(pending);
    }
    if (coll_symm_path_uses_scratch(call->plan.path)) {
        pending->scratch_turn = ++module->scratch_turns;
        return COLL_SYMM_PHASE_SCRATCH;
    }
    return start_round(pending);
}

/* After a round's work on the device. */
static coll_symm_phase_t end_round(coll_symm_pending_t *pending)
{
    const coll_symm_call_t *call = &pending->call;
    if (call->round < call->last_round) {
        coll_symm_call_arrive(call);
        return COLL_SYMM_PHASE_STEP;
    }
    return leave(pending,
                 coll_symm_call_is_alone(call) ? COLL_SYMM_PHASE_DONE : COLL_SYMM_PHASE_LEFT);
}

static coll_symm_phase_t next_round(coll_symm_pending_t *pending)
{
    if (!all_arrived(pending)) {
        return COLL_SYMM_PHASE_STEP;
    }
    if (coll_symm_is_broken(pending->call.module->comm)) {
        pending->active.rc = COLL_SYMM_BROKEN;
        return COLL_SYMM_PHASE_DONE;
    }
    ++pending->call.round;
    return start_round(pending);
}

/* After the last round: the scratch is free for the next once all have left. */
static coll_symm_phase_t end_work(coll_symm_pending_t *pending)
{
    if (!all_left(pending)) {
        return COLL_SYMM_PHASE_LEFT;
    }
    if (0 < pending->scratch_turn) {
        pending->call.module->scratch_done = pending->scratch_turn;
    }
    return COLL_SYMM_PHASE_DONE;
}

static coll_symm_phase_t look_at_device(coll_symm_pending_t *pending)
{
    const symm_mapping_t *mapping = pending->mapping;
    bool done = true;
    int rc = NULL == mapping ? MPI_SUCCESS : mapping->ops->queue_test(mapping->queue, &done);
    pending->active.rc = MPI_SUCCESS == pending->active.rc ? rc : pending->active.rc;
    return done ? end_round(pending) : COLL_SYMM_PHASE_RUNNING;
}

static coll_symm_phase_t look_at_inner(coll_symm_pending_t *pending)
{
    if (!REQUEST_COMPLETE(pending->inner)) {
        return COLL_SYMM_PHASE_PASSED;
    }
    pending->active.rc = pending->inner->req_status.MPI_ERROR;
    (void) ompi_request_free(&pending->inner); /* complete: this cannot fail */
    if (MPI_SUCCESS == pending->active.rc) {
        pending->active.rc = coll_symm_stages_out(&pending->stages);
    }
    return COLL_SYMM_PHASE_DONE;
}

static coll_symm_pending_t *pending_of(coll_symm_active_t *active)
{
    return (coll_symm_pending_t *) (void *) ((char *) active -
                                             offsetof(coll_symm_pending_t, active));
}

/* The phase that follows, or the same when there is something to wait for. */
static coll_symm_phase_t next_phase(coll_symm_active_t *active)
{
    coll_symm_pending_t *pending = pending_of(active);
    const coll_symm_call_t *call = &pending->call;
    switch (pending->active.phase) {
    case COLL_SYMM_PHASE_WAITING:
        if (place_is_free(pending)) {
            coll_symm_call_show(call);
            return COLL_SYMM_PHASE_SHOWN;
        }
        return COLL_SYMM_PHASE_WAITING;
    case COLL_SYMM_PHASE_SHOWN:
        return call->module->pending_decided + 1 == call->number && all_seen(pending)
                   ? begin(pending)
                   : COLL_SYMM_PHASE_SHOWN;
    case COLL_SYMM_PHASE_SCRATCH:
        return start_in_turn(pending);
    case COLL_SYMM_PHASE_RUNNING:
        return look_at_device(pending);
    case COLL_SYMM_PHASE_STEP:
        return next_round(pending);
    case COLL_SYMM_PHASE_LEFT:
        return end_work(pending);
    case COLL_SYMM_PHASE_TURN:
        return pass_in_turn(pending);
    case COLL_SYMM_PHASE_PASSED:
        return look_at_inner(pending);
    case COLL_SYMM_PHASE_BEGIN: /* of persistent calls alone */
    case COLL_SYMM_PHASE_DONE:
        break;
    }
    return COLL_SYMM_PHASE_DONE;
}

/* Of a call that waits for others of this rank, and of no rank therefore. */
static bool nobody_is_awaited(const coll_symm_call_t *call, int rank)
{
    (void) call;
    (void) rank;
    return true;
}

/* What the phase waits for the other ranks to do, NULL when it does not. */
static coll_symm_has_come_fn_t *awaited_in(coll_symm_phase_t phase)
{
    switch (phase) {
    case COLL_SYMM_PHASE_WAITING:
    case COLL_SYMM_PHASE_SCRATCH:
        return nobody_is_awaited;
    case COLL_SYMM_PHASE_SHOWN:
        return coll_symm_call_seen;
    case COLL_SYMM_PHASE_STEP:
        return coll_symm_call_has_arrived;
    case COLL_SYMM_PHASE_LEFT:
    case COLL_SYMM_PHASE_TURN:
        return coll_symm_call_has_left;
    default:
        return NULL;
    }
}

static int free_request(ompi_request_t **request_p)
{
    coll_symm_pending_t *pending = (coll_symm_pending_t *) *request_p;
    OMPI_REQUEST_FINI(&pending->super.super);
    OBJ_RELEASE(pending);
    *request_p = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static void init_request(ompi_request_t *request, ompi_communicator_t *comm)
{
    OMPI_REQUEST_INIT(request, false);
    request->req_type = OMPI_REQUEST_COLL;
    request->req_state = OMPI_REQUEST_ACTIVE;
    request->req_status = ompi_status_empty;
    request->req_free = free_request;
    request->req_mpi_object.comm = comm;
}

/* NULL when memory is short. */
static coll_symm_pending_t *create(mca_coll_symm_module_t *module, const coll_symm_steps_t *steps,
                                   const void *arguments, size_t len, const void *sbuf, void *rbuf)
{
    coll_symm_pending_t *pending = OBJ_NEW(coll_symm_pending_t);
    if (NULL == pending) {
        return NULL;
    }
    if (MPI_SUCCESS != coll_symm_work_create(&pending->work, module->comm->exchange.size)) {
        OBJ_RELEASE(pending);
        return NULL;
    }
    memcpy(pending->arguments, arguments, len);
    pending->call = (coll_symm_call_t){.module = module,
                                       .steps = steps,
                                       .mode = COLL_SYMM_NONBLOCKING,
                                       .arguments = pending->arguments,
                                       .sbuf = sbuf,
                                       .rbuf = rbuf,
                                       .work = &pending->work,
                                       .pending = pending};
    pending->active.call = &pending->call;
    pending->active.request = &pending->super.super;
    pending->active.next_phase = next_phase;
    pending->active.awaited_in = awaited_in;
    init_request(&pending->super.super, module->ompi_comm);
    return pending;
}

void coll_symm_pending_note(coll_symm_pending_t *pending, symm_mapping_t *mapping)
{
    pending->mapping = mapping;
}

/* Where nothing can be agreed on, which all ranks know: this rank's GPU buffers are staged, and the
 * next component's call follows at once, in the program's order. */
static void start_unagreed(coll_symm_pending_t *pending)
{
    pending->active.rc = coll_symm_stages_in(&pending->stages, &pending->call);
    pending->active.phase =
        MPI_SUCCESS == pending->active.rc ? pass(pending) : COLL_SYMM_PHASE_DONE;
}

/* Shows the call to the others, and goes on as far as it can. */
static void start(coll_symm_pending_t *pending)
{
    mca_coll_symm_module_t *module = pending->call.module;
    const symm_comm_t *comm = module->comm;
    coll_symm_call_place(&pending->call);
    if (COLL_SYMM_NONE != pending->call.mine.collective &&
        0 < atomic_load_explicit(&comm->live_windows, memory_order_relaxed) &&
        NULL != comm->control) {
        pending->call.number = ++module->pending_calls;
    } else {
        start_unagreed(pending);
    }
    coll_symm_progress_add(&pending->active, coll_symm_descriptor_on_gpu(&pending->call.mine));
}

int coll_symm_pending_run(mca_coll_symm_module_t *module, const coll_symm_steps_t *steps,
                          const void *arguments, size_t len, const void *sbuf, void *rbuf,
                          ompi_request_t **request_p)
{
    if (coll_symm_asleep(module) || module->comm->ruled_out) {
        coll_symm_call_t call = {.module = module, .arguments = arguments};
        return steps->start_next(&call, &module->next, sbuf, rbuf, module->ompi_comm, request_p);
    }
    coll_symm_pending_t *pending = create(module, steps, arguments, len, sbuf, rbuf);
    if (NULL == pending) {
        return MPI_ERR_NO_MEM;
    }
    steps->describe(&pending->call);
    *request_p = &pending->super.super;
    start(pending);
    return MPI_SUCCESS;
}
