/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See perf_cuda.h. The prototypes are those of the CUDA driver API manual, the symbols the
 * versioned ones that cuda.h maps them to. */
#include "symm_config.h"

#include "perf_cuda.h"
#include "perf_world.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

typedef int result_t;              /* CUresult */
typedef int device_t;              /* CUdevice */
typedef unsigned long long dptr_t; /* CUdeviceptr */
typedef void *context_t;           /* CUcontext */
typedef void *stream_t;            /* CUstream */

#define STREAM_NON_BLOCKING  1   /* CU_STREAM_NON_BLOCKING */
#define NOT_READY            600 /* CUDA_ERROR_NOT_READY */
#define MULTIPROCESSOR_COUNT 16  /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */

/* SYMBOL(name in this file, name in the library, arguments) */
#define SYMBOL_LIST(SYMBOL)                                                                        \
    SYMBOL(init, "cuInit", (unsigned flags))                                                       \
    SYMBOL(get_error_string, "cuGetErrorString", (result_t result, const char **text_p))           \
    SYMBOL(driver_get_version, "cuDriverGetVersion", (int *version_p))                             \
    SYMBOL(device_get_count, "cuDeviceGetCount", (int *count_p))                                   \
    SYMBOL(device_get, "cuDeviceGet", (device_t * device_p, int ordinal))                          \
    SYMBOL(device_get_name, "cuDeviceGetName", (char *name, int len, device_t device))             \
    SYMBOL(device_get_attribute, "cuDeviceGetAttribute",                                           \
           (int *value_p, int attribute, device_t device))                                         \
    SYMBOL(context_retain, "cuDevicePrimaryCtxRetain", (context_t * context_p, device_t device))   \
    SYMBOL(context_release, "cuDevicePrimaryCtxRelease_v2", (device_t device))                     \
    SYMBOL(context_set_current, "cuCtxSetCurrent", (context_t context))                            \
    SYMBOL(stream_create, "cuStreamCreate", (stream_t * stream_p, unsigned flags))                 \
    SYMBOL(stream_destroy, "cuStreamDestroy_v2", (stream_t stream))                                \
    SYMBOL(stream_synchronize, "cuStreamSynchronize", (stream_t stream))                           \
    SYMBOL(stream_query, "cuStreamQuery", (stream_t stream))                                       \
    SYMBOL(memory_allocate, "cuMemAlloc_v2", (dptr_t * memory_p, size_t len))                      \
    SYMBOL(memory_free, "cuMemFree_v2", (dptr_t memory))                                           \
    SYMBOL(memory_copy, "cuMemcpyAsync", (dptr_t dst, dptr_t src, size_t len, stream_t stream))

#define DECLARE(name, symbol, arguments) result_t(*name) arguments;
static struct {
    SYMBOL_LIST(DECLARE)
} driver;

#define DESCRIBE(name, symbol, arguments) {symbol, (void **) &driver.name},
static const perf_cuda_symbol_t symbols[] = {SYMBOL_LIST(DESCRIBE)};

static struct {
    bool ready;
    device_t device;
    context_t context;
    stream_t stream;
    char text[PERF_TEXT_MAX];
} gpu;

bool perf_cuda_find(const perf_cuda_symbol_t *wanted, size_t count, char *reason)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (NULL == library) {
        return perf_refuse(reason, "no CUDA driver: %s", dlerror());
    }
    for (size_t i = 0; i < count; ++i) {
        *wanted[i].slot = dlsym(library, wanted[i].symbol);
        if (NULL == *wanted[i].slot) {
            return perf_refuse(reason, "the CUDA driver has no %s", wanted[i].symbol);
        }
    }
    return true; /* the library stays open until the process ends */
}

static const char *error_text(result_t result)
{
    const char *text = NULL;
    (void) driver.get_error_string(result, &text); /* the default below does */
    return NULL == text ? "unknown error" : text;
}

bool perf_cuda_succeeded(int result, const char *call, char *reason)
{
    return 0 == result || perf_refuse(reason, "%s: %s", call, error_text(result));
}

void perf_cuda_must(int result, const char *call)
{
    if (0 != result) {
        perf_fatal("%s: %s", call, error_text(result));
    }
}

