/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Every collective that moves data, from one table: each is a set of blocks from one rank's input
 * to another's output, whose places and contents this program works out by itself. Inputs and
 * outputs are in windows, on GPUs and in host memory, alike on all ranks or each somewhere else;
 * what lies between the blocks must stay. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Whether there is scratch on GPUs: a variant of this program asks for more than there can be. */
#ifdef SCRATCH_FAILS
#    define HAS_SCRATCH false
#else
#    define HAS_SCRATCH true
#endif

#define RANKS_MAX 16
/* Most bytes that travel in a slot, host memory only: where all ranks wait, and where not all do.
 */
#define PAYLOAD_BYTES 1024
#define EAGER_BYTES   8192

#ifndef LARGEST
#    define LARGEST ((size_t) 100000) /* bytes of a block */
#endif

/* ---- the collectives ---- */

typedef enum shape {
    SAME,   /* one block for all */
    BLOCKS, /* equal blocks in rank order */
    ROWS,   /* blocks of any length anywhere */
} shape_t;

typedef enum rooted { ALL, FROM_ROOT, TO_ROOT } rooted_t;

typedef enum collective {
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    COLLECTIVES
} collective_t;

static const struct traits {
    const char *name;
    shape_t send, recv;
    rooted_t rooted;
    bool in_place; /* MPI has it */
} traits[COLLECTIVES] = {
    [ALLGATHER] = {"allgather", SAME, BLOCKS, ALL, true},
    [ALLGATHERV] = {"allgatherv", SAME, ROWS, ALL, true},
    [ALLTOALL] = {"alltoall", BLOCKS, BLOCKS, ALL, true},
    [ALLTOALLV] = {"alltoallv", ROWS, ROWS, ALL, true},
    [ALLTOALLW] = {"alltoallw", ROWS, ROWS, ALL, true},
    [BCAST] = {"bcast", SAME, SAME, FROM_ROOT, false},
    [GATHER] = {"gather", SAME, BLOCKS, TO_ROOT, true},
    [GATHERV] = {"gatherv", SAME, ROWS, TO_ROOT, true},
    [SCATTER] = {"scatter", BLOCKS, SAME, FROM_ROOT, true},
    [SCATTERV] = {"scatterv", ROWS, SAME, FROM_ROOT, true},
};

typedef enum place {
    PLACE_HOST,
    PLACE_PINNED,
    PLACE_DEVICE,
    PLACE_WINDOW,
    PLACE_SECOND_WINDOW,
    PLACE_HOST_WINDOW,
    PLACE_COUNT,
    PLACE_MIXED = PLACE_COUNT, /* each rank's somewhere else */
} place_t;

static const char *const place_names[] = {
    "host memory",    "pinned memory",           "device memory", "the window",
    "another window", "a window of host memory", "anywhere"};

/* Datatypes of TYPED_BYTES bytes of data each: where these are, in the datatype's order. */
typedef enum kind { KIND_PLAIN, KIND_VECTOR, KIND_BACKWARD, KIND_ODD, KINDS } kind_t;

#define TYPED_BYTES  12
#define SEGMENTS_MAX 3

static const struct kind_traits {
    size_t extent;
    int segments;
    int at[SEGMENTS_MAX], len[SEGMENTS_MAX];
} kinds[KINDS] = {
    [KIND_PLAIN] = {12, 1, {0}, {12}},
    [KIND_VECTOR] = {24, 3, {0, 8, 16}, {4, 4, 4}},
    [KIND_BACKWARD] = {16, 2, {8, 0}, {8, 4}},
    [KIND_ODD] = {17, 2, {3, 9}, {5, 7}},
};

static MPI_Datatype kind_types[KINDS];

typedef struct call {
    collective_t collective;
    size_t bytes; /* of a block, or about that */
    place_t from, to;
    int root;
    bool in_place;
    bool nonblocking;
    MPI_Comm comm;
    int rank, size; /* in comm */
    uint64_t round;
    MPI_Datatype type;
    size_t element; /* bytes of type, which divide bytes */
    bool typed;     /* each rank takes kinds for its input and output, instead of type */
    uint64_t kinds; /* which ones: differs from call to call */
} call_t;

/* Blocks of one side of a rank. */
typedef struct layout {
    int counts[RANKS_MAX]; /* elements */
    int disps[RANKS_MAX];
    size_t at[RANKS_MAX], len[RANKS_MAX]; /* bytes */
    size_t total;                         /* bytes that all of it spans */
} layout_t;

static mt_win_t windows[2];
static mt_win_t host_window;
static char *buffers[MT_MEMORY_COUNT];
static size_t area; /* bytes for an input or an output */
static uint64_t round_number;

/* What rank takes for its input or output; in place both are one. */
static kind_t kind_of(const call_t *c, int rank, bool input)
{
    bool one = c->in_place && ALL == traits[c->collective].rooted;
    uint64_t state = mt_seed(2 * rank + (input && !one ? 1 : 0), c->kinds);
    return c->typed ? (kind_t) (mt_random(&state) % KINDS) : KIND_PLAIN;
}

static MPI_Datatype type_of(const call_t *c, bool input)
{
    return c->typed ? kind_types[kind_of(c, c->rank, input)] : c->type;
}

