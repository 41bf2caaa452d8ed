/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Copies and fills, between any two kinds of memory. */
#include "symm_config.h"

#include "fake_copy.h"

#include "fake_context.h"
#include "fake_entry.h"
#include "fake_report.h"
#include "fake_space.h"
#include "fake_stream.h"

#include <stdlib.h>
#include <string.h>

/* One end of a copy, or all of a fill. */
typedef struct end {
    uintptr_t address;
    bool write;
    bool fill;
} end_t;

typedef struct copy_work {
    fake_work_t super;
    uintptr_t dst;
    uintptr_t src;
    size_t len;
    void *staged; /* the source's bytes, when they were taken at the call; NULL otherwise */
    int fill;     /* the byte to fill with, -1 for a copy */
} copy_work_t;

static fake_place_t resolve(end_t end, size_t len, int gpu, char **bytes_p, const char **why_p)
{
    /* A copy finds its way to another device's memory, a fill does not. */
    fake_access_t access = {.gpu = gpu, .kernel = end.fill, .write = end.write};
    return fake_space_resolve(end.address, len, &access, bytes_p, why_p);
}

static const char *role(end_t end)
{
    return end.write ? "destination" : "source";
}

/* ---- when it runs ---- */

/* The bytes of one end, NULL when it cannot be touched, which breaks the context. */
static char *bytes_of(end_t end, size_t len, CUcontext context)
{
    char *bytes;
    const char *why;
    fake_place_t place = resolve(end, len, context->gpu, &bytes, &why);
    if (FAKE_PLACE_OUTSIDE == place || FAKE_PLACE_FAULT == place) {
        fake_context_fault(context, "copy of %zu bytes, %s %p: %s", len, role(end),
                           (void *) end.address, why);
        return NULL;
    }
    return bytes;
}

static void run_copy(fake_work_t *super, CUcontext context)
{
    copy_work_t *work = (copy_work_t *) super;
    fake_space_read();
    char *dst = bytes_of((end_t){work->dst, true, 0 <= work->fill}, work->len, context);
    const char *src = NULL;
    if (0 > work->fill && NULL != dst) {
        src = NULL != work->staged ? work->staged
                                   : bytes_of((end_t){work->src, false, false}, work->len, context);
    }
    if (NULL != dst && 0 <= work->fill) {
        memset(dst, work->fill, work->len);
    } else if (NULL != dst && NULL != src) {
        memmove(dst, src, work->len);
    }
    fake_space_unlock();
}

static void free_copy(fake_work_t *super)
{
    copy_work_t *work = (copy_work_t *) super;
    free(work->staged);
    free(work);
}

/* ---- when it is asked for ---- */

/* What the driver sees at the call: that it knows the memory, and that it may not be touched so.
 * What changes until the work runs, it does not see. */
static CUresult check_end(end_t end, size_t len, int gpu, fake_place_t *place_p)
{
    char *bytes;
    const char *why;
    *place_p = resolve(end, len, gpu, &bytes, &why);
    if (FAKE_PLACE_OUTSIDE == *place_p || FAKE_PLACE_FAULT == *place_p ||
        (end.fill && FAKE_PLACE_PAGEABLE == *place_p)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes, %s %p: %s", len, role(end),
                           (void *) end.address, why);
    }
    return CUDA_SUCCESS;
}

static CUresult queue_copy(CUstream stream, const copy_work_t *copy, bool stage)
{
    copy_work_t *work = malloc(sizeof(*work));
    void *staged = stage ? malloc(copy->len) : NULL;
    if (NULL == work || (stage && NULL == staged)) {
        free(work);
        free(staged);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *work = *copy;
    work->super.run = run_copy;
    work->super.free = free_copy;
    work->staged = staged;
    if (stage) {
        memcpy(staged, (const void *) copy->src, copy->len);
    }
    fake_stream_queue(stream, &work->super);
    return CUDA_SUCCESS;
}

static bool is_host(fake_place_t place)
{
    return FAKE_PLACE_PAGEABLE == place || FAKE_PLACE_PINNED == place;
}

/* Whether a copy is done when the call returns. The manual: from host to host always; to pageable
 * memory it "might be". It is on today's GPUs, but a program that counts on it is wrong, so we are
 * not unless FAKE_CUDA_PAGEABLE_SYNC=1 asks for it. */
static bool is_synchronous(fake_place_t to, fake_place_t from)
{
    bool asked = 0 != fake_env_number("FAKE_CUDA_PAGEABLE_SYNC", 0);
    return is_host(to) && (is_host(from) || (asked && FAKE_PLACE_PAGEABLE == to));
}

/* Looks at both ends. */
static CUresult check_copy(const copy_work_t *copy, int gpu, fake_place_t *dst_p,
                           fake_place_t *src_p)
{
    fake_space_read();
    CUresult result = check_end((end_t){copy->dst, true, false}, copy->len, gpu, dst_p);
    if (CUDA_SUCCESS == result) {
        result = check_end((end_t){copy->src, false, false}, copy->len, gpu, src_p);
    }
    fake_space_unlock();
    return result;
}

/* Whether a node's copy is of one row, with nothing set that a row does not have. */
static bool is_row(const CUDA_MEMCPY3D *node)
{
    return CU_MEMORYTYPE_UNIFIED == node->srcMemoryType &&
           CU_MEMORYTYPE_UNIFIED == node->dstMemoryType && 1 == node->Height && 1 == node->Depth &&
           0 == (node->srcXInBytes | node->srcY | node->srcZ | node->srcLOD | node->srcPitch |
                 node->srcHeight) &&
           0 == (node->dstXInBytes | node->dstY | node->dstZ | node->dstLOD | node->dstPitch |
                 node->dstHeight) &&
           NULL == node->srcHost && NULL == node->dstHost && NULL == node->srcArray &&
           NULL == node->dstArray && NULL == node->reserved0 && NULL == node->reserved1;
}

CUresult fake_copy_read(const CUDA_MEMCPY3D *node, fake_copy_t *copy_p)
{
    if (NULL == node || !is_row(node) || 0 == node->WidthInBytes) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a copy that is not of one row");
    }
    *copy_p =
        (fake_copy_t){(uintptr_t) node->dstDevice, (uintptr_t) node->srcDevice, node->WidthInBytes};
    return CUDA_SUCCESS;
}

