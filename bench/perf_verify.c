/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See perf_verify.h. Data are 32-bit words that depend on the round, the rank and the position, so
 * that a word in a wrong place or of an earlier round is a wrong word. For reductions they are
 * small whole numbers as floats, whose sum is exact in any order. */
#include "symm_config.h"

#include "perf_verify.h"

#include "perf_cuda.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define POISON_BYTE 0xc5
#define CHUNK_WORDS ((size_t) 1 << 16)

/* What a stretch of memory holds. */
typedef enum content {
    CONTENT_POISON,
    CONTENT_ZERO,
    CONTENT_OF_RANK,   /* the input of one rank */
    CONTENT_SUM,       /* of all ranks' inputs */
    CONTENT_ALL_RANKS, /* the inputs one after the other */
    CONTENT_BLOCKS,    /* this rank's block of each input in turn, from that of `rank` on */
} content_t;

typedef struct expected {
    content_t content;
    bool floats;
    uint32_t seed; /* of the round */
    int rank;      /* CONTENT_OF_RANK */
    size_t words;  /* of one rank's input; CONTENT_BLOCKS: of one block */
    size_t skip;   /* CONTENT_SUM: words of the input before those that are summed up */
} expected_t;

static uint32_t scatter(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static uint32_t key_of(const expected_t *e, int rank)
{
    return scatter(e->seed + (uint32_t) rank * 0x9e3779b9u);
}

/* -512 to 511 */
static int32_t number_of(uint32_t key, size_t i)
{
    return (int32_t) (scatter((uint32_t) i + key) & 1023) - 512;
}

static uint32_t float_bits(int32_t number)
{
    float value = (float) number;
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* The following write words [first, first + count) of a stretch to out. */

static void make_input(const expected_t *e, int rank, size_t first, size_t count, uint32_t *out)
{
    uint32_t key = key_of(e, rank);
    for (size_t i = 0; i < count; ++i) {
        out[i] = e->floats ? float_bits(number_of(key, first + i))
                           : scatter((uint32_t) (first + i) + key);
    }
}

static void make_sum(const expected_t *e, size_t first, size_t count, uint32_t *out)
{
    static int32_t sums[CHUNK_WORDS];
    memset(sums, 0, count * sizeof(sums[0]));
    for (int r = 0; r < perf_world.size; ++r) {
        uint32_t key = key_of(e, r);
        for (size_t i = 0; i < count; ++i) {
            sums[i] += number_of(key, first + i);
        }
    }
    for (size_t i = 0; i < count; ++i) {
        out[i] = float_bits(sums[i]);
    }
}

static void make_all_ranks(const expected_t *e, size_t first, size_t count, uint32_t *out)
{
    for (size_t done = 0; done < count;) {
        size_t at = (first + done) % e->words;
        size_t left = count - done;
        size_t run = e->words - at < left ? e->words - at : left;
        make_input(e, (int) ((first + done) / e->words), at, run, out + done);
        done += run;
    }
}

static void make_blocks(const expected_t *e, size_t first, size_t count, uint32_t *out)
{
    for (size_t done = 0; done < count;) {
        size_t at = (first + done) % e->words;
        size_t left = count - done;
        size_t run = e->words - at < left ? e->words - at : left;
        int rank = e->rank + (int) ((first + done) / e->words);
        make_input(e, rank, (size_t) perf_world.rank * e->words + at, run, out + done);
        done += run;
    }
}

static void make_words(const expected_t *e, size_t first, size_t count, uint32_t *out)
{
    switch (e->content) {
    case CONTENT_POISON:
        memset(out, POISON_BYTE, count * sizeof(out[0]));
        break;
    case CONTENT_ZERO:
        memset(out, 0, count * sizeof(out[0]));
        break;
    case CONTENT_OF_RANK:
        make_input(e, e->rank, first, count, out);
        break;
    case CONTENT_SUM:
        make_sum(e, e->skip + first, count, out);
        break;
    case CONTENT_ALL_RANKS:
        make_all_ranks(e, first, count, out);
        break;
    case CONTENT_BLOCKS:
        make_blocks(e, first, count, out);
        break;
    }
}

static void copy(bool device, void *dst, const void *src, size_t len)
{
    if (device) {
        perf_cuda_copy(dst, src, len);
    } else {
        memcpy(dst, src, len);
    }
}

static uint32_t made[CHUNK_WORDS], found[CHUNK_WORDS];

static size_t make_chunk(const expected_t *e, size_t first, size_t words)
{
    size_t count = words - first < CHUNK_WORDS ? words - first : CHUNK_WORDS;
    make_words(e, first, count, made);
    return count;
}

static void write_words(bool device, char *memory, size_t words, const expected_t *e)
{
    for (size_t first = 0; first < words;) {
        size_t count = make_chunk(e, first, words);
        copy(device, memory + first * sizeof(made[0]), made, count * sizeof(made[0]));
        first += count;
    }
}

static void report(const perf_series_t *series, const perf_case_t *c, const char *what, size_t at,
                   uint32_t expected, uint32_t is)
{
    fprintf(stderr,
            "symm_perf: rank %d: %s %s, %zu bytes, by %s: word %zu of %s is 0x%08" PRIx32
            ", expected 0x%08" PRIx32 "\n",
            perf_world.rank, perf_op_name(c->op), perf_case_manner(c), c->bytes, series->name, at,
            what, is, expected);
}

/* The number of wrong words; tells of the first. */
static unsigned long long check_words(const perf_series_t *series, const perf_case_t *c,
                                      const char *what, const char *memory, size_t words,
                                      const expected_t *e)
{
    unsigned long long wrong = 0;
    for (size_t first = 0; first < words;) {
        size_t count = make_chunk(e, first, words);
        copy(series->device, found, memory + first * sizeof(found[0]), count * sizeof(found[0]));
        bool alike = 0 == memcmp(found, made, count * sizeof(found[0]));
        for (size_t i = 0; !alike && i < count; ++i) {
            if (found[i] != made[i] && 0 == wrong++) {
                report(series, c, what, first + i, made[i], found[i]);
            }
        }
        first += count;
    }
    return wrong;
}

static char *input_of(const perf_series_t *series, const perf_case_t *c)
{
    switch (c->op) {
    case PERF_ALLREDUCE:
        return c->in_place ? series->recv : series->send;
    case PERF_ALLGATHER:
        return c->in_place ? series->recv + (size_t) perf_world.rank * c->bytes : series->send;
    case PERF_PUT:
    case PERF_PUT_ROWS:
    case PERF_ACCUMULATE:
    case PERF_FETCH:
        return series->origin_out;
    case PERF_PUT_MANY:
        return series->origin_host;
    case PERF_GET:
    case PERF_GET_ROWS:
        return series->window_send;
    default:
        return series->send;
    }
}

static char *output_of(const perf_series_t *series, const perf_case_t *c)
{
    switch (c->op) {
    case PERF_PUT:
    case PERF_PUT_MANY:
    case PERF_PUT_ROWS:
    case PERF_ACCUMULATE:
    case PERF_FETCH:
        return series->window_recv;
    case PERF_GET:
    case PERF_GET_ROWS:
        return series->origin_in;
    default:
        return series->recv;
    }
}

/* The rank whose data arrive here, -1 when none do. */
static int source_of(const perf_case_t *c)
{
    int rank = perf_world.rank;
    int size = perf_world.size;
    if (PERF_GET == c->op || PERF_GET_ROWS == c->op) {
        return perf_case_acts(c, rank) ? perf_case_target(rank, size) : -1;
    }
    int origin = (rank + size - 1) % size;
    return perf_case_acts(c, origin) ? origin : -1;
}

/* What an output holds at first: updates add to it. */
static content_t content_before(const perf_case_t *c)
{
    return 0 != (PERF_BIT(c->op) & PERF_UPDATES) ? CONTENT_ZERO : CONTENT_POISON;
}

/* What a data movement brings. */
static void expect_moved(const perf_case_t *c, expected_t *output)
{
    size_t words = perf_case_bytes(c, perf_world.size) / sizeof(uint32_t);
    bool scattered = PERF_ALLTOALL == c->op || PERF_SCATTER == c->op;
    output->content = PERF_BCAST == c->op ? CONTENT_OF_RANK : CONTENT_ALL_RANKS;
    output->rank = 0;
    if (scattered) {
        output->content = CONTENT_BLOCKS;
        output->words = PERF_ALLTOALL == c->op ? words / (size_t) perf_world.size : words;
    }
}

static expected_t output_expected(const perf_case_t *c, const expected_t *input)
{
    expected_t output = *input;
    if (PERF_REDUCE == c->op && 0 != perf_world.rank) {
        output.content = CONTENT_POISON;
    } else if (0 != (PERF_BIT(c->op) & PERF_REDUCTIONS)) {
        output.content = CONTENT_SUM;
        output.skip = PERF_REDUCE_SCATTER == c->op
                          ? (size_t) perf_world.rank * c->bytes / sizeof(uint32_t)
                          : 0;
    } else if (0 != (PERF_BIT(c->op) & PERF_COLLECTIVES)) {
        expect_moved(c, &output);
    } else {
        output.rank = source_of(c);
        output.content = 0 > output.rank ? content_before(c) : CONTENT_OF_RANK;
    }
    return output;
}

/* Stores of this process, and those of the others to its window, become visible. */
static void synchronise(const perf_series_t *series)
{
    if (MPI_WIN_NULL != series->window && NULL != series->window_send) {
        MPI_Win_sync(series->window);
    }
    perf_barrier();
    if (MPI_WIN_NULL != series->window && NULL != series->window_send) {
        MPI_Win_sync(series->window);
    }
}

static unsigned long long check(const perf_series_t *series, const perf_case_t *c,
                                const expected_t *input)
{
    const expected_t poison = {.content = CONTENT_POISON};
    expected_t output = output_expected(c, input);
    size_t words = perf_case_output_bytes(c, perf_world.rank, perf_world.size) / sizeof(uint32_t);
    const char *memory = output_of(series, c);
    unsigned long long wrong = check_words(series, c, "the output", memory, words, &output);
    wrong += check_words(series, c, "what follows the output", memory + words * sizeof(uint32_t),
                         PERF_GUARD_BYTES / sizeof(uint32_t), &poison);
    const char *in = input_of(series, c);
    bool apart = in != memory && !c->in_place;
    if (apart) {
        wrong += check_words(series, c, "the input", in, input->words, input);
    }
    return wrong;
}

static expected_t fill(perf_series_t *series, const perf_case_t *c, uint32_t seed)
{
    const expected_t poison = {.content = CONTENT_POISON};
    expected_t input = {
        .content = CONTENT_OF_RANK,
        .floats = 0 != (PERF_BIT(c->op) & (PERF_REDUCTIONS | PERF_BIT(PERF_ACCUMULATE))),
        .seed = seed,
        .rank = perf_world.rank,
        .words = perf_case_input_bytes(c, perf_world.rank, perf_world.size) / sizeof(uint32_t)};
    const expected_t before = {.content = content_before(c)};
    size_t output_bytes = perf_case_output_bytes(c, perf_world.rank, perf_world.size);
    char *output = output_of(series, c);
    write_words(series->device, output, output_bytes / sizeof(uint32_t), &before);
    write_words(series->device, output + output_bytes, PERF_GUARD_BYTES / sizeof(uint32_t),
                &poison);
    write_words(series->device, input_of(series, c), input.words, &input);
    return input;
}

void perf_verify_fill(perf_series_t *series, const perf_case_t *c)
{
    (void) fill(series, c, 1);
}

unsigned long long perf_verify(perf_series_t *series, const perf_case_t *c)
{
    static uint32_t rounds;
    expected_t input = fill(series, c, ++rounds);
    synchronise(series);
    if (perf_case_acts(c, perf_world.rank)) {
        series->call(series, c);
    }
    synchronise(series);
    unsigned long long wrong = check(series, c, &input);
    synchronise(series);
    return perf_sum(wrong);
}
