/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Times all contestants at one case, in alternating blocks. */
#ifndef PERF_MEASURE_H
#define PERF_MEASURE_H

#include "perf_options.h"
#include "perf_series.h"
#include "perf_stats.h"

#include "mpi_symm.h"

/* What came out for one contestant. Times in seconds per call. The same on all ranks only where
 * said: rank 0's are the ones to print. */
typedef struct perf_result {
    bool measured;     /* false: the contestant does not serve the operation */
    perf_stats_t time; /* of this rank's samples */
    double slowest;    /* the largest of the ranks' medians (all ranks) */
    double ratio;      /* ours / this one: median over the rounds of the ratio of the medians of the
                        * two blocks of a round */
    int samples;
    int calls_per_sample;
    unsigned long long wrong;      /* elements, with --verify (all ranks) */
    char plan[SYMM_PLAN_TEXT_MAX]; /* ours: the path taken, "" where there are no plans */
} perf_result_t;

/* Sets the plan to that of the latest collective, "low_latency_push 2 ranks". */
void perf_measure_plan(perf_result_t *result);

/* Fills results [count]; series[0] is ours. Collective. */
void perf_measure(const perf_options_t *options, perf_series_t *series, int count,
                  const perf_case_t *c, perf_result_t *results);

#endif
