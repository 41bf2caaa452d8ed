/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Persistent collectives on window memory and on memory outside any window, all of them: many
 * starts with other data each time, in different orders on different ranks, and what becomes of
 * requests whose window or communicator goes. */
#include "symm_config.h"

#include "mpi_test.h"

#include <mpi-ext.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4
#    define INIT(name) MPI_##name##_init
#elif OMPI_HAVE_MPI_EXT_PCOLLREQ
#    define INIT(name) MPIX_##name##_init
#else
#    define INIT(name) NULL /* compared with, and never called */
#endif

/* Integers of a block: as many as fit a slot on the host, and more. */
#define FEW  5
#define MANY 300

#define RANKS_MAX   16
#define AREA        ((size_t) MANY * RANKS_MAX * sizeof(int))
#define MANY_STARTS 100
#define FEW_STARTS  15
#define LATE_MS     30
#define AT_ONCE     40

static mt_win_t window;
static int each; /* integers of a block */
static int host[MANY * RANKS_MAX];
static int counts[RANKS_MAX], disps[RANKS_MAX], bytes[RANKS_MAX];
static MPI_Datatype types[RANKS_MAX];
static MPI_Op sum;
static int starts = FEW_STARTS; /* of a request */

static void set_each(int number)
{
    each = number;
    for (int r = 0; r < RANKS_MAX; ++r) {
        counts[r] = each;
        disps[r] = r * each;
        bytes[r] = r * each * (int) sizeof(int);
        types[r] = MPI_INT;
    }
}

static int number(int rank, int round, int i)
{
    return rank * 1000 + round * 17 + i;
}

/* ---- the collectives: what they take, what they give ---- */

typedef enum collective {
    ALLREDUCE,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    COLLECTIVES
} collective_t;

static const char *const names[COLLECTIVES] = {
    "allreduce", "reduce",    "reduce_scatter", "reduce_scatter_block",
    "scan",      "exscan",    "allgather",      "allgatherv",
    "alltoall",  "alltoallv", "alltoallw",      "barrier",
    "bcast",     "gather",    "gatherv",        "scatter",
    "scatterv"};

#if MPI_VERSION >= 4 || OMPI_HAVE_MPI_EXT_PCOLLREQ
static int init_reduction(collective_t k, const void *in, void *out, MPI_Comm comm,
                          MPI_Request *request_p)
{
    const MPI_Datatype type = MPI_INT;
    const MPI_Info info = MPI_INFO_NULL;
    switch (k) {
    case ALLREDUCE:
        return INIT(Allreduce)(in, out, each, type, sum, comm, info, request_p);
    case REDUCE:
        return INIT(Reduce)(in, out, each, type, sum, 0, comm, info, request_p);
    case REDUCE_SCATTER:
        return INIT(Reduce_scatter)(in, out, counts, type, sum, comm, info, request_p);
    case REDUCE_SCATTER_BLOCK:
        return INIT(Reduce_scatter_block)(in, out, each, type, sum, comm, info, request_p);
    case SCAN:
        return INIT(Scan)(in, out, each, type, sum, comm, info, request_p);
    default:
        return INIT(Exscan)(in, out, each, type, sum, comm, info, request_p);
    }
}

