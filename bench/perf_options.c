/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See perf_options.h. */
#include "symm_config.h"

#include "perf_options.h"

#include "perf_case.h"
#include "perf_overlap.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counts are int in MPI, and an all-gather's output is this times the ranks. */
#define LARGEST_BYTES ((size_t) 1 << 30)

enum {
    KEY_MIN = 256,
    KEY_MAX,
    KEY_FACTOR,
    KEY_PLACEMENT,
    KEY_RMA,
    KEY_ITERATIONS,
    KEY_ROUNDS,
    KEY_TIME,
    KEY_CSV,
    KEY_TUNE,
    KEY_OVERLAP
};

static const struct argp_option descriptions[] = {
    {"ops", 'o', "LIST", 0,
     "Operations, of allreduce,allgather,reduce,reduce_scatter,alltoall,bcast,gather,scatter,"
     "allgather_rows,barrier,put,get,put_many,put_rows,get_rows,accumulate,fetch [all]",
     1},
    {"min", KEY_MIN, "BYTES", 0, "Smallest size; K, M and G are powers of 1024 [8]", 1},
    {"max", KEY_MAX, "BYTES", 0,
     "Largest size; of an all-gather, reduce-scatter, gather and scatter each rank's part [256M]",
     1},
    {"factor", KEY_FACTOR, "N", 0, "From one size to the next; 16 bytes are never left out [2]", 1},
    {"placement", KEY_PLACEMENT, "WHERE", 0,
     "Collectives out of place, in place or both: out, in, "
     "both [out]",
     1},
    {"rma", KEY_RMA, "WHO", 0, "Puts and gets of one rank or of all ranks at once: one, all [one]",
     1},
    {"kind", 'k', "KIND", 0,
     "Memory of the window: system, cuda:device, or auto: cuda:device if all "
     "ranks get it, otherwise system [auto]",
     2},
    {"peers", 'p', "LIST", 0,
     "Compare with these in the same run, of persistent,default,nccl,nccl_symm,memcpy,"
     "all; peers that this machine lacks are left out [none]",
     2},
    {"verify", 'v', NULL, 0, "Check every element before and after the measurement of each size",
     2},
    {"iterations", KEY_ITERATIONS, "N", 0, "Most samples of a contestant at a size [2000]", 3},
    {"time", KEY_TIME, "SECONDS", 0, "About the time of a contestant at a size [0.3]", 3},
    {"rounds", KEY_ROUNDS, "N", 0, "Alternate at most so many times, and three times at least [10]",
     3},
    {"tune", KEY_TUNE, "FILE", 0,
     "Measure nothing but what a tuning table needs, up to --max, and write it to FILE, for the "
     "MCA "
     "parameter coll_symm_tuning_file; written with \"=\", as mpirun has a --tune of its own",
     4},
    {"overlap", KEY_OVERLAP, NULL, 0,
     "Measure nothing but nonblocking all-gathers, of 1M and more, beside a compute kernel that "
     "fills the GPU",
     4},
    {"csv", KEY_CSV, "FILE", 0, "Write all figures of all contestants to FILE", 4},
    {0},
};

typedef struct name {
    const char *name;
    unsigned mask;
} name_t;

static const name_t op_names[] = {{"allreduce", PERF_BIT(PERF_ALLREDUCE)},
                                  {"allgather", PERF_BIT(PERF_ALLGATHER)},
                                  {"allgather_rows", PERF_BIT(PERF_ALLGATHER_ROWS)},
                                  {"reduce", PERF_BIT(PERF_REDUCE)},
                                  {"reduce_scatter", PERF_BIT(PERF_REDUCE_SCATTER)},
                                  {"alltoall", PERF_BIT(PERF_ALLTOALL)},
                                  {"bcast", PERF_BIT(PERF_BCAST)},
                                  {"gather", PERF_BIT(PERF_GATHER)},
                                  {"scatter", PERF_BIT(PERF_SCATTER)},
                                  {"barrier", PERF_BIT(PERF_BARRIER)},
                                  {"put", PERF_BIT(PERF_PUT)},
                                  {"get", PERF_BIT(PERF_GET)},
                                  {"put_many", PERF_BIT(PERF_PUT_MANY)},
                                  {"put_rows", PERF_BIT(PERF_PUT_ROWS)},
                                  {"get_rows", PERF_BIT(PERF_GET_ROWS)},
                                  {"accumulate", PERF_BIT(PERF_ACCUMULATE)},
                                  {"fetch", PERF_BIT(PERF_FETCH)},
                                  {"all", PERF_COLLECTIVES | PERF_RMA},
                                  {NULL, 0}};

