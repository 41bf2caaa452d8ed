/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Persistent collectives: each start makes the nonblocking call with the arguments that were kept,
 * so that GPU buffers are served or staged as they are there. Arrays of counts, displacements and
 * datatypes belong to the program, which keeps them until it frees the request (MPI-4.0, 6.13). */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_spin.h"

/* The arguments of any collective; each uses some. */
typedef struct arguments {
    const void *sbuf;
    void *rbuf;
    int scount, rcount, root;
    const int *scounts, *sdisps, *rcounts, *rdisps;
    ompi_datatype_t *sdtype, *rdtype;
    ompi_datatype_t *const *sdtypes, *const *rdtypes;
    MPI_Op op;
    ompi_communicator_t *comm;
    mca_coll_base_module_t *module;
} arguments_t;

typedef int start_fn_t(const arguments_t *a, ompi_request_t **request_p);

typedef struct coll_symm_persistent {
    symm_ompi_collective_request_t super;
    start_fn_t *start;
    arguments_t arguments;
    ompi_request_t *inner; /* of the latest start, NULL before the first */
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
    int rc = persistent->start(&persistent->arguments, &persistent->inner);
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

static int make_request(start_fn_t *start, const arguments_t *arguments, ompi_request_t **request_p)
{
    coll_symm_persistent_t *persistent = OBJ_NEW(coll_symm_persistent_t);
    if (NULL == persistent) {
        return MPI_ERR_NO_MEM;
    }
    ompi_request_t *request = &persistent->super.super;
    memset(persistent->super.retained, 0, sizeof(persistent->super.retained));
    persistent->start = start;
    persistent->arguments = *arguments;
    persistent->inner = NULL;
    OMPI_REQUEST_INIT(request, true);
    request->req_type = OMPI_REQUEST_COLL;
    request->req_status = ompi_status_empty;
    request->req_start = start_all;
    request->req_free = free_request;
    request->req_mpi_object.comm = arguments->comm;
    *request_p = request;
    return MPI_SUCCESS;
}

/* ---- one of each: the start, and what MPI calls. A communicator without windows has the next
 * component's persistent request. ---- */

static int start_allgather(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_iallgather(a->sbuf, a->scount, a->sdtype, a->rbuf, a->rcount, a->rdtype,
                                    a->comm, request_p, a->module);
}

int mca_coll_symm_allgather_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                                 int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                 ompi_info_t *info, ompi_request_t **request,
                                 mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->allgather_init(sbuf, scount, sdtype, rbuf, rcount, rdtype, comm, info, request,
                                    next->allgather_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .scount = scount,
                             .sdtype = sdtype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rdtype = rdtype,
                             .comm = comm,
                             .module = module};
    return make_request(start_allgather, &arguments, request);
}

static int start_allgatherv(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_iallgatherv(a->sbuf, a->scount, a->sdtype, a->rbuf, a->rcounts, a->rdisps,
                                     a->rdtype, a->comm, request_p, a->module);
}

int mca_coll_symm_allgatherv_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                                  const int *rcounts, const int *rdisps, ompi_datatype_t *rdtype,
                                  ompi_communicator_t *comm, ompi_info_t *info,
                                  ompi_request_t **request, mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->allgatherv_init(sbuf, scount, sdtype, rbuf, rcounts, rdisps, rdtype, comm,
                                     info, request, next->allgatherv_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .scount = scount,
                             .sdtype = sdtype,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdisps = rdisps,
                             .rdtype = rdtype,
                             .comm = comm,
                             .module = module};
    return make_request(start_allgatherv, &arguments, request);
}

static int start_allreduce(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_iallreduce(a->sbuf, a->rbuf, a->rcount, a->rdtype, a->op, a->comm,
                                    request_p, a->module);
}

int mca_coll_symm_allreduce_init(const void *sbuf, void *rbuf, int rcount, ompi_datatype_t *rdtype,
                                 MPI_Op op, ompi_communicator_t *comm, ompi_info_t *info,
                                 ompi_request_t **request, mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->allreduce_init(sbuf, rbuf, rcount, rdtype, op, comm, info, request,
                                    next->allreduce_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rdtype = rdtype,
                             .op = op,
                             .comm = comm,
                             .module = module};
    return make_request(start_allreduce, &arguments, request);
}

static int start_alltoall(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_ialltoall(a->sbuf, a->scount, a->sdtype, a->rbuf, a->rcount, a->rdtype,
                                   a->comm, request_p, a->module);
}

int mca_coll_symm_alltoall_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                                int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->alltoall_init(sbuf, scount, sdtype, rbuf, rcount, rdtype, comm, info, request,
                                   next->alltoall_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .scount = scount,
                             .sdtype = sdtype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rdtype = rdtype,
                             .comm = comm,
                             .module = module};
    return make_request(start_alltoall, &arguments, request);
}

static int start_alltoallv(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_ialltoallv(a->sbuf, a->scounts, a->sdisps, a->sdtype, a->rbuf, a->rcounts,
                                    a->rdisps, a->rdtype, a->comm, request_p, a->module);
}

