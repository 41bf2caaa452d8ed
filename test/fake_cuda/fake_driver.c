/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The driver as a whole: its start, its version, its errors, and where its functions are. */
#include "symm_config.h"

#include "fake_entry.h"
#include "fake_machine.h"
#include "fake_report.h"

#include <string.h>

/* What the fake is, if FAKE_CUDA_DRIVER_VERSION does not say otherwise. */
#define DRIVER_VERSION 12040

CUresult CUDAAPI cuInit(unsigned int Flags)
{
    FAKE_ENTER(FAKE_NEEDS_NOTHING);
    if (0 != Flags) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "flags %x", Flags);
    }
    if (!fake_machine_load()) {
        return CUDA_ERROR_SYSTEM_NOT_READY;
    }
    if (0 == fake_machine_count()) {
        return CUDA_ERROR_NO_DEVICE;
    }
    fake_entry_initialised();
    return CUDA_SUCCESS;
}

static int driver_version(void)
{
    return (int) fake_env_number("FAKE_CUDA_DRIVER_VERSION", DRIVER_VERSION);
}

CUresult CUDAAPI cuDriverGetVersion(int *driverVersion)
{
    FAKE_ENTER(FAKE_NEEDS_NOTHING);
    *driverVersion = driver_version();
    return CUDA_SUCCESS;
}

/* ---- errors ---- */

static const struct {
    CUresult result;
    const char *name;
    const char *text;
} errors[] = {
#define FAKE_ERROR(result, text) {result, #result, text},
#include "fake_errors.h"
#undef FAKE_ERROR
};

#define ERROR_COUNT (sizeof(errors) / sizeof(errors[0]))

/* ERROR_COUNT when there is no such error. */
static size_t find_error(CUresult error)
{
    size_t i = 0;
    while (i < ERROR_COUNT && errors[i].result != error) {
        ++i;
    }
    return i;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **pStr)
{
    FAKE_ENTER(FAKE_NEEDS_NOTHING);
    size_t i = find_error(error);
    *pStr = ERROR_COUNT == i ? NULL : errors[i].name;
    return ERROR_COUNT == i ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **pStr)
{
    FAKE_ENTER(FAKE_NEEDS_NOTHING);
    size_t i = find_error(error);
    *pStr = ERROR_COUNT == i ? NULL : errors[i].text;
    return ERROR_COUNT == i ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* ---- functions ---- */

/* Declared by fake_context.c, as cuda.h has a newer form. */
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);

/* Each function's name without _v2, with the version of the driver that brought this form. */
static const struct {
    const char *name;
    int version;
    void (*function)(void);
} symbols[] = {
#define FAKE_SYMBOL(name, version, function) {#name, version, (void (*)(void)) function},
#include "fake_symbols.h"
#undef FAKE_SYMBOL
};

#undef cuGetProcAddress
FAKE_EXPORT CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion,
                                              cuuint64_t flags);

/* The form of CUDA 11.3. */
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    FAKE_ENTER(FAKE_NEEDS_NOTHING);
    if (NULL == symbol || NULL == pfn ||
        (CU_GET_PROC_ADDRESS_DEFAULT != flags && CU_GET_PROC_ADDRESS_LEGACY_STREAM != flags)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "no symbol, or flags %llx",
                           (unsigned long long) flags);
    }
    *pfn = NULL;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); ++i) {
        if (0 == strcmp(symbol, symbols[i].name) && symbols[i].version <= cudaVersion &&
            symbols[i].version <= driver_version()) {
            memcpy(pfn, &symbols[i].function, sizeof(*pfn));
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}