static const name_t placement_names[] = {{"out", PERF_BIT(PERF_OUT)},
                                         {"in", PERF_BIT(PERF_IN)},
                                         {"both", PERF_BIT(PERF_OUT) | PERF_BIT(PERF_IN)},
                                         {NULL, 0}};

static const name_t peer_names[] = {{"persistent", PERF_BIT(PERF_PERSISTENT)},
                                    {"default", PERF_BIT(PERF_DEFAULT)},
                                    {"nccl", PERF_BIT(PERF_NCCL)},
                                    {"nccl_symm", PERF_BIT(PERF_NCCL_SYMM)},
                                    {"memcpy", PERF_BIT(PERF_MEMCPY)},
                                    {"all", PERF_BIT(PERF_DEFAULT) | PERF_BIT(PERF_NCCL) |
                                                PERF_BIT(PERF_NCCL_SYMM) | PERF_BIT(PERF_MEMCPY)},
                                    {NULL, 0}};

static const name_t kind_names[] = {{"auto", PERF_KIND_AUTO},
                                    {"system", PERF_KIND_SYSTEM},
                                    {"cuda:device", PERF_KIND_CUDA},
                                    {NULL, 0}};

static const name_t rma_names[] = {{"one", 0}, {"all", 1}, {NULL, 0}};

/* The value of the name that is len bytes of text. Exits when there is none. */
static unsigned find_name(const name_t *names, const char *text, size_t len,
                          struct argp_state *state)
{
    for (const name_t *n = names; NULL != n->name; ++n) {
        if (len == strlen(n->name) && 0 == strncmp(n->name, text, len)) {
            return n->mask;
        }
    }
    argp_error(state, "unknown word \"%.*s\"", (int) len, text);
    return 0;
}

static unsigned read_name(const name_t *names, const char *text, struct argp_state *state)
{
    return find_name(names, text, strlen(text), state);
}

/* "a,b,c" */
static unsigned read_list(const name_t *names, const char *text, struct argp_state *state)
{
    unsigned mask = 0;
    for (;;) {
        size_t len = strcspn(text, ",");
        mask |= find_name(names, text, len, state);
        if ('\0' == text[len]) {
            return mask;
        }
        text += len + 1;
    }
}

/* A whole number in [least, most] that may end in K, M or G. */
static size_t read_number(const char *text, size_t least, size_t most, struct argp_state *state)
{
    static const char units[] = "KMG";
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    const char *unit = '\0' == *end ? NULL : strchr(units, *end);
    unsigned shift = NULL == unit ? 0 : 10u * (unsigned) (unit - units + 1);
    bool whole = '0' <= *text && '9' >= *text && 0 == errno && value <= ULLONG_MAX >> shift &&
                 (NULL == unit ? '\0' == *end : '\0' == end[1]);
    value <<= shift;
    if (!whole || value < least || value > most) {
        argp_error(state, "\"%s\" is no number from %zu to %zu", text, least, most);
    }
    return (size_t) value;
}

static double read_seconds(const char *text, struct argp_state *state)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || '\0' != *end || !(0.0 < value && value <= 3600.0)) {
        argp_error(state, "\"%s\" is no time from 0 to 3600 seconds", text);
    }
    return value;
}

