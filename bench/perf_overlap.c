/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See perf_overlap.h. The call is started first, then the kernel is launched, as programs do; each
 * contestant has a kernel that lasts somewhat longer than its call does alone. */
#include "symm_config.h"

#include "perf_overlap.h"

#include "perf_busy.h"
#include "perf_measure.h"
#include "perf_output.h"
#include "perf_stats.h"
#include "perf_verify.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define KERNEL_TO_CALL 1.25 /* how much longer the kernel is */
#define FEW_TESTS      3
#define LEAST_ROUNDS   5
#define MOST_ROUNDS    100

/* What is under way at once, and how often the program tests the call before it waits for the
 * kernel, and then for the call. */
typedef struct manner {
    const char *name;
    bool computes, calls;
    int tests;
} manner_t;

enum { COMPUTE_ALONE, CALL_ALONE, POLLED, TESTED, UNTESTED, MANNERS };

static const manner_t manners[MANNERS] = {
    [COMPUTE_ALONE] = {"alone", true, false, 0}, [CALL_ALONE] = {"alone", false, true, 0},
    [POLLED] = {"polled", true, true, INT_MAX},  [TESTED] = {"tested", true, true, FEW_TESTS},
    [UNTESTED] = {"untested", true, true, 0},
};

/* Seconds, of the slowest rank. */
enum { COMPUTE, START, CALL, BOTH, PARTS };

static const char *const part_names[PARTS] = {"compute", "start", "call", "both"};

/* Of one contestant at one size. */
typedef struct overlap {
    int rounds;
    double samples[MANNERS][PARTS][MOST_ROUNDS];
    perf_result_t results[MANNERS][PARTS];
} overlap_t;

/* The kernel's time is the GPU's, the others' the host's from before the start on: until that
 * returns, until the call is done, until both are. */
static void run_once(perf_series_t *series, const perf_case_t *c, const manner_t *manner,
                     double seconds[PARTS])
{
    bool done = !manner->calls;
    perf_barrier();
    double start = perf_stats_now();
    if (manner->calls) {
        series->start(series, c);
    }
    seconds[START] = perf_stats_now() - start;
    if (manner->computes) {
        perf_busy_start();
    }
    for (int i = 0; !done && i < manner->tests; ++i) {
        done = series->test(series);
    }
    seconds[CALL] = perf_stats_now() - start;
    seconds[COMPUTE] = manner->computes ? perf_busy_finish() : 0;
    if (!done) {
        series->wait(series);
        seconds[CALL] = perf_stats_now() - start;
    }
    seconds[BOTH] = perf_stats_now() - start;
}

static void run_round(perf_series_t *series, const perf_case_t *c, overlap_t *o, int round)
{
    for (int m = 0; m < MANNERS; ++m) {
        double seconds[PARTS];
        run_once(series, c, &manners[m], seconds);
        for (int p = 0; p < PARTS; ++p) {
            o->samples[m][p][round] = perf_max(seconds[p]);
        }
    }
}

/* Makes the kernel as long as the call wants it, and finds how many rounds there is time for. */
static void prepare(const perf_options_t *options, perf_series_t *series, const perf_case_t *c,
                    overlap_t *o)
{
    double seconds[PARTS];
    double least = 0;
    for (int i = 0; i < LEAST_ROUNDS; ++i) {
        run_once(series, c, &manners[CALL_ALONE], seconds);
        perf_measure_plan(&o->results[CALL_ALONE][CALL]); /* before any other collective */
        double call = perf_max(seconds[CALL]);
        least = 0 == i || call < least ? call : least;
    }
    perf_busy_set(KERNEL_TO_CALL * least);
    double rounds = options->time_s / (MANNERS * KERNEL_TO_CALL * least);
    o->rounds = LEAST_ROUNDS > rounds  ? LEAST_ROUNDS
                : MOST_ROUNDS < rounds ? MOST_ROUNDS
                                       : (int) rounds;
}

static void evaluate(overlap_t *o)
{
    for (int m = 0; m < MANNERS; ++m) {
        for (int p = 0; p < PARTS; ++p) {
            perf_result_t *result = &o->results[m][p];
            result->time = perf_stats_of(o->samples[m][p], (size_t) o->rounds);
            result->slowest = result->time.median;
            result->samples = o->rounds;
            result->calls_per_sample = 1;
        }
    }
}

/* A call for verifying. */
static void overlapped_call(perf_series_t *series, const perf_case_t *c)
{
    double seconds[PARTS];
    run_once(series, c, &manners[TESTED], seconds);
}

static unsigned long long verify(const perf_series_t *series, const perf_case_t *c)
{
    perf_series_t overlapped = *series;
    overlapped.call = overlapped_call;
    return perf_verify(&overlapped, c);
}

static double median(const overlap_t *o, int manner, int part)
{
    return o->results[manner][part].time.median;
}

