/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See perf_measure.h. No barrier separates the calls of a block: each rank makes its next call when
 * its previous one returns, as in nccl-tests. Barriers separate the blocks. */
#include "symm_config.h"

#include "perf_measure.h"

#include "perf_verify.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_ROUNDS 3
#define SHORT_CALL_S 1e-6 /* shorter calls are timed in groups of about that length */
#define MOST_GROUPED 1000
#define LONG_CALL_S  5e-3 /* blocks of longer calls have no calls to warm up */
#define WARM_CALLS   2

/* How one contestant is timed; the same on all ranks, since all must make the same calls. */
typedef struct schedule {
    double estimate; /* seconds of a call */
    int calls_per_sample;
    int block; /* samples of a round */
    int rounds;
    double *samples; /* [rounds * block] */
    double *medians; /* [rounds] of the blocks */
} schedule_t;

static void make_calls(perf_series_t *series, const perf_case_t *c, int count)
{
    for (int i = 0; i < count; ++i) {
        series->call(series, c);
    }
}

/* Seconds per call on the slowest rank. */
static double time_calls(perf_series_t *series, const perf_case_t *c, int count)
{
    double took = 0;
    perf_barrier();
    if (perf_case_acts(c, perf_world.rank)) {
        double start = perf_stats_now();
        make_calls(series, c, count);
        took = (perf_stats_now() - start) / count;
    }
    return perf_max(took);
}

/* Warms up and learns how long a call takes. */
static double estimate(perf_series_t *series, const perf_case_t *c)
{
    double seconds = time_calls(series, c, 1); /* with page faults and lazy set-up */
    if (0.1 < seconds) {
        return seconds; /* good enough for a few calls */
    }
    seconds = time_calls(series, c, 3);
    if (1e-3 > seconds) {
        seconds = time_calls(series, c, 50);
    }
    if (1e-5 > seconds) {
        seconds = time_calls(series, c, 1000);
    }
    return 1e-9 > seconds ? 1e-9 : seconds;
}

static int within(double value, int least, int most)
{
    return value < least ? least : value > most ? most : (int) value;
}

static void plan_schedule(const perf_options_t *options, double slowest, schedule_t *s)
{
    s->calls_per_sample = within(SHORT_CALL_S / s->estimate + 1, 1, MOST_GROUPED);
    s->rounds = within(options->time_s / slowest, LEAST_ROUNDS, options->rounds);
    double affordable = options->time_s / (s->estimate * s->calls_per_sample);
    int samples = within(affordable, 1, options->iterations);
    s->block = (samples + s->rounds - 1) / s->rounds;
    s->samples = calloc((size_t) s->rounds * (size_t) s->block, sizeof(*s->samples));
    s->medians = calloc((size_t) s->rounds, sizeof(*s->medians));
    if (NULL == s->samples || NULL == s->medians) {
        perf_fatal("no memory for %d samples", s->rounds * s->block);
    }
}

static void take_samples(perf_series_t *series, const perf_case_t *c, const schedule_t *s,
                         double *samples)
{
    make_calls(series, c, s->estimate < LONG_CALL_S ? WARM_CALLS : 0);
    for (int i = 0; i < s->block; ++i) {
        double start = perf_stats_now();
        make_calls(series, c, s->calls_per_sample);
        samples[i] = (perf_stats_now() - start) / s->calls_per_sample;
    }
}

void perf_measure_plan(perf_result_t *result)
{
    char text[SYMM_PLAN_TEXT_MAX] = "";
    (void) symm_plan_query(text, sizeof(text)); /* only fails on bad arguments */
    const char *colon = strstr(text, ": ");
    strcpy(result->plan, NULL == colon ? text : colon + 2);
}

/* One contestant's block of a round. Symm's plan is noted in *ours before the barrier, which has
 * one, too; NULL for the others. */
static void run_block(perf_series_t *series, const perf_case_t *c, schedule_t *s, int round,
                      perf_result_t *ours)
{
    double *samples = s->samples + (size_t) round * (size_t) s->block;
    perf_barrier();
    if (perf_case_acts(c, perf_world.rank)) {
        take_samples(series, c, s, samples);
        s->medians[round] = perf_stats_median(samples, (size_t) s->block);
    }
    if (NULL != ours && 0 != (PERF_BIT(c->op) & PERF_COLLECTIVES)) {
        perf_measure_plan(ours);
    }
    perf_barrier();
}

static void verify(perf_series_t *series, int count, const perf_case_t *c, perf_result_t *results)
{
    for (int i = 0; i < count; ++i) {
        if (results[i].measured) {
            results[i].wrong += perf_verify(&series[i], c);
        }
    }
}

/* Median over the rounds of a's block over b's. */
static double compare(const schedule_t *a, const schedule_t *b)
{
    double ratios[a->rounds];
    for (int i = 0; i < a->rounds; ++i) {
        ratios[i] = a->medians[i] / b->medians[i];
    }
    return perf_stats_median(ratios, (size_t) a->rounds);
}

static void evaluate(const perf_case_t *c, const schedule_t *ours, schedule_t *s,
                     perf_result_t *result)
{
    size_t samples = (size_t) s->rounds * (size_t) s->block;
    double median = 0;
    if (perf_case_acts(c, perf_world.rank)) {
        result->ratio = compare(ours, s);
        result->time = perf_stats_of(s->samples, samples);
        median = result->time.median;
    }
    result->slowest = perf_max(median);
    result->samples = (int) samples;
    result->calls_per_sample = s->calls_per_sample;
}

static void prepare(const perf_options_t *options, perf_series_t *series, int count,
                    const perf_case_t *c, perf_result_t *results, schedule_t *schedules)
{
    double slowest = 0;
    for (int i = 0; i < count; ++i) {
        results[i] = (perf_result_t){.measured = 0 != (series[i].ops & PERF_BIT(c->op))};
        if (results[i].measured) {
            schedules[i].estimate = estimate(&series[i], c);
            slowest = slowest > schedules[i].estimate ? slowest : schedules[i].estimate;
        }
    }
    for (int i = 0; i < count; ++i) {
        if (results[i].measured) {
            plan_schedule(options, slowest, &schedules[i]);
        }
    }
}

void perf_measure(const perf_options_t *options, perf_series_t *series, int count,
                  const perf_case_t *c, perf_result_t *results)
{
    schedule_t schedules[PERF_SERIES_MAX] = {0};
    prepare(options, series, count, c, results, schedules);
    if (options->verify) {
        verify(series, count, c, results);
    }
    for (int round = 0; round < schedules[0].rounds; ++round) {
        for (int i = 0; i < count; ++i) {
            int turn = 0 == round % 2 ? i : count - 1 - i; /* nobody always follows the same one */
            if (results[turn].measured) {
                run_block(&series[turn], c, &schedules[turn], round,
                          0 == turn ? &results[0] : NULL);
            }
        }
    }
    if (options->verify) {
        verify(series, count, c, results);
    }
    for (int i = 0; i < count; ++i) {
        if (results[i].measured) {
            evaluate(c, &schedules[0], &schedules[i], &results[i]);
        }
    }
    for (int i = 0; i < count; ++i) {
        free(schedules[i].samples);
        free(schedules[i].medians);
    }
}
