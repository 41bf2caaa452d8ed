/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The resident kernel (symm_resident.h tells what it is): one block of SYMM_RESIDENT_THREADS
 * threads, no dynamic shared memory, one parameter block passed by value. No thread waits for
 * another rank; all wait for the host, as long as the parameters say.
 *
 * NOTE one command. The first warp polls for it and puts its data into shared memory; all threads
 * fetch the sources into shared memory, so that all trips over the link are made at once, whatever
 * the number of ranks; each thread combines its elements there and writes them to the destinations.
 * The loads of a command come behind the warp's acquire and the __syncthreads() after it: what
 * peers and host wrote before the command was given is seen, also where an earlier command read the
 * same memory. */
#include <cstdint>

#include "symm_done.cuh"
#include "symm_move.cuh"
#include "symm_reduce.cuh"
#include "symm_resident.h"
#include "symm_resident_ptx.cuh"

constexpr uint32_t WARP = 32;
constexpr uint32_t ALL_LANES = 0xffffffff;
constexpr uint32_t CHUNK = 16; /* bytes of a load */

/* Chunks of sources that a thread has in flight. */
constexpr uint32_t LOADS = 4;

/* Each source begins in shared memory as far behind a chunk's start as in its own, and may end
 * within another chunk. */
constexpr uint32_t STAGE_BYTES = SYMM_RESIDENT_BYTES_MAX + 2 * CHUNK * SYMM_RESIDENT_BUFFERS_MAX;

static_assert(2 * WARP == SYMM_RESIDENT_WORDS, "each lane of a warp reads two words");
static_assert(SYMM_OP_COUNT < 256 && SYMM_DTYPE_COUNT < 256, "operation and type have a byte each");
static_assert(SYMM_RESIDENT_BYTES_MAX < 65536, "the count of elements has two bytes");
static_assert(SYMM_RESIDENT_THREADS / SYMM_RESIDENT_MOVES_MAX >= 2 * (CHUNK - 1),
              "symm_move_aligned() needs a thread for each byte beside the words");

/* What the block's threads share of the command under way. */
struct command_t {
    uint32_t data[SYMM_RESIDENT_WORDS];
    uint32_t number;
    bool given; /* false: the kernel is to end */
};

/* ---- waiting for a command ---- */

/* Called by the first warp. Returns whether a command was given that is not `latest`, then with its
 * data and number written; false when the kernel is to end. */
__device__ __forceinline__ bool await_command(const symm_resident_params_t &p, uint32_t latest,
                                              uint64_t lifetime_end, command_t &command)
{
    const uint32_t lane = threadIdx.x;
    const uint64_t idle_end = symm_nanoseconds() + p.idle_ns;
    const uint64_t end = idle_end < lifetime_end ? idle_end : lifetime_end;

    for (;;) {
        const ulonglong2 pair = symm_load_acquire_pair(p.command + 2 * lane);
        const uint32_t first = __shfl_sync(ALL_LANES, SYMM_RESIDENT_GET_DATA(pair.x), 0);
        const uint32_t number = __shfl_sync(ALL_LANES, SYMM_RESIDENT_GET_NUMBER(pair.x), 0);
        const uint32_t words = SYMM_RESIDENT_GET_WORDS(first);
        const bool whole = (2 * lane >= words || number == SYMM_RESIDENT_GET_NUMBER(pair.x)) &&
                           (2 * lane + 1 >= words || number == SYMM_RESIDENT_GET_NUMBER(pair.y));

        if (number != latest && __all_sync(ALL_LANES, whole)) {
            command.data[2 * lane] = SYMM_RESIDENT_GET_DATA(pair.x);
            command.data[2 * lane + 1] = SYMM_RESIDENT_GET_DATA(pair.y);
            command.number = number;
            return true;
        }
        /* The last lane sees the word that asks for the end. */
        const bool asked = WARP - 1 == lane && p.life == SYMM_RESIDENT_GET_DATA(pair.y);
        const bool late = 0 == lane && symm_nanoseconds() >= end;
        if (__any_sync(ALL_LANES, asked || late)) {
            return false;
        }
    }
}

