/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Allreduce on window memory: every operation on every datatype, all counts and alignments, in
 * place and not, against results that the test works out for itself. The programs named
 * coll_allreduce_<algorithm> are this one with the algorithm forced; one that is forced from
 * outside (OMPI_MCA_coll_symm_algorithm) is respected just so. */
#include "symm_config.h"

#include "mpi_test_reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifndef NAME
#    ifdef ALLREDUCE_ALGORITHM
#        define NAME "coll_allreduce_" ALLREDUCE_ALGORITHM
#    else
#        define NAME "coll_allreduce"
#    endif
#endif

#define LARGEST_COUNT ((size_t) (1 << 20) + 5)
#define AREA          (LARGEST_COUNT * 8 + 4096)

#ifdef SCRATCH_BYTES
#    define OUTSIDE (0 == strcmp("auto", ALLREDUCE_ALGORITHM))
#else
#    define OUTSIDE false
#endif

/* Largest input that fits a slot: low latency is for host memory and no more bytes than these. */
#define PAYLOAD_BYTES 1024

static mt_win_t window;
static char *memory; /* two areas: the window's, or GPU memory in no window */
static uint64_t round_number;
static const char *algorithm; /* "auto" when none is forced */

/* ---- one call ---- */

typedef struct call {
    const mr_type_t *type;
    mr_op_t op;
    size_t count;
    size_t send_at, recv_at; /* bytes from an aligned place */
    bool in_place;
} call_t;

/* Whether copy engines do the call on this rank: they move elements whole, and there must be some
 * in its slice. Slices are multiples of 128 bytes. */
static bool may_be_staged(const call_t *c)
{
    int bytes;
    size_t units = (c->count * c->type->size + 127) / 128;
    size_t each = (units + (size_t) mt_size - 1) / (size_t) mt_size;
    CHECK_OK(MPI_Type_size(c->type->handle, &bytes));
    return c->type->size == (size_t) bytes && each * (size_t) mt_rank < units;
}

/* The family of plans that must serve the call, NULL when several may. */
static const char *family_of(const call_t *c)
{
    size_t bytes = c->count * c->type->size;
    bool payload = SYMM_KIND_SYSTEM == mt_kind && PAYLOAD_BYTES >= bytes;
    if (1 == mt_size) {
        return "local_copy";
    }
    if (0 == strcmp(algorithm, "one_shot")) {
        return c->in_place ? "two_shot" : "one_shot"; /* in place, inputs would be overwritten */
    }
    if (0 == strcmp(algorithm, "two_shot")) {
        return "two_shot";
    }
    if (OUTSIDE) {
        return "one_shot_scratch";
    }
    if (0 == strcmp(algorithm, "copy_engine") && SYMM_KIND_CUDA_DEVICE == mt_kind) {
        return may_be_staged(c) ? "two_shot_ce" : "two_shot_sm";
    }
    return payload && 0 == strcmp(algorithm, "low_latency") ? "low_latency" : NULL;
}

static void say(const call_t *c)
{
    mt_context("%s %s, count %zu, send at %zu, recv at %zu%s, %s", c->type->name, mr_op_name(c->op),
               c->count, c->send_at, c->recv_at, c->in_place ? ", in place" : "", algorithm);
}

/* Buffers on the host: input, result, scratch and what came. */
static unsigned char *host[4];

static void check_bytes(const unsigned char *expected, const unsigned char *got, size_t len,
                        const char *what)
{
    size_t at = 0;
    while (at < len && expected[at] == got[at]) {
        ++at;
    }
    CHECK_MSG(at == len, "%s: byte %zu of %zu is %02x, expected %02x", what, at, len, got[at],
              expected[at]);
}

/* The gap behind the last pair may be nobody's memory, and stays as it is. */
static void check_last_gap(const call_t *c, const char *recv)
{
    if (MR_PAIR == c->type->group && mr_served(c->type) && !c->in_place && 0 < c->count &&
        1 < mt_size) {
        size_t end = c->type->index_at + mr_type(c->type->index)->size;
        CHECK_POISON(recv + (c->count - 1) * c->type->size + end, c->type->size - end);
    }
}