static int init_movement(collective_t k, const void *in, void *out, MPI_Comm comm,
                         MPI_Request *request_p)
{
    const MPI_Datatype type = MPI_INT;
    const MPI_Info info = MPI_INFO_NULL;
    switch (k) {
    case ALLGATHER:
        return INIT(Allgather)(in, each, type, out, each, type, comm, info, request_p);
    case ALLGATHERV:
        return INIT(Allgatherv)(in, each, type, out, counts, disps, type, comm, info, request_p);
    case ALLTOALL:
        return INIT(Alltoall)(in, each, type, out, each, type, comm, info, request_p);
    case ALLTOALLV:
        return INIT(Alltoallv)(in, counts, disps, type, out, counts, disps, type, comm, info,
                               request_p);
    case ALLTOALLW:
        return INIT(Alltoallw)(in, counts, bytes, types, out, counts, bytes, types, comm, info,
                               request_p);
    case BCAST:
        return INIT(Bcast)(0 == mt_rank ? (void *) (uintptr_t) in : out, each, type, 0, comm, info,
                           request_p);
    case GATHER:
        return INIT(Gather)(in, each, type, out, each, type, 0, comm, info, request_p);
    case GATHERV:
        return INIT(Gatherv)(in, each, type, out, counts, disps, type, 0, comm, info, request_p);
    case SCATTER:
        return INIT(Scatter)(in, each, type, out, each, type, 0, comm, info, request_p);
    case SCATTERV:
        return INIT(Scatterv)(in, counts, disps, type, out, each, type, 0, comm, info, request_p);
    default:
        return INIT(Barrier)(comm, info, request_p);
    }
}
#endif

static int init_on(collective_t k, const void *in, void *out, MPI_Comm comm, MPI_Request *request_p)
{
#if MPI_VERSION >= 4 || OMPI_HAVE_MPI_EXT_PCOLLREQ
    return ALLGATHER > k ? init_reduction(k, in, out, comm, request_p)
                         : init_movement(k, in, out, comm, request_p);
#else
    (void) k, (void) in, (void) out, (void) comm, (void) request_p;
    return MPI_ERR_UNSUPPORTED_OPERATION;
#endif
}

static int init(collective_t k, const void *in, void *out, MPI_Request *request_p)
{
    return init_on(k, in, out, MPI_COMM_WORLD, request_p);
}

static int sum_of(int ranks, int round, int i)
{
    int total = 0;
    for (int r = 0; r < ranks; ++r) {
        total += number(r, round, i);
    }
    return total;
}

/* How many elements this rank gets. */
static int results_of(collective_t k)
{
    switch (k) {
    case REDUCE:
        return 0 == mt_rank ? each : 0;
    case EXSCAN:
    case BCAST: /* the root's is its input */
        return 0 == mt_rank ? 0 : each;
    case GATHER:
    case GATHERV:
        return 0 == mt_rank ? each * mt_size : 0;
    case ALLGATHER:
    case ALLGATHERV:
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        return each * mt_size;
    case BARRIER:
        return 0;
    default:
        return each;
    }
}

static int expected(collective_t k, int round, int i)
{
    switch (k) {
    case ALLREDUCE:
    case REDUCE:
        return sum_of(mt_size, round, i);
    case REDUCE_SCATTER:
    case REDUCE_SCATTER_BLOCK:
        return sum_of(mt_size, round, mt_rank * each + i);
    case SCAN:
        return sum_of(mt_rank + 1, round, i);
    case EXSCAN:
        return sum_of(mt_rank, round, i);
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        return number(i / each, round, mt_rank * each + i % each);
    case BCAST:
        return number(0, round, i);
    case SCATTER:
    case SCATTERV:
        return number(0, round, mt_rank * each + i);
    default:
        return number(i / each, round, i % each);
    }
}

static void fill_input(void *in, int round)
{
    for (int i = 0; i < each * mt_size; ++i) {
        host[i] = number(mt_rank, round, i);
    }
    mt_write(in, host, (size_t) mt_size * (size_t) each * sizeof(int));
}

static void fill(void *in, void *out, int round)
{
    fill_input(in, round);
    mt_poison(out, AREA);
}

/* Checks the first len elements of a result. */
static void check_elements(collective_t k, const void *out, int round, int len)
{
    int wrong = 0;
    mt_read(host, out, (size_t) len * sizeof(int));
    while (wrong < len && expected(k, round, wrong) == host[wrong]) {
        ++wrong;
    }
    CHECK_MSG(wrong == len, "element %d of %d is wrong", wrong, len);
}

static void check(collective_t k, const void *out, int round)
{
    size_t len = (size_t) results_of(k) * sizeof(int);
    check_elements(k, out, round, results_of(k));
    CHECK_POISON((const char *) out + len, AREA - len);
}

