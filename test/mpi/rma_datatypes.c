/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Put and get with non-contiguous datatypes on either side and both, from and to memory of every
 * kind, against MPI_Pack and MPI_Unpack on the host. Bytes between and around the data must stay.
 */
#include "symm_config.h"

#include "mpi_test.h"
#include "mpi_test_types.h"

#include <stdlib.h>
#include <string.h>

/* Every rank's part of the window: one area that others access, one that it moves from and to. */
#define AREA        ((size_t) 16 << 20)
#define WINDOW_SIZE (2 * AREA)

static mt_win_t window;
static uint64_t round_number;
static uint64_t random_state = 4711; /* alike on all ranks */

/* ---- where the origin's buffer is ---- */

enum { PLACE_WINDOW = MT_MEMORY_COUNT, PLACE_COUNT };

static char *plain[MT_MEMORY_COUNT];

static bool has_place(int place)
{
    return PLACE_WINDOW == place || mt_has_memory((mt_memory_t) place);
}

static char *buffer_in(int place)
{
    if (PLACE_WINDOW == place) {
        return window.base + AREA;
    }
    if (NULL == plain[place]) {
        plain[place] = mt_alloc((mt_memory_t) place, AREA);
    }
    return plain[place];
}

static const char *place_name(int place)
{
    return PLACE_WINDOW == place ? "window" : mt_memory_name((mt_memory_t) place);
}

/* ---- one transfer ---- */

/* Where data goes, on the host: what must be there afterwards. */
static void expect(const mt_type_t *to, const mt_type_t *from, uint64_t seed, char *expected)
{
    char *source = mt_alloc(MT_HOST, from->len);
    char *packed = mt_alloc(MT_HOST, from->bytes);
    int at = 0;
    mt_pattern(source, from->len, seed);
    CHECK_OK(MPI_Pack(source + from->origin, from->count, from->handle, packed, (int) from->bytes,
                      &at, MPI_COMM_SELF));
    at = 0;
    CHECK_OK(MPI_Unpack(packed, (int) from->bytes, &at, expected + to->origin, to->count,
                        to->handle, MPI_COMM_SELF));
    free(source);
    free(packed);
}

/* Checks len bytes at `at`, guards included, which were poison before the data came. */
static void check_arrived(const char *at, const mt_type_t *to, const mt_type_t *from, uint64_t seed)
{
    size_t len = to->len + 2 * MT_GUARD;
    char *expected = mt_alloc(MT_HOST, len);
    char *got = mt_alloc(MT_HOST, len);
    size_t bad = 0;
    mt_poison(expected, len);
    expect(to, from, seed, expected + MT_GUARD);
    mt_read(got, at - MT_GUARD, len);
    while (bad < len && expected[bad] == got[bad]) {
        ++bad;
    }
    CHECK_MSG(bad == len, "byte %zd is %02x, expected %02x", (ssize_t) bad - (ssize_t) MT_GUARD,
              (unsigned char) got[bad % len], (unsigned char) expected[bad % len]);
    free(expected);
    free(got);
}

static void poison_around(char *at, size_t len)
{
    mt_poison(at - MT_GUARD, len + 2 * MT_GUARD);
}

/* A place for a buffer of len bytes, of any alignment. */
static size_t random_place(size_t len)
{
    CHECK(len + 2 * MT_GUARD + 64 <= AREA);
    return MT_GUARD + mt_random(&random_state) % 64;
}

/* Moves to the right neighbour, or from it, within lock_all; datatypes are freed at once, before
 * anything is complete. */
