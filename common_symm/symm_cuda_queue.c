/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Queues of the cuda backend: non-blocking streams for copies, and reductions launched as a graph
 * of one kernel node, which costs half of what a plain launch and a stream wait cost.
 *
 * NOTE completion. A reduction ends by writing its number to a word of mapped host memory, after a
 * system-scope fence; polling that word is cheaper than asking the driver. Copies have no such end,
 * so once one follows on the main lane the stream itself is asked. */
#include "symm_config.h"

#include "symm_cuda.h"
#include "symm_fatbin.h"
#include "symm_log.h"
#include "symm_reduce_kernel.h"
#include "symm_reduce_params.h"
#include "symm_spin.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* How often the stream is asked whether it has failed, while polling the word. */
#define POLLS_PER_QUERY 4096

struct symm_queue {
    pthread_mutex_t lock; /* of all below; held for a whole call, waiting for the GPU included */
    symm_device_t *device;
    CUstream streams[SYMM_LANE_COUNT];
    bool busy[SYMM_LANE_COUNT]; /* the stream must be asked */
    bool flag_pending;          /* the main lane ends with a reduction: look at the word */
    uint32_t flag_value;
    _Atomic uint32_t *flag; /* host address of the word */
    CUdeviceptr flag_dev;
    CUdeviceptr block_counter_dev;
    CUgraph graph; /* NULL until the first reduction */
    CUgraphNode node;
    CUgraphExec exec;
};

int symm_cuda_load_kernels(symm_device_t *device, symm_error_t *error)
{
    const void *image;
    size_t len;
    symm_fatbin_get(&image, &len);
    if (NULL == image) {
        return symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION,
                              "built without GPU kernels; configure where nvcc is found "
                              "(--with-cuda=DIR)");
    }
    return symm_cuda_check(symm_cuda.cuModuleLoadData(&device->module, image), error,
                           "cuModuleLoadData of %zu bytes; build with --with-nvcc-gencode for this "
                           "GPU",
                           len);
}

/* Looks a kernel up by its name, which may load its code. The caller holds the device's lock. */
static int find_kernel(symm_device_t *device, symm_op_t op, symm_dtype_t dtype)
{
    char name[SYMM_REDUCE_KERNEL_NAME_MAX];
    CUfunction kernel = NULL;
    if (NULL != atomic_load(&device->kernels[op][dtype])) {
        return MPI_SUCCESS; /* another thread was faster */
    }
    if (0 != symm_reduce_kernel_name(op, dtype, name, sizeof(name))) {
        return MPI_ERR_OP;
    }
    int rc = symm_cuda_check_log(
        SYMM_LOG_ERROR, symm_cuda.cuModuleGetFunction(&kernel, device->module, name), name);
    if (MPI_SUCCESS == rc) {
        atomic_store(&device->kernels[op][dtype], kernel);
    }
    return rc;
}

/* The kernel for op on dtype. Queues of several threads share a device. */
static int get_kernel(symm_device_t *device, symm_op_t op, symm_dtype_t dtype, CUfunction *kernel_p)
{
    int rc = MPI_SUCCESS;
    if (NULL == atomic_load(&device->kernels[op][dtype])) {
        (void) pthread_mutex_lock(&device->kernels_lock); /* fails only on misuse */
        rc = find_kernel(device, op, dtype);
        (void) pthread_mutex_unlock(&device->kernels_lock);
    }
    *kernel_p = atomic_load(&device->kernels[op][dtype]);
    return rc;
}

static int create_flag(symm_queue_t *queue, symm_error_t *error)
{
    void *flag;
    int rc = symm_cuda_check(
        symm_cuda.cuMemHostAlloc(&flag, 64, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
        error, "cuMemHostAlloc of 64 bytes");
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    memset(flag, 0, 64);
    queue->flag = flag;
    return symm_cuda_check(symm_cuda.cuMemHostGetDevicePointer(&queue->flag_dev, flag, 0), error,
                           "cuMemHostGetDevicePointer");
}

static int create_parts(symm_queue_t *queue, symm_error_t *error)
{
    int rc = MPI_SUCCESS;
    for (int lane = 0; MPI_SUCCESS == rc && lane < SYMM_LANE_COUNT; ++lane) {
        rc =
            symm_cuda_check(symm_cuda.cuStreamCreate(&queue->streams[lane], CU_STREAM_NON_BLOCKING),
                            error, "cuStreamCreate");
    }
    if (MPI_SUCCESS == rc) {
        rc = create_flag(queue, error);
    }
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_check(symm_cuda.cuMemAlloc(&queue->block_counter_dev, sizeof(uint32_t)),
                             error, "cuMemAlloc of 4 bytes");
    }
    if (MPI_SUCCESS == rc) {
        /* On the main lane, so that it is done before any kernel there looks at it. */
        rc =
            symm_cuda_check(symm_cuda.cuMemsetD8Async(queue->block_counter_dev, 0, sizeof(uint32_t),
                                                      queue->streams[SYMM_LANE_MAIN]),
                            error, "cuMemsetD8Async");
        queue->busy[SYMM_LANE_MAIN] = true;
    }
    return rc;
}

