/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Neighbourhood collectives, which no plan of ours serves, on memory of every kind: on GPUs they
 * must not reach a component that knows host memory only. A ring with one neighbour on either side,
 * made as a Cartesian grid and as a graph, in which the two directions differ. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdlib.h>

#define BYTES 700

typedef enum kind { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, KINDS } kind_t;

typedef struct call {
    kind_t kind;
    bool nonblocking;
    MPI_Comm comm;
    int in, out;    /* degrees */
    int sources[2]; /* ranks that are heard from */
    char *send, *recv;
    MPI_Request request;
} call_t;

static mt_win_t window;
static char *device;
static uint64_t round_number;

/* Where the block of neighbour i begins, with a gap before it where counts are per neighbour. */
static int at(const call_t *c, int i)
{
    bool gaps = ALLGATHERV == c->kind || ALLTOALLV == c->kind || ALLTOALLW == c->kind;
    return i * (BYTES + (gaps ? 13 : 0));
}

static bool is_all_to_all(const call_t *c)
{
    return ALLTOALL <= c->kind;
}

static int start(call_t *c)
{
    static int counts[2] = {BYTES, BYTES};
    static int disps[2];
    static MPI_Aint byte_disps[2];
    static MPI_Datatype types[2];
    for (int i = 0; i < 2; ++i) {
        disps[i] = at(c, i);
        byte_disps[i] = at(c, i);
        types[i] = MPI_BYTE;
    }
    MPI_Datatype b = MPI_BYTE;
    MPI_Request *r = &c->request;
    char *s = c->send, *d = c->recv;
    switch (c->kind) {
    case ALLGATHER:
        return c->nonblocking ? MPI_Ineighbor_allgather(s, BYTES, b, d, BYTES, b, c->comm, r)
                              : MPI_Neighbor_allgather(s, BYTES, b, d, BYTES, b, c->comm);
    case ALLGATHERV:
        return c->nonblocking
                   ? MPI_Ineighbor_allgatherv(s, BYTES, b, d, counts, disps, b, c->comm, r)
                   : MPI_Neighbor_allgatherv(s, BYTES, b, d, counts, disps, b, c->comm);
    case ALLTOALL:
        return c->nonblocking ? MPI_Ineighbor_alltoall(s, BYTES, b, d, BYTES, b, c->comm, r)
                              : MPI_Neighbor_alltoall(s, BYTES, b, d, BYTES, b, c->comm);
    case ALLTOALLV:
        return c->nonblocking
                   ? MPI_Ineighbor_alltoallv(s, counts, disps, b, d, counts, disps, b, c->comm, r)
                   : MPI_Neighbor_alltoallv(s, counts, disps, b, d, counts, disps, b, c->comm);
    default:
        return c->nonblocking ? MPI_Ineighbor_alltoallw(s, counts, byte_disps, types, d, counts,
                                                        byte_disps, types, c->comm, r)
                              : MPI_Neighbor_alltoallw(s, counts, byte_disps, types, d, counts,
                                                       byte_disps, types, c->comm);
    }
}

/* What rank sends to its i-th destination. */
static uint64_t content(const call_t *c, int rank, int i, uint64_t round)
{
    return mt_seed(rank * 2 + (is_all_to_all(c) ? i : 0), round);
}

static void check_call(call_t *c)
{
    uint64_t round = ++round_number;
    c->request = MPI_REQUEST_NULL;
    mt_context("kind %d%s, round %llu", c->kind, c->nonblocking ? ", nonblocking" : "",
               (unsigned long long) round);
    for (int i = 0; i < (is_all_to_all(c) ? c->out : 1); ++i) {
        mt_fill(c->send + at(c, i), BYTES, content(c, mt_rank, i, round));
    }
    mt_poison(c->recv, (size_t) at(c, c->in) + MT_GUARD);
    CHECK_OK(start(c));
    CHECK_OK(MPI_Wait(&c->request, MPI_STATUS_IGNORE));
    for (int i = 0; i < c->in; ++i) {
        /* In the grid what comes from the left was sent to the right, the second destination. */
        int its = 2 == c->in ? 1 - i : 0;
        CHECK_PATTERN(c->recv + at(c, i), BYTES, content(c, c->sources[i], its, round));
    }
    CHECK_POISON(c->recv + at(c, c->in), MT_GUARD);
}

static void check_all(MPI_Comm comm, int in, int out, const int *sources)
{
    char *places[] = {window.base, device};
    for (int kind = 0; kind < KINDS; ++kind) {
        for (int from = 0; from < 2; ++from) {
            for (int to = 0; to < 2; ++to) {
                call_t c = {.kind = (kind_t) kind, .comm = comm, .in = in, .out = out};
                c.sources[0] = sources[0];
                c.sources[1] = sources[1];
                c.send = places[from];
                c.recv = places[to] + 4096;
                check_call(&c);
                c.nonblocking = true;
                check_call(&c);
            }
        }
    }
}

static void grid(void)
{
    int size = mt_size, periodic = 1;
    MPI_Comm comm;
    if (!mt_needs_ranks(3)) { /* with fewer a neighbour is on both sides */
        return;
    }
    int sources[2] = {(mt_rank + mt_size - 1) % mt_size, (mt_rank + 1) % mt_size};
    CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &comm));
    check_all(comm, 2, 2, sources);
    CHECK_OK(MPI_Comm_free(&comm));
}

static void graph(void)
{
    MPI_Comm comm;
    int source = (mt_rank + mt_size - 1) % mt_size, destination = (mt_rank + 1) % mt_size;
    int sources[2] = {source, source}, weight = 1;
    CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &source, &weight, 1, &destination,
                                            &weight, MPI_INFO_NULL, 0, &comm));
    check_all(comm, 1, 1, sources);
    CHECK_OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "coll_neighbor");
    mt_memory_t other = mt_has_memory(MT_DEVICE) ? MT_DEVICE : MT_HOST;
    if (mt_allocate(8192, 1, MPI_COMM_WORLD, &window)) {
        device = mt_alloc(other, 8192);
        MT_RUN(grid);
        MT_RUN(graph);
        mt_free(other, device);
        mt_win_free(&window);
    }
    return mt_finish();
}
