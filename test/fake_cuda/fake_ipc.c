/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Memory of other processes by the handles of CUDA IPC, which are names like those of FABRIC
 * handles; and what allocation an address lies in. */
#include "symm_config.h"

#include "fake_context.h"
#include "fake_entry.h"
#include "fake_machine.h"
#include "fake_physical.h"
#include "fake_report.h"
#include "fake_space.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof(CUipcMemHandle) == sizeof(CUmemFabricHandle), "one form of names");

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    uintptr_t base = 0;
    size_t len = 0;
    fake_space_read();
    const fake_range_t *range = fake_space_find((uintptr_t) dptr);
    if (NULL != range && FAKE_RESERVATION != range->kind) {
        base = range->base;
        len = range->len;
    } else if (NULL != range) {
        const fake_mapping_t *mapping = fake_space_mapping(range, (uintptr_t) dptr - range->base);
        base = NULL == mapping ? 0 : range->base + mapping->offset;
        len = NULL == mapping ? 0 : mapping->len;
    }
    fake_space_unlock();
    if (0 == base) {
        return CUDA_ERROR_INVALID_VALUE; /* no misuse: how else is one to find out */
    }
    *pbase = (CUdeviceptr) base;
    *psize = len;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    CUmemFabricHandle name;
    fake_space_read();
    const fake_range_t *range = fake_space_find((uintptr_t) dptr);
    bool good = NULL != range && FAKE_DEVICE == range->kind;
    if (good) {
        fake_physical_name(range->physical, &name);
    }
    fake_space_unlock();
    if (!good) {
        return CUDA_ERROR_INVALID_VALUE; /* no misuse, likewise */
    }
    memcpy(pHandle, &name, sizeof(name));
    return CUDA_SUCCESS;
}

/* The memory that the handle names, with a handle's hold on it. */
static CUresult import_named(const CUipcMemHandle *handle, fake_physical_t **physical_p)
{
    CUmemFabricHandle name;
    int fd;
    memcpy(&name, handle, sizeof(name));
    CUresult result = fake_physical_open(&name, &fd);
    if (CUDA_SUCCESS == result) {
        result = fake_physical_import(fd, physical_p);
        (void) close(fd); /* the import has its own */
    }
    return result;
}

CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    fake_physical_t *physical = NULL;
    CUcontext context = fake_context_current();
    if (CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS != Flags) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "flags %x", Flags);
    }
    CUresult result = import_named(&handle, &physical);
    if (CUDA_SUCCESS == result && !fake_machine_peers(context->gpu, physical->gpu)) {
        fake_physical_drop_handle(physical);
        result = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    }
    if (CUDA_SUCCESS != result) {
        return result;
    }
    /* Unlike the driver it maps what is open already once more, at another address. */
    const fake_range_t *range = fake_space_create_of(FAKE_IPC, physical, context);
    if (NULL == range) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *pdptr = (CUdeviceptr) range->base;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE | FAKE_ENDS);
    fake_space_read();
    const fake_range_t *range = fake_space_find((uintptr_t) dptr);
    bool good = NULL != range && FAKE_IPC == range->kind && range->base == (uintptr_t) dptr;
    CUcontext context = good ? range->context : NULL;
    fake_space_unlock();
    if (!good) {
        return fake_leave(fake_misuse(CUDA_ERROR_INVALID_VALUE, "%p was not opened, or closed",
                                      (void *) (uintptr_t) dptr));
    }
    fake_context_drain(context, true);
    fake_space_write();
    fake_space_destroy(fake_space_find((uintptr_t) dptr));
    fake_space_unlock();
    return fake_leave(CUDA_SUCCESS);
}
