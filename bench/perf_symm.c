/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Our contestant: one symmetric window, used by collectives and by puts and gets. */
#include "symm_config.h"

#include "perf_series.h"

#include "mpi_symm.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Rows with as much between them, then the rows in between: all of `bytes`, which stay where they
 * are, so that the result is that of a plain copy. Sizes without whole rows are one run. */
static MPI_Datatype rows_of(perf_series_t *self, size_t bytes)
{
    MPI_Datatype half;
    if (self->rows_bytes == bytes) {
        return self->rows;
    }
    perf_mpi_close(self);
    if (0 == bytes % (2 * PERF_ROW_BYTES)) {
        MPI_Type_vector((int) (bytes / 2 / PERF_ROW_BYTES), PERF_ROW_BYTES, 2 * PERF_ROW_BYTES,
                        MPI_BYTE, &half);
        MPI_Type_create_hvector(2, 1, PERF_ROW_BYTES, half, &self->rows);
        MPI_Type_free(&half);
    } else {
        MPI_Type_contiguous((int) bytes, MPI_BYTE, &self->rows);
    }
    MPI_Type_commit(&self->rows);
    self->rows_bytes = bytes;
    return self->rows;
}

void perf_mpi_close(perf_series_t *self)
{
    if (0 < self->rows_bytes) {
        MPI_Type_free(&self->rows);
        self->rows_bytes = 0;
    }
}

/* From the last to the first, so that no two of them are one run. */
static void put_many(perf_series_t *self, size_t bytes)
{
    for (size_t at = bytes / PERF_MANY_BYTES * PERF_MANY_BYTES; at >= PERF_MANY_BYTES;) {
        at -= PERF_MANY_BYTES;
        MPI_Put(self->origin_host + at, PERF_MANY_BYTES, MPI_BYTE, self->target,
                self->at_recv + (MPI_Aint) at, PERF_MANY_BYTES, MPI_BYTE, self->window);
    }
    if (0 != bytes % PERF_MANY_BYTES) {
        size_t at = bytes / PERF_MANY_BYTES * PERF_MANY_BYTES;
        MPI_Put(self->origin_host + at, (int) (bytes - at), MPI_BYTE, self->target,
                self->at_recv + (MPI_Aint) at, (int) (bytes - at), MPI_BYTE, self->window);
    }
}

static void rma_call(perf_series_t *self, const perf_case_t *c)
{
    int bytes = (int) c->bytes;
    uint64_t fetched;
    MPI_Datatype rows;
    switch (c->op) {
    case PERF_PUT:
        MPI_Put(self->origin_out, bytes, MPI_BYTE, self->target, self->at_recv, bytes, MPI_BYTE,
                self->window);
        break;
    case PERF_GET:
        MPI_Get(self->origin_in, bytes, MPI_BYTE, self->target, 0, bytes, MPI_BYTE, self->window);
        break;
    case PERF_PUT_MANY:
        put_many(self, c->bytes);
        break;
    case PERF_PUT_ROWS:
        rows = rows_of(self, c->bytes);
        MPI_Put(self->origin_out, 1, rows, self->target, self->at_recv, 1, rows, self->window);
        break;
    case PERF_ACCUMULATE:
        MPI_Accumulate(self->origin_out, bytes / (int) sizeof(float), MPI_FLOAT, self->target,
                       self->at_recv, bytes / (int) sizeof(float), MPI_FLOAT, MPI_SUM,
                       self->window);
        break;
    case PERF_FETCH:
        MPI_Fetch_and_op(self->origin_out, &fetched,
                         sizeof(uint32_t) == c->bytes ? MPI_UINT32_T : MPI_UINT64_T, self->target,
                         self->at_recv, MPI_SUM, self->window);
        break;
    default:
        rows = rows_of(self, c->bytes);
        MPI_Get(self->origin_in, 1, rows, self->target, 0, 1, rows, self->window);
        break;
    }
    MPI_Win_flush(self->target, self->window);
}

void perf_mpi_call(perf_series_t *self, const perf_case_t *c)
{
    int bytes = (int) c->bytes;
    int block = (int) (perf_case_bytes(c, perf_world.size) / (size_t) perf_world.size);
    const void *input = c->in_place ? MPI_IN_PLACE : self->send;
    MPI_Datatype rows;
    switch (c->op) {
    case PERF_ALLREDUCE:
        MPI_Allreduce(input, self->recv, bytes / (int) sizeof(float), MPI_FLOAT, MPI_SUM,
                      self->comm);
        break;
    case PERF_ALLGATHER:
        MPI_Allgather(input, bytes, MPI_BYTE, self->recv, bytes, MPI_BYTE, self->comm);
        break;
    case PERF_ALLGATHER_ROWS:
        rows = rows_of(self, c->bytes);
        MPI_Allgather(self->send, 1, rows, self->recv, 1, rows, self->comm);
        break;
    case PERF_REDUCE:
        MPI_Reduce(self->send, self->recv, bytes / (int) sizeof(float), MPI_FLOAT, MPI_SUM, 0,
                   self->comm);
        break;
    case PERF_REDUCE_SCATTER:
        MPI_Reduce_scatter_block(self->send, self->recv, bytes / (int) sizeof(float), MPI_FLOAT,
                                 MPI_SUM, self->comm);
        break;
    case PERF_ALLTOALL:
        MPI_Alltoall(self->send, block, MPI_BYTE, self->recv, block, MPI_BYTE, self->comm);
        break;
    case PERF_BCAST:
        MPI_Bcast(0 == perf_world.rank ? self->send : self->recv, bytes, MPI_BYTE, 0, self->comm);
        break;
    case PERF_GATHER:
        MPI_Gather(self->send, bytes, MPI_BYTE, self->recv, bytes, MPI_BYTE, 0, self->comm);
        break;
    case PERF_SCATTER:
        MPI_Scatter(self->send, bytes, MPI_BYTE, self->recv, bytes, MPI_BYTE, 0, self->comm);
        break;
    case PERF_BARRIER:
        MPI_Barrier(self->comm);
        break;
    default:
        rma_call(self, c);
        break;
    }
}

