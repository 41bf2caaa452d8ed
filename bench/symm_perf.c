/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Measures blocking collectives, put and get on a symmetric window, beside other ways to do the
 * same. README.md says what is measured and how. */
#include "symm_config.h"

#include "perf_cuda.h"
#include "perf_measure.h"
#include "perf_options.h"
#include "perf_output.h"
#include "perf_overlap.h"
#include "perf_series.h"
#include "perf_tune.h"
#include "perf_verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Everything that takes part: ours first. */
typedef struct contest {
    perf_options_t options;
    perf_series_t series[PERF_SERIES_MAX];
    int count;
    unsigned long long wrong; /* elements */
} contest_t;

typedef struct sizes {
    size_t bytes[80];
    int count;
} sizes_t;

static void add_size(sizes_t *sizes, size_t bytes)
{
    sizes->bytes[sizes->count++] = bytes;
}

/* min, min * factor ... up to max, and 16 wherever it is in between. */
static sizes_t list_sizes(const perf_options_t *options)
{
    sizes_t sizes = {.count = 0};
    for (size_t next = options->min_bytes; next < options->max_bytes; next *= options->factor) {
        add_size(&sizes, next);
        if (16 > next && 16 < next * options->factor && 16 < options->max_bytes) {
            add_size(&sizes, 16);
        }
    }
    add_size(&sizes, options->max_bytes);
    return sizes;
}

/* Opens the window that is asked for. With auto, that the GPU window did not come is only noted.
 * Returns false, after a message, when there is none. */
static bool open_ours(contest_t *contest)
{
    const perf_options_t *options = &contest->options;
    char reason[PERF_TEXT_MAX] = "";
    bool opened = false;
    if (PERF_KIND_SYSTEM != options->kind) {
        bool gpu = perf_agree(perf_cuda_open(perf_world.local_rank, reason), reason);
        opened = gpu && perf_symm_open(&contest->series[0], "cuda:device", options->ops,
                                       options->max_bytes, reason);
    }
    if (!opened && PERF_KIND_AUTO == options->kind) {
        perf_output_note("not cuda:device: %s", reason);
    }
    if (!opened && PERF_KIND_CUDA != options->kind) {
        opened =
            perf_symm_open(&contest->series[0], "system", options->ops, options->max_bytes, reason);
    }
    if (!opened && 0 == perf_world.rank) {
        fprintf(stderr, "symm_perf: %s\n", reason);
    }
    contest->count = opened ? 1 : 0;
    return opened;
}

static bool open_peer(perf_peer_t peer, const contest_t *contest, perf_series_t *self, char *reason)
{
    const perf_options_t *options = &contest->options;
    switch (peer) {
    case PERF_DEFAULT:
        return perf_default_open(self, options->ops, options->max_bytes, reason);
    case PERF_NCCL:
        return perf_nccl_open(self, false, options->ops, options->max_bytes, reason);
    case PERF_NCCL_SYMM:
        return perf_nccl_open(self, true, options->ops, options->max_bytes, reason);
    case PERF_PERSISTENT:
        return perf_persistent_open(self, &contest->series[0], reason);
    case PERF_MEMCPY:
        return perf_memcpy_open(self, &contest->series[0], reason);
    }
    return false;
}

/* Opens the peers that are asked for and can be had; says why others cannot. */
static void open_peers(contest_t *contest)
{
    static const perf_peer_t peers[] = {PERF_PERSISTENT, PERF_DEFAULT, PERF_NCCL, PERF_NCCL_SYMM,
                                        PERF_MEMCPY};
    for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); ++i) {
        perf_series_t *next = &contest->series[contest->count];
        char reason[PERF_TEXT_MAX] = "";
        if (0 == (contest->options.peers & PERF_BIT(peers[i]))) {
            continue;
        }
        if (open_peer(peers[i], contest, next, reason)) {
            ++contest->count;
        } else {
            perf_output_note("%s: left out, %s", next->name, reason);
        }
    }
}

static void print_header(const contest_t *contest)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int len;
    MPI_Get_library_version(library, &len);
    library[strcspn(library, ",\n")] = '\0';
    perf_output_note("symm_perf %s, %s, %d rank%s, %s", SYMM_VERSION, library, perf_world.size,
                     1 == perf_world.size ? "" : "s",
                     contest->series[0].device ? perf_cuda_text() : "host memory");
    for (int i = 0; i < contest->count; ++i) {
        perf_output_note("%s: %s", contest->series[i].name, contest->series[i].note);
    }
    perf_output_note(
        "times in us on rank 0 (slowest: the largest of the ranks' medians); alg, bus: "
        "GB/s of 10^9 bytes");
    perf_output_note("bytes: of the buffer; all-gather, reduce-scatter, gather, scatter: each "
                     "rank's part; ratio: time of symm "
                     "/ time of the other, below 1 where symm is faster");
    perf_output_titles();
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Writes all memory that the section will use: reading memory that was never written is too fast.
 */
