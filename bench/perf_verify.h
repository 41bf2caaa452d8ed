/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Checks a contestant's results against values computed without it. */
#ifndef PERF_VERIFY_H
#define PERF_VERIFY_H

#include "perf_series.h"

/* One round of c by series: new inputs, poisoned outputs, one call, and every element compared, the
 * bytes behind the output and an input that must have stayed included. Prints the first wrong
 * element of each rank. Returns the number of wrong elements on all ranks. Collective. */
unsigned long long perf_verify(perf_series_t *series, const perf_case_t *c);

/* Writes the inputs and outputs once, so that there is memory behind them, with the data that
 * verifying uses. Local. */
void perf_verify_fill(perf_series_t *series, const perf_case_t *c);

#endif
