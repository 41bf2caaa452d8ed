/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Graphs of kernel nodes, run in the order in which they were added. */
#include "symm_config.h"

#include "fake_graph.h"

#include "fake_context.h"
#include "fake_entry.h"
#include "fake_kernel.h"
#include "fake_object.h"
#include "fake_report.h"
#include "fake_stream.h"

#include <stdbool.h>
#include <stdlib.h>

struct CUgraphNode_st {
    struct CUgraphNode_st *next;
    fake_launch_t launch;
};

struct CUgraph_st {
    fake_object_t object;
    CUgraphNode first;
    int count;
};

/* A node as it was, or was set, when the graph was instantiated. */
typedef struct exec_node {
    CUgraphNode origin; /* only compared */
    fake_launch_t launch;
} exec_node_t;

struct CUgraphExec_st {
    fake_object_t object;
    int count;
    exec_node_t nodes[];
};

CUresult fake_graph_new(CUgraph *graph_p)
{
    CUgraph graph = calloc(1, sizeof(*graph));
    if (NULL == graph) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    fake_object_add(&graph->object, FAKE_GRAPH, NULL);
    *graph_p = graph;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    if (NULL == phGraph || 0 != flags) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "flags %x", flags);
    }
    return fake_graph_new(phGraph);
}

CUresult CUDAAPI cuGraphDestroy(CUgraph hGraph)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_ENDS);
    if (!fake_object_remove(hGraph, FAKE_GRAPH)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    while (NULL != hGraph->first) {
        CUgraphNode node = hGraph->first;
        hGraph->first = node->next;
        free(node);
    }
    free(hGraph);
    return fake_leave(CUDA_SUCCESS);
}

/* The link to node, or behind the last when it is not there. */
static CUgraphNode *find_node(CUgraph graph, CUgraphNode node)
{
    CUgraphNode *link = &graph->first;
    while (NULL != *link && *link != node) {
        link = &(*link)->next;
    }
    return link;
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    if (NULL == phGraphNode || !fake_object_check(hGraph, FAKE_GRAPH)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < numDependencies; ++i) {
        if (NULL == *find_node(hGraph, dependencies[i])) {
            return fake_misuse(CUDA_ERROR_INVALID_VALUE, "dependency %zu is not in the graph", i);
        }
    }
    CUgraphNode node = calloc(1, sizeof(*node));
    CUresult result =
        NULL == node ? CUDA_ERROR_OUT_OF_MEMORY : fake_launch_read(nodeParams, &node->launch);
    if (CUDA_SUCCESS != result) {
        free(node);
        return result;
    }
    *find_node(hGraph, NULL) = node;
    ++hGraph->count;
    *phGraphNode = node;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                             unsigned long long flags)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    if (NULL == phGraphExec || 0 != flags || !fake_object_check(hGraph, FAKE_GRAPH)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "no graph, or flags %llx", flags);
    }
    CUgraphExec exec = calloc(1, sizeof(*exec) + (size_t) hGraph->count * sizeof(exec->nodes[0]));
    if (NULL == exec) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (CUgraphNode node = hGraph->first; NULL != node; node = node->next) {
        exec->nodes[exec->count++] = (exec_node_t){node, node->launch};
    }
    fake_object_add(&exec->object, FAKE_GRAPH_EXEC, fake_context_current());
    *phGraphExec = exec;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_UNSAFE_IN_CAPTURE | FAKE_ENDS);
    if (!fake_object_remove(hGraphExec, FAKE_GRAPH_EXEC)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    free(hGraphExec); /* launches under way have their own copies */
    return fake_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    if (!fake_object_check(hGraphExec, FAKE_GRAPH_EXEC)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (int i = 0; i < hGraphExec->count; ++i) {
        if (hGraphExec->nodes[i].origin == hNode) {
            fake_launch_t launch;
            CUresult result = fake_launch_read(nodeParams, &launch);
            if (CUDA_SUCCESS == result) {
                hGraphExec->nodes[i].launch = launch;
            }
            return result;
        }
    }
    return fake_misuse(CUDA_ERROR_INVALID_VALUE, "the node is not of the graph that this was made "
                                                 "of");
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_QUEUES);
    CUresult result = fake_stream_check(hStream);
    if (CUDA_SUCCESS == result && !fake_object_check(hGraphExec, FAKE_GRAPH_EXEC)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    for (int i = 0; CUDA_SUCCESS == result && i < hGraphExec->count; ++i) {
        result = fake_launch_queue(&hGraphExec->nodes[i].launch, hStream);
    }
    return fake_leave(result);
}
