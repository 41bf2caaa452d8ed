/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Allreduce on window memory: every operation on every datatype, all counts and alignments, in
 * place and not, against results that the test works out for itself. The programs named
 * coll_allreduce_<algorithm> are this one with the algorithm forced; one that is forced from
 * outside (OMPI_MCA_coll_symm_allreduce_algorithm) is respected just so. */
#include "symm_config.h"

#include "mpi_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef ALLREDUCE_ALGORITHM
#    define NAME "coll_allreduce_" ALLREDUCE_ALGORITHM
#else
#    define NAME "coll_allreduce"
#endif

#define LARGEST_COUNT ((size_t) (1 << 20) + 5)
#define AREA          (LARGEST_COUNT * 8 + 4096)

/* Largest input that fits a slot: low latency is for host memory and no more bytes than these. */
#define PAYLOAD_BYTES 1024

static mt_win_t window;
static uint64_t round_number;
static const char *algorithm; /* "auto" when none is forced */

/* ---- datatypes and operations ---- */

/* As MPI-4.0, 6.9.2, groups them; what is signed there but not an integer of C is INTEGER here. */
typedef enum group { SIGNED, UNSIGNED, INTEGER, FLOATING, LOGICAL, BYTES } group_t;

typedef struct type {
    MPI_Datatype handle;
    const char *name;
    group_t group;
} type_t;

#define TYPE(handle, group)                                                                        \
    {                                                                                              \
        handle, #handle, group                                                                     \
    }

static const type_t types[] = {
    TYPE(MPI_FLOAT, FLOATING),
    TYPE(MPI_DOUBLE, FLOATING),
    TYPE(MPI_SIGNED_CHAR, SIGNED),
    TYPE(MPI_SHORT, SIGNED),
    TYPE(MPI_INT, SIGNED),
    TYPE(MPI_LONG, SIGNED),
    TYPE(MPI_LONG_LONG, SIGNED),
    TYPE(MPI_UNSIGNED_CHAR, UNSIGNED),
    TYPE(MPI_UNSIGNED_SHORT, UNSIGNED),
    TYPE(MPI_UNSIGNED, UNSIGNED),
    TYPE(MPI_UNSIGNED_LONG, UNSIGNED),
    TYPE(MPI_UNSIGNED_LONG_LONG, UNSIGNED),
    TYPE(MPI_INT8_T, SIGNED),
    TYPE(MPI_INT16_T, SIGNED),
    TYPE(MPI_INT32_T, SIGNED),
    TYPE(MPI_INT64_T, SIGNED),
    TYPE(MPI_UINT8_T, UNSIGNED),
    TYPE(MPI_UINT16_T, UNSIGNED),
    TYPE(MPI_UINT32_T, UNSIGNED),
    TYPE(MPI_UINT64_T, UNSIGNED),
    TYPE(MPI_AINT, INTEGER),
    TYPE(MPI_OFFSET, INTEGER),
    TYPE(MPI_COUNT, INTEGER),
    TYPE(MPI_C_BOOL, LOGICAL),
    TYPE(MPI_CXX_BOOL, LOGICAL),
    TYPE(MPI_BYTE, BYTES),
    TYPE(MPI_INTEGER, INTEGER),
    TYPE(MPI_INTEGER1, INTEGER),
    TYPE(MPI_INTEGER2, INTEGER),
    TYPE(MPI_INTEGER4, INTEGER),
    TYPE(MPI_INTEGER8, INTEGER),
    TYPE(MPI_REAL, FLOATING),
    TYPE(MPI_REAL4, FLOATING),
    TYPE(MPI_REAL8, FLOATING),
    TYPE(MPI_DOUBLE_PRECISION, FLOATING),
    TYPE(MPI_LOGICAL, LOGICAL),
};
#define TYPES (sizeof(types) / sizeof(types[0]))

typedef enum op { SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, OP_COUNT } op_t;

static const struct {
    MPI_Op handle;
    const char *name;
} ops[OP_COUNT] = {
    [SUM] = {MPI_SUM, "sum"},    [PROD] = {MPI_PROD, "prod"}, [MAX] = {MPI_MAX, "max"},
    [MIN] = {MPI_MIN, "min"},    [LAND] = {MPI_LAND, "land"}, [LOR] = {MPI_LOR, "lor"},
    [LXOR] = {MPI_LXOR, "lxor"}, [BAND] = {MPI_BAND, "band"}, [BOR] = {MPI_BOR, "bor"},
    [BXOR] = {MPI_BXOR, "bxor"},
};

