/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The kernel of batches. Blocks of SYMM_BATCH_THREADS threads in one dimension, as many as
 * symm_batch_blocks() says; each takes units_per_block units that follow one another, its warps one
 * unit at a time. No dynamic shared memory, one parameter block passed by value.
 *
 * No thread waits for another rank. Pieces and data are read from the host's memory once by each
 * block that needs them: reading them takes a round trip over PCIe, so all are asked for at once.
 */
#include <cstdint>
#include <cstring>

#include "symm_batch.h"
#include "symm_done.cuh"

constexpr uint32_t WARP = 32;
constexpr uint32_t WARPS = SYMM_BATCH_THREADS / WARP;
constexpr uint32_t ALL = 0xffffffffu;

/* Pieces that a block holds at a time: two for each lane of a warp to look at. */
constexpr uint32_t SLICE = 2 * WARP;

/* Accesses that a thread has in flight. */
constexpr uint32_t LOADS = 4;

constexpr uint32_t WORDS_PER_PIECE = sizeof(symm_batch_piece_t) / sizeof(uint4);
static_assert(64 == sizeof(symm_batch_piece_t), "a piece is loaded as four words of 16 bytes");
static_assert(SLICE * WORDS_PER_PIECE <= SYMM_BATCH_THREADS, "a thread loads one word at most");

/* What a warp moves: `total` words in rows of `words` words. */
struct unit {
    unsigned char *dst;
    const unsigned char *src;
    int64_t dst_pitch;
    int64_t src_pitch;
    uint32_t words;
    uint32_t total;
};

/* A thread's way through one side of a unit: from word to word, 32 words on. */
struct path {
    uint64_t address;
    int64_t step; /* bytes to the next word, if that is not beyond the row */
    int64_t wrap; /* bytes to add if it is */
};

template <typename Word>
__device__ __forceinline__ path path_of(uint64_t start, int64_t pitch, uint32_t words,
                                        uint32_t lane)
{
    const uint32_t row = lane / words;
    const uint32_t rows_per_step = WARP / words;
    const int64_t size = sizeof(Word);

    return {start + row * pitch + (lane - row * words) * size,
            rows_per_step * pitch + (WARP - rows_per_step * words) * size, pitch - words * size};
}

/* Goes on by 32 words; *column is the word's place in its row. */
__device__ __forceinline__ void advance(path &p, uint32_t &column, uint32_t columns_per_step,
                                        uint32_t words)
{
    p.address += p.step;
    column += columns_per_step;
    if (column >= words) {
        column -= words;
        p.address += p.wrap;
    }
}

/* Moves a unit by words of one size. All loads of a round are issued before its first store: source
 * and destination are different memory. Loads are generic, since the source may be in the kernel's
 * parameters, and not through the non-coherent cache, since nothing tells the compiler that the
 * source is constant. */
template <typename Word> __device__ __forceinline__ void move_words(const unit &u, uint32_t lane)
{
    const uint32_t columns_per_step = WARP % u.words;
    uint32_t load_column = lane % u.words;
    uint32_t store_column = load_column;
    path load = path_of<Word>(reinterpret_cast<uint64_t>(u.src), u.src_pitch, u.words, lane);
    path store = path_of<Word>(reinterpret_cast<uint64_t>(u.dst), u.dst_pitch, u.words, lane);

    for (uint32_t first = lane; first < u.total; first += LOADS * WARP) {
        Word value[LOADS];
#pragma unroll
        for (uint32_t i = 0; i < LOADS; i++) {
            if (first + i * WARP < u.total) {
                value[i] = *reinterpret_cast<const Word *>(load.address);
            }
            advance(load, load_column, columns_per_step, u.words);
        }
#pragma unroll
        for (uint32_t i = 0; i < LOADS; i++) {
            if (first + i * WARP < u.total) {
                *reinterpret_cast<Word *>(store.address) = value[i];
            }
            advance(store, store_column, columns_per_step, u.words);
        }
    }
}

/* The part of a piece that is its `index`-th unit, see symm_batch_unit(). */
__device__ __forceinline__ unit unit_of(const symm_batch_piece_t &piece, uint32_t index,
                                        const unsigned char *data)
{
    const bool cut = piece.len > SYMM_BATCH_UNIT;
    const uint64_t row = cut ? index / piece.split : static_cast<uint64_t>(index) * piece.split;
    const uint64_t from = cut ? static_cast<uint64_t>(index % piece.split) * SYMM_BATCH_UNIT : 0;
    const uint64_t left = piece.len - from;
    const uint32_t len = left < SYMM_BATCH_UNIT ? static_cast<uint32_t>(left) : SYMM_BATCH_UNIT;
    const uint64_t rows_left = piece.rows - row;
    const uint32_t rows =
        cut ? 1 : (rows_left < piece.split ? static_cast<uint32_t>(rows_left) : piece.split);
    const bool inside = SYMM_BATCH_INSIDE == piece.src;
    const unsigned char *src = inside ? piece.inside
                               : piece.src < SYMM_BATCH_DATA_MAX
                                   ? data + piece.src
                                   : reinterpret_cast<const unsigned char *>(piece.src);
    unit u;

    u.dst_pitch = inside ? 0 : piece.dst_pitch;
    u.src_pitch = inside ? 0 : piece.src_pitch;
    u.dst = reinterpret_cast<unsigned char *>(piece.dst) + row * u.dst_pitch + from;
    u.src = src + row * u.src_pitch + from;
    u.words = len / piece.width;
    u.total = rows * u.words;
    return u;
}

