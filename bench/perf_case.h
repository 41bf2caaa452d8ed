/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What is measured: an operation at one size. Pure facts about it, no communication. */
#ifndef PERF_CASE_H
#define PERF_CASE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum perf_op {
    PERF_ALLREDUCE,
    PERF_ALLGATHER,
    PERF_REDUCE,
    PERF_REDUCE_SCATTER,
    PERF_ALLTOALL,
    PERF_BCAST,
    PERF_GATHER,
    PERF_SCATTER,
    PERF_ALLGATHER_ROWS, /* with the datatype of put_rows on both sides */
    PERF_BARRIER,
    PERF_PUT,
    PERF_GET,
    PERF_PUT_MANY, /* puts of PERF_MANY_BYTES each from host memory, and one flush */
    PERF_PUT_ROWS, /* rows of PERF_ROW_BYTES on both sides, as much again between them */
    PERF_GET_ROWS,
    PERF_ACCUMULATE, /* sums of floats, and a flush */
    PERF_FETCH,      /* one fetch_and_op of a 4- or 8-byte integer, and a flush */
    PERF_OP_COUNT
} perf_op_t;

/* Sets of operations are masks of these bits. */
#define PERF_BIT(op) (1u << (op))
#define PERF_REDUCTIONS                                                                            \
    (PERF_BIT(PERF_ALLREDUCE) | PERF_BIT(PERF_REDUCE) | PERF_BIT(PERF_REDUCE_SCATTER))
#define PERF_COLLECTIVES     (PERF_BIT(PERF_PUT) - 1u) /* all before it */
#define PERF_HAS_IN_PLACE    (PERF_BIT(PERF_ALLREDUCE) | PERF_BIT(PERF_ALLGATHER))
#define PERF_ROWS            (PERF_BIT(PERF_PUT_ROWS) | PERF_BIT(PERF_GET_ROWS))
#define PERF_COPIES          (PERF_BIT(PERF_PUT) | PERF_BIT(PERF_GET) | PERF_BIT(PERF_PUT_MANY) | PERF_ROWS)
#define PERF_UPDATES         (PERF_BIT(PERF_ACCUMULATE) | PERF_BIT(PERF_FETCH))
#define PERF_RMA             (PERF_COPIES | PERF_UPDATES)
#define PERF_FETCH_BYTES     ((size_t) 8)
#define PERF_MANY_BYTES      ((size_t) 8)
#define PERF_MANY_MOST_BYTES ((size_t) 64 << 10) /* of PERF_PUT_MANY in all */
#define PERF_ROW_BYTES       1024
#define PERF_GUARD_BYTES     64   /* behind an output, must stay as they are */
#define PERF_BYTES_ALIGNMENT 4096 /* of the two areas of a contestant's memory */

typedef struct perf_case {
    perf_op_t op;
    bool in_place; /* collectives */
    bool everyone; /* put and get: all ranks at once and not only rank 0 */
    size_t bytes;  /* all-reduce, reduce, all-to-all, broadcast: of the buffer; all-gather,
                    * reduce-scatter, gather, scatter: of each rank's part; barrier: none; else:
                    * moved. A multiple of 4 */
} perf_case_t;

/* "allreduce" ...; "?" when out of range. */
const char *perf_op_name(perf_op_t op);

/* "out of place", "in place", or for put and get "one rank" and "all ranks". */
const char *perf_case_manner(const perf_case_t *c);

/* Whether rank makes calls; in put and get by one rank the others wait. */
bool perf_case_acts(const perf_case_t *c, int rank);

/* The largest size that makes sense for an operation. */
size_t perf_case_most_bytes(perf_op_t op);

/* The rank that rank's puts and gets go to. */
int perf_case_target(int rank, int size);

/* c->bytes, but for all-to-all, which sends equal blocks, and barrier. */
size_t perf_case_bytes(const perf_case_t *c, int size);

/* Bytes of rank's input and output, the guard not counted; 0 where it has none. The root is rank 0.
 */
size_t perf_case_input_bytes(const perf_case_t *c, int rank, int size);
size_t perf_case_output_bytes(const perf_case_t *c, int rank, int size);

/* GB/s at a time per call: algorithmic (the largest input or output over time) and bus, as
 * nccl-tests define them.
 */
double perf_case_algorithm_gbs(const perf_case_t *c, int size, double seconds);
double perf_case_bus_gbs(const perf_case_t *c, int size, double seconds);

/* What a contestant's memory must hold for all cases up to max_bytes: one input area and, behind
 * it, one output area, each with room for the guard. */
typedef struct perf_layout {
    size_t send_bytes;
    size_t recv_bytes;
} perf_layout_t;

perf_layout_t perf_case_layout(unsigned ops, size_t max_bytes, int size);

/* Host memory for bytes and a guard, aligned alike for all contestants; NULL when there is none. To
 * be freed with free(). */
void *perf_case_allocate(size_t bytes);

#endif
