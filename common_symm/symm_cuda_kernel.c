/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Kernels of the cuda backend: loading them, and launching them as a graph of one kernel node,
 * which costs half of what a plain launch and a stream wait cost.
 *
 * NOTE completion. A kernel ends by writing its launch's number to a word of mapped host memory,
 * after a system-scope fence; polling that word is cheaper than asking the driver. Kernels number
 * their launches by themselves (symm_done.h), in step with the queue's flag_value. */
#include "symm_config.h"

#include "symm_cuda_batch.h"
#include "symm_cuda_prepared.h"
#include "symm_cuda_resident.h"
#include "symm_log.h"
#include "symm_reduce_kernel.h"
#include "symm_reduce_params.h"
#include "symm_stats.h"

#include <mpi.h>
#include <stddef.h>
#include <string.h>

static int load_module(symm_device_t *device, symm_fatbin_t fatbin, symm_error_t *error)
{
    const void *image;
    size_t len;
    symm_fatbin_get(fatbin, &image, &len);
    if (NULL == image) {
        return symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION,
                              "built without GPU kernels; configure where nvcc is found "
                              "(--with-cuda=DIR)");
    }
    return symm_cuda_check(symm_cuda.cuModuleLoadData(&device->modules[fatbin], image), error,
                           "cuModuleLoadData of %zu bytes; build with --with-nvcc-gencode for this "
                           "GPU",
                           len);
}

int symm_cuda_load_kernels(symm_device_t *device, symm_error_t *error)
{
    int rc = MPI_SUCCESS;
    for (int fatbin = 0; MPI_SUCCESS == rc && fatbin < SYMM_FATBIN_COUNT; ++fatbin) {
        rc = load_module(device, (symm_fatbin_t) fatbin, error);
    }
    return rc;
}

void symm_cuda_unload_kernels(symm_device_t *device)
{
    for (int fatbin = 0; fatbin < SYMM_FATBIN_COUNT; ++fatbin) {
        if (NULL != device->modules[fatbin]) {
            (void) symm_cuda_check_log(SYMM_LOG_DEBUG,
                                       symm_cuda.cuModuleUnload(device->modules[fatbin]),
                                       "cuModuleUnload");
        }
    }
}

/* Looks a kernel up by its name, which may load its code. The caller holds the device's lock. */
static int find_kernel(symm_device_t *device, const symm_cuda_kernel_t *kernel)
{
    CUfunction function = NULL;
    if (NULL != atomic_load(kernel->known)) {
        return MPI_SUCCESS; /* another thread was faster */
    }
    symm_cuda_resident_stop_all(device); /* loading may wait for all that runs */
    int rc = symm_cuda_check_log(
        SYMM_LOG_ERROR,
        symm_cuda.cuModuleGetFunction(&function, device->modules[kernel->fatbin], kernel->name),
        kernel->name);
    if (MPI_SUCCESS == rc) {
        atomic_store(kernel->known, function);
    }
    return rc;
}

/* Queues of several threads share a device. */
int symm_cuda_get_kernel(symm_device_t *device, const symm_cuda_kernel_t *kernel,
                         CUfunction *function_p)
{
    int rc = MPI_SUCCESS;
    if (NULL == atomic_load(kernel->known)) {
        (void) pthread_mutex_lock(&device->kernels_lock); /* fails only on misuse */
        rc = find_kernel(device, kernel);
        (void) pthread_mutex_unlock(&device->kernels_lock);
    }
    *function_p = atomic_load(kernel->known);
    return rc;
}

/* Brings the kernels' count of launches in step with ours after a launch that failed: which may
 * have run, as the driver also reports what became of earlier work. */
static int keep_step(symm_queue_t *queue)
{
    if (!queue->out_of_step) {
        return MPI_SUCCESS;
    }
    CUdeviceptr at = queue->done_state_dev + offsetof(symm_done_state_t, launches);
    CUdeviceptr from = (CUdeviceptr) (uintptr_t) &queue->flag_value;
    int rc = symm_cuda_check_log(
        SYMM_LOG_ERROR,
        symm_cuda.cuMemcpyAsync(at, from, sizeof(uint32_t), queue->streams[SYMM_LANE_MAIN]),
        "cuMemcpyAsync of the number of launches");
    queue->out_of_step = MPI_SUCCESS != rc;
    return rc;
}