__device__ __forceinline__ void move_unit(const symm_batch_piece_t &piece, uint32_t index,
                                          const unsigned char *data, uint32_t lane)
{
    const unit u = unit_of(piece, index, data);

    switch (piece.width) {
    case 16:
        move_words<uint4>(u, lane);
        break;
    case 8:
        move_words<uint2>(u, lane);
        break;
    case 4:
        move_words<uint32_t>(u, lane);
        break;
    case 2:
        move_words<uint16_t>(u, lane);
        break;
    default:
        move_words<uint8_t>(u, lane);
        break;
    }
}

/* The piece that holds a unit, found by one warp in steps of 32 pieces, that is in as many round
 * trips as log32 of the number of pieces. All its lanes get it. */
__device__ __forceinline__ uint32_t find_piece(const symm_batch_piece_t *pieces, uint32_t count,
                                               uint32_t unit_index, uint32_t lane)
{
    uint32_t low = 0;

    for (uint32_t span = count; span > 1;) {
        const uint32_t step = (span + WARP - 1) / WARP;
        const uint32_t at = low + lane * step;
        const bool starts = lane * step < span && at < count && pieces[at].first_unit <= unit_index;

        low += (__popc(__ballot_sync(ALL, starts)) - 1) * step;
        span = step;
    }
    return low;
}

/* Which of the pieces in shared memory holds a unit; one of them does. */
__device__ __forceinline__ uint32_t find_in_slice(const symm_batch_piece_t *slice, uint32_t count,
                                                  uint32_t unit_index, uint32_t lane)
{
    const bool low = lane < count && slice[lane].first_unit <= unit_index;
    const bool high = lane + WARP < count && slice[lane + WARP].first_unit <= unit_index;

    return __popc(__ballot_sync(ALL, low)) + __popc(__ballot_sync(ALL, high)) - 1;
}

__device__ __forceinline__ uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Loads a slice of the pieces, a word of 16 bytes by each thread. */
__device__ __forceinline__ void load_slice(symm_batch_piece_t *slice,
                                           const symm_batch_piece_t *pieces, uint32_t count)
{
    if (threadIdx.x < count * WORDS_PER_PIECE) {
        reinterpret_cast<uint4 *>(slice)[threadIdx.x] =
            reinterpret_cast<const uint4 *>(pieces)[threadIdx.x];
    }
}

/* clang-format 14 takes the attributes of a kernel for its name. */
/* clang-format off */
extern "C" __global__
__launch_bounds__(SYMM_BATCH_THREADS, SYMM_BATCH_BLOCKS_PER_MULTIPROCESSOR) void symm_batch(
    const __grid_constant__ symm_batch_params_t p)
/* clang-format on */
{
    __shared__ alignas(16) symm_batch_piece_t slice[SLICE];
    __shared__ uint32_t found;
    const uint32_t number = symm_done_number(p.done);
    const bool carried = nullptr == p.pieces;
    const symm_batch_piece_t *pieces =
        carried ? reinterpret_cast<const symm_batch_piece_t *>(p.carried) : p.pieces;
    const unsigned char *data =
        carried ? reinterpret_cast<const unsigned char *>(pieces + p.piece_count) : p.data;
    const uint32_t lane = threadIdx.x % WARP;
    const uint32_t warp = threadIdx.x / WARP;
    const uint64_t begin = static_cast<uint64_t>(blockIdx.x) * p.units_per_block;
    const uint64_t limit = begin + p.units_per_block;
    const uint32_t end = limit < p.unit_count ? static_cast<uint32_t>(limit) : p.unit_count;
    uint32_t at = static_cast<uint32_t>(begin < end ? begin : end);
    uint32_t piece = 0;

    if (p.unit_count == p.piece_count) {
        piece = at; /* one unit each */
    } else if (blockIdx.x > 0 && p.piece_count > 1) {
        if (0 == warp) {
            const uint32_t mine = find_piece(pieces, p.piece_count, at, lane);
            if (0 == lane) {
                found = mine;
            }
        }
        __syncthreads();
        piece = found;
    }
    while (at < end) {
        /* Every piece has a unit at least, so that a block needs no more pieces than units. */
        const uint32_t count = smaller(smaller(p.piece_count - piece, SLICE), end - at);

        load_slice(slice, pieces + piece, count);
        __syncthreads();
        const uint32_t stop = smaller(end, slice[count - 1].first_unit + slice[count - 1].units);
        for (uint32_t i = at + warp; i < stop; i += WARPS) {
            const uint32_t k = find_in_slice(slice, count, i, lane);
            move_unit(slice[k], i - slice[k].first_unit, data, lane);
        }
        __syncthreads(); /* before the slice is loaded anew */
        at = stop;
        piece += count;
    }
    symm_done_tell(p.done, number);
}
