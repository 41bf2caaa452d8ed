/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See perf_output.h. */
#include "symm_config.h"

#include "perf_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLEAR_LINE "\r\033[K"

static FILE *csv;
static bool progress;    /* the progress line is on */
static bool same_screen; /* and the table goes to a terminal too */

static bool is_writer(void)
{
    return 0 == perf_world.rank;
}

/* Whether what is written to fd ends on a terminal. Under mpirun our own descriptors are its pipes
 * (or a pseudo terminal even when its output goes to a file), so its own are what counts. */
static bool on_terminal(int fd)
{
    if (NULL == getenv("OMPI_COMM_WORLD_RANK")) {
        return 0 != isatty(fd);
    }
    char path[64];
    (void) snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) getppid(), fd);
    int parent_fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    bool terminal = 0 <= parent_fd && 0 != isatty(parent_fd);
    if (0 <= parent_fd) {
        (void) close(parent_fd); /* nothing was written */
    }
    return terminal;
}

void perf_output_open(const perf_options_t *options)
{
    if (!is_writer()) {
        return;
    }
    progress = on_terminal(STDERR_FILENO);
    same_screen = progress && on_terminal(STDOUT_FILENO);
    (void) setvbuf(stdout, NULL, _IOLBF, 0); /* otherwise rows come late, no more */
    if (NULL != options->csv) {
        csv = fopen(options->csv, "w");
        if (NULL == csv) {
            perf_fatal("cannot write %s: %s", options->csv, strerror(errno));
        }
    }
}

static void clear_progress(void)
{
    if (progress) {
        fputs(CLEAR_LINE, stderr);
        fflush(stderr);
    }
}

bool perf_output_close(void)
{
    bool written = true;
    if (NULL != csv) {
        bool failed = 0 != ferror(csv);
        written = 0 == fclose(csv) && !failed;
        csv = NULL;
    }
    if (!written) {
        fprintf(stderr, "symm_perf: the CSV file could not be written to its end\n");
    }
    return written;
}

/* Starts a line of the table where the progress line stands. */
static void start_line(void)
{
    clear_progress();
    if (same_screen) {
        fputs(CLEAR_LINE, stdout);
    }
}

void perf_output_note(const char *format, ...)
{
    va_list args;
    if (!is_writer()) {
        return;
    }
    printf("# ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    if (NULL != csv) {
        fprintf(csv, "# ");
        va_start(args, format);
        vfprintf(csv, format, args);
        va_end(args);
        fprintf(csv, "\n");
    }
}

void perf_output_titles(void)
{
    if (NULL != csv) {
        fprintf(csv, "op,manner,bytes,contestant,median_us,p10_us,p99_us,min_us,slowest_median_us,"
                     "alg_gbs,bus_gbs,ours_to_this,samples,calls_per_sample,wrong,plan\n");
    }
}

void perf_output_section(const perf_case_t *c, const perf_series_t *series, int count)
{
    if (!is_writer()) {
        return;
    }
    start_line();
    printf("\n# %s, %s\n", perf_op_name(c->op), perf_case_manner(c));
    start_line(); /* a progress line may have come later than it was written */
    printf("#%9s %10s %10s %10s %10s %10s %8s %8s", "bytes", "median", "p10", "p99", "min",
           "slowest", "alg", "bus");
    for (int i = 1; i < count; ++i) {
        if (0 != (series[i].ops & PERF_BIT(c->op))) {
            printf(" |%11s %6s", series[i].name, "ratio");
        }
    }
    printf("%s\n", 0 != (PERF_BIT(c->op) & PERF_COLLECTIVES) ? " | plan" : "");
}

void perf_output_progress(const perf_case_t *c, int step, int steps)
{
    if (is_writer() && progress) {
        fprintf(stderr, CLEAR_LINE "[%d of %d] %s %s, %zu bytes ...", step, steps,
                perf_op_name(c->op), perf_case_manner(c), c->bytes);
        fflush(stderr);
    }
}

static void print_row(const perf_case_t *c, const perf_result_t *results, int count)
{
    const perf_result_t *ours = &results[0];
    start_line();
    printf("%10zu %10.3f %10.3f %10.3f %10.3f %10.3f %8.2f %8.2f", c->bytes,
           ours->time.median * 1e6, ours->time.p10 * 1e6, ours->time.p99 * 1e6,
           ours->time.min * 1e6, ours->slowest * 1e6,
           perf_case_algorithm_gbs(c, perf_world.size, ours->time.median),
           perf_case_bus_gbs(c, perf_world.size, ours->time.median));
    for (int i = 1; i < count; ++i) {
        if (results[i].measured) {
            printf(" |%11.3f %6.3f", results[i].time.median * 1e6, results[i].ratio);
        }
    }
    printf("%s%s%s\n", '\0' == ours->plan[0] ? "" : " | ", ours->plan,
           0 == ours->wrong ? "" : " WRONG");
}

void perf_output_figures(const char *op, const char *manner, size_t bytes, const char *contestant,
                         const perf_result_t *result, perf_rates_t rates)
{
    const perf_stats_t *t = &result->time;
    if (NULL != csv) {
        fprintf(csv, "%s,%s,%zu,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%d,%d,%llu,%s\n", op,
                manner, bytes, contestant, t->median * 1e6, t->p10 * 1e6, t->p99 * 1e6,
                t->min * 1e6, result->slowest * 1e6, rates.algorithm_gbs, rates.bus_gbs,
                result->ratio, result->samples, result->calls_per_sample, result->wrong,
                result->plan);
        (void) fflush(csv); /* an error stays set until the end */
    }
}

perf_rates_t perf_output_rates(const perf_case_t *c, double seconds)
{
    return (perf_rates_t){perf_case_algorithm_gbs(c, perf_world.size, seconds),
                          perf_case_bus_gbs(c, perf_world.size, seconds)};
}

void perf_output_row(const perf_case_t *c, const perf_series_t *series,
                     const perf_result_t *results, int count)
{
    if (!is_writer()) {
        return;
    }
    print_row(c, results, count);
    for (int i = 0; i < count; ++i) {
        if (results[i].measured) {
            perf_output_figures(perf_op_name(c->op), perf_case_manner(c), c->bytes, series[i].name,
                                &results[i], perf_output_rates(c, results[i].time.median));
        }
    }
}

void perf_output_line(const char *format, ...)
{
    va_list args;
    if (!is_writer()) {
        return;
    }
    start_line();
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

void perf_output_end(const char *format, ...)
{
    va_list args;
    if (!is_writer()) {
        return;
    }
    start_line();
    printf("\n# ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}
