/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Modules and launches. What a kernel does is in a file per family, as fake_reduce.c. */
#include "symm_config.h"

#include "fake_kernel.h"

#include "fake_context.h"
#include "fake_entry.h"
#include "fake_object.h"
#include "fake_report.h"
#include "fake_space.h"
#include "fake_stream.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks of a grid that hardware takes in the first dimension. */
#define GRID_MAX ((1u << 31) - 1)

/* What a count of blocks holds while its kernel runs. */
#define COUNTING 1u

static const fake_family_t *const families[] = {&fake_family_atomic, &fake_family_batch,
                                                &fake_family_busy,   &fake_family_move,
                                                &fake_family_reduce, &fake_family_resident};

#define FAMILY_COUNT (sizeof(families) / sizeof(families[0]))

struct CUfunc_st {
    CUmodule module;
    const fake_kernel_t *kernel;
    CUfunction next;
};

struct CUmod_st {
    fake_object_t object;
    CUfunction functions; /* that were asked for */
};

typedef struct launch_work {
    fake_work_t super;
    fake_launch_t launch;
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
    fake_object_add(&made->object, FAKE_MODULE, fake_context_current());
    *module = made;
    return CUDA_SUCCESS;
}

void fake_module_free(CUmodule module)
{
    while (NULL != module->functions) {
        CUfunction function = module->functions;
        module->functions = function->next;
        free(function);
    }
    free(module);
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE | FAKE_ENDS);
    if (!fake_object_remove(hmod, FAKE_MODULE)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CUcontext context = hmod->object.context;
    if (context != fake_context_current()) {
        (void) fake_misuse(CUDA_SUCCESS, "the module is of another context");
    }
    fake_context_drain(context, true);
    fake_module_free(hmod);
    return fake_leave(CUDA_SUCCESS);
}

static const fake_kernel_t *find_kernel(const char *name)
{
    for (size_t f = 0; f < FAMILY_COUNT; ++f) {
        for (size_t i = 0; i < families[f]->count; ++i) {
            if (0 == strcmp(name, families[f]->kernels[i].name)) {
                return &families[f]->kernels[i];
            }
        }
    }
    return NULL;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    if (!fake_object_check(hmod, FAKE_MODULE)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    const fake_kernel_t *kernel = find_kernel(name);
    if (NULL == kernel) {
        return fake_misuse(CUDA_ERROR_NOT_FOUND, "no kernel is named %s", name);
    }
    CUfunction function = malloc(sizeof(*function));
    if (NULL == function) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *function = (struct CUfunc_st){hmod, kernel, hmod->functions};
    hmod->functions = function;
    *hfunc = function;
    return CUDA_SUCCESS;
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
           1 == launch->grid[2] && launch->kernel->family->threads == launch->block[0] &&
           1 == launch->block[1] && 1 == launch->block[2] && 0 == launch->shared_bytes;
}

static CUresult check_params(const fake_launch_t *launch)
{
    const symm_done_t *done = &launch->params.done;
    if (launch->kernel->family->tells && (NULL == done->flag || NULL == done->state)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a kernel without a flag or counters");
    }
    return launch->kernel->family->check(&launch->params);
}

CUresult fake_launch_read(const CUDA_KERNEL_NODE_PARAMS *node, fake_launch_t *launch_p)
{
    if (NULL == node || !check_function(node->func) || NULL == node->kernelParams ||
        NULL == node->kernelParams[0] || NULL != node->extra) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a kernel without function or parameters");
    }
    *launch_p = (fake_launch_t){
        .function = node->func,
        .kernel = node->func->kernel,
        .grid = {node->gridDimX, node->gridDimY, node->gridDimZ},
        .block = {node->blockDimX, node->blockDimY, node->blockDimZ},
        .shared_bytes = node->sharedMemBytes,
    };
    memcpy(&launch_p->params, node->kernelParams[0], launch_p->kernel->family->params_len);
    if (!check_shape(launch_p)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE,
                           "%u x %u x %u blocks of %u x %u x %u threads, "
                           "%u bytes of shared memory",
                           launch_p->grid[0], launch_p->grid[1], launch_p->grid[2],
                           launch_p->block[0], launch_p->block[1], launch_p->block[2],
                           launch_p->shared_bytes);
    }
    return check_params(launch_p);
}