static void check_call(const call_t *c)
{
    size_t len = c->count * c->type->size;
    char *recv = memory + AREA + MT_GUARD + c->recv_at;
    char *send = c->in_place ? recv : memory + MT_GUARD + c->send_at;
    uint64_t round = ++round_number;
    say(c);
    mr_input(c->type, c->op, mt_rank, round, host[0], c->count);
    mr_result(c->type, c->op, mt_size, round, host[1], host[2], c->count);
    mt_poison(recv - MT_GUARD, len + 2 * MT_GUARD);
    mt_write(send, host[0], len);
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allreduce(c->in_place ? MPI_IN_PLACE : send, recv, (int) c->count, c->type->handle,
                           mr_op(c->type, c->op), MPI_COMM_WORLD));
    if (!mr_served(c->type)) {
        CHECK_PASSED(&before);
    } else if (0 < c->count) {
        CHECK_SERVED(&before, family_of(c));
    }
    mt_read(host[3], recv, len);
    CHECK_ELEMENTS(c->type, host[1], host[3], c->count);
    check_last_gap(c, recv);
    CHECK_POISON(recv - MT_GUARD, MT_GUARD);
    CHECK_POISON(recv + len, MT_GUARD);
    if (!c->in_place) {
        mt_read(host[3], send, len);
        check_bytes(host[0], host[3], len, "input");
    }
}

static void check_both(call_t c)
{
    c.in_place = false;
    check_call(&c);
    c.in_place = true;
    check_call(&c);
}

/* ---- the tests ---- */

static void every_operation_on_every_datatype(void)
{
    const mr_type_t *types;
    size_t type_count = mr_types(&types);
    for (size_t t = 0; t < type_count; ++t) {
        if (0 == types[t].size) {
            mt_note("%s left out, this MPI has none", types[t].name);
            continue;
        }
        for (int op = 0; op < MR_OP_COUNT; ++op) {
            if (mr_defined(&types[t], (mr_op_t) op)) {
                check_both((call_t){.type = &types[t], .op = (mr_op_t) op, .count = 67});
                check_call(&(call_t){.type = &types[t], .op = (mr_op_t) op, .count = 1001});
            }
        }
    }
}

static void counts_from_none_to_many(void)
{
    const size_t counts[] = {0,
                             1,
                             2,
                             3,
                             (size_t) mt_size - 1,
                             (size_t) mt_size,
                             (size_t) mt_size + 1,
                             31,
                             127,
                             128,
                             129,
                             255,
                             1000,
                             4095,
                             8193,
                             (64 << 10) + 1};
    const struct {
        MPI_Datatype handle;
        mr_op_t op;
    } pairs[] = {{MPI_UNSIGNED_CHAR, MR_BXOR},
                 {MPI_SHORT, MR_MIN},
                 {MPI_FLOAT, MR_SUM},
                 {MPI_DOUBLE, MR_MAX}};
    for (int p = 0; p < 4; ++p) {
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
            check_both(
                (call_t){.type = mr_type(pairs[p].handle), .op = pairs[p].op, .count = counts[i]});
        }
    }
}

/* Send and receive buffer at all offsets from an aligned place, independently; with many ranks on
 * few cores a part of them. */
