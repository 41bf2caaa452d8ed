/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Persistent collectives. Their initialisation is a collective call that may wait: there the plan
 * is agreed on, and all that is work is made ready, round by round. A start shows that this rank
 * has come, has that work done once all have, and ends as any call does; all of this driven by MPI
 * progress (coll_symm_progress.c).
 *
 * NOTE order. Ranks may start their requests in different orders (MPI-4.0, 6.13: "Once initialized,
 * persistent collective operations can be started in any order and the order can differ among
 * processes"). So each request has a place of its own, memory that its ranks share, with a count of
 * its starts; and a scratch of its own where its plan needs any. What MPI does demand we rely on:
 * initialisations come in the same order on all ranks, each rank starts a request as often as the
 * others, and none anew before its last start is complete. A rank's place is written for a start
 * once all ranks have left the one before.
 *
 * NOTE the next component. What no plan serves it does by its own persistent request: as that is
 * where all buffers are good for it, else on host copies that are kept and renewed with each start.
 *
 * NOTE windows. When a window is freed that some rank's buffers lie in, what was made ready is
 * discarded. A later start ends in MPI_ERR_BUFFER on all ranks, which have all freed it.
 *
 * Arrays of counts, displacements and datatypes belong to the program, which keeps them until it
 * frees the request (MPI-4.0, 6.13). */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_device.h"
#include "symm_log.h"
#include "symm_shm.h"
#include "symm_stats.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>

static const char what[] = "the initialisation of a persistent collective";

struct coll_symm_persistent {
    symm_ompi_collective_request_t super;
    coll_symm_active_t active;
    coll_symm_persistent_t *next; /* of the module's */
    coll_symm_call_t call; /* as agreed on; places is NULL where nothing is. The number counts the
                            * starts. Without a module its communicator has gone */
    coll_symm_rounds_t rounds;    /* none when the next component does the work */
    coll_symm_stages_t stages;    /* for the next component */
    ompi_request_t *inner;        /* its request */
    symm_window_watch_t *watches; /* one for each window that some buffer lies in */
    int watch_count;
    bool gone; /* one of these was freed */
    alignas(max_align_t) unsigned char arguments[COLL_SYMM_ARGUMENTS_MAX];
};

static void construct(coll_symm_persistent_t *persistent)
{
    size_t from = offsetof(coll_symm_persistent_t, super.retained);
    memset((char *) persistent + from, 0, sizeof(*persistent) - from);
}

OBJ_CLASS_INSTANCE(coll_symm_persistent_t, ompi_request_t, construct, NULL);

/* Of the lists of all modules. */
static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;

static const symm_exchange_t *exchange_of(const coll_symm_persistent_t *persistent)
{
    return &persistent->call.module->comm->exchange;
}

static size_t places_len(const coll_symm_call_t *call)
{
    return (size_t) call->module->comm->exchange.size * sizeof(symm_pending_t);
}

/* ---- a start ---- */

static bool has_shown(const coll_symm_call_t *call, int rank)
{
    /* Acquire pairs with the release in show(). */
    return call->number <=
           atomic_load_explicit(&call->places[rank].slot.call, memory_order_acquire);
}

static bool has_left(const coll_symm_call_t *call, int rank)
{
    /* Acquire pairs with the release in leave(): the code, and what rank wrote into our buffers. */
    return call->number <= atomic_load_explicit(&call->places[rank].left, memory_order_acquire);
}

/* The start before. */
static bool has_left_before(const coll_symm_call_t *call, int rank)
{
    return call->number - 1 <= atomic_load_explicit(&call->places[rank].left, memory_order_acquire);
}

static bool has_stepped(const coll_symm_call_t *call, int rank)
{
    /* Acquire pairs with the release in end_round(). */
    return call->round < atomic_load_explicit(&call->places[rank].step, memory_order_acquire);
}

static bool have_all(const coll_symm_persistent_t *persistent, coll_symm_has_come_fn_t *has_come)
{
    bool all = true;
    for (int r = 0; all && r < exchange_of(persistent)->size; ++r) {
        all = has_come(&persistent->call, r);
    }
    return all;
}

static bool is_broken(const coll_symm_persistent_t *persistent)
{
    return coll_symm_is_broken(persistent->call.module->comm);
}

static coll_symm_phase_t leave(coll_symm_persistent_t *persistent)
{
    const coll_symm_call_t *call = &persistent->call;
    if (NULL == call->places) {
        return COLL_SYMM_PHASE_DONE;
    }
    symm_pending_t *own = &call->places[exchange_of(persistent)->rank];
    own->left_code = persistent->active.rc;
    /* Release: what this rank wrote into the others' buffers comes before its leaving. */
    atomic_store_explicit(&own->left, call->number, memory_order_release);
    bool alone = !persistent->gone && coll_symm_call_is_alone(call);
    return alone ? COLL_SYMM_PHASE_DONE : COLL_SYMM_PHASE_LEFT;
}

/* Shows that this rank has come, with its input where that is to travel in the slot. */
static coll_symm_phase_t show(const coll_symm_persistent_t *persistent)
{
    const coll_symm_call_t *call = &persistent->call;
    symm_pending_t *own = &call->places[exchange_of(persistent)->rank];
    if (COLL_SYMM_PUSH_SLOT == call->plan.path && !persistent->gone && 0 < call->send_len) {
        memcpy(own->slot.payload, call->send, call->send_len);
    }
    atomic_store_explicit(&own->step, 0, memory_order_relaxed);
    /* Release: that, and the input, in the slot or in the program's buffer. */
    atomic_store_explicit(&own->slot.call, call->number, memory_order_release);
    return COLL_SYMM_PHASE_SHOWN;
}

/* Starts the next component's request, also when making the copies failed here: the others have
 * begun, or will. */
static coll_symm_phase_t pass(coll_symm_persistent_t *persistent)
{
    persistent->active.rc = coll_symm_stages_renew(&persistent->stages);
    SYMM_COUNT(persistent_staged, 1);
    int rc = persistent->inner->req_start(1, &persistent->inner);
    if (OMPI_SUCCESS != rc) {
        persistent->active.rc = rc;
        return leave(persistent);
    }
    return COLL_SYMM_PHASE_PASSED;
}

/* Starts a round of the work, unless one has failed. */
static coll_symm_phase_t start_round(coll_symm_persistent_t *persistent)
{
    if (MPI_SUCCESS == persistent->active.rc) {
        persistent->active.rc =
            coll_symm_rounds_replay(&persistent->rounds, persistent->call.round);
    }
    return COLL_SYMM_PHASE_RUNNING;
}

static coll_symm_phase_t begin(coll_symm_persistent_t *persistent)
{
    if (NULL != persistent->call.places && is_broken(persistent)) {
        persistent->active.rc = COLL_SYMM_BROKEN;
        return COLL_SYMM_PHASE_DONE;
    }
    if (persistent->gone) {
        symm_log(SYMM_LOG_ERROR,
                 "a persistent %s was started after a window with its buffers was freed; free the "
                 "request before the window",
                 coll_symm_traits(persistent->call.mine.collective)->name);
        persistent->active.rc = MPI_ERR_BUFFER;
        return leave(persistent);
    }
    if (0 == persistent->rounds.count) {
        return pass(persistent);
    }
    coll_symm_report(&persistent->call);
    SYMM_COUNT(persistent_replayed, 1);
    persistent->call.round = 0;
    return start_round(persistent);
}

/* After a round's work on the device. */
static coll_symm_phase_t end_round(coll_symm_persistent_t *persistent)
{
    const coll_symm_call_t *call = &persistent->call;
    if (call->round == call->last_round) {
        return leave(persistent);
    }
    /* Release: what this rank wrote into the others' memory comes before its arrival. */
    atomic_store_explicit(&call->places[exchange_of(persistent)->rank].step, call->round + 1,
                          memory_order_release);
    return COLL_SYMM_PHASE_STEP;
}

static coll_symm_phase_t next_round(coll_symm_persistent_t *persistent)
{
    if (is_broken(persistent)) {
        persistent->active.rc = COLL_SYMM_BROKEN;
        return COLL_SYMM_PHASE_DONE;
    }
    ++persistent->call.round;
    return start_round(persistent);
}

static coll_symm_phase_t look_at_device(coll_symm_persistent_t *persistent)
{
    bool done;
    int rc = coll_symm_rounds_test(&persistent->rounds, &done);
    persistent->active.rc = MPI_SUCCESS == persistent->active.rc ? rc : persistent->active.rc;
    return done ? end_round(persistent) : COLL_SYMM_PHASE_RUNNING;
}

static coll_symm_phase_t look_at_inner(coll_symm_persistent_t *persistent)
{
    if (!REQUEST_COMPLETE(persistent->inner)) {
        return COLL_SYMM_PHASE_PASSED;
    }
    ompi_status_public_t status;
    int rc = ompi_request_wait(&persistent->inner, &status); /* complete: it becomes inactive */
    persistent->active.rc = MPI_SUCCESS == persistent->active.rc ? rc : persistent->active.rc;
    if (MPI_SUCCESS == persistent->active.rc) {
        persistent->active.rc = coll_symm_stages_out(&persistent->stages);
    }
    return leave(persistent);
}

/* Once all ranks have left: the first failure among them is the start's outcome. */
static coll_symm_phase_t end(coll_symm_persistent_t *persistent)
{
    const symm_pending_t *places = persistent->call.places;
    persistent->active.rc = is_broken(persistent) ? COLL_SYMM_BROKEN : MPI_SUCCESS;
    for (int r = 0; MPI_SUCCESS == persistent->active.rc && r < exchange_of(persistent)->size;
         ++r) {
        persistent->active.rc = places[r].left_code;
    }
    return COLL_SYMM_PHASE_DONE;
}

/* What the phase waits for the other ranks to do, NULL when it does not. */
static coll_symm_has_come_fn_t *awaited_in(coll_symm_phase_t phase)
{
    switch (phase) {
    case COLL_SYMM_PHASE_WAITING:
        return has_left_before;
    case COLL_SYMM_PHASE_SHOWN:
        return has_shown;
    case COLL_SYMM_PHASE_STEP:
        return has_stepped;
    case COLL_SYMM_PHASE_LEFT:
        return has_left;
    default:
        return NULL;
    }
}

static coll_symm_persistent_t *persistent_of(coll_symm_active_t *active)
{
    return (coll_symm_persistent_t *) (void *) ((char *) active -
                                                offsetof(coll_symm_persistent_t, active));
}

/* The phase that follows, or the same when there is something to wait for. */
static coll_symm_phase_t next_phase(coll_symm_active_t *active)
{
    coll_symm_persistent_t *persistent = persistent_of(active);
    coll_symm_has_come_fn_t *has_come = awaited_in(persistent->active.phase);
    if (NULL != has_come && !have_all(persistent, has_come)) {
        return persistent->active.phase;
    }
    switch (persistent->active.phase) {
    case COLL_SYMM_PHASE_WAITING:
        return show(persistent);
    case COLL_SYMM_PHASE_SHOWN:
        return COLL_SYMM_PHASE_BEGIN;
    case COLL_SYMM_PHASE_BEGIN:
        return begin(persistent);
    case COLL_SYMM_PHASE_RUNNING:
        return look_at_device(persistent);
    case COLL_SYMM_PHASE_STEP:
        return next_round(persistent);
    case COLL_SYMM_PHASE_PASSED:
        return look_at_inner(persistent);
    case COLL_SYMM_PHASE_LEFT:
        return end(persistent);
    case COLL_SYMM_PHASE_SCRATCH: /* these two of nonblocking calls alone */
    case COLL_SYMM_PHASE_TURN:
    case COLL_SYMM_PHASE_DONE:
        break;
    }
    return COLL_SYMM_PHASE_DONE;
}

static int start_one(coll_symm_persistent_t *persistent)
{
    ompi_request_t *request = &persistent->super.super;
    if (NULL == persistent->call.module) {
        return MPI_ERR_COMM;
    }
    request->req_status.MPI_ERROR = MPI_SUCCESS;
    request->req_complete = REQUEST_PENDING;
    request->req_state = OMPI_REQUEST_ACTIVE;
    ++persistent->call.number;
    persistent->active.rc = MPI_SUCCESS;
    persistent->active.phase =
        NULL == persistent->call.places ? COLL_SYMM_PHASE_BEGIN : COLL_SYMM_PHASE_WAITING;
    coll_symm_progress_add(&persistent->active,
                           coll_symm_descriptor_on_gpu(&persistent->call.mine));
    return MPI_SUCCESS;
}

static int start_all(size_t count, ompi_request_t **requests)
{
    int rc = MPI_SUCCESS;
    for (size_t i = 0; MPI_SUCCESS == rc && i < count; ++i) {
        rc = start_one((coll_symm_persistent_t *) requests[i]);
    }
    return rc;
}

/* ---- the end ---- */

/* Ends all that belongs to the communicator or is under a window. */
static void let_go(coll_symm_persistent_t *persistent)
{
    for (int i = 0; i < persistent->watch_count; ++i) {
        symm_window_unwatch(&persistent->watches[i]);
    }
    free(persistent->watches);
    persistent->watch_count = 0;
    persistent->watches = NULL;
    coll_symm_rounds_free(&persistent->rounds);
    if (NULL != persistent->inner) {
        (void) ompi_request_free(&persistent->inner); /* inactive: this cannot fail */
        persistent->inner = NULL;
    }
    coll_symm_stages_free(&persistent->stages);
    symm_mapping_destroy(persistent->call.scratch);
    symm_shm_unmap(persistent->call.places, places_len(&persistent->call));
    persistent->call.module = NULL;
}

static void link_to_module(coll_symm_persistent_t *persistent)
{
    mca_coll_symm_module_t *module = persistent->call.module;
    (void) pthread_mutex_lock(&lists_lock); /* fails only on misuse */
    persistent->next = module->persistents;
    module->persistents = persistent;
    (void) pthread_mutex_unlock(&lists_lock);
}

static void unlink_from_module(coll_symm_persistent_t *persistent)
{
    (void) pthread_mutex_lock(&lists_lock);
    coll_symm_persistent_t **link = &persistent->call.module->persistents;
    while (*link != persistent) {
        link = &(*link)->next;
    }
    *link = persistent->next;
    (void) pthread_mutex_unlock(&lists_lock);
}

void coll_symm_persistent_detach(mca_coll_symm_module_t *module)
{
    (void) pthread_mutex_lock(&lists_lock);
    while (NULL != module->persistents) {
        coll_symm_persistent_t *persistent = module->persistents;
        module->persistents = persistent->next;
        let_go(persistent);
    }
    (void) pthread_mutex_unlock(&lists_lock);
}

static void destroy(coll_symm_persistent_t *persistent)
{
    OMPI_REQUEST_FINI(&persistent->super.super);
    OBJ_RELEASE(persistent);
}

static int free_request(ompi_request_t **request_p)
{
    coll_symm_persistent_t *persistent = (coll_symm_persistent_t *) *request_p;
    if (!REQUEST_COMPLETE(*request_p)) {
        return MPI_ERR_REQUEST; /* under way: MPI forbids it */
    }
    if (NULL != persistent->call.module) {
        unlink_from_module(persistent);
        let_go(persistent);
    }
    destroy(persistent);
    *request_p = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

/* ---- the beginning ---- */

static void init_request(ompi_request_t *request, ompi_communicator_t *comm)
{
    OMPI_REQUEST_INIT(request, true);
    request->req_type = OMPI_REQUEST_COLL;
    request->req_status = ompi_status_empty;
    request->req_start = start_all;
    request->req_free = free_request;
    request->req_mpi_object.comm = comm;
}

/* Makes a request of call, with a copy of its arguments [len]. Where memory is short, that is
 * recorded. */
static coll_symm_persistent_t *create(const coll_symm_call_t *call, size_t len, symm_error_t *error)
{
    coll_symm_persistent_t *persistent = OBJ_NEW(coll_symm_persistent_t);
    if (NULL == persistent) {
        (void) symm_error_set(error, MPI_ERR_NO_MEM, "no memory for the request");
        return NULL;
    }
    memcpy(persistent->arguments, call->arguments, len);
    persistent->call = *call;
    persistent->call.arguments = persistent->arguments;
    persistent->active.call = &persistent->call;
    persistent->active.request = &persistent->super.super;
    persistent->active.next_phase = next_phase;
    persistent->active.awaited_in = awaited_in;
    init_request(&persistent->super.super, call->module->ompi_comm);
    return persistent;
}

static void window_is_gone(symm_window_watch_t *watch)
{
    coll_symm_persistent_t *persistent = watch->owner;
    persistent->gone = true;
    coll_symm_rounds_free(&persistent->rounds);
}

/* Watches the window of that serial number, unless it is 0, or watched already. */
static void watch(coll_symm_persistent_t *persistent, uint32_t serial)
{
    symm_window_t *window =
        0 == serial ? NULL : symm_comm_find_window(persistent->call.module->comm, serial);
    for (int i = 0; NULL != window && i < persistent->watch_count; ++i) {
        window = window == persistent->watches[i].window ? NULL : window;
    }
    if (NULL != window) {
        symm_window_watch_t *new_one = &persistent->watches[persistent->watch_count++];
        *new_one = (symm_window_watch_t){.owner = persistent, .gone = window_is_gone};
        symm_window_watch(window, new_one);
    }
}

static int watch_windows(coll_symm_persistent_t *persistent, symm_error_t *error)
{
    const coll_symm_descriptor_t *all = persistent->call.work->all;
    int size = exchange_of(persistent)->size;
    persistent->watches = calloc(2 * (size_t) size, sizeof(*persistent->watches));
    if (NULL == persistent->watches) {
        return symm_error_set(error, MPI_ERR_NO_MEM, "no memory to watch windows");
    }
    for (int r = 0; r < size; ++r) {
        watch(persistent, all[r].send_window);
        watch(persistent, all[r].recv_window);
    }
    return MPI_SUCCESS;
}

static int make_copies(coll_symm_persistent_t *persistent, symm_error_t *error)
{
    int rc = coll_symm_stages_in(&persistent->stages, &persistent->call);
    return MPI_SUCCESS == rc ? rc : symm_error_set(error, rc, "cannot make host copies");
}

/* Makes all that a start needs, on all ranks or none. Collective; a rank that has no request for
 * want of memory takes part. */
static int make_ready(coll_symm_persistent_t *persistent, const coll_symm_call_t *call,
                      symm_error_t *error)
{
    symm_comm_t *comm = call->module->comm;
    void *places = NULL;
    int rc = symm_comm_share(comm, places_len(call), error, what, &places);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    persistent->call.places = places;
    if (MPI_SUCCESS == watch_windows(persistent, error)) { /* error keeps the outcome */
        (void) (COLL_SYMM_PASS == call->plan.path
                    ? make_copies(persistent, error)
                    : coll_symm_rounds_prepare(&persistent->rounds, &persistent->call, error));
    }
    return symm_agree(&comm->exchange, error, what);
}

static int make_next(coll_symm_persistent_t *persistent, ompi_info_t *info)
{
    ompi_request_t *inner;
    int rc = persistent->call.steps->init_next(&persistent->call, persistent->stages.send.host,
                                               persistent->stages.recv.host, info, &inner);
    if (MPI_SUCCESS == rc) {
        persistent->inner = inner;
    }
    return rc;
}

/* Makes the request, on all ranks or none where the call is agreed on. */
static int make(const coll_symm_call_t *call, size_t len, bool agreed, ompi_info_t *info,
                ompi_request_t **request_p)
{
    symm_error_t error = {0};
    coll_symm_persistent_t *persistent = create(call, len, &error);
    int rc = error.code;
    if (agreed) {
        rc = make_ready(persistent, call, &error);
    } else if (MPI_SUCCESS == rc) {
        rc = make_copies(persistent, &error);
    }
    if (MPI_SUCCESS == rc && COLL_SYMM_PASS == call->plan.path) {
        rc = make_next(persistent, info);
    }
    if (MPI_SUCCESS == rc) {
        persistent->call.number = 0; /* of starts, from now on */
        link_to_module(persistent);
        *request_p = &persistent->super.super;
    } else if (NULL != persistent) {
        let_go(persistent);
        destroy(persistent);
    } else {
        symm_mapping_destroy(call->scratch);
    }
    return rc;
}

/* Agrees on the plan: one that can be prepared, or to pass. Returns an MPI error class, alike on
 * all ranks. */
static int agree(coll_symm_call_t *call)
{
    int rc = coll_symm_call_begin(call);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    coll_symm_rounds_provide_scratch(call);
    if (COLL_SYMM_LOCAL == call->plan.path && NULL == coll_symm_call_mapping(call)) {
        call->plan.path = COLL_SYMM_PASS; /* there is no device to do it */
    }
    if (COLL_SYMM_MISMATCH == call->plan.path) {
        coll_symm_report_mismatch(call);
    } else if (COLL_SYMM_PASS != call->plan.path) {
        return MPI_SUCCESS; /* the starts are reported */
    }
    coll_symm_report(call);
    return call->plan.code;
}

/* Whether the next component gets host copies: on all ranks, where they agree. */
static bool wants_copies(const coll_symm_call_t *call, bool agreed)
{
    const coll_symm_traits_t *traits = coll_symm_traits(call->mine.collective);
    const coll_symm_descriptor_t *d = agreed ? &call->work->all[0] : &call->mine;
    bool stage = agreed ? call->plan.stage : coll_symm_descriptor_on_gpu(&call->mine);
    bool apart = traits->swaps && traits->rows && 0 != (d->flags & COLL_SYMM_IN_PLACE);
    return stage || apart; /* see coll_symm_stage.c */
}

int coll_symm_persistent_run(mca_coll_symm_module_t *module, const coll_symm_steps_t *steps,
                             const void *arguments, size_t len, const void *sbuf, void *rbuf,
                             ompi_info_t *info, ompi_request_t **request_p)
{
    coll_symm_call_t call = {.module = module,
                             .steps = steps,
                             .mode = COLL_SYMM_PERSISTENT,
                             .arguments = arguments,
                             .sbuf = sbuf,
                             .rbuf = rbuf,
                             .work = &module->work,
                             .plan = {.path = COLL_SYMM_PASS}};
    if (coll_symm_asleep(module)) {
        return steps->init_next(&call, sbuf, rbuf, info, request_p);
    }
    bool agreed =
        coll_symm_call_open(module); /* the others may wait for a rank that rules us out */
    if (module->comm->ruled_out) {
        return steps->init_next(&call, sbuf, rbuf, info, request_p);
    }
    steps->describe(&call);
    coll_symm_call_place(&call);
    int rc = agreed ? agree(&call) : MPI_SUCCESS;
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    return COLL_SYMM_PASS == call.plan.path && !wants_copies(&call, agreed)
               ? steps->init_next(&call, sbuf, rbuf, info, request_p)
               : make(&call, len, agreed, info, request_p);
}
