/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The device side of a reduction: how a thread loads, combines and stores, and how a grid shares
 * the elements out. The kernels are in symm_reduce.cu.
 *
 * No thread waits for another rank: the launcher has agreed with the peers that every source is
 * complete and every destination free before the launch (design.md, part 6). */
#ifndef SYMM_REDUCE_CUH
#define SYMM_REDUCE_CUH

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "symm_done.cuh"
#include "symm_reduce_ops.h"
#include "symm_reduce_params.h"

/* Bytes of the widest load, and how many of them a thread takes from each source at a time. */
constexpr uint32_t SYMM_PACK_BYTES = 16;
constexpr uint32_t SYMM_PACKS = 4;

/* Loads that a thread has in flight, all sources together: SYMM_PACKS packs of two sources, or one
 * pack of eight, as latency is all that counts where there are few packs. More would cost registers
 * that two blocks on a multiprocessor do not have. */
constexpr uint32_t SYMM_LOADS = 2 * SYMM_PACKS;

/* The operations as types, symm_op_sum and so on. */
#define SYMM_REDUCE_OP(op, name)                                                                   \
    struct symm_op_##name {                                                                        \
        static constexpr bool bitwise = SYMM_BAND == op || SYMM_BOR == op || SYMM_BXOR == op;      \
        static constexpr bool carries = SYMM_SUM == op || SYMM_PROD == op;                         \
                                                                                                   \
        template <typename A> static __device__ __forceinline__ A combine(A a, A b)                \
        {                                                                                          \
            return static_cast<A>(SYMM_COMBINE_##name(a, b));                                      \
        }                                                                                          \
    };
SYMM_OP_LIST(SYMM_REDUCE_OP)
#undef SYMM_REDUCE_OP

/* A unit is what one load brings: a type of so many bytes, and how to load, combine and store it.
 * Loads are streaming (each byte is used once) but never through the non-coherent cache, because a
 * destination may be a source. A, the arithmetic type, is explained in symm_reduce_ops.h. */

/* One element, at an address that the type may have. */
template <typename Op, typename T, typename A> struct symm_unit_element {
    using value_t = T;
    static constexpr uint32_t bytes = sizeof(T);
    static constexpr uint32_t loads = SYMM_LOADS;

    static __device__ __forceinline__ value_t load(const unsigned char *at)
    {
        return __ldcs(reinterpret_cast<const T *>(at));
    }

    static __device__ __forceinline__ void store(unsigned char *at, value_t value)
    {
        *reinterpret_cast<T *>(at) = value;
    }

    static __device__ __forceinline__ value_t combine(value_t a, value_t b)
    {
        return static_cast<T>(Op::combine(static_cast<A>(a), static_cast<A>(b)));
    }
};

/* One element at any address, byte by byte: slow, but right where a wider access would fault. */
template <typename Op, typename T, typename A>
struct symm_unit_bytes : symm_unit_element<Op, T, A> {
    /* One more source at a time: little code for a rare case. */
    static constexpr uint32_t loads = 2;

    static __device__ __forceinline__ T load(const unsigned char *at)
    {
        unsigned char byte[sizeof(T)];
        T value;

#pragma unroll
        for (uint32_t b = 0; b < sizeof(T); b++) {
            byte[b] = __ldcs(at + b);
        }
        memcpy(&value, byte, sizeof(T));
        return value;
    }

    static __device__ __forceinline__ void store(unsigned char *at, T value)
    {
        unsigned char byte[sizeof(T)];

        memcpy(byte, &value, sizeof(T));
#pragma unroll
        for (uint32_t b = 0; b < sizeof(T); b++) {
            at[b] = byte[b];
        }
    }
};

/* A word of elements of type T, for the operations that do not carry from bit to bit. Element by
 * element, those on 8 and 16 bits need more registers than there are. The bitwise and the logical
 * operations are written in these operators, MAX and MIN become the instructions below. */
template <typename T> struct symm_word {
    uint32_t bits;
};

template <typename T>
__device__ __forceinline__ symm_word<T> operator&(symm_word<T> a, symm_word<T> b)
{
    return {a.bits & b.bits};
}

template <typename T>
__device__ __forceinline__ symm_word<T> operator|(symm_word<T> a, symm_word<T> b)
{
    return {a.bits | b.bits};
}

template <typename T>
__device__ __forceinline__ symm_word<T> operator^(symm_word<T> a, symm_word<T> b)
{
    return {a.bits ^ b.bits};
}

/* 1 in each element that differs from 0, the only value that the operations compare with. */
template <typename T> __device__ __forceinline__ symm_word<T> operator!=(symm_word<T> a, int)
{
    static_assert(sizeof(T) <= 2, "wider elements are compared one by one");
    return {1 == sizeof(T) ? __vsetne4(a.bits, 0) : __vsetne2(a.bits, 0)};
}