/* Launches a graph of so many kernels, if rc tells that there is one, on the main lane. */
static int launch(symm_queue_t *queue, CUgraphExec exec, uint32_t kernels, int rc)
{
    if (MPI_SUCCESS == rc) {
        rc = keep_step(queue);
    }
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_check_log(SYMM_LOG_ERROR,
                                 symm_cuda.cuGraphLaunch(exec, queue->streams[SYMM_LANE_MAIN]),
                                 "cuGraphLaunch");
    }
    queue->flag_value += kernels;
    queue->flag_pending = MPI_SUCCESS == rc;
    SYMM_COUNT(kernels, kernels);
    if (MPI_SUCCESS != rc) {
        queue->out_of_step = true;
        queue->busy[SYMM_LANE_MAIN] = true; /* an earlier one may be under way: ask the stream */
    }
    return rc;
}

int symm_cuda_launch_graph(symm_queue_t *queue, CUgraphExec exec, uint32_t kernels)
{
    return launch(queue, exec, kernels, symm_cuda_queue_order(queue));
}

static int launch_node(symm_queue_t *queue, const symm_cuda_node_t *node)
{
    CUgraphExec exec = NULL;
    int rc = symm_cuda_graphs_get(&queue->graphs, node, &exec);
    return launch(queue, exec, 1, rc);
}

int symm_cuda_launch(symm_queue_t *queue, const symm_cuda_kernel_t *kernel, void *params,
                     size_t params_len, uint32_t blocks, uint32_t threads)
{
    CUfunction function;
    int rc = symm_cuda_queue_order(queue);
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_get_kernel(queue->device, kernel, &function);
    }
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    *(symm_done_t *) params = symm_cuda_done(queue);
    symm_cuda_node_t node = {.function = function,
                             .blocks = blocks,
                             .threads = threads,
                             .params = params,
                             .params_len = params_len};
    return NULL != queue->preparing ? symm_cuda_prepared_add_kernel(queue->preparing, &node)
                                    : launch_node(queue, &node);
}

/* ---- reductions ---- */

static void fill_params(const symm_reduce_t *reduce, symm_reduce_params_t *params)
{
    params->count = reduce->count;
    params->nsrc = reduce->nsrc;
    params->ndst = reduce->ndst;
    memcpy(params->src, reduce->src, reduce->nsrc * sizeof(params->src[0]));
    memcpy(params->dst, reduce->dst, reduce->ndst * sizeof(params->dst[0]));
}

int symm_cuda_launch_reduce(symm_queue_t *queue, const symm_reduce_t *reduce, uint32_t blocks)
{
    char name[SYMM_REDUCE_KERNEL_NAME_MAX];
    symm_reduce_params_t params = {0}; /* what is not used is alike in like launches */
    if (0 != symm_reduce_kernel_name(reduce->op, reduce->dtype, name, sizeof(name))) {
        return MPI_ERR_OP;
    }
    symm_cuda_kernel_t kernel = {SYMM_FATBIN_REDUCE, name,
                                 &queue->device->reduce_kernels[reduce->op][reduce->dtype]};
    fill_params(reduce, &params);
    return symm_cuda_launch(queue, &kernel, &params, sizeof(params), blocks, SYMM_REDUCE_THREADS);
}

int symm_cuda_reduce(symm_queue_t *queue, const symm_reduce_t *reduce, uint32_t blocks)
{
    symm_cuda_scope_t scope;
    if (SYMM_REDUCE_MAX_RANKS < reduce->nsrc || SYMM_REDUCE_MAX_RANKS < reduce->ndst) {
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    int rc = symm_cuda_queue_begin(queue, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = symm_cuda_launch_reduce(queue, reduce, blocks);
    symm_cuda_queue_end(queue, &scope);
    return rc;
}