static void transfer(bool put, int place, const mt_type_t *origin, const mt_type_t *target)
{
    int right = (mt_rank + 1) % mt_size;
    int left = (mt_rank + mt_size - 1) % mt_size;
    uint64_t round = ++round_number;
    size_t origin_at = random_place(origin->len);
    size_t target_at = random_place(target->len);
    char *mine = buffer_in(place) + origin_at;
    char *exposed = window.base + target_at;
    MPI_Datatype origin_type, target_type;
    mt_context("%s, origin in %s at %zu: %s, target at %zu: %s", put ? "put" : "get",
               place_name(place), origin_at, origin->text, target_at, target->text);
    poison_around(mine, origin->len);
    poison_around(exposed, target->len);
    mt_fill(put ? mine : exposed, put ? origin->len : target->len, mt_seed(mt_rank, round));
    CHECK_OK(MPI_Type_dup(origin->handle, &origin_type));
    CHECK_OK(MPI_Type_dup(target->handle, &target_type));
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    MPI_Aint disp = (MPI_Aint) (target_at + target->origin);
    CHECK_OK(put ? MPI_Put(mine + origin->origin, origin->count, origin_type, right, disp,
                           target->count, target_type, window.win)
                 : MPI_Get(mine + origin->origin, origin->count, origin_type, right, disp,
                           target->count, target_type, window.win));
    CHECK_OK(MPI_Type_free(&origin_type));
    CHECK_OK(MPI_Type_free(&target_type));
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
    if (put) {
        check_arrived(exposed, target, origin, mt_seed(left, round));
    } else {
        check_arrived(mine, origin, target, mt_seed(right, round));
    }
    mt_barrier();
}

static void transfer_both_ways(int place, const mt_type_t *origin, const mt_type_t *target)
{
    transfer(true, place, origin, target);
    transfer(false, place, origin, target);
}

/* ---- tests ---- */

static void random_types(void)
{
    for (int i = 0; i < 200; ++i) {
        int place = i % PLACE_COUNT;
        mt_type_t type = mt_type_random(&random_state, i % 5);
        mt_type_t pieces = mt_type_pieces(&random_state, type.bytes);
        if (has_place(place)) {
            transfer_both_ways(place, &type, &pieces);
            transfer_both_ways(place, &pieces, &type);
            transfer_both_ways(place, &type, &type);
        }
        mt_type_free(&type);
        mt_type_free(&pieces);
    }
}

/* Rows of len bytes. */
static mt_type_t rows_of(int rows, int len, int pitch)
{
    MPI_Datatype type;
    CHECK_OK(MPI_Type_vector(rows, len, pitch, MPI_BYTE, &type));
    return mt_type_of(type, 1, "rows");
}

/* Rows of many lengths and alignments, beyond what is staged at a time. */
static void rows_of_many_lengths(void)
{
    static const int shapes[][3] = {{1, 5, 5},
                                    {3, 1, 2},
                                    {5000, 1, 3},
                                    {5000, 4, 8},
                                    {3000, 8, 16},
                                    {3000, 12, 20},
                                    {1000, 16, 48},
                                    {1000, 100, 101},
                                    {700, 1000, 1001},
                                    {1500, 1024, 4096},
                                    {300, 2048, 4096},
                                    {200, 2049, 4097},
                                    {64, 10000, 16384},
                                    {17, 100001, 200003},
                                    {2, 1500000, 2000016},
                                    {1, 5000000, 5000000}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) {
        mt_type_t rows = rows_of(shapes[i][0], shapes[i][1], shapes[i][2]);
        mt_type_t run = rows_of(1, (int) rows.bytes, (int) rows.bytes);
        for (int place = 0; place < PLACE_COUNT; ++place) {
            if (has_place(place)) {
                transfer_both_ways(place, &rows, &run);
                transfer_both_ways(place, &run, &rows);
                transfer_both_ways(place, &rows, &rows);
            }
        }
        mt_type_free(&rows);
        mt_type_free(&run);
    }
}

