/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The cuda backend: choosing the GPU, and memory through CUDA virtual memory management (Driver API
 * manual, "Virtual Memory Management"), whose calls need no context and are allowed during capture.
 * Copies and kernels are the work of symm_cuda_queue.c and symm_cuda_kernel.c. */
#include "symm_config.h"

#include "symm_cuda.h"
#include "symm_cuda_resident.h"
#include "symm_log.h"
#include "symm_options.h"
#include "symm_reduce_params.h"
#include "symm_topology.h"

#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUS_ID_MAX 16 /* "0000:65:00.0" and its NUL */

static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;
static symm_device_t *devices;

int symm_cuda_enter(const symm_device_t *device, symm_cuda_scope_t *scope_p)
{
    CUcontext current = NULL;
    scope_p->pushed = false;
    scope_p->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    (void) symm_cuda.cuCtxGetCurrent(&current); /* on failure we push, and that reports */
    if (device->context != current) {
        CUresult result = symm_cuda.cuCtxPushCurrent(device->context);
        if (CUDA_SUCCESS != result) {
            return symm_cuda_check_log(SYMM_LOG_ERROR, result, "cuCtxPushCurrent");
        }
        scope_p->pushed = true;
    }
    /* Without it the calls that a capture forbids fail, and say so. */
    scope_p->relaxed = CUDA_SUCCESS == symm_cuda.cuThreadExchangeStreamCaptureMode(&scope_p->mode);
    return MPI_SUCCESS;
}

void symm_cuda_leave(const symm_cuda_scope_t *scope)
{
    CUstreamCaptureMode mode = scope->mode;
    if (scope->relaxed) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN,
                                   symm_cuda.cuThreadExchangeStreamCaptureMode(&mode),
                                   "cuThreadExchangeStreamCaptureMode");
    }
    if (scope->pushed) {
        CUcontext popped;
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuCtxPopCurrent(&popped),
                                   "cuCtxPopCurrent");
    }
}

/* Index of the GPU to use among the visible ones, for a program that has not chosen. */
static int choose_gpu(int local_rank, CUdevice *gpu_p, symm_error_t *error)
{
    int count = 0;
    int rc = symm_cuda_check(symm_cuda.cuDeviceGetCount(&count), error, "cuDeviceGetCount");
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    if (0 == count) {
        return symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION,
                              "no GPU is visible to this rank; check CUDA_VISIBLE_DEVICES");
    }
    char(*ids)[BUS_ID_MAX] = calloc((size_t) count, sizeof(*ids));
    const char **pointers = calloc((size_t) count, sizeof(*pointers));
    int chosen = local_rank % count;
    if (NULL != ids && NULL != pointers) {
        for (int i = 0; i < count; ++i) {
            (void) symm_cuda.cuDeviceGetPCIBusId(ids[i], BUS_ID_MAX, i); /* "" is never near */
            pointers[i] = ids[i];
        }
        chosen = symm_topology_choose(pointers, count, local_rank);
    }
    free(ids);
    free(pointers);
    return symm_cuda_check(symm_cuda.cuDeviceGet(gpu_p, chosen), error, "cuDeviceGet of %d",
                           chosen);
}

/* The GPU for a program that has not chosen: chosen once, so that all windows are on it. */
static int default_gpu(CUdevice *gpu_p, symm_error_t *error)
{
    static bool chosen;
    static CUdevice gpu;
    if (!chosen) {
        int rc = choose_gpu(symm_options.local_rank, &gpu, error);
        if (MPI_SUCCESS != rc) {
            return rc;
        }
        chosen = true;
    }
    *gpu_p = gpu;
    return MPI_SUCCESS;
}

/* Holds on to the primary context of gpu, making it if need be. */
static int retain_primary(symm_device_t *found, symm_error_t *error)
{
    int rc = symm_cuda_check(symm_cuda.cuDevicePrimaryCtxRetain(&found->context, found->gpu), error,
                             "cuDevicePrimaryCtxRetain of device %d", (int) found->gpu);
    found->retained = MPI_SUCCESS == rc;
    return rc;
}

