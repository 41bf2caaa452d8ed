/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Persistent collectives on window memory and on memory outside any window: many starts with other
 * data each time, several at once, requests that are never started, and those made before there was
 * a window. */
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

#define EACH      300 /* integers of a block; on the host more than fits a slot */
#define RANKS_MAX 16
#define AREA      ((size_t) EACH * RANKS_MAX * sizeof(int))
#define STARTS    6

static mt_win_t window;
static int host[EACH * RANKS_MAX];
static int counts[RANKS_MAX], disps[RANKS_MAX];

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
    BCAST,
    GATHER,
    SCATTER,
    COLLECTIVES
} collective_t;

static const char *const names[COLLECTIVES] = {
    "allreduce", "reduce",    "reduce_scatter", "reduce_scatter_block",
    "scan",      "exscan",    "allgather",      "allgatherv",
    "alltoall",  "alltoallv", "bcast",          "gather",
    "scatter"};

static int init(collective_t k, void *in, void *out, MPI_Request *request_p)
{
#if MPI_VERSION >= 4 || OMPI_HAVE_MPI_EXT_PCOLLREQ
    const MPI_Datatype type = MPI_INT;
    const MPI_Comm comm = MPI_COMM_WORLD;
    const MPI_Info info = MPI_INFO_NULL;
    switch (k) {
    case ALLREDUCE:
        return INIT(Allreduce)(in, out, EACH, type, MPI_SUM, comm, info, request_p);
    case REDUCE:
        return INIT(Reduce)(in, out, EACH, type, MPI_SUM, 0, comm, info, request_p);
    case REDUCE_SCATTER:
        return INIT(Reduce_scatter)(in, out, counts, type, MPI_SUM, comm, info, request_p);
    case REDUCE_SCATTER_BLOCK:
        return INIT(Reduce_scatter_block)(in, out, EACH, type, MPI_SUM, comm, info, request_p);
    case SCAN:
        return INIT(Scan)(in, out, EACH, type, MPI_SUM, comm, info, request_p);
    case EXSCAN:
        return INIT(Exscan)(in, out, EACH, type, MPI_SUM, comm, info, request_p);
    case ALLGATHER:
        return INIT(Allgather)(in, EACH, type, out, EACH, type, comm, info, request_p);
    case ALLGATHERV:
        return INIT(Allgatherv)(in, EACH, type, out, counts, disps, type, comm, info, request_p);
    case ALLTOALL:
        return INIT(Alltoall)(in, EACH, type, out, EACH, type, comm, info, request_p);
    case ALLTOALLV:
        return INIT(Alltoallv)(in, counts, disps, type, out, counts, disps, type, comm, info,
                               request_p);
    case BCAST:
        return INIT(Bcast)(0 == mt_rank ? in : out, EACH, type, 0, comm, info, request_p);
    case GATHER:
        return INIT(Gather)(in, EACH, type, out, EACH, type, 0, comm, info, request_p);
    default:
        return INIT(Scatter)(in, EACH, type, out, EACH, type, 0, comm, info, request_p);
    }
#else
    (void) k, (void) in, (void) out, (void) request_p;
    return MPI_ERR_UNSUPPORTED_OPERATION;
#endif
}

static int sum_of(int ranks, int round, int i)
{
    int sum = 0;
    for (int r = 0; r < ranks; ++r) {
        sum += number(r, round, i);
    }
    return sum;
}

/* How many elements this rank gets. */
static int results_of(collective_t k)
{
    switch (k) {
    case REDUCE:
        return 0 == mt_rank ? EACH : 0;
    case EXSCAN:
    case BCAST: /* the root's is its input */
        return 0 == mt_rank ? 0 : EACH;
    case GATHER:
        return 0 == mt_rank ? EACH * mt_size : 0;
    case ALLGATHER:
    case ALLGATHERV:
    case ALLTOALL:
    case ALLTOALLV:
        return EACH * mt_size;
    default:
        return EACH;
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
        return sum_of(mt_size, round, mt_rank * EACH + i);
    case SCAN:
        return sum_of(mt_rank + 1, round, i);
    case EXSCAN:
        return sum_of(mt_rank, round, i);
    case ALLTOALL:
    case ALLTOALLV:
        return number(i / EACH, round, mt_rank * EACH + i % EACH);
    case BCAST:
        return number(0, round, i);
    case SCATTER:
        return number(0, round, mt_rank * EACH + i);
    default:
        return number(i / EACH, round, i % EACH);
    }
}

