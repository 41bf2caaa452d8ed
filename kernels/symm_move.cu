/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The kernel of several copies. Blocks of SYMM_MOVE_THREADS threads in one dimension, each copy has
 * blocks_per_move of them; no dynamic shared memory, one parameter block passed by value. No thread
 * waits for another rank. */
#include <cstdint>

#include "symm_done.cuh"
#include "symm_move.cuh"

/* clang-format 14 takes the attributes of a kernel for its name. */
/* clang-format off */
extern "C" __global__
__launch_bounds__(SYMM_MOVE_THREADS, SYMM_MOVE_BLOCKS_PER_MULTIPROCESSOR) void symm_move(
    const __grid_constant__ symm_move_params_t p)
/* clang-format on */
{
    const symm_move_t m = p.moves[blockIdx.x / p.blocks_per_move];
    const uint64_t block = blockIdx.x % p.blocks_per_move;
    const uint64_t thread = block * blockDim.x + threadIdx.x;
    const uint64_t threads = static_cast<uint64_t>(p.blocks_per_move) * blockDim.x;
    const uint32_t number = symm_done_number(p.done);

    symm_move_run(m, thread, threads);
    symm_done_tell(p.done, number);
}
