/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The device side of a copy: how the threads that share it move its bytes, at any alignment. */
#ifndef SYMM_MOVE_CUH
#define SYMM_MOVE_CUH

#include <cstdint>

#include "symm_move.h"

/* Accesses that a thread has in flight. */
constexpr uint32_t SYMM_MOVE_LOADS = 4;

/* Copies `words` words, thread by thread of those that share the copy. Loads are issued before the
 * stores that follow; streaming, as nobody reads the source again. */
template <typename Word>
__device__ __forceinline__ void symm_move_words(unsigned char *dst, const unsigned char *src,
                                                uint64_t words, uint64_t thread, uint64_t threads)
{
    Word *to = reinterpret_cast<Word *>(dst);
    const Word *from = reinterpret_cast<const Word *>(src);
    uint64_t i = thread;

    for (; i + (SYMM_MOVE_LOADS - 1) * threads < words; i += SYMM_MOVE_LOADS * threads) {
        Word value[SYMM_MOVE_LOADS];
#pragma unroll
        for (uint32_t l = 0; l < SYMM_MOVE_LOADS; l++) {
            value[l] = __ldcs(from + i + l * threads);
        }
#pragma unroll
        for (uint32_t l = 0; l < SYMM_MOVE_LOADS; l++) {
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
__device__ __forceinline__ void symm_move_aligned(const symm_move_t &m, uint64_t thread,
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
    symm_move_words<Word>(dst + head, src + head, words, thread, threads);
}

/* Copies m, of which `thread` is one of `threads` that share it. */
__device__ __forceinline__ void symm_move_run(const symm_move_t &m, uint64_t thread,
                                              uint64_t threads)
{
    const uint64_t apart = reinterpret_cast<uint64_t>(m.dst) ^ reinterpret_cast<uint64_t>(m.src);

    if (0 == apart % 16) {
        symm_move_aligned<uint4>(m, thread, threads);
    } else if (0 == apart % 8) {
        symm_move_aligned<uint2>(m, thread, threads);
    } else if (0 == apart % 4) {
        symm_move_aligned<uint32_t>(m, thread, threads);
    } else {
        symm_move_words<uint8_t>(static_cast<unsigned char *>(m.dst),
                                 static_cast<const unsigned char *>(m.src), m.len, thread, threads);
    }
}

#endif