/* Takes the program's current context, holding on to it if it is a primary one. */
static int adopt_context(CUcontext current, symm_device_t *found, symm_error_t *error)
{
    unsigned flags;
    int active = 0;
    int rc = symm_cuda_check(symm_cuda.cuCtxGetDevice(&found->gpu), error, "cuCtxGetDevice");
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_check(symm_cuda.cuDevicePrimaryCtxGetState(found->gpu, &flags, &active),
                             error, "cuDevicePrimaryCtxGetState");
    }
    if (MPI_SUCCESS == rc && 0 != active) { /* retaining one that is not would make it */
        rc = retain_primary(found, error);
    }
    if (MPI_SUCCESS == rc && current != found->context) {
        if (found->retained) {
            (void) symm_cuda.cuDevicePrimaryCtxRelease(found->gpu); /* ours of a moment ago */
            found->retained = false;
        }
        found->context = current;
    }
    return rc;
}

/* Finds the context to work in: the thread's current one (whose GPU the program chose), else the
 * primary context of a GPU that we choose. The caller holds the lock. */
static int find_context(symm_device_t *found, symm_error_t *error)
{
    CUcontext current = NULL;
    int rc = symm_cuda_check(symm_cuda.cuCtxGetCurrent(&current), error, "cuCtxGetCurrent");
    if (MPI_SUCCESS == rc && NULL != current) {
        rc = adopt_context(current, found, error);
    } else if (MPI_SUCCESS == rc) {
        rc = default_gpu(&found->gpu, error);
        if (MPI_SUCCESS == rc) {
            rc = retain_primary(found, error);
        }
    }
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_check(symm_cuda.cuCtxGetId(found->context, &found->context_id), error,
                             "cuCtxGetId");
    }
    return rc;
}

static int get_attribute(const symm_device_t *device, CUdevice_attribute attribute, int *value_p,
                         symm_error_t *error)
{
    return symm_cuda_check(symm_cuda.cuDeviceGetAttribute(value_p, attribute, device->gpu), error,
                           "cuDeviceGetAttribute %d", (int) attribute);
}

static CUmemAllocationProp allocation_prop(const symm_device_t *device)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->gpu},
    };
    return prop;
}

/* Reads what we need to know of the GPU; declines one that lacks what windows are made of. */
static int read_capabilities(symm_device_t *device, symm_error_t *error)
{
    int vmm = 0;
    int descriptors = 0;
    int fabric = 0;
    int multiprocessors = 0;
    int rc =
        get_attribute(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, &vmm, error);
    if (MPI_SUCCESS == rc) {
        rc = get_attribute(device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
                           &descriptors, error);
    }
    if (MPI_SUCCESS == rc) {
        rc = get_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &multiprocessors,
                           error);
    }
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    if (0 == vmm || 0 == descriptors) {
        return symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION,
                              "device %d has no shareable virtual memory management",
                              device->ordinal);
    }
    /* A driver too old to know the attribute has no fabric handles either. */
    (void) symm_cuda.cuDeviceGetAttribute(&fabric, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED,
                                          device->gpu);
    device->fabric = 0 != fabric && symm_options.fabric_handles;
    device->multiprocessors = (uint32_t) multiprocessors;
    CUmemAllocationProp prop = allocation_prop(device);
    return symm_cuda_check(symm_cuda.cuMemGetAllocationGranularity(
                               &device->granularity, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                           error, "cuMemGetAllocationGranularity");
}

static void name_device(symm_device_t *device)
{
    char name[96] = "GPU";
    (void) symm_cuda.cuDeviceGetName(name, sizeof(name), device->gpu); /* the default does */
    (void) snprintf(device->text, sizeof(device->text), "%s (device %d)", name, device->ordinal);
}

static void close_context(symm_device_t *device)
{
    symm_cuda_scope_t scope;
    if (!device->retained) {
        return; /* the program's own context: it may be gone, and its modules with it */
    }
    if (MPI_SUCCESS == symm_cuda_enter(device, &scope)) {
        symm_cuda_resident_stop_all(device);
        symm_cuda_unload_kernels(device);
        symm_cuda_leave(&scope);
    }
    (void) symm_cuda_check_log(SYMM_LOG_DEBUG, symm_cuda.cuDevicePrimaryCtxRelease(device->gpu),
                               "cuDevicePrimaryCtxRelease");
}

