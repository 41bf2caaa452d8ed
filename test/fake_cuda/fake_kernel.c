/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The kernels of symm_reduce_ops.h's list, run by the host twin on the shadows of their operands.
 */
#include "symm_config.h"

#include "fake_kernel.h"

#include "fake_context.h"
#include "fake_entry.h"
#include "fake_object.h"
#include "fake_report.h"
#include "fake_space.h"
#include "fake_stream.h"
#include "symm_reduce.h"
#include "symm_reduce_ops.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks of a grid that hardware takes in the first dimension. */
#define GRID_MAX ((1u << 31) - 1)

/* What a block counter holds while its kernel runs. */
#define COUNTING 1u

typedef struct kernel {
    const char *name;
    symm_op_t op;
    symm_dtype_t dtype;
} kernel_t;

#define KERNEL(op, name, dtype, dtype_name, ctype, atype)                                          \
    {SYMM_REDUCE_KERNEL_PREFIX #name "_" #dtype_name, op, dtype},
static const kernel_t kernels[] = {SYMM_REDUCE_LIST(KERNEL)};
#undef KERNEL

#define KERNEL_COUNT (sizeof(kernels) / sizeof(kernels[0]))

struct CUfunc_st {
    CUmodule module;
    const kernel_t *kernel;
};

struct CUmod_st {
    fake_object_t object;
    struct CUfunc_st functions[KERNEL_COUNT];
};

typedef struct launch_work {
    fake_work_t super;
    fake_launch_t launch;
    const kernel_t *kernel;
} launch_work_t;

/* ---- modules ---- */

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    if (NULL == module || NULL == image) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "no image");
    }
    CUmodule made = calloc(1, sizeof(*made));
    if (NULL == made) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < KERNEL_COUNT; ++i) {
        made->functions[i] = (struct CUfunc_st){made, &kernels[i]};
    }
    fake_object_add(&made->object, FAKE_MODULE, fake_context_current());
    *module = made;
    return CUDA_SUCCESS;
}

void fake_module_free(CUmodule module)
{
    free(module);
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    if (!fake_object_remove(hmod, FAKE_MODULE)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CUcontext context = hmod->object.context;
    if (context != fake_context_current()) {
        (void) fake_misuse(CUDA_SUCCESS, "the module is of another context");
    }
    fake_context_drain(context, true);
    fake_module_free(hmod);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    if (!fake_object_check(hmod, FAKE_MODULE)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    for (size_t i = 0; i < KERNEL_COUNT; ++i) {
        if (0 == strcmp(name, kernels[i].name)) {
            *hfunc = &hmod->functions[i];
            return CUDA_SUCCESS;
        }
    }
    return fake_misuse(CUDA_ERROR_NOT_FOUND, "no kernel is named %s", name);
}

/* Whether function is one of a module that is still loaded. */
static bool check_function(CUfunction function)
{
    return NULL != function && fake_object_check(function->module, FAKE_MODULE);
}

/* ---- launching ---- */

static bool check_shape(const fake_launch_t *launch)
{
    return 1 <= launch->grid[0] && GRID_MAX >= launch->grid[0] && 1 == launch->grid[1] &&
           1 == launch->grid[2] && SYMM_REDUCE_THREADS == launch->block[0] &&
           1 == launch->block[1] && 1 == launch->block[2] && 0 == launch->shared_bytes;
}

static CUresult check_params(const symm_reduce_params_t *params)
{
    if (0 == params->nsrc || SYMM_REDUCE_MAX_RANKS < params->nsrc || 0 == params->ndst ||
        SYMM_REDUCE_MAX_RANKS < params->ndst) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a kernel with %u sources and %u destinations",
                           params->nsrc, params->ndst);
    }
    if (NULL == params->done_flag || NULL == params->block_counter_dev || 0 != params->reserved) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a kernel without a flag or counter, or with "
                                                     "its reserved word set");
    }
    return CUDA_SUCCESS;
}

CUresult fake_launch_read(const CUDA_KERNEL_NODE_PARAMS *node, fake_launch_t *launch_p)
{
    if (NULL == node || !check_function(node->func) || NULL == node->kernelParams ||
        NULL == node->kernelParams[0] || NULL != node->extra) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a kernel without function or parameters");
    }
    *launch_p = (fake_launch_t){
        .function = node->func,
        .grid = {node->gridDimX, node->gridDimY, node->gridDimZ},
        .block = {node->blockDimX, node->blockDimY, node->blockDimZ},
        .shared_bytes = node->sharedMemBytes,
    };
    memcpy(&launch_p->params, node->kernelParams[0], sizeof(launch_p->params));
    if (!check_shape(launch_p)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE,
                           "%u x %u x %u blocks of %u x %u x %u threads, "
                           "%u bytes of shared memory",
                           launch_p->grid[0], launch_p->grid[1], launch_p->grid[2],
                           launch_p->block[0], launch_p->block[1], launch_p->block[2],
                           launch_p->shared_bytes);
    }
    return check_params(&launch_p->params);
}

/* ---- running ---- */

/* A kernel that is being run. */
typedef struct run {
    CUcontext context;
    const launch_work_t *work;
    size_t len; /* bytes of each operand */
    const void *src[SYMM_REDUCE_MAX_RANKS];
    void *dst[SYMM_REDUCE_MAX_RANKS];
    uint32_t *counter;
    uint32_t *flag;
} run_t;

