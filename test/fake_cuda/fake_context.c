/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Contexts: one primary context a device, and those that the program makes. Their structs are kept
 * for the life of the process, so that a stale handle can be told; but a new context gets the
 * handle of one that has ended, as it well may on a real driver. */
#include "symm_config.h"

#include "fake_context.h"

#include "fake_entry.h"
#include "fake_kernel.h"
#include "fake_machine.h"
#include "fake_object.h"
#include "fake_report.h"
#include "fake_space.h"
#include "fake_stream.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_MAX    64 /* contexts pushed in a thread */
#define CONTEXTS_MAX 256

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext contexts[CONTEXTS_MAX];
static int context_count;
static CUcontext primary[FAKE_GPUS_MAX];
static atomic_bool any_fault;

static _Thread_local CUcontext stack[STACK_MAX];
static _Thread_local int depth;

/* ---- the current one ---- */

CUcontext fake_context_current(void)
{
    return 0 < depth ? stack[depth - 1] : NULL;
}

static bool is_known(CUcontext context)
{
    bool known = false;
    (void) pthread_mutex_lock(&lock); /* fails only on misuse */
    for (int i = 0; i < context_count; ++i) {
        known = known || contexts[i] == context;
    }
    (void) pthread_mutex_unlock(&lock);
    return known;
}

static bool is_alive(CUcontext context)
{
    (void) pthread_mutex_lock(&lock);
    bool alive = context->alive;
    (void) pthread_mutex_unlock(&lock);
    return alive;
}

CUresult fake_context_sticky(CUcontext context)
{
    (void) pthread_mutex_lock(&context->lock);
    CUresult sticky = context->sticky;
    (void) pthread_mutex_unlock(&context->lock);
    return sticky;
}

CUresult fake_context_usable(void)
{
    CUcontext context = fake_context_current();
    if (NULL == context) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return is_alive(context) ? fake_context_sticky(context) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

void fake_context_fault(CUcontext context, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void) vsnprintf(text, sizeof(text), format, args); /* cut when too long */
    va_end(args);
    (void) pthread_mutex_lock(&context->lock);
    context->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
    (void) pthread_mutex_unlock(&context->lock);
    atomic_store(&any_fault, true);
    (void) fake_misuse(CUDA_ERROR_ILLEGAL_ADDRESS, "device %d: %s", context->device, text);
}

bool fake_context_any_fault(void)
{
    return atomic_load(&any_fault);
}

/* ---- work ---- */

void fake_context_begin(CUcontext context, bool blocking)
{
    (void) pthread_mutex_lock(&context->lock);
    ++context->pending[blocking ? 0 : 1];
    (void) pthread_mutex_unlock(&context->lock);
}

void fake_context_end(CUcontext context, bool blocking)
{
    (void) pthread_mutex_lock(&context->lock);
    --context->pending[blocking ? 0 : 1];
    (void) pthread_cond_broadcast(&context->idle);
    (void) pthread_mutex_unlock(&context->lock);
}

void fake_context_drain(CUcontext context, bool non_blocking_too)
{
    (void) pthread_mutex_lock(&context->lock);
    while (0 < context->pending[0] || (non_blocking_too && 0 < context->pending[1])) {
        (void) pthread_cond_wait(&context->idle, &context->lock);
    }
    (void) pthread_mutex_unlock(&context->lock);
}

/* ---- life ---- */

/* One that has ended and is used again, NULL when there is none. Under the lock. */
static CUcontext ended_context(void)
{
    for (int i = 0; i < context_count; ++i) {
        if (!contexts[i]->primary && !contexts[i]->alive) {
            return contexts[i];
        }
    }
    return NULL;
}

/* Under the lock. */
static CUcontext empty_context(void)
{
    CUcontext context = CONTEXTS_MAX == context_count ? NULL : calloc(1, sizeof(*context));
    if (NULL != context) {
        (void) pthread_mutex_init(&context->lock, NULL); /* cannot fail with default attributes */
        (void) pthread_cond_init(&context->idle, NULL);
        contexts[context_count++] = context;
    }
    return context;
}

/* Under the lock. */
static CUcontext new_context(CUdevice device, bool is_primary)
{
    static unsigned long long last_id;
    CUcontext context = is_primary ? NULL : ended_context();
    if (NULL == context) {
        context = empty_context();
    }
    if (NULL != context) {
        context->id = ++last_id;
        context->gpu = fake_machine_gpu(device);
        context->device = device;
        context->primary = is_primary;
        context->sticky = CUDA_SUCCESS;
    }
    return context;
}

/* The driver frees what is left in a context that ends; we say that something was. */
static void end_objects(CUcontext context)
{
    for (fake_kind_t kind = 0; kind < FAKE_KIND_COUNT; ++kind) {
        long left = fake_object_leaks(kind, context);
        if (0 < left && !fake_context_any_fault()) {
            fake_leak("%ld %s in a context of device %d that ends", left, fake_kind_name(kind),
                      context->device);
        }
    }
    CUstream stream = fake_object_any(FAKE_STREAM, context);
    for (; NULL != stream; stream = fake_object_any(FAKE_STREAM, context)) {
        (void) fake_object_remove(stream, FAKE_STREAM);
        fake_stream_end(stream);
    }
    CUmodule module = fake_object_any(FAKE_MODULE, context);
    for (; NULL != module; module = fake_object_any(FAKE_MODULE, context)) {
        (void) fake_object_remove(module, FAKE_MODULE);
        fake_module_free(module);
    }
}

