/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Nonblocking collectives: one and many in flight, in every kind of memory, between blocking calls,
 * with late ranks, and those that the next component carries out. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdlib.h>
#include <string.h>

#define FLIGHTS     20            /* more than can be under way at once */
#define AREAS       (FLIGHTS + 1) /* one for a blocking call */
#define COUNT       3000
#define SMALL_COUNT 5
#define AREA        (sizeof(int32_t) * COUNT + 2 * MT_GUARD)

typedef enum place { IN_WINDOW, IN_HOST, IN_DEVICE, PLACES } place_t;

static const char *const place_names[PLACES] = {"the window", "host memory", "device memory"};

static mt_win_t window;
static char *memory[PLACES]; /* AREAS for inputs, then outputs of all ranks' size */
static uint64_t round_number;
static int32_t *scratch;

static size_t output_area(void)
{
    return (size_t) mt_size * sizeof(int32_t) * COUNT + 2 * MT_GUARD;
}

static size_t total(void)
{
    return AREAS * (AREA + output_area());
}

static char *input(place_t place, int flight)
{
    return memory[place] + (size_t) flight * AREA + MT_GUARD;
}

static char *output(place_t place, int flight)
{
    return memory[place] + AREAS * AREA + (size_t) flight * output_area() + MT_GUARD;
}

static bool has_place(place_t place)
{
    return IN_DEVICE != place || mt_has_memory(MT_DEVICE);
}

static int32_t element(int rank, uint64_t round, int i)
{
    return (int32_t) ((uint64_t) rank * 7919 + round * 104729 + (uint64_t) i * 31) % 10007;
}

typedef struct flight {
    bool gather; /* MPI_Iallgather, otherwise MPI_Iallreduce */
    bool in_place;
    place_t from, to;
    int count;
    uint64_t round;
    MPI_Request request;
} flight_t;

static void fill_input(const flight_t *f, char *at)
{
    for (int i = 0; i < f->count; ++i) {
        scratch[i] = element(mt_rank, f->round, i);
    }
    mt_write(at, scratch, (size_t) f->count * sizeof(int32_t));
}

static void start(flight_t *f, int number)
{
    size_t bytes = (size_t) f->count * sizeof(int32_t);
    char *out = output(f->to, number);
    char *in = input(f->from, number);
    f->round = ++round_number;
    mt_poison(out - MT_GUARD, output_area());
    if (f->in_place) {
        in = out + (f->gather ? (size_t) mt_rank * bytes : 0);
    }
    fill_input(f, in);
    const void *send = f->in_place ? MPI_IN_PLACE : in;
    if (f->gather) {
        CHECK_OK(MPI_Iallgather(send, f->count, MPI_INT32_T, out, f->count, MPI_INT32_T,
                                MPI_COMM_WORLD, &f->request));
    } else {
        CHECK_OK(
            MPI_Iallreduce(send, out, f->count, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD, &f->request));
    }
}

static int32_t expected(const flight_t *f, int block, int i)
{
    int32_t sum = 0;
    for (int r = 0; !f->gather && r < mt_size; ++r) {
        sum += element(r, f->round, i);
    }
    return f->gather ? element(block, f->round, i) : sum;
}

static void check_output(const flight_t *f, int number)
{
    int blocks = f->gather ? mt_size : 1;
    size_t bytes = (size_t) blocks * (size_t) f->count * sizeof(int32_t);
    const char *out = output(f->to, number);
    int wrong = 0;
    mt_context("flight %d of %d elements from %s to %s", number, f->count, place_names[f->from],
               place_names[f->to]);
    mt_read(scratch, out, bytes);
    for (int k = 0; k < blocks * f->count; ++k) {
        wrong += scratch[k] != expected(f, k / f->count, k % f->count);
    }
    CHECK_INT(0, wrong);
    CHECK_POISON(out - MT_GUARD, MT_GUARD);
    CHECK_POISON(out + bytes, MT_GUARD);
}

static void wait_and_check(flight_t *f, int number)
{
    CHECK_OK(MPI_Wait(&f->request, MPI_STATUS_IGNORE));
    CHECK(MPI_REQUEST_NULL == f->request);
    check_output(f, number);
}

