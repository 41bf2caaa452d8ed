/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Asks a CUDA driver how it behaves where the manual leaves it open or where misuse is concerned,
 * and prints a line per question. Run against the fake and against a real driver, the lines are to
 * be the same; README.md lists those that differ on purpose.
 *
 *     conformance            all questions, each group in a process of its own
 *     conformance GROUP      one group
 */
#include "symm_config.h"

#include <cuda.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB  ((size_t) 1 << 20)
#define UNIT (2 * MIB)

/* The function of the library under its newest name, typed as cuda.h declares it. */
#define STRING_(x) #x
#define STRING(x)  STRING_(x)
#define CU(f)      ((__typeof__(&f)) find(STRING(f)))

static void *library;
static const char *group = "";

static void *find(const char *name)
{
    void *function = dlsym(library, name);
    if (NULL == function) {
        printf("%s: no %s\n", group, name);
        exit(1);
    }
    return function;
}

static const char *name_of(CUresult result)
{
    const char *name = NULL;
    (void) CU(cuGetErrorName)(result, &name);
    return NULL == name ? "?" : name;
}

/* One answer. */
static CUresult tell(const char *what, CUresult result)
{
    printf("%s: %s: %s\n", group, what, name_of(result));
    (void) fflush(stdout);
    return result;
}
#define TELL(what, call) tell(what, call)

static void tell_number(const char *what, long long number)
{
    printf("%s: %s = %lld\n", group, what, number);
    (void) fflush(stdout);
}

static void need(CUresult result, const char *what)
{
    if (CUDA_SUCCESS != result) {
        printf("%s: cannot go on, %s: %s\n", group, what, name_of(result));
        exit(1);
    }
}
#define NEED(call) need(call, #call)

/* ---- what most groups begin with ---- */

static CUcontext context;

