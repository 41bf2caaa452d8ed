/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The kernel of several copies. Blocks of SYMM_MOVE_THREADS threads in one dimension, each copy has
 * blocks_per_move of them; no dynamic shared memory, one parameter block passed by value. No thread
 * waits for another rank. */
#include <cstdint>

#include "symm_done.cuh"
#include "symm_move.h"

/* Accesses that a thread has in flight. */
constexpr uint32_t LOADS = 4;

/* Copies `words` words, thread by thread of those that share the copy. Loads are issued before the
 * stores that follow; streaming, as nobody reads the source again. */
template <typename Word>
__device__ __forceinline__ void move_words(unsigned char *dst, const unsigned char *src,
                                           uint64_t words, uint64_t thread, uint64_t threads)
{
    Word *to = reinterpret_cast<Word *>(dst);
    const Word *from = reinterpret_cast<const Word *>(src);
    uint64_t i = thread;

    for (; i + (LOADS - 1) * threads < words; i += LOADS * threads) {
        Word value[LOADS];
#pragma unroll
        for (uint32_t l = 0; l < LOADS; l++) {
            value[l] = __ldcs(from + i + l * threads);
        }
#pragma unroll
        for (uint32_t l = 0; l < LOADS; l++) {
            to[i + l * threads] = value[l];
        }
    }
    for (; i < words; i += threads) {
        to[i] = __ldcs(from + i);
    }
}

/* A copy whose ends are aligned alike to a word: words in the middle, bytes around them, which the
 * last threads take, so that the first ones are at the words at once. */
template <typename Word>
__device__ __forceinline__ void move_aligned(const symm_move_t &m, uint64_t thread,
                                             uint64_t threads)
{
    unsigned char *dst = static_cast<unsigned char *>(m.dst);
    const unsigned char *src = static_cast<const unsigned char *>(m.src);
    const uint64_t to_boundary = (0 - reinterpret_cast<uint64_t>(dst)) % sizeof(Word);
    const uint64_t head = to_boundary < m.len ? to_boundary : m.len;
    const uint64_t words = (m.len - head) / sizeof(Word);
    const uint64_t tail = head + words * sizeof(Word);
    const uint64_t edge = threads - 1 - thread;

    if (edge < head) {
        dst[edge] = src[edge];
    } else if (edge - head < m.len - tail) {
        dst[tail + edge - head] = src[tail + edge - head];
    }
    move_words<Word>(dst + head, src + head, words, thread, threads);
}

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
    const uint64_t apart = reinterpret_cast<uint64_t>(m.dst) ^ reinterpret_cast<uint64_t>(m.src);

    if (0 == apart % 16) {
        move_aligned<uint4>(m, thread, threads);
    } else if (0 == apart % 8) {
        move_aligned<uint2>(m, thread, threads);
    } else if (0 == apart % 4) {
        move_aligned<uint32_t>(m, thread, threads);
    } else {
        move_words<uint8_t>(static_cast<unsigned char *>(m.dst),
                            static_cast<const unsigned char *>(m.src), m.len, thread, threads);
    }
    symm_done_tell(p.done, number);
}
