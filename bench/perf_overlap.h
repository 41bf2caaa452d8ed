/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Nonblocking all-gathers beside a compute kernel that fills the GPU: what either costs the other.
 */
#ifndef PERF_OVERLAP_H
#define PERF_OVERLAP_H

#include "perf_options.h"
#include "perf_series.h"

/* Smaller all-gathers are over before a kernel is under way. */
#define PERF_OVERLAP_LEAST_BYTES ((size_t) 1 << 20)

/* Measures those of series [count] that have nonblocking calls, at the sizes [size_count] in bytes
 * of each rank's part; series[0] is ours, whose communicator uses copy engines alone meanwhile.
 * Writes table and CSV rows. Adds the wrong elements, with --verify, to *wrong_p. Collective.
 * Returns false, after a message on rank 0, when there is no GPU memory or no compute kernel. */
bool perf_overlap(const perf_options_t *options, perf_series_t *series, int count,
                  const size_t *sizes, int size_count, unsigned long long *wrong_p);

#endif
