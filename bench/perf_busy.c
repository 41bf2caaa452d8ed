/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See perf_busy.h. */
#include "symm_config.h"

#include "perf_busy.h"

#include "perf_busy_params.h"
#include "perf_cuda.h"
#include "perf_world.h"

typedef int result_t;     /* CUresult */
typedef void *module_t;   /* CUmodule */
typedef void *function_t; /* CUfunction */
typedef void *stream_t;   /* CUstream */
typedef void *event_t;    /* CUevent */

#define STREAM_NON_BLOCKING 1 /* CU_STREAM_NON_BLOCKING */
#define EVENT_DEFAULT       0 /* CU_EVENT_DEFAULT */

#define FIRST_STEPS  ((uint64_t) 1000)
#define MOST_STEPS   ((uint64_t) 1000000)
#define CALIBRATIONS 3

/* SYMBOL(name in this file, name in the library, arguments) */
#define SYMBOL_LIST(SYMBOL)                                                                        \
    SYMBOL(module_load, "cuModuleLoadData", (module_t * module_p, const void *image))              \
    SYMBOL(module_unload, "cuModuleUnload", (module_t module))                                     \
    SYMBOL(get_function, "cuModuleGetFunction",                                                    \
           (function_t * function_p, module_t module, const char *name))                           \
    SYMBOL(stream_create, "cuStreamCreate", (stream_t * stream_p, unsigned flags))                 \
    SYMBOL(stream_destroy, "cuStreamDestroy_v2", (stream_t stream))                                \
    SYMBOL(stream_synchronize, "cuStreamSynchronize", (stream_t stream))                           \
    SYMBOL(event_create, "cuEventCreate", (event_t * event_p, unsigned flags))                     \
    SYMBOL(event_destroy, "cuEventDestroy_v2", (event_t event))                                    \
    SYMBOL(event_record, "cuEventRecord", (event_t event, stream_t stream))                        \
    SYMBOL(event_elapsed, "cuEventElapsedTime", (float *ms_p, event_t from, event_t to))           \
    SYMBOL(launch, "cuLaunchKernel",                                                               \
           (function_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,                \
            unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,           \
            stream_t stream, void **params, void **extra))

#define DECLARE(name, symbol, arguments) result_t(*name) arguments;
static struct {
    SYMBOL_LIST(DECLARE)
} driver;

#define DESCRIBE(name, symbol, arguments) {symbol, (void **) &driver.name},
static const perf_cuda_symbol_t symbols[] = {SYMBOL_LIST(DESCRIBE)};

static struct {
    module_t module;
    function_t function;
    stream_t stream;
    event_t before, after;
    perf_busy_params_t params;
    unsigned blocks;
} busy;

#if SYMM_HAVE_KERNELS

extern const unsigned char perf_busy_image[] __attribute__((visibility("hidden")));

static const void *get_image(void)
{
    return perf_busy_image;
}

#else

static const void *get_image(void)
{
    return NULL;
}

#endif

static bool load_kernel(char *reason)
{
    if (NULL == get_image()) {
        return perf_refuse(reason, "built without nvcc, there is no compute kernel");
    }
    return perf_cuda_find(symbols, sizeof(symbols) / sizeof(symbols[0]), reason) &&
           perf_cuda_succeeded(driver.module_load(&busy.module, get_image()), "cuModuleLoadData",
                               reason) &&
           perf_cuda_succeeded(driver.get_function(&busy.function, busy.module, PERF_BUSY_KERNEL),
                               "cuModuleGetFunction", reason);
}

bool perf_busy_open(char *reason)
{
    if (!load_kernel(reason)) {
        return false;
    }
    busy.params.sink = perf_cuda_allocate(sizeof(float), reason);
    busy.params.steps = FIRST_STEPS;
    busy.blocks = (unsigned) perf_cuda_multiprocessors() * PERF_BUSY_BLOCKS_PER_MULTIPROCESSOR *
                  PERF_BUSY_WAVES;
    return NULL != busy.params.sink &&
           perf_cuda_succeeded(driver.stream_create(&busy.stream, STREAM_NON_BLOCKING),
                               "cuStreamCreate", reason) &&
           perf_cuda_succeeded(driver.event_create(&busy.before, EVENT_DEFAULT), "cuEventCreate",
                               reason) &&
           perf_cuda_succeeded(driver.event_create(&busy.after, EVENT_DEFAULT), "cuEventCreate",
                               reason);
}

void perf_busy_close(void)
{
    perf_cuda_must(driver.event_destroy(busy.after), "cuEventDestroy");
    perf_cuda_must(driver.event_destroy(busy.before), "cuEventDestroy");
    perf_cuda_must(driver.stream_destroy(busy.stream), "cuStreamDestroy");
    perf_cuda_must(driver.module_unload(busy.module), "cuModuleUnload");
    perf_cuda_free(busy.params.sink);
}

void perf_busy_start(void)
{
    void *params[] = {&busy.params};
    perf_cuda_must(driver.event_record(busy.before, busy.stream), "cuEventRecord");
    perf_cuda_must(driver.launch(busy.function, busy.blocks, 1, 1, PERF_BUSY_THREADS, 1, 1, 0,
                                 busy.stream, params, NULL),
                   "cuLaunchKernel");
    perf_cuda_must(driver.event_record(busy.after, busy.stream), "cuEventRecord");
}

double perf_busy_finish(void)
{
    float ms = 0;
    perf_cuda_must(driver.stream_synchronize(busy.stream), "cuStreamSynchronize");
    perf_cuda_must(driver.event_elapsed(&ms, busy.before, busy.after), "cuEventElapsedTime");
    return (double) ms * 1e-3;
}

void perf_busy_set(double seconds)
{
    for (int i = 0; i < CALIBRATIONS; ++i) { /* the first ones may be slow */
        perf_busy_start();
        double steps = (double) busy.params.steps * seconds / perf_busy_finish();
        busy.params.steps = 1 > steps ? 1 : MOST_STEPS < steps ? MOST_STEPS : (uint64_t) steps;
    }
}
