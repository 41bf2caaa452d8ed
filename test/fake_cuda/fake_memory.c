/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Memory of one process: on a device, and pinned on the host; and what a pointer points to. */
#include "symm_config.h"

#include "fake_context.h"
#include "fake_entry.h"
#include "fake_machine.h"
#include "fake_physical.h"
#include "fake_report.h"
#include "fake_space.h"

#include <stdlib.h>

/* What the driver says where a device's number has no meaning (CU_DEVICE_INVALID). */
#define NO_DEVICE (-2)

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *dptr, size_t bytesize)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    CUcontext context = fake_context_current();
    if (NULL == dptr || 0 == bytesize) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes", bytesize);
    }
    fake_physical_t *physical;
    CUresult result = fake_physical_create(context->gpu, bytesize, 0, &physical);
    if (CUDA_SUCCESS != result) {
        return result;
    }
    fake_range_t *range = fake_space_create_of(FAKE_DEVICE, physical, context);
    if (NULL == range) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *dptr = (CUdeviceptr) range->base;
    return CUDA_SUCCESS;
}

/* The context of what starts at address, NULL when nothing of that kind does. */
static CUcontext owner_of(uintptr_t address, fake_range_kind_t kind)
{
    fake_space_read();
    const fake_range_t *range = fake_space_find(address);
    bool good = NULL != range && range->kind == kind && range->base == address;
    CUcontext context = good ? range->context : NULL;
    fake_space_unlock();
    return context;
}

/* Frees what starts at address, once all work that might touch it is done. */
static CUresult free_memory(uintptr_t address, fake_range_kind_t kind)
{
    CUcontext context = owner_of(address, kind);
    if (NULL == context) {
        CUresult usable = fake_context_usable();
        if (CUDA_ERROR_CONTEXT_IS_DESTROYED == usable) {
            return usable; /* and the memory went with it */
        }
        return fake_misuse(CUDA_ERROR_INVALID_VALUE,
                           "%p is no allocation of this kind, or was "
                           "freed",
                           (void *) address);
    }
    fake_context_drain(context, true);
    CUresult sticky = fake_context_sticky(context);
    if (CUDA_SUCCESS != sticky) {
        return sticky;
    }
    fake_space_write();
    fake_range_t *range = fake_space_find(address);
    fake_space_destroy(range);
    fake_space_unlock();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr dptr)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE | FAKE_ENDS);
    return fake_leave(0 == dptr ? CUDA_SUCCESS : free_memory((uintptr_t) dptr, FAKE_DEVICE));
}

CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    const unsigned known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (NULL == pp || 0 == bytesize || 0 != (Flags & ~known)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%zu bytes, flags %x", bytesize, Flags);
    }
    fake_range_t *range = fake_space_create(FAKE_PINNED, bytesize, 0, fake_context_current());
    if (NULL == range) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    fake_physical_spoil(range->shadow, bytesize);
    *pp = (void *) range->base;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFreeHost(void *p)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE | FAKE_ENDS);
    return fake_leave(free_memory((uintptr_t) p, FAKE_PINNED));
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    fake_space_read();
    const fake_range_t *range = fake_space_find((uintptr_t) p);
    bool pinned = NULL != range && FAKE_PINNED == range->kind;
    fake_space_unlock();
    if (NULL == pdptr || 0 != Flags || !pinned) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "%p is no pinned memory, or flags %x", p,
                           Flags);
    }
    *pdptr = (CUdeviceptr) (uintptr_t) p; /* one address space for all */
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetInfo(size_t *free, size_t *total)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    int gpu = fake_context_current()->gpu;
    *free = fake_machine_free(gpu);
    *total = fake_machine_describe(gpu)->memory;
    return CUDA_SUCCESS;
}

/* ---- pointers ---- */

typedef struct facts {
    unsigned type; /* CUmemorytype, 0 for memory that CUDA does not know */
    int ordinal;
    bool mapped;
    CUcontext context;
    const fake_range_t *range;
} facts_t;

static facts_t look_at(uintptr_t address)
{
    facts_t facts = {.type = 0, .ordinal = NO_DEVICE};
    const fake_range_t *range = fake_space_find(address);
    if (NULL == range) {
        return facts;
    }
    facts.range = range;
    if (FAKE_RESERVATION == range->kind) {
        const fake_mapping_t *mapping = fake_space_mapping(range, address - range->base);
        if (NULL != mapping) {
            facts.type = CU_MEMORYTYPE_DEVICE;
            /* The driver says 0 of memory of a device that this process does not see. */
            CUdevice device = fake_machine_device(mapping->gpu);
            facts.ordinal = 0 > device ? 0 : device;
            facts.mapped = true;
        }
        return facts;
    }
    facts.type = FAKE_PINNED == range->kind ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    facts.ordinal = range->context->device;
    if (FAKE_IPC == range->kind) {
        CUdevice device = fake_machine_device(range->physical->gpu);
        facts.ordinal = 0 > device ? 0 : device;
    }
    facts.context = range->context;
    facts.mapped = true;
    return facts;
}

static CUresult answer(CUpointer_attribute attribute, void *data, const facts_t *facts,
                       uintptr_t address)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *) data = facts->context;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *) data = facts->type;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *) data = 0 == facts->type ? 0 : (CUdeviceptr) address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *(void **) data = CU_MEMORYTYPE_HOST == facts->type ? (void *) address : NULL;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *) data = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *) data = facts->ordinal;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned *) data = facts->mapped ? 1 : 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *) data = NULL == facts->range ? 0 : (CUdeviceptr) facts->range->base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *) data = NULL == facts->range ? 0 : facts->range->len;
        return CUDA_SUCCESS;
    default:
        return fake_misuse(CUDA_ERROR_NOT_SUPPORTED, "the fake has no attribute %d",
                           (int) attribute);
    }
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                        void **data, CUdeviceptr ptr)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    CUresult result = CUDA_SUCCESS;
    fake_space_read();
    facts_t facts = look_at((uintptr_t) ptr);
    for (unsigned i = 0; CUDA_SUCCESS == result && i < numAttributes; ++i) {
        result = answer(attributes[i], data[i], &facts, (uintptr_t) ptr);
    }
    fake_space_unlock();
    return result;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    fake_space_read();
    facts_t facts = look_at((uintptr_t) ptr);
    /* Unlike the function above this one refuses memory that CUDA does not know; no misuse, as
     * programs ask in order to find out. */
    CUresult result = 0 == facts.type ? CUDA_ERROR_INVALID_VALUE
                                      : answer(attribute, data, &facts, (uintptr_t) ptr);
    fake_space_unlock();
    return result;
}