/* One way or the other. */
static void complete(MPI_Request *request, int round)
{
    MPI_Status status;
    if (0 == round % 2) {
        CHECK_OK(MPI_Wait(request, &status));
        return;
    }
    for (int done = 0; 0 == done;) {
        CHECK_OK(MPI_Test(request, &done, &status));
    }
}

static void release(MPI_Request *request)
{
    CHECK_OK(MPI_Request_free(request));
    CHECK(MPI_REQUEST_NULL == *request);
}

static void start_again_and_again(collective_t k, char *in, char *out)
{
    MPI_Request request;
    mt_context("%s of %d", names[k], each);
    CHECK_OK(init(k, in, out, &request));
    for (int round = 0; round < starts; ++round) {
        mt_context("%s of %d, start %d", names[k], each, round);
        fill(in, out, round);
        CHECK_OK(MPI_Start(&request));
        complete(&request, round);
        CHECK(MPI_REQUEST_NULL != request);
        check(k, out, round);
    }
    release(&request);
}

/* ---- who served the starts ---- */

typedef enum way { REPLAYED, STAGED, PASSED } way_t;

/* Checks that all starts of the one request since before went that way. */
static void check_way(const symm_stats_t *before, way_t way)
{
    symm_stats_t now = mt_stats();
    CHECK_INT(REPLAYED == way ? starts : 0, now.persistent_replayed - before->persistent_replayed);
    CHECK_INT(STAGED == way ? starts : 0, now.persistent_staged - before->persistent_staged);
    CHECK_INT(REPLAYED == way ? starts : 0, now.collectives - before->collectives);
    CHECK_INT(REPLAYED == way ? 0 : 1, now.collectives_passed - before->collectives_passed);
}

static void all_collectives(char *in, char *out, way_t way)
{
    for (int k = 0; k < COLLECTIVES; ++k) {
        symm_stats_t before = mt_stats();
        start_again_and_again((collective_t) k, in, out);
        if (1 < mt_size) { /* otherwise it is the next component's where no window is used */
            check_way(&before, BARRIER == k ? REPLAYED : way);
        }
    }
}

static mt_memory_t outside(void)
{
    return SYMM_KIND_CUDA_DEVICE == mt_kind ? MT_DEVICE : MT_HOST;
}

/* ---- the tests ---- */

static void on_window_memory(void)
{
    starts = MANY_STARTS;
    set_each(FEW);
    all_collectives(window.base, window.base + AREA, REPLAYED);
    set_each(MANY);
    all_collectives(window.base, window.base + AREA, REPLAYED);
    starts = FEW_STARTS;
}

static void on_memory_in_no_window(void)
{
    char *memory = mt_alloc(outside(), 2 * AREA);
    set_each(FEW);
    all_collectives(memory, memory + AREA, REPLAYED);
    set_each(MANY);
    all_collectives(memory, memory + AREA, MT_HOST == outside() ? PASSED : REPLAYED);
    mt_free(outside(), memory);
}

/* Copies from memory that no graph takes. */
static void from_host_memory_to_windows(void)
{
    const collective_t movements[] = {ALLGATHER, ALLTOALLV, BCAST, SCATTER};
    char *memory = mt_alloc(MT_HOST, AREA);
    set_each(MANY);
    for (size_t i = 0; i < sizeof(movements) / sizeof(movements[0]); ++i) {
        symm_stats_t before = mt_stats();
        start_again_and_again(movements[i], memory, window.base);
        check_way(&before, REPLAYED);
    }
    mt_free(MT_HOST, memory);
}

/* With an input whose blocks are alike, wherever in the output it stands. */
static void start_in_place(collective_t k, char *out)
{
    MPI_Request request;
    int len = results_of(k);
    CHECK_OK(init(k, MPI_IN_PLACE, out, &request));
    for (int round = 0; round < starts; ++round) {
        mt_context("%s of %d in place, start %d", names[k], each, round);
        mt_poison(out, AREA);
        for (int i = 0; i < each * mt_size; ++i) {
            host[i] = number(mt_rank, round, i % each);
        }
        mt_write(out, host, (size_t) len * sizeof(int));
        CHECK_OK(MPI_Start(&request));
        complete(&request, round);
        check_elements(k, out, round, len);
    }
    release(&request);
}