/* One call for every pair of places; those with a window on the way are ours. */
static void every_place(void)
{
    for (int k = 0; k < PLACES * PLACES * 8; ++k) {
        flight_t f = {.gather = 0 != (k & 1),
                      .in_place = 0 != (k & 2),
                      .from = (place_t) (k / 8 % PLACES),
                      .to = (place_t) (k / 8 / PLACES),
                      .count = 0 != (k & 4) ? COUNT : SMALL_COUNT};
        if (has_place(f.from) && has_place(f.to)) {
            symm_stats_t before = mt_stats();
            start(&f, 0);
            wait_and_check(&f, 0);
            symm_stats_t now = mt_stats();
            CHECK_INT(before.collectives + before.collectives_passed + 1,
                      now.collectives + now.collectives_passed);
            bool on_gpu = IN_HOST != f.from && IN_HOST != f.to && 1 < mt_size;
            if (on_gpu || (IN_WINDOW == f.from && IN_WINDOW == f.to)) {
                CHECK_INT(before.collectives + 1, now.collectives);
            }
        }
    }
}

static void fill_flights(flight_t *flights)
{
    place_t outside = has_place(IN_DEVICE) ? IN_DEVICE : IN_HOST;
    for (int k = 0; k < FLIGHTS; ++k) {
        flights[k] = (flight_t){.gather = 0 == k % 3,
                                .in_place = 0 == k % 4,
                                .from = 0 == k % 5   ? IN_HOST
                                        : 1 == k % 3 ? outside
                                                     : IN_WINDOW,
                                .to = 0 == k % 7  ? IN_HOST
                                      : 3 > k % 5 ? outside
                                                  : IN_WINDOW,
                                .count = 0 == k % 2 ? COUNT - k : SMALL_COUNT + k};
    }
}

/* Many in flight, some of which the next component carries out; waited for from the last. */
static void many_in_flight(void)
{
    flight_t flights[FLIGHTS];
    fill_flights(flights);
    for (int k = 0; k < FLIGHTS; ++k) {
        start(&flights[k], k);
    }
    for (int k = FLIGHTS - 1; k >= 0; --k) {
        wait_and_check(&flights[k], k);
    }
}

/* A blocking call whose buffers are on a GPU where there is one: through scratch. */
static void make_blocking_call(void)
{
    place_t place = has_place(IN_DEVICE) ? IN_DEVICE : IN_WINDOW;
    flight_t f = {.from = place, .to = place, .count = COUNT, .round = ++round_number};
    mt_poison(output(place, FLIGHTS) - MT_GUARD, output_area());
    fill_input(&f, input(place, FLIGHTS));
    CHECK_OK(MPI_Allreduce(input(place, FLIGHTS), output(place, FLIGHTS), COUNT, MPI_INT32_T,
                           MPI_SUM, MPI_COMM_WORLD));
    check_output(&f, FLIGHTS);
}

/* Blocking calls on the same communicator, of all kinds, find their way between them. */
static void between_blocking_calls(void)
{
    flight_t flights[FLIGHTS];
    fill_flights(flights);
    for (int k = 0; k < FLIGHTS; ++k) {
        int sum = mt_rank + k;
        start(&flights[k], k);
        CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK_INT(mt_size * (mt_size - 1) / 2 + k * mt_size, sum);
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        make_blocking_call();
    }
    for (int k = 0; k < FLIGHTS; ++k) {
        wait_and_check(&flights[k], k);
    }
}

/* The call returns though the others are late; it is not complete before they have come. */
static void late_ranks(void)
{
    flight_t f = {.from = IN_WINDOW, .to = IN_WINDOW, .count = COUNT};
    int flag = 1;
    if (!mt_needs_ranks(2)) {
        return;
    }
    mt_barrier();
    if (0 != mt_rank) {
        mt_sleep_ms(300);
    }
    start(&f, 0);
    if (0 == mt_rank) {
        CHECK_OK(MPI_Test(&f.request, &flag, MPI_STATUS_IGNORE));
        CHECK_INT(0, flag);
    }
    while (0 == flag) {
        CHECK_OK(MPI_Test(&f.request, &flag, MPI_STATUS_IGNORE));
    }
    if (MPI_REQUEST_NULL != f.request) {
        CHECK_OK(MPI_Wait(&f.request, MPI_STATUS_IGNORE));
    }
    check_output(&f, 0);
}

