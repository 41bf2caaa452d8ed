/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Neighbourhood collectives: no plan of ours serves them, but GPU buffers must not reach a
 * component that knows host memory only. Each rank stages its own, which its neighbours need not
 * know. */
#include "symm_config.h"

#include "coll_symm_functions.h"

/* Neighbours that a rank hears from and talks to. */
typedef struct degrees {
    int in, out;
} degrees_t;

static degrees_t find_degrees(ompi_communicator_t *comm)
{
    degrees_t d = {0, 0};
    int rank, dims, weighted, kind = MPI_UNDEFINED;
    (void) PMPI_Topo_test(comm, &kind); /* without a topology MPI has refused the call */
    if (MPI_CART == kind && MPI_SUCCESS == PMPI_Cartdim_get(comm, &dims)) {
        d = (degrees_t){2 * dims, 2 * dims};
    } else if (MPI_GRAPH == kind) {
        (void) PMPI_Comm_rank(comm, &rank);
        (void) PMPI_Graph_neighbors_count(comm, rank, &d.in);
        d.out = d.in;
    } else if (MPI_DIST_GRAPH == kind) {
        (void) PMPI_Dist_graph_neighbors_count(comm, &d.in, &d.out, &weighted);
    }
    return d;
}

static void span_equal(const ompi_datatype_t *type, size_t count, const void *buf,
                       const char **start_p, size_t *len_p)
{
    ptrdiff_t start;
    *len_p = symm_ompi_span(type, count, &start);
    *start_p = (const char *) buf + start;
}

static void span_vectors(coll_symm_call_t *call, const coll_symm_vector_t *inputs,
                         const coll_symm_vector_t *outputs, degrees_t d)
{
    call->send_len = coll_symm_vector_span(call->sbuf, inputs, d.out, &call->send);
    call->recv_len = coll_symm_vector_span(call->rbuf, outputs, d.in, (const char **) &call->recv);
}

static int next_allgather(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    const coll_symm_next_t *next = &call->module->next;
    return next->neighbor_allgather(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->comm,
                                    next->neighbor_allgather_module);
}

static int start_allgather(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                           const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                           ompi_request_t **request_p)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    return functions->ineighbor_allgather(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype,
                                          comm, request_p, functions->ineighbor_allgather_module);
}

static void describe_allgather(coll_symm_call_t *call)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    degrees_t d = find_degrees(a->comm);
    span_equal(a->sdtype, (size_t) a->scount, call->sbuf, &call->send, &call->send_len);
    span_equal(a->rdtype, (size_t) d.in * (size_t) a->rcount, call->rbuf,
               (const char **) &call->recv, &call->recv_len);
}

static const coll_symm_steps_t allgather_steps = {
    .describe = describe_allgather, .next = next_allgather, .start_next = start_allgather};

int mca_coll_symm_neighbor_allgather(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                     void *rbuf, int rcount, ompi_datatype_t *rdtype,
                                     ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    coll_symm_blocks_arguments_t arguments = {scount, sdtype, rcount, rdtype, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &allgather_steps, &arguments,
                                sbuf, rbuf);
}