static void destroy_parts(symm_queue_t *queue)
{
    if (NULL != queue->exec) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuGraphExecDestroy(queue->exec),
                                   "cuGraphExecDestroy");
    }
    if (NULL != queue->graph) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuGraphDestroy(queue->graph),
                                   "cuGraphDestroy");
    }
    for (int lane = 0; lane < SYMM_LANE_COUNT; ++lane) {
        if (NULL != queue->streams[lane]) {
            (void) symm_cuda_check_log(
                SYMM_LOG_WARN, symm_cuda.cuStreamDestroy(queue->streams[lane]), "cuStreamDestroy");
        }
    }
    if (NULL != queue->flag) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuMemFreeHost((void *) queue->flag),
                                   "cuMemFreeHost");
    }
    if (0 != queue->block_counter_dev) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuMemFree(queue->block_counter_dev),
                                   "cuMemFree");
    }
}

int symm_cuda_queue_create(symm_device_t *device, symm_queue_t **queue_p, symm_error_t *error)
{
    symm_queue_t *queue = calloc(1, sizeof(*queue));
    symm_cuda_scope_t scope;
    if (NULL == queue || MPI_SUCCESS != symm_cuda_enter(device, &scope)) {
        free(queue);
        return symm_error_set(error, MPI_ERR_OTHER, "cannot make a queue on %s", device->text);
    }
    queue->device = device;
    (void) pthread_mutex_init(&queue->lock, NULL); /* cannot fail with default attributes */
    int rc = create_parts(queue, error);
    if (MPI_SUCCESS != rc) {
        destroy_parts(queue);
    }
    symm_cuda_leave(&scope);
    if (MPI_SUCCESS != rc) {
        (void) pthread_mutex_destroy(&queue->lock);
        free(queue);
        return rc;
    }
    *queue_p = queue;
    return MPI_SUCCESS;
}

void symm_cuda_queue_destroy(symm_queue_t *queue)
{
    symm_cuda_scope_t scope;
    (void) symm_cuda_queue_wait(queue); /* has logged a failure; teardown goes on */
    if (MPI_SUCCESS == symm_cuda_enter(queue->device, &scope)) {
        destroy_parts(queue);
        symm_cuda_leave(&scope);
    }
    (void) pthread_mutex_destroy(&queue->lock);
    free(queue);
}

/* Begins and ends a call on queue: its lock and its device's context. */
static int begin(symm_queue_t *queue, symm_cuda_scope_t *scope_p)
{
    (void) pthread_mutex_lock(&queue->lock); /* fails only on misuse */
    int rc = symm_cuda_enter(queue->device, scope_p);
    if (MPI_SUCCESS != rc) {
        (void) pthread_mutex_unlock(&queue->lock);
    }
    return rc;
}

static void end(symm_queue_t *queue, const symm_cuda_scope_t *scope)
{
    symm_cuda_leave(scope);
    (void) pthread_mutex_unlock(&queue->lock);
}

/* Marks that lane holds work that only its stream can tell the end of. */
static void note_copy(symm_queue_t *queue, symm_lane_t lane)
{
    queue->busy[lane] = true;
    if (SYMM_LANE_MAIN == lane) {
        queue->flag_pending = false; /* the copy comes behind the reduction */
    }
}

int symm_cuda_copy(symm_queue_t *queue, symm_lane_t lane, void *dst, const void *src, size_t len)
{
    symm_cuda_scope_t scope;
    if (0 == len) {
        return MPI_SUCCESS;
    }
    int rc = begin(queue, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = symm_cuda_check_log(SYMM_LOG_ERROR,
                             symm_cuda.cuMemcpyAsync((CUdeviceptr) (uintptr_t) dst,
                                                     (CUdeviceptr) (uintptr_t) src, len,
                                                     queue->streams[lane]),
                             "cuMemcpyAsync");
    note_copy(queue, lane);
    end(queue, &scope);
    return rc;
}

int symm_cuda_zero(symm_queue_t *queue, symm_lane_t lane, void *dst, size_t len)
{
    symm_cuda_scope_t scope;
    int rc = begin(queue, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = symm_cuda_check_log(
        SYMM_LOG_ERROR,
        symm_cuda.cuMemsetD8Async((CUdeviceptr) (uintptr_t) dst, 0, len, queue->streams[lane]),
        "cuMemsetD8Async");
    note_copy(queue, lane);
    end(queue, &scope);
    return rc;
}

static void fill_params(symm_queue_t *queue, const symm_reduce_t *reduce,
                        symm_reduce_params_t *params)
{
    params->count = reduce->count;
    params->nsrc = reduce->nsrc;
    params->ndst = reduce->ndst;
    params->block_counter_dev = (uint32_t *) (uintptr_t) queue->block_counter_dev;
    params->done_flag = (uint32_t *) (uintptr_t) queue->flag_dev;
    params->done_value = ++queue->flag_value;
    params->reserved = 0;
    memcpy(params->src, reduce->src, reduce->nsrc * sizeof(params->src[0]));
    memcpy(params->dst, reduce->dst, reduce->ndst * sizeof(params->dst[0]));
}

/* Makes the graph of one kernel node; the queue gets it whole or not at all. */
static int make_graph(symm_queue_t *queue, const CUDA_KERNEL_NODE_PARAMS *params)
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
        queue->graph = graph;
        queue->node = node;
        queue->exec = exec;
    }
    return symm_cuda_check_log(SYMM_LOG_ERROR, result, "making the graph of a reduction");
}

