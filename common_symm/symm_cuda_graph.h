/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The graphs that a queue launches: one kernel node each. Those used last are kept with their
 * parameters, so that a launch like an earlier one sets none. */
#ifndef SYMM_CUDA_GRAPH_H
#define SYMM_CUDA_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "symm_cuda.h"
#include "symm_done.h"

/* Graphs that are kept, so many calls may take turns. */
#define SYMM_CUDA_GRAPHS 8

/* What a launch is made of. */
typedef struct symm_cuda_node {
    CUfunction function;
    uint32_t blocks, threads; /* one dimension each */
    const void *params;       /* all that the kernel takes, */
    size_t params_len;        /* of which it reads no more than the first bytes */
} symm_cuda_node_t;

/* The node as the driver wants it. *params_p is for the result to refer to. */
CUDA_KERNEL_NODE_PARAMS symm_cuda_node_params(const symm_cuda_node_t *node, void **params_p);

typedef struct symm_cuda_graph {
    CUgraph graph; /* NULL until it is made */
    CUgraphNode node;
    CUgraphExec exec;
    uint64_t used; /* when, by the set's clock */
    CUfunction function;
    uint32_t blocks, threads;
    size_t params_len;
    unsigned char params[SYMM_KERNEL_PARAMS_MAX];
} symm_cuda_graph_t;

/* Zero at first. */
typedef struct symm_cuda_graphs {
    uint64_t clock;
    symm_cuda_graph_t graphs[SYMM_CUDA_GRAPHS];
} symm_cuda_graphs_t;

/* Gives a graph of that node: one that is kept, or the one used longest ago, set anew. It may be
 * launched until the next call. In the device's context. MPI_ERR_OTHER, logging the cause, when the
 * driver refuses it. */
int symm_cuda_graphs_get(symm_cuda_graphs_t *graphs, const symm_cuda_node_t *node,
                         CUgraphExec *exec_p);

/* Frees a graph and what it was instantiated as; either may be NULL. Teardown. */
void symm_cuda_graph_end(CUgraph graph, CUgraphExec exec);

/* Frees all graphs. Teardown. */
void symm_cuda_graphs_free(symm_cuda_graphs_t *graphs);

#endif
