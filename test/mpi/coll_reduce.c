/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Reduce, MPI_Reduce_scatter, MPI_Reduce_scatter_block, MPI_Scan and MPI_Exscan on window
 * memory: every operation on every datatype, counts, roots and alignments, in place and not,
 * against results that the test works out for itself; operations of the program's own in rank
 * order. The programs named coll_reduce_<algorithm> are this one with the algorithm forced,
 * coll_reduce_resident has a resident kernel. */
#include "symm_config.h"

#include "mpi_test_reduce.h"

#include <stdlib.h>
#include <string.h>

#ifndef NONBLOCKING
#    define NONBLOCKING false
#endif

#ifdef SCRATCH_BYTES
#    define NAME    (NONBLOCKING ? "coll_reduce_nonblocking_scratch" : "coll_reduce_scratch")
#    define OUTSIDE true
#else
#    define OUTSIDE false
#    ifdef REDUCE_ALGORITHM
#        define NAME "coll_reduce_" REDUCE_ALGORITHM
#    elif defined(RESIDENT)
#        define NAME "coll_reduce_resident"
#    else
#        define NAME (NONBLOCKING ? "coll_reduce_nonblocking" : "coll_reduce")
#    endif
#endif

#ifdef STAGE_BYTES
#    define STAGED true
#else
#    define STAGED false
#endif

#define LARGEST_COUNT ((size_t) (1 << 18) + 5)
#define AREA          (LARGEST_COUNT * 16 + 4096)
#define RANKS_MAX     16

static mt_win_t window;
static char *memory; /* two areas: the window's, or GPU memory in no window */
static uint64_t round_number;

/* Buffers on the host: input, result, scratch and what came. */
static unsigned char *host[4];

/* ---- the collectives ---- */

typedef enum collective {
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    COLLECTIVES
} collective_t;

static const char *const names[COLLECTIVES] = {"reduce", "reduce_scatter", "reduce_scatter_block",
                                               "scan", "exscan"};

typedef struct call {
    collective_t collective;
    const mr_type_t *type;
    mr_op_t op;
    size_t count; /* elements of each input; of reduce_scatter, before it is made to fit */
    int root;
    size_t send_at, recv_at; /* bytes from an aligned place */
    bool in_place;
    int skew;     /* of reduce_scatter: how much more each rank gets than the one before */
    bool any_way; /* whoever serves it */
} call_t;

/* What a call has this rank do, in elements. */
typedef struct share {
    int counts[RANKS_MAX]; /* of reduce_scatter and of reduce_scatter_block */
    size_t input;          /* of each input */
    size_t first, own;     /* this rank's result is the input's part [first, first + own) */
    int ranks;             /* combined over the ranks [0, ranks); 0: nothing */
} share_t;

static share_t share_of(const call_t *c)
{
    share_t share = {.input = c->count, .own = c->count, .ranks = mt_size};
    bool scattered = REDUCE_SCATTER == c->collective || REDUCE_SCATTER_BLOCK == c->collective;
    if (REDUCE == c->collective) {
        share.own = c->root == mt_rank ? c->count : 0;
    } else if (SCAN == c->collective) {
        share.ranks = mt_rank + 1;
    } else if (EXSCAN == c->collective) {
        share.ranks = mt_rank;
        share.own = 0 == mt_rank ? 0 : c->count;
    }
    if (scattered) {
        share.input = 0;
    }
    int skew = REDUCE_SCATTER == c->collective ? c->skew : 0;
    for (int r = 0; scattered && r < mt_size; ++r) {
        share.counts[r] = (int) c->count / mt_size + r * skew;
        share.first += r < mt_rank ? (size_t) share.counts[r] : 0;
        share.own = r == mt_rank ? (size_t) share.counts[r] : share.own;
        share.input += (size_t) share.counts[r];
    }
    return share;
}

/* The nonblocking form of a call. */
static int start_call(const call_t *c, const share_t *share, const void *send, void *recv,
                      MPI_Request *request_p)
{
    const void *input = c->in_place ? MPI_IN_PLACE : send;
    MPI_Op op = mr_op(c->type, c->op);
    MPI_Datatype type = c->type->handle;
    int count = (int) c->count;
    switch (c->collective) {
    case REDUCE:
        return MPI_Ireduce(c->root == mt_rank ? input : send, c->root == mt_rank ? recv : NULL,
                           count, type, op, c->root, MPI_COMM_WORLD, request_p);
    case REDUCE_SCATTER:
        return MPI_Ireduce_scatter(input, recv, share->counts, type, op, MPI_COMM_WORLD, request_p);
    case REDUCE_SCATTER_BLOCK:
        return MPI_Ireduce_scatter_block(input, recv, share->counts[0], type, op, MPI_COMM_WORLD,
                                         request_p);
    case SCAN:
        return MPI_Iscan(input, recv, count, type, op, MPI_COMM_WORLD, request_p);
    default:
        return MPI_Iexscan(input, recv, count, type, op, MPI_COMM_WORLD, request_p);
    }
}

