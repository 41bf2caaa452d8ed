/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Where things lie in a window's address range: both shapes written out, then properties that hold
 * for any sizes, then the sizes that nothing can hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <mpi.h>

#include "symm_layout.h"

#define KIB ((size_t) 1 << 10)
#define MIB ((size_t) 1 << 20)
#define PAD (64 * KIB)

static symm_layout_t laid_out(int size, const size_t *sizes, size_t granularity, bool contiguous)
{
    symm_layout_t layout;
    assert_int_equal(symm_layout_init(&layout, size, sizes, granularity, contiguous), MPI_SUCCESS);
    assert_int_equal(layout.size, size);
    assert_int_equal(layout.granularity, granularity);
    assert_true(contiguous == layout.contiguous);
    return layout;
}

static void assert_span(symm_span_t span, size_t offset, size_t len)
{
    assert_int_equal(span.offset, offset);
    assert_int_equal(span.len, len);
}

/* ---- written out ---- */

static void pad_is_64_kib(void **state)
{
    (void) state;
    assert_int_equal(SYMM_PAD_BYTES, PAD);
    assert_int_equal(PAD % SYMM_DATA_ALIGN, 0);
}

static void symmetric_shape(void **state)
{
    const size_t sizes[] = {100, 5000, 0};
    (void) state;
    symm_layout_t layout = laid_out(3, sizes, 4 * KIB, false);
    size_t stride = PAD + 8 * KIB; /* 5000 bytes need two pages */
    assert_int_equal(layout.stride, stride);
    assert_int_equal(layout.pad_stride, stride);
    assert_int_equal(layout.range_len, 3 * stride);
    assert_span(layout.seg[0], 0, PAD + 4 * KIB);
    assert_span(layout.seg[1], stride, stride);
    assert_span(layout.seg[2], 2 * stride, PAD);
    assert_span(layout.data[0], PAD, 100);
    assert_span(layout.data[1], stride + PAD, 5000);
    assert_span(layout.data[2], 2 * stride + PAD, 0);
    symm_layout_free(&layout);
}

static void symmetric_shape_on_a_gpu(void **state)
{
    const size_t sizes[] = {2 * MIB, 2 * MIB - PAD};
    (void) state;
    symm_layout_t layout = laid_out(2, sizes, 2 * MIB, false);
    assert_int_equal(layout.stride, 4 * MIB);
    assert_span(layout.seg[0], 0, 4 * MIB);
    assert_span(layout.seg[1], 4 * MIB, 2 * MIB); /* fits one granule to the byte */
    assert_span(layout.data[1], 4 * MIB + PAD, 2 * MIB - PAD);
    symm_layout_free(&layout);
}

static void contiguous_shape(void **state)
{
    const size_t sizes[] = {100, 5000, 0, 3000};
    (void) state;
    symm_layout_t layout = laid_out(4, sizes, 4 * KIB, true);
    assert_int_equal(layout.stride, 0);
    assert_int_equal(layout.pad_stride, PAD);
    assert_int_equal(layout.range_len, 4 * PAD + 8 * KIB); /* 8,100 bytes of data */
    assert_span(layout.data[0], 4 * PAD, 100);
    assert_span(layout.data[1], 4 * PAD + 100, 5000);
    assert_span(layout.data[2], 4 * PAD + 5100, 0);
    assert_span(layout.data[3], 4 * PAD + 5100, 3000);
    assert_span(layout.seg[0], 0, 4 * PAD + 4 * KIB);
    assert_span(layout.seg[1], 4 * PAD + 4 * KIB, 4 * KIB);
    assert_span(layout.seg[2], 4 * PAD + 8 * KIB, 0);
    assert_span(layout.seg[3], 4 * PAD + 8 * KIB, 0); /* it starts and ends in rank 1's page */
    symm_layout_free(&layout);
}

static void contiguous_shape_in_one_granule(void **state)
{
    const size_t sizes[] = {1, 1, 1};
    (void) state;
    symm_layout_t layout = laid_out(3, sizes, 2 * MIB, true);
    assert_int_equal(layout.range_len, 2 * MIB);
    assert_span(layout.seg[0], 0, 2 * MIB);
    assert_span(layout.seg[1], 2 * MIB, 0);
    assert_span(layout.seg[2], 2 * MIB, 0);
    symm_layout_free(&layout);
}

static void no_memory_at_all(void **state)
{
    const size_t sizes[] = {0, 0};
    (void) state;
    symm_layout_t layout = laid_out(2, sizes, 4 * KIB, false);
    assert_int_equal(layout.range_len, 2 * PAD);
    assert_span(layout.seg[1], PAD, PAD); /* the pads are there all the same */
    symm_layout_free(&layout);
    layout = laid_out(2, sizes, 4 * KIB, true);
    assert_span(layout.seg[0], 0, 2 * PAD);
    assert_span(layout.seg[1], 2 * PAD, 0);
    symm_layout_free(&layout);
}