/* One line for each manner of both at once. */
static void print(const overlap_t *o, const perf_series_t *series, const perf_case_t *c)
{
    double compute = median(o, COMPUTE_ALONE, COMPUTE);
    double call = median(o, CALL_ALONE, CALL);
    double shorter = compute < call ? compute : call;
    for (int m = POLLED; m < MANNERS; ++m) {
        char beside[32] = "       -        -"; /* when the call ended is not seen in time */
        if (POLLED == m) {
            (void) snprintf(beside, sizeof(beside), "%8.1f %8.1f", median(o, m, CALL) * 1e6,
                            perf_case_bus_gbs(c, perf_world.size, median(o, m, CALL)));
        }
        perf_output_line(
            "%10zu %10s %8s %8.1f %8.1f %7.2f%% | %8.1f %8.1f %8.1f %s | %8.1f %6.1f%%%s", c->bytes,
            series->name, manners[m].name, compute * 1e6, median(o, m, COMPUTE) * 1e6,
            (median(o, m, COMPUTE) / compute - 1) * 100, median(o, CALL_ALONE, START) * 1e6,
            call * 1e6, perf_case_bus_gbs(c, perf_world.size, call), beside,
            median(o, m, BOTH) * 1e6, (compute + call - median(o, m, BOTH)) / shorter * 100,
            0 == o->results[0][0].wrong ? "" : " WRONG");
    }
}

static bool is_row(int manner, int part)
{
    switch (part) {
    case COMPUTE:
        return manners[manner].computes;
    case START:
        return CALL_ALONE == manner;
    case CALL:
        return CALL_ALONE == manner || POLLED == manner;
    default:
        return POLLED <= manner;
    }
}

static void write_row(const overlap_t *ours, overlap_t *o, const perf_series_t *series,
                      const perf_case_t *c, int m, int p)
{
    char manner[32];
    perf_result_t *result = &o->results[m][p];
    perf_rates_t rates = {0};
    if (CALL == p) {
        rates = perf_output_rates(c, median(o, m, p));
    }
    result->ratio = median(ours, m, p) / median(o, m, p);
    (void) snprintf(manner, sizeof(manner), "%s %s", part_names[p], manners[m].name);
    perf_output_figures(c->in_place ? "overlap in place" : "overlap", manner, c->bytes,
                        series->name, result, rates);
}

static void write_rows(const overlap_t *ours, overlap_t *o, const perf_series_t *series,
                       const perf_case_t *c)
{
    for (int m = 0; m < MANNERS; ++m) {
        for (int p = 0; p < PARTS; ++p) {
            if (is_row(m, p)) {
                write_row(ours, o, series, c, m, p);
            }
        }
    }
}

static void measure(const perf_options_t *options, perf_series_t *series, const perf_case_t *c,
                    overlap_t *o)
{
    *o = (overlap_t){0};
    perf_verify_fill(series, c);
    prepare(options, series, c, o);
    for (int round = 0; round < o->rounds; ++round) {
        run_round(series, c, o, round);
    }
    evaluate(o);
    o->results[0][0].wrong = options->verify ? verify(series, c) : 0;
}

static void print_head(const perf_case_t *c)
{
    perf_output_line("# allgather, %s, beside a kernel on all multiprocessors; \"polled\": the "
                     "program tests the call until it is done, \"tested\": %d times, \"untested\": "
                     "it only waits, after the kernel",
                     perf_case_manner(c), FEW_TESTS);
    perf_output_line("#%9s %10s %8s %8s %8s %8s | %8s %8s %8s %8s %8s | %8s %7s", "bytes", "", "",
                     "compute", "beside", "slowed", "returns", "call", "bus", "beside", "bus",
                     "both", "hidden");
}

static void measure_all(const perf_options_t *options, perf_series_t *series, int count,
                        const perf_case_t *c, unsigned long long *wrong_p)
{
    static overlap_t ours, other;
    for (int i = 0; i < count; ++i) {
        overlap_t *o = 0 == i ? &ours : &other;
        if (NULL == series[i].start) {
            continue;
        }
        measure(options, &series[i], c, o);
        if (0 < i) {
            o->results[CALL_ALONE][CALL].plan[0] = '\0'; /* that was no plan of its */
        }
        print(o, &series[i], c);
        write_rows(&ours, o, &series[i], c);
        *wrong_p += o->results[0][0].wrong;
    }
}

static bool open_kernel(const perf_series_t *ours)
{
    char reason[PERF_TEXT_MAX] = "";
    bool opened = ours->device ? perf_busy_open(reason)
                               : perf_refuse(reason, "there is no GPU memory to gather");
    opened = perf_agree(opened, reason);
    if (!opened && 0 == perf_world.rank) {
        fprintf(stderr, "symm_perf: --overlap: %s\n", reason);
    }
    return opened;
}

bool perf_overlap(const perf_options_t *options, perf_series_t *series, int count,
                  const size_t *sizes, int size_count, unsigned long long *wrong_p)
{
    if (!open_kernel(&series[0])) {
        return false;
    }
    MPI_Comm comm = series[0].comm;
    series[0].comm = perf_duplicate(comm, "coll_symm_copy_engine_only", "true");
    MPI_Barrier(series[0].comm); /* its first blocking collective sets it up for nonblocking ones */
    for (int placement = PERF_OUT; placement <= PERF_IN; ++placement) {
        perf_case_t c = {.op = PERF_ALLGATHER, .in_place = PERF_IN == placement};
        if (0 != (options->placements & PERF_BIT(placement))) {
            print_head(&c);
            for (int i = 0; i < size_count; ++i) {
                c.bytes = sizes[i];
                measure_all(options, series, count, &c, wrong_p);
            }
        }
    }
    MPI_Comm_free(&series[0].comm);
    series[0].comm = comm;
    perf_busy_close();
    return true;
}
