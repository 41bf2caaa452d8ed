/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The device side of atomic updates. The kernels are in symm_atomic.cu.
 *
 * NOTE orders and scopes. All accesses to targets are relaxed, at system scope: the elements are
 * updated by kernels of other devices too, and MPI asks for no order between elements. The host
 * orders launches: updates of one element by one origin that must not change places are in
 * different launches of one stream. Origins and results belong to the caller; nobody else touches
 * them during the launch.
 *
 * NOTE sub-word elements. The narrowest compare-and-swap that every link carries out is of 32 bits,
 * so elements of 1 and 2 bytes are updated in the aligned word that holds them, all those of a
 * piece in the same word at once. Bytes of the word that are not the piece's are written back as
 * they are, and only if nobody has changed them since they were read: the memory compares and swaps
 * in one step, as it also takes plain stores of single bytes. So a neighbour never loses a value.
 *
 * NOTE subnormal numbers. Additions of 32-bit floats in global memory flush them to zero (PTX ISA,
 * "red" and "atom"). */
#ifndef SYMM_ATOMIC_CUH
#define SYMM_ATOMIC_CUH

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cuda/atomic>

#include "symm_atomic_ops.h"
#include "symm_atomic_params.h"
#include "symm_atomic_ptx.cuh"
#include "symm_done.cuh"

/* Elements that a thread has in flight. */
constexpr uint32_t SYMM_ATOMIC_DEPTH = 4;

/* The updates as types, symm_update_sum and so on. apply() gives the new value of an element. */
#define SYMM_UPDATE_COMBINE(op_, name)                                                             \
    struct symm_update_##name {                                                                    \
        static constexpr symm_atomic_op_t op = op_;                                                \
                                                                                                   \
        template <typename T, typename A>                                                          \
        static __device__ __forceinline__ T apply(T old, T operand, T)                             \
        {                                                                                          \
            const A a = static_cast<A>(old);                                                       \
            const A b = static_cast<A>(operand);                                                   \
            return static_cast<T>(SYMM_COMBINE_##name(a, b));                                      \
        }                                                                                          \
    };
SYMM_UPDATE_COMBINE(SYMM_SUM, sum)
SYMM_UPDATE_COMBINE(SYMM_PROD, prod)
SYMM_UPDATE_COMBINE(SYMM_MAX, max)
SYMM_UPDATE_COMBINE(SYMM_MIN, min)
SYMM_UPDATE_COMBINE(SYMM_LAND, land)
SYMM_UPDATE_COMBINE(SYMM_LOR, lor)
SYMM_UPDATE_COMBINE(SYMM_LXOR, lxor)
SYMM_UPDATE_COMBINE(SYMM_BAND, band)
SYMM_UPDATE_COMBINE(SYMM_BOR, bor)
SYMM_UPDATE_COMBINE(SYMM_BXOR, bxor)
#undef SYMM_UPDATE_COMBINE

#define SYMM_UPDATE_MOVE(op_, name, value)                                                         \
    struct symm_update_##name {                                                                    \
        static constexpr symm_atomic_op_t op = op_;                                                \
                                                                                                   \
        template <typename T, typename A>                                                          \
        static __device__ __forceinline__ T apply(T old, T operand, T compare)                     \
        {                                                                                          \
            (void) old, (void) operand, (void) compare;                                            \
            return value;                                                                          \
        }                                                                                          \
    };
SYMM_UPDATE_MOVE(SYMM_ATOMIC_REPLACE, replace, operand)
SYMM_UPDATE_MOVE(SYMM_ATOMIC_NO_OP, no_op, old)
SYMM_UPDATE_MOVE(SYMM_ATOMIC_CAS, cas, old == compare ? operand : old)
#undef SYMM_UPDATE_MOVE

/* Where an element is in a piece. */
struct symm_place_t {
    uint64_t row;
    uint64_t element;

    template <typename T> __device__ __forceinline__ int64_t offset(int64_t pitch) const
    {
        return static_cast<int64_t>(row) * pitch + static_cast<int64_t>(element * sizeof(T));
    }
};

/* Unit i of rows of per_row units. */
__device__ __forceinline__ symm_place_t symm_place(uint64_t i, uint64_t rows, uint64_t per_row)
{
    if (1 == rows) {
        return {0, i};
    }
    return {i / per_row, i % per_row};
}

/* ---- operands and results, at any address ---- */

template <typename T> __device__ __forceinline__ bool symm_is_aligned(const void *at)
{
    return 0 == reinterpret_cast<uintptr_t>(at) % sizeof(T);
}