static int make_call(const call_t *c, const share_t *share, const void *send, void *recv)
{
    if (NONBLOCKING) {
        MPI_Request request = MPI_REQUEST_NULL;
        int rc = start_call(c, share, send, recv, &request);
        int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
        return MPI_SUCCESS == rc ? waited : rc;
    }
    const void *input = c->in_place ? MPI_IN_PLACE : send;
    MPI_Op op = mr_op(c->type, c->op);
    MPI_Datatype type = c->type->handle;
    switch (c->collective) {
    case REDUCE:
        if (c->root != mt_rank) { /* in place is for the root; the others' output is for nobody */
            return MPI_Reduce(send, NULL, (int) c->count, type, op, c->root, MPI_COMM_WORLD);
        }
        return MPI_Reduce(input, recv, (int) c->count, type, op, c->root, MPI_COMM_WORLD);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter(input, recv, share->counts, type, op, MPI_COMM_WORLD);
    case REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(input, recv, share->counts[0], type, op, MPI_COMM_WORLD);
    case SCAN:
        return MPI_Scan(input, recv, (int) c->count, type, op, MPI_COMM_WORLD);
    default:
        return MPI_Exscan(input, recv, (int) c->count, type, op, MPI_COMM_WORLD);
    }
}

static void say(const call_t *c)
{
    mt_context("%s %s %s, count %zu, root %d, send at %zu, recv at %zu%s", names[c->collective],
               c->type->name, mr_op_name(c->op), c->count, c->root, c->send_at, c->recv_at,
               c->in_place ? ", in place" : "");
}

/* Whether copy engines must do the call on this rank: they move elements whole, and with so many of
 * them every rank has some to combine. */
static bool must_be_staged(const call_t *c, const share_t *share)
{
    int bytes;
    CHECK_OK(MPI_Type_size(c->type->handle, &bytes));
    bool scattered = REDUCE_SCATTER == c->collective || REDUCE_SCATTER_BLOCK == c->collective;
    return STAGED && SYMM_KIND_CUDA_DEVICE == mt_kind && 1 < mt_size &&
           c->type->size == (size_t) bytes && 128 * (size_t) (mt_size * mt_size) <= c->count &&
           ((scattered && 0 < share->own) || REDUCE == c->collective);
}

/* The family of plans that must serve the call, NULL when several may. */
static const char *family_of(const call_t *c, const share_t *share)
{
    bool scattered = REDUCE != c->collective;
    if (must_be_staged(c, share)) {
        return scattered && !c->in_place ? "one_shot_ce" : "two_shot_ce";
    }
    return OUTSIDE && 1 < mt_size ? "one_shot_scratch" : NULL;
}

static void check_way(const call_t *c, const share_t *share, const symm_stats_t *before)
{
    if (c->any_way) {
        CHECK_INT(before->collectives_mismatched, mt_stats().collectives_mismatched);
        return;
    }
    if (!mr_served(c->type)) {
        CHECK_PASSED(before);
    } else if (0 < share->input) {
        CHECK_SERVED(before, family_of(c, share));
    }
}

/* What is around the result, and the input that is not the result's place. */
static void check_rest(const call_t *c, const share_t *share, const char *send, const char *recv)
{
    size_t size = c->type->size;
    CHECK_POISON(recv - MT_GUARD, MT_GUARD);
    CHECK_POISON(recv + (c->in_place ? share->input : share->own) * size, MT_GUARD);
    if (send != recv) {
        mt_read(host[3], send, share->input * size);
        CHECK_ELEMENTS(c->type, host[0], host[3], share->input);
    }
}

