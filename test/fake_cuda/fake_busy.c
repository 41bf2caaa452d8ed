/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The benchmark's kernel that keeps all multiprocessors busy: it only takes its time. */
#include "symm_config.h"

#include "fake_kernel.h"

#include "fake_report.h"
#include "perf_busy_params.h"

#include <time.h>

/* About what a step of all threads of a multiprocessor takes an H200. */
#define STEP_NS 70ull

static const fake_kernel_t kernels[] = {{PERF_BUSY_KERNEL, &fake_family_busy, 0, 0}};

static CUresult check_busy(const void *bytes)
{
    const perf_busy_params_t *params = bytes;
    return 0 == params->steps || NULL == params->sink
               ? fake_misuse(CUDA_ERROR_INVALID_VALUE, "a busy kernel with nothing to do")
               : CUDA_SUCCESS;
}

static bool run_busy(const fake_run_t *run)
{
    const perf_busy_params_t *params = (const perf_busy_params_t *) &run->launch->params;
    unsigned long long ns = params->steps * STEP_NS * PERF_BUSY_WAVES;
    struct timespec t = {.tv_sec = (time_t) (ns / 1000000000u),
                         .tv_nsec = (long) (ns % 1000000000u)};
    (void) nanosleep(&t, NULL); /* a signal may cut it short */
    return true;
}

const fake_family_t fake_family_busy = {
    .kernels = kernels,
    .count = sizeof(kernels) / sizeof(kernels[0]),
    .params_len = sizeof(perf_busy_params_t),
    .threads = PERF_BUSY_THREADS,
    .check = check_busy,
    .run = run_busy,
};
