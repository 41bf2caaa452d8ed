/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The table on standard output, the CSV file, and the progress line on a terminal. Only rank 0
 * writes; all functions may be called by all ranks. */
#ifndef PERF_OUTPUT_H
#define PERF_OUTPUT_H

#include "perf_measure.h"
#include "perf_options.h"
#include "perf_series.h"

/* Opens the CSV file. Collective: ends the job when it cannot be opened. */
void perf_output_open(const perf_options_t *options);

/* Returns false when the CSV file could not be written. */
bool perf_output_close(void);

/* A line of the header, in table and CSV. */
void perf_output_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Column titles of the CSV file; after the last note. */
void perf_output_titles(void);

/* The head of a table: all sizes of c's operation and manner. */
void perf_output_section(const perf_case_t *c, const perf_series_t *series, int count);

/* What is being done, the step-th of steps. */
void perf_output_progress(const perf_case_t *c, int step, int steps);

void perf_output_row(const perf_case_t *c, const perf_series_t *series,
                     const perf_result_t *results, int count);

/* A line of another table, on standard output alone. */
void perf_output_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* GB/s, 0 where there is no such thing. */
typedef struct perf_rates {
    double algorithm_gbs, bus_gbs;
} perf_rates_t;

/* Those of a call of c that takes so long. */
perf_rates_t perf_output_rates(const perf_case_t *c, double seconds);

/* A row of the CSV file, if there is one. */
void perf_output_figures(const char *op, const char *manner, size_t bytes, const char *contestant,
                         const perf_result_t *result, perf_rates_t rates);

/* A last line on standard output. */
void perf_output_end(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