int mca_coll_symm_alltoallv_init(const void *sbuf, const int *scounts, const int *sdisps,
                                 ompi_datatype_t *sdtype, void *rbuf, const int *rcounts,
                                 const int *rdisps, ompi_datatype_t *rdtype,
                                 ompi_communicator_t *comm, ompi_info_t *info,
                                 ompi_request_t **request, mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->alltoallv_init(sbuf, scounts, sdisps, sdtype, rbuf, rcounts, rdisps, rdtype,
                                    comm, info, request, next->alltoallv_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .scounts = scounts,
                             .sdisps = sdisps,
                             .sdtype = sdtype,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdisps = rdisps,
                             .rdtype = rdtype,
                             .comm = comm,
                             .module = module};
    return make_request(start_alltoallv, &arguments, request);
}

static int start_alltoallw(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_ialltoallw(a->sbuf, a->scounts, a->sdisps, a->sdtypes, a->rbuf, a->rcounts,
                                    a->rdisps, a->rdtypes, a->comm, request_p, a->module);
}

int mca_coll_symm_alltoallw_init(const void *sbuf, const int *scounts, const int *sdisps,
                                 ompi_datatype_t *const *sdtypes, void *rbuf, const int *rcounts,
                                 const int *rdisps, ompi_datatype_t *const *rdtypes,
                                 ompi_communicator_t *comm, ompi_info_t *info,
                                 ompi_request_t **request, mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->alltoallw_init(sbuf, scounts, sdisps, sdtypes, rbuf, rcounts, rdisps, rdtypes,
                                    comm, info, request, next->alltoallw_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .scounts = scounts,
                             .sdisps = sdisps,
                             .sdtypes = sdtypes,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdisps = rdisps,
                             .rdtypes = rdtypes,
                             .comm = comm,
                             .module = module};
    return make_request(start_alltoallw, &arguments, request);
}

static int start_barrier(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_ibarrier(a->comm, request_p, a->module);
}

int mca_coll_symm_barrier_init(ompi_communicator_t *comm, ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->barrier_init(comm, info, request, next->barrier_init_module);
    }
    arguments_t arguments = {.comm = comm, .module = module};
    return make_request(start_barrier, &arguments, request);
}

static int start_bcast(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_ibcast(a->rbuf, a->rcount, a->rdtype, a->root, a->comm, request_p,
                                a->module);
}

int mca_coll_symm_bcast_init(void *rbuf, int rcount, ompi_datatype_t *rdtype, int root,
                             ompi_communicator_t *comm, ompi_info_t *info, ompi_request_t **request,
                             mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->bcast_init(rbuf, rcount, rdtype, root, comm, info, request,
                                next->bcast_init_module);
    }
    arguments_t arguments = {.rbuf = rbuf,
                             .rcount = rcount,
                             .rdtype = rdtype,
                             .root = root,
                             .comm = comm,
                             .module = module};
    return make_request(start_bcast, &arguments, request);
}

static int start_exscan(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_iexscan(a->sbuf, a->rbuf, a->rcount, a->rdtype, a->op, a->comm, request_p,
                                 a->module);
}

int mca_coll_symm_exscan_init(const void *sbuf, void *rbuf, int rcount, ompi_datatype_t *rdtype,
                              MPI_Op op, ompi_communicator_t *comm, ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->exscan_init(sbuf, rbuf, rcount, rdtype, op, comm, info, request,
                                 next->exscan_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rdtype = rdtype,
                             .op = op,
                             .comm = comm,
                             .module = module};
    return make_request(start_exscan, &arguments, request);
}

static int start_gather(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_igather(a->sbuf, a->scount, a->sdtype, a->rbuf, a->rcount, a->rdtype,
                                 a->root, a->comm, request_p, a->module);
}

int mca_coll_symm_gather_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                              int rcount, ompi_datatype_t *rdtype, int root,
                              ompi_communicator_t *comm, ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->gather_init(sbuf, scount, sdtype, rbuf, rcount, rdtype, root, comm, info,
                                 request, next->gather_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .scount = scount,
                             .sdtype = sdtype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rdtype = rdtype,
                             .root = root,
                             .comm = comm,
                             .module = module};
    return make_request(start_gather, &arguments, request);
}

static int start_gatherv(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_igatherv(a->sbuf, a->scount, a->sdtype, a->rbuf, a->rcounts, a->rdisps,
                                  a->rdtype, a->root, a->comm, request_p, a->module);
}

int mca_coll_symm_gatherv_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                               const int *rcounts, const int *rdisps, ompi_datatype_t *rdtype,
                               int root, ompi_communicator_t *comm, ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->gatherv_init(sbuf, scount, sdtype, rbuf, rcounts, rdisps, rdtype, root, comm,
                                  info, request, next->gatherv_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .scount = scount,
                             .sdtype = sdtype,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdisps = rdisps,
                             .rdtype = rdtype,
                             .root = root,
                             .comm = comm,
                             .module = module};
    return make_request(start_gatherv, &arguments, request);
}

