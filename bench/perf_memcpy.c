/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What the machine does for a put or get of ours at best: one copy between the same addresses, by
 * cuMemcpyAsync and cuStreamSynchronize on a GPU, by memcpy on the host. */
#include "symm_config.h"

#include "perf_cuda.h"
#include "perf_series.h"

#include <string.h>

/* Where the target's window lies in this process. */
static char *target_memory(const perf_series_t *self)
{
    MPI_Aint size;
    int disp_unit;
    char *base = NULL;
    MPI_Win_shared_query(self->window, self->target, &size, &disp_unit, &base);
    return base;
}

static void copy(const perf_series_t *self, void *dst, const void *src, size_t len)
{
    if (self->device) {
        perf_cuda_copy(dst, src, len);
    } else {
        memcpy(dst, src, len);
    }
}

/* One copy for each of the puts. */
static void copy_many(const perf_series_t *self, char *dst, const char *src, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PERF_MANY_BYTES) {
        size_t len = bytes - at < PERF_MANY_BYTES ? bytes - at : PERF_MANY_BYTES;
        if (self->device) {
            perf_cuda_start_copy(dst + at, src + at, len);
        } else {
            memcpy(dst + at, src + at, len);
        }
    }
    if (self->device) {
        perf_cuda_synchronize();
    }
}

static void memcpy_call(perf_series_t *self, const perf_case_t *c)
{
    char *remote = self->memory;
    switch (c->op) {
    case PERF_PUT:
    case PERF_PUT_ROWS:
        copy(self, remote + self->at_recv, self->origin_out, c->bytes);
        break;
    case PERF_PUT_MANY:
        copy_many(self, remote + self->at_recv, self->origin_host, c->bytes);
        break;
    default:
        copy(self, self->origin_in, remote, c->bytes);
        break;
    }
}

static void memcpy_close(perf_series_t *self)
{
    (void) self; /* the memory is ours' */
}

bool perf_memcpy_open(perf_series_t *self, const perf_series_t *ours, char *reason)
{
    unsigned ops = ours->ops & PERF_COPIES;
    if (0 == ops) {
        return perf_refuse(reason, "it is for put and get");
    }
    *self = *ours;
    self->name = "memcpy";
    self->ops = ops;
    self->call = memcpy_call;
    self->close = memcpy_close;
    self->memory = target_memory(ours);
    perf_text(self->note, "%s between the same addresses",
              self->device ? "cuMemcpyAsync and cuStreamSynchronize" : "memcpy");
    perf_text(reason, "the window shows no address of its peer");
    return perf_agree(NULL != self->memory, reason);
}
