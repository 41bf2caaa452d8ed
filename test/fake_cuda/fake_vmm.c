/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Virtual memory management (Driver API manual, "Virtual Memory Management"). */
#include "symm_config.h"

#include "fake_vmm.h"

#include "fake_entry.h"
#include "fake_machine.h"
#include "fake_physical.h"
#include "fake_report.h"
#include "fake_space.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A handle of physical memory. Values are never used twice. */
typedef struct handle {
    struct handle *next;
    CUmemGenericAllocationHandle value;
    fake_physical_t *physical;
} handle_t;

#define FIRST_HANDLE 0x10000u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static handle_t *handles;
static CUmemGenericAllocationHandle next_value = FIRST_HANDLE;

/* ---- handles ---- */

long fake_vmm_handles(void)
{
    long count = 0;
    (void) pthread_mutex_lock(&lock); /* fails only on misuse */
    for (const handle_t *h = handles; NULL != h; h = h->next) {
        ++count;
    }
    (void) pthread_mutex_unlock(&lock);
    return count;
}

static CUresult add_handle(fake_physical_t *physical, CUmemGenericAllocationHandle *value_p)
{
    handle_t *handle = malloc(sizeof(*handle));
    if (NULL == handle) {
        fake_physical_drop_handle(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    (void) pthread_mutex_lock(&lock);
    *handle = (handle_t){handles, next_value++, physical};
    handles = handle;
    *value_p = handle->value;
    (void) pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* The link to the handle, NULL when there is none, which is told. Under the lock. */
static handle_t **find_handle(CUmemGenericAllocationHandle value)
{
    handle_t **link = &handles;
    while (NULL != *link && (*link)->value != value) {
        link = &(*link)->next;
    }
    if (NULL != *link) {
        return link;
    }
    bool was = FIRST_HANDLE <= value && value < next_value;
    (void) fake_misuse(CUDA_SUCCESS, "handle %llx %s", value,
                       was ? "is released already" : "was never given out");
    return NULL;
}

/* The memory of a handle, kept as if by a further handle until it is dropped; NULL if none. */
static fake_physical_t *hold(CUmemGenericAllocationHandle value)
{
    (void) pthread_mutex_lock(&lock);
    handle_t **link = find_handle(value);
    fake_physical_t *physical = NULL == link ? NULL : (*link)->physical;
    if (NULL != physical) {
        fake_physical_hold_handle(physical);
    }
    (void) pthread_mutex_unlock(&lock);
    return physical;
}

/* The gpu that prop allocates on, -1 when prop is not one that we know. */
static int gpu_of(const CUmemAllocationProp *prop)
{
    bool good = NULL != prop && CU_MEM_ALLOCATION_TYPE_PINNED == prop->type &&
                CU_MEM_LOCATION_TYPE_DEVICE == prop->location.type;
    return good ? fake_machine_gpu(prop->location.id) : -1;
}

/* Whether memory with handles of these types can be had. */
static CUresult check_types(const fake_gpu_t *gpu, unsigned long long types)
{
    const unsigned long long known =
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
    if (0 != (types & ~known)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "handle types %llx", types);
    }
    if (0 != (types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) && 0 == gpu->descriptors) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (0 != (types & CU_MEM_HANDLE_TYPE_FABRIC) && 0 == gpu->fabric) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    /* What the attribute promises needs an IMEX channel as well, which few systems have. */
    bool allowed = 0 != fake_env_number("FAKE_CUDA_FABRIC", 0);
    return 0 != (types & CU_MEM_HANDLE_TYPE_FABRIC) && !allowed ? CUDA_ERROR_NOT_PERMITTED
                                                                : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    int gpu = gpu_of(prop);
    if (NULL == granularity || 0 > gpu ||
        (CU_MEM_ALLOC_GRANULARITY_MINIMUM != option &&
         CU_MEM_ALLOC_GRANULARITY_RECOMMENDED != option)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "no such property or option");
    }
    *granularity = fake_machine_describe(gpu)->granularity;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                             const CUmemAllocationProp *prop, unsigned long long flags)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    int index = gpu_of(prop);
    if (NULL == handle || 0 > index || 0 != flags) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "no such property or flag");
    }
    const fake_gpu_t *gpu = fake_machine_describe(index);
    if (0 == size || 0 != size % gpu->granularity) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes are no multiple of %zu", size,
                           gpu->granularity);
    }
    unsigned long long types = (unsigned long long) prop->requestedHandleTypes;
    CUresult result = 0 == gpu->vmm ? CUDA_ERROR_NOT_SUPPORTED : check_types(gpu, types);
    fake_physical_t *physical = NULL;
    if (CUDA_SUCCESS == result) {
        result = fake_physical_create(index, size, types, &physical);
    }
    return CUDA_SUCCESS == result ? add_handle(physical, handle) : result;
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_ENDS);
    (void) pthread_mutex_lock(&lock);
    handle_t **link = find_handle(handle);
    handle_t *found = NULL == link ? NULL : *link;
    if (NULL != found) {
        *link = found->next;
    }
    (void) pthread_mutex_unlock(&lock);
    if (NULL == found) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    fake_physical_drop_handle(found->physical);
    free(found);
    return fake_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    fake_physical_t *physical = NULL;
    fake_space_read();
    const fake_range_t *range = fake_space_find((uintptr_t) addr);
    if (NULL != range && FAKE_RESERVATION == range->kind) {
        const fake_mapping_t *mapping = fake_space_mapping(range, (uintptr_t) addr - range->base);
        physical = NULL == mapping ? NULL : mapping->physical;
    }
    if (NULL != physical) {
        fake_physical_hold_handle(physical);
    }
    fake_space_unlock();
    /* No misuse: how else is one to find out. */
    return NULL == physical ? CUDA_ERROR_INVALID_VALUE : add_handle(physical, handle);
}

