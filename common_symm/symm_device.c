/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Picks backends and classifies pointers. */
#include "symm_config.h"

#include "symm_device.h"

_Atomic bool symm_gpu_memory_possible = true;

const symm_device_ops_t *symm_device_ops(symm_kind_t kind)
{
    switch (kind) {
    case SYMM_KIND_SYSTEM:
        return &symm_host_ops;
#if SYMM_HAVE_CUDA
    case SYMM_KIND_CUDA_DEVICE:
        return &symm_cuda_ops;
#endif
    default:
        return NULL;
    }
}

symm_pointer_kind_t symm_pointer_kind_ask(const void *ptr)
{
    const symm_device_ops_t *cuda = symm_device_ops(SYMM_KIND_CUDA_DEVICE);
    if (NULL == cuda) {
        atomic_store(&symm_gpu_memory_possible, false);
        return SYMM_POINTER_HOST;
    }
    return cuda->pointer_kind(ptr);
}
