/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Order statistics of samples. */
#ifndef PERF_STATS_H
#define PERF_STATS_H

#include <stddef.h>

typedef struct perf_stats {
    double median;
    double p10;
    double p99;
    double min;
} perf_stats_t;

/* Sorts values [count], count > 0, and sums them up. */
perf_stats_t perf_stats_of(double *values, size_t count);

/* Sorts values [count], count > 0. */
double perf_stats_median(double *values, size_t count);

/* Seconds on the monotonic clock. */
double perf_stats_now(void);

#endif
