/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The device side of a reduction: how a thread loads, combines and stores, and how a grid shares
 * the elements out. The kernels are in symm_reduce.cu.
 *
 * No thread waits for another rank: the launcher has agreed with the peers that every source is
 * complete and every destination free before the launch (design.md, part 6). */
#ifndef SYMM_REDUCE_CUH
#define SYMM_REDUCE_CUH

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "symm_done.cuh"
#include "symm_reduce_ops.h"
#include "symm_reduce_params.h"

/* Bytes of the widest load, and how many of them a thread takes from each source at a time. */
constexpr uint32_t SYMM_PACK_BYTES = 16;
constexpr uint32_t SYMM_PACKS = 4;

/* The same where a pack is kept as 8 floats: 4 of them would spill on compute capability 8.0 and
 * 10.0, and these bytes in flight are plenty for NVLink. */
constexpr uint32_t SYMM_NARROW_PACKS = 2;

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

template <typename T>
__device__ __forceinline__ symm_complex<T> operator+(symm_complex<T> a, symm_complex<T> b)
{
    return {a.re + b.re, a.im + b.im};
}

template <typename T>
__device__ __forceinline__ symm_complex<T> operator*(symm_complex<T> a, symm_complex<T> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* What a type of elements needs: which of its bytes are written and whether packs are worth it. */
template <typename T, typename = void> struct symm_element {
    static constexpr bool packs = true;

    static constexpr __device__ bool writes(uint32_t)
    {
        return true;
    }

    static __device__ __forceinline__ void store(T *at, T value)
    {
        *at = value;
    }
};

/* A pair: gaps between and behind its fields are not written. */
template <typename T> struct symm_element<T, std::void_t<decltype(T::index)>> {
    static constexpr bool packs = false;

    static constexpr __device__ bool writes(uint32_t byte)
    {
        return byte < sizeof(T::value) ||
               (byte >= offsetof(T, index) && byte < offsetof(T, index) + sizeof(T::index));
    }

    static __device__ __forceinline__ void store(T *at, T value)
    {
        at->value = value.value;
        at->index = value.index;
    }
};

/* Plain words of so many bytes. */
template <uint32_t BYTES> struct symm_raw;
template <> struct symm_raw<1> {
    using type = uint8_t;
};
template <> struct symm_raw<2> {
    using type = uint16_t;
};
template <> struct symm_raw<4> {
    using type = uint32_t;
};
template <> struct symm_raw<8> {
    using type = uint64_t;
};
template <> struct symm_raw<16> {
    using type = uint4;
};

/* 16-bit floats as float and back, one or two at a time; a NaN becomes 0x7fff. */
template <typename T> struct symm_narrow {
    static constexpr bool is = false;
};

template <> struct symm_narrow<symm_float16_t> {
    static constexpr bool is = true;

    static __device__ __forceinline__ float widen(symm_float16_t from)
    {
        return __half2float(__ushort_as_half(from.bits));
    }

    static __device__ __forceinline__ symm_float16_t narrow(float from)
    {
        return {__half_as_ushort(__float2half_rn(from))};
    }

    static __device__ __forceinline__ float2 widen2(uint32_t from)
    {
        __half2 pair;

        memcpy(&pair, &from, sizeof(pair));
        return __half22float2(pair);
    }

    static __device__ __forceinline__ uint32_t narrow2(float2 from)
    {
        const __half2 pair = __float22half2_rn(from);
        uint32_t bits;

        memcpy(&bits, &pair, sizeof(bits));
        return bits;
    }
};

template <> struct symm_narrow<symm_bfloat16_t> {
    static constexpr bool is = true;

    static __device__ __forceinline__ float widen(symm_bfloat16_t from)
    {
        return __uint_as_float(static_cast<uint32_t>(from.bits) << 16);
    }

    static __device__ __forceinline__ symm_bfloat16_t narrow(float from)
    {
        return {__bfloat16_as_ushort(__float2bfloat16_rn(from))};
    }

    static __device__ __forceinline__ float2 widen2(uint32_t from)
    {
        return {__uint_as_float(from << 16), __uint_as_float(from & 0xffff0000u)};
    }

    static __device__ __forceinline__ uint32_t narrow2(float2 from)
    {
        const __nv_bfloat162 pair = __float22bfloat162_rn(from);
        uint32_t bits;

        memcpy(&bits, &pair, sizeof(bits));
        return bits;
    }
};

/* A unit is what one load brings: a type of so many bytes, and how to load, combine and store it.
 * accum_t is what the result is kept as until it is stored. Loads are streaming (each byte is used
 * once) but never through the non-coherent cache, because a destination may be a source. A, the
 * arithmetic type, is explained in symm_reduce_ops.h. */

/* One element, at an address that the type may have. */
template <typename Op, typename T, typename A> struct symm_unit_element {
    using value_t = T;
    using accum_t = typename std::conditional<symm_narrow<T>::is, A, T>::type;
    static constexpr uint32_t bytes = sizeof(T);
    static constexpr uint32_t loads = symm_element<T>::packs ? SYMM_LOADS : SYMM_LOADS / 2;

    static __device__ __forceinline__ value_t load(const unsigned char *at)
    {
        using raw_t = typename symm_raw<sizeof(T)>::type;
        const raw_t raw = __ldcs(reinterpret_cast<const raw_t *>(at));
        value_t value;

        memcpy(&value, &raw, sizeof(value));
        return value;
    }

    static __device__ __forceinline__ void store(unsigned char *at, value_t value)
    {
        symm_element<T>::store(reinterpret_cast<T *>(at), value);
    }

    static __device__ __forceinline__ accum_t widen(value_t value)
    {
        if constexpr (symm_narrow<T>::is) {
            return symm_narrow<T>::widen(value);
        } else {
            return value;
        }
    }

    static __device__ __forceinline__ value_t narrow(accum_t result)
    {
        if constexpr (symm_narrow<T>::is) {
            return symm_narrow<T>::narrow(result);
        } else {
            return result;
        }
    }

    static __device__ __forceinline__ accum_t combine(accum_t a, value_t b)
    {
        return static_cast<accum_t>(Op::combine(static_cast<A>(a), static_cast<A>(widen(b))));
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
            if (symm_element<T>::writes(b)) {
                at[b] = byte[b];
            }
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

/* 16 bytes at an address divisible by 16. */
struct symm_unit_16_bytes {
    using value_t = uint4;
    static constexpr uint32_t bytes = SYMM_PACK_BYTES;
    static constexpr uint32_t loads = SYMM_LOADS;

    static __device__ __forceinline__ value_t load(const unsigned char *at)
    {
        return __ldcs(reinterpret_cast<const uint4 *>(at));
    }

    static __device__ __forceinline__ void store(unsigned char *at, value_t value)
    {
        *reinterpret_cast<uint4 *>(at) = value;
    }
};

/* 16 bytes of elements that are kept as they are. */
template <typename Op, typename T, typename A> struct symm_unit_pack : symm_unit_16_bytes {
    static constexpr uint32_t packs = SYMM_PACKS;
    static constexpr bool words = Op::bitwise || (!Op::carries && sizeof(T) <= 2);
    using accum_t = value_t;
    using lane_t = typename std::conditional<words, symm_word<T>, T>::type;
    using arith_t = typename std::conditional<words, symm_word<T>, A>::type;
    static constexpr uint32_t lanes = SYMM_PACK_BYTES / sizeof(lane_t);

    static __device__ __forceinline__ accum_t widen(value_t value)
    {
        return value;
    }

    static __device__ __forceinline__ value_t narrow(accum_t result)
    {
        return result;
    }

    static __device__ __forceinline__ accum_t combine(accum_t a, value_t b)
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

/* 16 bytes of 16-bit floats, kept as 8 floats. */
template <typename Op, typename T> struct symm_unit_narrow_pack : symm_unit_16_bytes {
    static constexpr uint32_t packs = SYMM_NARROW_PACKS;
    static constexpr uint32_t words = SYMM_PACK_BYTES / sizeof(uint32_t);

    struct accum_t {
        float2 word[words];
    };

    static __device__ __forceinline__ accum_t widen(value_t value)
    {
        uint32_t bits[words];
        accum_t result;

        memcpy(bits, &value, sizeof(bits));
#pragma unroll
        for (uint32_t w = 0; w < words; w++) {
            result.word[w] = symm_narrow<T>::widen2(bits[w]);
        }
        return result;
    }

    static __device__ __forceinline__ value_t narrow(accum_t result)
    {
        uint32_t bits[words];
        value_t value;

#pragma unroll
        for (uint32_t w = 0; w < words; w++) {
            bits[w] = symm_narrow<T>::narrow2(result.word[w]);
        }
        memcpy(&value, bits, sizeof(value));
        return value;
    }

    static __device__ __forceinline__ accum_t combine(accum_t a, value_t b)
    {
        const accum_t wide = widen(b);

#pragma unroll
        for (uint32_t w = 0; w < words; w++) {
            a.word[w].x = Op::combine(a.word[w].x, wide.word[w].x);
            a.word[w].y = Op::combine(a.word[w].y, wide.word[w].y);
        }
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
__device__ __forceinline__ void symm_combine_group(typename Unit::accum_t (&result)[COUNT],
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
    typename Unit::accum_t result[COUNT];
    typename Unit::value_t first[COUNT];
    typename Unit::value_t next[group][COUNT];

    symm_load_units<Unit>(first, p.src[0], offset, stride);
    symm_load_group<Unit>(next, p, 1, offset, stride);
#pragma unroll
    for (uint32_t u = 0; u < COUNT; u++) {
        result[u] = Unit::widen(first[u]);
    }
    symm_combine_group<Unit>(result, next, p, 1);
#pragma unroll 1
    for (uint32_t r = 1 + group; r < p.nsrc; r += group) {
        symm_load_group<Unit>(next, p, r, offset, stride);
        symm_combine_group<Unit>(result, next, p, r);
    }
#pragma unroll
    for (uint32_t u = 0; u < COUNT; u++) {
        first[u] = Unit::narrow(result[u]);
    }
#pragma unroll 1
    for (uint32_t d = 0; d < p.ndst; d++) {
#pragma unroll
        for (uint32_t u = 0; u < COUNT; u++) {
            Unit::store(static_cast<unsigned char *>(p.dst[d]) + offset + u * stride, first[u]);
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
    using pack = typename std::conditional<symm_narrow<T>::is, symm_unit_narrow_pack<Op, T>,
                                           symm_unit_pack<Op, T, A>>::type;
    const uint64_t thread = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const uint32_t number = symm_done_number(p.done);
    uint32_t spread, any;

    symm_reduce_alignment(p, &spread, &any);
    if (0 != any % sizeof(T)) {
        symm_reduce_grid<symm_unit_bytes<Op, T, A>, 1>(p, 0, p.count, thread);
    } else if (!symm_element<T>::packs || 0 != spread % SYMM_PACK_BYTES) {
        symm_reduce_grid<element, 1>(p, 0, p.count, thread);
    } else if constexpr (symm_element<T>::packs) {
        const uint64_t per_pack = SYMM_PACK_BYTES / sizeof(T);
        const uint64_t to_boundary = (0u - any) % SYMM_PACK_BYTES / sizeof(T);
        const uint64_t head = to_boundary < p.count ? to_boundary : p.count;
        const uint64_t packs = (p.count - head) / per_pack;

        symm_reduce_edges<element>(p, head, head + packs * per_pack);
        symm_reduce_grid<pack, pack::packs>(p, head * sizeof(T), packs, thread);
    }
    symm_done_tell(p.done, number);
}

#endif