static void every_alignment(void)
{
    const MPI_Datatype handles[] = {MPI_UNSIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    for (int h = 0; h < 4; ++h) {
        const mr_type_t *type = mr_type(handles[h]);
        size_t size = type->size;
        for (size_t send_at = 0; send_at < 32; send_at += size) {
            for (size_t recv_at = 0; recv_at < 32; recv_at += size) {
                if (2 >= mt_size || 0 == (send_at * 7 + recv_at) / size % 8) {
                    check_call(&(call_t){.type = type,
                                         .op = MR_SUM,
                                         .count = 600 / size + send_at,
                                         .send_at = send_at,
                                         .recv_at = recv_at,
                                         .in_place = send_at == recv_at});
                }
            }
        }
    }
}

static void unaligned_and_long(void)
{
    for (size_t at = 1; at < 32; at += 2 >= mt_size ? 5 : 13) {
        check_call(&(call_t){.type = mr_type(MPI_UNSIGNED_CHAR),
                             .op = MR_SUM,
                             .count = 50000 + at,
                             .send_at = at,
                             .recv_at = 31 - at});
        check_call(&(call_t){.type = mr_type(MPI_FLOAT),
                             .op = MR_SUM,
                             .count = 20000 + at,
                             .send_at = 4 * at,
                             .recv_at = 4 * (at % 5)});
    }
}

static void large_counts(void)
{
    check_both((call_t){.type = mr_type(MPI_FLOAT), .op = MR_SUM, .count = LARGEST_COUNT});
    if (2 >= mt_size) {
        check_both((call_t){.type = mr_type(MPI_DOUBLE), .op = MR_PROD, .count = LARGEST_COUNT});
        check_both((call_t){.type = mr_type(MPI_UINT8_T), .op = MR_BOR, .count = LARGEST_COUNT});
    }
}

/* Call after call with no other synchronisation, a rank now and then late: data of another round
 * shows. */
static void many_calls_in_a_row(void)
{
    static const size_t counts[] = {1, 100, 300, 3000, 30000, 7};
    for (int i = 0; i < 240; ++i) {
        call_t c = {.type = mr_type(0 == i % 2 ? MPI_INT : MPI_FLOAT),
                    .op = 0 == i % 4 ? MR_MAX : MR_SUM,
                    .count = counts[i % 6],
                    .send_at = (size_t) (i % 3) * 4096 * 4,
                    .in_place = 0 == i % 5};
        if (0 == i % 40 && mt_rank == i / 40 % mt_size) {
            mt_sleep_ms(10);
        }
        check_call(&c);
    }
}

/* The next call's input is in the buffer that the last call's output came to, and the other way
 * round: nobody may still be reading, or writing, when a call returns. */
static void buffers_are_free_when_the_call_returns(void)
{
    enum { COUNT = 5000 };
    static int64_t numbers[COUNT];
    char *areas[2] = {memory, memory + AREA};
    for (int i = 0; i < 100; ++i) {
        int64_t *sum = numbers;
        mt_context("round %d", i);
        for (int k = 0; k < COUNT; ++k) {
            numbers[k] = (int64_t) i * COUNT + k + mt_rank;
        }
        mt_write(areas[i % 2], numbers, sizeof(numbers));
        CHECK_OK(MPI_Allreduce(areas[i % 2], areas[1 - i % 2], COUNT, MPI_INT64_T, MPI_SUM,
                               MPI_COMM_WORLD));
        mt_poison(areas[i % 2], sizeof(numbers)); /* at once: the others may not be back yet */
        mt_read(numbers, areas[1 - i % 2], sizeof(numbers));
        bool right = true;
        for (int k = 0; k < COUNT; ++k) {
            right = right && sum[k] == mt_size * ((int64_t) i * COUNT + k) +
                                           (int64_t) mt_size * (mt_size - 1) / 2;
        }
        CHECK_MSG(right, "a sum is wrong");
    }
}

/* Calls that take turns set the parameters of their kernels once. */
static void like_calls_launch_again(void)
{
    enum { SHAPES = 5, ROUNDS = 6 };
    if (SYMM_KIND_SYSTEM == mt_kind || OUTSIDE || 0 == strcmp(algorithm, "copy_engine")) {
        mt_note("left out, not one kernel a call");
        return;
    }
    symm_stats_t before = mt_stats();
    for (int i = 0; i < SHAPES * ROUNDS; ++i) {
        check_call(&(call_t){.type = mr_type(MPI_FLOAT),
                             .op = MR_SUM,
                             .count = 1000 + (size_t) (i % SHAPES),
                             .send_at = 64 * (size_t) (i % SHAPES)});
    }
    uint64_t kernels = mt_stats().kernels - before.kernels;
    CHECK_INT(1 == mt_size ? 0 : SHAPES * ROUNDS, kernels);
    CHECK_INT(1 == mt_size ? 0 : SHAPES * (ROUNDS - 1),
              mt_stats().kernels_again - before.kernels_again);
}

/* Sums that do round. The result is that of adding up in rank order, whatever the plan: so it is
 * the same to the last bit on all ranks, and in every run. */
static void check_rounding(size_t count)
{
    double *mine = (double *) (void *) host[0];
    double *sums = (double *) (void *) host[1];
    double *got = (double *) (void *) host[3];
    uint64_t round = ++round_number;
    mt_context("%zu doubles", count);
    memset(sums, 0, count * sizeof(*sums));
    for (int r = 0; r < mt_size; ++r) {
        uint64_t state = mt_seed(r, round);
        for (size_t i = 0; i < count; ++i) {
            double value = (double) (mt_random(&state) >> 11) / 9007199254740992.0 - 0.3;
            sums[i] += value;
            mine[i] = r == mt_rank ? value : mine[i];
        }
    }
    mt_write(memory, mine, count * sizeof(*mine));
    mt_poison(memory + AREA, count * sizeof(*mine));
    CHECK_OK(
        MPI_Allreduce(memory, memory + AREA, (int) count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    mt_read(got, memory + AREA, count * sizeof(*got));
    size_t at = 0;
    while (at < count && sums[at] == got[at]) {
        ++at;
    }
    CHECK_MSG(at == count, "element %zu: %a, expected %a", at, got[at % count], sums[at % count]);
}

static void sums_of_floats_are_those_of_rank_order(void)
{
    check_rounding(100);
    check_rounding(1500);
    check_rounding(40001);
}

/* To 8 significant bits, ties to even. */
static uint16_t round_to_bfloat16(float value)
{
    double unit = ldexp(1, ilogb(value) - 7);
    float rounded = (float) (nearbyint(value / unit) * unit);
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof(bits));
    return (uint16_t) (bits >> 16);
}

/* From 3 ranks on, sums of these differ when each step is rounded. */
static void sixteen_bit_floats_are_rounded_once(void)
{
    const mr_type_t *types;
    (void) mr_types(&types);
    const size_t counts[] = {20, 900, 300007};
    uint16_t *got = (uint16_t *) (void *) host[3];
    for (int c = 0; c < 3; ++c) {
        size_t count = counts[c];
        uint16_t *mine = (uint16_t *) (void *) host[0];
        float *sum = (float *) (void *) host[1];
        mt_context("%zu bfloat16", count);
        memset(sum, 0, count * sizeof(*sum));
        for (int r = 0; r < mt_size; ++r) {
            for (size_t i = 0; i < count; ++i) {
                uint32_t bits = 0x3f80u + (uint32_t) ((i * 7 + (size_t) r * 3) % 256); /* [1, 4) */
                float value;
                uint32_t wide = bits << 16;
                memcpy(&value, &wide, sizeof(value));
                sum[i] += value;
                mine[i] = r == mt_rank ? (uint16_t) bits : mine[i];
            }
        }
        mt_write(memory, mine, 2 * count);
        mt_poison(memory + AREA, 2 * count);
        CHECK_OK(MPI_Allreduce(memory, memory + AREA, (int) count, types[1].handle,
                               mr_op(&types[1], MR_SUM), MPI_COMM_WORLD));
        mt_read(got, memory + AREA, 2 * count);
        size_t at = 0;
        while (at < count && round_to_bfloat16(sum[at]) == got[at]) {
            ++at;
        }
        CHECK_MSG(at == count, "element %zu: %04x, expected %04x", at, got[at % count],
                  round_to_bfloat16(sum[at % count]));
    }
}

static void sixteen_bit_handles(void)
{
    MPI_Datatype half, again, brain;
    MPI_Op sum, same;
    CHECK_OK(symm_type_float16(&half));
    CHECK_OK(symm_type_float16(&again));
    CHECK_OK(symm_type_bfloat16(&brain));
    CHECK(half == again && half != brain);
    CHECK_OK(symm_op(MPI_SUM, &sum));
    CHECK_OK(symm_op(MPI_SUM, &same));
    CHECK(sum == same);
    CHECK_CLASS(MPI_ERR_OP, symm_op(MPI_BAND, &sum));
    CHECK_CLASS(MPI_ERR_ARG, symm_op(MPI_SUM, NULL));
    CHECK_CLASS(MPI_ERR_ARG, symm_type_float16(NULL));
    CHECK(sum == same);
    /* On MPI's own datatypes it is MPI_SUM, with and without symmetric memory. */
    int number = mt_rank + 1, total;
    CHECK_OK(MPI_Allreduce(&number, &total, 1, MPI_INT, sum, MPI_COMM_WORLD));
    CHECK_INT(mt_size * (mt_size + 1) / 2, total);
    CHECK_OK(MPI_Allreduce(&number, &total, 1, MPI_INT, sum, mt_comm));
    CHECK_INT(mt_size * (mt_size + 1) / 2, total);
    uint16_t one = 0x3f80, ones; /* bfloat16 through another component */
    CHECK_OK(MPI_Allreduce(&one, &ones, 1, brain, sum, mt_comm));
    CHECK_INT(round_to_bfloat16((float) mt_size), ones);
}

/* Each family is the automatic choice for some size. */
static void every_family_is_chosen(void)
{
    if (0 != strcmp(algorithm, "auto") || OUTSIDE || 1 == mt_size) {
        mt_note("left out, the algorithm is forced or there is but one rank");
        return;
    }
    const struct {
        size_t count;
        const char *family;
    } expected[] = {{4, SYMM_KIND_SYSTEM == mt_kind ? "low_latency" : "one_shot"},
                    {1000, "one_shot"},
                    {LARGEST_COUNT, "two_shot"}};
    for (int i = 0; i < 3; ++i) {
        symm_stats_t before = mt_stats();
        mt_context("%zu floats", expected[i].count);
        mt_write(memory, host[0], expected[i].count * 4);
        CHECK_OK(MPI_Allreduce(memory, memory + AREA, (int) expected[i].count, MPI_FLOAT, MPI_MAX,
                               MPI_COMM_WORLD));
        CHECK_SERVED(&before, expected[i].family);
        bool in_window = 0 != strcmp("low_latency", expected[i].family);
        CHECK_INT(before.collectives_in_windows + (in_window ? 1 : 0),
                  mt_stats().collectives_in_windows);
    }
}

static void read_algorithm(void)
{
#ifdef ALLREDUCE_ALGORITHM
    mt_set_param("coll_symm_algorithm", ALLREDUCE_ALGORITHM);
#endif
#ifdef SCRATCH_BYTES
    mt_set_param("coll_symm_scratch_bytes", SCRATCH_BYTES);
#endif
#ifdef STAGE_BYTES
    mt_set_param("coll_symm_stage_bytes", STAGE_BYTES);
#endif
    algorithm = getenv("OMPI_MCA_coll_symm_algorithm");
    if (NULL == algorithm) {
        algorithm = "auto";
    }
}

int main(int argc, char **argv)
{
    read_algorithm();
    mt_init(&argc, &argv, NAME);
    if (OUTSIDE && SYMM_KIND_SYSTEM == mt_kind) {
        mt_skip("host memory in no window is the next component's");
    }
    for (int i = 0; i < 4; ++i) {
        host[i] = calloc(1, AREA);
    }
    if (mt_allocate(2 * AREA, 1, MPI_COMM_WORLD, &window)) {
        memory = OUTSIDE ? mt_alloc(MT_DEVICE, 2 * AREA) : window.base;
        MT_RUN(every_operation_on_every_datatype);
        MT_RUN(counts_from_none_to_many);
        MT_RUN(every_alignment);
        MT_RUN(unaligned_and_long);
        MT_RUN(large_counts);
        MT_RUN(many_calls_in_a_row);
        MT_RUN(buffers_are_free_when_the_call_returns);
        MT_RUN(like_calls_launch_again);
        MT_RUN(sums_of_floats_are_those_of_rank_order);
        MT_RUN(sixteen_bit_floats_are_rounded_once);
        MT_RUN(sixteen_bit_handles);
        MT_RUN(every_family_is_chosen);
        if (OUTSIDE) {
            mt_free(MT_DEVICE, memory);
        }
        mt_win_free(&window);
    }
    for (int i = 0; i < 4; ++i) {
        free(host[i]);
    }
    return mt_finish();
}