static void enter(CUdevice device)
{
    NEED(CU(cuInit)(0));
    NEED(CU(cuDevicePrimaryCtxRetain)(&context, device));
    NEED(CU(cuCtxPushCurrent)(context));
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

static CUmemGenericAllocationHandle create(CUdevice device, size_t len)
{
    CUmemAllocationProp prop = prop_of(device);
    CUmemGenericAllocationHandle handle;
    NEED(CU(cuMemCreate)(&handle, len, &prop, 0));
    return handle;
}

static CUdeviceptr reserve(size_t len)
{
    CUdeviceptr base;
    NEED(CU(cuMemAddressReserve)(&base, len, 0, 0, 0));
    return base;
}

static CUresult allow(CUdeviceptr at, size_t len, CUdevice device)
{
    CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    return CU(cuMemSetAccess)(at, len, &access, 1);
}

static CUdeviceptr mapped(CUdevice device, size_t len)
{
    CUdeviceptr at = reserve(len);
    CUmemGenericAllocationHandle handle = create(device, len);
    NEED(CU(cuMemMap)(at, len, 0, handle, 0));
    NEED(CU(cuMemRelease)(handle));
    NEED(allow(at, len, device));
    return at;
}

static CUstream new_stream(void)
{
    CUstream stream;
    NEED(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static CUdeviceptr allocate(size_t len)
{
    CUdeviceptr at;
    NEED(CU(cuMemAlloc)(&at, len));
    return at;
}

/* ---- pointers ---- */

static void look(const char *what, CUdeviceptr at)
{
    unsigned type = 77, managed = 77;
    int ordinal = 77;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&type, &managed, &ordinal};
    CUresult result = CU(cuPointerGetAttributes)(3, wanted, values, at);
    printf("%s: attributes of %s: %s, type %u, managed %u, ordinal %d\n", group, what,
           name_of(result), type, managed, ordinal);
    type = 77;
    result = CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at);
    printf("%s: attribute of %s: %s, type %u\n", group, what, name_of(result), type);
    (void) fflush(stdout);
}

static CUdeviceptr pointers[6];
static const char *const pointer_names[] = {"malloc", "cuMemAlloc", "pinned",
                                            "mapped", "reserved",   "NULL"};

static void make_pointers(void)
{
    void *pinned;
    NEED(CU(cuMemHostAlloc)(&pinned, 4096, 0));
    pointers[0] = (CUdeviceptr) (uintptr_t) malloc(4096);
    pointers[1] = allocate(4096);
    pointers[2] = (CUdeviceptr) (uintptr_t) pinned;
    pointers[3] = mapped(0, UNIT);
    pointers[4] = reserve(UNIT);
    pointers[5] = 0;
}

static void look_at_all(void)
{
    for (int i = 0; i < 6; ++i) {
        look(pointer_names[i], pointers[i]);
    }
}

static void pointers_before_init(void)
{
    look("malloc before cuInit", (CUdeviceptr) (uintptr_t) malloc(16));
}

static void pointers_without_any_context(void)
{
    NEED(CU(cuInit)(0));
    look("malloc after cuInit alone", (CUdeviceptr) (uintptr_t) malloc(16));
}

static void pointers_in_context(void)
{
    enter(0);
    make_pointers();
    look_at_all();
    look("cuMemAlloc's last byte", pointers[1] + 4095);
    look("mapped without access", pointers[3]);
}

static void pointers_after_pop(void)
{
    CUcontext popped;
    enter(0);
    make_pointers();
    NEED(CU(cuCtxPopCurrent)(&popped));
    look_at_all();
}

static void *look_in_thread(void *unused)
{
    (void) unused;
    look_at_all();
    return NULL;
}

static void pointers_in_new_thread(void)
{
    pthread_t thread;
    enter(0);
    make_pointers();
    if (0 == pthread_create(&thread, NULL, look_in_thread, NULL)) {
        (void) pthread_join(thread, NULL);
    }
}

/* ---- what needs a context ---- */

static void virtual_memory_without_context(void)
{
    CUdeviceptr at = 0;
    CUmemGenericAllocationHandle handle = 0, imported = 0;
    int fd = -1;
    size_t granularity = 0;
    NEED(CU(cuInit)(0));
    CUmemAllocationProp prop = prop_of(0);
    TELL("granularity", CU(cuMemGetAllocationGranularity)(&granularity, &prop,
                                                          CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    TELL("create", CU(cuMemCreate)(&handle, UNIT, &prop, 0));
    TELL("reserve", CU(cuMemAddressReserve)(&at, UNIT, UNIT, 0, 0));
    TELL("map", CU(cuMemMap)(at, UNIT, 0, handle, 0));
    TELL("set access", allow(at, UNIT, 0));
    TELL("export", CU(cuMemExportToShareableHandle)(&fd, handle,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    TELL("import", CU(cuMemImportFromShareableHandle)(&imported, (void *) (intptr_t) fd,
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    TELL("unmap", CU(cuMemUnmap)(at, UNIT));
    TELL("release", CU(cuMemRelease)(handle));
    TELL("release import", CU(cuMemRelease)(imported));
    TELL("free", CU(cuMemAddressFree)(at, UNIT));
}

static void streams_without_context(void)
{
    CUcontext popped;
    CUdeviceptr device_ptr;
    void *pinned;
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr at = allocate(4096);
    NEED(CU(cuMemHostAlloc)(&pinned, 4096, 0));
    NEED(CU(cuCtxPopCurrent)(&popped));
    TELL("memset", CU(cuMemsetD8Async)(at, 0, 4096, stream));
    TELL("copy", CU(cuMemcpyAsync)(at, (CUdeviceptr) (uintptr_t) pinned, 4096, stream));
    TELL("synchronize", CU(cuStreamSynchronize)(stream));
    TELL("query", CU(cuStreamQuery)(stream));
    TELL("device pointer", CU(cuMemHostGetDevicePointer)(&device_ptr, pinned, 0));
    TELL("free", CU(cuMemFree)(at));
    TELL("free pinned", CU(cuMemFreeHost)(pinned));
    TELL("destroy", CU(cuStreamDestroy)(stream));
    TELL("create", CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    TELL("allocate", CU(cuMemAlloc)(&at, 4096));
    TELL("pop", CU(cuCtxPopCurrent)(&popped));
}

static void primary_context(void)
{
    unsigned flags;
    int active = 77;
    NEED(CU(cuInit)(0));
    TELL("release without retain", CU(cuDevicePrimaryCtxRelease)(0));
    TELL("state", CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
    tell_number("active at first", active);
    enter(0);
    CUcontext first = context;
    CUdeviceptr at = allocate(4096);
    TELL("state", CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
    tell_number("active when retained", active);
    TELL("release", CU(cuDevicePrimaryCtxRelease)(0));
    TELL("state", CU(cuDevicePrimaryCtxGetState)(0, &flags, &active));
    tell_number("active when released", active);
    TELL("free in the released one", CU(cuMemFree)(at));
    TELL("set the released one", CU(cuCtxSetCurrent)(first));
    TELL("retain again", CU(cuDevicePrimaryCtxRetain)(&context, 0));
    tell_number("the same handle", first == context);
}

/* ---- virtual memory ---- */

static void misuse_of_handles(void)
{
    enter(0);
    CUmemGenericAllocationHandle handle = create(0, UNIT), imported;
    CUmemAllocationProp prop = prop_of(0);
    CUmemFabricHandle fabric;
    int fd;
    TELL("release", CU(cuMemRelease)(handle));
    TELL("release again", CU(cuMemRelease)(handle));
    TELL("release of nothing", CU(cuMemRelease)(0));
    TELL("create of 4096 bytes", CU(cuMemCreate)(&handle, 4096, &prop, 0));
    TELL("create of 0 bytes", CU(cuMemCreate)(&handle, 0, &prop, 0));
    TELL("create of 64 TiB", CU(cuMemCreate)(&handle, (size_t) 64 << 40, &prop, 0));
    prop.requestedHandleTypes |= CU_MEM_HANDLE_TYPE_FABRIC;
    TELL("create with FABRIC", CU(cuMemCreate)(&handle, UNIT, &prop, 0));
    handle = create(0, UNIT);
    TELL("export as FABRIC",
         CU(cuMemExportToShareableHandle)(&fabric, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    NEED(CU(cuMemCreate)(&handle, UNIT, &prop, 0));
    TELL(
        "export of what is not to be shared",
        CU(cuMemExportToShareableHandle)(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    TELL("import of standard input",
         CU(cuMemImportFromShareableHandle)(&imported, (void *) (intptr_t) 0,
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    TELL("import of -1",
         CU(cuMemImportFromShareableHandle)(&imported, (void *) (intptr_t) -1,
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

static void no_descriptors(void)
{
    int fd = -1;
    enter(0);
    CUmemGenericAllocationHandle handle = create(0, UNIT), other = 0;
    CUmemAllocationProp prop = prop_of(0);
    int next = dup(0);
    (void) close(next);
    struct rlimit limit;
    (void) getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = (rlim_t) next;
    (void) setrlimit(RLIMIT_NOFILE, &limit);
    TELL("create", CU(cuMemCreate)(&other, UNIT, &prop, 0));
    TELL("export", CU(cuMemExportToShareableHandle)(&fd, handle,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    limit.rlim_cur = (rlim_t) next + 1;
    (void) setrlimit(RLIMIT_NOFILE, &limit);
    TELL("export with one left", CU(cuMemExportToShareableHandle)(
                                     &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    TELL("import", CU(cuMemImportFromShareableHandle)(&other, (void *) (intptr_t) fd,
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

static void misuse_of_ranges(void)
{
    enter(0);
    CUdeviceptr at = 0, small = 0;
    CUmemGenericAllocationHandle two = create(0, 2 * UNIT), one = create(0, UNIT);
    TELL("reserve 4096 bytes", CU(cuMemAddressReserve)(&small, 4096, 0, 0, 0));
    TELL("reserve 64 KiB", CU(cuMemAddressReserve)(&small, 65536, 0, 0, 0));
    TELL("reserve 0 bytes", CU(cuMemAddressReserve)(&small, 0, 0, 0, 0));
    TELL("reserve aligned to 3", CU(cuMemAddressReserve)(&small, UNIT, 3, 0, 0));
    TELL("reserve", CU(cuMemAddressReserve)(&at, 8 * UNIT, 0, 0, 0));
    tell_number("its place modulo 2 MiB", (long long) (at % UNIT));
    TELL("map beyond the reservation", CU(cuMemMap)(at + 7 * UNIT, 2 * UNIT, 0, two, 0));
    TELL("map at 64 KiB", CU(cuMemMap)(at + 65536, UNIT, 0, one, 0));
    TELL("map 64 KiB", CU(cuMemMap)(at, 65536, 0, one, 0));
    TELL("map at an offset", CU(cuMemMap)(at, UNIT, UNIT, two, 0));
    TELL("map more than there is", CU(cuMemMap)(at, 2 * UNIT, 0, one, 0));
    TELL("map less than there is", CU(cuMemMap)(at, UNIT, 0, two, 0));
    TELL("unmap that", CU(cuMemUnmap)(at, UNIT));
    TELL("map outside any reservation", CU(cuMemMap)((CUdeviceptr) 64 << 20, UNIT, 0, one, 0));
    TELL("map", CU(cuMemMap)(at, 2 * UNIT, 0, two, 0));
    TELL("map over that", CU(cuMemMap)(at + UNIT, UNIT, 0, one, 0));
    TELL("map next to it", CU(cuMemMap)(at + 2 * UNIT, UNIT, 0, one, 0));
    TELL("map a second time", CU(cuMemMap)(at + 4 * UNIT, 2 * UNIT, 0, two, 0));
    TELL("access to both", allow(at, 3 * UNIT, 0));
    TELL("access to half of one", allow(at, UNIT, 0));
    TELL("access to one and a half", allow(at + UNIT, 2 * UNIT, 0));
    TELL("access to a gap", allow(at, 4 * UNIT, 0));
    TELL("access to nothing", allow(at + 3 * UNIT, UNIT, 0));
    TELL("access of device 99", allow(at, 2 * UNIT, 99));
    TELL("unmap half of one", CU(cuMemUnmap)(at, UNIT));
    TELL("unmap nothing", CU(cuMemUnmap)(at + 3 * UNIT, UNIT));
    TELL("free what is mapped", CU(cuMemAddressFree)(at, 8 * UNIT));
    TELL("unmap both at once", CU(cuMemUnmap)(at, 3 * UNIT));
    TELL("unmap again", CU(cuMemUnmap)(at, 2 * UNIT));
    TELL("unmap the second mapping with a gap", CU(cuMemUnmap)(at + 3 * UNIT, 3 * UNIT));
    TELL("unmap the second mapping", CU(cuMemUnmap)(at + 4 * UNIT, 2 * UNIT));
    TELL("free half", CU(cuMemAddressFree)(at, 4 * UNIT));
    TELL("free the second half", CU(cuMemAddressFree)(at + 4 * UNIT, 4 * UNIT));
    TELL("free", CU(cuMemAddressFree)(at, 8 * UNIT));
    TELL("free again", CU(cuMemAddressFree)(at, 8 * UNIT));
}

static void memory_outlives_its_handle(void)
{
    enter(0);
    CUdeviceptr at = reserve(UNIT);
    CUmemGenericAllocationHandle handle = create(0, UNIT), imported, again;
    int fd;
    TELL("export", CU(cuMemExportToShareableHandle)(&fd, handle,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    TELL("release", CU(cuMemRelease)(handle));
    TELL("import", CU(cuMemImportFromShareableHandle)(&imported, (void *) (intptr_t) fd,
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    TELL("import again",
         CU(cuMemImportFromShareableHandle)(&again, (void *) (intptr_t) fd,
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    tell_number("two imports are one handle", imported == again);
    (void) close(fd);
    TELL("map", CU(cuMemMap)(at, UNIT, 0, imported, 0));
    TELL("release", CU(cuMemRelease)(imported));
    TELL("release the second", CU(cuMemRelease)(again));
    TELL("access", allow(at, UNIT, 0));
    TELL("memset", CU(cuMemsetD8)(at, 1, UNIT));
    TELL("unmap", CU(cuMemUnmap)(at, UNIT));
    TELL("free", CU(cuMemAddressFree)(at, UNIT));
}

static void units(void)
{
    size_t granularity = 0;
    enter(0);
    CUmemAllocationProp prop = prop_of(0);
    NEED(CU(cuMemGetAllocationGranularity)(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    tell_number("least granularity", (long long) granularity);
    NEED(CU(cuMemGetAllocationGranularity)(&granularity, &prop,
                                           CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    tell_number("recommended granularity", (long long) granularity);
    CUdeviceptr a = allocate(4), b = allocate(4);
    tell_number("place of 4 bytes modulo 512", (long long) (a % 512));
    tell_number("4 bytes and 4 bytes are apart by less than a page", a / 4096 == b / 4096);
    const char *text = NULL;
    TELL("name of error 9999", CU(cuGetErrorName)((CUresult) 9999, &text));
    tell_number("which is NULL", NULL == text);
}

/* ---- work ---- */

static void after_work(CUstream stream)
{
    CUdeviceptr at;
    TELL("then synchronize", CU(cuStreamSynchronize)(stream));
    TELL("then query", CU(cuStreamQuery)(stream));
    TELL("then allocate", CU(cuMemAlloc)(&at, 4096));
    TELL("then destroy", CU(cuStreamDestroy)(stream));
}

static void copy_beyond_allocation(void)
{
    enter(0);
    CUstream stream = new_stream();
    char *host = malloc(64 * MIB);
    CUdeviceptr at = allocate(2 * MIB);
    TELL("copy", CU(cuMemcpyAsync)(at, (CUdeviceptr) (uintptr_t) host, 32 * MIB, stream));
    after_work(stream);
}

static void memset_beyond_allocation(void)
{
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr at = allocate(2 * MIB);
    TELL("memset", CU(cuMemsetD8Async)(at, 0, 32 * MIB, stream));
    after_work(stream);
}

static void copy_beyond_pinned(void)
{
    void *pinned;
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr at = allocate(64 * MIB);
    NEED(CU(cuMemHostAlloc)(&pinned, 2 * MIB, 0));
    TELL("copy", CU(cuMemcpyAsync)(at, (CUdeviceptr) (uintptr_t) pinned, 32 * MIB, stream));
    after_work(stream);
}

static void memset_of_unmapped(void)
{
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr at = reserve(UNIT);
    TELL("memset", CU(cuMemsetD8Async)(at, 0, UNIT, stream));
    after_work(stream);
}

static void copy_to_unmapped(void)
{
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr at = reserve(UNIT), from = allocate(UNIT);
    TELL("copy", CU(cuMemcpyAsync)(at, from, UNIT, stream));
    after_work(stream);
}

static void memset_without_access(void)
{
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr at = reserve(UNIT);
    CUmemGenericAllocationHandle handle = create(0, UNIT);
    NEED(CU(cuMemMap)(at, UNIT, 0, handle, 0));
    TELL("memset", CU(cuMemsetD8Async)(at, 0, UNIT, stream));
    after_work(stream);
}

static void copy_without_access(void)
{
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr at = reserve(UNIT), from = allocate(UNIT);
    CUmemGenericAllocationHandle handle = create(0, UNIT);
    NEED(CU(cuMemMap)(at, UNIT, 0, handle, 0));
    TELL("copy", CU(cuMemcpyAsync)(at, from, UNIT, stream));
    after_work(stream);
}

static void memset_of_host_memory(void)
{
    enter(0);
    CUstream stream = new_stream();
    TELL("memset", CU(cuMemsetD8Async)((CUdeviceptr) (uintptr_t) calloc(1, MIB), 0, MIB, stream));
    after_work(stream);
}

static void copy_over_two_mappings(void)
{
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr at = reserve(2 * UNIT), from = allocate(2 * UNIT);
    CUmemGenericAllocationHandle one = create(0, UNIT), two = create(0, UNIT);
    NEED(CU(cuMemMap)(at, UNIT, 0, one, 0));
    NEED(CU(cuMemMap)(at + UNIT, UNIT, 0, two, 0));
    NEED(allow(at, 2 * UNIT, 0));
    TELL("memset", CU(cuMemsetD8Async)(at + MIB, 0, UNIT, stream));
    TELL("copy to it", CU(cuMemcpyAsync)(at + MIB, from, UNIT, stream));
    TELL("copy to the host",
         CU(cuMemcpyAsync)((CUdeviceptr) (uintptr_t) malloc(UNIT), at + MIB, UNIT, stream));
    after_work(stream);
}

static void waiting(void)
{
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr a = mapped(0, 512 * MIB), b = mapped(0, 512 * MIB);
    char *host = malloc(64 * MIB);
    memset(host, 0, 64 * MIB);
    for (int i = 0; i < 50; ++i) {
        NEED(CU(cuMemcpyAsync)(b, a, 512 * MIB, stream));
    }
    TELL("query behind a long copy", CU(cuStreamQuery)(stream));
    TELL("synchronize", CU(cuStreamSynchronize)(stream));
    TELL("query", CU(cuStreamQuery)(stream));
    for (int i = 0; i < 50; ++i) {
        NEED(CU(cuMemcpyAsync)(b, a, 512 * MIB, stream));
    }
    TELL("copy of 4 bytes to pageable memory",
         CU(cuMemcpyAsync)((CUdeviceptr) (uintptr_t) host, a, 4, stream));
    TELL("query", CU(cuStreamQuery)(stream));
    TELL("synchronize", CU(cuStreamSynchronize)(stream));
    for (int i = 0; i < 50; ++i) {
        NEED(CU(cuMemcpyAsync)(b, a, 512 * MIB, stream));
    }
    TELL("copy of 32 MiB to pageable memory",
         CU(cuMemcpyAsync)((CUdeviceptr) (uintptr_t) host, a, 32 * MIB, stream));
    TELL("query", CU(cuStreamQuery)(stream));
    TELL("destroy", CU(cuStreamDestroy)(stream));
    stream = new_stream();
    for (int i = 0; i < 50; ++i) {
        NEED(CU(cuMemcpyAsync)(b, a, 512 * MIB, stream));
    }
    TELL("unmap what a stream works on", CU(cuMemUnmap)(a, 512 * MIB));
    TELL("synchronize", CU(cuStreamSynchronize)(stream));
}

static void memory_is_readable_by_the_host(void)
{
    enter(0);
    CUdeviceptr at = mapped(0, UNIT);
    int ends[2];
    char byte;
    if (0 == pipe(ends)) {
        /* A system call tells without a signal. */
        tell_number("bytes written from mapped memory",
                    write(ends[1], (const void *) (uintptr_t) at, 1));
        tell_number("bytes written from cuMemAlloc memory",
                    write(ends[1], (const void *) (uintptr_t) allocate(4096), 1));
        (void) !write(ends[1], "", 1);
        (void) !read(ends[0], &byte, 1);
    }
}

/* ---- capture ---- */

static CUstream captured;

static void begin_capture(void)
{
    NEED(CU(cuStreamBeginCapture)(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

/* Tells what the call said, and whether the capture survived it. */
static void end_capture(const char *what, CUresult result)
{
    CUgraph graph = NULL;
    CUresult ended = CU(cuStreamEndCapture)(captured, &graph);
    printf("%s: %s: %s, and then the capture: %s\n", group, what, name_of(result), name_of(ended));
    (void) fflush(stdout);
    if (NULL != graph) {
        (void) CU(cuGraphDestroy)(graph);
    }
}

#define CAPTURING(what, call)                                                                      \
    do {                                                                                           \
        begin_capture();                                                                           \
        end_capture(what, call);                                                                   \
    } while (0)

/* The fake takes any image for one with our kernels in it. */
static const char kernel_name[] = "symm_reduce_sum_f32";
static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry symm_reduce_sum_f32() { ret; }\n";

static void calls_during_capture(void)
{
    enter(0);
    captured = new_stream();
    CUstream other = new_stream(), made = NULL;
    CUdeviceptr at = 0, base = 0, memory = allocate(4096);
    CUmemGenericAllocationHandle handle = 0, imported = 0;
    CUmemAllocationProp prop = prop_of(0);
    CUcontext current, popped;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUmodule module = NULL;
    CUfunction function = NULL;
    void *pinned = NULL;
    int fd = -1;
    CAPTURING("nothing", CUDA_SUCCESS);
    CAPTURING("cuCtxGetCurrent", CU(cuCtxGetCurrent)(&current));
    CAPTURING("cuCtxPushCurrent", CU(cuCtxPushCurrent)(context));
    CAPTURING("cuCtxPopCurrent", CU(cuCtxPopCurrent)(&popped));
    CAPTURING("cuMemCreate", CU(cuMemCreate)(&handle, UNIT, &prop, 0));
    if (0 == handle) {
        handle = create(0, UNIT);
    }
    CAPTURING("cuMemAddressReserve", CU(cuMemAddressReserve)(&base, UNIT, 0, 0, 0));
    if (0 == base) {
        base = reserve(UNIT);
    }
    CAPTURING("cuMemMap", CU(cuMemMap)(base, UNIT, 0, handle, 0));
    CAPTURING("cuMemSetAccess", allow(base, UNIT, 0));
    CAPTURING(
        "cuMemExportToShareableHandle",
        CU(cuMemExportToShareableHandle)(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CAPTURING("cuMemImportFromShareableHandle",
              CU(cuMemImportFromShareableHandle)(&imported, (void *) (intptr_t) fd,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CAPTURING("cuMemUnmap", CU(cuMemUnmap)(base, UNIT));
    CAPTURING("cuMemRelease", CU(cuMemRelease)(handle));
    CAPTURING("cuMemAddressFree", CU(cuMemAddressFree)(base, UNIT));
    CAPTURING("cuMemAlloc", CU(cuMemAlloc)(&at, 4096));
    CAPTURING("cuMemFree", CU(cuMemFree)(memory));
    memory = allocate(4096);
    CAPTURING("cuMemHostAlloc", CU(cuMemHostAlloc)(&pinned, 4096, 0));
    if (NULL == pinned) {
        NEED(CU(cuMemHostAlloc)(&pinned, 4096, 0));
    }
    CAPTURING("cuMemHostGetDevicePointer", CU(cuMemHostGetDevicePointer)(&at, pinned, 0));
    CAPTURING("cuMemFreeHost", CU(cuMemFreeHost)(pinned));
    CAPTURING("cuPointerGetAttribute",
              CU(cuPointerGetAttribute)(&fd, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    CAPTURING("cuStreamCreate", CU(cuStreamCreate)(&made, CU_STREAM_NON_BLOCKING));
    CAPTURING("cuMemcpyAsync on another stream", CU(cuMemcpyAsync)(memory, memory, 16, other));
    CAPTURING("cuMemsetD8Async on another stream", CU(cuMemsetD8Async)(memory, 0, 16, other));
    CAPTURING("cuStreamQuery of another stream", CU(cuStreamQuery)(other));
    CAPTURING("cuStreamSynchronize of another stream", CU(cuStreamSynchronize)(other));
    CAPTURING("cuStreamDestroy of another stream", CU(cuStreamDestroy)(other));
    CAPTURING("cuCtxSynchronize", CU(cuCtxSynchronize)());
    CAPTURING("cuMemcpy", CU(cuMemcpy)(memory, memory, 16));
    CAPTURING("cuModuleLoadData", CU(cuModuleLoadData)(&module, ptx));
    if (NULL == module) {
        NEED(CU(cuModuleLoadData)(&module, ptx));
    }
    CAPTURING("cuModuleGetFunction", CU(cuModuleGetFunction)(&function, module, kernel_name));
    CAPTURING("cuModuleUnload", CU(cuModuleUnload)(module));
    CAPTURING("cuGraphCreate", CU(cuGraphCreate)(&graph, 0));
    CAPTURING("cuGraphInstantiateWithFlags", CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    if (NULL == exec) {
        NEED(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    }
    CAPTURING("cuGraphLaunch on another stream", CU(cuGraphLaunch)(exec, new_stream()));
    CAPTURING("cuGraphExecDestroy", CU(cuGraphExecDestroy)(exec));
    CAPTURING("cuGraphDestroy", CU(cuGraphDestroy)(graph));
    CAPTURING("cuDevicePrimaryCtxRetain", CU(cuDevicePrimaryCtxRetain)(&context, 0));
}

/* ---- two devices ---- */

static bool two_devices(void)
{
    int count = 0;
    NEED(CU(cuInit)(0));
    NEED(CU(cuDeviceGetCount)(&count));
    return 2 <= count;
}

static void peers(void)
{
    int reach = 77;
    if (!two_devices()) {
        return;
    }
    enter(0);
    CUstream stream = new_stream();
    CUdeviceptr mine = allocate(UNIT), at = reserve(UNIT);
    CUmemGenericAllocationHandle handle = create(1, UNIT);
    TELL("can access peer", CU(cuDeviceCanAccessPeer)(&reach, 0, 1));
    tell_number("that is", reach);
    TELL("can access itself", CU(cuDeviceCanAccessPeer)(&reach, 0, 0));
    tell_number("that is", reach);
    TELL("map the other's memory", CU(cuMemMap)(at, UNIT, 0, handle, 0));
    look("the other's mapped memory", at);
    TELL("access of ours", allow(at, UNIT, 0));
    TELL("copy to it", CU(cuMemcpyAsync)(at, mine, UNIT, stream));
    TELL("memset of it", CU(cuMemsetD8Async)(at, 0, UNIT, stream));
    TELL("synchronize", CU(cuStreamSynchronize)(stream));
    NEED(CU(cuDevicePrimaryCtxRetain)(&context, 1));
    NEED(CU(cuCtxPushCurrent)(context));
    CUdeviceptr theirs = allocate(UNIT);
    CUstream their_stream = new_stream();
    look("memory of device 0 from device 1", mine);
    TELL("copy from cuMemAlloc of device 0 in a stream of device 1",
         CU(cuMemcpyAsync)(theirs, mine, UNIT, their_stream));
    TELL("synchronize", CU(cuStreamSynchronize)(their_stream));
    TELL("copy in a stream of a context that is not current",
         CU(cuMemcpyAsync)(mine, mine, 16, stream));
    TELL("query that stream", CU(cuStreamQuery)(stream));
    TELL("memset of cuMemAlloc of device 0 in a stream of device 1",
         CU(cuMemsetD8Async)(mine, 0, UNIT, their_stream));
    after_work(their_stream);
}

static void copy_without_access_of_the_other(void)
{
    if (!two_devices()) {
        return;
    }
    enter(1);
    CUstream stream = new_stream();
    CUdeviceptr at = mapped(0, UNIT), mine = allocate(UNIT);
    TELL("copy in a stream of device 1 to memory that device 0 has access to",
         CU(cuMemcpyAsync)(at, mine, UNIT, stream));
    after_work(stream);
}

static void memset_without_access_of_the_other(void)
{
    if (!two_devices()) {
        return;
    }
    enter(1);
    CUstream stream = new_stream();
    CUdeviceptr at = mapped(0, UNIT);
    TELL("memset in a stream of device 1", CU(cuMemsetD8Async)(at, 0, UNIT, stream));
    after_work(stream);
}

/* Imports in a process that sees the other device alone. */
static void import_in_child(int fd)
{
    CUmemGenericAllocationHandle handle = 0;
    enter(0);
    CUresult result =
        TELL("import of a device that is not visible",
             CU(cuMemImportFromShareableHandle)(&handle, (void *) (intptr_t) fd,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    if (CUDA_SUCCESS == result) {
        CUdeviceptr at = reserve(UNIT);
        TELL("map", CU(cuMemMap)(at, UNIT, 0, handle, 0));
        look("it", at);
        TELL("access", allow(at, UNIT, 0));
        TELL("memset", CU(cuMemsetD8)(at, 0, UNIT));
    }
}

static void invisible_device(void)
{
    if (!two_devices()) {
        return;
    }
    enter(0);
    CUmemGenericAllocationHandle handle = create(0, UNIT);
    int fd = -1;
    NEED(
        CU(cuMemExportToShareableHandle)(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    char text[16];
    (void) snprintf(text, sizeof(text), "%d", dup(fd)); /* without FD_CLOEXEC */
    (void) fflush(stdout);
    pid_t child = fork();
    if (0 == child) {
        (void) setenv("CUDA_VISIBLE_DEVICES", "1", 1);
        (void) execl("/proc/self/exe", "conformance", "import_in_child", text, (char *) NULL);
        _exit(1);
    }
    (void) waitpid(child, NULL, 0);
}

/* ---- the run ---- */

#define GROUP(function)                                                                            \
    {                                                                                              \
#        function, function                                                                        \
    }
static const struct {
    const char *name;
    void (*function)(void);
} groups[] = {
    GROUP(units),
    GROUP(pointers_before_init),
    GROUP(pointers_without_any_context),
    GROUP(pointers_in_context),
    GROUP(pointers_after_pop),
    GROUP(pointers_in_new_thread),
    GROUP(virtual_memory_without_context),
    GROUP(streams_without_context),
    GROUP(primary_context),
    GROUP(misuse_of_handles),
    GROUP(no_descriptors),
    GROUP(misuse_of_ranges),
    GROUP(memory_outlives_its_handle),
    GROUP(copy_beyond_allocation),
    GROUP(memset_beyond_allocation),
    GROUP(copy_beyond_pinned),
    GROUP(memset_of_unmapped),
    GROUP(copy_to_unmapped),
    GROUP(memset_without_access),
    GROUP(copy_without_access),
    GROUP(memset_of_host_memory),
    GROUP(copy_over_two_mappings),
    GROUP(waiting),
    GROUP(memory_is_readable_by_the_host),
    GROUP(calls_during_capture),
    GROUP(peers),
    GROUP(copy_without_access_of_the_other),
    GROUP(memset_without_access_of_the_other),
    GROUP(invisible_device),
};

#define GROUP_COUNT (sizeof(groups) / sizeof(groups[0]))

static void run_in_child(size_t i)
{
    (void) fflush(stdout);
    pid_t child = fork();
    if (0 == child) {
        (void) alarm(60);
        (void) execl("/proc/self/exe", "conformance", groups[i].name, (char *) NULL);
        _exit(1);
    }
    int status = 0;
    (void) waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        printf("%s: ended by signal %d\n", groups[i].name, WTERMSIG(status));
    }
}

int main(int argc, char **argv)
{
    if (2 > argc) {
        for (size_t i = 0; i < GROUP_COUNT; ++i) {
            run_in_child(i);
        }
        return 0;
    }
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (NULL == library) {
        printf("SKIP: %s\n", dlerror());
        return 77;
    }
    group = argv[1];
    if (3 == argc) {
        import_in_child(atoi(argv[2]));
    }
    for (size_t i = 0; i < GROUP_COUNT; ++i) {
        if (0 == strcmp(groups[i].name, argv[1])) {
            groups[i].function();
        }
    }
    return 0;
}