static CUresult export_descriptor(const fake_physical_t *physical, int *fd_p)
{
    int fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0);
    if (0 > fd) {
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    *fd_p = fd;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemExportToShareableHandle(void *shareableHandle,
                                              CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType handleType,
                                              unsigned long long flags)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    if (NULL == shareableHandle || 0 != flags) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "no place for the handle, or flags");
    }
    fake_physical_t *physical = hold(handle);
    if (NULL == physical) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = CUDA_SUCCESS;
    if (0 == (physical->types & (unsigned long long) handleType)) {
        result = CUDA_ERROR_INVALID_VALUE; /* no misuse: how else is one to find out */
    } else if (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR == handleType) {
        result = export_descriptor(physical, shareableHandle);
    } else {
        fake_physical_name(physical, shareableHandle);
    }
    fake_physical_drop_handle(physical);
    return result;
}

static CUresult import_fabric(const CUmemFabricHandle *name, fake_physical_t **physical_p)
{
    if (0 == fake_env_number("FAKE_CUDA_FABRIC", 0)) {
        return CUDA_ERROR_NOT_PERMITTED;
    }
    int fd;
    CUresult result = fake_physical_open(name, &fd);
    if (CUDA_SUCCESS == result) {
        result = fake_physical_import(fd, physical_p);
        (void) close(fd); /* the import has its own */
    }
    return result;
}

CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
                                                void *osHandle,
                                                CUmemAllocationHandleType shHandleType)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    fake_physical_t *physical = NULL;
    CUresult result;
    if (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR == shHandleType && 0 > (intptr_t) osHandle) {
        result = fake_misuse(CUDA_ERROR_UNKNOWN, "no descriptor");
    } else if (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR == shHandleType) {
        result = fake_physical_import((int) (intptr_t) osHandle, &physical);
    } else if (CU_MEM_HANDLE_TYPE_FABRIC == shHandleType && NULL != osHandle) {
        result = import_fabric(osHandle, &physical);
    } else {
        result = fake_misuse(CUDA_ERROR_INVALID_VALUE, "handle type %x", (unsigned) shHandleType);
    }
    return CUDA_SUCCESS == result ? add_handle(physical, handle) : result;
}