/* More pieces than any table holds at a time, without a pattern in them. */
static void irregular_pieces(void)
{
    enum { BLOCKS = 20000 };
    static int lens[BLOCKS], places[BLOCKS];
    MPI_Datatype type;
    int at = 0;
    for (int i = 0; i < BLOCKS; ++i) {
        lens[i] = (int) (mt_random(&random_state) % 40);
        places[i] = at;
        at += lens[i] + 1 + (int) (mt_random(&random_state) % 17);
    }
    CHECK_OK(MPI_Type_indexed(BLOCKS, lens, places, MPI_BYTE, &type));
    mt_type_t pieces = mt_type_of(type, 1, "irregular pieces");
    mt_type_t run = rows_of(1, (int) pieces.bytes, (int) pieces.bytes);
    for (int place = 0; place < PLACE_COUNT; ++place) {
        if (has_place(place)) {
            transfer_both_ways(place, &pieces, &run);
            transfer_both_ways(place, &run, &pieces);
            transfer_both_ways(place, &pieces, &pieces);
        }
    }
    mt_type_free(&pieces);
    mt_type_free(&run);
}

/* Addresses of the program's own instead of a buffer's. */
static void absolute_addresses(void)
{
    MPI_Datatype type;
    MPI_Aint places[2];
    static char data[2][64];
    char got[128];
    mt_pattern(data, sizeof(data), 1);
    CHECK_OK(MPI_Get_address(data[1], &places[0]));
    CHECK_OK(MPI_Get_address(data[0], &places[1]));
    CHECK_OK(MPI_Type_create_hindexed_block(2, 64, places, MPI_BYTE, &type));
    CHECK_OK(MPI_Type_commit(&type));
    mt_poison(window.base, sizeof(got));
    mt_barrier();
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Put(MPI_BOTTOM, 1, type, (mt_rank + 1) % mt_size, 0, 128, MPI_BYTE, window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    mt_read(got, window.base, sizeof(got));
    CHECK(0 == memcmp(got, data[1], 64) && 0 == memcmp(got + 64, data[0], 64));
    CHECK_OK(MPI_Type_free(&type));
}

/* Without gaps, but not in memory order. */
static void data_out_of_order(void)
{
    MPI_Datatype swapped;
    int64_t got[2] = {0, 0};
    CHECK_OK(MPI_Type_create_indexed_block(2, 1, (int[]){1, 0}, MPI_INT64_T, &swapped));
    CHECK_OK(MPI_Type_commit(&swapped));
    mt_poison(window.base, sizeof(got));
    mt_barrier();
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Put((int64_t[]){11, 22}, 2, MPI_INT64_T, (mt_rank + 1) % mt_size, 0, 1, swapped,
                     window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    mt_read(got, window.base, sizeof(got));
    CHECK_INT(22, got[0]);
    CHECK_INT(11, got[1]);
    CHECK_OK(MPI_Type_free(&swapped));
}

/* The true bounds count, not those that a program has given the datatype. */
static void ranges_by_true_bounds(void)
{
    MPI_Datatype type, wide, narrow;
    char byte[8] = "";
    CHECK_OK(MPI_Type_create_indexed_block(1, 8, (int[]){-8}, MPI_BYTE, &type));
    CHECK_OK(MPI_Type_create_resized(type, -1000, 1 << 30, &wide));
    CHECK_OK(MPI_Type_create_resized(type, 0, 1, &narrow));
    CHECK_OK(MPI_Type_commit(&wide));
    CHECK_OK(MPI_Type_commit(&narrow));
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_OK(MPI_Put(byte, 8, MPI_BYTE, mt_rank, 8, 1, wide, window.win));
    CHECK_OK(MPI_Put(byte, 8, MPI_BYTE, mt_rank, WINDOW_SIZE, 1, wide, window.win));
    CHECK_CLASS(MPI_ERR_RMA_RANGE,
                MPI_Put(byte, 8, MPI_BYTE, mt_rank, WINDOW_SIZE + 1, 1, wide, window.win));
    CHECK_CLASS(MPI_ERR_RMA_RANGE, MPI_Put(byte, 8, MPI_BYTE, mt_rank, 7, 1, narrow, window.win));
    CHECK_CLASS(MPI_ERR_TRUNCATE, MPI_Put(byte, 7, MPI_BYTE, mt_rank, 8, 1, narrow, window.win));
    CHECK_OK(MPI_Put(NULL, 0, narrow, mt_rank, 0, 0, wide, window.win));
    CHECK_OK(MPI_Put(NULL, 3, narrow, MPI_PROC_NULL, 0, 5, wide, window.win));
    CHECK_OK(MPI_Get(NULL, 0, narrow, mt_rank, 0, 0, wide, window.win));
    CHECK_OK(MPI_Win_unlock_all(window.win));
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Type_free(&wide));
    CHECK_OK(MPI_Type_free(&narrow));
    mt_barrier();
}

/* Rows so far apart that 32 bits do not hold their places. */
static void rows_beyond_four_gib(void)
{
    enum { ROWS = 5, LEN = 100 };
    const size_t pitch = ((size_t) 1 << 30) + 4096;
    mt_win_t w;
    MPI_Datatype rows;
    char data[ROWS * LEN], got[ROWS * LEN];
    if (SYMM_KIND_CUDA_DEVICE != mt_kind || 4 < mt_size) {
        mt_note("left out, for GPU memory and up to 4 ranks only");
        return;
    }
    if (!mt_allocate(ROWS * pitch, 1, MPI_COMM_WORLD, &w)) {
        return;
    }
    for (size_t row = 0; row < ROWS; ++row) {
        mt_poison(w.base + row * pitch, LEN + MT_GUARD);
    }
    mt_pattern(data, sizeof(data), mt_seed(mt_rank, ++round_number));
    CHECK_OK(MPI_Type_create_hvector(ROWS, LEN, (MPI_Aint) pitch, MPI_BYTE, &rows));
    CHECK_OK(MPI_Type_commit(&rows));
    CHECK_OK(MPI_Win_fence(0, w.win));
    CHECK_OK(MPI_Put(data, sizeof(data), MPI_BYTE, (mt_rank + 1) % mt_size, 0, 1, rows, w.win));
    CHECK_OK(MPI_Win_fence(0, w.win));
    CHECK_OK(MPI_Get(got, sizeof(got), MPI_BYTE, (mt_rank + 1) % mt_size, 0, 1, rows, w.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
    CHECK(0 == memcmp(data, got, sizeof(got)));
    mt_pattern(data, sizeof(data), mt_seed((mt_rank + mt_size - 1) % mt_size, round_number));
    for (size_t row = 0; row < ROWS; ++row) {
        mt_read(got, w.base + row * pitch, LEN);
        CHECK(0 == memcmp(data + row * LEN, got, LEN));
        CHECK_POISON(w.base + row * pitch + LEN, MT_GUARD);
    }
    CHECK_OK(MPI_Type_free(&rows));
    mt_win_free(&w);
}

/* Our component did it, and counted the bytes of data without gaps. */
static void operations_are_counted(void)
{
    mt_type_t rows = rows_of(10, 3, 5);
    char data[64] = "";
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Put(data, 1, rows.handle, mt_rank, 0, 30, MPI_BYTE, window.win));
    CHECK_OK(MPI_Get(data, 1, rows.handle, mt_rank, 64, 30, MPI_BYTE, window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    symm_stats_t now = mt_stats();
    CHECK_INT(before.puts + 1, now.puts);
    CHECK_INT(before.put_bytes + 30, now.put_bytes);
    CHECK_INT(before.gets + 1, now.gets);
    CHECK_INT(before.get_bytes + 30, now.get_bytes);
    mt_type_free(&rows);
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "rma_datatypes");
    if (mt_allocate(WINDOW_SIZE, 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(operations_are_counted);
        MT_RUN(ranges_by_true_bounds);
        MT_RUN(absolute_addresses);
        MT_RUN(data_out_of_order);
        MT_RUN(random_types);
        MT_RUN(rows_of_many_lengths);
        MT_RUN(irregular_pieces);
        MT_RUN(rows_beyond_four_gib);
        for (int place = 0; place < MT_MEMORY_COUNT; ++place) {
            if (NULL != plain[place]) {
                mt_free((mt_memory_t) place, plain[place]);
            }
        }
        mt_win_free(&window);
    }
    return mt_finish();
}