/* Fills in a device whose context is found. */
static int set_up_device(symm_device_t *device, symm_error_t *error)
{
    device->ordinal = (int) device->gpu;
    int rc = read_capabilities(device, error);
    symm_cuda_scope_t scope;
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_enter(device, &scope);
        if (MPI_SUCCESS != rc) {
            return symm_error_set(error, rc, "cannot work in the CUDA context of device %d",
                                  device->ordinal);
        }
        rc = symm_cuda_load_kernels(device, error);
        symm_cuda_leave(&scope);
    }
    name_device(device);
    return rc;
}

/* Adds a device for a context not seen yet, taking over the hold on it. The caller holds the lock.
 */
static int add_device(const symm_device_t *found, symm_device_t **device_p, symm_error_t *error)
{
    symm_device_t *device = malloc(sizeof(*device));
    if (NULL == device) {
        return symm_error_set(error, MPI_ERR_NO_MEM, "no memory for a device");
    }
    *device = *found;
    (void) pthread_mutex_init(&device->kernels_lock,
                              NULL); /* cannot fail with default attributes */
    (void) pthread_mutex_init(&device->residents_lock, NULL); /* likewise */
    int rc = set_up_device(device, error);
    if (MPI_SUCCESS != rc) {
        close_context(device);
        free(device);
        return rc;
    }
    device->next = devices;
    devices = device;
    *device_p = device;
    return MPI_SUCCESS;
}

/* The device of a context that was found, added if it is new. The caller holds the lock. */
static int device_of(const symm_device_t *found, symm_device_t **device_p, symm_error_t *error)
{
    symm_device_t *device = devices;
    while (NULL != device && device->context_id != found->context_id) {
        device = device->next;
    }
    if (NULL == device) {
        return add_device(found, device_p, error);
    }
    if (found->retained) {
        (void) symm_cuda.cuDevicePrimaryCtxRelease(found->gpu); /* it is held already */
    }
    *device_p = device;
    return MPI_SUCCESS;
}

static int cuda_open(symm_device_t **device_p, symm_error_t *error)
{
    symm_device_t found = {0};
    int rc = symm_cuda_load(error);
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_check(symm_cuda.cuInit(0), error, "cuInit");
    }
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    (void) pthread_mutex_lock(&devices_lock); /* fails only on misuse */
    rc = find_context(&found, error);
    if (MPI_SUCCESS == rc) {
        rc = device_of(&found, device_p, error);
    } else if (found.retained) {
        (void) symm_cuda.cuDevicePrimaryCtxRelease(found.gpu); /* ours of a moment ago */
    }
    (void) pthread_mutex_unlock(&devices_lock);
    return rc;
}

static void cuda_close(symm_device_t *device)
{
    (void) device; /* kept for the next window, see symm_cuda.h */
}

/* A context of the program's own may go, with everything in it, once the windows are freed. */
static bool cuda_lasts(const symm_device_t *device)
{
    return device->retained;
}

static void cuda_finalize(void)
{
    while (NULL != devices) {
        symm_device_t *device = devices;
        devices = device->next;
        close_context(device);
        free(device);
    }
}

static size_t cuda_granularity(const symm_device_t *device)
{
    return device->granularity;
}

static const char *cuda_describe(const symm_device_t *device)
{
    return device->text;
}

static uint32_t cuda_multiprocessors(const symm_device_t *device)
{
    return device->multiprocessors;
}

/* Creates memory that can be shared by FABRIC handle as well as by descriptor, if the system lets
 * us; the attribute alone promises too much (no IMEX channel, no permission). */
static bool create_fabric(symm_device_t *device, size_t len, CUmemGenericAllocationHandle *handle_p)
{
    if (!device->fabric) {
        return false;
    }
    CUmemAllocationProp prop = allocation_prop(device);
    prop.requestedHandleTypes |= CU_MEM_HANDLE_TYPE_FABRIC;
    CUresult result = symm_cuda.cuMemCreate(handle_p, len, &prop, 0);
    if (CUDA_SUCCESS == result) {
        return true;
    }
    (void) symm_cuda_check_log(SYMM_LOG_DEBUG, result,
                               "cuMemCreate with a FABRIC handle; using descriptors");
    device->fabric = CUDA_ERROR_OUT_OF_MEMORY == result;
    return false;
}

