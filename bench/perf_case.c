/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See perf_case.h. */
#include "symm_config.h"

#include "perf_case.h"

#include <stdint.h>
#include <stdlib.h>

const char *perf_op_name(perf_op_t op)
{
    switch (op) {
    case PERF_ALLREDUCE:
        return "allreduce";
    case PERF_ALLGATHER:
        return "allgather";
    case PERF_REDUCE:
        return "reduce";
    case PERF_REDUCE_SCATTER:
        return "reduce_scatter";
    case PERF_ALLTOALL:
        return "alltoall";
    case PERF_BCAST:
        return "bcast";
    case PERF_GATHER:
        return "gather";
    case PERF_SCATTER:
        return "scatter";
    case PERF_ALLGATHER_ROWS:
        return "allgather_rows";
    case PERF_BARRIER:
        return "barrier";
    case PERF_PUT:
        return "put";
    case PERF_GET:
        return "get";
    case PERF_PUT_MANY:
        return "put_many";
    case PERF_PUT_ROWS:
        return "put_rows";
    case PERF_GET_ROWS:
        return "get_rows";
    case PERF_ACCUMULATE:
        return "accumulate";
    case PERF_FETCH:
        return "fetch";
    case PERF_OP_COUNT:
        break;
    }
    return "?";
}

static bool is_rma(const perf_case_t *c)
{
    return 0 != (PERF_BIT(c->op) & PERF_RMA);
}

const char *perf_case_manner(const perf_case_t *c)
{
    if (is_rma(c)) {
        return c->everyone ? "all ranks" : "one rank";
    }
    return c->in_place ? "in place" : "out of place";
}

bool perf_case_acts(const perf_case_t *c, int rank)
{
    return !is_rma(c) || c->everyone || 0 == rank;
}

size_t perf_case_most_bytes(perf_op_t op)
{
    switch (op) {
    case PERF_PUT_MANY:
        return PERF_MANY_MOST_BYTES;
    case PERF_FETCH:
        return PERF_FETCH_BYTES;
    default:
        return SIZE_MAX;
    }
}

int perf_case_target(int rank, int size)
{
    return (rank + 1) % size;
}

size_t perf_case_bytes(const perf_case_t *c, int size)
{
    size_t words = c->bytes / sizeof(float);
    switch (c->op) {
    case PERF_ALLTOALL:
        return words / (size_t) size * (size_t) size * sizeof(float);
    case PERF_BARRIER:
        return 0;
    default:
        return c->bytes;
    }
}

size_t perf_case_input_bytes(const perf_case_t *c, int rank, int size)
{
    size_t bytes = perf_case_bytes(c, size);
    switch (c->op) {
    case PERF_REDUCE_SCATTER:
        return bytes * (size_t) size;
    case PERF_BCAST:
        return 0 == rank ? bytes : 0;
    case PERF_SCATTER:
        return 0 == rank ? bytes * (size_t) size : 0;
    default:
        return bytes;
    }
}

size_t perf_case_output_bytes(const perf_case_t *c, int rank, int size)
{
    size_t bytes = perf_case_bytes(c, size);
    switch (c->op) {
    case PERF_ALLGATHER:
    case PERF_ALLGATHER_ROWS:
        return bytes * (size_t) size;
    case PERF_GATHER:
        return 0 == rank ? bytes * (size_t) size : 0;
    case PERF_BCAST:
        return 0 == rank ? 0 : bytes;
    default:
        return bytes;
    }
}

double perf_case_algorithm_gbs(const perf_case_t *c, int size, double seconds)
{
    size_t input = perf_case_input_bytes(c, 0, size); /* no rank has more than the root */
    size_t output = perf_case_output_bytes(c, 0, size);
    return (double) (input > output ? input : output) / seconds * 1e-9;
}

double perf_case_bus_gbs(const perf_case_t *c, int size, double seconds)
{
    double algorithm = perf_case_algorithm_gbs(c, size, seconds);
    switch (c->op) {
    case PERF_ALLREDUCE:
        return algorithm * 2 * (size - 1) / size;
    case PERF_ALLGATHER:
    case PERF_ALLGATHER_ROWS:
    case PERF_REDUCE_SCATTER:
    case PERF_ALLTOALL:
    case PERF_GATHER:
    case PERF_SCATTER:
        return algorithm * (size - 1) / size;
    default:
        return algorithm;
    }
}

static size_t area(size_t bytes)
{
    size_t needed = bytes + PERF_GUARD_BYTES;
    return (needed + PERF_BYTES_ALIGNMENT - 1) / PERF_BYTES_ALIGNMENT * PERF_BYTES_ALIGNMENT;
}

void *perf_case_allocate(size_t bytes)
{
    return aligned_alloc(PERF_BYTES_ALIGNMENT, area(bytes));
}

perf_layout_t perf_case_layout(unsigned ops, size_t max_bytes, int size)
{
    const unsigned many_out =
        PERF_BIT(PERF_ALLGATHER) | PERF_BIT(PERF_ALLGATHER_ROWS) | PERF_BIT(PERF_GATHER);
    const unsigned many_in = PERF_BIT(PERF_REDUCE_SCATTER) | PERF_BIT(PERF_SCATTER);
    size_t out = 0 != (ops & many_out) ? (size_t) size : 1;
    size_t in = 0 != (ops & many_in) ? (size_t) size : 1;
    return (perf_layout_t){.send_bytes = area(in * max_bytes), .recv_bytes = area(out * max_bytes)};
}