/* ---- addresses ---- */

/* The unit of addresses: of the only kind of page that we have. */
static size_t unit(void)
{
    return fake_machine_describe(fake_machine_gpu(0))->granularity;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                     CUdeviceptr addr, unsigned long long flags)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    (void) addr; /* a wish, which the driver need not follow */
    if (NULL == ptr || 0 == size || 0 != size % unit() || 0 != (alignment & (alignment - 1)) ||
        0 != flags) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes aligned to %zu, flags %llx", size,
                           alignment, flags);
    }
    size_t align = alignment < unit() ? unit() : alignment;
    const fake_range_t *range = fake_space_create(FAKE_RESERVATION, size, align, NULL);
    if (NULL == range) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ptr = (CUdeviceptr) range->base;
    return CUDA_SUCCESS;
}

/* Under the write lock. */
static CUresult free_reservation(uintptr_t base, size_t size)
{
    fake_range_t *range = fake_space_find(base);
    if (NULL == range || FAKE_RESERVATION != range->kind || range->base != base) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%p is no reservation's start", (void *) base);
    }
    if (range->len != size) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes of a reservation of %zu", size,
                           range->len);
    }
    if (NULL != range->mappings) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "memory is still mapped at %p",
                           (void *) (base + range->mappings->offset));
    }
    fake_space_destroy(range);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_ENDS);
    fake_space_write();
    CUresult result = free_reservation((uintptr_t) ptr, size);
    fake_space_unlock();
    return fake_leave(result);
}

/* The link behind which a mapping of [offset, offset + len) belongs, NULL when it would overlap. */
static fake_mapping_t **place_for(fake_range_t *range, size_t offset, size_t len)
{
    fake_mapping_t **link = &range->mappings;
    while (NULL != *link && (*link)->offset + (*link)->len <= offset) {
        link = &(*link)->next;
    }
    return NULL == *link || offset + len <= (*link)->offset ? link : NULL;
}

/* Maps physical into range; takes over a reference on success. Under the write lock. */
static CUresult map_physical(fake_range_t *range, size_t offset, size_t len,
                             fake_physical_t *physical)
{
    fake_mapping_t **link = place_for(range, offset, len);
    if (NULL == link) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "memory is mapped there already");
    }
    fake_mapping_t *mapping = calloc(1, sizeof(*mapping));
    if (NULL == mapping || MAP_FAILED == mmap(range->shadow + offset, len, PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_FIXED, physical->fd, 0)) {
        free(mapping);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *mapping = (fake_mapping_t){
        .next = *link, .offset = offset, .len = len, .physical = physical, .gpu = physical->gpu};
    *link = mapping;
    fake_physical_hold_mapping(physical);
    return CUDA_SUCCESS;
}

static CUresult map_checked(uintptr_t at, size_t size, fake_physical_t *physical)
{
    fake_range_t *range = fake_space_find(at);
    if (NULL == range || FAKE_RESERVATION != range->kind ||
        size > range->len - (at - range->base)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %p are not in one reservation",
                           size, (void *) at);
    }
    if (size != physical->len) {
        return fake_misuse(CUDA_ERROR_NOT_SUPPORTED, "%zu bytes of memory of %zu", size,
                           physical->len);
    }
    return map_physical(range, at - range->base, size, physical);
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    if (0 == size || 0 != ptr % unit() || 0 != flags) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %p, flags %llx", size,
                           (void *) (uintptr_t) ptr, flags);
    }
    if (0 != size % unit() || 0 != offset) {
        return fake_misuse(CUDA_ERROR_NOT_SUPPORTED, "%zu bytes, offset %zu", size, offset);
    }
    fake_physical_t *physical = hold(handle);
    if (NULL == physical) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    fake_space_write();
    CUresult result = map_checked((uintptr_t) ptr, size, physical);
    fake_space_unlock();
    fake_physical_drop_handle(physical);
    return result;
}