/* ---- properties ---- */

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return *seed >> 33;
}

/* Small and large sizes, and none, in any order. */
static void random_sizes(uint64_t *seed, int size, size_t *sizes)
{
    for (int r = 0; r < size; ++r) {
        size_t scale = (size_t) 1 << (next_random(seed) % 26);
        sizes[r] = 0 == next_random(seed) % 4 ? 0 : next_random(seed) % scale;
    }
}

/* Segments follow one another, are whole granules, and end with the range. */
static void assert_segments_tile(const symm_layout_t *layout)
{
    size_t end = 0;
    for (int r = 0; r < layout->size; ++r) {
        assert_int_equal(layout->seg[r].offset % layout->granularity, 0);
        assert_int_equal(layout->seg[r].len % layout->granularity, 0);
        assert_true(layout->seg[r].offset >= end);
        end = layout->seg[r].offset + layout->seg[r].len;
    }
    assert_true(end <= layout->range_len);
    assert_int_equal(layout->range_len % layout->granularity, 0);
}

/* The segment that byte lies in; fails when it lies in none. */
static int owner_of(const symm_layout_t *layout, size_t byte)
{
    for (int r = 0; r < layout->size; ++r) {
        if (byte >= layout->seg[r].offset && byte - layout->seg[r].offset < layout->seg[r].len) {
            return r;
        }
    }
    fail_msg("byte %zu is in no segment", byte);
    return -1;
}

static void assert_backed(const symm_layout_t *layout, size_t offset, size_t len)
{
    for (size_t at = offset; at < offset + len; at += layout->granularity) {
        (void) owner_of(layout, at);
    }
    if (0 < len) {
        (void) owner_of(layout, offset + len - 1);
    }
}

static void assert_all_backed(const symm_layout_t *layout, const size_t *sizes)
{
    for (int r = 0; r < layout->size; ++r) {
        assert_int_equal(layout->data[r].len, sizes[r]);
        assert_backed(layout, layout->data[r].offset, layout->data[r].len);
        assert_backed(layout, (size_t) r * layout->pad_stride, PAD);
    }
}

/* Whose the first byte of a granule is: pads are the first rank's. */
static int rank_of_byte(const symm_layout_t *layout, size_t byte)
{
    for (int r = 0; r < layout->size; ++r) {
        if (0 < layout->data[r].len && byte < layout->data[r].offset + layout->data[r].len) {
            return byte < layout->data[0].offset ? 0 : r;
        }
    }
    return 0;
}

#define SIZE_MAX_RANKS 17

static void symmetric_properties(void **state)
{
    uint64_t seed = 1;
    size_t sizes[SIZE_MAX_RANKS];
    (void) state;
    for (int i = 0; i < 300; ++i) {
        int size = 1 + (int) (next_random(&seed) % SIZE_MAX_RANKS);
        random_sizes(&seed, size, sizes);
        symm_layout_t layout = laid_out(size, sizes, 0 == i % 2 ? 4 * KIB : 2 * MIB, false);
        assert_segments_tile(&layout);
        assert_all_backed(&layout, sizes);
        assert_int_equal(layout.range_len, (size_t) size * layout.stride);
        for (int r = 0; r < size; ++r) {
            assert_int_equal(layout.data[r].offset, layout.data[0].offset + r * layout.stride);
            assert_int_equal(layout.data[r].offset % SYMM_DATA_ALIGN, 0);
            assert_true(layout.data[r].offset >= r * layout.pad_stride + PAD);
            assert_int_equal(owner_of(&layout, layout.data[r].offset - 1), r);
        }
        symm_layout_free(&layout);
    }
}

static void contiguous_properties(void **state)
{
    uint64_t seed = 2;
    size_t sizes[SIZE_MAX_RANKS];
    (void) state;
    for (int i = 0; i < 300; ++i) {
        int size = 1 + (int) (next_random(&seed) % SIZE_MAX_RANKS);
        random_sizes(&seed, size, sizes);
        symm_layout_t layout = laid_out(size, sizes, 0 == i % 2 ? 4 * KIB : 2 * MIB, true);
        assert_segments_tile(&layout);
        assert_all_backed(&layout, sizes);
        assert_int_equal(layout.data[0].offset % SYMM_DATA_ALIGN, 0);
        assert_true(layout.data[0].offset >= (size_t) size * PAD);
        for (int r = 0; r + 1 < size; ++r) {
            assert_int_equal(layout.data[r + 1].offset, layout.data[r].offset + sizes[r]);
        }
        for (size_t at = 0; at < layout.range_len; at += layout.granularity) {
            assert_int_equal(owner_of(&layout, at), rank_of_byte(&layout, at));
        }
        symm_layout_free(&layout);
    }
}

