/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The kernel that makes several copies. */
#include "symm_config.h"

#include "fake_kernel.h"

#include "fake_report.h"
#include "symm_move.h"

static const fake_kernel_t kernels[] = {{SYMM_MOVE_KERNEL, &fake_family_move, 0, 0}};

static CUresult check_move(const void *bytes)
{
    const symm_move_params_t *params = bytes;
    if (0 == params->count || SYMM_MOVE_MAX < params->count || 0 == params->blocks_per_move) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a kernel with %u copies by %u blocks each",
                           params->count, params->blocks_per_move);
    }
    return CUDA_SUCCESS;
}

static bool run_move(const fake_run_t *run)
{
    const symm_move_params_t *params = (const symm_move_params_t *) &run->launch->params;
    if (run->launch->grid[0] != params->count * params->blocks_per_move) {
        (void) fake_misuse(CUDA_SUCCESS, "a grid of %u blocks for %u copies by %u each",
                           run->launch->grid[0], params->count, params->blocks_per_move);
    }
    for (uint32_t i = 0; i < params->count; ++i) {
        symm_move_t move = params->moves[i];
        if (0 == move.len) {
            continue;
        }
        move.src = fake_kernel_touch(run, "source", i, move.src, move.len, false);
        move.dst = fake_kernel_touch(run, "destination", i, move.dst, move.len, true);
        if (NULL == move.src || NULL == move.dst) {
            return false;
        }
        symm_move_host(&move, 1);
    }
    return true;
}

const fake_family_t fake_family_move = {
    .kernels = kernels,
    .count = sizeof(kernels) / sizeof(kernels[0]),
    .params_len = sizeof(symm_move_params_t),
    .threads = SYMM_MOVE_THREADS,
    .tells = true,
    .check = check_move,
    .run = run_move,
};