/* The first of the whole mappings that make up [at, at + size), NULL when they do not. *range_p is
 * theirs. Under a lock. */
static fake_mapping_t *whole_mappings(uintptr_t at, size_t size, fake_range_t **range_p)
{
    fake_range_t *range = fake_space_find(at);
    *range_p = range;
    if (NULL == range || FAKE_RESERVATION != range->kind || 0 == size ||
        size > range->len - (at - range->base)) {
        (void) fake_misuse(CUDA_SUCCESS, "%zu bytes at %p are not in one reservation", size,
                           (void *) at);
        return NULL;
    }
    size_t offset = at - range->base;
    size_t end = offset + size;
    fake_mapping_t *first = fake_space_mapping(range, offset);
    fake_mapping_t *m = first;
    while (NULL != m && m->offset == offset && m->offset + m->len <= end && offset < end) {
        offset = m->offset + m->len;
        m = m->next;
    }
    if (offset != end) {
        (void) fake_misuse(CUDA_SUCCESS, "%zu bytes at %p are not whole mappings", size,
                           (void *) at);
        return NULL;
    }
    return first;
}

/* Takes the mappings out of range from `first` up to offset `end`. Under the write lock. */
static void unmap(fake_range_t *range, fake_mapping_t *first, size_t end)
{
    fake_mapping_t **link = &range->mappings;
    while (*link != first) {
        link = &(*link)->next;
    }
    while (NULL != *link && (*link)->offset < end) {
        fake_mapping_t *m = *link;
        *link = m->next;
        /* Over our own mapping: cannot fail but for want of kernel memory. */
        (void) mmap(range->shadow + m->offset, m->len, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        fake_physical_drop_mapping(m->physical);
        free(m);
    }
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_ENDS);
    fake_range_t *range;
    fake_space_write();
    fake_mapping_t *first = whole_mappings((uintptr_t) ptr, size, &range);
    if (NULL != first) {
        unmap(range, first, (uintptr_t) ptr - range->base + size);
    }
    fake_space_unlock();
    return fake_leave(NULL == first ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

/* Whether the mappings up to offset `end` can be made accessible as desc says. */
static CUresult check_access(const fake_mapping_t *first, size_t end, const CUmemAccessDesc *desc)
{
    int gpu = CU_MEM_LOCATION_TYPE_DEVICE == desc->location.type
                  ? fake_machine_gpu(desc->location.id)
                  : -1;
    if (0 > gpu || (CU_MEM_ACCESS_FLAGS_PROT_READWRITE != desc->flags &&
                    CU_MEM_ACCESS_FLAGS_PROT_READ != desc->flags &&
                    CU_MEM_ACCESS_FLAGS_PROT_NONE != desc->flags)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "no such location or flag");
    }
    for (const fake_mapping_t *m = first; NULL != m && m->offset < end; m = m->next) {
        if (!fake_machine_peers(gpu, m->gpu)) {
            return CUDA_ERROR_INVALID_DEVICE; /* no misuse: how else is one to find out */
        }
    }
    return CUDA_SUCCESS;
}

static void set_access(fake_mapping_t *first, size_t end, const CUmemAccessDesc *desc)
{
    int gpu = fake_machine_gpu(desc->location.id);
    for (fake_mapping_t *m = first; NULL != m && m->offset < end; m = m->next) {
        m->access[gpu] = (unsigned char) desc->flags;
    }
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                size_t count)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    fake_range_t *range;
    fake_space_write();
    fake_mapping_t *first = whole_mappings((uintptr_t) ptr, size, &range);
    CUresult result =
        NULL == first || NULL == desc || 0 == count ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    size_t end = NULL == first ? 0 : first->offset + size;
    for (size_t i = 0; CUDA_SUCCESS == result && i < count; ++i) {
        result = check_access(first, end, &desc[i]);
    }
    for (size_t i = 0; CUDA_SUCCESS == result && i < count; ++i) {
        set_access(first, end, &desc[i]);
    }
    fake_space_unlock();
    return result;
}