static void in_place(void)
{
    const collective_t served[] = {ALLREDUCE, SCAN, ALLGATHER, ALLGATHERV};
    set_each(MANY);
    for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); ++i) {
        symm_stats_t before = mt_stats();
        start_in_place(served[i], window.base);
        check_way(&before, REPLAYED);
    }
}

/* In place these have input of each rank's for each other one: GPUs move it through scratch, and on
 * the host the next component gets the input as a copy, but for MPI_Alltoall. */
static void swaps_in_place(void)
{
    const collective_t swaps[] = {ALLTOALL, ALLTOALLV, ALLTOALLW};
    if (!mt_needs_ranks(2)) {
        return;
    }
    set_each(MANY);
    for (size_t i = 0; i < sizeof(swaps) / sizeof(swaps[0]); ++i) {
        MPI_Request request;
        symm_stats_t before = mt_stats();
        CHECK_OK(init(swaps[i], MPI_IN_PLACE, window.base, &request));
        for (int round = 0; round < starts; ++round) {
            mt_context("%s in place, start %d", names[swaps[i]], round);
            fill_input(window.base, round);
            CHECK_OK(MPI_Start(&request));
            complete(&request, round);
            check_elements(swaps[i], window.base, round, each * mt_size);
        }
        release(&request);
        way_t on_host = ALLTOALL == swaps[i] ? PASSED : STAGED;
        check_way(&before, SYMM_KIND_CUDA_DEVICE == mt_kind ? REPLAYED : on_host);
    }
}

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *len; ++i) {
        ((int *) inout)[i] += ((int *) in)[i];
    }
}

/* No plan knows them. */
static void operations_of_the_program(void)
{
    symm_stats_t before = mt_stats();
    set_each(MANY);
    CHECK_OK(MPI_Op_create(add, 1, &sum));
    start_again_and_again(ALLREDUCE, window.base, window.base + AREA);
    CHECK_OK(MPI_Op_free(&sum));
    sum = MPI_SUM;
    check_way(&before, SYMM_KIND_CUDA_DEVICE == mt_kind ? STAGED : PASSED);
}

/* ---- several at once ---- */

/* Buffers of collective k when all are under way: every third on memory in no window. */
static char *input_of(int k, char *memory)
{
    return (2 == k % 3 ? memory : window.base) + (size_t) (2 * k) * AREA;
}

static char *output_of(int k, char *memory)
{
    return input_of(k, memory) + AREA;
}

/* Starts all, beginning with another one on each rank, forwards or backwards; with calls of other
 * kinds in between, which have an order of their own. */
static void start_all(MPI_Request *requests, int round)
{
    int ranks = 0, one = 1;
    MPI_Request other;
    int from = (5 * mt_rank + round) % COLLECTIVES;
    int step = 0 == (mt_rank + round) % 2 ? 1 : COLLECTIVES - 1;
    CHECK_OK(MPI_Iallreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &other));
    for (int i = 0; i < COLLECTIVES; ++i) {
        CHECK_OK(MPI_Start(&requests[(from + i * step) % COLLECTIVES]));
        if (COLLECTIVES / 2 == i) {
            CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        }
    }
    CHECK_OK(MPI_Wait(&other, MPI_STATUS_IGNORE));
    CHECK_INT(mt_size, ranks);
}

static void complete_all(MPI_Request *requests, int round)
{
    int index;
    if (0 == round % 3) {
        CHECK_OK(MPI_Waitall(COLLECTIVES, requests, MPI_STATUSES_IGNORE));
        return;
    }
    for (int i = 0; i < COLLECTIVES; ++i) {
        CHECK_OK(MPI_Waitany(COLLECTIVES, requests, &index, MPI_STATUS_IGNORE));
        CHECK(0 <= index && index < COLLECTIVES);
    }
    CHECK_OK(MPI_Waitany(COLLECTIVES, requests, &index, MPI_STATUS_IGNORE));
    CHECK_INT(MPI_UNDEFINED, index); /* each was complete once */
}