/* Associative, not commutative: the lowest rank's value. */
static void take_left(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    (void) datatype;
    memcpy(inout, in, (size_t) *count * sizeof(int32_t));
}

static void check_first(const char *out, uint64_t round)
{
    int wrong = 0;
    mt_read(scratch, out, COUNT * sizeof(int32_t));
    for (int i = 0; i < COUNT; ++i) {
        wrong += element(0, round, i) != scratch[i];
    }
    CHECK_INT(0, wrong);
}

/* An operation of the program's own, freed at once with its datatype: staged from a GPU. */
static void own_operation(void)
{
    MPI_Op op;
    MPI_Datatype pairs;
    flight_t f = {.from = IN_WINDOW, .to = IN_WINDOW, .count = COUNT, .round = ++round_number};
    CHECK_OK(MPI_Op_create(take_left, 0, &op));
    CHECK_OK(MPI_Type_contiguous(1, MPI_INT32_T, &pairs));
    CHECK_OK(MPI_Type_commit(&pairs));
    fill_input(&f, input(IN_WINDOW, 0));
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Iallreduce(input(IN_WINDOW, 0), output(IN_WINDOW, 0), COUNT, pairs, op,
                            MPI_COMM_WORLD, &f.request));
    CHECK_OK(MPI_Op_free(&op));
    CHECK_OK(MPI_Type_free(&pairs));
    CHECK_OK(MPI_Wait(&f.request, MPI_STATUS_IGNORE));
    CHECK_PASSED(&before);
    check_first(output(IN_WINDOW, 0), f.round);
}

/* Arguments that do not belong together end the request with an error on all ranks. */
static void mismatch(void)
{
    MPI_Request request;
    if (!mt_needs_ranks(2)) {
        return;
    }
    int count = 0 == mt_rank ? COUNT : COUNT - 1;
    CHECK_OK(MPI_Iallreduce(input(IN_WINDOW, 0), output(IN_WINDOW, 0), count, MPI_INT32_T, MPI_SUM,
                            MPI_COMM_WORLD, &request));
    CHECK_CLASS(MPI_ERR_TRUNCATE, MPI_Wait(&request, MPI_STATUS_IGNORE));
    every_place();
}

/* A duplicate sees the window, too. */
static void on_a_duplicate(void)
{
    MPI_Comm duplicate;
    MPI_Request requests[2];
    int sum = 0;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &duplicate));
    flight_t f = {.from = IN_WINDOW, .to = IN_WINDOW, .count = COUNT, .round = ++round_number};
    mt_poison(output(IN_WINDOW, 0) - MT_GUARD, output_area());
    fill_input(&f, input(IN_WINDOW, 0));
    CHECK_OK(MPI_Iallreduce(input(IN_WINDOW, 0), output(IN_WINDOW, 0), COUNT, MPI_INT32_T, MPI_SUM,
                            duplicate, &requests[0]));
    CHECK_OK(MPI_Iallreduce(&mt_rank, &sum, 1, MPI_INT, MPI_SUM, duplicate, &requests[1]));
    CHECK_OK(MPI_Comm_free(&duplicate)); /* it lives until its calls are complete */
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK_INT(mt_size * (mt_size - 1) / 2, sum);
    check_output(&f, 0);
}

/* ---- all collectives at once ---- */

#define EACH 40 /* elements of a block */

typedef enum kind {
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    BCAST,
    EXSCAN,
    GATHER,
    GATHERV,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    SCATTER,
    SCATTERV,
    KINDS
} kind_t;

/* Equal blocks, described as those with counts per rank are: [size]. */
typedef struct blocks {
    int *counts, *elements, *bytes;
    MPI_Datatype *types;
} blocks_t;