/* ---- running ---- */

void *fake_kernel_touch(const fake_run_t *run, const char *what, uint32_t index,
                        const void *address, size_t len, bool write)
{
    fake_access_t access = {.gpu = run->context->gpu, .kernel = true, .write = write};
    char *bytes;
    const char *why;
    fake_place_t place = fake_space_resolve((uintptr_t) address, len, &access, &bytes, &why);
    if (FAKE_PLACE_DEVICE == place || FAKE_PLACE_PINNED == place) {
        return bytes;
    }
    fake_context_fault(run->context, "kernel %s, %s %u, %zu bytes at %p: %s",
                       run->launch->kernel->name, what, index, len, address, why);
    return NULL;
}

/* Does the kernel's work between claiming the count of blocks and writing the flag. */
static void run_counted(const fake_run_t *run, symm_done_state_t *state, _Atomic uint32_t *flag)
{
    const fake_launch_t *launch = run->launch;
    uint32_t count = __atomic_exchange_n(&state->blocks, COUNTING, __ATOMIC_SEQ_CST);
    if (0 != count) {
        (void) fake_misuse(CUDA_SUCCESS,
                           "kernel %s: its count of blocks is %u, not 0: not zeroed, "
                           "or in use by another kernel",
                           launch->kernel->name, count);
    }
    if (launch->kernel->family->run(run)) {
        ++state->launches;
        __atomic_store_n(&state->blocks, 0, __ATOMIC_SEQ_CST);
        /* Release, as the kernel's: who sees the flag sees what was written. */
        atomic_store_explicit(flag, state->launches, memory_order_release);
    }
}

/* A kernel that tells its end. */
static void run_telling(const fake_run_t *run)
{
    const symm_done_t *done = &run->launch->params.done;
    void *state =
        fake_kernel_touch(run, "counters", 0, done->state, sizeof(symm_done_state_t), true);
    void *flag = NULL == state
                     ? NULL
                     : fake_kernel_touch(run, "done flag", 0, done->flag, sizeof(uint32_t), true);
    if (NULL != flag) {
        run_counted(run, state, flag);
    }
}

static void run_launch(fake_work_t *super, CUcontext context)
{
    const launch_work_t *work = (const launch_work_t *) super;
    fake_run_t run = {.context = context, .launch = &work->launch};
    if (NULL != work->launch.kernel->family->stay) {
        work->launch.kernel->family->stay(&run);
        return;
    }
    fake_space_read();
    if (work->launch.kernel->family->tells) {
        run_telling(&run);
    } else {
        (void) work->launch.kernel->family->run(&run); /* what it may not do is told */
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
    *work = (launch_work_t){.super = {.run = run_launch, .free = free_launch}, .launch = *launch};
    fake_stream_queue(stream, &work->super);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX,
                                unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
                                void **extra)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_QUEUES);
    const CUDA_KERNEL_NODE_PARAMS node = {
        .func = f,
        .gridDimX = gridDimX,
        .gridDimY = gridDimY,
        .gridDimZ = gridDimZ,
        .blockDimX = blockDimX,
        .blockDimY = blockDimY,
        .blockDimZ = blockDimZ,
        .sharedMemBytes = sharedMemBytes,
        .kernelParams = kernelParams,
        .extra = extra,
    };
    fake_launch_t launch;
    CUresult result = fake_stream_check(hStream);
    result = CUDA_SUCCESS == result ? fake_launch_read(&node, &launch) : result;
    result = CUDA_SUCCESS == result ? fake_launch_queue(&launch, hStream) : result;
    return fake_leave(result);
}
