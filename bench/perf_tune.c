/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See perf_tune.h. The lines are those that coll_symm_tuning.h describes. */
#include "symm_config.h"

#include "perf_tune.h"

#include "perf_output.h"
#include "perf_stats.h"
#include "perf_verify.h"

#include "mpi_symm.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_BYTES ((size_t) 2048) /* smaller ones on the host travel with the call */
#define SIZES_MAX   32
#define ROUNDS      7
#define BLOCK_S     2e-3 /* about the time of one round of one algorithm */
#define CALLS_MAX   500

/* One decision: up to a size `below`, beyond it `above`. */
typedef struct question {
    perf_op_t op;
    const char *below, *above; /* values of the info key coll_symm_algorithm */
    const char *setting;
    bool from; /* the setting is the first size of `above`, and missing if there is none */
    bool of_gpu;
    bool of_blocks; /* the setting counts all that a rank moves, a block for each rank */
} question_t;

static const question_t questions[] = {
    {PERF_ALLREDUCE, "one_shot", "two_shot", "one_shot_max", false, false, false},
    {PERF_ALLREDUCE, "two_shot", "copy_engine", "copy_engine_min", true, true, false},
    {PERF_ALLGATHER, "kernel", "copy_engine", "kernel_max", false, true, true},
};

int perf_tune_split(const double *below, const double *above, int count)
{
    double cost = 0;
    double least = 0;
    int best = 0;
    for (int i = 0; i < count; ++i) { /* relative to leaving all to `above` */
        cost += log(below[i] / above[i]);
        if (cost < least) {
            least = cost;
            best = i + 1;
        }
    }
    return best;
}

/* Seconds per call on the slowest rank. */
static double time_calls(perf_series_t *ours, const perf_case_t *c, int calls)
{
    perf_barrier();
    double start = perf_stats_now();
    for (int i = 0; i < calls; ++i) {
        ours->call(ours, c);
    }
    return perf_max((perf_stats_now() - start) / calls);
}

/* The median times of a call on either communicator, in rounds that take turns. */
static void compare(perf_series_t *ours, const perf_case_t *c, const MPI_Comm comms[2],
                    double times[2])
{
    double samples[2][ROUNDS];
    int calls = 1;
    for (int round = -1; round < ROUNDS; ++round) { /* the first one warms up and estimates */
        for (int i = 0; i < 2; ++i) {
            ours->comm = comms[i];
            double took = time_calls(ours, c, calls);
            samples[i][0 > round ? 0 : round] = took;
        }
        if (0 > round) {
            double slower = samples[0][0] > samples[1][0] ? samples[0][0] : samples[1][0];
            calls = slower * CALLS_MAX < BLOCK_S ? CALLS_MAX : (int) (BLOCK_S / slower) + 1;
        }
    }
    times[0] = perf_stats_median(samples[0], ROUNDS);
    times[1] = perf_stats_median(samples[1], ROUNDS);
}

static const char *link_name(const perf_series_t *ours)
{
    symm_window_info_t info = {.link = SYMM_LINK_COUNT};
    (void) symm_window_query(ours->window, &info); /* it was asked when the window was made */
    return symm_link_name(info.link);
}

/* Measures both algorithms at all sizes, beginning with LEAST_BYTES. Returns how many there are. */
static int measure(const question_t *q, const perf_options_t *options, perf_series_t *ours,
                   double below[SIZES_MAX], double above[SIZES_MAX])
{
    MPI_Comm comm = ours->comm;
    MPI_Comm comms[2] = {perf_duplicate(comm, "coll_symm_algorithm", q->below),
                         perf_duplicate(comm, "coll_symm_algorithm", q->above)};
    perf_case_t c = {.op = q->op};
    int count = 0;
    for (c.bytes = LEAST_BYTES; c.bytes <= options->max_bytes && count < SIZES_MAX; c.bytes *= 2) {
        double times[2];
        compare(ours, &c, comms, times);
        below[count] = times[0];
        above[count++] = times[1];
        perf_output_note("%s %zu bytes: %s %.2f us, %s %.2f us", perf_op_name(q->op), c.bytes,
                         q->below, times[0] * 1e6, q->above, times[1] * 1e6);
    }
    ours->comm = comm;
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    return count;
}

/* Answers a question with a line of the table. */
static void answer(const question_t *q, const perf_options_t *options, perf_series_t *ours,
                   FILE *file)
{
    double below[SIZES_MAX], above[SIZES_MAX];
    int count = measure(q, options, ours, below, above);
    int split = perf_tune_split(below, above, count);
    size_t bytes = q->from || 0 < split ? (LEAST_BYTES / 2) << (q->from ? split + 1 : split) : 0;
    bytes *= q->of_blocks ? (size_t) perf_world.size : 1;
    if (NULL != file && !(q->from && split == count)) {
        fprintf(file, "%s %d %s %zu\n", link_name(ours), perf_world.size, q->setting, bytes);
    }
}

bool perf_tune(const perf_options_t *options, perf_series_t *ours)
{
    char reason[PERF_TEXT_MAX] = "";
    FILE *file = 0 == perf_world.rank ? fopen(options->tune, "w") : NULL;
    bool opened = 0 != perf_world.rank || NULL != file ||
                  perf_refuse(reason, "%s: %s", options->tune, strerror(errno));
    if (!perf_agree(opened, reason)) {
        perf_output_note("no table: %s", reason);
        return false;
    }
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); ++i) {
        if (ours->device || !questions[i].of_gpu) {
            answer(&questions[i], options, ours, file);
        }
    }
    bool written = NULL == file || 0 == fclose(file);
    written = perf_agree(written, reason);
    perf_output_note(written ? "table: %s" : "%s could not be written", options->tune);
    return written;
}
