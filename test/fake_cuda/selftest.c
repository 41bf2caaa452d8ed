/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Shows that the fake driver catches what it is there to catch: each case misuses it once, in a
 * process of its own, and says how that process must end and what must have been written.
 *
 *     selftest             all cases
 *     selftest CASE        one case, as itself
 */
#include "symm_config.h"

#include <cuda.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_report.h"
#include "perf_busy_params.h"
#include "symm_reduce_params.h"

#define UNIT ((size_t) 2 << 20)

/* The function of the library under its newest name, typed as cuda.h declares it. */
#undef cuEventElapsedTime /* the fake has the first version */
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent first, CUevent second);
#define STRING_(x) #x
#define STRING(x)  STRING_(x)
#define CU(f)      ((__typeof__(&f)) find(STRING(f)))

static void *library;

static void *find(const char *name)
{
    void *function = dlsym(library, name);
    if (NULL == function) {
        fprintf(stderr, "no %s\n", name);
        exit(1);
    }
    return function;
}

static void need(CUresult result, CUresult wanted, const char *what)
{
    if (wanted != result) {
        fprintf(stderr, "%s returned %d, not %d\n", what, (int) result, (int) wanted);
        exit(1);
    }
}
#define OK(call)            need(call, CUDA_SUCCESS, #call)
#define RETURNS(code, call) need(call, code, #call)

/* ---- what cases are made of ---- */

static CUcontext context;

static void enter(void)
{
    OK(CU(cuInit)(0));
    OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
    OK(CU(cuCtxPushCurrent)(context));
}

static CUmemAllocationProp prop_of(CUdevice device)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
    };
    return prop;
}

static CUresult allow(CUdeviceptr at, size_t len, CUdevice device)
{
    CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    return CU(cuMemSetAccess)(at, len, &access, 1);
}

static CUmemGenericAllocationHandle handle;

/* Memory of a device, mapped, without access. */
static CUdeviceptr map(CUdevice device)
{
    CUdeviceptr at;
    CUmemAllocationProp prop = prop_of(device);
    OK(CU(cuMemCreate)(&handle, UNIT, &prop, 0));
    OK(CU(cuMemAddressReserve)(&at, UNIT, 0, 0, 0));
    OK(CU(cuMemMap)(at, UNIT, 0, handle, 0));
    return at;
}

static void unmap(CUdeviceptr at)
{
    OK(CU(cuMemUnmap)(at, UNIT));
    OK(CU(cuMemAddressFree)(at, UNIT));
    OK(CU(cuMemRelease)(handle));
}

