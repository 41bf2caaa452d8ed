/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A contestant: ours, or one that it is compared with. Each has its own memory and makes the same
 * blocking call; everything else is common. */
#ifndef PERF_SERIES_H
#define PERF_SERIES_H

#include "perf_case.h"
#include "perf_world.h"

/* Ours and all peers. */
#define PERF_SERIES_MAX 8

typedef struct perf_series perf_series_t;

struct perf_series {
    const char *name;         /* column title */
    char note[PERF_TEXT_MAX]; /* what it is, for the header */
    unsigned ops;             /* what it serves */
    bool device;              /* all the memory below is GPU memory, otherwise host memory */
    char *send;               /* collectives: input, and output that is input too when in place */
    char *recv;
    char *window_send; /* get: what the target shows; put: where the origin's data arrive */
    char *window_recv;
    char *origin_out; /* put: what is written; get: where the data arrive */
    char *origin_in;
    char *origin_host; /* put_many: what is written, ordinary host memory */

    /* One blocking call. A failure ends the job. */
    void (*call)(perf_series_t *self, const perf_case_t *c);

    /* An all-gather that goes on meanwhile, one at a time; NULL where there is none. start begins
     * it, test returns whether it is done, wait waits for it; it has ended when test has returned
     * true or wait has returned. */
    void (*start)(perf_series_t *self, const perf_case_t *c);
    bool (*test)(perf_series_t *self);
    void (*wait)(perf_series_t *self);

    /* Frees what open got. Collective. */
    void (*close)(perf_series_t *self);

    MPI_Comm comm;       /* MPI contestants */
    MPI_Win window;      /* of window_send and window_recv, MPI_WIN_NULL when served otherwise */
    MPI_Aint at_recv;    /* from window_send to window_recv */
    MPI_Request request; /* of what start began, or that is started again and again */
    perf_case_t made;    /* what the latter is for */
    int target;          /* of this rank's puts and gets */
    void *memory;        /* what close frees */
    void *memory2;
    void *peer_comm;   /* contestants that are not MPI */
    MPI_Datatype rows; /* of the size used last, MPI_DATATYPE_NULL when it is not for rows */
    size_t rows_bytes;
};

/* Each fills *self or writes why it cannot into reason [PERF_TEXT_MAX] and returns false, alike on
 * all ranks. Collective. */

/* ---- perf_symm.c: ours. kind is the info key's value. ---- */
bool perf_symm_open(perf_series_t *self, const char *kind, unsigned ops, size_t max_bytes,
                    char *reason);

/* What MPI programs call; self->comm and self->window make the difference. */
void perf_mpi_call(perf_series_t *self, const perf_case_t *c);

/* Frees what such calls made. */
void perf_mpi_close(perf_series_t *self);

/* ---- perf_default.c: the same calls without symmetric windows, on ordinary host memory ---- */
bool perf_default_open(perf_series_t *self, unsigned ops, size_t max_bytes, char *reason);

/* ---- perf_memcpy.c: puts and gets of `ours` as plain copies between the same addresses ---- */
bool perf_memcpy_open(perf_series_t *self, const perf_series_t *ours, char *reason);

/* ---- perf_persistent.c: persistent forms of the collectives of `ours` ---- */
bool perf_persistent_open(perf_series_t *self, const perf_series_t *ours, char *reason);

/* ---- perf_nccl.c: NCCL on buffers of its own, plain or registered as symmetric windows ---- */
bool perf_nccl_open(perf_series_t *self, bool symmetric, unsigned ops, size_t max_bytes,
                    char *reason);

/* "NCCL 2.28.9", NULL when it was not opened. */
const char *perf_nccl_version(void);

#endif
