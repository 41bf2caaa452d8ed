/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Prepared work of the cuda backend: a graph that is made once and launched with each replay, with
 * no parameter to set. What is in order is a chain of nodes; copies that stand apart are nodes that
 * wait for none, so that copy engines do them side by side.
 *
 * NOTE completion. The kernels of a queue count themselves (symm_done.h), however often and in
 * whichever graph they are launched. With copies in it the end is the stream's to tell, as
 * elsewhere (symm_cuda_queue.c).
 *
 * NOTE ordinary host memory. Drivers take it for a graph's copies, but when they read or write it
 * is not said. Work with such copies has no graph: its tasks are asked for one by one. */
#include "symm_config.h"

#include "symm_cuda_prepared.h"

#include "symm_log.h"

#include <mpi.h>
#include <stdlib.h>

/* Bytes of a node's copy at most: what every device takes as the length of a row. */
#define NODE_BYTES ((uint64_t) 1 << 30)

struct symm_prepared {
    symm_queue_t *queue;
    const symm_tasks_t *tasks;
    CUgraph graph;    /* NULL for none */
    CUgraphExec exec; /* NULL when there is nothing to do, and without a graph */
    CUgraphNode last; /* of the chain, NULL when there is none */
    uint32_t kernels; /* nodes of either kind */
    uint32_t copies;
};

int symm_cuda_prepared_add_kernel(symm_prepared_t *prepared, const symm_cuda_node_t *node)
{
    void *params;
    CUDA_KERNEL_NODE_PARAMS kernel = symm_cuda_node_params(node, &params);
    CUgraphNode before = prepared->last;
    int rc = symm_cuda_check_log(SYMM_LOG_ERROR,
                                 symm_cuda.cuGraphAddKernelNode(&prepared->last, prepared->graph,
                                                                &before, NULL == before ? 0 : 1,
                                                                &kernel),
                                 "cuGraphAddKernelNode");
    prepared->kernels += MPI_SUCCESS == rc ? 1 : 0;
    return rc;
}

static int add_piece(symm_prepared_t *prepared, bool apart, CUdeviceptr dst, CUdeviceptr src,
                     size_t len)
{
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .srcDevice = src,
                          .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .dstDevice = dst,
                          .WidthInBytes = len,
                          .Height = 1,
                          .Depth = 1};
    CUgraphNode before = apart ? NULL : prepared->last;
    CUgraphNode node = NULL;
    int rc = symm_cuda_check_log(SYMM_LOG_ERROR,
                                 symm_cuda.cuGraphAddMemcpyNode(&node, prepared->graph, &before,
                                                                NULL == before ? 0 : 1, &copy,
                                                                prepared->queue->device->context),
                                 "cuGraphAddMemcpyNode");
    prepared->last = apart ? prepared->last : node;
    ++prepared->copies;
    return rc;
}

static int add_copy(symm_prepared_t *prepared, bool apart, const symm_move_t *move)
{
    CUdeviceptr dst = (CUdeviceptr) (uintptr_t) move->dst;
    CUdeviceptr src = (CUdeviceptr) (uintptr_t) move->src;
    int rc = MPI_SUCCESS;
    for (uint64_t at = 0; MPI_SUCCESS == rc && at < move->len; at += NODE_BYTES) {
        uint64_t left = move->len - at;
        rc = add_piece(prepared, apart, dst + at, src + at, left < NODE_BYTES ? left : NODE_BYTES);
    }
    return rc;
}

/* Asks for a task: kernels become nodes of what the queue prepares, if it does. In the context. */
static int ask(symm_queue_t *queue, const symm_task_t *task)
{
    symm_lane_t lane = task->apart ? SYMM_LANE_LOCAL : SYMM_LANE_MAIN;
    const symm_move_t *move = task->moves;
    switch (task->kind) {
    case SYMM_TASK_COPY:
        return NULL != queue->preparing
                   ? add_copy(queue->preparing, task->apart, move)
                   : symm_cuda_copy(queue, lane, move->dst, move->src, (size_t) move->len);
    case SYMM_TASK_COPY_MANY:
        return symm_cuda_copy_many(queue, task->moves, task->count, task->blocks);
    case SYMM_TASK_REDUCE:
        return symm_cuda_reduce(queue, &task->reduce, task->blocks);
    }
    return MPI_ERR_INTERN; /* there are no other kinds */
}