static void in_any_order(void)
{
    MPI_Request requests[COLLECTIVES];
    char *memory = mt_alloc(outside(), 2 * COLLECTIVES * AREA);
    set_each(MANY);
    for (int k = 0; k < COLLECTIVES; ++k) {
        CHECK_OK(init((collective_t) k, input_of(k, memory), output_of(k, memory), &requests[k]));
    }
    for (int round = 0; round < 2 * starts; ++round) {
        mt_context("round %d", round);
        for (int k = 0; k < COLLECTIVES; ++k) {
            fill(input_of(k, memory), output_of(k, memory), round + k);
        }
        start_all(requests, round);
        complete_all(requests, round);
        for (int k = 0; k < COLLECTIVES; ++k) {
            mt_context("%s, round %d", names[k], round);
            check((collective_t) k, output_of(k, memory), round + k);
        }
    }
    for (int k = 0; k < COLLECTIVES; ++k) {
        release(&requests[k]);
    }
    mt_free(outside(), memory);
}

static void start_at_one_go(void)
{
    MPI_Request requests[AT_ONCE];
    set_each(FEW);
    for (int i = 0; i < AT_ONCE; ++i) {
        char *in = window.base + (size_t) (2 * (i % COLLECTIVES)) * AREA;
        CHECK_OK(init(ALLREDUCE, in, in + AREA + (size_t) (i / COLLECTIVES * FEW) * sizeof(int),
                      &requests[i]));
    }
    for (int round = 0; round < starts; ++round) {
        mt_context("round %d", round);
        for (int i = 0; i < COLLECTIVES; ++i) {
            fill(window.base + (size_t) (2 * i) * AREA, window.base + (size_t) (2 * i + 1) * AREA,
                 round + i);
        }
        CHECK_OK(MPI_Startall(AT_ONCE, requests));
        CHECK_OK(MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < AT_ONCE; ++i) {
            check_elements(ALLREDUCE,
                           window.base + (size_t) (2 * (i % COLLECTIVES) + 1) * AREA +
                               (size_t) (i / COLLECTIVES * FEW) * sizeof(int),
                           round + i % COLLECTIVES, FEW);
        }
    }
    for (int i = 0; i < AT_ONCE; ++i) {
        release(&requests[i]);
    }
}

/* Nothing is left of them. */
static void startall(void)
{
    start_at_one_go(); /* what is made once is made before anything is counted */
    mt_resources_t before = mt_resources();
    start_at_one_go();
    CHECK_RESOURCES(&before, 3 * AT_ONCE); /* the stacks of fake streams may stay */
}

/* Nothing may come to a rank before its start, and nothing of it be read. */
static void late_ranks(void)
{
    set_each(MANY);
    for (int k = 0; k < COLLECTIVES; ++k) {
        MPI_Request request;
        char *out = window.base + AREA;
        CHECK_OK(init((collective_t) k, window.base, out, &request));
        for (int round = 0; round < mt_size; ++round) {
            mt_context("%s, rank %d is late", names[k], round);
            fill(window.base, out, round);
            if (mt_rank == round) {
                fill_input(window.base, -1);
                mt_sleep_ms(LATE_MS);
                CHECK_POISON(out, AREA);
                fill_input(window.base, round);
            }
            CHECK_OK(MPI_Start(&request));
            CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            check((collective_t) k, out, round);
        }
        release(&request);
    }
}

/* ---- the ends of things ---- */