static void describe(int ordinal, int count)
{
    char name[96] = "GPU";
    int version = 0;
    (void) driver.device_get_name(name, (int) sizeof(name), gpu.device); /* the defaults do */
    (void) driver.driver_get_version(&version);
    (void) snprintf(gpu.text, sizeof(gpu.text), "%s, device %d of %d, driver for CUDA %d.%d", name,
                    ordinal, count, version / 1000, version % 1000 / 10);
}

static bool choose_device(int local_rank, char *reason)
{
    int count = 0;
    if (!perf_cuda_succeeded(driver.init(0), "cuInit", reason) ||
        !perf_cuda_succeeded(driver.device_get_count(&count), "cuDeviceGetCount", reason)) {
        return false;
    }
    if (0 == count) {
        return perf_refuse(reason, "no GPU is visible; check CUDA_VISIBLE_DEVICES");
    }
    int ordinal = local_rank % count;
    if (!perf_cuda_succeeded(driver.device_get(&gpu.device, ordinal), "cuDeviceGet", reason)) {
        return false;
    }
    describe(ordinal, count);
    return true;
}

bool perf_cuda_open(int local_rank, char *reason)
{
    if (!perf_cuda_find(symbols, sizeof(symbols) / sizeof(symbols[0]), reason) ||
        !choose_device(local_rank, reason) ||
        !perf_cuda_succeeded(driver.context_retain(&gpu.context, gpu.device),
                             "cuDevicePrimaryCtxRetain", reason)) {
        return false;
    }
    gpu.ready =
        perf_cuda_succeeded(driver.context_set_current(gpu.context), "cuCtxSetCurrent", reason) &&
        perf_cuda_succeeded(driver.stream_create(&gpu.stream, STREAM_NON_BLOCKING),
                            "cuStreamCreate", reason);
    if (!gpu.ready) {
        (void) driver.context_release(gpu.device); /* the reason is told already */
    }
    return gpu.ready;
}

void perf_cuda_close(void)
{
    if (gpu.ready) {
        perf_cuda_must(driver.stream_destroy(gpu.stream), "cuStreamDestroy");
        perf_cuda_must(driver.context_release(gpu.device), "cuDevicePrimaryCtxRelease");
        gpu.ready = false;
    }
}

bool perf_cuda_ready(void)
{
    return gpu.ready;
}

const char *perf_cuda_text(void)
{
    return gpu.text;
}

void perf_cuda_start_copy(void *dst, const void *src, size_t len)
{
    perf_cuda_must(
        driver.memory_copy((dptr_t) (uintptr_t) dst, (dptr_t) (uintptr_t) src, len, gpu.stream),
        "cuMemcpyAsync");
}

void perf_cuda_copy(void *dst, const void *src, size_t len)
{
    perf_cuda_start_copy(dst, src, len);
    perf_cuda_must(driver.stream_synchronize(gpu.stream),
                   "cuStreamSynchronize after cuMemcpyAsync");
}

void perf_cuda_synchronize(void)
{
    perf_cuda_must(driver.stream_synchronize(gpu.stream), "cuStreamSynchronize");
}

bool perf_cuda_idle(void)
{
    result_t result = driver.stream_query(gpu.stream);
    if (NOT_READY != result) {
        perf_cuda_must(result, "cuStreamQuery");
    }
    return NOT_READY != result;
}

int perf_cuda_multiprocessors(void)
{
    int count = 0;
    perf_cuda_must(driver.device_get_attribute(&count, MULTIPROCESSOR_COUNT, gpu.device),
                   "cuDeviceGetAttribute");
    return count;
}

void *perf_cuda_stream(void)
{
    return gpu.stream;
}

void *perf_cuda_allocate(size_t len, char *reason)
{
    dptr_t memory = 0;
    if (!perf_cuda_succeeded(driver.memory_allocate(&memory, len), "cuMemAlloc", reason)) {
        return NULL;
    }
    return (void *) (uintptr_t) memory;
}

void perf_cuda_free(void *memory)
{
    perf_cuda_must(driver.memory_free((dptr_t) (uintptr_t) memory), "cuMemFree");
}
