/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Makes a tuning table: measures our contestant with each algorithm and finds the sizes at which
 * one becomes better than another. */
#ifndef PERF_TUNE_H
#define PERF_TUNE_H

#include "perf_options.h"
#include "perf_series.h"

/* Measures ours and writes the table for the link between its ranks and their number to
 * options->tune. Collective. Returns false, after a message on rank 0, when the file cannot be
 * written. */
bool perf_tune(const perf_options_t *options, perf_series_t *ours);

/* The split of sizes in rising order: how many of them, from the smallest on, are `below`'s, if the
 * others are `above`'s, so that the product of the times taken is least. Times are in seconds. */
int perf_tune_split(const double *below, const double *above, int count);

#endif