static size_t extent_of(const call_t *c, bool input)
{
    return c->typed ? kinds[kind_of(c, c->rank, input)].extent : c->element;
}

static bool is_moved(const call_t *c, int from, int to)
{
    rooted_t rooted = traits[c->collective].rooted;
    if (BCAST == c->collective && from == to) {
        return false;
    }
    return ALL == rooted || (FROM_ROOT == rooted ? from : to) == c->root;
}

/* Elements from one rank to another; in place those back are as many. */
static size_t elements(const call_t *c, int from, int to)
{
    size_t all = c->bytes / c->element;
    const struct traits *t = &traits[c->collective];
    if (ROWS != t->send && ROWS != t->recv) {
        return all;
    }
    int low = from < to ? from : to, high = from < to ? to : from;
    int key = SAME == t->send   ? from
              : SAME == t->recv ? to
              : c->in_place     ? low * 5 + high
                                : from * 3 + to;
    return (key + (int) c->round) % 4 * all / 3; /* none at all, too */
}

static void lay_out(const call_t *c, bool input, layout_t *l)
{
    shape_t shape = input ? traits[c->collective].send : traits[c->collective].recv;
    size_t next = 0; /* element */
    memset(l, 0, sizeof(*l));
    for (int i = 0; i < c->size; ++i) {
        int p = ROWS == shape ? (i * 3 + 1) % c->size : i;
        p = ROWS == shape && 0 == c->size % 3 ? c->size - 1 - i : p;
        size_t count = input ? elements(c, c->rank, p) : elements(c, p, c->rank);
        size_t at = SAME == shape ? 0 : next;
        l->counts[p] = (int) count;
        l->disps[p] = (int) at;
        l->at[p] = at * extent_of(c, input);
        l->len[p] = count * c->element;
        next = at + count + (ROWS == shape ? (size_t) p % 3 : 0);
    }
    l->total = next * extent_of(c, input);
}

/* What is in a block; one that goes to all is the same for all. */
static uint64_t content(const call_t *c, int from, int to)
{
    int which = SAME == traits[c->collective].send ? 0 : to + 1;
    return mt_seed(from * (RANKS_MAX + 1) + which, c->round);
}

static bool has_input(const call_t *c)
{
    return FROM_ROOT != traits[c->collective].rooted || c->rank == c->root;
}

static bool has_output(const call_t *c)
{
    return TO_ROOT != traits[c->collective].rooted || c->rank == c->root;
}

/* Whether this rank passes MPI_IN_PLACE. */
static bool is_in_place(const call_t *c)
{
    return c->in_place && (ALL == traits[c->collective].rooted || c->rank == c->root);
}

/* ---- memory ---- */

static bool has_place(place_t place)
{
    return PLACE_WINDOW <= place || mt_has_memory((mt_memory_t) place);
}

static place_t pick(const call_t *c, bool input)
{
    place_t place = input ? c->from : c->to;
    uint64_t state = mt_seed(c->rank * 2 + (input ? 1 : 0), c->round);
    while (PLACE_MIXED == place || !has_place(place)) {
        place = (place_t) (mt_random(&state) % PLACE_COUNT);
    }
    return place;
}

static char *memory_in(place_t place, bool input)
{
    char *start;
    if (PLACE_HOST_WINDOW == place) {
        start = host_window.base;
    } else if (PLACE_WINDOW <= place) {
        start = windows[place - PLACE_WINDOW].base;
    } else {
        if (NULL == buffers[place]) {
            buffers[place] = mt_alloc((mt_memory_t) place, 2 * area);
        }
        start = buffers[place];
    }
    return start + (input ? area : 0) + MT_GUARD;
}

/* ---- one call ---- */

/* Puts a block's content where its datatype has data. */
static void put_block(const call_t *c, bool input, char *image, size_t len, uint64_t seed)
{
    const struct kind_traits *k = &kinds[kind_of(c, c->rank, input)];
    if (!c->typed) {
        mt_pattern(image, len, seed);
        return;
    }
    char *packed = mt_alloc(MT_HOST, len + 1);
    const char *next = packed;
    mt_pattern(packed, len, seed);
    for (size_t element = 0; element < len / TYPED_BYTES; ++element) {
        for (int i = 0; i < k->segments; ++i) {
            memcpy(image + element * k->extent + (size_t) k->at[i], next, (size_t) k->len[i]);
            next += k->len[i];
        }
    }
    mt_free(MT_HOST, packed);
}

static void put_blocks(const call_t *c, const layout_t *l, bool input, char *image)
{
    for (int p = 0; p < c->size; ++p) {
        int from = input ? c->rank : p, to = input ? p : c->rank;
        if (is_moved(c, from, to)) {
            put_block(c, input, image + l->at[p], l->len[p], content(c, from, to));
        }
    }
}

/* What the output holds before the call: inputs, in place. */
static void put_inputs_in_place(const call_t *c, const layout_t *l, char *image)
{
    bool swaps = ALL == traits[c->collective].rooted && SAME != traits[c->collective].send;
    for (int p = 0; p < c->size; ++p) {
        if (swaps || p == c->rank) {
            put_block(c, false, image + l->at[p], l->len[p], content(c, c->rank, p));
        }
    }
}

