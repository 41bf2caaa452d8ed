/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What the command line asks for. */
#ifndef PERF_OPTIONS_H
#define PERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum perf_kind { PERF_KIND_AUTO, PERF_KIND_SYSTEM, PERF_KIND_CUDA } perf_kind_t;

/* Masks of PERF_BIT(). */
typedef enum perf_placement { PERF_OUT, PERF_IN } perf_placement_t;
typedef enum perf_peer {
    PERF_PERSISTENT,
    PERF_DEFAULT,
    PERF_NCCL,
    PERF_NCCL_SYMM,
    PERF_MEMCPY
} perf_peer_t;

typedef struct perf_options {
    size_t min_bytes;
    size_t max_bytes;
    size_t factor;
    unsigned ops;        /* of perf_op_t */
    unsigned placements; /* of perf_placement_t */
    unsigned peers;      /* of perf_peer_t */
    perf_kind_t kind;
    bool everyone; /* puts and gets by all ranks at once */
    bool verify;
    bool overlap;     /* measure all-gathers beside computation and nothing else */
    int iterations;   /* most samples of a contestant at a size */
    int rounds;       /* most rounds of alternating blocks */
    double time_s;    /* most seconds of a contestant at a size, if three rounds fit */
    const char *csv;  /* NULL for none */
    const char *tune; /* where to write a tuning table, NULL to measure as usual */
} perf_options_t;

/* Reads the command line. Exits on --help, --version and errors; call it before MPI_Init. quiet:
 * this rank prints nothing, another one does. */
void perf_options_read(int argc, char **argv, bool quiet, perf_options_t *options_p);

#endif
