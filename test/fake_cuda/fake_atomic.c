/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The kernels of atomic updates of symm_atomic_ops.h's list, run by their host twin: its updates
 * are atomic to those of other processes on the same memory, as a GPU's are. */
#include "symm_config.h"

#include "fake_kernel.h"

#include "fake_context.h"
#include "fake_machine.h"
#include "fake_report.h"
#include "fake_space.h"
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

/* One row of a piece, by the addresses at which the fake can touch it. */
static bool run_row(const fake_run_t *run, const symm_atomic_piece_t *piece, uint64_t row)
{
    const fake_kernel_t *kernel = run->launch->kernel;
    size_t len = piece->count * symm_dtype_size((symm_dtype_t) kernel->dtype);
    int64_t n = (int64_t) row;
    symm_atomic_t atomic = {.op = kernel->op,
                            .dtype = (symm_dtype_t) kernel->dtype,
                            .count = piece->count,
                            .rows = 1,
                            .origin = &piece->value[0],
                            .compare = &piece->value[1]};
    atomic.target = fake_kernel_touch(run, "target", 0,
                                      (char *) piece->target + n * piece->target_pitch, len, true);
    if (NULL != piece->origin) {
        atomic.origin = fake_kernel_touch(
            run, "origin", 0, (const char *) piece->origin + n * piece->origin_pitch, len, false);
    }
    if (NULL != piece->compare) {
        atomic.compare = fake_kernel_touch(run, "compare", 0, piece->compare, len, false);
    }
    if (NULL != piece->result) {
        atomic.result = fake_kernel_touch(
            run, "result", 0, (char *) piece->result + n * piece->result_pitch, len, true);
    }
    return NULL != atomic.target && NULL != atomic.origin && NULL != atomic.compare &&
           (NULL != atomic.result || NULL == piece->result) && 0 == symm_atomic_host(&atomic);
}

static bool check_piece(const fake_run_t *run, const symm_atomic_piece_t *piece)
{
    const fake_kernel_t *kernel = run->launch->kernel;
    size_t size = symm_dtype_size((symm_dtype_t) kernel->dtype);
    bool one = 1 == piece->count && 1 == piece->rows;
    if (0 == piece->count || 0 == piece->rows || 0 != (uintptr_t) piece->target % size ||
        (1 < piece->rows && 0 != piece->target_pitch % (int64_t) size) || 0 != piece->reserved ||
        (NULL == piece->origin && !one && SYMM_ATOMIC_NO_OP != kernel->op)) {
        (void) fake_misuse(CUDA_SUCCESS,
                           "kernel %s: a piece that is empty, misplaced, lacks its "
                           "operands or has its reserved word set",
                           kernel->name);
        return false;
    }
    return true;
}

/* Whether the kernel's device has atomics on the memory of another that it updates. */
static bool check_owner(const fake_run_t *run, const void *target)
{
    const fake_range_t *range = fake_space_find((uintptr_t) target);
    const fake_mapping_t *mapping =
        NULL != range && FAKE_RESERVATION == range->kind
            ? fake_space_mapping(range, (uintptr_t) target - range->base)
            : NULL;
    if (NULL != mapping && !fake_machine_atomics(run->context->gpu, mapping->gpu)) {
        (void) fake_misuse(CUDA_SUCCESS,
                           "kernel %s: device %d has no atomics on memory of device %d",
                           run->launch->kernel->name, run->context->gpu, mapping->gpu);
        return false;
    }
    return true;
}

static bool run_piece(const fake_run_t *run, const symm_atomic_piece_t *piece)
{
    bool good = check_piece(run, piece) && check_owner(run, piece->target);
    for (uint64_t row = 0; good && row < piece->rows; ++row) {
        good = run_row(run, piece, row);
    }
    return good;
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
    /* A GPU updates them in any order: from the last on shows who relies on another one. */
    for (uint64_t i = params->piece_count; good && 0 < i; --i) {
        good = run_piece(run, &pieces[i - 1]);
    }
    return good;
}

const fake_family_t fake_family_atomic = {
    .kernels = kernels,
    .count = sizeof(kernels) / sizeof(kernels[0]),
    .params_len = sizeof(symm_atomic_params_t),
    .threads = SYMM_ATOMIC_THREADS,
    .tells = true,
    .check = check_atomic,
    .run = run_atomic,
};