static void fill_section(contest_t *contest, const perf_case_t *kind)
{
    perf_case_t largest = *kind;
    largest.bytes = smaller(contest->options.max_bytes, perf_case_most_bytes(kind->op));
    for (int i = 0; i < contest->count; ++i) {
        if (0 != (contest->series[i].ops & PERF_BIT(kind->op))) {
            perf_verify_fill(&contest->series[i], &largest);
        }
    }
}

/* All sizes of one operation in one manner. */
static void run_section(contest_t *contest, const perf_case_t *kind, const sizes_t *sizes,
                        int *step, int steps)
{
    perf_result_t results[PERF_SERIES_MAX];
    perf_case_t c = *kind;
    fill_section(contest, kind);
    perf_output_section(&c, contest->series, contest->count);
    int count = PERF_BARRIER == c.op ? 1 : sizes->count;
    for (int i = 0; i < count; ++i) {
        c.bytes = sizes->bytes[i];
        perf_output_progress(&c, ++*step, steps);
        if (c.bytes > perf_case_most_bytes(c.op)) {
            continue;
        }
        perf_measure(&contest->options, contest->series, contest->count, &c, results);
        perf_output_row(&c, contest->series, results, contest->count);
        for (int s = 0; s < contest->count; ++s) {
            contest->wrong += results[s].wrong;
        }
    }
}

/* The tables to make, at most two per operation. */
static int list_sections(const perf_options_t *options, perf_case_t *sections)
{
    int count = 0;
    for (perf_op_t op = 0; op < PERF_OP_COUNT; ++op) {
        bool rma = 0 != (PERF_BIT(op) & PERF_RMA);
        if (0 == (options->ops & PERF_BIT(op))) {
            continue;
        }
        bool in_place = 0 != (PERF_BIT(op) & PERF_HAS_IN_PLACE);
        if (!in_place || 0 != (options->placements & PERF_BIT(PERF_OUT))) {
            sections[count++] = (perf_case_t){.op = op, .everyone = rma && options->everyone};
        }
        if (in_place && 0 != (options->placements & PERF_BIT(PERF_IN))) {
            sections[count++] = (perf_case_t){.op = op, .in_place = true};
        }
    }
    return count;
}

static void run_sections(contest_t *contest, const sizes_t *sizes)
{
    perf_case_t sections[2 * PERF_OP_COUNT];
    int count = list_sections(&contest->options, sections);
    int step = 0;
    for (int i = 0; i < count; ++i) {
        run_section(contest, &sections[i], sizes, &step, count * sizes->count);
    }
}

/* Returns false, after a message, when nothing can be measured. */
static bool run(contest_t *contest)
{
    sizes_t sizes = list_sizes(&contest->options);
    if (!contest->options.overlap) {
        run_sections(contest, &sizes);
    } else if (!perf_overlap(&contest->options, contest->series, contest->count, sizes.bytes,
                             sizes.count, &contest->wrong)) {
        return false;
    }
    if (contest->options.verify) {
        perf_output_end(0 == contest->wrong ? "verified: no wrong element" : "%llu WRONG elements",
                        contest->wrong);
    } else {
        perf_output_end("not verified (--verify)");
    }
    return true;
}

/* Returns the exit status, the same on all ranks as far as they can know. */
static int compete(contest_t *contest)
{
    perf_output_open(&contest->options);
    if (!open_ours(contest)) {
        (void) perf_output_close(); /* there is a worse message already */
        return EXIT_FAILURE;
    }
    bool done = true;
    if (NULL != contest->options.tune) {
        done = perf_tune(&contest->options, &contest->series[0]);
    } else {
        open_peers(contest);
        print_header(contest);
        done = run(contest);
    }
    for (int i = contest->count; 0 < i; --i) {
        contest->series[i - 1].close(&contest->series[i - 1]);
    }
    bool written = perf_output_close();
    return 0 == contest->wrong && written && done ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static contest_t contest;
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    perf_options_read(argc, argv, NULL != rank && 0 != strcmp("0", rank), &contest.options);
    MPI_Init(&argc, &argv);
    perf_world_open();
    int status = compete(&contest);
    perf_world_close();
    perf_cuda_close();
    MPI_Finalize();
    return status;
}