static void check(perf_options_t *options, struct argp_state *state)
{
    if (options->overlap) {
        options->ops = PERF_BIT(PERF_ALLGATHER);
        options->min_bytes = PERF_OVERLAP_LEAST_BYTES > options->min_bytes
                                 ? PERF_OVERLAP_LEAST_BYTES
                                 : options->min_bytes;
    }
    if (options->min_bytes > options->max_bytes) {
        argp_error(state, "--min %zu is more than --max %zu", options->min_bytes,
                   options->max_bytes);
    }
    if (0 != options->min_bytes % sizeof(float) || 0 != options->max_bytes % sizeof(float)) {
        argp_error(state, "sizes are multiples of %zu bytes", sizeof(float));
    }
}

/* Also makes a wrong command line no error of this rank: mpirun would end the others before they
 * have said what is wrong. */
static void silence(struct argp_state *state)
{
    argp_err_exit_status = 0;
    FILE *nowhere = fopen("/dev/null", "w");
    if (NULL != nowhere) { /* printing twice is no harm */
        state->out_stream = nowhere;
        state->err_stream = nowhere;
    }
}

static error_t read_tuning(int key, char *text, struct argp_state *state, perf_options_t *options)
{
    switch (key) {
    case KEY_ITERATIONS:
        options->iterations = (int) read_number(text, 1, 10000000, state);
        return 0;
    case KEY_ROUNDS:
        options->rounds = (int) read_number(text, 3, 1000, state);
        return 0;
    case KEY_TIME:
        options->time_s = read_seconds(text, state);
        return 0;
    case KEY_CSV:
        options->csv = text;
        return 0;
    case KEY_TUNE:
        options->tune = text;
        return 0;
    case KEY_OVERLAP:
        options->overlap = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is no option", text);
        return 0;
    case ARGP_KEY_END:
        check(options, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

typedef struct reading {
    perf_options_t *options;
    bool quiet;
} reading_t;

static error_t read_option(int key, char *text, struct argp_state *state)
{
    const reading_t *reading = state->input;
    perf_options_t *options = reading->options;
    switch (key) {
    case ARGP_KEY_INIT:
        if (reading->quiet) {
            silence(state);
        }
        return 0;
    case 'o':
        options->ops = read_list(op_names, text, state);
        return 0;
    case 'k':
        options->kind = (perf_kind_t) read_name(kind_names, text, state);
        return 0;
    case 'p':
        options->peers = read_list(peer_names, text, state);
        return 0;
    case 'v':
        options->verify = true;
        return 0;
    case KEY_PLACEMENT:
        options->placements = read_name(placement_names, text, state);
        return 0;
    case KEY_RMA:
        options->everyone = 0 != read_name(rma_names, text, state);
        return 0;
    case KEY_MIN:
        options->min_bytes = read_number(text, sizeof(float), LARGEST_BYTES, state);
        return 0;
    case KEY_MAX:
        options->max_bytes = read_number(text, sizeof(float), LARGEST_BYTES, state);
        return 0;
    case KEY_FACTOR:
        options->factor = read_number(text, 2, LARGEST_BYTES, state);
        return 0;
    default:
        return read_tuning(key, text, state, options);
    }
}

void perf_options_read(int argc, char **argv, bool quiet, perf_options_t *options_p)
{
    static const struct argp parser = {
        .options = descriptions,
        .parser = read_option,
        .doc = "Times blocking MPI collectives, puts and gets on symmetric windows, and the same "
               "with others beside them in one run.\v"
               "Run it as: mpirun -np 2 --mca osc symm,sm symm_perf --peers default\n\n"
               "Environment: SYMM_NCCL_LIB names NCCL's library [libnccl.so.2].",
    };
    argp_program_version = "symm_perf " SYMM_VERSION;
    *options_p = (perf_options_t){
        .min_bytes = 8,
        .max_bytes = (size_t) 256 << 20,
        .factor = 2,
        .ops = PERF_COLLECTIVES | PERF_RMA,
        .placements = PERF_BIT(PERF_OUT),
        .iterations = 2000,
        .rounds = 10,
        .time_s = 0.3,
    };
    reading_t reading = {options_p, quiet};
    (void) argp_parse(&parser, argc, argv, 0, NULL, &reading); /* errors end the process */
}