static int call_all_to_all(const call_t *c, const void *send, const layout_t *in, void *recv,
                           const layout_t *out)
{
    MPI_Datatype ts[RANKS_MAX], tr[RANKS_MAX];
    int in_bytes[RANKS_MAX], out_bytes[RANKS_MAX];
    for (int p = 0; p < c->size; ++p) {
        ts[p] = type_of(c, true);
        tr[p] = type_of(c, false);
        in_bytes[p] = (int) in->at[p];
        out_bytes[p] = (int) out->at[p];
    }
    return ALLTOALLV == c->collective ? MPI_Alltoallv(send, in->counts, in->disps, ts[0], recv,
                                                      out->counts, out->disps, tr[0], c->comm)
                                      : MPI_Alltoallw(send, in->counts, in_bytes, ts, recv,
                                                      out->counts, out_bytes, tr, c->comm);
}

static int make_call(const call_t *c, const void *send, const layout_t *in, void *recv,
                     const layout_t *out)
{
    int count = (int) (c->bytes / c->element);
    MPI_Datatype ts = type_of(c, true), tr = type_of(c, false);
    switch (c->collective) {
    case ALLGATHER:
        return MPI_Allgather(send, count, ts, recv, count, tr, c->comm);
    case ALLGATHERV:
        return MPI_Allgatherv(send, in->counts[0], ts, recv, out->counts, out->disps, tr, c->comm);
    case ALLTOALL:
        return MPI_Alltoall(send, count, ts, recv, count, tr, c->comm);
    case BCAST:
        return MPI_Bcast(c->rank == c->root ? (void *) send : recv, count,
                         c->rank == c->root ? ts : tr, c->root, c->comm);
    case GATHER:
        return MPI_Gather(send, count, ts, recv, count, tr, c->root, c->comm);
    case GATHERV:
        return MPI_Gatherv(send, in->counts[0], ts, recv, out->counts, out->disps, tr, c->root,
                           c->comm);
    case SCATTER:
        return MPI_Scatter(send, count, ts, recv, count, tr, c->root, c->comm);
    case SCATTERV:
        return MPI_Scatterv(send, in->counts, in->disps, ts, recv, out->counts[0], tr, c->root,
                            c->comm);
    default:
        return call_all_to_all(c, send, in, recv, out);
    }
}

static int start_all_to_all(const call_t *c, const void *send, const layout_t *in, void *recv,
                            const layout_t *out, MPI_Request *request)
{
    static MPI_Datatype ts[RANKS_MAX], tr[RANKS_MAX]; /* in use until the call is complete */
    static int in_bytes[RANKS_MAX], out_bytes[RANKS_MAX];
    for (int p = 0; p < c->size; ++p) {
        ts[p] = type_of(c, true);
        tr[p] = type_of(c, false);
        in_bytes[p] = (int) in->at[p];
        out_bytes[p] = (int) out->at[p];
    }
    return ALLTOALLV == c->collective
               ? MPI_Ialltoallv(send, in->counts, in->disps, ts[0], recv, out->counts, out->disps,
                                tr[0], c->comm, request)
               : MPI_Ialltoallw(send, in->counts, in_bytes, ts, recv, out->counts, out_bytes, tr,
                                c->comm, request);
}

static int start_call(const call_t *c, const void *send, const layout_t *in, void *recv,
                      const layout_t *out, MPI_Request *request)
{
    int count = (int) (c->bytes / c->element);
    MPI_Datatype ts = type_of(c, true), tr = type_of(c, false);
    switch (c->collective) {
    case ALLGATHER:
        return MPI_Iallgather(send, count, ts, recv, count, tr, c->comm, request);
    case ALLGATHERV:
        return MPI_Iallgatherv(send, in->counts[0], ts, recv, out->counts, out->disps, tr, c->comm,
                               request);
    case ALLTOALL:
        return MPI_Ialltoall(send, count, ts, recv, count, tr, c->comm, request);
    case BCAST:
        return MPI_Ibcast(c->rank == c->root ? (void *) send : recv, count,
                          c->rank == c->root ? ts : tr, c->root, c->comm, request);
    case GATHER:
        return MPI_Igather(send, count, ts, recv, count, tr, c->root, c->comm, request);
    case GATHERV:
        return MPI_Igatherv(send, in->counts[0], ts, recv, out->counts, out->disps, tr, c->root,
                            c->comm, request);
    case SCATTER:
        return MPI_Iscatter(send, count, ts, recv, count, tr, c->root, c->comm, request);
    case SCATTERV:
        return MPI_Iscatterv(send, in->counts, in->disps, ts, recv, out->counts[0], tr, c->root,
                             c->comm, request);
    default:
        return start_all_to_all(c, send, in, recv, out, request);
    }
}

