/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See perf_stats.h. */
#include "symm_config.h"

#include "perf_stats.h"

#include <stdlib.h>
#include <time.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a;
    double y = *(const double *) b;
    return (x > y) - (x < y);
}

static double median_of_sorted(const double *values, size_t count)
{
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The smallest value that percent of all do not exceed. */
static double percentile_of_sorted(const double *values, size_t count, size_t percent)
{
    size_t rank = (count * percent + 99) / 100;
    return values[0 == rank ? 0 : rank - 1];
}

perf_stats_t perf_stats_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return (perf_stats_t){
        .median = median_of_sorted(values, count),
        .p10 = percentile_of_sorted(values, count, 10),
        .p99 = percentile_of_sorted(values, count, 99),
        .min = values[0],
    };
}

double perf_stats_median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return median_of_sorted(values, count);
}

double perf_stats_now(void)
{
    struct timespec now;
    (void) clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
    return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}
