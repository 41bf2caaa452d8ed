/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The contestant that makes the same calls without symmetric memory: collectives on malloc'ed
 * buffers and a communicator that never had a symmetric window, puts and gets on a window that
 * another OSC component serves. */
#include "symm_config.h"

#include "perf_series.h"

#include "mpi_symm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool open_collectives(perf_series_t *self, unsigned ops, size_t max_bytes, char *reason)
{
    perf_layout_t layout = perf_case_layout(ops, max_bytes, perf_world.size);
    self->memory = perf_case_allocate(layout.send_bytes + layout.recv_bytes);
    if (NULL == self->memory) {
        return perf_refuse(reason, "no memory for %zu bytes",
                           layout.send_bytes + layout.recv_bytes);
    }
    self->send = self->memory;
    self->recv = self->send + layout.send_bytes;
    return true;
}

/* Names who serves windows without the info key, as far as one can tell from outside: of a list of
 * two (--mca osc symm,sm) it is the other. */
static void name_component(char *text, size_t len)
{
    const char *list = getenv("OMPI_MCA_osc");
    char first[32], second[32], rest;
    if (NULL == list || 2 != sscanf(list, "%31[a-z0-9],%31[a-z0-9]%c", first, second, &rest)) {
        (void) snprintf(text, len, "another component%s%s", NULL == list ? "" : " of --mca osc ",
                        NULL == list ? "" : list);
        return;
    }
    (void) snprintf(text, len, "osc/%s", 0 == strcmp("symm", first) ? second : first);
}

/* Allocates an ordinary window on a communicator of its own. False when osc/symm serves it itself,
 * having nobody to hand it to. */
static bool open_window(perf_series_t *self, size_t max_bytes, char *reason)
{
    perf_layout_t layout = perf_case_layout(PERF_RMA, max_bytes, perf_world.size);
    MPI_Comm comm;
    symm_window_info_t info;
    MPI_Comm_dup(perf_world.comm, &comm);
    MPI_Win_allocate((MPI_Aint) (layout.send_bytes + layout.recv_bytes), 1, MPI_INFO_NULL, comm,
                     &self->window_send, &self->window);
    MPI_Comm_free(&comm); /* the window keeps what it needs */
    if (MPI_SUCCESS == symm_window_query(self->window, &info)) {
        MPI_Win_free(&self->window);
        return perf_refuse(reason, "no other OSC component; run with --mca osc symm,sm");
    }
    self->window_recv = self->window_send + layout.send_bytes;
    self->at_recv = (MPI_Aint) layout.send_bytes;
    return true;
}

static bool open_rma(perf_series_t *self, size_t max_bytes, char *reason)
{
    if (!perf_agree(open_window(self, max_bytes, reason), reason)) {
        return false;
    }
    self->memory2 = perf_case_allocate(max_bytes);
    perf_text(reason, "no memory for %zu bytes of origin", max_bytes);
    if (!perf_agree(NULL != self->memory2, reason)) {
        MPI_Win_free(&self->window);
        free(self->memory2);
        self->memory2 = NULL;
        return false;
    }
    self->origin_out = self->memory2;
    self->origin_in = self->memory2;
    self->origin_host = self->memory2;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, self->window);
    return true;
}

static void default_close(perf_series_t *self)
{
    perf_mpi_close(self);
    if (MPI_WIN_NULL != self->window) {
        MPI_Win_unlock_all(self->window);
        MPI_Win_free(&self->window);
    }
    MPI_Comm_free(&self->comm);
    free(self->memory);
    free(self->memory2);
}

/* Adds "; put and get: ..." to the note. */
static void note_rma(perf_series_t *self, const char *reason)
{
    char component[128];
    size_t used = strlen(self->note);
    name_component(component, sizeof(component));
    (void) snprintf(self->note + used, sizeof(self->note) - used, "; put and get: %s%s",
                    NULL == reason ? "window of " : "excluded, ",
                    NULL == reason ? component : reason);
}

bool perf_default_open(perf_series_t *self, unsigned ops, size_t max_bytes, char *reason)
{
    *self = (perf_series_t){
        .name = "default",
        .note = "the same calls on ordinary host memory",
        .ops = ops,
        .call = perf_mpi_call,
        .close = default_close,
        .window = MPI_WIN_NULL,
        .target = perf_case_target(perf_world.rank, perf_world.size),
    };
    bool collectives = 0 != (ops & PERF_COLLECTIVES);
    bool opened = !collectives || open_collectives(self, ops, max_bytes, reason);
    if (!perf_agree(opened, reason)) {
        free(self->memory);
        return false;
    }
    if (0 != (ops & PERF_RMA)) {
        bool served = open_rma(self, max_bytes, reason);
        note_rma(self, served ? NULL : reason);
        self->ops &= served ? ~0u : PERF_COLLECTIVES;
    }
    if (0 == self->ops) {
        free(self->memory);
        return false;
    }
    self->comm = perf_duplicate(perf_world.comm, "coll_symm_enable", "false");
    return true;
}