static blocks_t make_blocks(void)
{
    size_t size = (size_t) mt_size;
    blocks_t b = {malloc(size * sizeof(int)), malloc(size * sizeof(int)),
                  malloc(size * sizeof(int)), malloc(size * sizeof(MPI_Datatype))};
    for (int r = 0; r < mt_size; ++r) {
        b.counts[r] = EACH;
        b.elements[r] = r * EACH;
        b.bytes[r] = r * EACH * (int) sizeof(int32_t);
        b.types[r] = MPI_INT32_T;
    }
    return b;
}

static void free_blocks(blocks_t *b)
{
    free(b->counts);
    free(b->elements);
    free(b->bytes);
    free(b->types);
}

static int start_move(kind_t kind, const void *in, void *out, const blocks_t *b, int root,
                      MPI_Request *request)
{
    const MPI_Datatype type = MPI_INT32_T;
    const MPI_Comm comm = MPI_COMM_WORLD;
    switch (kind) {
    case ALLGATHERV:
        return MPI_Iallgatherv(in, EACH, type, out, b->counts, b->elements, type, comm, request);
    case ALLTOALL:
        return MPI_Ialltoall(in, EACH, type, out, EACH, type, comm, request);
    case ALLTOALLV:
        return MPI_Ialltoallv(in, b->counts, b->elements, type, out, b->counts, b->elements, type,
                              comm, request);
    case ALLTOALLW:
        return MPI_Ialltoallw(in, b->counts, b->bytes, b->types, out, b->counts, b->bytes, b->types,
                              comm, request);
    case BCAST:
        return MPI_Ibcast(mt_rank == root ? (void *) in : out, EACH, type, root, comm, request);
    case GATHER:
        return MPI_Igather(in, EACH, type, out, EACH, type, root, comm, request);
    case GATHERV:
        return MPI_Igatherv(in, EACH, type, out, b->counts, b->elements, type, root, comm, request);
    case SCATTER:
        return MPI_Iscatter(in, EACH, type, out, EACH, type, root, comm, request);
    default:
        return MPI_Iscatterv(in, b->counts, b->elements, type, out, EACH, type, root, comm,
                             request);
    }
}

static int start_reduction(kind_t kind, const void *in, void *out, const blocks_t *b, int root,
                           MPI_Request *request)
{
    const MPI_Datatype type = MPI_INT32_T;
    const MPI_Comm comm = MPI_COMM_WORLD;
    switch (kind) {
    case EXSCAN:
        return MPI_Iexscan(in, out, EACH, type, MPI_SUM, comm, request);
    case REDUCE:
        return MPI_Ireduce(in, out, EACH, type, MPI_SUM, root, comm, request);
    case REDUCE_SCATTER:
        return MPI_Ireduce_scatter(in, out, b->counts, type, MPI_SUM, comm, request);
    case REDUCE_SCATTER_BLOCK:
        return MPI_Ireduce_scatter_block(in, out, EACH, type, MPI_SUM, comm, request);
    default:
        return MPI_Iscan(in, out, EACH, type, MPI_SUM, comm, request);
    }
}

static bool reduces(kind_t kind)
{
    return EXSCAN == kind || SCAN == kind || REDUCE == kind || REDUCE_SCATTER == kind ||
           REDUCE_SCATTER_BLOCK == kind;
}

/* Blocks that this rank's output has. */
static int output_blocks(kind_t kind, int root)
{
    bool to_root = GATHER == kind || GATHERV == kind || REDUCE == kind;
    if ((to_root && mt_rank != root) || (BCAST == kind && mt_rank == root) ||
        (EXSCAN == kind && 0 == mt_rank)) {
        return 0;
    }
    bool many = ALLGATHERV == kind || ALLTOALL == kind || ALLTOALLV == kind || ALLTOALLW == kind ||
                GATHER == kind || GATHERV == kind;
    return many ? mt_size : 1;
}

static int32_t sum_of(int ranks, uint64_t round, int i)
{
    int32_t sum = 0;
    for (int r = 0; r < ranks; ++r) {
        sum += element(r, round, i);
    }
    return sum;
}

