/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Memory of every kind for the tests. The CUDA driver is loaded at run time, when a test first
 * needs it, and its few functions are declared here: no CUDA header or library is needed to build.
 */
#include "symm_config.h"

#include "mpi_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that go through a buffer on the host at a time. */
#define CHUNK ((size_t) 1 << 20)

#define POISON_BYTE 0xa5

/* ---- the driver ---- */

typedef int (*cu_init_fn_t)(unsigned flags);
typedef int (*cu_device_count_fn_t)(int *count);
typedef int (*cu_device_get_fn_t)(int *device, int ordinal);
typedef int (*cu_primary_retain_fn_t)(void **context, int device);
typedef int (*cu_context_set_fn_t)(void *context);
typedef int (*cu_context_sync_fn_t)(void);
typedef int (*cu_alloc_fn_t)(unsigned long long *ptr, size_t len);
typedef int (*cu_free_fn_t)(unsigned long long ptr);
typedef int (*cu_host_alloc_fn_t)(void **ptr, size_t len, unsigned flags);
typedef int (*cu_host_free_fn_t)(void *ptr);
/* As CUmemAllocationProp and CUmemAccessDesc of cuda.h. */
typedef struct cu_location {
    int type;
    int id;
} cu_location_t;

typedef struct cu_prop {
    int type;
    int handle_types;
    cu_location_t location;
    void *win32;
    unsigned char flags[8];
} cu_prop_t;

typedef struct cu_access {
    cu_location_t location;
    int flags;
} cu_access_t;

typedef int (*cu_create_fn_t)(unsigned long long *handle, size_t len, const cu_prop_t *prop,
                              unsigned long long flags);
typedef int (*cu_release_fn_t)(unsigned long long handle);
typedef int (*cu_granularity_fn_t)(size_t *len, const cu_prop_t *prop, int option);
typedef int (*cu_reserve_fn_t)(unsigned long long *ptr, size_t len, size_t align,
                               unsigned long long wish, unsigned long long flags);
typedef int (*cu_map_fn_t)(unsigned long long ptr, size_t len, size_t offset,
                           unsigned long long handle, unsigned long long flags);
typedef int (*cu_access_fn_t)(unsigned long long ptr, size_t len, const cu_access_t *access,
                              size_t count);
typedef int (*cu_unmap_fn_t)(unsigned long long ptr, size_t len);
typedef int (*cu_copy_fn_t)(unsigned long long dst, unsigned long long src, size_t len);

static struct {
    const char *missing; /* why there is no GPU, NULL when there is one */
    void *context;
    cu_init_fn_t init;
    cu_device_count_fn_t device_count;
    cu_device_get_fn_t device_get;
    cu_primary_retain_fn_t primary_retain;
    cu_context_set_fn_t context_set;
    cu_context_sync_fn_t context_sync;
    cu_alloc_fn_t alloc;
    cu_free_fn_t free;
    cu_host_alloc_fn_t host_alloc;
    cu_host_free_fn_t host_free;
    cu_copy_fn_t copy;
    cu_create_fn_t create;
    cu_release_fn_t release;
    cu_granularity_fn_t granularity;
    cu_reserve_fn_t reserve;
    cu_map_fn_t map;
    cu_access_fn_t access;
    cu_unmap_fn_t unmap;
    cu_unmap_fn_t unreserve;
    int device;
} cuda = {.missing = "not looked yet"};

static pthread_once_t cuda_once = PTHREAD_ONCE_INIT;

static bool find_symbols(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (NULL == library) {
        cuda.missing = "no CUDA driver on this host";
        return false;
    }
    const struct {
        const char *name;
        void **slot;
    } symbols[] = {
        {"cuInit", (void **) &cuda.init},
        {"cuDeviceGetCount", (void **) &cuda.device_count},
        {"cuDeviceGet", (void **) &cuda.device_get},
        {"cuDevicePrimaryCtxRetain", (void **) &cuda.primary_retain},
        {"cuCtxSetCurrent", (void **) &cuda.context_set},
        {"cuCtxSynchronize", (void **) &cuda.context_sync},
        {"cuMemAlloc_v2", (void **) &cuda.alloc},
        {"cuMemFree_v2", (void **) &cuda.free},
        {"cuMemHostAlloc", (void **) &cuda.host_alloc},
        {"cuMemFreeHost", (void **) &cuda.host_free},
        {"cuMemcpy", (void **) &cuda.copy},
        {"cuMemCreate", (void **) &cuda.create},
        {"cuMemRelease", (void **) &cuda.release},
        {"cuMemGetAllocationGranularity", (void **) &cuda.granularity},
        {"cuMemAddressReserve", (void **) &cuda.reserve},
        {"cuMemMap", (void **) &cuda.map},
        {"cuMemSetAccess", (void **) &cuda.access},
        {"cuMemUnmap", (void **) &cuda.unmap},
        {"cuMemAddressFree", (void **) &cuda.unreserve},
    };
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); ++i) {
        *symbols[i].slot = dlsym(library, symbols[i].name);
        if (NULL == *symbols[i].slot) {
            cuda.missing = "the CUDA driver lacks a function";
            return false;
        }
    }
    return true;
}

