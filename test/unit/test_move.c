/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The kernel of several copies: its launch shape, and its host twin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symm_move.h"

static void twin_copies_all(void **state)
{
    char src[300], dst[300];
    (void) state;
    for (int i = 0; i < 300; ++i) {
        src[i] = (char) (i * 7 + 1);
    }
    memset(dst, 0, sizeof(dst));
    symm_move_t moves[] = {{dst + 1, src + 100, 50}, {dst + 60, src, 0}, {dst + 200, src + 3, 99}};
    symm_move_host(moves, 3);
    for (int i = 0; i < 300; ++i) {
        char expected = 1 <= i && 51 > i ? src[99 + i] : 200 <= i && 299 > i ? src[i - 197] : 0;
        assert_int_equal(dst[i], expected);
    }
}

static void blocks_grow_with_the_longest_copy(void **state)
{
    (void) state;
    uint32_t last = 0;
    for (uint64_t len = 0; len < (uint64_t) 1 << 24; len = 2 * len + 1) {
        symm_move_t moves[] = {{0, 0, 1}, {0, 0, len}};
        uint32_t each = symm_move_blocks(moves, 2, 132, UINT32_MAX);
        assert_true(1 <= each && last <= each && 64 >= each);
        last = each;
    }
    assert_int_equal(last, 64);
}

static void blocks_respect_the_limit(void **state)
{
    symm_move_t moves[SYMM_MOVE_MAX];
    (void) state;
    for (uint32_t count = 1; count <= SYMM_MOVE_MAX; ++count) {
        moves[count - 1] = (symm_move_t){0, 0, UINT64_C(1) << 30};
        for (uint32_t limit = 1; limit < 200; limit += 13) {
            uint32_t each = symm_move_blocks(moves, count, 132, limit);
            assert_true(1 <= each);
            assert_true(1 == each || each * count <= SYMM_MOVE_BLOCKS_PER_MULTIPROCESSOR * limit);
        }
    }
}

static void parameters_fit(void **state)
{
    (void) state;
    assert_true(sizeof(symm_move_params_t) <= SYMM_KERNEL_PARAMS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(twin_copies_all),
        cmocka_unit_test(blocks_grow_with_the_longest_copy),
        cmocka_unit_test(blocks_respect_the_limit),
        cmocka_unit_test(parameters_fit),
    };
    return cmocka_run_group_tests_name("move", tests, NULL, NULL);
}