template <typename T> __device__ __forceinline__ T symm_load_any(const unsigned char *at)
{
    unsigned char byte[sizeof(T)];
    T value;

    if (symm_is_aligned<T>(at)) {
        return __ldcs(reinterpret_cast<const T *>(at));
    }
#pragma unroll
    for (uint32_t b = 0; b < sizeof(T); b++) {
        byte[b] = __ldcs(at + b);
    }
    memcpy(&value, byte, sizeof(T));
    return value;
}

template <typename T> __device__ __forceinline__ void symm_store_any(unsigned char *at, T value)
{
    unsigned char byte[sizeof(T)];

    if (symm_is_aligned<T>(at)) {
        *reinterpret_cast<T *>(at) = value;
        return;
    }
    memcpy(byte, &value, sizeof(T));
#pragma unroll
    for (uint32_t b = 0; b < sizeof(T); b++) {
        at[b] = byte[b];
    }
}

/* Element i of row `row` of an array, or the one element that travels in the piece. */
template <typename T>
__device__ __forceinline__ T symm_operand(const void *array, int64_t pitch, uint64_t value,
                                          symm_place_t at)
{
    T one;

    if (nullptr != array) {
        return symm_load_any<T>(static_cast<const unsigned char *>(array) + at.offset<T>(pitch));
    }
    memcpy(&one, &value, sizeof(T));
    return one;
}

/* ---- elements of 4 and 8 bytes ---- */

template <typename Update, typename T, typename A>
__device__ __forceinline__ T symm_fetch_loop(T *at, T operand, T compare)
{
    using word_t = typename std::conditional<8 == sizeof(T), uint64_t, uint32_t>::type;
    cuda::atomic_ref<word_t, cuda::thread_scope_system> word(*reinterpret_cast<word_t *>(at));
    word_t old = word.load(cuda::memory_order_relaxed);
    word_t wanted;
    T value;

    do {
        memcpy(&value, &old, sizeof(value));
        const T next = Update::template apply<T, A>(value, operand, compare);
        memcpy(&wanted, &next, sizeof(wanted));
    } while (wanted != old && !word.compare_exchange_weak(old, wanted, cuda::memory_order_relaxed,
                                                          cuda::memory_order_relaxed));
    return value;
}

/* Updates one element and returns its old value. */
template <typename Update, typename T, typename A>
__device__ __forceinline__ T symm_fetch(T *at, T operand, T compare)
{
    constexpr auto relaxed = cuda::memory_order_relaxed;
    constexpr symm_atomic_op_t op = Update::op;
    cuda::atomic_ref<T, cuda::thread_scope_system> cell(*at);

    if constexpr (SYMM_ATOMIC_REPLACE == op) {
        return cell.exchange(operand, relaxed);
    } else if constexpr (SYMM_ATOMIC_NO_OP == op) {
        return cell.load(relaxed);
    } else if constexpr (SYMM_ATOMIC_CAS == op) {
        (void) cell.compare_exchange_strong(compare, operand, relaxed, relaxed);
        return compare;
    } else if constexpr (SYMM_SUM == op) {
        return cell.fetch_add(operand, relaxed);
    } else if constexpr (SYMM_BAND == op) {
        return cell.fetch_and(operand, relaxed);
    } else if constexpr (SYMM_BOR == op) {
        return cell.fetch_or(operand, relaxed);
    } else if constexpr (SYMM_BXOR == op) {
        return cell.fetch_xor(operand, relaxed);
    } else if constexpr (SYMM_MAX == op && std::is_integral<T>::value) {
        return cell.fetch_max(operand, relaxed);
    } else if constexpr (SYMM_MIN == op && std::is_integral<T>::value) {
        return cell.fetch_min(operand, relaxed);
    } else {
        return symm_fetch_loop<Update, T, A>(at, operand, compare);
    }
}

/* The same without fetching. */
template <typename Update, typename T, typename A>
__device__ __forceinline__ void symm_update(T *at, T operand, T compare)
{
    constexpr symm_atomic_op_t op = Update::op;

    if constexpr (SYMM_ATOMIC_REPLACE == op) {
        cuda::atomic_ref<T, cuda::thread_scope_system> cell(*at);
        cell.store(operand, cuda::memory_order_relaxed);
    } else if constexpr (SYMM_SUM == op) {
        symm_red_add(at, operand);
    } else if constexpr (SYMM_BAND == op) {
        symm_red_and(at, operand);
    } else if constexpr (SYMM_BOR == op) {
        symm_red_or(at, operand);
    } else if constexpr (SYMM_BXOR == op) {
        symm_red_xor(at, operand);
    } else if constexpr (SYMM_MAX == op && std::is_integral<T>::value) {
        symm_red_max(at, operand);
    } else if constexpr (SYMM_MIN == op && std::is_integral<T>::value) {
        symm_red_min(at, operand);
    } else if constexpr (SYMM_ATOMIC_NO_OP != op) {
        (void) symm_fetch<Update, T, A>(at, operand, compare);
    }
}