/* Makes the graph, or gives its node the new parameters. */
static int prepare_graph(symm_queue_t *queue, const CUDA_KERNEL_NODE_PARAMS *params)
{
    if (NULL == queue->exec) {
        return make_graph(queue, params);
    }
    return symm_cuda_check_log(
        SYMM_LOG_ERROR, symm_cuda.cuGraphExecKernelNodeSetParams(queue->exec, queue->node, params),
        "cuGraphExecKernelNodeSetParams");
}

static int launch(symm_queue_t *queue, const symm_reduce_t *reduce, uint32_t blocks)
{
    CUfunction kernel;
    int rc = get_kernel(queue->device, reduce->op, reduce->dtype, &kernel);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    symm_reduce_params_t params;
    fill_params(queue, reduce, &params);
    void *arguments[] = {&params};
    CUDA_KERNEL_NODE_PARAMS node = {
        .func = kernel,
        .gridDimX = blocks,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = SYMM_REDUCE_THREADS,
        .blockDimY = 1,
        .blockDimZ = 1,
        .kernelParams = arguments,
    };
    rc = prepare_graph(queue, &node);
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_check_log(
            SYMM_LOG_ERROR, symm_cuda.cuGraphLaunch(queue->exec, queue->streams[SYMM_LANE_MAIN]),
            "cuGraphLaunch");
    }
    queue->flag_pending = MPI_SUCCESS == rc;
    if (MPI_SUCCESS != rc) {
        queue->busy[SYMM_LANE_MAIN] =
            true; /* an earlier reduction may be under way: ask the stream */
    }
    return rc;
}

int symm_cuda_reduce(symm_queue_t *queue, const symm_reduce_t *reduce, uint32_t blocks)
{
    symm_cuda_scope_t scope;
    if (SYMM_REDUCE_MAX_RANKS < reduce->nsrc || SYMM_REDUCE_MAX_RANKS < reduce->ndst) {
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    int rc = begin(queue, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = launch(queue, reduce, blocks);
    end(queue, &scope);
    return rc;
}

/* Whether lane is done; *rc_p gets the failure the driver reports, which also ends the wait. */
static bool stream_done(symm_queue_t *queue, symm_lane_t lane, int *rc_p)
{
    CUresult result = symm_cuda.cuStreamQuery(queue->streams[lane]);
    if (CUDA_ERROR_NOT_READY == result) {
        return false;
    }
    if (CUDA_SUCCESS != result) {
        *rc_p = symm_cuda_check_log(SYMM_LOG_ERROR, result, "work on the GPU failed");
    }
    return true;
}

/* Acquire pairs with the kernel's system-scope release: what it wrote is visible behind it. */
static bool flag_written(const symm_queue_t *queue)
{
    return queue->flag_value == atomic_load_explicit(queue->flag, memory_order_acquire);
}

static bool flag_done(symm_queue_t *queue, uint32_t polls, int *rc_p)
{
    if (flag_written(queue)) {
        return true;
    }
    if (0 != polls % POLLS_PER_QUERY || !stream_done(queue, SYMM_LANE_MAIN, rc_p)) {
        return false;
    }
    if (MPI_SUCCESS == *rc_p && !flag_written(queue)) {
        symm_log(SYMM_LOG_ERROR, "a reduction ended on the GPU without telling so");
        *rc_p = MPI_ERR_OTHER;
    }
    return true;
}

static int wait_entered(symm_queue_t *queue)
{
    int rc = MPI_SUCCESS;
    symm_spin_t spin = SYMM_SPIN_INIT;
    for (uint32_t polls = 1; queue->flag_pending; ++polls) {
        if (flag_done(queue, polls, &rc)) {
            queue->flag_pending = false;
            queue->busy[SYMM_LANE_MAIN] = false; /* the reduction came behind any copy there */
        } else {
            symm_spin_once(&spin);
        }
    }
    for (int lane = 0; lane < SYMM_LANE_COUNT; ++lane) {
        while (queue->busy[lane]) {
            if (stream_done(queue, lane, &rc)) {
                queue->busy[lane] = false;
            } else {
                symm_spin_once(&spin);
            }
        }
    }
    return rc;
}

int symm_cuda_queue_wait(symm_queue_t *queue)
{
    symm_cuda_scope_t scope;
    int rc = begin(queue, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = wait_entered(queue);
    end(queue, &scope);
    return rc;
}