static void make_kinds(void)
{
    for (int k = 0; k < KINDS; ++k) {
        MPI_Datatype made;
        MPI_Aint at[SEGMENTS_MAX];
        for (int i = 0; i < kinds[k].segments; ++i) {
            at[i] = kinds[k].at[i];
        }
        CHECK_OK(MPI_Type_create_hindexed(kinds[k].segments, kinds[k].len, at, MPI_BYTE, &made));
        CHECK_OK(MPI_Type_create_resized(made, 0, (MPI_Aint) kinds[k].extent, &kind_types[k]));
        CHECK_OK(MPI_Type_commit(&kind_types[k]));
        CHECK_OK(MPI_Type_free(&made));
    }
}

static void free_kinds(void)
{
    for (int k = 0; k < KINDS; ++k) {
        CHECK_OK(MPI_Type_free(&kind_types[k]));
    }
}

/* The same twice: blocking, or started and waited for. Datatypes are freed meanwhile. */
static int make_either(const call_t *c, const void *send, const layout_t *in, void *recv,
                       const layout_t *out)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (c->typed) {
        make_kinds();
    }
    int rc = c->nonblocking ? start_call(c, send, in, recv, out, &request)
                            : make_call(c, send, in, recv, out);
    if (c->typed) {
        free_kinds();
    }
    if (c->nonblocking && 0 == c->round % 3) {
        mt_sleep_ms(1);
    }
    return MPI_SUCCESS == rc ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

static bool check_image(const char *what, const void *at, const char *image, size_t len)
{
    char *got = mt_alloc(MT_HOST, len + 1);
    size_t i = 0;
    mt_read(got, at, len);
    while (i < len && got[i] == image[i]) {
        ++i;
    }
    bool right = CHECK_MSG(i == len, "%s: byte %zu of %zu is wrong", what, i, len);
    mt_free(MT_HOST, got);
    return right;
}

/* One side of a rank while a call is checked: its memory, guards on either side of the blocks, and
 * what must be in there. */
typedef struct side {
    layout_t layout;
    char *at;
    char *image;
    size_t len; /* of the image */
} side_t;

static void prepare_side(const call_t *c, bool input, side_t *s)
{
    lay_out(c, input, &s->layout);
    s->at = memory_in(pick(c, input), input);
    s->len = s->layout.total + 2 * MT_GUARD;
    s->image = mt_alloc(MT_HOST, s->len);
    mt_poison(s->image, s->len);
    if (input && has_input(c)) {
        put_blocks(c, &s->layout, true, s->image + MT_GUARD);
    } else if (!input && is_in_place(c) && FROM_ROOT != traits[c->collective].rooted) {
        put_inputs_in_place(c, &s->layout, s->image + MT_GUARD);
    }
    mt_write(s->at - MT_GUARD, s->image, s->len);
}

static void check_side(const call_t *c, bool input, side_t *s)
{
    bool written =
        !input && has_output(c) && !(is_in_place(c) && FROM_ROOT == traits[c->collective].rooted);
    if (written) {
        put_blocks(c, &s->layout, false, s->image + MT_GUARD);
    }
    (void) check_image(input ? "input" : "output", s->at - MT_GUARD, s->image, s->len);
    mt_free(MT_HOST, s->image);
}

static bool some_kind_is(const call_t *c, bool input, bool plain)
{
    bool some = false;
    for (int r = 0; r < c->size; ++r) {
        some = some || plain == (KIND_PLAIN == kind_of(c, r, input));
    }
    return some;
}

/* The same where there are gaps. Which way is known for sure where all ranks have both buffers, and
 * no block is empty. There is scratch on GPUs alone. */
static void check_typed_way(const call_t *c, const symm_stats_t *before)
{
    bool gpu = SYMM_KIND_CUDA_DEVICE == mt_kind;
    bool windows = PLACE_WINDOW == c->from && PLACE_WINDOW == c->to;
    bool devices = PLACE_DEVICE == c->from && PLACE_DEVICE == c->to;
    bool gaps_in = some_kind_is(c, true, false), gaps_out = some_kind_is(c, false, false);
    bool sure = windows && !c->in_place && ALL == traits[c->collective].rooted &&
                ROWS != traits[c->collective].recv && (gaps_in || gaps_out);
    bool slots = !gpu && PAYLOAD_BYTES >= (size_t) c->size * c->bytes * 2;
    if (2 > c->size || !(windows || devices)) {
        return;
    }
    if (sure && gaps_in && gaps_out && !(gpu && HAS_SCRATCH)) {
        CHECK_PASSED(before);
    } else if (sure) {
        CHECK_SERVED(before, !gaps_out ? "copy_push_typed"
                             : gaps_in ? "copy_scratch_typed"
                             : slots   ? "low_latency_push"
                                       : NULL);
    } else if (gpu && HAS_SCRATCH) {
        CHECK_SERVED(before, NULL);
    }
}

/* How a call is to be done where that is certain. */
static void check_way(const call_t *c, const symm_stats_t *before)
{
    bool windows_only = PLACE_WINDOW == c->from && PLACE_WINDOW == c->to;
    bool swaps = c->in_place && ALL == traits[c->collective].rooted &&
                 SAME != traits[c->collective].send &&
                 (SYMM_KIND_SYSTEM == mt_kind || !HAS_SCRATCH);
    if (64 > c->bytes) {
        return; /* Open MPI looks after calls without any data */
    }
    if (c->typed) {
        check_typed_way(c, before);
        return;
    }
    if (1 < c->size && windows_only && !swaps) {
        CHECK_SERVED(before, NULL);
    }
    if (HAS_SCRATCH && SYMM_KIND_CUDA_DEVICE == mt_kind && 1 < c->size && PLACE_DEVICE == c->from &&
        PLACE_DEVICE == c->to) {
        CHECK_SERVED(before, NULL);
    }
    CHECK_INT(before->collectives_mismatched, mt_stats().collectives_mismatched);
}