/* Updates COUNT elements that lie stride elements apart, from element i on. All operands are on
 * their way before the first update, all updates before the first result. */
template <typename Update, typename T, typename A, bool FETCH, uint32_t COUNT>
__device__ __forceinline__ void symm_update_some(const symm_atomic_piece_t &piece, uint64_t i,
                                                 uint64_t stride)
{
    unsigned char *target = static_cast<unsigned char *>(piece.target);
    unsigned char *result = static_cast<unsigned char *>(piece.result);
    symm_place_t at[COUNT];
    T operand[COUNT], old[COUNT];

#pragma unroll
    for (uint32_t u = 0; u < COUNT; u++) {
        at[u] = symm_place(i + u * stride, piece.rows, piece.count);
        operand[u] = T();
        if constexpr (SYMM_ATOMIC_NO_OP != Update::op) {
            operand[u] = symm_operand<T>(piece.origin, piece.origin_pitch, piece.value[0], at[u]);
        }
    }
#pragma unroll
    for (uint32_t u = 0; u < COUNT; u++) {
        T *cell = reinterpret_cast<T *>(target + at[u].template offset<T>(piece.target_pitch));
        T compare = T();
        if constexpr (SYMM_ATOMIC_CAS == Update::op) {
            compare = symm_operand<T>(piece.compare, 0, piece.value[1], at[u]);
        }
        if constexpr (FETCH) {
            old[u] = symm_fetch<Update, T, A>(cell, operand[u], compare);
        } else {
            symm_update<Update, T, A>(cell, operand[u], compare);
        }
    }
    if constexpr (FETCH) {
#pragma unroll
        for (uint32_t u = 0; u < COUNT; u++) {
            symm_store_any<T>(result + at[u].template offset<T>(piece.result_pitch), old[u]);
        }
    }
}

template <typename Update, typename T, typename A, bool FETCH>
__device__ __forceinline__ void symm_update_cells(const symm_atomic_piece_t &piece, uint64_t i,
                                                  uint64_t stride)
{
    const uint64_t elements = piece.rows * piece.count;

    for (; i + (SYMM_ATOMIC_DEPTH - 1) * stride < elements; i += SYMM_ATOMIC_DEPTH * stride) {
        symm_update_some<Update, T, A, FETCH, SYMM_ATOMIC_DEPTH>(piece, i, stride);
    }
    for (; i < elements; i += stride) {
        symm_update_some<Update, T, A, FETCH, 1>(piece, i, stride);
    }
}

/* ---- elements of 1 and 2 bytes ---- */

/* The elements of a row that lie in one aligned word. */
template <typename T> struct symm_word_part {
    static constexpr uint32_t most = sizeof(uint32_t) / sizeof(T);

    uint32_t *at;
    symm_place_t first;
    uint32_t count; /* may be 0 */
    uint32_t shift; /* of the first, bits */
};

/* Words that a row may touch, wherever it begins. */
template <typename T> __device__ __forceinline__ uint64_t symm_words(uint64_t count)
{
    return (count * sizeof(T) + 3 + 3) / 4;
}

template <typename T>
__device__ __forceinline__ symm_word_part<T> symm_part(const symm_atomic_piece_t &piece, uint64_t i)
{
    const symm_place_t word = symm_place(i, piece.rows, symm_words<T>(piece.count));
    const uintptr_t begin =
        reinterpret_cast<uintptr_t>(piece.target) + word.row * piece.target_pitch;
    const uintptr_t end = begin + piece.count * sizeof(T);
    const uintptr_t at = (begin & ~uintptr_t(3)) + 4 * word.element;
    const uintptr_t low = begin > at ? begin : at;
    const uintptr_t high = end < at + 4 ? end : at + 4;

    return {reinterpret_cast<uint32_t *>(at),
            {word.row, (low - begin) / sizeof(T)},
            low < high ? static_cast<uint32_t>((high - low) / sizeof(T)) : 0,
            static_cast<uint32_t>(8 * (low - at))};
}

/* The word with its elements updated. */
template <typename Update, typename T, typename A>
__device__ __forceinline__ uint32_t symm_apply_part(const symm_word_part<T> &part, uint32_t word,
                                                    const T *operand, const T *compare)
{
    constexpr uint32_t bits = 8 * sizeof(T);

#pragma unroll
    for (uint32_t e = 0; e < part.most; e++) {
        if (e < part.count) {
            const uint32_t shift = part.shift + e * bits;
            const uint32_t mask = ((1u << bits) - 1) << shift;
            const T next =
                Update::template apply<T, A>(static_cast<T>(word >> shift), operand[e], compare[e]);
            using bits_t = typename std::make_unsigned<T>::type;
            word = (word & ~mask) | static_cast<uint32_t>(static_cast<bits_t>(next)) << shift;
        }
    }
    return word;
}