static void end_memory(CUcontext context, fake_range_kind_t kind)
{
    fake_space_write();
    fake_range_t *range = fake_space_any(kind, context);
    for (; NULL != range; range = fake_space_any(kind, context)) {
        if (!fake_context_any_fault()) {
            fake_leak("%zu bytes at %p in a context of device %d that ends", range->len,
                      (void *) range->base, context->device);
        }
        fake_space_destroy(range);
    }
    fake_space_unlock();
}

static void end_context(CUcontext context)
{
    fake_context_drain(context, true);
    end_objects(context);
    end_memory(context, FAKE_DEVICE);
    end_memory(context, FAKE_PINNED);
    end_memory(context, FAKE_IPC);
    (void) pthread_mutex_lock(&lock);
    context->alive = false;
    (void) pthread_mutex_unlock(&lock);
}

long fake_context_references(void)
{
    long references = 0;
    (void) pthread_mutex_lock(&lock);
    for (int i = 0; i < FAKE_GPUS_MAX; ++i) {
        references += NULL == primary[i] ? 0 : primary[i]->references;
    }
    (void) pthread_mutex_unlock(&lock);
    return references;
}

/* ---- entry points ---- */

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    if (NULL == pctx) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "no place for the context");
    }
    if (0 > fake_machine_gpu(dev)) {
        return fake_misuse(CUDA_ERROR_INVALID_DEVICE, "there is no device %d", dev);
    }
    (void) pthread_mutex_lock(&lock);
    if (NULL == primary[dev]) {
        primary[dev] = new_context(dev, true);
    }
    CUcontext context = primary[dev];
    if (NULL != context) {
        context->alive = true;
        ++context->references;
        *pctx = context;
    }
    (void) pthread_mutex_unlock(&lock);
    return NULL == context ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice dev)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_ENDS);
    if (0 > fake_machine_gpu(dev)) {
        return fake_misuse(CUDA_ERROR_INVALID_DEVICE, "there is no device %d", dev);
    }
    (void) pthread_mutex_lock(&lock);
    CUcontext context = primary[dev];
    int before = NULL == context ? 0 : context->references;
    if (0 < before) {
        --context->references;
    }
    (void) pthread_mutex_unlock(&lock);
    if (0 == before) {
        return fake_misuse(CUDA_ERROR_INVALID_CONTEXT,
                           "device %d is released more often than "
                           "retained",
                           dev);
    }
    if (1 == before) {
        end_context(context);
    }
    return fake_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    if (0 > fake_machine_gpu(dev)) {
        return fake_misuse(CUDA_ERROR_INVALID_DEVICE, "there is no device %d", dev);
    }
    (void) pthread_mutex_lock(&lock);
    *flags = 0;
    *active = NULL != primary[dev] && primary[dev]->alive ? 1 : 0;
    (void) pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* The oldest form; cuda.h declares newer ones, which only tools need. */
#undef cuCtxCreate
FAKE_EXPORT CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    (void) flags; /* how to wait; we have one way */
    if (0 > fake_machine_gpu(dev)) {
        return fake_misuse(CUDA_ERROR_INVALID_DEVICE, "there is no device %d", dev);
    }
    if (STACK_MAX == depth) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%d contexts are pushed", depth);
    }
    (void) pthread_mutex_lock(&lock);
    CUcontext context = new_context(dev, false);
    if (NULL != context) {
        context->alive = true;
    }
    (void) pthread_mutex_unlock(&lock);
    if (NULL == context) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stack[depth++] = context;
    *pctx = context;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxDestroy(CUcontext ctx)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_ENDS);
    if (!is_known(ctx) || ctx->primary || !is_alive(ctx)) {
        return fake_misuse(CUDA_ERROR_INVALID_CONTEXT, "%p is no context of cuCtxCreate",
                           (void *) ctx);
    }
    end_context(ctx);
    if (ctx == fake_context_current()) {
        --depth;
    }
    return fake_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    *pctx = fake_context_current();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    CUcontext context = NULL == ctx ? fake_context_current() : ctx;
    if (NULL == context || !is_known(context) || !is_alive(context)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *ctxId = context->id;
    return CUDA_SUCCESS;
}

/* Whether ctx may become current: also a primary one that is released, which is no good for much.
 */
static CUresult check_context(CUcontext ctx)
{
    if (!is_known(ctx)) {
        return fake_misuse(CUDA_ERROR_INVALID_CONTEXT, "%p is no context", (void *) ctx);
    }
    if (!ctx->primary && !is_alive(ctx)) {
        return fake_misuse(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context of device %d has ended",
                           ctx->device);
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    if (NULL == ctx) {
        depth -= 0 < depth ? 1 : 0;
        return CUDA_SUCCESS;
    }
    CUresult result = check_context(ctx);
    if (CUDA_SUCCESS == result) {
        depth += 0 == depth ? 1 : 0;
        stack[depth - 1] = ctx;
    }
    return result;
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext ctx)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    CUresult result = check_context(ctx);
    if (CUDA_SUCCESS != result) {
        return result;
    }
    if (STACK_MAX == depth) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%d contexts are pushed", depth);
    }
    stack[depth++] = ctx;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *pctx)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_ENDS);
    if (0 == depth) {
        return fake_misuse(CUDA_ERROR_INVALID_CONTEXT, "no context is pushed in this thread");
    }
    CUcontext context = stack[--depth];
    if (NULL != pctx) {
        *pctx = context;
    }
    return fake_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    *device = fake_context_current()->device;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    fake_context_drain(fake_context_current(), true);
    return fake_context_sticky(fake_context_current());
}