static void check_call(call_t *c)
{
    side_t in, out;
    c->round = ++round_number;
    int size;
    CHECK_OK(MPI_Type_size(c->type, &size));
    c->element = c->typed ? TYPED_BYTES : (size_t) size;
    c->kinds = c->round / 2;
    c->bytes = c->bytes / c->element * c->element;
    mt_context("%s of %zu B from %s to %s, root %d%s, round %llu", traits[c->collective].name,
               c->bytes, place_names[c->from], place_names[c->to], c->root,
               c->in_place ? ", in place" : "", (unsigned long long) c->round);
    prepare_side(c, true, &in);
    prepare_side(c, false, &out);
    const void *send = in.at;
    void *recv = out.at;
    if (is_in_place(c) && FROM_ROOT == traits[c->collective].rooted) {
        recv = MPI_IN_PLACE;
    } else if (is_in_place(c)) {
        send = MPI_IN_PLACE;
    }
    symm_stats_t before = mt_stats();
    CHECK_OK(make_either(c, has_input(c) ? send : NULL, &in.layout, has_output(c) ? recv : NULL,
                         &out.layout));
    check_way(c, &before);
    check_side(c, true, &in);
    check_side(c, false, &out);
}

static call_t call_on(MPI_Comm comm, collective_t collective, size_t bytes, place_t from,
                      place_t to)
{
    call_t c = {.collective = collective, .bytes = bytes, .from = from, .to = to, .comm = comm};
    CHECK_OK(MPI_Comm_rank(comm, &c.rank));
    CHECK_OK(MPI_Comm_size(comm, &c.size));
    c.type = MPI_BYTE;
    c.root = (int) (round_number % (uint64_t) c.size);
    return c;
}

/* In place and not. */
static void check_both_ways(MPI_Comm comm, collective_t collective, size_t bytes, place_t from,
                            place_t to)
{
    for (int in_place = 0; in_place <= (traits[collective].in_place ? 1 : 0); ++in_place) {
        call_t c = call_on(comm, collective, bytes, from, to);
        c.in_place = 0 != in_place;
        check_call(&c);
    }
}

/* ---- the tests ---- */

/* Bytes of a block that both ends copy. */
#define LARGE (((size_t) 1 << 20) + 77)

static bool has_large_blocks(void)
{
    return SYMM_KIND_SYSTEM == mt_kind && 4 >= mt_size;
}

static const size_t sizes[] = {0, 1, 7, 64, 333, 1024, 1025, 5000, 65539, LARGEST};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void every_size_in_the_window(void)
{
    for (int collective = 0; collective < COLLECTIVES; ++collective) {
        for (size_t i = 0; i < SIZES; ++i) {
            check_both_ways(MPI_COMM_WORLD, (collective_t) collective, sizes[i], PLACE_WINDOW,
                            PLACE_WINDOW);
        }
    }
}

/* Whether this broadcast's root leaves part of the work to the others. */
static bool is_spread(const call_t *c)
{
#ifdef SCRATCH_BYTES
    return SYMM_KIND_CUDA_DEVICE == mt_kind && 2 < mt_size && BCAST == c->collective &&
           2000 <= c->bytes;
#else
    (void) c;
    return false;
#endif
}

static void every_root(void)
{
    static const collective_t rooted[] = {BCAST, GATHER, GATHERV, SCATTER, SCATTERV};
    for (int i = 0; i < 5; ++i) {
        for (int root = 0; root < mt_size; ++root) {
            call_t c = call_on(MPI_COMM_WORLD, rooted[i], 3000, PLACE_WINDOW, PLACE_SECOND_WINDOW);
            c.root = root;
            symm_stats_t before = mt_stats();
            check_call(&c);
            if (is_spread(&c)) {
                CHECK_SERVED(&before, "copy_spread");
            }
            c.bytes = 50;
            check_call(&c);
        }
    }
}

/* Both ends copy blocks that are so large, on the host. */
static void large_blocks_with_a_root(void)
{
    static const collective_t rooted[] = {BCAST, GATHER, SCATTER};
    if (!has_large_blocks()) {
        mt_note("left out, on GPUs and with many ranks");
        return;
    }
    for (int i = 0; i < 3; ++i) {
        for (int root = 0; root < mt_size; ++root) {
            call_t c = call_on(MPI_COMM_WORLD, rooted[i], LARGE, PLACE_WINDOW, PLACE_SECOND_WINDOW);
            c.root = root;
            c.in_place = 1 == root % 2 && BCAST != rooted[i];
            symm_stats_t before = mt_stats();
            check_call(&c);
            CHECK(1 == mt_size || CHECK_SERVED(&before, "copy_shared"));
        }
    }
}