/* Updates the elements in one word of the piece. */
template <typename Update, typename T, typename A>
__device__ __forceinline__ void symm_update_word(const symm_atomic_piece_t &piece,
                                                 const symm_word_part<T> &part)
{
    cuda::atomic_ref<uint32_t, cuda::thread_scope_system> word(*part.at);
    T operand[symm_word_part<T>::most], compare[symm_word_part<T>::most];

#pragma unroll
    for (uint32_t e = 0; e < part.most; e++) {
        operand[e] = compare[e] = T();
        if (SYMM_ATOMIC_NO_OP != Update::op && e < part.count) {
            operand[e] = symm_operand<T>(piece.origin, piece.origin_pitch, piece.value[0],
                                         {part.first.row, part.first.element + e});
        }
        if (SYMM_ATOMIC_CAS == Update::op && e < part.count) {
            compare[e] = symm_operand<T>(piece.compare, 0, piece.value[1],
                                         {part.first.row, part.first.element + e});
        }
    }
    if (SYMM_ATOMIC_REPLACE == Update::op && nullptr == piece.result && part.count == part.most) {
        word.store(symm_apply_part<Update, T, A>(part, 0, operand, compare),
                   cuda::memory_order_relaxed);
        return;
    }
    uint32_t old = word.load(cuda::memory_order_relaxed);
    uint32_t wanted;
    do {
        wanted = symm_apply_part<Update, T, A>(part, old, operand, compare);
    } while (wanted != old && !word.compare_exchange_weak(old, wanted, cuda::memory_order_relaxed,
                                                          cuda::memory_order_relaxed));
#pragma unroll
    for (uint32_t e = 0; e < part.most; e++) {
        if (nullptr != piece.result && e < part.count) {
            const symm_place_t at = {part.first.row, part.first.element + e};
            symm_store_any<T>(static_cast<unsigned char *>(piece.result) +
                                  at.offset<T>(piece.result_pitch),
                              static_cast<T>(old >> (part.shift + 8 * sizeof(T) * e)));
        }
    }
}

template <typename Update, typename T, typename A>
__device__ __forceinline__ void symm_update_words(const symm_atomic_piece_t &piece, uint64_t i,
                                                  uint64_t stride)
{
    const uint64_t words = piece.rows * symm_words<T>(piece.count);

    for (; i < words; i += stride) {
        const symm_word_part<T> part = symm_part<T>(piece, i);
        if (0 != part.count) {
            symm_update_word<Update, T, A>(piece, part);
        }
    }
}

/* ---- the whole of a kernel ---- */

/* A piece is read in one go: its memory may be the host's. */
__device__ __forceinline__ symm_atomic_piece_t symm_load_piece(const symm_atomic_piece_t *at)
{
    uint4 part[sizeof(symm_atomic_piece_t) / sizeof(uint4)];
    symm_atomic_piece_t piece;

#pragma unroll
    for (uint32_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
        part[i] = __ldcs(reinterpret_cast<const uint4 *>(at) + i);
    }
    memcpy(&piece, part, sizeof(piece));
    return piece;
}

/* Updates a piece, from its i-th unit on in steps of stride: this thread's share. */
template <typename Update, typename T, typename A>
__device__ __forceinline__ void symm_update_piece(const symm_atomic_piece_t &piece, uint64_t i,
                                                  uint64_t stride)
{
    if constexpr (sizeof(T) < sizeof(uint32_t)) {
        symm_update_words<Update, T, A>(piece, i, stride);
    } else if (nullptr != piece.result) {
        symm_update_cells<Update, T, A, true>(piece, i, stride);
    } else {
        symm_update_cells<Update, T, A, false>(piece, i, stride);
    }
}

template <typename Update, typename T, typename A>
__device__ __forceinline__ void symm_atomic_run(const symm_atomic_params_t &p)
{
    const uint64_t thread = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const uint64_t threads = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    const bool alone = 1 == p.piece_count;
    const uint32_t number = symm_done_number(p.done);
    const uint64_t warps = threads / SYMM_ATOMIC_WARP;

    for (uint64_t w = alone ? 0 : thread / SYMM_ATOMIC_WARP; w < p.piece_count; w += warps) {
        const symm_atomic_piece_t piece = alone ? p.one : symm_load_piece(p.pieces + w);
        symm_update_piece<Update, T, A>(piece, alone ? thread : thread % SYMM_ATOMIC_WARP,
                                        alone ? threads : SYMM_ATOMIC_WARP);
    }
    symm_done_tell(p.done, number);
}

#endif