int mca_coll_symm_ineighbor_allgather(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                      void *rbuf, int rcount, ompi_datatype_t *rdtype,
                                      ompi_communicator_t *comm, ompi_request_t **request,
                                      mca_coll_base_module_t *module)
{
    coll_symm_blocks_arguments_t arguments = {scount, sdtype, rcount, rdtype, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &allgather_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

static int next_allgatherv(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const coll_symm_allgatherv_arguments_t *a = call->arguments;
    const coll_symm_next_t *next = &call->module->next;
    return next->neighbor_allgatherv(sbuf, a->scount, a->sdtype, rbuf, a->rcounts, a->disps,
                                     a->rdtype, a->comm, next->neighbor_allgatherv_module);
}

static int start_allgatherv(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                            const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                            ompi_request_t **request_p)
{
    const coll_symm_allgatherv_arguments_t *a = call->arguments;
    return functions->ineighbor_allgatherv(sbuf, a->scount, a->sdtype, rbuf, a->rcounts, a->disps,
                                           a->rdtype, comm, request_p,
                                           functions->ineighbor_allgatherv_module);
}

static void describe_allgatherv(coll_symm_call_t *call)
{
    const coll_symm_allgatherv_arguments_t *a = call->arguments;
    degrees_t d = find_degrees(a->comm);
    coll_symm_vector_t outputs = {.counts = a->rcounts, .disps = a->disps, .type = a->rdtype};
    span_equal(a->sdtype, (size_t) a->scount, call->sbuf, &call->send, &call->send_len);
    call->recv_len = coll_symm_vector_span(call->rbuf, &outputs, d.in, (const char **) &call->recv);
}

static const coll_symm_steps_t allgatherv_steps = {
    .describe = describe_allgatherv, .next = next_allgatherv, .start_next = start_allgatherv};

int mca_coll_symm_neighbor_allgatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                      void *rbuf, const int *rcounts, const int *disps,
                                      ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                      mca_coll_base_module_t *module)
{
    coll_symm_allgatherv_arguments_t arguments = {scount, sdtype, rcounts, disps, rdtype, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &allgatherv_steps, &arguments,
                                sbuf, rbuf);
}

int mca_coll_symm_ineighbor_allgatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                       void *rbuf, const int *rcounts, const int *disps,
                                       ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                       ompi_request_t **request, mca_coll_base_module_t *module)
{
    coll_symm_allgatherv_arguments_t arguments = {scount, sdtype, rcounts, disps, rdtype, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &allgatherv_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

static int next_alltoall(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    const coll_symm_next_t *next = &call->module->next;
    return next->neighbor_alltoall(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype, a->comm,
                                   next->neighbor_alltoall_module);
}

static int start_alltoall(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                          const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                          ompi_request_t **request_p)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    return functions->ineighbor_alltoall(sbuf, a->scount, a->sdtype, rbuf, a->rcount, a->rdtype,
                                         comm, request_p, functions->ineighbor_alltoall_module);
}

static void describe_alltoall(coll_symm_call_t *call)
{
    const coll_symm_blocks_arguments_t *a = call->arguments;
    degrees_t d = find_degrees(a->comm);
    span_equal(a->sdtype, (size_t) d.out * (size_t) a->scount, call->sbuf, &call->send,
               &call->send_len);
    span_equal(a->rdtype, (size_t) d.in * (size_t) a->rcount, call->rbuf,
               (const char **) &call->recv, &call->recv_len);
}

static const coll_symm_steps_t alltoall_steps = {
    .describe = describe_alltoall, .next = next_alltoall, .start_next = start_alltoall};

int mca_coll_symm_neighbor_alltoall(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                    void *rbuf, int rcount, ompi_datatype_t *rdtype,
                                    ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    coll_symm_blocks_arguments_t arguments = {scount, sdtype, rcount, rdtype, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &alltoall_steps, &arguments,
                                sbuf, rbuf);
}

int mca_coll_symm_ineighbor_alltoall(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                     void *rbuf, int rcount, ompi_datatype_t *rdtype,
                                     ompi_communicator_t *comm, ompi_request_t **request,
                                     mca_coll_base_module_t *module)
{
    coll_symm_blocks_arguments_t arguments = {scount, sdtype, rcount, rdtype, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &alltoall_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

static int next_alltoallv(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const coll_symm_rows_arguments_t *a = call->arguments;
    const coll_symm_next_t *next = &call->module->next;
    return next->neighbor_alltoallv(sbuf, a->scounts, a->sdisps, a->sdtype, rbuf, a->rcounts,
                                    a->rdisps, a->rdtype, a->comm, next->neighbor_alltoallv_module);
}

static int start_alltoallv(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                           const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                           ompi_request_t **request_p)
{
    const coll_symm_rows_arguments_t *a = call->arguments;
    return functions->ineighbor_alltoallv(sbuf, a->scounts, a->sdisps, a->sdtype, rbuf, a->rcounts,
                                          a->rdisps, a->rdtype, comm, request_p,
                                          functions->ineighbor_alltoallv_module);
}

static void describe_alltoallv(coll_symm_call_t *call)
{
    const coll_symm_rows_arguments_t *a = call->arguments;
    degrees_t d = find_degrees(a->comm);
    coll_symm_vector_t inputs = {.counts = a->scounts, .disps = a->sdisps, .type = a->sdtype};
    coll_symm_vector_t outputs = {.counts = a->rcounts, .disps = a->rdisps, .type = a->rdtype};
    span_vectors(call, &inputs, &outputs, d);
}

static const coll_symm_steps_t alltoallv_steps = {
    .describe = describe_alltoallv, .next = next_alltoallv, .start_next = start_alltoallv};

int mca_coll_symm_neighbor_alltoallv(const void *sbuf, const int *scounts, const int *sdisps,
                                     ompi_datatype_t *sdtype, void *rbuf, const int *rcounts,
                                     const int *rdisps, ompi_datatype_t *rdtype,
                                     ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    coll_symm_rows_arguments_t arguments = {scounts, sdisps, sdtype, rcounts, rdisps, rdtype, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &alltoallv_steps, &arguments,
                                sbuf, rbuf);
}

int mca_coll_symm_ineighbor_alltoallv(const void *sbuf, const int *scounts, const int *sdisps,
                                      ompi_datatype_t *sdtype, void *rbuf, const int *rcounts,
                                      const int *rdisps, ompi_datatype_t *rdtype,
                                      ompi_communicator_t *comm, ompi_request_t **request,
                                      mca_coll_base_module_t *module)
{
    coll_symm_rows_arguments_t arguments = {scounts, sdisps, sdtype, rcounts, rdisps, rdtype, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &alltoallv_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}

typedef struct alltoallw_arguments {
    const int *scounts;
    const MPI_Aint *sdisps;
    ompi_datatype_t *const *sdtypes;
    const int *rcounts;
    const MPI_Aint *rdisps;
    ompi_datatype_t *const *rdtypes;
    ompi_communicator_t *comm;
} alltoallw_arguments_t;

static int next_alltoallw(const coll_symm_call_t *call, const void *sbuf, void *rbuf)
{
    const alltoallw_arguments_t *a = call->arguments;
    const coll_symm_next_t *next = &call->module->next;
    return next->neighbor_alltoallw(sbuf, a->scounts, a->sdisps, a->sdtypes, rbuf, a->rcounts,
                                    a->rdisps, a->rdtypes, a->comm,
                                    next->neighbor_alltoallw_module);
}

static int start_alltoallw(const coll_symm_call_t *call, const coll_symm_next_t *functions,
                           const void *sbuf, void *rbuf, ompi_communicator_t *comm,
                           ompi_request_t **request_p)
{
    const alltoallw_arguments_t *a = call->arguments;
    return functions->ineighbor_alltoallw(sbuf, a->scounts, a->sdisps, a->sdtypes, rbuf, a->rcounts,
                                          a->rdisps, a->rdtypes, comm, request_p,
                                          functions->ineighbor_alltoallw_module);
}

static void describe_alltoallw(coll_symm_call_t *call)
{
    const alltoallw_arguments_t *a = call->arguments;
    degrees_t d = find_degrees(a->comm);
    coll_symm_vector_t inputs = {
        .counts = a->scounts, .byte_disps = a->sdisps, .types = a->sdtypes};
    coll_symm_vector_t outputs = {
        .counts = a->rcounts, .byte_disps = a->rdisps, .types = a->rdtypes};
    span_vectors(call, &inputs, &outputs, d);
}

static const coll_symm_steps_t alltoallw_steps = {
    .describe = describe_alltoallw, .next = next_alltoallw, .start_next = start_alltoallw};

int mca_coll_symm_neighbor_alltoallw(const void *sbuf, const int *scounts, const MPI_Aint *sdisps,
                                     ompi_datatype_t *const *sdtypes, void *rbuf,
                                     const int *rcounts, const MPI_Aint *rdisps,
                                     ompi_datatype_t *const *rdtypes, ompi_communicator_t *comm,
                                     mca_coll_base_module_t *module)
{
    alltoallw_arguments_t arguments = {scounts, sdisps, sdtypes, rcounts, rdisps, rdtypes, comm};
    return coll_symm_call_serve((mca_coll_symm_module_t *) module, &alltoallw_steps, &arguments,
                                sbuf, rbuf);
}

int mca_coll_symm_ineighbor_alltoallw(const void *sbuf, const int *scounts, const MPI_Aint *sdisps,
                                      ompi_datatype_t *const *sdtypes, void *rbuf,
                                      const int *rcounts, const MPI_Aint *rdisps,
                                      ompi_datatype_t *const *rdtypes, ompi_communicator_t *comm,
                                      ompi_request_t **request, mca_coll_base_module_t *module)
{
    alltoallw_arguments_t arguments = {scounts, sdisps, sdtypes, rcounts, rdisps, rdtypes, comm};
    return coll_symm_pending_run((mca_coll_symm_module_t *) module, &alltoallw_steps, &arguments,
                                 sizeof(arguments), sbuf, rbuf, request);
}
