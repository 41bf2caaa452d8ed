/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Sharing GPU memory that the program allocated: by a descriptor where it is memory of virtual
 * memory management made with such a handle, by CUDA IPC where it comes from cuMemAlloc. */
#include "symm_config.h"

#include "symm_cuda_resident.h"
#include "symm_log.h"

#include <mpi.h>
#include <string.h>

_Static_assert(sizeof(CUipcMemHandle) == SYMM_OFFER_HANDLE_BYTES, "IPC handles are 64 bytes");

bool symm_cuda_in_use(void)
{
    CUcontext current = NULL;
    return MPI_SUCCESS == symm_cuda_load(NULL) &&
           CUDA_SUCCESS == symm_cuda.cuCtxGetCurrent(&current) && NULL != current;
}

/* Exports memory of virtual memory management; *whole_p tells whether ptr lies in such memory. */
static int offer_descriptor(const void *ptr, int *fd_p, bool *whole_p, symm_error_t *error)
{
    CUmemGenericAllocationHandle handle;
    *whole_p = CUDA_SUCCESS == symm_cuda.cuMemRetainAllocationHandle(&handle, (void *) ptr);
    if (!*whole_p) {
        return MPI_SUCCESS;
    }
    int rc = symm_cuda_check(symm_cuda.cuMemExportToShareableHandle(
                                 fd_p, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                             error,
                             "cuMemExportToShareableHandle of the program's memory; create it with "
                             "a handle of type POSIX_FILE_DESCRIPTOR");
    (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuMemRelease(handle), "cuMemRelease");
    return rc;
}

static int offer_ipc(const symm_device_t *device, CUdeviceptr ptr, symm_offer_t *offer_p,
                     symm_error_t *error)
{
    CUipcMemHandle handle;
    symm_cuda_scope_t scope;
    if (MPI_SUCCESS != symm_cuda_enter(device, &scope)) {
        return symm_error_set(error, MPI_ERR_OTHER, "cannot work in the CUDA context of %s",
                              device->text);
    }
    int rc = symm_cuda_check(symm_cuda.cuIpcGetMemHandle(&handle, ptr), error,
                             "cuIpcGetMemHandle of the program's memory; memory of pools and "
                             "managed memory cannot be shared, that of cudaMalloc can");
    symm_cuda_leave(&scope);
    if (MPI_SUCCESS == rc) {
        offer_p->kind = SYMM_OFFER_HANDLE;
        memcpy(offer_p->handle, &handle, sizeof(handle));
    }
    return rc;
}

int symm_cuda_offer(symm_device_t *device, const void *ptr, size_t len, bool descriptors,
                    symm_offer_t *offer_p, int *fd_p, symm_error_t *error)
{
    CUdeviceptr address = (CUdeviceptr) (uintptr_t) ptr;
    CUdeviceptr base;
    size_t whole;
    bool exported = false;
    int rc = symm_cuda_check(symm_cuda.cuMemGetAddressRange(&base, &whole, address), error,
                             "cuMemGetAddressRange");
    if (MPI_SUCCESS == rc && len > whole - (size_t) (address - base)) {
        rc = symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION,
                            "%zu bytes of GPU memory are of more than one allocation", len);
    }
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    *offer_p = (symm_offer_t){
        .kind = SYMM_OFFER_NONE, .offset = (uint64_t) (address - base), .len = (uint64_t) whole};
    if (descriptors) {
        rc = offer_descriptor(ptr, fd_p, &exported, error);
        offer_p->kind = exported && MPI_SUCCESS == rc ? SYMM_OFFER_DESCRIPTOR : SYMM_OFFER_NONE;
    }
    return exported || MPI_SUCCESS != rc ? rc : offer_ipc(device, address, offer_p, error);
}

static int adopt_ipc(symm_device_t *device, const symm_offer_t *offer, symm_adopted_t *adopted_p,
                     symm_error_t *error)
{
    CUipcMemHandle handle;
    CUdeviceptr base = 0;
    symm_cuda_scope_t scope;
    memcpy(&handle, offer->handle, sizeof(handle));
    if (MPI_SUCCESS != symm_cuda_enter(device, &scope)) {
        return symm_error_set(error, MPI_ERR_OTHER, "cannot work in the CUDA context of %s",
                              device->text);
    }
    /* The driver counts how often a handle is opened in a context. */
    int rc = symm_cuda_check(
        symm_cuda.cuIpcOpenMemHandle(&base, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), error,
        "cuIpcOpenMemHandle on %s; the GPUs may have no peer access to each other", device->text);
    symm_cuda_leave(&scope);
    if (MPI_SUCCESS == rc) {
        *adopted_p = (symm_adopted_t){
            .kind = SYMM_OFFER_HANDLE, .base = (void *) (uintptr_t) base, .len = offer->len};
    }
    return rc;
}

static int adopt_descriptor(symm_device_t *device, const symm_offer_t *offer, int fd,
                            symm_adopted_t *adopted_p, symm_error_t *error)
{
    const symm_device_ops_t *ops = &symm_cuda_ops;
    symm_memory_t memory;
    void *base;
    size_t len = (size_t) offer->len;
    int rc = ops->memory_import(device, fd, len, &memory, error);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = ops->range_reserve(device, len, &base, error);
    if (MPI_SUCCESS == rc) {
        rc = ops->range_map(device, base, &memory, error);
        if (MPI_SUCCESS != rc) {
            ops->range_free(device, base, len);
        }
    }
    ops->memory_release(device, &memory); /* the mapping keeps it */
    if (MPI_SUCCESS == rc) {
        *adopted_p = (symm_adopted_t){.kind = SYMM_OFFER_DESCRIPTOR, .base = base, .len = len};
    }
    return rc;
}

int symm_cuda_adopt(symm_device_t *device, const symm_offer_t *offer, int fd,
                    symm_adopted_t *adopted_p, symm_error_t *error)
{
    int rc = SYMM_OFFER_HANDLE == offer->kind
                 ? adopt_ipc(device, offer, adopted_p, error)
                 : adopt_descriptor(device, offer, fd, adopted_p, error);
    if (MPI_SUCCESS == rc) {
        adopted_p->address = (char *) adopted_p->base + offer->offset;
    }
    return rc;
}

void symm_cuda_abandon(symm_device_t *device, symm_adopted_t *adopted)
{
    symm_cuda_scope_t scope;
    if (SYMM_OFFER_DESCRIPTOR == adopted->kind) {
        symm_cuda_ops.range_unmap(device, adopted->base, adopted->len);
        symm_cuda_ops.range_free(device, adopted->base, adopted->len);
    } else if (SYMM_OFFER_HANDLE == adopted->kind &&
               MPI_SUCCESS == symm_cuda_enter(device, &scope)) {
        CUdeviceptr base = (CUdeviceptr) (uintptr_t) adopted->base;
        symm_cuda_resident_stop_all(device); /* closing waits for the device */
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuIpcCloseMemHandle(base),
                                   "cuIpcCloseMemHandle");
        symm_cuda_leave(&scope);
    }
    adopted->kind = SYMM_OFFER_NONE;
}