/* ---- doing it ---- */

/* The address in data words i and i + 1. */
__device__ __forceinline__ unsigned char *address_at(const command_t &command, uint32_t i)
{
    return reinterpret_cast<unsigned char *>(static_cast<uint64_t>(command.data[i + 1]) << 32 |
                                             command.data[i]);
}

__device__ __forceinline__ unsigned char *buffer_of(const command_t &command, uint32_t index)
{
    return address_at(command, SYMM_RESIDENT_HEADER + 2 * index);
}

__device__ __forceinline__ uint32_t behind_boundary(const unsigned char *address)
{
    return reinterpret_cast<uint64_t>(address) % CHUNK;
}

/* Chunks of shared memory that each of the command's sources gets. */
__device__ __forceinline__ uint32_t chunks_per_source(const command_t &command)
{
    const uint32_t second = command.data[1];
    const uint32_t bytes = SYMM_RESIDENT_GET_COUNT(second) * SYMM_RESIDENT_GET_SIZE(second);

    return (bytes + CHUNK - 1) / CHUNK + 1;
}

/* Loads chunk k of all sources' chunks, one source behind the other, where there is such a one: a
 * chunk that the source has some byte of. Others' bytes in it are loaded, too, and not used. */
__device__ __forceinline__ uint4 load_chunk(const command_t &command, uint32_t chunks, uint32_t k)
{
    const uint32_t second = command.data[1];
    const uint32_t bytes = SYMM_RESIDENT_GET_COUNT(second) * SYMM_RESIDENT_GET_SIZE(second);
    const uint32_t source = k / chunks;
    const uint32_t at = k % chunks * CHUNK;

    if (source < SYMM_RESIDENT_GET_SOURCES(command.data[0])) {
        const unsigned char *from = buffer_of(command, source);
        const uint32_t behind = behind_boundary(from);
        if (at < behind + bytes) {
            return __ldcs(reinterpret_cast<const uint4 *>(from - behind + at));
        }
    }
    return {0, 0, 0, 0};
}

/* Brings all sources to shared memory. Owes no __syncthreads() before; the caller owes one behind.
 */
__device__ __forceinline__ void stage_sources(const command_t &command, uint4 *stage)
{
    const uint32_t chunks = chunks_per_source(command);
    const uint32_t total = SYMM_RESIDENT_GET_SOURCES(command.data[0]) * chunks;

#pragma unroll 1
    for (uint32_t k = threadIdx.x; k < total; k += LOADS * SYMM_RESIDENT_THREADS) {
        uint4 value[LOADS];
#pragma unroll
        for (uint32_t l = 0; l < LOADS; l++) {
            value[l] = load_chunk(command, chunks, k + l * SYMM_RESIDENT_THREADS);
        }
#pragma unroll
        for (uint32_t l = 0; l < LOADS; l++) {
            if (k + l * SYMM_RESIDENT_THREADS < total) {
                stage[k + l * SYMM_RESIDENT_THREADS] = value[l];
            }
        }
    }
}

/* Element i of a source in shared memory; aligned, as its source is. */
template <typename T>
__device__ __forceinline__ T staged(const command_t &command, const uint4 *stage, uint32_t chunks,
                                    uint32_t source, uint32_t i)
{
    using raw_t = typename symm_raw<sizeof(T)>::type;
    const unsigned char *at = reinterpret_cast<const unsigned char *>(stage + source * chunks) +
                              behind_boundary(buffer_of(command, source)) + i * sizeof(T);
    const raw_t raw = *reinterpret_cast<const raw_t *>(at);
    T value;

    memcpy(&value, &raw, sizeof(value));
    return value;
}

