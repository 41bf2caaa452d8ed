/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The end of every kernel: telling the host that all is written. */
#ifndef SYMM_DONE_CUH
#define SYMM_DONE_CUH

#include <cstdint>

#include <cuda/atomic>

#include "symm_done.h"

/* The number of this launch, for symm_done_tell(). Called first thing, so that the answer is there
 * by then. Only a block's thread 0 gets it. Relaxed: the launch before stored it, and has ended. */
__device__ __forceinline__ uint32_t symm_done_number(const symm_done_t &done)
{
    cuda::atomic_ref<uint32_t, cuda::thread_scope_device> launches(done.state->launches);

    return 0 == threadIdx.x ? launches.load(cuda::memory_order_relaxed) + 1 : 0;
}

/* NOTE: completion. Tells the host, by number in *done.flag, that every thread of the grid has
 * written. Called by all threads of all blocks, once, after their last store; no __syncthreads() is
 * owed by the caller. What is ordered with what:
 *  1. the stores of a block's threads before its thread 0, by __syncthreads();
 *  2. those before the block's count, by thread 0's release fence, which is cumulative: it covers
 *     what 1 ordered before it. At system scope, as the stores may be to other devices;
 *  3. the counts of all blocks before the last block's flag: the last one's fetch_add acquires what
 *     the others released, and its store of the flag releases that again, to the host. All blocks
 *     have read the number by then;
 *  4. the state's stores before the flag, as the host may launch again once it sees the flag.
 * With a single block, 1 and the flag's release are enough. Whoever reads the flag must acquire. */
__device__ __forceinline__ void symm_done_tell(const symm_done_t &done, uint32_t number)
{
    cuda::atomic_ref<uint32_t, cuda::thread_scope_system> flag(*done.flag);

    __syncthreads();
    if (0 != threadIdx.x) {
        return;
    }
    if (gridDim.x > 1) {
        cuda::atomic_ref<uint32_t, cuda::thread_scope_device> blocks(done.state->blocks);

        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
        if (gridDim.x - 1 != blocks.fetch_add(1, cuda::memory_order_acquire)) {
            return;
        }
        blocks.store(0, cuda::memory_order_relaxed);
    }
    done.state->launches = number;
    flag.store(number, cuda::memory_order_release);
}

#endif
