/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Fills the driver table through dlopen and cuGetProcAddress. */
#include "symm_config.h"

#include "symm_cuda_driver.h"
#include "symm_log.h"

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

symm_cuda_driver_t symm_cuda;

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static symm_error_t load_error;

#define SYMM_CUDA_SYMBOL(name, version) {#name, version, (void **) &symm_cuda.name},
static const struct {
    const char *name;
    int version;
    void **slot;
} symbols[] = {
#include "symm_cuda_symbols.h"
};
#undef SYMM_CUDA_SYMBOL

static void load_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (NULL == library) {
        (void) symm_error_set(&load_error, MPI_ERR_UNSUPPORTED_OPERATION,
                              "no CUDA driver on this host: %s", dlerror());
        return;
    }
    PFN_cuGetProcAddress_v11030 lookup =
        (PFN_cuGetProcAddress_v11030) (uintptr_t) dlsym(library, "cuGetProcAddress");
    if (NULL == lookup) {
        (void) symm_error_set(
            &load_error, MPI_ERR_UNSUPPORTED_OPERATION,
            "the CUDA driver has no cuGetProcAddress; update it to 12.0 or later");
        return;
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); ++i) {
        CUresult result = lookup(symbols[i].name, symbols[i].slot, symbols[i].version,
                                 CU_GET_PROC_ADDRESS_LEGACY_STREAM);
        if (CUDA_SUCCESS != result || NULL == *symbols[i].slot) {
            (void) symm_error_set(&load_error, MPI_ERR_UNSUPPORTED_OPERATION,
                                  "the CUDA driver has no %s of version %d; update it to 12.0 or "
                                  "later",
                                  symbols[i].name, symbols[i].version);
            return;
        }
    }
    /* The library stays open: its threads may outlive any point at which we could close it. */
}

int symm_cuda_load(symm_error_t *error)
{
    (void) pthread_once(&load_once, load_driver); /* cannot fail with a valid control */
    if (NULL != error && MPI_SUCCESS != load_error.code) {
        (void) symm_error_set(error, load_error.code, "%s", load_error.text);
    }
    return load_error.code;
}

static void describe(CUresult result, const char **name_p, const char **text_p)
{
    *name_p = "unknown error";
    *text_p = "";
    (void) symm_cuda.cuGetErrorName(result, name_p); /* keeps the default when it fails */
    (void) symm_cuda.cuGetErrorString(result, text_p);
}

int symm_cuda_check(CUresult result, symm_error_t *error, const char *format, ...)
{
    if (CUDA_SUCCESS == result) {
        return MPI_SUCCESS;
    }
    const char *name, *text;
    describe(result, &name, &text);
    char what[SYMM_ERROR_TEXT_MAX / 2];
    va_list args;
    va_start(args, format);
    (void) vsnprintf(what, sizeof(what), format, args); /* cut when too long */
    va_end(args);
    int code = CUDA_ERROR_OUT_OF_MEMORY == result ? MPI_ERR_NO_MEM : MPI_ERR_OTHER;
    return symm_error_set(error, code, "%s: %s (%s)", what, name, text);
}

int symm_cuda_check_log(int level, CUresult result, const char *call)
{
    if (CUDA_SUCCESS == result) {
        return MPI_SUCCESS;
    }
    const char *name, *text;
    describe(result, &name, &text);
    symm_log(level, "%s: %s (%s)", call, name, text);
    return MPI_ERR_OTHER;
}