CUresult fake_copy_queue(const fake_copy_t *copy, CUstream stream)
{
    fake_place_t to, from;
    copy_work_t work = {.dst = copy->dst, .src = copy->src, .len = copy->len, .fill = -1};
    CUresult result = check_copy(&work, fake_stream_context(stream)->gpu, &to, &from);
    if (CUDA_SUCCESS == result && (FAKE_PLACE_PAGEABLE == to || FAKE_PLACE_PAGEABLE == from)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a graph's copy of ordinary memory");
    }
    return CUDA_SUCCESS == result ? queue_copy(stream, &work, false) : result;
}

CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_QUEUES);
    CUresult result = fake_stream_check(hStream);
    if (CUDA_SUCCESS != result || 0 == ByteCount) {
        return result;
    }
    fake_place_t to, from;
    copy_work_t copy = {
        .dst = (uintptr_t) dst, .src = (uintptr_t) src, .len = ByteCount, .fill = -1};
    result = check_copy(&copy, fake_stream_context(hStream)->gpu, &to, &from);
    if (CUDA_SUCCESS != result) {
        return result;
    }
    result = queue_copy(hStream, &copy, FAKE_PLACE_PAGEABLE == from);
    if (CUDA_SUCCESS == result && is_synchronous(to, from)) {
        fake_stream_drain(hStream);
    }
    return fake_leave(result);
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                 CUstream hStream)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_QUEUES);
    CUresult result = fake_stream_check(hStream);
    if (CUDA_SUCCESS != result || 0 == N) {
        return result;
    }
    fake_place_t place;
    copy_work_t fill = {.dst = (uintptr_t) dstDevice, .len = N, .fill = uc};
    fake_space_read();
    result = check_end((end_t){fill.dst, true, true}, N, fake_stream_context(hStream)->gpu, &place);
    fake_space_unlock();
    return fake_leave(CUDA_SUCCESS == result ? queue_copy(hStream, &fill, false) : result);
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    CUcontext context = fake_context_current();
    fake_place_t place;
    copy_work_t fill = {.dst = (uintptr_t) dstDevice, .len = N, .fill = uc};
    fake_space_read();
    CUresult result = check_end((end_t){fill.dst, true, true}, N, context->gpu, &place);
    fake_space_unlock();
    if (CUDA_SUCCESS != result) {
        return result;
    }
    fake_context_drain(context, false);
    run_copy(&fill.super, context);
    return fake_context_sticky(context);
}

/* ---- synchronous copies: of the legacy stream, so behind the blocking streams ---- */

static CUresult copy_now(uintptr_t dst, uintptr_t src, size_t len)
{
    CUcontext context = fake_context_current();
    copy_work_t copy = {.dst = dst, .src = src, .len = len, .fill = -1};
    fake_place_t to, from;
    if (0 == len) {
        return CUDA_SUCCESS;
    }
    CUresult result = check_copy(&copy, context->gpu, &to, &from);
    if (CUDA_SUCCESS == result) {
        fake_context_drain(context, false);
        run_copy(&copy.super, context);
        result = fake_context_sticky(context);
    }
    return result;
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    return copy_now((uintptr_t) dst, (uintptr_t) src, ByteCount);
}

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    return copy_now((uintptr_t) dstDevice, (uintptr_t) srcHost, ByteCount);
}

CUresult CUDAAPI cuMemcpyDtoH(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    return copy_now((uintptr_t) dstHost, (uintptr_t) srcDevice, ByteCount);
}