static void check_call(const call_t *c)
{
    share_t share = share_of(c);
    size_t size = c->type->size;
    char *recv = memory + AREA + MT_GUARD + c->recv_at;
    bool in_place = c->in_place && (REDUCE != c->collective || c->root == mt_rank);
    char *send = in_place ? recv : memory + MT_GUARD + c->send_at;
    uint64_t round = ++round_number;
    say(c);
    mr_input(c->type, c->op, mt_rank, round, host[0], share.input);
    mt_poison(recv - MT_GUARD, share.input * size + 2 * MT_GUARD);
    mt_write(send, host[0], share.input * size);
    symm_stats_t before = mt_stats();
    CHECK_OK(make_call(c, &share, send, recv));
    check_way(c, &share, &before);
    if (0 < share.own && 0 < share.ranks) {
        mr_result(c->type, c->op, share.ranks, round, host[1], host[2], share.input);
        mt_read(host[3], recv, share.own * size);
        CHECK_ELEMENTS(c->type, host[1] + share.first * size, host[3], share.own);
    }
    check_rest(&(call_t){.type = c->type, .in_place = in_place}, &share, send, recv);
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
        for (int op = 0; op < MR_OP_COUNT && 0 < types[t].size; ++op) {
            for (int k = 0; k < COLLECTIVES && mr_defined(&types[t], (mr_op_t) op); ++k) {
                call_t c = {.collective = (collective_t) k,
                            .type = &types[t],
                            .op = (mr_op_t) op,
                            .count = (t + (size_t) op) % 2 ? 60 : 1200,
                            .root = (int) t % mt_size,
                            .skew = 1,
                            .in_place = 0 != ((int) t + op + k) % 2};
                check_call(&c);
            }
        }
    }
}

static void counts_from_none_to_many(void)
{
    const size_t size = (size_t) mt_size;
    const size_t counts[] = {0, 1, 2, size - 1, size, size + 1, 31, 128, 255, 4095, 8193, 70001};
    const struct {
        MPI_Datatype handle;
        mr_op_t op;
    } pairs[] = {{MPI_UNSIGNED_CHAR, MR_BXOR}, {MPI_FLOAT, MR_SUM}, {MPI_DOUBLE_INT, MR_MINLOC}};
    for (int p = 0; p < 3; ++p) {
        for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
            for (int k = 0; k < COLLECTIVES; ++k) {
                check_both((call_t){.collective = (collective_t) k,
                                    .type = mr_type(pairs[p].handle),
                                    .op = pairs[p].op,
                                    .count = counts[i],
                                    .root = (int) i % mt_size,
                                    .skew = (int) i % 3});
            }
        }
    }
}

static void alignments(void)
{
    const MPI_Datatype handles[] = {MPI_UNSIGNED_CHAR, MPI_SHORT, MPI_DOUBLE};
    for (int h = 0; h < 3; ++h) {
        const mr_type_t *type = mr_type(handles[h]);
        for (size_t at = 0; at < 32; at += type->size) {
            for (int k = 0; k < COLLECTIVES; ++k) {
                check_call(&(call_t){.collective = (collective_t) k,
                                     .type = type,
                                     .op = MR_SUM,
                                     .count = 1111 + at,
                                     .send_at = at,
                                     .recv_at = (at * 5) % 32,
                                     .skew = 7,
                                     .in_place = 0 == at % 3});
            }
        }
    }
}

static void large_counts(void)
{
    for (int k = 0; k < COLLECTIVES; ++k) {
        check_both((call_t){.collective = (collective_t) k,
                            .type = mr_type(MPI_DOUBLE),
                            .op = MR_SUM,
                            .count = LARGEST_COUNT - 1000,
                            .root = mt_size - 1,
                            .skew = 3});
    }
}

/* Results that a rank gets nothing of, or all but nothing of. */
static void uneven_counts(void)
{
    const int patterns[][RANKS_MAX] = {{0, 5000}, {1, 5000}, {5000, 0}, {0, 0}, {3000, 1, 2000}};
    const mr_type_t *type = mr_type(MPI_INT);
    for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); ++p) {
        for (int in_place = 0; in_place < 2; ++in_place) {
            size_t input = 0, first = 0;
            uint64_t round = ++round_number;
            char *recv = memory + AREA;
            char *send = in_place ? recv : memory;
            for (int r = 0; r < mt_size; ++r) {
                first += r < mt_rank ? (size_t) patterns[p][r] : 0;
                input += (size_t) patterns[p][r];
            }
            mt_context("pattern %zu%s", p, in_place ? ", in place" : "");
            mr_input(type, MR_SUM, mt_rank, round, host[0], input);
            mt_write(send, host[0], input * 4);
            CHECK_OK(MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : send, recv, patterns[p], MPI_INT,
                                        MPI_SUM, MPI_COMM_WORLD));
            mr_result(type, MR_SUM, mt_size, round, host[1], host[2], input);
            mt_read(host[3], recv, (size_t) patterns[p][mt_rank] * 4);
            CHECK_ELEMENTS(type, host[1] + 4 * first, host[3], (size_t) patterns[p][mt_rank]);
        }
    }
}

