/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Persistent collectives: each start makes the nonblocking call with the steps and arguments that
 * were kept, so that GPU buffers are served or staged as they are there. Arrays of counts,
 * displacements and datatypes belong to the program, which keeps them until it frees the request
 * (MPI-4.0, 6.13). */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_spin.h"

#include <stdalign.h>

typedef struct coll_symm_persistent {
    symm_ompi_collective_request_t super;
    mca_coll_symm_module_t *module;
    const coll_symm_steps_t *steps;
    size_t arguments_len;
    const void *sbuf;
    void *rbuf;
    ompi_request_t *inner; /* of the latest start, NULL before the first */
    alignas(max_align_t) unsigned char arguments[COLL_SYMM_ARGUMENTS_MAX];
} coll_symm_persistent_t;

OBJ_CLASS_INSTANCE(coll_symm_persistent_t, ompi_request_t, NULL, NULL);

/* Frees the latest start's request. It has called us back, so that it is complete or about to be.
 */
static void free_inner(coll_symm_persistent_t *persistent)
{
    symm_spin_t spin = SYMM_SPIN_INIT;
    while (NULL != persistent->inner && !REQUEST_COMPLETE(persistent->inner)) {
        symm_spin_once(&spin);
    }
    if (NULL != persistent->inner) {
        (void) ompi_request_free(&persistent->inner); /* complete: this cannot fail */
        persistent->inner = NULL;
    }
}

/* The nonblocking call is done, and so is this start. */
static int inner_is_done(ompi_request_t *inner)
{
    ompi_request_t *request = inner->req_complete_cb_data;
    request->req_status.MPI_ERROR = inner->req_status.MPI_ERROR;
    (void) ompi_request_complete(request, true); /* returns success */
    return 0;                                    /* the inner one completes, too */
}

static int start_one(coll_symm_persistent_t *persistent)
{
    ompi_request_t *request = &persistent->super.super;
    free_inner(persistent);
    request->req_status.MPI_ERROR = MPI_SUCCESS;
    request->req_complete = REQUEST_PENDING;
    request->req_state = OMPI_REQUEST_ACTIVE;
    int rc = coll_symm_pending_run(persistent->module, persistent->steps, persistent->arguments,
                                   persistent->arguments_len, persistent->sbuf, persistent->rbuf,
                                   &persistent->inner);
    if (MPI_SUCCESS != rc) {
        persistent->inner = NULL;
        request->req_state = OMPI_REQUEST_INACTIVE;
        request->req_complete = REQUEST_COMPLETED;
        return rc;
    }
    (void) ompi_request_set_callback(persistent->inner, inner_is_done, request); /* returns ours */
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

static int free_request(ompi_request_t **request_p)
{
    coll_symm_persistent_t *persistent = (coll_symm_persistent_t *) *request_p;
    free_inner(persistent);
    OMPI_REQUEST_FINI(&persistent->super.super);
    OBJ_RELEASE(persistent);
    *request_p = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static void init_request(ompi_request_t *request, ompi_communicator_t *comm)
{
    OMPI_REQUEST_INIT(request, true);
    request->req_type = OMPI_REQUEST_COLL;
    request->req_status = ompi_status_empty;
    request->req_start = start_all;
    request->req_free = free_request;
    request->req_mpi_object.comm = comm;
}

int coll_symm_persistent_run(mca_coll_symm_module_t *module, const coll_symm_steps_t *steps,
                             const void *arguments, size_t len, const void *sbuf, void *rbuf,
                             ompi_info_t *info, ompi_request_t **request_p)
{
    if (coll_symm_asleep(module)) {
        coll_symm_call_t call = {.module = module, .arguments = arguments};
        return steps->init_next(&call, sbuf, rbuf, info, request_p);
    }
    coll_symm_persistent_t *persistent = OBJ_NEW(coll_symm_persistent_t);
    if (NULL == persistent) {
        return MPI_ERR_NO_MEM;
    }
    memset(persistent->super.retained, 0, sizeof(persistent->super.retained));
    persistent->module = module;
    persistent->steps = steps;
    persistent->arguments_len = len;
    persistent->sbuf = sbuf;
    persistent->rbuf = rbuf;
    persistent->inner = NULL;
    memcpy(persistent->arguments, arguments, len);
    init_request(&persistent->super.super, module->ompi_comm);
    *request_p = &persistent->super.super;
    return MPI_SUCCESS;
}