static void never_started(void)
{
    MPI_Request request;
    set_each(MANY);
    CHECK_OK(init(ALLREDUCE, window.base, window.base + AREA, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); /* inactive: at once */
    release(&request);
}

static void start_and_check(MPI_Request *request, char *in, int round)
{
    fill(in, in + AREA, round);
    CHECK_OK(MPI_Start(request));
    CHECK_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    check(ALLREDUCE, in + AREA, round);
}

/* Open MPI frees a request that ends in an error. */
static void start_in_vain(MPI_Request *request)
{
    CHECK_OK(MPI_Start(request));
    CHECK_CLASS(MPI_ERR_BUFFER, MPI_Wait(request, MPI_STATUS_IGNORE));
    if (MPI_REQUEST_NULL != *request) {
        release(request);
    }
}

static void started_after_the_window_is_gone(void)
{
    mt_win_t other;
    MPI_Request gone, unused, staying;
    set_each(MANY);
    if (!mt_allocate(2 * AREA, 1, MPI_COMM_WORLD, &other)) {
        return;
    }
    CHECK_OK(init(ALLREDUCE, other.base, other.base + AREA, &gone));
    CHECK_OK(init(ALLREDUCE, other.base, other.base + AREA, &unused));
    CHECK_OK(init(ALLREDUCE, window.base, window.base + AREA, &staying));
    start_and_check(&gone, other.base, 1);
    mt_win_free(&other);
    start_in_vain(&gone);
    start_and_check(&staying, window.base, 2);
    release(&unused);
    release(&staying);
}

/* Plans that read a slot, and those that the next component carries out, look at windows, too. */
static void started_after_any_window_is_gone(void)
{
    set_each(FEW);
    for (int k = 0; k < COLLECTIVES; ++k) {
        mt_win_t other;
        MPI_Request gone;
        if (BARRIER == k || !mt_allocate(AREA, 1, MPI_COMM_WORLD, &other)) {
            continue;
        }
        mt_context("%s from a window that is gone", names[k]);
        CHECK_OK(init((collective_t) k, other.base, window.base, &gone));
        mt_win_free(&other);
        start_in_vain(&gone);
    }
}

static void freed_after_its_communicator(void)
{
    MPI_Comm comm;
    MPI_Request request, staged;
    char *memory = mt_alloc(outside(), 2 * AREA);
    set_each(MANY);
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_OK(init_on(ALLREDUCE, window.base, window.base + AREA, comm, &request));
    CHECK_OK(init_on(ALLREDUCE, memory, memory + AREA, comm, &staged));
    start_and_check(&request, window.base, 1);
    start_and_check(&staged, memory, 2);
    if (MT_HOST == outside()) {
        release(&staged); /* the next component's own */
    }
    CHECK_OK(MPI_Comm_free(&comm));
    release(&request);
    if (MT_HOST != outside()) {
        release(&staged);
    }
    mt_free(outside(), memory);
}

/* The first call of a communicator on whose last rank coll_symm_enable is false. */
static void ruled_out_on_a_rank(void)
{
    MPI_Comm uneven;
    MPI_Info info;
    MPI_Request request;
    int sum = 0, mine = mt_rank + 1;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "coll_symm_enable", mt_size - 1 == mt_rank ? "false" : "true"));
    CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &uneven));
    CHECK_OK(INIT(Allreduce)(&mine, &sum, 1, MPI_INT, MPI_SUM, uneven, MPI_INFO_NULL, &request));
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(mt_size * (mt_size + 1) / 2, sum);
    CHECK_OK(MPI_Request_free(&request));
    CHECK_OK(MPI_Comm_free(&uneven));
    CHECK_OK(MPI_Info_free(&info));
}

static int init_padded(const void *in, void *out, int count, MPI_Datatype padded,
                       MPI_Request *request_p)
{
#if MPI_VERSION >= 4 || OMPI_HAVE_MPI_EXT_PCOLLREQ
    return INIT(Allgather)(in, count, MPI_INT, out, count, padded, MPI_COMM_WORLD, MPI_INFO_NULL,
                           request_p);
#else
    (void) in, (void) out, (void) count, (void) padded, (void) request_p;
    return MPI_ERR_UNSUPPORTED_OPERATION;
#endif
}

