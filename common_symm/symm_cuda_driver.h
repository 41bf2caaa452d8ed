/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The CUDA driver, taken at run time: libcuda.so.1 is never linked, so the plug-in loads and
 * declines politely where there is no GPU, and tests can put another library in its place. */
#ifndef SYMM_CUDA_DRIVER_H
#define SYMM_CUDA_DRIVER_H

#include <stdbool.h>

#include <cuda.h>
#include <cudaTypedefs.h>

#include "symm_error.h"

/* cuda.h renames functions to their newest version; the table's fields have the plain names. */
#undef cuDevicePrimaryCtxRelease
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuMemAlloc
#undef cuMemGetAddressRange
#undef cuIpcOpenMemHandle
#undef cuMemFree
#undef cuMemHostGetDevicePointer
#undef cuMemsetD8Async
#undef cuStreamDestroy
#undef cuEventDestroy
#undef cuGraphAddKernelNode
#undef cuGraphExecKernelNodeSetParams

#define SYMM_CUDA_SYMBOL(name, version) PFN_##name##_v##version name;
typedef struct symm_cuda_driver {
#include "symm_cuda_symbols.h"
} symm_cuda_driver_t;
#undef SYMM_CUDA_SYMBOL

/* The table; valid once symm_cuda_load() returned MPI_SUCCESS. */
extern symm_cuda_driver_t symm_cuda;

/* Loads the driver once for the process; any thread. Does not initialise CUDA: a process that never
 * asks for GPU memory pays for no context. Returns MPI_SUCCESS, or MPI_ERR_UNSUPPORTED_OPERATION
 * with the reason recorded (error may be NULL). */
int symm_cuda_load(symm_error_t *error);

/* Records a failed driver call with the driver's own name for the error. Returns MPI_SUCCESS when
 * result is CUDA_SUCCESS. what is the call and its size, as "cuMemCreate of 2097152 bytes". */
int symm_cuda_check(CUresult result, symm_error_t *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Logs a failed driver call at once, for calls that no agreement follows. Returns MPI_SUCCESS or
 * MPI_ERR_OTHER. */
int symm_cuda_check_log(int level, CUresult result, const char *call);

#endif
