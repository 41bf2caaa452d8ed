/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The reduction kernels of symm_reduce_ops.h's list, run by their host twin. */
#include "symm_config.h"

#include "fake_kernel.h"

#include "fake_report.h"
#include "symm_reduce.h"
#include "symm_reduce_ops.h"
#include "symm_reduce_params.h"

#define KERNEL(op, name, dtype, dtype_name, ctype, atype)                                          \
    {SYMM_REDUCE_KERNEL_PREFIX #name "_" #dtype_name, &fake_family_reduce, op, dtype},
static const fake_kernel_t kernels[] = {SYMM_REDUCE_LIST(KERNEL)};
#undef KERNEL

/* The operands, by the addresses at which the fake can touch them. */
typedef struct operands {
    size_t len; /* bytes of each */
    const void *src[SYMM_REDUCE_MAX_RANKS];
    void *dst[SYMM_REDUCE_MAX_RANKS];
} operands_t;

static CUresult check_reduce(const void *bytes)
{
    const symm_reduce_params_t *params = bytes;
    if (0 == params->nsrc || SYMM_REDUCE_MAX_RANKS < params->nsrc || 0 == params->ndst ||
        SYMM_REDUCE_MAX_RANKS < params->ndst) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a kernel with %u sources and %u destinations",
                           params->nsrc, params->ndst);
    }
    return CUDA_SUCCESS;
}

static bool touch_operands(const fake_run_t *run, const symm_reduce_params_t *params,
                           operands_t *operands)
{
    for (uint32_t i = 0; i < params->nsrc; ++i) {
        operands->src[i] =
            fake_kernel_touch(run, "source", i, params->src[i], operands->len, false);
        if (NULL == operands->src[i]) {
            return false;
        }
    }
    for (uint32_t i = 0; i < params->ndst; ++i) {
        operands->dst[i] =
            fake_kernel_touch(run, "destination", i, params->dst[i], operands->len, true);
        if (NULL == operands->dst[i]) {
            return false;
        }
    }
    return true;
}

/* Whether two operands share some bytes without being the same. */
static bool overlap(const void *a, const void *b, size_t len)
{
    uintptr_t x = (uintptr_t) a;
    uintptr_t y = (uintptr_t) b;
    return x != y && (x < y ? y - x : x - y) < len;
}

/* A destination may be a source, byte for byte, but no other memory of the reduction. */
static void check_overlap(const fake_run_t *run, const symm_reduce_params_t *params, size_t len)
{
    for (uint32_t d = 0; d < params->ndst; ++d) {
        for (uint32_t s = 0; s < params->nsrc; ++s) {
            if (overlap(params->dst[d], params->src[s], len)) {
                (void) fake_misuse(CUDA_SUCCESS, "kernel %s: destination %u overlaps source %u",
                                   run->launch->kernel->name, d, s);
            }
        }
        for (uint32_t other = 0; other < d; ++other) {
            if (params->dst[d] == params->dst[other] ||
                overlap(params->dst[d], params->dst[other], len)) {
                (void) fake_misuse(CUDA_SUCCESS, "kernel %s: destinations %u and %u overlap",
                                   run->launch->kernel->name, other, d);
            }
        }
    }
}

static bool run_reduce(const fake_run_t *run)
{
    const symm_reduce_params_t *params = (const symm_reduce_params_t *) &run->launch->params;
    const fake_kernel_t *kernel = run->launch->kernel;
    operands_t operands = {.len = params->count * symm_dtype_size((symm_dtype_t) kernel->dtype)};
    if (!touch_operands(run, params, &operands)) {
        return false;
    }
    check_overlap(run, params, operands.len);
    symm_reduce_t reduction = {.op = (symm_op_t) kernel->op,
                               .dtype = (symm_dtype_t) kernel->dtype,
                               .count = params->count,
                               .nsrc = params->nsrc,
                               .ndst = params->ndst,
                               .src = operands.src,
                               .dst = operands.dst};
    (void) symm_reduce_host(&reduction); /* refuses only what is not in the list */
    return true;
}

const fake_family_t fake_family_reduce = {
    .kernels = kernels,
    .count = sizeof(kernels) / sizeof(kernels[0]),
    .params_len = sizeof(symm_reduce_params_t),
    .threads = SYMM_REDUCE_THREADS,
    .tells = true,
    .check = check_reduce,
    .run = run_reduce,
};