static int start_reduce(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_ireduce(a->sbuf, a->rbuf, a->rcount, a->rdtype, a->op, a->root, a->comm,
                                 request_p, a->module);
}

int mca_coll_symm_reduce_init(const void *sbuf, void *rbuf, int rcount, ompi_datatype_t *rdtype,
                              MPI_Op op, int root, ompi_communicator_t *comm, ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->reduce_init(sbuf, rbuf, rcount, rdtype, op, root, comm, info, request,
                                 next->reduce_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rdtype = rdtype,
                             .op = op,
                             .root = root,
                             .comm = comm,
                             .module = module};
    return make_request(start_reduce, &arguments, request);
}

static int start_reduce_scatter(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_ireduce_scatter(a->sbuf, a->rbuf, a->rcounts, a->rdtype, a->op, a->comm,
                                         request_p, a->module);
}

int mca_coll_symm_reduce_scatter_init(const void *sbuf, void *rbuf, const int *rcounts,
                                      ompi_datatype_t *rdtype, MPI_Op op, ompi_communicator_t *comm,
                                      ompi_info_t *info, ompi_request_t **request,
                                      mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->reduce_scatter_init(sbuf, rbuf, rcounts, rdtype, op, comm, info, request,
                                         next->reduce_scatter_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .rbuf = rbuf,
                             .rcounts = rcounts,
                             .rdtype = rdtype,
                             .op = op,
                             .comm = comm,
                             .module = module};
    return make_request(start_reduce_scatter, &arguments, request);
}

static int start_reduce_scatter_block(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_ireduce_scatter_block(a->sbuf, a->rbuf, a->rcount, a->rdtype, a->op,
                                               a->comm, request_p, a->module);
}

int mca_coll_symm_reduce_scatter_block_init(const void *sbuf, void *rbuf, int rcount,
                                            ompi_datatype_t *rdtype, MPI_Op op,
                                            ompi_communicator_t *comm, ompi_info_t *info,
                                            ompi_request_t **request,
                                            mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->reduce_scatter_block_init(sbuf, rbuf, rcount, rdtype, op, comm, info, request,
                                               next->reduce_scatter_block_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rdtype = rdtype,
                             .op = op,
                             .comm = comm,
                             .module = module};
    return make_request(start_reduce_scatter_block, &arguments, request);
}

static int start_scan(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_iscan(a->sbuf, a->rbuf, a->rcount, a->rdtype, a->op, a->comm, request_p,
                               a->module);
}

int mca_coll_symm_scan_init(const void *sbuf, void *rbuf, int rcount, ompi_datatype_t *rdtype,
                            MPI_Op op, ompi_communicator_t *comm, ompi_info_t *info,
                            ompi_request_t **request, mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->scan_init(sbuf, rbuf, rcount, rdtype, op, comm, info, request,
                               next->scan_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rdtype = rdtype,
                             .op = op,
                             .comm = comm,
                             .module = module};
    return make_request(start_scan, &arguments, request);
}

static int start_scatter(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_iscatter(a->sbuf, a->scount, a->sdtype, a->rbuf, a->rcount, a->rdtype,
                                  a->root, a->comm, request_p, a->module);
}

int mca_coll_symm_scatter_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                               int rcount, ompi_datatype_t *rdtype, int root,
                               ompi_communicator_t *comm, ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->scatter_init(sbuf, scount, sdtype, rbuf, rcount, rdtype, root, comm, info,
                                  request, next->scatter_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .scount = scount,
                             .sdtype = sdtype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rdtype = rdtype,
                             .root = root,
                             .comm = comm,
                             .module = module};
    return make_request(start_scatter, &arguments, request);
}

static int start_scatterv(const arguments_t *a, ompi_request_t **request_p)
{
    return mca_coll_symm_iscatterv(a->sbuf, a->scounts, a->sdisps, a->sdtype, a->rbuf, a->rcount,
                                   a->rdtype, a->root, a->comm, request_p, a->module);
}

int mca_coll_symm_scatterv_init(const void *sbuf, const int *scounts, const int *sdisps,
                                ompi_datatype_t *sdtype, void *rbuf, int rcount,
                                ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                                ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module)
{
    if (coll_symm_asleep((const mca_coll_symm_module_t *) module)) {
        const coll_symm_next_t *next = &((const mca_coll_symm_module_t *) module)->next;
        return next->scatterv_init(sbuf, scounts, sdisps, sdtype, rbuf, rcount, rdtype, root, comm,
                                   info, request, next->scatterv_init_module);
    }
    arguments_t arguments = {.sbuf = sbuf,
                             .scounts = scounts,
                             .sdisps = sdisps,
                             .sdtype = sdtype,
                             .rbuf = rbuf,
                             .rcount = rcount,
                             .rdtype = rdtype,
                             .root = root,
                             .comm = comm,
                             .module = module};
    return make_request(start_scatterv, &arguments, request);
}