static void a_thousand_ranks(void **state)
{
    size_t sizes[1000];
    (void) state;
    for (int r = 0; r < 1000; ++r) {
        sizes[r] = (size_t) r * 100;
    }
    for (int contiguous = 0; contiguous < 2; ++contiguous) {
        symm_layout_t layout = laid_out(1000, sizes, 4 * KIB, 0 != contiguous);
        assert_segments_tile(&layout);
        symm_layout_free(&layout);
    }
}

/* ---- too much ---- */

static void assert_refused(int size, const size_t *sizes)
{
    for (int contiguous = 0; contiguous < 2; ++contiguous) {
        symm_layout_t layout = {.size = 77};
        assert_int_equal(symm_layout_init(&layout, size, sizes, 4 * KIB, 0 != contiguous),
                         MPI_ERR_SIZE);
        assert_int_equal(layout.size, 0);
        assert_null(layout.seg);
        symm_layout_free(&layout); /* allowed on what failed */
    }
}

static void sizes_beyond_the_address_space(void **state)
{
    const size_t top = (size_t) 1 << 47;
    (void) state;
    assert_refused(1, (size_t[]){top});
    assert_refused(1, (size_t[]){top - PAD});
    assert_refused(1, (size_t[]){SIZE_MAX});
    assert_refused(1, (size_t[]){SIZE_MAX - PAD - 4 * KIB + 1}); /* with its pad it is 0 */
    assert_refused(2, (size_t[]){100, SIZE_MAX});
    assert_refused(2, (size_t[]){top / 2, top / 2});
    assert_refused(3, (size_t[]){top / 3, 0, 0});                    /* the stride is for all */
    assert_refused(4, (size_t[]){SIZE_MAX / 2, SIZE_MAX / 2, 3, 0}); /* the sum wraps to 2 */
}

static void sizes_just_within_the_address_space(void **state)
{
    (void) state;
    for (int contiguous = 0; contiguous < 2; ++contiguous) {
        symm_layout_t layout = laid_out(1, (size_t[]){(size_t) 1 << 46}, 4 * KIB, 0 != contiguous);
        assert_int_equal(layout.data[0].len, (size_t) 1 << 46);
        assert_true(layout.range_len > (size_t) 1 << 46);
        symm_layout_free(&layout);
    }
}

/* ---- equality ---- */

static void equal_in_every_byte(void **state)
{
    const size_t sizes[] = {100, 200};
    (void) state;
    symm_layout_t a = laid_out(2, sizes, 4 * KIB, false);
    symm_layout_t b = laid_out(2, sizes, 4 * KIB, false);
    assert_true(symm_layout_equal(&a, &b));
    assert_true(symm_layout_equal(&a, &a));
    symm_layout_free(&a);
    symm_layout_free(&b);
}

static void assert_differ(symm_layout_t b)
{
    symm_layout_t a = laid_out(2, (size_t[]){100, 200}, 4 * KIB, false);
    assert_false(symm_layout_equal(&a, &b));
    assert_false(symm_layout_equal(&b, &a));
    symm_layout_free(&a);
    symm_layout_free(&b);
}

static void not_equal_if_anything_differs(void **state)
{
    (void) state;
    assert_differ(laid_out(1, (size_t[]){100}, 4 * KIB, false));
    assert_differ(laid_out(3, (size_t[]){100, 200, 0}, 4 * KIB, false));
    assert_differ(laid_out(2, (size_t[]){101, 200}, 4 * KIB, false));
    assert_differ(laid_out(2, (size_t[]){100, 201}, 4 * KIB, false));
    assert_differ(laid_out(2, (size_t[]){200, 100}, 4 * KIB, false));
    assert_differ(laid_out(2, (size_t[]){100, 200}, 2 * MIB, false));
    assert_differ(laid_out(2, (size_t[]){100, 200}, 4 * KIB, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pad_is_64_kib),
        cmocka_unit_test(symmetric_shape),
        cmocka_unit_test(symmetric_shape_on_a_gpu),
        cmocka_unit_test(contiguous_shape),
        cmocka_unit_test(contiguous_shape_in_one_granule),
        cmocka_unit_test(no_memory_at_all),
        cmocka_unit_test(symmetric_properties),
        cmocka_unit_test(contiguous_properties),
        cmocka_unit_test(a_thousand_ranks),
        cmocka_unit_test(sizes_beyond_the_address_space),
        cmocka_unit_test(sizes_just_within_the_address_space),
        cmocka_unit_test(equal_in_every_byte),
        cmocka_unit_test(not_equal_if_anything_differs),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