/* Different collectives in a row with no other synchronisation, a rank now and then late. */
static void many_calls_in_a_row(void)
{
    static const size_t counts[] = {1, 100, 300, 3000, 30000, 7};
    for (int i = 0; i < 240; ++i) {
        if (0 == i % 40 && mt_rank == i / 40 % mt_size) {
            mt_sleep_ms(10);
        }
        check_call(&(call_t){.collective = (collective_t) (i % COLLECTIVES),
                             .type = mr_type(0 == i % 2 ? MPI_INT : MPI_FLOAT),
                             .op = 0 == i % 4 ? MR_MAX : MR_SUM,
                             .count = counts[i % 6],
                             .root = i % mt_size,
                             .in_place = 0 == i % 3});
    }
}

/* Each rank's buffers in other memory, window or not, and at other offsets. */
static void each_rank_somewhere_else(void)
{
    static const size_t counts[] = {5, 200, 3000, 20011};
    char *usual = memory;
    char *places[1 + MT_MEMORY_COUNT] = {window.base};
    int place_count = 1;
    for (int m = 0; m < MT_MEMORY_COUNT; ++m) {
        if (mt_has_memory((mt_memory_t) m)) {
            places[place_count++] = mt_alloc((mt_memory_t) m, 2 * AREA);
        }
    }
    for (int i = 0; i < 24 * COLLECTIVES; ++i) {
        uint64_t state = mt_seed(mt_rank, (uint64_t) i);
        memory = places[mt_random(&state) % (uint64_t) (place_count + 1) % (uint64_t) place_count];
        check_call(&(call_t){.collective = (collective_t) (i % COLLECTIVES),
                             .type = mr_type(0 == i % 2 ? MPI_FLOAT : MPI_SHORT),
                             .op = 0 == i % 3 ? MR_MIN : MR_SUM,
                             .count = counts[i / COLLECTIVES % 4],
                             .root = i % mt_size,
                             .send_at = mt_random(&state) % 50 * 4,
                             .recv_at = mt_random(&state) % 50 * 4,
                             .skew = i % 4,
                             .in_place = 0 == i / COLLECTIVES / 4 % 2,
                             .any_way = true});
    }
    memory = usual;
    for (int m = 0, p = 1; m < MT_MEMORY_COUNT; ++m) {
        if (mt_has_memory((mt_memory_t) m)) {
            mt_free((mt_memory_t) m, places[p++]);
        }
    }
}

/* ---- operations of the program's own ---- */

/* a op b is a matrix product of 2 x 2 integers: associative, and the order shows. */
static void multiply(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *len; ++i) {
        const uint32_t *a = (uint32_t *) in + 4 * i;
        uint32_t *b = (uint32_t *) inout + 4 * i;
        uint32_t c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                         a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof(c));
    }
}

static void make_matrix(int rank, uint64_t round, size_t i, uint32_t *m)
{
    uint64_t state = mt_seed(rank, round) + i * 77;
    for (int k = 0; k < 4; ++k) {
        m[k] = (uint32_t) mt_random(&state);
    }
}

static void product_of(int ranks, uint64_t round, size_t i, uint32_t *m)
{
    int one = 1;
    make_matrix(ranks - 1, round, i, m);
    for (int r = ranks - 2; r >= 0; --r) {
        uint32_t left[4];
        make_matrix(r, round, i, left);
        multiply(left, m, &one, NULL);
    }
}

static void check_products(const call_t *c, MPI_Datatype matrix, MPI_Op op)
{
    uint32_t *mine = (uint32_t *) (void *) host[0];
    uint32_t *got = (uint32_t *) (void *) host[3];
    share_t share = share_of(c);
    char *recv = memory + AREA;
    char *send = c->in_place ? recv : memory;
    uint64_t round = ++round_number;
    mr_type_t type = {.handle = matrix, .name = "matrix", .size = 16};
    for (size_t i = 0; i < share.input; ++i) {
        make_matrix(mt_rank, round, i, mine + 4 * i);
    }
    mt_context("%s of %zu matrices%s", names[c->collective], c->count,
               c->in_place ? ", in place" : "");
    mt_write(send, mine, share.input * 16);
    const void *input = c->in_place ? MPI_IN_PLACE : send;
    int rc = REDUCE == c->collective ? MPI_Reduce(0 == mt_rank ? input : send, recv, (int) c->count,
                                                  type.handle, op, 0, MPI_COMM_WORLD)
             : SCAN == c->collective
                 ? MPI_Scan(input, recv, (int) c->count, type.handle, op, MPI_COMM_WORLD)
             : EXSCAN == c->collective
                 ? MPI_Exscan(input, recv, (int) c->count, type.handle, op, MPI_COMM_WORLD)
                 : MPI_Reduce_scatter(input, recv, share.counts, type.handle, op, MPI_COMM_WORLD);
    CHECK_OK(rc);
    mt_read(got, recv, share.own * 16);
    bool right = true;
    for (size_t i = 0; 0 < share.ranks && i < share.own; ++i) {
        uint32_t expected[4];
        product_of(share.ranks, round, share.first + i, expected);
        right = right && 0 == memcmp(expected, got + 4 * i, 16);
    }
    CHECK_MSG(right, "a product is wrong");
}