static bool defined(group_t group, op_t op)
{
    bool logical = LAND <= op && LXOR >= op;
    bool bitwise = BAND <= op;
    switch (group) {
    case FLOATING:
        return !logical && !bitwise;
    case INTEGER:
        return !logical;
    case LOGICAL:
        return logical;
    case BYTES:
        return bitwise;
    default:
        return true;
    }
}

static const type_t *type_named(MPI_Datatype handle)
{
    const type_t *type = types;
    while (handle != type->handle) {
        ++type;
    }
    return type;
}

/* 0 for a datatype that this Open MPI was built without. */
static size_t size_of(const type_t *type)
{
    int size = 0;
    if (MPI_DATATYPE_NULL == type->handle || MPI_SUCCESS != MPI_Type_size(type->handle, &size)) {
        return 0;
    }
    return 0 < size ? (size_t) size : 0;
}

/* ---- the reference ---- */

typedef union element {
    uint64_t bits;
    float f;
    double d;
} element_t;

static element_t load(const unsigned char *at, size_t size)
{
    element_t e = {0};
    memcpy(&e, at, size); /* little-endian, as all hosts with such GPUs are */
    return e;
}

static int64_t as_signed(uint64_t bits, size_t size)
{
    unsigned shift = 64 - 8 * (unsigned) size;
    return (int64_t) (bits << shift) >> shift;
}