static void symm_start(perf_series_t *self, const perf_case_t *c)
{
    const void *input = c->in_place ? MPI_IN_PLACE : self->send;
    MPI_Iallgather(input, (int) c->bytes, MPI_BYTE, self->recv, (int) c->bytes, MPI_BYTE,
                   self->comm, &self->request);
}

static bool symm_test(perf_series_t *self)
{
    int done;
    MPI_Test(&self->request, &done, MPI_STATUS_IGNORE);
    return 0 != done;
}

static void symm_wait(perf_series_t *self)
{
    MPI_Wait(&self->request, MPI_STATUS_IGNORE);
}

static int allocate_window(MPI_Comm comm, const char *kind, size_t bytes, char **base_p,
                           MPI_Win *window_p)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, SYMM_INFO_MEMORY_KIND, kind);
    MPI_Info_set(info, SYMM_INFO_REQUIRED, "true");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int rc = MPI_Win_allocate((MPI_Aint) bytes, 1, info, comm, base_p, window_p);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_Info_free(&info);
    return rc;
}

/* Whether the window is ours. Without the plug-ins MPI ignores the info keys. */
static bool is_symmetric(MPI_Win window, const char *kind, char *reason)
{
    symm_window_info_t info;
    if (MPI_SUCCESS != symm_window_query(window, &info)) {
        return perf_refuse(reason, "the window is an ordinary one: osc/symm was not chosen; use "
                                   "--mca osc symm, and let OMPI_MCA_mca_base_component_path name "
                                   "its folder");
    }
    return 0 == strcmp(kind, symm_kind_name(info.kind)) ||
           perf_refuse(reason, "the window's memory is %s and not %s", symm_kind_name(info.kind),
                       kind);
}

/* GPU: between the windows of the two ranks. Host: between a window and ordinary memory, which the
 * other components can do as well. */
static bool set_origin(perf_series_t *self, unsigned ops, size_t max_bytes, char *reason)
{
    if (0 != (ops & PERF_RMA)) {
        size_t most = max_bytes < PERF_MANY_MOST_BYTES ? max_bytes : PERF_MANY_MOST_BYTES;
        self->memory = perf_case_allocate(self->device ? most : max_bytes);
        self->origin_host = self->memory;
        self->origin_out = self->device ? self->send : self->memory;
        self->origin_in = self->device ? self->recv : self->memory;
    }
    return 0 == (ops & PERF_RMA) || NULL != self->memory ||
           perf_refuse(reason, "no memory for %zu bytes of origin", max_bytes);
}

static void symm_close(perf_series_t *self)
{
    perf_mpi_close(self);
    MPI_Win_unlock_all(self->window);
    MPI_Win_free(&self->window);
    MPI_Comm_free(&self->comm);
    free(self->memory);
}

static bool open_window(perf_series_t *self, const char *kind, unsigned ops, size_t max_bytes,
                        char *reason)
{
    perf_layout_t layout = perf_case_layout(ops, max_bytes, perf_world.size);
    char *base;
    int rc = allocate_window(self->comm, kind, layout.send_bytes + layout.recv_bytes, &base,
                             &self->window);
    if (MPI_SUCCESS != rc) {
        char text[MPI_MAX_ERROR_STRING];
        int len;
        MPI_Error_string(rc, text, &len);
        return perf_refuse(reason, "no window of %s memory: %s", kind, text);
    }
    self->send = base;
    self->recv = base + layout.send_bytes;
    self->window_send = self->send;
    self->window_recv = self->recv;
    self->at_recv = (MPI_Aint) layout.send_bytes;
    bool usable = perf_agree(is_symmetric(self->window, kind, reason), reason) &&
                  perf_agree(set_origin(self, ops, max_bytes, reason), reason);
    if (!usable) {
        MPI_Win_free(&self->window);
        free(self->memory);
    }
    return usable;
}

bool perf_symm_open(perf_series_t *self, const char *kind, unsigned ops, size_t max_bytes,
                    char *reason)
{
    *self = (perf_series_t){
        .name = "symm",
        .ops = ops,
        .device = 0 != strcmp(kind, "system"),
        .call = perf_mpi_call,
        .start = symm_start,
        .test = symm_test,
        .wait = symm_wait,
        .close = symm_close,
        .target = perf_case_target(perf_world.rank, perf_world.size),
    };
    MPI_Comm_dup(perf_world.comm, &self->comm);
    if (!open_window(self, kind, ops, max_bytes, reason)) {
        MPI_Comm_free(&self->comm);
        return false;
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, self->window);
    perf_text(self->note, "symmetric window of %s memory; put and get: origin in %s", kind,
              self->device ? "this rank's window" : "ordinary memory");
    return true;
}