/* Element i of block `block` of this rank's output; inputs are numbered through. */
static int32_t expected_of(kind_t kind, int root, uint64_t round, int block, int i)
{
    switch (kind) {
    case ALLGATHERV:
    case GATHER:
    case GATHERV:
        return element(block, round, i);
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        return element(block, round, mt_rank * EACH + i);
    case BCAST:
        return element(root, round, i);
    case SCATTER:
    case SCATTERV:
        return element(root, round, mt_rank * EACH + i);
    case EXSCAN:
        return sum_of(mt_rank, round, i);
    case SCAN:
        return sum_of(mt_rank + 1, round, i);
    case REDUCE:
        return sum_of(mt_size, round, i);
    default:
        return sum_of(mt_size, round, mt_rank * EACH + i);
    }
}

static void check_kind(kind_t kind, int root, uint64_t round, const char *out)
{
    int blocks = output_blocks(kind, root);
    size_t bytes = (size_t) (blocks * EACH) * sizeof(int32_t);
    int wrong = 0;
    mt_context("collective %d, root %d, at %p", (int) kind, root, (const void *) out);
    mt_read(scratch, out, bytes);
    for (int k = 0; k < blocks * EACH; ++k) {
        wrong += scratch[k] != expected_of(kind, root, round, k / EACH, k % EACH);
    }
    CHECK_INT(0, wrong);
    CHECK_POISON(out - MT_GUARD, MT_GUARD);
    CHECK_POISON(out + bytes, MT_GUARD);
}

static void all_at_once(place_t from, place_t to)
{
    MPI_Request requests[KINDS + 1];
    blocks_t blocks = make_blocks();
    uint64_t first = round_number + 1;
    int root = (int) (first % (uint64_t) mt_size);
    round_number += KINDS;
    for (int k = 0; k < KINDS; ++k) {
        flight_t f = {.count = mt_size * EACH, .round = first + (uint64_t) k};
        mt_poison(output(to, k) - MT_GUARD, output_area());
        fill_input(&f, input(from, k));
        CHECK_OK(reduces((kind_t) k) ? start_reduction((kind_t) k, input(from, k), output(to, k),
                                                       &blocks, root, &requests[k])
                                     : start_move((kind_t) k, input(from, k), output(to, k),
                                                  &blocks, root, &requests[k]));
    }
    CHECK_OK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[KINDS]));
    CHECK_OK(MPI_Waitall(KINDS + 1, requests, MPI_STATUSES_IGNORE));
    for (int k = 0; k < KINDS; ++k) {
        check_kind((kind_t) k, root, first + (uint64_t) k, output(to, k));
    }
    free_blocks(&blocks);
}

static void every_collective(void)
{
    for (int from = 0; from < PLACES; ++from) {
        for (int to = 0; to < PLACES; ++to) {
            if (has_place((place_t) from) && has_place((place_t) to)) {
                all_at_once((place_t) from, (place_t) to);
            }
        }
    }
}

static void set_up(void)
{
    memory[IN_WINDOW] = window.base;
    memory[IN_HOST] = mt_alloc(MT_HOST, total());
    memory[IN_DEVICE] = has_place(IN_DEVICE) ? mt_alloc(MT_DEVICE, total()) : NULL;
    scratch = malloc((size_t) mt_size * COUNT * sizeof(*scratch));
}

int main(int argc, char **argv)
{
#ifdef SCRATCH_BYTES
    mt_set_param("coll_symm_scratch_bytes", SCRATCH_BYTES);
#endif
    mt_init(&argc, &argv, "coll_nonblocking");
    if (mt_allocate(total(), 1, MPI_COMM_WORLD, &window)) {
        set_up();
        if (has_place(IN_DEVICE) && 1 < mt_size) {
            MT_RUN(mt_provide_scratch);
        }
        MT_RUN(every_place);
        MT_RUN(every_collective);
        MT_RUN(many_in_flight);
        MT_RUN(between_blocking_calls);
        MT_RUN(late_ranks);
        MT_RUN(own_operation);
        MT_RUN(mismatch);
        MT_RUN(on_a_duplicate);
        mt_free(MT_HOST, memory[IN_HOST]);
        if (NULL != memory[IN_DEVICE]) {
            mt_free(MT_DEVICE, memory[IN_DEVICE]);
        }
        free(scratch);
        mt_win_free(&window);
    }
    return mt_finish();
}
