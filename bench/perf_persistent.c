/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Our collectives as persistent ones, on the same window: a request is made for each case, and a
 * call is its start and the wait for it. */
#include "symm_config.h"

#include "perf_series.h"

#include <mpi-ext.h>

#if MPI_VERSION >= 4
#    define HAS_PERSISTENT 1
#    define INIT(name)     MPI_##name##_init
#else
#    define HAS_PERSISTENT OMPI_HAVE_MPI_EXT_PCOLLREQ
#    define INIT(name)     MPIX_##name##_init
#endif

#if HAS_PERSISTENT

static void make(perf_series_t *self, const perf_case_t *c)
{
    int bytes = (int) c->bytes;
    int floats = bytes / (int) sizeof(float);
    int block = (int) (perf_case_bytes(c, perf_world.size) / (size_t) perf_world.size);
    const void *input = c->in_place ? MPI_IN_PLACE : self->send;
    MPI_Request *request = &self->request;
    switch (c->op) {
    case PERF_ALLREDUCE:
        INIT(Allreduce)
        (input, self->recv, floats, MPI_FLOAT, MPI_SUM, self->comm, MPI_INFO_NULL, request);
        break;
    case PERF_ALLGATHER:
        INIT(Allgather)
        (input, bytes, MPI_BYTE, self->recv, bytes, MPI_BYTE, self->comm, MPI_INFO_NULL, request);
        break;
    case PERF_REDUCE:
        INIT(Reduce)
        (self->send, self->recv, floats, MPI_FLOAT, MPI_SUM, 0, self->comm, MPI_INFO_NULL, request);
        break;
    case PERF_REDUCE_SCATTER:
        INIT(Reduce_scatter_block)
        (self->send, self->recv, floats, MPI_FLOAT, MPI_SUM, self->comm, MPI_INFO_NULL, request);
        break;
    case PERF_ALLTOALL:
        INIT(Alltoall)
        (self->send, block, MPI_BYTE, self->recv, block, MPI_BYTE, self->comm, MPI_INFO_NULL,
         request);
        break;
    case PERF_BCAST:
        INIT(Bcast)
        (0 == perf_world.rank ? self->send : self->recv, bytes, MPI_BYTE, 0, self->comm,
         MPI_INFO_NULL, request);
        break;
    case PERF_GATHER:
        INIT(Gather)
        (self->send, bytes, MPI_BYTE, self->recv, bytes, MPI_BYTE, 0, self->comm, MPI_INFO_NULL,
         request);
        break;
    case PERF_SCATTER:
        INIT(Scatter)
        (self->send, bytes, MPI_BYTE, self->recv, bytes, MPI_BYTE, 0, self->comm, MPI_INFO_NULL,
         request);
        break;
    default:
        INIT(Barrier)(self->comm, MPI_INFO_NULL, request);
        break;
    }
}

static void unmake(perf_series_t *self)
{
    if (MPI_REQUEST_NULL != self->request) {
        MPI_Request_free(&self->request);
    }
}

static bool is_made(const perf_series_t *self, const perf_case_t *c)
{
    return MPI_REQUEST_NULL != self->request && self->made.op == c->op &&
           self->made.in_place == c->in_place && self->made.bytes == c->bytes;
}

static void persistent_call(perf_series_t *self, const perf_case_t *c)
{
    if (!is_made(self, c)) {
        unmake(self);
        make(self, c);
        self->made = *c;
    }
    MPI_Start(&self->request);
    MPI_Wait(&self->request, MPI_STATUS_IGNORE);
}

bool perf_persistent_open(perf_series_t *self, const perf_series_t *ours, char *reason)
{
    if (0 == (ours->ops & PERF_COLLECTIVES)) {
        return perf_refuse(reason, "it is for collectives");
    }
    *self = *ours;
    self->name = "persistent";
    self->ops = ours->ops & PERF_COLLECTIVES;
    self->call = persistent_call;
    self->start = NULL;
    self->test = NULL;
    self->wait = NULL;
    self->close = unmake; /* the memory is ours' */
    self->request = MPI_REQUEST_NULL;
    perf_text(self->note, "start and wait of persistent requests on symm's window");
    return true;
}

#else

bool perf_persistent_open(perf_series_t *self, const perf_series_t *ours, char *reason)
{
    (void) self;
    (void) ours;
    return perf_refuse(reason, "this MPI has no persistent collectives");
}

#endif
