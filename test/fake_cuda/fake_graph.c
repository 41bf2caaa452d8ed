/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Graphs of kernel nodes and copies, each of which waits for one other at most. Of the nodes that
 * wait for none any more the one that was added last is run first, as nobody may count on another
 * order. */
#include "symm_config.h"

#include "fake_graph.h"

#include "fake_context.h"
#include "fake_copy.h"
#include "fake_entry.h"
#include "fake_kernel.h"
#include "fake_object.h"
#include "fake_report.h"
#include "fake_stream.h"

#include <stdbool.h>
#include <stdlib.h>

struct CUgraphNode_st {
    struct CUgraphNode_st *next;
    CUgraphNode before; /* that it waits for, NULL for none */
    bool copies;
    fake_launch_t launch;
    fake_copy_t copy;
};

struct CUgraph_st {
    fake_object_t object;
    CUgraphNode first;
    int count;
};

/* A node as it was, or was set, when the graph was instantiated. */
typedef struct exec_node {
    CUgraphNode origin; /* only compared */
    CUgraphNode before; /* likewise */
    bool copies;
    bool queued; /* in the launch under way */
    fake_launch_t launch;
    fake_copy_t copy;
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

/* Looks at what a new node depends on; *before_p gets it. */
static CUresult read_dependencies(CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                  CUgraphNode *before_p)
{
    *before_p = 0 == count ? NULL : dependencies[0];
    if (1 < count || (1 == count && NULL == *find_node(graph, dependencies[0]))) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE,
                           "a dependency is not in the graph, or there are several, which the fake "
                           "does not know");
    }
    return CUDA_SUCCESS;
}

/* Puts node behind the others, unless result tells that it could not be made. */
static CUresult add_node(CUgraph graph, CUgraphNode node, CUresult result, CUgraphNode *node_p)
{
    if (CUDA_SUCCESS != result) {
        free(node);
        return result;
    }
    *find_node(graph, NULL) = node;
    ++graph->count;
    *node_p = node;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    if (NULL == phGraphNode || !fake_object_check(hGraph, FAKE_GRAPH)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUgraphNode node = calloc(1, sizeof(*node));
    if (NULL == node) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult result = read_dependencies(hGraph, dependencies, numDependencies, &node->before);
    result = CUDA_SUCCESS == result ? fake_launch_read(nodeParams, &node->launch) : result;
    return add_node(hGraph, node, result, phGraphNode);
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                      const CUgraphNode *dependencies, size_t numDependencies,
                                      const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    if (NULL == phGraphNode || !fake_object_check(hGraph, FAKE_GRAPH)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (ctx != fake_context_current()) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a copy of another context");
    }
    CUgraphNode node = calloc(1, sizeof(*node));
    if (NULL == node) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->copies = true;
    CUresult result = read_dependencies(hGraph, dependencies, numDependencies, &node->before);
    result = CUDA_SUCCESS == result ? fake_copy_read(copyParams, &node->copy) : result;
    return add_node(hGraph, node, result, phGraphNode);
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
        exec->nodes[exec->count++] =
            (exec_node_t){node, node->before, node->copies, false, node->launch, node->copy};
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
        if (hGraphExec->nodes[i].origin == hNode && !hGraphExec->nodes[i].copies) {
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

static bool is_queued(CUgraphExec exec, CUgraphNode origin)
{
    bool queued = NULL == origin;
    for (int i = 0; !queued && i < exec->count; ++i) {
        queued = exec->nodes[i].origin == origin && exec->nodes[i].queued;
    }
    return queued;
}

/* Queues the last node that waits for none; there is one. */
static CUresult queue_next(CUgraphExec exec, CUstream stream)
{
    int i = exec->count - 1;
    while (exec->nodes[i].queued || !is_queued(exec, exec->nodes[i].before)) {
        --i;
    }
    exec_node_t *node = &exec->nodes[i];
    node->queued = true;
    return node->copies ? fake_copy_queue(&node->copy, stream)
                        : fake_launch_queue(&node->launch, stream);
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_QUEUES);
    CUresult result = fake_stream_check(hStream);
    if (CUDA_SUCCESS == result && !fake_object_check(hGraphExec, FAKE_GRAPH_EXEC)) {
        result = CUDA_ERROR_INVALID_HANDLE;
    }
    for (int i = 0; CUDA_SUCCESS == result && i < hGraphExec->count; ++i) {
        hGraphExec->nodes[i].queued = false;
    }
    for (int i = 0; CUDA_SUCCESS == result && i < hGraphExec->count; ++i) {
        result = queue_next(hGraphExec, hStream);
    }
    return fake_leave(result);
}