static int ask_for_all(const symm_prepared_t *prepared)
{
    int rc = MPI_SUCCESS;
    for (const symm_task_t *task = prepared->tasks->first; MPI_SUCCESS == rc && NULL != task;
         task = task->next) {
        rc = ask(prepared->queue, task);
    }
    return rc;
}

/* Whether some copy is from or to ordinary host memory. */
static bool has_ordinary(const symm_device_t *device, const symm_tasks_t *tasks)
{
    bool any = false;
    for (const symm_task_t *task = tasks->first; !any && NULL != task; task = task->next) {
        any = SYMM_TASK_COPY == task->kind &&
              (SYMM_CUDA_ORDINARY == symm_cuda_place(device, task->moves->dst) ||
               SYMM_CUDA_ORDINARY == symm_cuda_place(device, task->moves->src));
    }
    return any;
}

/* Makes the graph; in the context. */
static int make_graph(symm_prepared_t *prepared)
{
    int rc = symm_cuda_check_log(SYMM_LOG_ERROR, symm_cuda.cuGraphCreate(&prepared->graph, 0),
                                 "cuGraphCreate");
    if (MPI_SUCCESS == rc) {
        prepared->queue->preparing = prepared;
        rc = ask_for_all(prepared);
        prepared->queue->preparing = NULL;
    }
    if (MPI_SUCCESS == rc && 0 < prepared->kernels + prepared->copies) {
        rc = symm_cuda_check_log(
            SYMM_LOG_ERROR,
            symm_cuda.cuGraphInstantiateWithFlags(&prepared->exec, prepared->graph, 0),
            "cuGraphInstantiateWithFlags");
    }
    return rc;
}

int symm_cuda_prepare(symm_queue_t *queue, const symm_tasks_t *tasks, symm_prepared_t **prepared_p,
                      symm_error_t *error)
{
    symm_cuda_scope_t scope;
    symm_prepared_t *prepared = calloc(1, sizeof(*prepared));
    if (NULL == prepared) {
        return symm_error_set(error, MPI_ERR_NO_MEM, "no memory to prepare work");
    }
    prepared->queue = queue;
    prepared->tasks = tasks;
    int rc = symm_cuda_enter(queue->device, &scope);
    if (MPI_SUCCESS == rc) {
        rc = has_ordinary(queue->device, tasks) ? MPI_SUCCESS : make_graph(prepared);
        symm_cuda_leave(&scope);
    }
    if (MPI_SUCCESS != rc) {
        symm_cuda_discard(prepared);
        return symm_error_set(error, rc, "cannot prepare work for %s", queue->device->text);
    }
    *prepared_p = prepared;
    return MPI_SUCCESS;
}

/* Launches the graph, if it is one of anything. */
static int launch(symm_prepared_t *prepared)
{
    symm_cuda_scope_t scope;
    int rc = NULL == prepared->exec ? MPI_SUCCESS : symm_cuda_queue_begin(prepared->queue, &scope);
    if (MPI_SUCCESS != rc || NULL == prepared->exec) {
        return rc;
    }
    rc = symm_cuda_launch_graph(prepared->queue, prepared->exec, prepared->kernels);
    if (0 < prepared->copies) {
        symm_cuda_queue_note_copy(prepared->queue, SYMM_LANE_MAIN);
    }
    symm_cuda_queue_end(prepared->queue, &scope);
    return rc;
}

int symm_cuda_replay(symm_prepared_t *prepared)
{
    return NULL != prepared->graph ? launch(prepared) : ask_for_all(prepared);
}

void symm_cuda_discard(symm_prepared_t *prepared)
{
    symm_cuda_scope_t scope;
    if (NULL == prepared) {
        return;
    }
    bool entered = MPI_SUCCESS == symm_cuda_enter(prepared->queue->device, &scope);
    /* The handles know their context; only old drivers want it current. */
    symm_cuda_graph_end(prepared->graph, prepared->exec);
    if (entered) {
        symm_cuda_leave(&scope);
    }
    free(prepared);
}