/* The bytes of what a kernel touches, NULL when it may not, which breaks the context. */
static void *touch(const run_t *run, const char *what, uint32_t index, const void *address,
                   size_t len, bool write)
{
    fake_access_t access = {.gpu = run->context->gpu, .kernel = true, .write = write};
    char *bytes;
    const char *why;
    fake_place_t place = fake_space_resolve((uintptr_t) address, len, &access, &bytes, &why);
    if (FAKE_PLACE_DEVICE == place || FAKE_PLACE_PINNED == place) {
        return bytes;
    }
    fake_context_fault(run->context, "kernel %s, %s %u, %zu bytes at %p: %s",
                       run->work->kernel->name, what, index, len, address, why);
    return NULL;
}

static bool touch_operands(run_t *run)
{
    const symm_reduce_params_t *params = &run->work->launch.params;
    for (uint32_t i = 0; i < params->nsrc; ++i) {
        run->src[i] = touch(run, "source", i, params->src[i], run->len, false);
        if (NULL == run->src[i]) {
            return false;
        }
    }
    for (uint32_t i = 0; i < params->ndst; ++i) {
        run->dst[i] = touch(run, "destination", i, params->dst[i], run->len, true);
        if (NULL == run->dst[i]) {
            return false;
        }
    }
    return true;
}

static bool touch_words(run_t *run)
{
    const symm_reduce_params_t *params = &run->work->launch.params;
    run->counter =
        touch(run, "block counter", 0, params->block_counter_dev, sizeof(uint32_t), true);
    run->flag = NULL == run->counter
                    ? NULL
                    : touch(run, "done flag", 0, params->done_flag, sizeof(uint32_t), true);
    return NULL != run->flag;
}

/* Whether two operands share some bytes without being the same. */
static bool overlap(const void *a, const void *b, size_t len)
{
    uintptr_t x = (uintptr_t) a;
    uintptr_t y = (uintptr_t) b;
    return x != y && (x < y ? y - x : x - y) < len;
}

/* A destination may be a source, byte for byte, but no other memory of the reduction. */
static void check_overlap(const run_t *run)
{
    const symm_reduce_params_t *params = &run->work->launch.params;
    for (uint32_t d = 0; d < params->ndst; ++d) {
        for (uint32_t s = 0; s < params->nsrc; ++s) {
            if (overlap(params->dst[d], params->src[s], run->len)) {
                (void) fake_misuse(CUDA_SUCCESS, "kernel %s: destination %u overlaps source %u",
                                   run->work->kernel->name, d, s);
            }
        }
        for (uint32_t other = 0; other < d; ++other) {
            if (params->dst[d] == params->dst[other] ||
                overlap(params->dst[d], params->dst[other], run->len)) {
                (void) fake_misuse(CUDA_SUCCESS, "kernel %s: destinations %u and %u overlap",
                                   run->work->kernel->name, other, d);
            }
        }
    }
}

static void reduce(run_t *run)
{
    const symm_reduce_params_t *params = &run->work->launch.params;
    symm_reduce_t reduction = {.op = run->work->kernel->op,
                               .dtype = run->work->kernel->dtype,
                               .count = params->count,
                               .nsrc = params->nsrc,
                               .ndst = params->ndst,
                               .src = run->src,
                               .dst = run->dst};
    uint32_t count = atomic_exchange((_Atomic uint32_t *) run->counter, COUNTING);
    if (0 != count) {
        (void) fake_misuse(CUDA_SUCCESS,
                           "kernel %s: its block counter is %u, not 0: not zeroed, "
                           "or in use by another kernel",
                           run->work->kernel->name, count);
    }
    (void) symm_reduce_host(&reduction); /* refuses only what is not in the list */
    atomic_store((_Atomic uint32_t *) run->counter, 0);
    /* Release, as the kernel's: who sees the flag sees what was written. */
    atomic_store_explicit((_Atomic uint32_t *) run->flag, params->done_value, memory_order_release);
}

static void run_launch(fake_work_t *super, CUcontext context)
{
    const launch_work_t *work = (const launch_work_t *) super;
    run_t run = {.context = context, .work = work};
    run.len = work->launch.params.count * symm_dtype_size(work->kernel->dtype);
    fake_space_read();
    if (touch_operands(&run) && touch_words(&run)) {
        check_overlap(&run);
        reduce(&run);
    }
    fake_space_unlock();
}

static void free_launch(fake_work_t *super)
{
    free(super);
}

CUresult fake_launch_queue(const fake_launch_t *launch, CUstream stream)
{
    if (!check_function(launch->function)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (launch->function->module->object.context != fake_stream_context(stream)) {
        return fake_misuse(CUDA_ERROR_INVALID_HANDLE, "the stream is not of the kernel's context");
    }
    launch_work_t *work = malloc(sizeof(*work));
    if (NULL == work) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *work = (launch_work_t){.super = {.run = run_launch, .free = free_launch},
                            .launch = *launch,
                            .kernel = launch->function->kernel};
    fake_stream_queue(stream, &work->super);
    return CUDA_SUCCESS;
}