static void from_everywhere_to_everywhere(void)
{
    static const size_t few[] = {40, 20001};
    for (int collective = 0; collective < COLLECTIVES; ++collective) {
        for (int from = 0; from < PLACE_COUNT; ++from) {
            for (int to = 0; to < PLACE_COUNT; ++to) {
                for (int i = 0; i < 2 && has_place((place_t) from) && has_place((place_t) to);
                     ++i) {
                    check_both_ways(MPI_COMM_WORLD, (collective_t) collective, few[i],
                                    (place_t) from, (place_t) to);
                }
            }
        }
    }
}

static void each_rank_somewhere_else(void)
{
    static const size_t few[] = {5, 700, 9001, 40000};
    for (int collective = 0; collective < COLLECTIVES; ++collective) {
        for (int i = 0; i < 24; ++i) {
            check_both_ways(MPI_COMM_WORLD, (collective_t) collective, few[i % 4], PLACE_MIXED,
                            PLACE_MIXED);
        }
    }
}

static void duplicates_subsets_and_other_orders(void)
{
    MPI_Comm comms[3];
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, 0, &comms[1]));
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -mt_rank, &comms[2]));
    for (int i = 0; i < 3; ++i) {
        for (int collective = 0; collective < COLLECTIVES; ++collective) {
            check_both_ways(comms[i], (collective_t) collective, 200, PLACE_WINDOW, PLACE_WINDOW);
            check_both_ways(comms[i], (collective_t) collective, 20000, PLACE_SECOND_WINDOW,
                            PLACE_WINDOW);
            check_both_ways(comms[i], (collective_t) collective, 20000, PLACE_MIXED, PLACE_MIXED);
        }
        CHECK_OK(MPI_Comm_free(&comms[i]));
    }
}

static void every_type(void)
{
    MPI_Datatype triple;
    CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &triple));
    CHECK_OK(MPI_Type_commit(&triple));
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT, triple, MPI_C_DOUBLE_COMPLEX};
    for (int collective = 0; collective < COLLECTIVES; ++collective) {
        for (int t = 0; t < 5; ++t) {
            call_t c = call_on(MPI_COMM_WORLD, (collective_t) collective, 7000, PLACE_WINDOW,
                               PLACE_WINDOW);
            c.type = types[t];
            check_call(&c);
        }
    }
    CHECK_OK(MPI_Type_free(&triple));
}

/* Each rank's input and output of another datatype, with gaps, backwards, or neither. */
static void datatypes_with_gaps(void)
{
    static const size_t few[] = {96, 1200, 9996, 39996};
    static const struct {
        place_t from, to;
    } ways[] = {{PLACE_WINDOW, PLACE_WINDOW},
                {PLACE_DEVICE, PLACE_DEVICE},
                {PLACE_WINDOW, PLACE_SECOND_WINDOW},
                {PLACE_MIXED, PLACE_MIXED}};
    for (int collective = 0; collective < COLLECTIVES; ++collective) {
        for (int i = 0; i < 64; ++i) {
            call_t c = call_on(MPI_COMM_WORLD, (collective_t) collective, few[i % 4],
                               ways[i / 4 % 4].from, ways[i / 4 % 4].to);
            c.typed = true;
            c.in_place = traits[collective].in_place && 0 == i / 16 % 2;
            c.nonblocking = 32 <= i;
            if (PLACE_DEVICE != c.from || has_place(PLACE_DEVICE)) {
                check_call(&c);
            }
        }
    }
}

static void late_ranks(void)
{
    for (int collective = 0; collective < COLLECTIVES; ++collective) {
        for (int late = 0; late < mt_size; ++late) {
            call_t c = call_on(MPI_COMM_WORLD, (collective_t) collective, 6000, PLACE_WINDOW,
                               0 == late ? PLACE_DEVICE : PLACE_WINDOW);
            c.to = has_place(c.to) ? c.to : PLACE_HOST;
            if (late == mt_rank) {
                mt_sleep_ms(20);
            }
            check_call(&c);
        }
    }
}

static void one_after_another(void)
{
    for (int i = 0; i < 300; ++i) {
        call_t c = call_on(MPI_COMM_WORLD, (collective_t) (i % COLLECTIVES),
                           (size_t) (i * 37) % 4000, PLACE_WINDOW, PLACE_WINDOW);
        c.from = 0 == i % 7 ? PLACE_SECOND_WINDOW : c.from;
        check_call(&c);
    }
}

static void nonblocking(void)
{
    static const size_t few[] = {30, 3000, 50000};
    for (int collective = 0; collective < COLLECTIVES; ++collective) {
        for (int i = 0; i < 48; ++i) {
            call_t c = call_on(MPI_COMM_WORLD, (collective_t) collective, few[i % 3],
                               0 == i % 2 ? PLACE_WINDOW : PLACE_MIXED,
                               0 == i % 4 ? PLACE_WINDOW : PLACE_MIXED);
            c.nonblocking = true;
            c.in_place = traits[collective].in_place && 0 == i / 8 % 2;
            check_call(&c);
        }
        for (int i = 0; i < 6 && has_place(PLACE_DEVICE); ++i) {
            call_t c = call_on(MPI_COMM_WORLD, (collective_t) collective, few[i % 3], PLACE_DEVICE,
                               PLACE_DEVICE);
            c.nonblocking = true;
            c.in_place = traits[collective].in_place && 3 <= i;
            check_call(&c);
        }
    }
}