/* Into every second number, at each start. */
static void datatypes_with_gaps(void)
{
    enum { COUNT = 40 };
    static int sent[COUNT], got[2 * COUNT * RANKS_MAX];
    MPI_Datatype padded;
    MPI_Request request;
    char *in = window.base, *out = window.base + AREA;
    CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint) sizeof(int), &padded));
    CHECK_OK(MPI_Type_commit(&padded));
    CHECK_OK(init_padded(in, out, COUNT, padded, &request));
    for (int round = 0; round < 4; ++round) {
        int wrong = 0;
        memset(got, -1, sizeof(got));
        mt_write(out, got, 2 * COUNT * (size_t) mt_size * sizeof(int));
        for (int i = 0; i < COUNT; ++i) {
            sent[i] = number(mt_rank, round, i);
        }
        mt_write(in, sent, sizeof(sent));
        CHECK_OK(MPI_Start(&request));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        mt_read(got, out, 2 * COUNT * (size_t) mt_size * sizeof(int));
        for (int k = 0; k < COUNT * mt_size; ++k) {
            wrong += number(k / COUNT, round, k % COUNT) != got[2 * k] || -1 != got[2 * k + 1];
        }
        CHECK_INT(0, wrong);
    }
    release(&request);
    CHECK_OK(MPI_Type_free(&padded));
}

static void calls_that_do_not_match(void)
{
    MPI_Request request;
    if (!mt_needs_ranks(2)) {
        return;
    }
    set_each(0 == mt_rank ? MANY : MANY - 1);
    CHECK_CLASS(MPI_ERR_TRUNCATE, init(ALLREDUCE, window.base, window.base + AREA, &request));
    set_each(MANY);
    counts[1] = 0 == mt_rank ? MANY - 1 : MANY;
    /* Rank 0 sends less than rank 1 expects; all learn of it. */
    CHECK_CLASS(MPI_ERR_TRUNCATE, init(ALLTOALLV, window.base, window.base + AREA, &request));
    set_each(MANY);
    CHECK_OK(init(ALLREDUCE, window.base, window.base + AREA, &request));
    start_and_check(&request, window.base, 3);
    release(&request);
}

static MPI_Request early;
static char *early_memory;

static void made_before_the_window(void)
{
    set_each(MANY);
    for (int round = 0; round < starts; ++round) {
        start_and_check(&early, early_memory, round);
    }
    release(&early);
}

int main(int argc, char **argv)
{
#ifdef PERSISTENT_ALGORITHM
    mt_set_param("coll_symm_algorithm", PERSISTENT_ALGORITHM);
    mt_set_param("coll_symm_scratch_bytes", SCRATCH_BYTES);
    mt_set_param("coll_symm_spread_min", "500");
#endif
    mt_init(&argc, &argv, "coll_persistent");
    sum = MPI_SUM;
    set_each(MANY);
    early_memory = calloc(2, AREA);
    if (MPI_SUCCESS != init(ALLREDUCE, early_memory, early_memory + AREA, &early)) {
        mt_skip("this MPI has no persistent collectives");
    }
    if (mt_allocate(2 * COLLECTIVES * AREA, 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(on_window_memory);
        MT_RUN(on_memory_in_no_window);
        MT_RUN(from_host_memory_to_windows);
        MT_RUN(in_place);
        MT_RUN(swaps_in_place);
        MT_RUN(operations_of_the_program);
        MT_RUN(in_any_order);
        MT_RUN(startall);
        MT_RUN(late_ranks);
        MT_RUN(never_started);
        MT_RUN(started_after_the_window_is_gone);
        MT_RUN(started_after_any_window_is_gone);
        MT_RUN(freed_after_its_communicator);
        MT_RUN(ruled_out_on_a_rank);
        MT_RUN(datatypes_with_gaps);
        MT_RUN(calls_that_do_not_match);
        MT_RUN(made_before_the_window);
        mt_win_free(&window);
    }
    free(early_memory);
    return mt_finish();
}