static uint64_t combine_integers(group_t group, size_t size, op_t op, uint64_t a, uint64_t b)
{
    bool is_signed = SIGNED == group || INTEGER == group;
    bool less = is_signed ? as_signed(a, size) < as_signed(b, size) : a < b;
    switch (op) {
    case SUM:
        return a + b;
    case PROD:
        return a * b;
    case MAX:
        return less ? b : a;
    case MIN:
        return less ? a : b;
    case LAND:
        return 0 != a && 0 != b;
    case LOR:
        return 0 != a || 0 != b;
    case LXOR:
        return (0 != a) != (0 != b);
    case BAND:
        return a & b;
    case BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

static double combine_floats(op_t op, double a, double b)
{
    switch (op) {
    case SUM:
        return a + b;
    case PROD:
        return a * b;
    case MAX:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
}

/* into[i] = into[i] op from[i]. A sum or product of floats, done in double, rounds to the same
 * float. */
static void combine(const type_t *type, op_t op, unsigned char *into, const unsigned char *from,
                    size_t count)
{
    size_t size = size_of(type);
    for (size_t i = 0; i < count; ++i) {
        element_t a = load(into + i * size, size);
        element_t b = load(from + i * size, size);
        if (FLOATING == type->group && sizeof(float) == size) {
            a.f = (float) combine_floats(op, a.f, b.f);
        } else if (FLOATING == type->group) {
            a.d = combine_floats(op, a.d, b.d);
        } else {
            a.bits = combine_integers(type->group, size, op, a.bits, b.bits);
        }
        memcpy(into + i * size, &a, size);
    }
}

/* A number that is exact in every floating type, and whose sums and products are too. */
static double exact_number(op_t op, uint64_t random)
{
    static const double factors[] = {1, 2, -1, 0.5, -2, 1, -0.5, 1};
    return PROD == op ? factors[random % 8] : ((double) (random % 65) - 32) / 4;
}

static uint64_t integer_bits(group_t group, op_t op, uint64_t random)
{
    bool logical = LAND <= op && LXOR >= op;
    if (LOGICAL == group) {
        return random % 2;
    }
    if (logical && 0 == random % 3) {
        return 0; /* among random bits there are no zeros */
    }
    return random;
}

/* What rank contributes. */
static void make_input(const type_t *type, op_t op, int rank, uint64_t round, unsigned char *to,
                       size_t count)
{
    uint64_t state = mt_seed(rank, round);
    size_t size = size_of(type);
    for (size_t i = 0; i < count; ++i) {
        element_t e = {0};
        uint64_t random = mt_random(&state) >> 3;
        if (FLOATING != type->group) {
            e.bits = integer_bits(type->group, op, random);
        } else if (sizeof(float) == size) {
            e.f = (float) exact_number(op, random);
        } else {
            e.d = exact_number(op, random);
        }
        memcpy(to + i * size, &e, size);
    }
}

/* What all get; scratch holds one input. */
static void make_result(const type_t *type, op_t op, uint64_t round, unsigned char *to,
                        unsigned char *scratch, size_t count)
{
    make_input(type, op, 0, round, to, count);
    for (int r = 1; r < mt_size; ++r) {
        make_input(type, op, r, round, scratch, count);
        combine(type, op, to, scratch, count);
    }
}

/* ---- one call ---- */

typedef struct call {
    const type_t *type;
    op_t op;
    size_t count;
    size_t send_at, recv_at; /* bytes from an aligned place */
    bool in_place;
} call_t;

/* The family of plans that must serve the call, NULL when several may. */
static const char *family_of(const call_t *c)
{
    size_t bytes = c->count * size_of(c->type);
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
    return payload && 0 == strcmp(algorithm, "low_latency") ? "low_latency" : NULL;
}

static void say(const call_t *c)
{
    mt_context("%s %s, count %zu, send at %zu, recv at %zu%s, %s", c->type->name, ops[c->op].name,
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

static void check_call(const call_t *c)
{
    size_t len = c->count * size_of(c->type);
    char *recv = window.base + AREA + MT_GUARD + c->recv_at;
    char *send = c->in_place ? recv : window.base + MT_GUARD + c->send_at;
    uint64_t round = ++round_number;
    say(c);
    make_input(c->type, c->op, mt_rank, round, host[0], c->count);
    make_result(c->type, c->op, round, host[1], host[2], c->count);
    mt_poison(recv - MT_GUARD, len + 2 * MT_GUARD);
    mt_write(send, host[0], len);
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allreduce(c->in_place ? MPI_IN_PLACE : send, recv, (int) c->count, c->type->handle,
                           ops[c->op].handle, MPI_COMM_WORLD));
    if (0 < c->count) {
        CHECK_SERVED(&before, family_of(c));
    }
    mt_read(host[3], recv, len);
    check_bytes(host[1], host[3], len, "result");
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
    for (size_t t = 0; t < TYPES; ++t) {
        if (0 == size_of(&types[t])) {
            mt_note("%s left out, this MPI has none", types[t].name);
            continue;
        }
        for (int op = 0; op < OP_COUNT; ++op) {
            if (defined(types[t].group, (op_t) op)) {
                check_both((call_t){.type = &types[t], .op = (op_t) op, .count = 67});
                check_call(&(call_t){.type = &types[t], .op = (op_t) op, .count = 1001});
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
        op_t op;
    } pairs[] = {{MPI_UNSIGNED_CHAR, BXOR}, {MPI_SHORT, MIN}, {MPI_FLOAT, SUM}, {MPI_DOUBLE, MAX}};
    for (int p = 0; p < 4; ++p) {
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
            check_both((call_t){
                .type = type_named(pairs[p].handle), .op = pairs[p].op, .count = counts[i]});
        }
    }
}

/* Send and receive buffer at all offsets from an aligned place, independently; with many ranks on
 * few cores a part of them. */
static void every_alignment(void)
{
    const MPI_Datatype handles[] = {MPI_UNSIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    for (int h = 0; h < 4; ++h) {
        const type_t *type = type_named(handles[h]);
        size_t size = size_of(type);
        for (size_t send_at = 0; send_at < 32; send_at += size) {
            for (size_t recv_at = 0; recv_at < 32; recv_at += size) {
                if (2 >= mt_size || 0 == (send_at * 7 + recv_at) / size % 8) {
                    check_call(&(call_t){.type = type,
                                         .op = SUM,
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
        check_call(&(call_t){.type = type_named(MPI_UNSIGNED_CHAR),
                             .op = SUM,
                             .count = 50000 + at,
                             .send_at = at,
                             .recv_at = 31 - at});
        check_call(&(call_t){.type = type_named(MPI_FLOAT),
                             .op = SUM,
                             .count = 20000 + at,
                             .send_at = 4 * at,
                             .recv_at = 4 * (at % 5)});
    }
}

static void large_counts(void)
{
    check_both((call_t){.type = type_named(MPI_FLOAT), .op = SUM, .count = LARGEST_COUNT});
    if (2 >= mt_size) {
        check_both((call_t){.type = type_named(MPI_DOUBLE), .op = PROD, .count = LARGEST_COUNT});
        check_both((call_t){.type = type_named(MPI_UINT8_T), .op = BOR, .count = LARGEST_COUNT});
    }
}

/* Call after call with no other synchronisation, a rank now and then late: data of another round
 * shows. */
static void many_calls_in_a_row(void)
{
    static const size_t counts[] = {1, 100, 300, 3000, 30000, 7};
    for (int i = 0; i < 240; ++i) {
        call_t c = {.type = type_named(0 == i % 2 ? MPI_INT : MPI_FLOAT),
                    .op = 0 == i % 4 ? MAX : SUM,
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
    char *areas[2] = {window.base, window.base + AREA};
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

static uint64_t hash(const unsigned char *bytes, size_t len)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < len; ++i) {
        h = (h ^ bytes[i]) * 1099511628211u;
    }
    return h >> 2; /* fits CHECK_SAME's signed numbers */
}

/* Sums that do round: not exactly what the test finds, but near, alike on all ranks to the last
 * bit, and again the same when done again. */
static void check_rounding(size_t count)
{
    double *mine = (double *) (void *) host[0];
    double *exact = (double *) (void *) host[1];
    double *got = (double *) (void *) host[3];
    uint64_t first = 0;
    uint64_t round = ++round_number;
    mt_context("%zu doubles", count);
    memset(exact, 0, count * sizeof(*exact));
    for (int r = 0; r < mt_size; ++r) {
        uint64_t state = mt_seed(r, round);
        for (size_t i = 0; i < count; ++i) {
            double value = (double) (mt_random(&state) >> 11) / 9007199254740992.0 - 0.3;
            exact[i] += value;
            mine[i] = r == mt_rank ? value : mine[i];
        }
    }
    for (int again = 0; again < 3; ++again) {
        mt_write(window.base, mine, count * sizeof(*mine));
        mt_poison(window.base + AREA, count * sizeof(*mine));
        CHECK_OK(MPI_Allreduce(window.base, window.base + AREA, (int) count, MPI_DOUBLE, MPI_SUM,
                               MPI_COMM_WORLD));
        mt_read(got, window.base + AREA, count * sizeof(*got));
        bool near = true;
        for (size_t i = 0; i < count; ++i) {
            near = near && fabs(got[i] - exact[i]) < 1e-14 * mt_size;
        }
        CHECK_MSG(near, "a sum is not near enough");
        uint64_t now = hash(host[3], count * sizeof(*got));
        CHECK_SAME(now);
        CHECK(0 == again || first == now);
        first = now;
    }
}

static void sums_of_floats_are_the_same_bits_on_all_ranks(void)
{
    check_rounding(100);
    check_rounding(1500);
    check_rounding(40001);
}

/* Each family is the automatic choice for some size. */
static void every_family_is_chosen(void)
{
    if (0 != strcmp(algorithm, "auto") || 1 == mt_size) {
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
        mt_write(window.base, host[0], expected[i].count * 4);
        CHECK_OK(MPI_Allreduce(window.base, window.base + AREA, (int) expected[i].count, MPI_FLOAT,
                               MPI_MAX, MPI_COMM_WORLD));
        CHECK_SERVED(&before, expected[i].family);
    }
}

static void read_algorithm(void)
{
#ifdef ALLREDUCE_ALGORITHM
    mt_set_param("coll_symm_allreduce_algorithm", ALLREDUCE_ALGORITHM);
#endif
    algorithm = getenv("OMPI_MCA_coll_symm_allreduce_algorithm");
    if (NULL == algorithm) {
        algorithm = "auto";
    }
}

int main(int argc, char **argv)
{
    read_algorithm();
    mt_init(&argc, &argv, NAME);
    for (int i = 0; i < 4; ++i) {
        host[i] = calloc(1, AREA);
    }
    if (mt_allocate(2 * AREA, 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(every_operation_on_every_datatype);
        MT_RUN(counts_from_none_to_many);
        MT_RUN(every_alignment);
        MT_RUN(unaligned_and_long);
        MT_RUN(large_counts);
        MT_RUN(many_calls_in_a_row);
        MT_RUN(buffers_are_free_when_the_call_returns);
        MT_RUN(sums_of_floats_are_the_same_bits_on_all_ranks);
        MT_RUN(every_family_is_chosen);
        mt_win_free(&window);
    }
    for (int i = 0; i < 4; ++i) {
        free(host[i]);
    }
    return mt_finish();
}
