/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Requests of operations: each waits for a mark in its window's queue. */
#include "symm_config.h"

#include "osc_symm_request.h"

#include "osc_symm.h"

typedef struct ompi_osc_symm_request {
    ompi_request_t super;
    struct ompi_osc_symm_request *next;
    symm_mark_t mark;
    bool abandoned; /* freed by the program before it was complete */
} ompi_osc_symm_request_t;

/* Guards the list of windows, their requests, and `abandoned`. */
static opal_mutex_t lock = OPAL_MUTEX_STATIC_INIT;
static ompi_osc_symm_module_t *driven;

static int give_back(ompi_osc_symm_request_t *request)
{
    OMPI_REQUEST_FINI(&request->super);
    OBJ_RELEASE(request);
    return OMPI_SUCCESS;
}

/* MPI calls this when the program has seen that the request is complete, or frees it before. */
static int free_request(ompi_request_t **request_p)
{
    ompi_osc_symm_request_t *request = (ompi_osc_symm_request_t *) *request_p;
    *request_p = MPI_REQUEST_NULL;
    opal_mutex_lock(&lock);
    bool complete = REQUEST_COMPLETE(&request->super);
    request->abandoned = !complete;
    opal_mutex_unlock(&lock);
    return complete ? give_back(request) : OMPI_SUCCESS;
}

static int refuse_cancel(ompi_request_t *request, int flag)
{
    (void) request;
    (void) flag;
    return MPI_ERR_REQUEST; /* MPI-4.0, 12.3.5: it is erroneous */
}

static void construct(ompi_osc_symm_request_t *request)
{
    request->super.req_type = OMPI_REQUEST_WIN;
    request->super.req_status._cancelled = 0;
    request->super.req_free = free_request;
    request->super.req_cancel = refuse_cancel;
    request->next = NULL;
    request->abandoned = false;
}

OBJ_CLASS_INSTANCE(ompi_osc_symm_request_t, ompi_request_t, construct, NULL);

/* ---- driving; the caller holds the lock ---- */

static void complete(ompi_osc_symm_request_t *request, int rc)
{
    request->super.req_status.MPI_ERROR = rc;
    if (request->abandoned) {
        (void) give_back(request);
    } else {
        (void) ompi_request_complete(&request->super, true);
    }
}

/* Completes the window's requests that are over: with rc all of them when it is a failure. Returns
 * how many. */
static int complete_passed(ompi_osc_symm_module_t *module, int rc)
{
    int count = 0;
    ompi_osc_symm_request_t **link = &module->requests;
    while (NULL != *link) {
        ompi_osc_symm_request_t *request = *link;
        if (MPI_SUCCESS != rc || module->ops->queue_passed(module->queue, request->mark)) {
            *link = request->next;
            complete(request, rc);
            ++count;
        } else {
            link = &request->next;
        }
    }
    return count;
}

/* A callback of opal_progress(). */
static int drive(void)
{
    int count = 0;
    if (0 != opal_mutex_trylock(&lock)) {
        return 0; /* another thread is at it, or this one in a wait further up */
    }
    for (ompi_osc_symm_module_t *module = driven; NULL != module; module = module->next_driven) {
        count += complete_passed(module, module->ops->queue_progress(module->queue));
    }
    opal_mutex_unlock(&lock);
    return count;
}

void ompi_osc_symm_drive_begin(ompi_osc_symm_module_t *module)
{
    if (SYMM_KIND_SYSTEM == module->ops->kind) {
        return; /* operations on the host are complete at once */
    }
    opal_mutex_lock(&lock);
    if (NULL != driven || OMPI_SUCCESS == opal_progress_register(drive)) {
        module->next_driven = driven;
        module->driven = true;
        driven = module;
    }
    opal_mutex_unlock(&lock);
}

void ompi_osc_symm_drive_end(ompi_osc_symm_module_t *module)
{
    if (!module->driven) {
        return;
    }
    opal_mutex_lock(&lock);
    ompi_osc_symm_module_t **link = &driven;
    while (*link != module) {
        link = &(*link)->next_driven;
    }
    *link = module->next_driven;
    module->driven = false;
    while (NULL != module->requests) {
        ompi_osc_symm_request_t *request = module->requests;
        module->requests = request->next;
        complete(request, MPI_SUCCESS);
    }
    if (NULL == driven) {
        (void) opal_progress_unregister(drive); /* it is there */
    }
    opal_mutex_unlock(&lock);
}

/* ---- making requests ---- */

static int start_pending(ompi_osc_symm_module_t *module, symm_mark_t mark,
                         ompi_request_t **request_p)
{
    ompi_osc_symm_request_t *request = OBJ_NEW(ompi_osc_symm_request_t);
    if (NULL == request) {
        return MPI_ERR_NO_MEM;
    }
    OMPI_REQUEST_INIT(&request->super, false);
    request->super.req_mpi_object.win = module->win;
    request->super.req_state = OMPI_REQUEST_ACTIVE;
    request->mark = mark;
    opal_mutex_lock(&lock);
    request->next = module->requests;
    module->requests = request;
    opal_mutex_unlock(&lock);
    *request_p = &request->super;
    return MPI_SUCCESS;
}

int ompi_osc_symm_request_start(ompi_osc_symm_module_t *module, ompi_request_t **request_p)
{
    symm_mark_t mark;
    int rc = module->ops->queue_mark(module->queue, &mark);
    if (MPI_SUCCESS == rc && !module->ops->queue_passed(module->queue, mark)) {
        if (module->driven) {
            return start_pending(module, mark, request_p);
        }
        rc = ompi_osc_symm_complete_operations(module);
    }
    if (MPI_SUCCESS == rc) {
        *request_p = &ompi_request_empty; /* complete; a status has nothing but its error to tell */
    }
    return rc;
}