static void load_cuda(void)
{
    int count = 0;
    if (!find_symbols()) {
        return;
    }
    if (0 != cuda.init(0) || 0 != cuda.device_count(&count) || 0 == count) {
        cuda.missing = "no GPU is visible to the CUDA driver";
    } else if (0 != cuda.device_get(&cuda.device, mt_rank % count) ||
               0 != cuda.primary_retain(&cuda.context, cuda.device) ||
               0 != cuda.context_set(cuda.context)) {
        cuda.missing = "the GPU cannot be used";
    } else {
        cuda.missing = NULL;
    }
}

static bool has_cuda(void)
{
    (void) pthread_once(&cuda_once, load_cuda);
    return NULL == cuda.missing;
}

/* A driver call of the harness itself that fails makes every result worthless. */
static void must(int result, const char *call)
{
    if (0 != result) {
        printf("FAIL: rank %d: the test's own %s returned %d\n", mt_rank, call, result);
        (void) fflush(stdout);
        (void) MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static unsigned long long address(const void *ptr)
{
    return (unsigned long long) (uintptr_t) ptr;
}

const char *mt_memory_missing(symm_kind_t kind)
{
    if (SYMM_KIND_CUDA_DEVICE != kind) {
        return NULL;
    }
    return has_cuda() ? NULL : cuda.missing;
}

void mt_enter_thread(void)
{
    if (NULL == cuda.missing) {
        must(cuda.context_set(cuda.context), "cuCtxSetCurrent");
    }
}

/* ---- allocation and copies ---- */

const char *mt_memory_name(mt_memory_t memory)
{
    static const char *const names[MT_MEMORY_COUNT] = {"host", "pinned", "device"};
    return names[memory];
}

bool mt_has_memory(mt_memory_t memory)
{
    return MT_HOST == memory || has_cuda();
}

void *mt_alloc(mt_memory_t memory, size_t len)
{
    void *ptr = NULL;
    unsigned long long device_ptr = 0;
    size_t some = 0 < len ? len : 1;
    switch (memory) {
    case MT_PINNED:
        must(cuda.host_alloc(&ptr, some, 0), "cuMemHostAlloc");
        break;
    case MT_DEVICE:
        must(cuda.alloc(&device_ptr, some), "cuMemAlloc");
        ptr = (void *) (uintptr_t) device_ptr;
        break;
    default:
        ptr = malloc(some);
        must(NULL == ptr ? -1 : 0, "malloc");
        break;
    }
    return ptr;
}

void mt_free(mt_memory_t memory, void *ptr)
{
    switch (memory) {
    case MT_PINNED:
        must(cuda.host_free(ptr), "cuMemFreeHost");
        break;
    case MT_DEVICE:
        must(cuda.free(address(ptr)), "cuMemFree");
        break;
    default:
        free(ptr);
        break;
    }
}

void *mt_vmm_alloc(size_t len, bool shareable, size_t *whole_p)
{
    /* CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
     * CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
    cu_prop_t prop = {.type = 1, .handle_types = shareable ? 1 : 0, .location = {1, cuda.device}};
    cu_access_t access = {.location = prop.location, .flags = 3};
    unsigned long long handle, ptr;
    size_t unit;
    must(cuda.granularity(&unit, &prop, 1), "cuMemGetAllocationGranularity");
    size_t whole = (len + unit - 1) / unit * unit;
    must(cuda.create(&handle, whole, &prop, 0), "cuMemCreate");
    must(cuda.reserve(&ptr, whole, 0, 0, 0), "cuMemAddressReserve");
    must(cuda.map(ptr, whole, 0, handle, 0), "cuMemMap");
    must(cuda.access(ptr, whole, &access, 1), "cuMemSetAccess");
    must(cuda.release(handle), "cuMemRelease"); /* the mapping keeps it */
    *whole_p = whole;
    return (void *) (uintptr_t) ptr;
}

void mt_vmm_free(void *ptr, size_t whole)
{
    must(cuda.unmap(address(ptr), whole), "cuMemUnmap");
    must(cuda.unreserve(address(ptr), whole), "cuMemAddressFree");
}

static void copy(void *dst, const void *src, size_t len)
{
    if (0 == len) {
        return;
    }
    if (NULL != cuda.missing) { /* no GPU in use: all memory is the host's */
        memcpy(dst, src, len);
        return;
    }
    must(cuda.copy(address(dst), address(src), len), "cuMemcpy");
    /* A copy from pageable memory may return before the last bytes are in place. */
    must(cuda.context_sync(), "cuCtxSynchronize");
}

void mt_write(void *dst, const void *host, size_t len)
{
    copy(dst, host, len);
}

void mt_read(void *host, const void *src, size_t len)
{
    copy(host, src, len);
}

/* ---- patterns ---- */

uint64_t mt_seed(int owner, uint64_t round)
{
    uint64_t state = ((uint64_t) (unsigned) owner << 48) ^ round;
    return mt_random(&state);
}

/* The eight bytes at place 8 * index. */
static uint64_t pattern_word(uint64_t seed, uint64_t index)
{
    uint64_t state = seed + index * 0x9e3779b97f4a7c15u;
    return mt_random(&state);
}

/* The part of the pattern that starts at byte `from`, a multiple of 8. */
static void pattern_part(unsigned char *host, size_t len, uint64_t seed, uint64_t from)
{
    for (size_t at = 0; at < len; at += 8) {
        uint64_t word = pattern_word(seed, (from + at) / 8);
        memcpy(host + at, &word, len - at < 8 ? len - at : 8);
    }
}

void mt_pattern(void *host, size_t len, uint64_t seed)
{
    pattern_part(host, len, seed, 0);
}

/* A buffer of each thread's own, so that threads can check at once. */
static unsigned char *chunk_buffer(void)
{
    static _Thread_local unsigned char *buffer;
    if (NULL == buffer) {
        buffer = mt_alloc(MT_HOST, 2 * CHUNK); /* kept until the program ends */
    }
    return buffer;
}

static size_t chunk_len(size_t left)
{
    return left < CHUNK ? left : CHUNK;
}

void mt_fill(void *dst, size_t len, uint64_t seed)
{
    unsigned char *buffer = chunk_buffer();
    for (size_t at = 0; at < len; at += CHUNK) {
        size_t part = chunk_len(len - at);
        pattern_part(buffer, part, seed, at);
        mt_write((char *) dst + at, buffer, part);
    }
}

void mt_poison(void *dst, size_t len)
{
    unsigned char *buffer = chunk_buffer();
    memset(buffer, POISON_BYTE, chunk_len(len));
    for (size_t at = 0; at < len; at += CHUNK) {
        mt_write((char *) dst + at, buffer, chunk_len(len - at));
    }
}

/* Checks one part against what is expected, and tells the first byte that differs. */
static bool check_part(const char *file, int line, const unsigned char *got,
                       const unsigned char *expected, size_t len, size_t from, const char *what)
{
    size_t at = 0;
    if (0 == memcmp(got, expected, len)) {
        return mt_check(file, line, true, "%s", what);
    }
    while (got[at] == expected[at]) {
        ++at;
    }
    return mt_check(file, line, false, "%s: byte %zu is %02x, expected %02x", what, from + at,
                    got[at], expected[at]);
}

bool mt_check_pattern(const char *file, int line, const void *src, size_t len, uint64_t seed)
{
    unsigned char *got = chunk_buffer();
    unsigned char *expected = got + CHUNK;
    bool same = true;
    for (size_t at = 0; same && at < len; at += CHUNK) {
        size_t part = chunk_len(len - at);
        pattern_part(expected, part, seed, at);
        mt_read(got, (const char *) src + at, part);
        same = check_part(file, line, got, expected, part, at, "data");
    }
    return same;
}

bool mt_check_poison(const char *file, int line, const void *src, size_t len)
{
    unsigned char *got = chunk_buffer();
    unsigned char *expected = got + CHUNK;
    bool same = true;
    memset(expected, POISON_BYTE, chunk_len(len));
    for (size_t at = 0; same && at < len; at += CHUNK) {
        size_t part = chunk_len(len - at);
        mt_read(got, (const char *) src + at, part);
        same = check_part(file, line, got, expected, part, at, "untouched memory");
    }
    return same;
}
