/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A kernel that computes in registers and touches no memory: what slows it down is the want of
 * multiprocessors, not of bandwidth. Blocks of PERF_BUSY_THREADS threads in one dimension. */
#include "perf_busy_params.h"

/* Independent chains of operations, as many as hide the latency of each together with the warps. */
constexpr uint32_t CHAINS = 8;

/* clang-format 14 takes the attributes of a kernel for its name. */
/* clang-format off */
extern "C" __global__
__launch_bounds__(PERF_BUSY_THREADS, PERF_BUSY_BLOCKS_PER_MULTIPROCESSOR) void perf_busy(
    const __grid_constant__ perf_busy_params_t p)
/* clang-format on */
{
    float values[CHAINS];
#pragma unroll
    for (uint32_t i = 0; i < CHAINS; i++) {
        values[i] = static_cast<float>(threadIdx.x + i);
    }
    for (uint64_t step = 0; step < p.steps; step++) {
#pragma unroll
        for (uint32_t i = 0; i < CHAINS; i++) {
            values[i] = __fmaf_rn(values[i], 0.5f, 1.0f); /* towards 2 */
        }
    }
    float sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < CHAINS; i++) {
        sum += values[i];
    }
    if (0 > sum) { /* never: all are positive, which the compiler does not know */
        *p.sink = sum;
    }
}