/* Combines the staged sources, in rank order and in the arithmetic of the other kernels, and writes
 * the result to all destinations. Small code, as there is one for each operation and type. */
template <typename Op, typename T, typename A>
__device__ __forceinline__ void combine_staged(const command_t &command, const uint4 *stage)
{
    using element = symm_unit_element<Op, T, A>;
    const uint32_t nsrc = SYMM_RESIDENT_GET_SOURCES(command.data[0]);
    const uint32_t count = SYMM_RESIDENT_GET_COUNT(command.data[1]);
    const uint32_t ndst = SYMM_RESIDENT_GET_NDST(command.data[1]);
    const uint32_t chunks = chunks_per_source(command);

#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < count; i += SYMM_RESIDENT_THREADS) {
        typename element::accum_t result = element::widen(staged<T>(command, stage, chunks, 0, i));
#pragma unroll 1
        for (uint32_t r = 1; r < nsrc; r++) {
            result = element::combine(result, staged<T>(command, stage, chunks, r, i));
        }
        const T value = element::narrow(result);
#pragma unroll 1
        for (uint32_t d = 0; d < ndst; d++) {
            element::store(buffer_of(command, nsrc + d) + i * sizeof(T), value);
        }
    }
}

__device__ __forceinline__ void reduce(const command_t &command, uint4 *stage)
{
    const uint32_t first = command.data[0];

    stage_sources(command, stage);
    __syncthreads();
    switch (SYMM_RESIDENT_GET_OP(first) * SYMM_DTYPE_COUNT + SYMM_RESIDENT_GET_DTYPE(first)) {
#define COMBINE(op, name, dtype, dtype_name, ctype, atype)                                         \
    case op *SYMM_DTYPE_COUNT + dtype:                                                             \
        combine_staged<symm_op_##name, ctype, atype>(command, stage);                              \
        break;
        SYMM_REDUCE_LIST(COMBINE)
#undef COMBINE
    }
}

/* All copies at once, each by its share of the threads. */
__device__ __forceinline__ void move(const command_t &command)
{
    const uint32_t count = SYMM_RESIDENT_GET_SOURCES(command.data[0]);
    const uint32_t share = SYMM_RESIDENT_THREADS / count;
    const uint32_t index = threadIdx.x / share;
    const uint32_t at = SYMM_RESIDENT_HEADER + index * SYMM_RESIDENT_MOVE_WORDS;

    if (index < count) {
        const symm_move_t m = {address_at(command, at), address_at(command, at + 2),
                               command.data[at + 4]};
        symm_move_run(m, threadIdx.x % share, share);
    }
}

/* clang-format 14 takes the attributes of a kernel for its name. */
/* clang-format off */
extern "C" __global__ __launch_bounds__(SYMM_RESIDENT_THREADS, 1) void symm_resident(
    const __grid_constant__ symm_resident_params_t p)
/* clang-format on */
{
    __shared__ command_t command;
    __shared__ uint4 stage[STAGE_BYTES / CHUNK];
    const uint64_t lifetime_end = symm_nanoseconds() + p.lifetime_ns;
    uint32_t latest = p.latest;

    for (;;) {
        if (threadIdx.x < WARP) {
            command.given = await_command(p, latest, lifetime_end, command);
        }
        __syncthreads(); /* the command is written, and all that its acquire saw comes before */
        if (!command.given) {
            break;
        }
        latest = command.number;
        if (SYMM_RESIDENT_MOVE == SYMM_RESIDENT_GET_OP(command.data[0])) {
            move(command);
        } else {
            reduce(command, stage);
        }
        /* Its __syncthreads() also lets the first warp write the next command. */
        symm_done_tell(p.done, latest);
    }
    if (0 == threadIdx.x) {
        /* Release, behind the last command's number: who sees the end knows what was done. */
        cuda::atomic_ref<uint32_t, cuda::thread_scope_system>(*p.ended).store(
            p.life, cuda::memory_order_release);
    }
}