#define SYMM_WORD_OP(op, ctype, intrinsic)                                                         \
    template <>                                                                                    \
    __device__ __forceinline__ symm_word<ctype> op::combine(symm_word<ctype> a,                    \
                                                            symm_word<ctype> b)                    \
    {                                                                                              \
        return {intrinsic(a.bits, b.bits)};                                                        \
    }
SYMM_WORD_OP(symm_op_max, uint8_t, __vmaxu4)
SYMM_WORD_OP(symm_op_max, int8_t, __vmaxs4)
SYMM_WORD_OP(symm_op_max, uint16_t, __vmaxu2)
SYMM_WORD_OP(symm_op_max, int16_t, __vmaxs2)
SYMM_WORD_OP(symm_op_min, uint8_t, __vminu4)
SYMM_WORD_OP(symm_op_min, int8_t, __vmins4)
SYMM_WORD_OP(symm_op_min, uint16_t, __vminu2)
SYMM_WORD_OP(symm_op_min, int16_t, __vmins2)
#undef SYMM_WORD_OP

/* 16 bytes of elements at an address divisible by 16. */
template <typename Op, typename T, typename A> struct symm_unit_pack {
    static constexpr bool words = Op::bitwise || (!Op::carries && sizeof(T) <= 2);
    using value_t = uint4;
    using lane_t = typename std::conditional<words, symm_word<T>, T>::type;
    using arith_t = typename std::conditional<words, symm_word<T>, A>::type;
    static constexpr uint32_t bytes = SYMM_PACK_BYTES;
    static constexpr uint32_t loads = SYMM_LOADS;
    static constexpr uint32_t lanes = SYMM_PACK_BYTES / sizeof(lane_t);

    static __device__ __forceinline__ value_t load(const unsigned char *at)
    {
        return __ldcs(reinterpret_cast<const uint4 *>(at));
    }

    static __device__ __forceinline__ void store(unsigned char *at, value_t value)
    {
        *reinterpret_cast<uint4 *>(at) = value;
    }

    static __device__ __forceinline__ value_t combine(value_t a, value_t b)
    {
        lane_t x[lanes], y[lanes];

        memcpy(x, &a, sizeof(a));
        memcpy(y, &b, sizeof(b));
#pragma unroll
        for (uint32_t l = 0; l < lanes; l++) {
            x[l] = symm_unit_element<Op, lane_t, arith_t>::combine(x[l], y[l]);
        }
        memcpy(&a, x, sizeof(a));
        return a;
    }
};

/* Loads COUNT units of one source, stride bytes apart. */
template <typename Unit, uint32_t COUNT>
__device__ __forceinline__ void symm_load_units(typename Unit::value_t (&value)[COUNT],
                                                const void *src, uint64_t offset, uint64_t stride)
{
#pragma unroll
    for (uint32_t u = 0; u < COUNT; u++) {
        value[u] = Unit::load(static_cast<const unsigned char *>(src) + offset + u * stride);
    }
}

/* Loads COUNT units of each of GROUP sources from rank r on, as far as there are sources. */
template <typename Unit, uint32_t GROUP, uint32_t COUNT>
__device__ __forceinline__ void symm_load_group(typename Unit::value_t (&next)[GROUP][COUNT],
                                                const symm_reduce_params_t &p, uint32_t r,
                                                uint64_t offset, uint64_t stride)
{
#pragma unroll
    for (uint32_t g = 0; g < GROUP; g++) {
        if (r + g < p.nsrc) {
            symm_load_units<Unit>(next[g], p.src[r + g], offset, stride);
        }
    }
}

/* Combines into result what symm_load_group() loaded, in rank order. */
template <typename Unit, uint32_t GROUP, uint32_t COUNT>
__device__ __forceinline__ void symm_combine_group(typename Unit::value_t (&result)[COUNT],
                                                   typename Unit::value_t (&next)[GROUP][COUNT],
                                                   const symm_reduce_params_t &p, uint32_t r)
{
#pragma unroll
    for (uint32_t g = 0; g < GROUP; g++) {
        if (r + g < p.nsrc) {
#pragma unroll
            for (uint32_t u = 0; u < COUNT; u++) {
                result[u] = Unit::combine(result[u], next[g][u]);
            }
        }
    }
}

/* Reduces COUNT units that lie stride bytes apart, from offset bytes into every buffer on. The
 * first group is loaded together with src[0], Unit::loads in all, and stands before the loop:
 * inside it, ptxas waits for src[0] at the loop's head before it issues the group's loads. */