static void fill(void *in, void *out, int round)
{
    for (int i = 0; i < EACH * mt_size; ++i) {
        host[i] = number(mt_rank, round, i);
    }
    mt_write(in, host, (size_t) mt_size * EACH * sizeof(int));
    mt_poison(out, AREA);
}

static void check(collective_t k, const void *out, int round)
{
    int count = results_of(k);
    int wrong = 0;
    mt_read(host, out, (size_t) count * sizeof(int));
    while (wrong < count && expected(k, round, wrong) == host[wrong]) {
        ++wrong;
    }
    CHECK_MSG(wrong == count, "element %d of %d is wrong", wrong, count);
    CHECK_POISON((const char *) out + (size_t) count * sizeof(int),
                 AREA - (size_t) count * sizeof(int));
}

static void start_again_and_again(collective_t k, char *in, char *out)
{
    MPI_Request request;
    mt_context("%s", names[k]);
    CHECK_OK(init(k, in, out, &request));
    for (int round = 0; round < STARTS; ++round) {
        MPI_Status status;
        mt_context("%s, start %d", names[k], round);
        fill(in, out, round);
        CHECK_OK(MPI_Start(&request));
        if (0 == round % 2) {
            CHECK_OK(MPI_Wait(&request, &status));
        } else {
            for (int done = 0; 0 == done;) {
                CHECK_OK(MPI_Test(&request, &done, &status));
            }
        }
        CHECK(MPI_REQUEST_NULL != request);
        check(k, out, round);
    }
    CHECK_OK(MPI_Request_free(&request));
    CHECK(MPI_REQUEST_NULL == request);
}

/* ---- the tests ---- */

static void on_window_memory(void)
{
    symm_stats_t before = mt_stats();
    for (int k = 0; k < COLLECTIVES; ++k) {
        start_again_and_again((collective_t) k, window.base, window.base + AREA);
    }
    CHECK_INT(before.collectives + COLLECTIVES * STARTS, mt_stats().collectives);
}

static void on_memory_in_no_window(void)
{
    mt_memory_t kind = SYMM_KIND_CUDA_DEVICE == mt_kind ? MT_DEVICE : MT_HOST;
    char *memory = mt_alloc(kind, 2 * AREA);
    for (int k = 0; k < COLLECTIVES; ++k) {
        start_again_and_again((collective_t) k, memory, memory + AREA);
    }
    mt_free(kind, memory);
}

static void several_at_once(void)
{
    MPI_Request requests[3];
    char *in = window.base;
    for (int i = 0; i < 3; ++i) {
        CHECK_OK(init(ALLREDUCE, in, in + (size_t) (1 + i) * AREA, &requests[i]));
    }
    for (int round = 0; round < STARTS; ++round) {
        mt_context("round %d", round);
        for (int i = 2; i >= 0; --i) {
            fill(in, in + (size_t) (1 + i) * AREA, round);
        }
        CHECK_OK(MPI_Startall(3, requests));
        CHECK_OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 3; ++i) {
            check(ALLREDUCE, in + (size_t) (1 + i) * AREA, round);
        }
    }
    for (int i = 0; i < 3; ++i) {
        CHECK_OK(MPI_Request_free(&requests[i]));
    }
}

static void never_started(void)
{
    MPI_Request request;
    CHECK_OK(init(ALLREDUCE, window.base, window.base + AREA, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE)); /* inactive: at once */
    CHECK_OK(MPI_Request_free(&request));
}

static MPI_Request early;
static char *early_memory;

static void made_before_the_window(void)
{
    for (int round = 0; round < STARTS; ++round) {
        fill(early_memory, early_memory + AREA, round);
        CHECK_OK(MPI_Start(&early));
        CHECK_OK(MPI_Wait(&early, MPI_STATUS_IGNORE));
        check(ALLREDUCE, early_memory + AREA, round);
    }
    CHECK_OK(MPI_Request_free(&early));
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "coll_persistent");
    for (int r = 0; r < RANKS_MAX; ++r) {
        counts[r] = EACH;
        disps[r] = r * EACH;
    }
    early_memory = calloc(2, AREA);
    if (MPI_SUCCESS != init(ALLREDUCE, early_memory, early_memory + AREA, &early)) {
        mt_skip("this MPI has no persistent collectives");
    }
    if (mt_allocate(4 * AREA, 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(on_window_memory);
        MT_RUN(on_memory_in_no_window);
        MT_RUN(several_at_once);
        MT_RUN(never_started);
        MT_RUN(made_before_the_window);
        mt_win_free(&window);
    }
    free(early_memory);
    return mt_finish();
}