static CUstream new_stream(void)
{
    CUstream stream;
    OK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

/* ---- cases ---- */

static void nothing_wrong(void)
{
    enter();
    CUdeviceptr at = map(0);
    OK(allow(at, UNIT, 0));
    OK(CU(cuMemsetD8)(at, 1, UNIT));
    unmap(at);
}

static void unmap_twice(void)
{
    enter();
    CUdeviceptr at = map(0);
    OK(CU(cuMemUnmap)(at, UNIT));
    RETURNS(CUDA_ERROR_INVALID_VALUE, CU(cuMemUnmap)(at, UNIT));
}

static void unmap_wrong_size(void)
{
    enter();
    CUdeviceptr at = map(0);
    RETURNS(CUDA_ERROR_INVALID_VALUE, CU(cuMemUnmap)(at, UNIT / 2));
    unmap(at);
}

static void free_what_is_mapped(void)
{
    enter();
    CUdeviceptr at = map(0);
    RETURNS(CUDA_ERROR_INVALID_VALUE, CU(cuMemAddressFree)(at, UNIT));
    unmap(at);
}

static void release_twice(void)
{
    enter();
    unmap(map(0));
    RETURNS(CUDA_ERROR_INVALID_VALUE, CU(cuMemRelease)(handle));
}

static void forget_a_mapping(void)
{
    enter();
    (void) map(0);
    OK(CU(cuMemRelease)(handle));
}

static void forget_a_handle(void)
{
    enter();
    CUdeviceptr at = map(0);
    OK(CU(cuMemUnmap)(at, UNIT));
    OK(CU(cuMemAddressFree)(at, UNIT));
}

static void forget_a_stream(void)
{
    enter();
    (void) new_stream();
}

static void load_by_the_host(void)
{
    enter();
    CUdeviceptr at = map(0);
    OK(allow(at, UNIT, 0));
    _exit(*(volatile char *) (uintptr_t) at);
}

static void store_to_device_memory_by_the_host(void)
{
    CUdeviceptr at;
    enter();
    OK(CU(cuMemAlloc)(&at, 16));
    *(volatile char *) (uintptr_t) at = 1;
}

static void work_without_a_context(void)
{
    CUdeviceptr at;
    OK(CU(cuInit)(0));
    RETURNS(CUDA_ERROR_INVALID_CONTEXT, CU(cuMemAlloc)(&at, 16));
}

static void work_before_init(void)
{
    int count;
    RETURNS(CUDA_ERROR_NOT_INITIALIZED, CU(cuDeviceGetCount)(&count));
}

static void pop_too_often(void)
{
    CUcontext popped;
    enter();
    OK(CU(cuCtxPopCurrent)(&popped));
    RETURNS(CUDA_ERROR_INVALID_CONTEXT, CU(cuCtxPopCurrent)(&popped));
}

static void touch_without_access(void)
{
    enter();
    CUdeviceptr at = map(0);
    RETURNS(CUDA_ERROR_INVALID_VALUE, CU(cuMemsetD8)(at, 1, UNIT));
    unmap(at);
}

static void copy_beyond_the_end(void)
{
    CUdeviceptr at;
    char bytes[32] = "";
    enter();
    OK(CU(cuMemAlloc)(&at, 16));
    RETURNS(CUDA_ERROR_INVALID_VALUE, CU(cuMemcpyHtoD)(at, bytes, 17));
    OK(CU(cuMemFree)(at));
}

/* The context is broken from then on. */
static void unmap_what_is_worked_on(void)
{
    enter();
    CUstream stream = new_stream();
    CUdeviceptr at = map(0);
    OK(allow(at, UNIT, 0));
    OK(CU(cuMemsetD8Async)(at, 1, UNIT, stream));
    OK(CU(cuMemUnmap)(at, UNIT));
    RETURNS(CUDA_ERROR_ILLEGAL_ADDRESS, CU(cuStreamSynchronize)(stream));
    RETURNS(CUDA_ERROR_ILLEGAL_ADDRESS, CU(cuMemAlloc)(&at, 16));
}

/* A copy from pinned memory reads it later than the call, a copy to the host writes it later. */
static void read_before_the_copy_is_done(void)
{
    void *memory;
    enter();
    CUstream stream = new_stream();
    OK(CU(cuMemHostAlloc)(&memory, 16, 0));
    char *pinned = memory;
    CUdeviceptr at;
    OK(CU(cuMemAlloc)(&at, 16));
    memset(pinned, 1, 16);
    OK(CU(cuMemcpyAsync)(at, (CUdeviceptr) (uintptr_t) pinned, 16, stream));
    pinned[0] = 2; /* too early */
    RETURNS(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(stream));
    OK(CU(cuStreamSynchronize)(stream));
    OK(CU(cuMemcpyAsync)((CUdeviceptr) (uintptr_t) pinned, at, 16, stream));
    fprintf(stderr, "%d", pinned[1]); /* there before as well */
    OK(CU(cuStreamSynchronize)(stream));
    fprintf(stderr, "%d", pinned[0]);
    OK(CU(cuStreamDestroy)(stream));
    OK(CU(cuMemFree)(at));
    OK(CU(cuMemFreeHost)(pinned));
}

static void a_kernel_that_is_not_there(void)
{
    CUmodule module;
    CUfunction function;
    enter();
    OK(CU(cuModuleLoadData)(&module, "image"));
    RETURNS(CUDA_ERROR_NOT_FOUND,
            CU(cuModuleGetFunction)(&function, module, "symm_reduce_sum_i32"));
    OK(CU(cuModuleUnload)(module));
}

/* Runs a sum of two numbers at src into dst. Returns what waiting for it returns. */
static CUresult sum(CUdeviceptr src, CUdeviceptr dst, CUdeviceptr state)
{
    CUmodule module;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    void *flag;
    CUstream stream = new_stream();
    OK(CU(cuMemHostAlloc)(&flag, 4, 0));
    symm_reduce_params_t params = {.count = 1, .nsrc = 2, .ndst = 1};
    params.done.state = (symm_done_state_t *) (uintptr_t) state;
    params.done.flag = flag;
    params.src[0] = (const void *) (uintptr_t) src;
    params.src[1] = (const void *) (uintptr_t) (src + 4);
    params.dst[0] = (void *) (uintptr_t) dst;
    void *arguments[] = {&params};
    CUDA_KERNEL_NODE_PARAMS kernel = {.gridDimX = 1,
                                      .gridDimY = 1,
                                      .gridDimZ = 1,
                                      .blockDimX = SYMM_REDUCE_THREADS,
                                      .blockDimY = 1,
                                      .blockDimZ = 1,
                                      .kernelParams = arguments};
    OK(CU(cuModuleLoadData)(&module, "image"));
    OK(CU(cuModuleGetFunction)(&kernel.func, module, "symm_reduce_sum_u32"));
    OK(CU(cuGraphCreate)(&graph, 0));
    OK(CU(cuGraphAddKernelNode)(&node, graph, NULL, 0, &kernel));
    OK(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    OK(CU(cuGraphLaunch)(exec, stream));
    CUresult result = CU(cuStreamSynchronize)(stream);
    (void) CU(cuGraphExecDestroy)(exec); /* in a broken context they fail */
    (void) CU(cuGraphDestroy)(graph);
    (void) CU(cuStreamDestroy)(stream);
    (void) CU(cuModuleUnload)(module);
    (void) CU(cuMemFreeHost)(flag);
    return result;
}

static CUdeviceptr words(const uint32_t *values, size_t count)
{
    CUdeviceptr at;
    OK(CU(cuMemAlloc)(&at, count * sizeof(uint32_t)));
    OK(CU(cuMemcpyHtoD)(at, values, count * sizeof(uint32_t)));
    return at;
}

static void a_kernel_that_works(void)
{
    uint32_t values[] = {3, 4, 0, 0, 0}, result = 0;
    enter();
    CUdeviceptr at = words(values, 5);
    OK(sum(at, at + 8, at + 12));
    OK(CU(cuMemcpyDtoH)(&result, at + 8, 4));
    OK(CU(cuMemFree)(at));
    fprintf(stderr, "the sum is %u\n", result);
}

/* Two copies of a word to the same place, the second of which waits for the first or for nothing.
 */
static CUresult copy_twice(CUdeviceptr dst, CUdeviceptr first, CUdeviceptr second, bool in_order)
{
    CUgraph graph;
    CUgraphNode nodes[2];
    CUgraphExec exec;
    CUstream stream = new_stream();
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .srcDevice = first,
                          .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .dstDevice = dst,
                          .WidthInBytes = sizeof(uint32_t),
                          .Height = 1,
                          .Depth = 1};
    OK(CU(cuGraphCreate)(&graph, 0));
    OK(CU(cuGraphAddMemcpyNode)(&nodes[0], graph, NULL, 0, &copy, context));
    copy.srcDevice = second;
    OK(CU(cuGraphAddMemcpyNode)(&nodes[1], graph, nodes, in_order ? 1 : 0, &copy, context));
    OK(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    CUresult result = CU(cuGraphLaunch)(exec, stream);
    OK(CU(cuStreamSynchronize)(stream));
    OK(CU(cuGraphExecDestroy)(exec));
    OK(CU(cuGraphDestroy)(graph));
    OK(CU(cuStreamDestroy)(stream));
    return result;
}

static void copies_of_a_graph(void)
{
    uint32_t values[] = {3, 4, 0}, in_order = 0, in_none = 0;
    enter();
    CUdeviceptr at = words(values, 3);
    OK(copy_twice(at + 8, at, at + 4, true));
    OK(CU(cuMemcpyDtoH)(&in_order, at + 8, 4));
    OK(copy_twice(at + 8, at, at + 4, false));
    OK(CU(cuMemcpyDtoH)(&in_none, at + 8, 4));
    OK(CU(cuMemFree)(at));
    fprintf(stderr, "in order %u, in none %u\n", in_order, in_none);
}

static void a_graph_copies_ordinary_memory(void)
{
    uint32_t values[] = {3, 4, 0};
    enter();
    CUdeviceptr at = words(values, 3);
    RETURNS(CUDA_ERROR_INVALID_VALUE,
            copy_twice(at + 8, at, (CUdeviceptr) (uintptr_t) values, true));
    OK(CU(cuMemFree)(at));
}

static void a_kernel_on_host_memory(void)
{
    uint32_t values[] = {3, 4, 0, 0, 0};
    enter();
    CUdeviceptr at = words(values, 5);
    RETURNS(CUDA_ERROR_ILLEGAL_ADDRESS, sum((CUdeviceptr) (uintptr_t) values, at + 8, at + 12));
}

static void a_kernel_with_dirty_counters(void)
{
    uint32_t values[] = {3, 4, 0, 7, 0};
    enter();
    CUdeviceptr at = words(values, 5);
    OK(sum(at, at + 8, at + 12));
    OK(CU(cuMemFree)(at));
}

static void a_kernel_whose_operands_overlap(void)
{
    uint32_t values[] = {3, 4, 0, 0, 0};
    enter();
    CUdeviceptr at = words(values, 5);
    OK(sum(at, at + 2, at + 12));
    OK(CU(cuMemFree)(at));
}

/* The time that a busy kernel takes, by events around it. */
static void a_kernel_that_is_timed(void)
{
    CUmodule module;
    CUfunction function;
    CUstream stream;
    CUevent from, to;
    float ms = 0;
    enter();
    OK(CU(cuModuleLoadData)(&module, "image"));
    OK(CU(cuModuleGetFunction)(&function, module, PERF_BUSY_KERNEL));
    OK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    OK(CU(cuEventCreate)(&from, CU_EVENT_DEFAULT));
    OK(CU(cuEventCreate)(&to, CU_EVENT_DEFAULT));
    perf_busy_params_t params = {.sink = (float *) &ms, .steps = 20000};
    void *list[] = {&params};
    OK(CU(cuEventRecord)(from, stream));
    OK(CU(cuLaunchKernel)(function, 1, 1, 1, PERF_BUSY_THREADS, 1, 1, 0, stream, list, NULL));
    OK(CU(cuEventRecord)(to, stream));
    OK(CU(cuStreamSynchronize)(stream));
    OK(CU(cuEventElapsedTime)(&ms, from, to));
    fprintf(stderr, "it took %s\n", 10 < ms && 10000 > ms ? "its time" : "no time");
    OK(CU(cuEventDestroy)(to));
    OK(CU(cuEventDestroy)(from));
    OK(CU(cuStreamDestroy)(stream));
    OK(CU(cuModuleUnload)(module));
}

/* A stream that waits for an event does so also when the other one is slow to come to it. */
static void a_stream_that_waits(void)
{
    CUdeviceptr at;
    CUevent event;
    CUmodule module;
    CUfunction function;
    enter();
    CUstream slow = new_stream(), fast = new_stream();
    void *sink = NULL;
    uint32_t word = 7, got = 0;
    perf_busy_params_t params = {.sink = (float *) &sink, .steps = 20000};
    void *list[] = {&params};
    OK(CU(cuMemAlloc)(&at, 4));
    OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
    OK(CU(cuModuleLoadData)(&module, "image"));
    OK(CU(cuModuleGetFunction)(&function, module, PERF_BUSY_KERNEL));
    OK(CU(cuLaunchKernel)(function, 1, 1, 1, PERF_BUSY_THREADS, 1, 1, 0, slow, list, NULL));
    OK(CU(cuMemcpyAsync)(at, (CUdeviceptr) (uintptr_t) &word, 4, slow));
    OK(CU(cuEventRecord)(event, slow));
    OK(CU(cuStreamWaitEvent)(fast, event, CU_EVENT_WAIT_DEFAULT));
    OK(CU(cuMemcpyAsync)((CUdeviceptr) (uintptr_t) &got, at, 4, fast));
    OK(CU(cuStreamSynchronize)(fast));
    fprintf(stderr, "it got %u\n", got);
    OK(CU(cuEventDestroy)(event));
    OK(CU(cuStreamDestroy)(slow));
    OK(CU(cuStreamDestroy)(fast));
    OK(CU(cuModuleUnload)(module));
    OK(CU(cuMemFree)(at));
}

static void a_wait_for_an_event_that_was_not_recorded(void)
{
    CUevent event;
    enter();
    CUstream stream = new_stream();
    OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
    RETURNS(CUDA_ERROR_INVALID_VALUE, CU(cuStreamWaitEvent)(stream, event, CU_EVENT_WAIT_DEFAULT));
    OK(CU(cuEventDestroy)(event));
    OK(CU(cuStreamDestroy)(stream));
}

static void time_to_an_event_that_was_not_recorded(void)
{
    CUevent event;
    float ms;
    enter();
    OK(CU(cuEventCreate)(&event, CU_EVENT_DEFAULT));
    RETURNS(CUDA_ERROR_INVALID_HANDLE, CU(cuEventElapsedTime)(&ms, event, event));
    OK(CU(cuEventDestroy)(event));
}

static void an_injected_failure(void)
{
    CUdeviceptr at;
    (void) setenv("FAKE_CUDA_FAIL", "cuMemAlloc@2=2,any@99=1", 1);
    enter();
    OK(CU(cuMemAlloc)(&at, 16));
    OK(CU(cuMemFree)(at));
    RETURNS(CUDA_ERROR_OUT_OF_MEMORY, CU(cuMemAlloc)(&at, 16));
    OK(CU(cuMemAlloc)(&at, 16));
    OK(CU(cuMemFree)(at));
}

/* ---- the run ---- */

#define MISUSE FAKE_EXIT_STATUS
#define CASE(f, status, text)                                                                      \
    {                                                                                              \
#        f, f, status, text                                                                        \
    }

static const struct {
    const char *name;
    void (*function)(void);
    int status; /* of the process, or minus the signal that ends it */
    const char *text;
} cases[] = {
    CASE(nothing_wrong, 0, ""),
    CASE(unmap_twice, MISUSE, "misuse: cuMemUnmap"),
    CASE(unmap_wrong_size, MISUSE, "not whole mappings"),
    CASE(free_what_is_mapped, MISUSE, "still mapped"),
    CASE(release_twice, MISUSE, "released already"),
    CASE(forget_a_mapping, MISUSE, "reserved at"),
    CASE(forget_a_handle, MISUSE, "1 handles of physical memory"),
    CASE(forget_a_stream, MISUSE, "1 streams"),
    CASE(load_by_the_host, -11, ""),
    CASE(store_to_device_memory_by_the_host, -11, ""),
    CASE(work_without_a_context, 0, ""),
    CASE(work_before_init, 0, ""),
    CASE(pop_too_often, MISUSE, "no context is pushed"),
    CASE(touch_without_access, MISUSE, "not with this access"),
    CASE(copy_beyond_the_end, MISUSE, "beyond the end"),
    CASE(unmap_what_is_worked_on, MISUSE, "nothing is mapped there"),
    CASE(read_before_the_copy_is_done, 0, "12"),
    CASE(a_kernel_that_is_not_there, MISUSE, "no kernel is named symm_reduce_sum_i32"),
    CASE(a_kernel_that_works, 0, "the sum is 7"),
    CASE(copies_of_a_graph, 0, "in order 4, in none 3"),
    CASE(a_graph_copies_ordinary_memory, MISUSE, "a graph's copy of ordinary memory"),
    CASE(a_kernel_on_host_memory, MISUSE, "source 0"),
    CASE(a_kernel_with_dirty_counters, MISUSE, "count of blocks is 7"),
    CASE(a_kernel_whose_operands_overlap, MISUSE, "overlaps source"),
    CASE(a_kernel_that_is_timed, 0, "it took its time"),
    CASE(a_stream_that_waits, 0, "it got 7"),
    CASE(a_wait_for_an_event_that_was_not_recorded, MISUSE, "was not recorded"),
    CASE(time_to_an_event_that_was_not_recorded, MISUSE, "was not recorded"),
    CASE(an_injected_failure, 0, "injected: cuMemAlloc_v2 returns 2"),
};

#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

/* Runs one case with its stderr into text. Returns its status, or minus the signal. */
static int run_case(const char *name, char *text, size_t room)
{
    int ends[2];
    size_t len = 0;
    ssize_t got;
    if (0 != pipe(ends)) {
        return 1;
    }
    pid_t child = fork();
    if (0 == child) {
        (void) dup2(ends[1], STDERR_FILENO);
        (void) close(ends[0]);
        (void) close(ends[1]);
        (void) alarm(30);
        (void) execl("/proc/self/exe", "selftest", name, (char *) NULL);
        _exit(1);
    }
    (void) close(ends[1]);
    while (len + 1 < room && 0 < (got = read(ends[0], text + len, room - 1 - len))) {
        len += (size_t) got;
    }
    text[len] = '\0';
    (void) close(ends[0]);
    int status = 0;
    (void) waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int run_all(void)
{
    char text[8192];
    int failed = 0;
    for (size_t i = 0; i < CASE_COUNT; ++i) {
        int status = run_case(cases[i].name, text, sizeof(text));
        bool good = cases[i].status == status && NULL != strstr(text, cases[i].text);
        if (!good) {
            printf("FAIL: %s: status %d, expected %d with \"%s\"; it said: %s\n", cases[i].name,
                   status, cases[i].status, cases[i].text, text);
            ++failed;
        }
    }
    printf("%s: %zu cases, %d failed\n", 0 == failed ? "PASS" : "FAIL", CASE_COUNT, failed);
    return 0 == failed ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (2 > argc) {
        return run_all();
    }
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (NULL == library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    for (size_t i = 0; i < CASE_COUNT; ++i) {
        if (0 == strcmp(cases[i].name, argv[1])) {
            cases[i].function();
        }
    }
    return 0;
}