static void own_operations_in_rank_order(void)
{
    MPI_Datatype matrix;
    MPI_Op op;
    const size_t counts[] = {1, 30, 5000};
    const collective_t collectives[] = {REDUCE, REDUCE_SCATTER, SCAN, EXSCAN};
    CHECK_OK(MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix));
    CHECK_OK(MPI_Type_commit(&matrix));
    CHECK_OK(MPI_Op_create(multiply, 0, &op));
    for (int i = 0; i < 3; ++i) {
        for (int k = 0; k < 4; ++k) {
            for (int in_place = 0; in_place < 2; ++in_place) {
                check_products(&(call_t){.collective = collectives[k],
                                         .count = counts[i],
                                         .in_place = 0 != in_place},
                               matrix, op);
            }
        }
    }
    CHECK_OK(MPI_Op_free(&op));
    CHECK_OK(MPI_Type_free(&matrix));
}

/* ---- what is wrong ---- */

static void roots_that_differ(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    /* Of small ones not all ranks know: coll_eager.c. */
    CHECK_CLASS(MPI_ERR_ROOT, MPI_Reduce(memory, memory + AREA, 2500, MPI_INT, MPI_SUM, mt_rank % 2,
                                         MPI_COMM_WORLD));
    CHECK_CLASS(MPI_ERR_TRUNCATE,
                MPI_Scan(memory, memory + AREA, 5 + mt_rank, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    check_both((call_t){
        .collective = REDUCE, .type = mr_type(MPI_INT), .op = MR_SUM, .count = 50, .root = 0});
}

#ifdef RESIDENT
static void the_resident_kernel_took_part(void)
{
    symm_stats_t stats = mt_stats();
    bool expected = SYMM_KIND_CUDA_DEVICE == mt_kind && 1 < mt_size;
    CHECK(expected ? 1000 < stats.resident_commands : 0 == stats.resident_commands);
}
#endif

int main(int argc, char **argv)
{
#ifdef REDUCE_ALGORITHM
    mt_set_param("coll_symm_algorithm", REDUCE_ALGORITHM);
#endif
#ifdef SCRATCH_BYTES
    mt_set_param("coll_symm_scratch_bytes", SCRATCH_BYTES);
#endif
#ifdef STAGE_BYTES
    mt_set_param("coll_symm_stage_bytes", STAGE_BYTES);
#endif
#ifdef RESIDENT
    mt_set_param("coll_symm_resident", "1");
    mt_set_param("coll_symm_resident_idle", "200"); /* the test waits for the device all the time */
#endif
    mt_set_param("op", "^avx"); /* Open MPI 4.1.4's, with which what is passed on may be wrong */
    mt_init(&argc, &argv, NAME);
    if (OUTSIDE && SYMM_KIND_SYSTEM == mt_kind) {
        mt_skip("host memory in no window is the next component's");
    }
    for (int i = 0; i < 4; ++i) {
        host[i] = calloc(1, AREA);
    }
    if (mt_allocate(2 * AREA, 1, MPI_COMM_WORLD, &window)) {
        memory = OUTSIDE ? mt_alloc(MT_DEVICE, 2 * AREA) : window.base;
        if (NONBLOCKING && OUTSIDE && 1 < mt_size) {
            MT_RUN(mt_provide_scratch);
        }
        MT_RUN(every_operation_on_every_datatype);
        MT_RUN(counts_from_none_to_many);
        MT_RUN(alignments);
        MT_RUN(large_counts);
        MT_RUN(uneven_counts);
        MT_RUN(many_calls_in_a_row);
        MT_RUN(each_rank_somewhere_else);
        MT_RUN(own_operations_in_rank_order);
        MT_RUN(roots_that_differ);
#ifdef RESIDENT
        MT_RUN(the_resident_kernel_took_part);
#endif
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