/* ---- what does not count ---- */

#define RUBBISH ((void *) 8)

/* Where the others' side is the root's alone, MPI looks at nothing of it. */
static int call_with_rubbish(collective_t collective, bool root, char *send, char *recv, int count)
{
    int counts[RANKS_MAX], disps[RANKS_MAX];
    for (int p = 0; p < mt_size; ++p) {
        counts[p] = count;
        disps[p] = p * count;
    }
    int *c = root ? counts : RUBBISH, *d = root ? disps : RUBBISH;
    int wrong = root ? count : -7;
    MPI_Datatype type = root ? MPI_BYTE : MPI_DATATYPE_NULL;
    int at = mt_size - 1;
    switch (collective) {
    case GATHER:
        return MPI_Gather(send, count, MPI_BYTE, root ? recv : RUBBISH, wrong, type, at,
                          MPI_COMM_WORLD);
    case GATHERV:
        return MPI_Gatherv(send, count, MPI_BYTE, root ? recv : RUBBISH, c, d, type, at,
                           MPI_COMM_WORLD);
    case SCATTER:
        return MPI_Scatter(root ? send : RUBBISH, wrong, type, recv, count, MPI_BYTE, at,
                           MPI_COMM_WORLD);
    default:
        return MPI_Scatterv(root ? send : RUBBISH, c, d, type, recv, count, MPI_BYTE, at,
                            MPI_COMM_WORLD);
    }
}

static void rubbish_where_only_the_root_counts(void)
{
    static const collective_t rooted[] = {GATHER, GATHERV, SCATTER, SCATTERV};
    char *send = memory_in(PLACE_WINDOW, true), *recv = memory_in(PLACE_WINDOW, false);
    bool root = mt_size - 1 == mt_rank;
    for (int i = 0; i < 8; ++i) {
        size_t bytes = 0 == i % 2 ? 40 : 9000;
        uint64_t round = ++round_number;
        bool gathers = 4 > i;
        mt_context("%s of %zu bytes", traits[rooted[i / 2]].name, bytes);
        for (int p = 0; p < mt_size; ++p) {
            mt_fill(send + (size_t) p * bytes, bytes, mt_seed(gathers ? mt_rank : p, round));
        }
        mt_poison(recv, bytes * (size_t) mt_size);
        mt_barrier();
        symm_stats_t before = mt_stats();
        CHECK_OK(call_with_rubbish(rooted[i / 2], root, send, recv, (int) bytes));
        CHECK_SERVED(&before, NULL);
        for (int p = 0; p < mt_size && gathers && root; ++p) {
            CHECK_PATTERN(recv + (size_t) p * bytes, bytes, mt_seed(p, round));
        }
        if (!gathers) {
            CHECK_PATTERN(recv, bytes, mt_seed(mt_rank, round));
        }
        mt_barrier();
    }
}

/* ---- counts that do not match ---- */

static void lengths_that_do_not_match(void)
{
    int counts[RANKS_MAX], disps[RANKS_MAX], short_counts[RANKS_MAX];
    if (!mt_needs_ranks(2)) {
        return;
    }
    char *recv = memory_in(PLACE_WINDOW, false), *send = memory_in(PLACE_WINDOW, true);
    for (int bytes = 20; bytes < 10000; bytes += 3000) {
        for (int p = 0; p < mt_size; ++p) {
            counts[p] = bytes;
            disps[p] = p * (bytes + 1);
            short_counts[p] = 1 == mt_rank && 0 == p ? bytes - 1 : bytes;
        }
        mt_context("alltoallv of %d bytes", bytes);
        int rc = MPI_Alltoallv(send, counts, disps, MPI_BYTE, recv, short_counts, disps, MPI_BYTE,
                               MPI_COMM_WORLD);
        CHECK_INT(MPI_ERR_TRUNCATE, mt_class(rc));
        if (EAGER_BYTES >= bytes) {
            continue; /* of what is smaller not all ranks know: coll_eager.c */
        }
        mt_context("gather of %d bytes", bytes);
        rc = MPI_Gather(send, 1 == mt_rank ? bytes : bytes + 1, MPI_BYTE, recv, bytes + 1, MPI_BYTE,
                        0, MPI_COMM_WORLD);
        CHECK_INT(MPI_ERR_TRUNCATE, mt_class(rc));
        mt_context("bcast of %d bytes", bytes);
        rc = MPI_Bcast(send, bytes, MPI_BYTE, 1 == mt_rank ? 1 : 0, MPI_COMM_WORLD);
        CHECK_INT(MPI_ERR_ROOT, mt_class(rc));
    }
    call_t c = call_on(MPI_COMM_WORLD, ALLTOALLV, 2000, PLACE_WINDOW, PLACE_WINDOW);
    check_call(&c);
}