static int cuda_memory_create(symm_device_t *device, size_t len, symm_memory_t *memory_p,
                              symm_error_t *error)
{
    int rc = MPI_SUCCESS;
    CUmemGenericAllocationHandle handle;
    symm_cuda_resident_stop_all(device); /* the steps of a new window may wait for the device */
    if (!create_fabric(device, len, &handle)) {
        CUmemAllocationProp prop = allocation_prop(device);
        rc = symm_cuda_check(symm_cuda.cuMemCreate(&handle, len, &prop, 0), error,
                             "cuMemCreate of %zu bytes on %s; ask for less, or free device memory",
                             len, device->text);
    }
    if (MPI_SUCCESS == rc) {
        *memory_p = (symm_memory_t){handle, len};
    }
    return rc;
}

static int cuda_memory_export(symm_device_t *device, const symm_memory_t *memory, int *fd_p,
                              symm_error_t *error)
{
    (void) device;
    return symm_cuda_check(symm_cuda.cuMemExportToShareableHandle(
                               fd_p, memory->value, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                           error,
                           "cuMemExportToShareableHandle; raise the descriptor limit (ulimit -n)");
}

static int cuda_memory_export_fabric(symm_device_t *device, const symm_memory_t *memory,
                                     symm_fabric_handle_t *handle_p)
{
    CUmemFabricHandle handle;
    _Static_assert(sizeof(handle) == sizeof(handle_p->bytes), "fabric handles are 64 bytes");
    if (!device->fabric) {
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    CUresult result = symm_cuda.cuMemExportToShareableHandle(&handle, memory->value,
                                                             CU_MEM_HANDLE_TYPE_FABRIC, 0);
    if (CUDA_SUCCESS != result) {
        (void) symm_cuda_check_log(SYMM_LOG_DEBUG, result, "exporting a FABRIC handle");
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    memcpy(handle_p->bytes, &handle, sizeof(handle));
    return MPI_SUCCESS;
}

static int import_handle(symm_device_t *device, void *os_handle, CUmemAllocationHandleType type,
                         size_t len, symm_memory_t *memory_p, symm_error_t *error)
{
    CUmemGenericAllocationHandle handle;
    int rc =
        symm_cuda_check(symm_cuda.cuMemImportFromShareableHandle(&handle, os_handle, type), error,
                        "cuMemImportFromShareableHandle of %zu bytes on %s", len, device->text);
    if (MPI_SUCCESS == rc) {
        *memory_p = (symm_memory_t){handle, len};
    }
    return rc;
}

static int cuda_memory_import(symm_device_t *device, int fd, size_t len, symm_memory_t *memory_p,
                              symm_error_t *error)
{
    return import_handle(device, (void *) (intptr_t) fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                         len, memory_p, error);
}

static int cuda_memory_import_fabric(symm_device_t *device, const symm_fabric_handle_t *handle,
                                     size_t len, symm_memory_t *memory_p, symm_error_t *error)
{
    CUmemFabricHandle copy;
    memcpy(&copy, handle->bytes, sizeof(copy));
    return import_handle(device, &copy, CU_MEM_HANDLE_TYPE_FABRIC, len, memory_p, error);
}

static void cuda_memory_release(symm_device_t *device, symm_memory_t *memory)
{
    (void) device;
    (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuMemRelease(memory->value),
                               "cuMemRelease");
    memory->len = 0;
}

static int cuda_range_reserve(symm_device_t *device, size_t len, void **base_p, symm_error_t *error)
{
    CUdeviceptr base;
    int rc = symm_cuda_check(symm_cuda.cuMemAddressReserve(&base, len, device->granularity, 0, 0),
                             error, "cuMemAddressReserve of %zu bytes", len);
    if (MPI_SUCCESS == rc) {
        *base_p = (void *) (uintptr_t) base;
    }
    return rc;
}

/* Waits for the device, so nothing of ours stands by. */
static void unmap(symm_device_t *device, CUdeviceptr at, size_t len)
{
    symm_cuda_resident_stop_all(device);
    (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuMemUnmap(at, len), "cuMemUnmap");
}

static int cuda_range_map(symm_device_t *device, void *at, const symm_memory_t *memory,
                          symm_error_t *error)
{
    CUdeviceptr va = (CUdeviceptr) (uintptr_t) at;
    CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->gpu},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    int rc = symm_cuda_check(symm_cuda.cuMemMap(va, memory->len, 0, memory->value, 0), error,
                             "cuMemMap of %zu bytes", memory->len);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = symm_cuda_check(symm_cuda.cuMemSetAccess(va, memory->len, &access, 1), error,
                         "cuMemSetAccess of %zu bytes for %s; the GPUs may have no peer access to "
                         "each other (nvidia-smi topo -p2p rw)",
                         memory->len, device->text);
    if (MPI_SUCCESS != rc) {
        unmap(device, va, memory->len);
    }
    return rc;
}

static void cuda_range_unmap(symm_device_t *device, void *at, size_t len)
{
    unmap(device, (CUdeviceptr) (uintptr_t) at, len);
}

static void cuda_range_free(symm_device_t *device, void *base, size_t len)
{
    (void) device;
    (void) symm_cuda_check_log(SYMM_LOG_WARN,
                               symm_cuda.cuMemAddressFree((CUdeviceptr) (uintptr_t) base, len),
                               "cuMemAddressFree");
}

typedef struct pointer_facts {
    unsigned type; /* CUmemorytype, 0 for memory that CUDA does not know */
    unsigned managed;
    int ordinal;
    CUcontext context; /* NULL for memory that belongs to none, as that of pools */
} pointer_facts_t;

static CUresult look_at(const void *ptr, pointer_facts_t *facts_p)
{
    pointer_facts_t facts = {0, 0, -1, NULL};
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT};
    void *values[] = {&facts.type, &facts.managed, &facts.ordinal, &facts.context};
    CUresult result =
        symm_cuda.cuPointerGetAttributes(4, wanted, values, (CUdeviceptr) (uintptr_t) ptr);
    *facts_p = facts;
    return result;
}

static bool is_device_memory(const pointer_facts_t *facts)
{
    return CU_MEMORYTYPE_DEVICE == facts->type && 0 == facts->managed;
}

static bool is_of(const symm_device_t *device, const pointer_facts_t *facts)
{
    return is_device_memory(facts) && device->ordinal == facts->ordinal &&
           (NULL == facts->context || device->context == facts->context);
}

static bool cuda_reaches(symm_device_t *device, const void *ptr)
{
    pointer_facts_t facts;
    return CUDA_SUCCESS == look_at(ptr, &facts) && is_of(device, &facts);
}

/* The driver tells of atomics between two GPUs, and nothing more of what joins them. */
static symm_link_t cuda_link(const symm_device_t *device, const void *mapped)
{
    pointer_facts_t facts;
    int native = 0;
    if (CUDA_SUCCESS != look_at(mapped, &facts) || 0 > facts.ordinal) {
        return SYMM_LINK_PCIE;
    }
    if (facts.ordinal == device->ordinal) {
        return SYMM_LINK_SAME_GPU;
    }
    CUresult result =
        symm_cuda.cuDeviceGetP2PAttribute(&native, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                          device->gpu, (CUdevice) facts.ordinal);
    int rc = symm_cuda_check_log(SYMM_LOG_DEBUG, result, "cuDeviceGetP2PAttribute");
    return MPI_SUCCESS == rc && 0 != native ? SYMM_LINK_NVLINK : SYMM_LINK_PCIE;
}

/* Whether pinned memory has for kernels the address that it has for the host. */
static bool same_address(const void *ptr)
{
    CUdeviceptr mapped = 0;
    return CUDA_SUCCESS ==
               symm_cuda.cuMemHostGetDevicePointer(&mapped, (void *) (uintptr_t) ptr, 0) &&
           (uintptr_t) ptr == mapped;
}

symm_cuda_place_t symm_cuda_place(const symm_device_t *device, const void *ptr)
{
    pointer_facts_t facts;
    if (symm_program_memory(ptr)) {
        return SYMM_CUDA_ORDINARY; /* or pinned, which it may count as */
    }
    if (CUDA_SUCCESS != look_at(ptr, &facts)) {
        return SYMM_CUDA_ELSEWHERE; /* the driver's copies reach all memory, or end in an error */
    }
    if (is_device_memory(&facts)) {
        return is_of(device, &facts) ? SYMM_CUDA_REACHED : SYMM_CUDA_ELSEWHERE;
    }
    bool pinned = CU_MEMORYTYPE_HOST == facts.type && 0 == facts.managed && same_address(ptr);
    return pinned ? SYMM_CUDA_REACHED : SYMM_CUDA_ORDINARY;
}

static symm_pointer_kind_t cuda_pointer_kind(const void *ptr)
{
    if (MPI_SUCCESS != symm_cuda_load(NULL)) {
        atomic_store(&symm_gpu_memory_possible, false);
        return SYMM_POINTER_HOST;
    }
    pointer_facts_t facts;
    CUresult result = look_at(ptr, &facts);
    if (CUDA_ERROR_NOT_INITIALIZED == result || CUDA_ERROR_DEINITIALIZED == result) {
        return SYMM_POINTER_HOST; /* CUDA is not in use */
    }
    if (CUDA_SUCCESS != result) {
        /* It may be a GPU's: a load would end the program, while the driver's copies, which reach
         * all memory, end in an error at worst. */
        (void) symm_cuda_check_log(SYMM_LOG_DEBUG, result, "cuPointerGetAttributes");
        return SYMM_POINTER_DEVICE;
    }
    return is_device_memory(&facts) ? SYMM_POINTER_DEVICE : SYMM_POINTER_HOST;
}

const symm_device_ops_t symm_cuda_ops = {
    .kind = SYMM_KIND_CUDA_DEVICE,
    .open = cuda_open,
    .close = cuda_close,
    .lasts = cuda_lasts,
    .granularity = cuda_granularity,
    .describe = cuda_describe,
    .multiprocessors = cuda_multiprocessors,
    .memory_create = cuda_memory_create,
    .memory_export = cuda_memory_export,
    .memory_export_fabric = cuda_memory_export_fabric,
    .memory_import = cuda_memory_import,
    .memory_import_fabric = cuda_memory_import_fabric,
    .memory_release = cuda_memory_release,
    .range_reserve = cuda_range_reserve,
    .range_map = cuda_range_map,
    .range_unmap = cuda_range_unmap,
    .range_free = cuda_range_free,
    .queue_create = symm_cuda_queue_create,
    .queue_destroy = symm_cuda_queue_destroy,
    .copy = symm_cuda_copy,
    .transfer = symm_cuda_transfer,
    .move = symm_cuda_move,
    .zero = symm_cuda_zero,
    .copy_many = symm_cuda_copy_many,
    .reduce = symm_cuda_reduce,
    .reduce_staged = symm_cuda_reduce_staged,
    .reduce_resident = symm_cuda_reduce_resident,
    .copy_resident = symm_cuda_copy_resident,
    .queue_rest = symm_cuda_queue_rest,
    .atomic = symm_cuda_atomic,
    .combine = symm_cuda_combine,
    .queue_wait = symm_cuda_queue_wait,
    .queue_test = symm_cuda_queue_test,
    .queue_mark = symm_cuda_queue_mark,
    .queue_progress = symm_cuda_queue_progress,
    .queue_passed = symm_cuda_queue_passed,
    .prepare = symm_cuda_prepare,
    .replay = symm_cuda_replay,
    .discard = symm_cuda_discard,
    .reaches = cuda_reaches,
    .link = cuda_link,
    .pointer_kind = cuda_pointer_kind,
    .in_use = symm_cuda_in_use,
    .offer = symm_cuda_offer,
    .adopt = symm_cuda_adopt,
    .abandon = symm_cuda_abandon,
    .finalize = cuda_finalize,
    .max_ranks = SYMM_REDUCE_MAX_RANKS,
};
