/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Batches: rows are cut into pieces and units that move every byte once, by accesses that are
 * aligned, whatever the rows are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symm_batch.h"

#define AREA ((size_t) 1 << 20)

static unsigned char *src, *dst, *expected;
static uint64_t random_state = 1;

static size_t below(size_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (size_t) (random_state >> 33) % n;
}

static int set_up(void **state)
{
    (void) state;
    src = aligned_alloc(64, AREA);
    dst = aligned_alloc(64, AREA);
    expected = aligned_alloc(64, AREA);
    for (size_t i = 0; i < AREA; ++i) {
        src[i] = (unsigned char) (i * 7 + i / 251);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    free(src);
    free(dst);
    free(expected);
    return 0;
}

/* Moves a unit, byte by byte so that one that is moved twice is seen. */
static void move_unit(const symm_batch_piece_t *piece, uint32_t unit)
{
    symm_rows_t rows = symm_batch_unit(piece, unit);
    assert_true(0 < rows.rows && 0 < rows.len);
    assert_true(rows.rows * rows.len <= SYMM_BATCH_UNIT);
    for (size_t r = 0; r < rows.rows; ++r) {
        unsigned char *to = (unsigned char *) rows.dst + (ptrdiff_t) r * rows.dst_pitch;
        const unsigned char *from =
            (const unsigned char *) rows.src + (ptrdiff_t) r * rows.src_pitch;
        assert_int_equal(((uintptr_t) to | (uintptr_t) from | rows.len) % piece->width, 0);
        for (size_t i = 0; i < rows.len; ++i) {
            to[i] = (unsigned char) (to[i] + from[i]);
        }
    }
}

static void check_rows(const symm_rows_t *rows)
{
    symm_batch_piece_t pieces[SYMM_BATCH_CUTS];
    memset(dst, 0, AREA);
    memset(expected, 0, AREA);
    unsigned count = symm_batch_cut(rows, pieces);
    assert_in_range(count, 1, SYMM_BATCH_CUTS);
    for (unsigned i = 0; i < count; ++i) {
        for (uint32_t unit = 0; unit < pieces[i].units; ++unit) {
            move_unit(&pieces[i], unit);
        }
    }
    for (size_t r = 0; r < rows->rows; ++r) {
        size_t at = (size_t) ((unsigned char *) rows->dst - dst);
        memcpy(expected + at + (size_t) ((ptrdiff_t) r * rows->dst_pitch),
               rows->src + (ptrdiff_t) r * rows->src_pitch, rows->len);
    }
    assert_memory_equal(expected, dst, AREA);
}

static void all_bytes_once(void **state)
{
    (void) state;
    for (int i = 0; i < 400; ++i) {
        size_t len = 1 + below(0 == i % 4 ? 7000 : 300);
        size_t rows = 0 == i % 3 ? 1 : 1 + below(50);
        ptrdiff_t dst_pitch = (ptrdiff_t) (len + below(64));
        ptrdiff_t src_pitch = 0 == i % 7 ? 0 : (ptrdiff_t) (len + below(64));
        if (0 == i % 2) {
            dst_pitch = (dst_pitch + 15) / 16 * 16;
            src_pitch = (src_pitch + 15) / 16 * 16;
        }
        size_t at = below(64);
        symm_rows_t r = {.dst = (char *) dst + at,
                         .src = (char *) src + (0 == i % 5 ? at : below(64)),
                         .len = len,
                         .rows = rows,
                         .dst_pitch = dst_pitch,
                         .src_pitch = src_pitch};
        if (0 == i % 6) { /* backwards */
            r.dst += (ptrdiff_t) (rows - 1) * dst_pitch;
            r.dst_pitch = -dst_pitch;
        }
        check_rows(&r);
    }
}

/* Only the ends of rows that are aligned alike are moved by small accesses. */
static void wide_where_it_can_be(void **state)
{
    symm_batch_piece_t pieces[SYMM_BATCH_CUTS];
    symm_rows_t rows = {(char *) dst + 3, (char *) src + 19, 1000, 10, 1024, 2048};
    (void) state;
    assert_int_equal(symm_batch_cut(&rows, pieces), 3);
    assert_int_equal(pieces[0].width, 16);
    assert_int_equal(pieces[0].len, 976); /* behind 13 bytes at the head, before 11 */
    assert_int_equal(pieces[1].len + pieces[2].len, 24);
    rows.src += 8; /* 8 bytes apart: as wide as that */
    assert_int_equal(symm_batch_cut(&rows, pieces), 3);
    assert_int_equal(pieces[0].width, 8);
    rows = (symm_rows_t){(char *) dst, (char *) src, 1024, 10, 4096, 8192};
    assert_int_equal(symm_batch_cut(&rows, pieces), 1);
    assert_int_equal(pieces[0].width, 16);
    assert_int_equal(pieces[0].units, 5); /* two rows each */
}

static void few_bytes_are_inside(void **state)
{
    symm_batch_piece_t piece;
    (void) state;
    memset(dst, 0, 64);
    symm_batch_inside(&piece, (uintptr_t) (dst + 4), 12, 7);
    memcpy(piece.inside, src, 12);
    assert_int_equal(piece.width, 4);
    assert_int_equal(piece.first_unit, 7);
    symm_rows_t rows = symm_batch_unit(&piece, 0);
    symm_rows_copy_host(&rows);
    assert_memory_equal(dst + 4, src, 12);
    assert_int_equal(dst[3] | dst[16], 0);
}

static void grids_fit(void **state)
{
    (void) state;
    assert_int_equal(symm_batch_blocks(0, 132), 1);
    assert_int_equal(symm_batch_blocks(1, 132), 1);
    assert_int_equal(symm_batch_blocks(9, 132), 2);
    assert_int_equal(symm_batch_blocks(UINT32_MAX, 132),
                     132 * SYMM_BATCH_BLOCKS_PER_MULTIPROCESSOR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_once),
        cmocka_unit_test(wide_where_it_can_be),
        cmocka_unit_test(few_bytes_are_inside),
        cmocka_unit_test(grids_fit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