template <typename Unit, uint32_t COUNT>
__device__ __forceinline__ void symm_reduce_units(const symm_reduce_params_t &p, uint64_t offset,
                                                  uint64_t stride)
{
    constexpr uint32_t group = Unit::loads / COUNT - 1;
    typename Unit::value_t result[COUNT];
    typename Unit::value_t next[group][COUNT];

    symm_load_units<Unit>(result, p.src[0], offset, stride);
    symm_load_group<Unit>(next, p, 1, offset, stride);
    symm_combine_group<Unit>(result, next, p, 1);
#pragma unroll 1
    for (uint32_t r = 1 + group; r < p.nsrc; r += group) {
        symm_load_group<Unit>(next, p, r, offset, stride);
        symm_combine_group<Unit>(result, next, p, r);
    }
#pragma unroll 1
    for (uint32_t d = 0; d < p.ndst; d++) {
#pragma unroll
        for (uint32_t u = 0; u < COUNT; u++) {
            Unit::store(static_cast<unsigned char *>(p.dst[d]) + offset + u * stride, result[u]);
        }
    }
}

/* Shares `units` units from offset bytes on out to the grid, from this thread's unit i on: COUNT at
 * a time, then what is left by halves, so that a thread with 3 left waits twice and not 3 times. */
template <typename Unit, uint32_t COUNT>
__device__ __forceinline__ void symm_reduce_grid(const symm_reduce_params_t &p, uint64_t offset,
                                                 uint64_t units, uint64_t i)
{
    const uint64_t stride = static_cast<uint64_t>(gridDim.x) * blockDim.x;

    for (; i + (COUNT - 1) * stride < units; i += COUNT * stride) {
        symm_reduce_units<Unit, COUNT>(p, offset + i * Unit::bytes, stride * Unit::bytes);
    }
    if constexpr (COUNT > 1) {
        symm_reduce_grid<Unit, COUNT / 2>(p, offset, units, i);
    }
}

/* Reduces the `head` elements before the packs and those from tail_begin on, fewer than a pack
 * each: one thread an element. They are the last threads of the last block, which is the one that
 * has the fewest packs; in a small reduction another warp than the one that works on packs. */
template <typename Unit>
__device__ __forceinline__ void symm_reduce_edges(const symm_reduce_params_t &p, uint64_t head,
                                                  uint64_t tail_begin)
{
    uint64_t element = blockDim.x - 1 - threadIdx.x;

    if (blockIdx.x != gridDim.x - 1) {
        return;
    }
    if (element >= head) {
        element += tail_begin - head;
    }
    if (element < p.count) {
        symm_reduce_units<Unit, 1>(p, element * Unit::bytes, 0);
    }
}

/* Whether the buffers are aligned alike: the bits in which any two addresses differ are set in
 * *spread_p, the bits that any address has are set in *any_p. */
__device__ __forceinline__ void symm_reduce_alignment(const symm_reduce_params_t &p,
                                                      uint32_t *spread_p, uint32_t *any_p)
{
    const uint32_t first = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p.src[0]));
    uint32_t spread = 0;

#pragma unroll 1
    for (uint32_t r = 1; r < p.nsrc; r++) {
        spread |= first ^ static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p.src[r]));
    }
#pragma unroll 1
    for (uint32_t d = 0; d < p.ndst; d++) {
        spread |= first ^ static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p.dst[d]));
    }
    *spread_p = spread;
    *any_p = spread | first;
}

/* The whole of a kernel. Buffers aligned alike are taken in packs, with the elements around them
 * one by one; buffers aligned for their elements in elements; others in bytes. */
template <typename Op, typename T, typename A>
__device__ __forceinline__ void symm_reduce_run(const symm_reduce_params_t &p)
{
    using element = symm_unit_element<Op, T, A>;
    const uint64_t thread = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    uint32_t spread, any;

    symm_reduce_alignment(p, &spread, &any);
    if (0 != any % sizeof(T)) {
        symm_reduce_grid<symm_unit_bytes<Op, T, A>, 1>(p, 0, p.count, thread);
    } else if (0 != spread % SYMM_PACK_BYTES) {
        symm_reduce_grid<element, 1>(p, 0, p.count, thread);
    } else {
        const uint64_t per_pack = SYMM_PACK_BYTES / sizeof(T);
        const uint64_t to_boundary = (0u - any) % SYMM_PACK_BYTES / sizeof(T);
        const uint64_t head = to_boundary < p.count ? to_boundary : p.count;
        const uint64_t packs = (p.count - head) / per_pack;

        symm_reduce_edges<element>(p, head, head + packs * per_pack);
        symm_reduce_grid<symm_unit_pack<Op, T, A>, SYMM_PACKS>(p, head * sizeof(T), packs, thread);
    }
    symm_done_tell(p.done);
}

#endif
