/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The calls that MPI progress carries on: nonblocking ones and starts of persistent ones. */
#include "symm_config.h"

#include "coll_symm.h"

#include <pthread.h>

/* Looks that a call has at ranks that have not come: some microseconds. */
#define LOOKS 100

/* All calls under way in this process, oldest first. */
static struct {
    pthread_mutex_t lock; /* never waited for by progress, which may run inside itself */
    coll_symm_active_t *first;
    coll_symm_active_t **last;
    bool registered;
} under_way = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &under_way.first};

/* Takes the call as far as it goes without waiting. Returns whether it is done. */
static bool advance(coll_symm_active_t *active)
{
    coll_symm_phase_t before = active->phase;
    active->phase = active->next_phase(active);
    while (before != active->phase) {
        active->wait = (coll_symm_wait_t){.spin = SYMM_SPIN_INIT};
        before = active->phase;
        active->phase = active->next_phase(active);
    }
    if (coll_symm_wait_is_vain(active->call, active->awaited_in(active->phase), &active->wait)) {
        active->rc = COLL_SYMM_BROKEN;
        active->phase = COLL_SYMM_PHASE_DONE;
    }
    return COLL_SYMM_PHASE_DONE == active->phase;
}

/* Tells the program that the call is done. It is under way no more, and may be gone on return. */
static void complete(coll_symm_active_t *active)
{
    ompi_communicator_t *comm = active->call->module->ompi_comm;
    active->request->req_status.MPI_ERROR = active->rc;
    (void) ompi_request_complete(active->request, true); /* returns success */
    OBJ_RELEASE(comm);
}

/* Opal's progress callback. Returns how many calls it has completed. */
static int progress(void)
{
    int completed = 0;
    if (NULL == under_way.first || 0 != pthread_mutex_trylock(&under_way.lock)) {
        return 0;
    }
    coll_symm_active_t **link = &under_way.first;
    while (NULL != *link) {
        coll_symm_active_t *active = *link;
        if (!advance(active)) {
            link = &active->next;
            continue;
        }
        *link = active->next;
        if (NULL == active->next) {
            under_way.last = link;
        }
        complete(active);
        ++completed;
    }
    (void) pthread_mutex_unlock(&under_way.lock);
    return completed;
}

void coll_symm_progress_add(coll_symm_active_t *active, bool linger)
{
    active->next = NULL;
    OBJ_RETAIN(active->call->module->ompi_comm);
    (void) pthread_mutex_lock(&under_way.lock); /* fails only on misuse */
    *under_way.last = active;
    under_way.last = &active->next;
    if (!under_way.registered) {
        (void) opal_progress_register(progress); /* fails only when called twice */
        under_way.registered = true;
    }
    (void) pthread_mutex_unlock(&under_way.lock);
    (void) progress();
    for (int i = 0; linger && COLL_SYMM_PHASE_SHOWN == active->phase && i < LOOKS; ++i) {
        (void) progress(); /* the rest is for later calls of it */
    }
}

void coll_symm_progress_finalize(void)
{
    if (under_way.registered) {
        (void) opal_progress_unregister(progress); /* it is registered */
        under_way.registered = false;
    }
}
