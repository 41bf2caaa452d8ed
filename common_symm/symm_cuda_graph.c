/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Graphs of one kernel node. */
#include "symm_config.h"

#include "symm_cuda_graph.h"

#include "symm_log.h"
#include "symm_stats.h"

#include <mpi.h>
#include <stdbool.h>
#include <string.h>

static bool is_of(const symm_cuda_graph_t *graph, const symm_cuda_node_t *node)
{
    return NULL != graph->graph && graph->function == node->function &&
           graph->blocks == node->blocks && graph->threads == node->threads &&
           graph->params_len == node->params_len &&
           0 == memcmp(graph->params, node->params, node->params_len);
}

static symm_cuda_graph_t *find_kept(symm_cuda_graphs_t *graphs, const symm_cuda_node_t *node)
{
    for (int i = 0; i < SYMM_CUDA_GRAPHS; ++i) {
        if (is_of(&graphs->graphs[i], node)) {
            return &graphs->graphs[i];
        }
    }
    return NULL;
}

/* One that is not made yet, or else the one used longest ago. */
static symm_cuda_graph_t *find_oldest(symm_cuda_graphs_t *graphs)
{
    symm_cuda_graph_t *oldest = &graphs->graphs[0];
    for (int i = 1; i < SYMM_CUDA_GRAPHS && NULL != oldest->graph; ++i) {
        symm_cuda_graph_t *graph = &graphs->graphs[i];
        if (NULL == graph->graph || graph->used < oldest->used) {
            oldest = graph;
        }
    }
    return oldest;
}

/* Makes the graph, whole or not at all. */
static int make(symm_cuda_graph_t *made, const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUgraph graph = NULL;
    CUgraphNode node = NULL;
    CUgraphExec exec = NULL;
    CUresult result = symm_cuda.cuGraphCreate(&graph, 0);
    if (CUDA_SUCCESS == result) {
        result = symm_cuda.cuGraphAddKernelNode(&node, graph, NULL, 0, params);
        if (CUDA_SUCCESS == result) {
            result = symm_cuda.cuGraphInstantiateWithFlags(&exec, graph, 0);
        }
        if (CUDA_SUCCESS != result) {
            (void) symm_cuda.cuGraphDestroy(graph); /* the first failure is the one to tell */
        }
    }
    if (CUDA_SUCCESS == result) {
        made->graph = graph;
        made->node = node;
        made->exec = exec;
    }
    return symm_cuda_check_log(SYMM_LOG_ERROR, result, "making the graph of a kernel");
}

CUDA_KERNEL_NODE_PARAMS symm_cuda_node_params(const symm_cuda_node_t *node, void **params_p)
{
    *params_p = (void *) (uintptr_t) node->params; /* read only */
    return (CUDA_KERNEL_NODE_PARAMS){
        .func = node->function,
        .gridDimX = node->blocks,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = node->threads,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = params_p,
    };
}

/* Makes the graph, or gives its node the new parameters; its launches under way keep theirs. */
static int set(symm_cuda_graph_t *graph, const symm_cuda_node_t *node)
{
    void *params;
    CUDA_KERNEL_NODE_PARAMS kernel = symm_cuda_node_params(node, &params);
    if (NULL == graph->graph) {
        return make(graph, &kernel);
    }
    return symm_cuda_check_log(
        SYMM_LOG_ERROR, symm_cuda.cuGraphExecKernelNodeSetParams(graph->exec, graph->node, &kernel),
        "cuGraphExecKernelNodeSetParams");
}

static void remember(symm_cuda_graph_t *graph, const symm_cuda_node_t *node)
{
    graph->function = node->function;
    graph->blocks = node->blocks;
    graph->threads = node->threads;
    graph->params_len = node->params_len;
    memcpy(graph->params, node->params, node->params_len);
}

int symm_cuda_graphs_get(symm_cuda_graphs_t *graphs, const symm_cuda_node_t *node,
                         CUgraphExec *exec_p)
{
    symm_cuda_graph_t *graph = find_kept(graphs, node);
    if (NULL == graph) {
        graph = find_oldest(graphs);
        graph->function = NULL; /* whatever becomes of setting it, it is not what it was */
        int rc = set(graph, node);
        if (MPI_SUCCESS != rc) {
            return rc;
        }
        remember(graph, node);
    } else {
        SYMM_COUNT(kernels_again, 1);
    }
    graph->used = ++graphs->clock;
    *exec_p = graph->exec;
    return MPI_SUCCESS;
}

void symm_cuda_graph_end(CUgraph graph, CUgraphExec exec)
{
    if (NULL != exec) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuGraphExecDestroy(exec),
                                   "cuGraphExecDestroy");
    }
    if (NULL != graph) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuGraphDestroy(graph),
                                   "cuGraphDestroy");
    }
}

void symm_cuda_graphs_free(symm_cuda_graphs_t *graphs)
{
    for (int i = 0; i < SYMM_CUDA_GRAPHS; ++i) {
        symm_cuda_graph_end(graphs->graphs[i].graph, graphs->graphs[i].exec);
    }
}
