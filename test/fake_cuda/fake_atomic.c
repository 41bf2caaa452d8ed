/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The kernels of atomic updates of symm_atomic_ops.h's list, run by their host twin: its updates
 * are atomic to those of other processes on the same memory, as a GPU's are. */
#include "symm_config.h"

#include "fake_kernel.h"

#include "fake_report.h"
#include "symm_atomic.h"
#include "symm_atomic_ops.h"
#include "symm_atomic_params.h"

#define KERNEL(op, name, dtype, dtype_name, ctype, atype)                                          \
    {SYMM_ATOMIC_KERNEL_PREFIX #name "_" #dtype_name, &fake_family_atomic, op, dtype},
static const fake_kernel_t kernels[] = {SYMM_ATOMIC_LIST(KERNEL)};
#undef KERNEL

static CUresult check_atomic(const void *bytes)
{
    const symm_atomic_params_t *params = bytes;
    if (0 == params->piece_count || (1 < params->piece_count && NULL == params->pieces)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a kernel without pieces");
    }
    return CUDA_SUCCESS;
}

/* An operand: where the piece says, or in the piece itself. */
static const void *touch_operand(const fake_run_t *run, const char *what, const void *address,
                                 const uint64_t *value, size_t len)
{
    return NULL == address ? value : fake_kernel_touch(run, what, 0, address, len, false);
}

static bool run_piece(const fake_run_t *run, const symm_atomic_piece_t *piece)
{
    const fake_kernel_t *kernel = run->launch->kernel;
    size_t size = symm_dtype_size((symm_dtype_t) kernel->dtype);
    size_t len = piece->count * size;
    symm_atomic_t atomic = {
        .op = kernel->op, .dtype = (symm_dtype_t) kernel->dtype, .count = piece->count};
    if (0 == len) {
        return true;
    }
    if (0 != (uintptr_t) piece->target % size || 0 != piece->reserved ||
        (1 < piece->count && NULL == piece->origin && SYMM_ATOMIC_NO_OP != kernel->op)) {
        (void) fake_misuse(CUDA_SUCCESS,
                           "kernel %s: a piece that is misplaced, lacks its operands "
                           "or has its reserved word set",
                           kernel->name);
        return false;
    }
    atomic.target = fake_kernel_touch(run, "target", 0, piece->target, len, true);
    atomic.origin = touch_operand(run, "origin", piece->origin, &piece->value[0], len);
    atomic.compare = touch_operand(run, "compare", piece->compare, &piece->value[1], len);
    if (NULL != piece->result) {
        atomic.result = fake_kernel_touch(run, "result", 0, piece->result, len, true);
    }
    return NULL != atomic.target && NULL != atomic.origin && NULL != atomic.compare &&
           (NULL != atomic.result || NULL == piece->result) && 0 == symm_atomic_host(&atomic);
}

static bool run_atomic(const fake_run_t *run)
{
    const symm_atomic_params_t *params = (const symm_atomic_params_t *) &run->launch->params;
    if (1 == params->piece_count) {
        return run_piece(run, &params->one);
    }
    const symm_atomic_piece_t *pieces = fake_kernel_touch(
        run, "pieces", 0, params->pieces, params->piece_count * sizeof(*pieces), false);
    bool good = NULL != pieces;
    for (uint64_t i = 0; good && i < params->piece_count; ++i) {
        good = run_piece(run, &pieces[i]);
    }
    return good;
}

const fake_family_t fake_family_atomic = {
    .kernels = kernels,
    .count = sizeof(kernels) / sizeof(kernels[0]),
    .params_len = sizeof(symm_atomic_params_t),
    .threads = SYMM_ATOMIC_THREADS,
    .check = check_atomic,
    .run = run_atomic,
};