/* Several under way, each with other counts; one of them with a length that does not match. */
static void lengths_of_nonblocking_calls(void)
{
    enum { CALLS = 12, WRONG = 5 };
    int counts[CALLS][RANKS_MAX], disps[CALLS][RANKS_MAX], expected[CALLS][RANKS_MAX];
    MPI_Request requests[CALLS];
    if (!mt_needs_ranks(2)) {
        return;
    }
    char *recv = memory_in(PLACE_WINDOW, false), *send = memory_in(PLACE_WINDOW, true);
    size_t each = area / CALLS;
    for (int k = 0; k < CALLS; ++k) {
        int bytes = 0 == k % 2 ? 20 + k : 3000 + k;
        for (int p = 0; p < mt_size; ++p) {
            counts[k][p] = bytes;
            disps[k][p] = p * bytes;
            expected[k][p] = WRONG == k && 1 == mt_rank && 0 == p ? bytes - 1 : bytes;
            mt_fill(send + (size_t) k * each + (size_t) (p * bytes), (size_t) bytes,
                    mt_seed(mt_rank * RANKS_MAX + p, (uint64_t) k));
        }
        CHECK_OK(MPI_Ialltoallv(send + (size_t) k * each, counts[k], disps[k], MPI_BYTE,
                                recv + (size_t) k * each, expected[k], disps[k], MPI_BYTE,
                                MPI_COMM_WORLD, &requests[k]));
    }
    for (int k = CALLS - 1; k >= 0; --k) {
        mt_context("nonblocking alltoallv %d", k);
        int rc = MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
        CHECK_INT(WRONG == k ? MPI_ERR_TRUNCATE : MPI_SUCCESS, mt_class(rc));
        for (int p = 0; p < mt_size && WRONG != k; ++p) {
            CHECK_PATTERN(recv + (size_t) k * each + (size_t) disps[k][p], (size_t) counts[k][p],
                          mt_seed(p * RANKS_MAX + mt_rank, (uint64_t) k));
        }
    }
}

/* ---- barrier ---- */

/* On the clock that all processes of a host share. */
static double seconds(void)
{
    struct timespec t;
    (void) clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

/* No rank goes on before the last one has come. */
static void barrier_waits_for_all(void)
{
    double came[RANKS_MAX];
    if (!mt_needs_ranks(2)) {
        return;
    }
    for (int late = 0; late < mt_size; ++late) {
        symm_stats_t before = mt_stats();
        if (late == mt_rank) {
            mt_sleep_ms(50);
        }
        double mine = seconds();
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        double went = seconds();
        CHECK_SERVED(&before, NULL);
        CHECK_OK(MPI_Allgather(&mine, 1, MPI_DOUBLE, came, 1, MPI_DOUBLE, MPI_COMM_WORLD));
        for (int r = 0; r < mt_size; ++r) {
            CHECK_MSG(came[r] <= went, "rank %d came %g s later", r, came[r] - went);
        }
        mt_barrier();
    }
}

static bool make_windows(void)
{
    MPI_Info info;
    area = ((has_large_blocks() ? LARGE : LARGEST) + 4096) * (size_t) mt_size * 2;
    if (!mt_allocate(2 * area, 1, MPI_COMM_WORLD, &windows[0]) ||
        !mt_allocate(2 * area, 1, MPI_COMM_WORLD, &windows[1])) {
        return false;
    }
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, SYMM_INFO_MEMORY_KIND, "system"));
    bool made = CHECK_OK(MPI_Win_allocate((MPI_Aint) (2 * area), 1, info, MPI_COMM_WORLD,
                                          &host_window.base, &host_window.win));
    CHECK_OK(MPI_Info_free(&info));
    return made;
}

int main(int argc, char **argv)
{
#ifdef SCRATCH_BYTES
    mt_set_param("coll_symm_scratch_bytes", SCRATCH_BYTES);
    mt_set_param("coll_symm_spread_min", "2000");
#endif
    mt_init(&argc, &argv, "coll_move");
    if (make_windows()) {
        if (HAS_SCRATCH && has_place(PLACE_DEVICE) && 1 < mt_size) {
            MT_RUN(mt_provide_scratch);
        }
        MT_RUN(every_size_in_the_window);
        MT_RUN(every_root);
        MT_RUN(large_blocks_with_a_root);
        MT_RUN(from_everywhere_to_everywhere);
        MT_RUN(each_rank_somewhere_else);
        MT_RUN(duplicates_subsets_and_other_orders);
        MT_RUN(every_type);
        MT_RUN(datatypes_with_gaps);
        MT_RUN(late_ranks);
        MT_RUN(one_after_another);
        MT_RUN(nonblocking);
        MT_RUN(rubbish_where_only_the_root_counts);
        MT_RUN(lengths_that_do_not_match);
        MT_RUN(lengths_of_nonblocking_calls);
        MT_RUN(barrier_waits_for_all);
        mt_win_free(&windows[0]);
        mt_win_free(&windows[1]);
        mt_win_free(&host_window);
    }
    for (int m = 0; m < MT_MEMORY_COUNT; ++m) {
        if (NULL != buffers[m]) {
            mt_free((mt_memory_t) m, buffers[m]);
        }
    }
    return mt_finish();
}
