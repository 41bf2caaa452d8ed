/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Commands for the resident kernel: what they say, read back here as the layout tells, and which
 * work is none for it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symm_resident.h"

static const void *sources[64];
static void *destinations[64];

/* Buffers whose addresses differ in both halves. */
static symm_reduce_t make_reduce(symm_op_t op, symm_dtype_t dtype, uint64_t count, uint32_t nsrc,
                                 uint32_t ndst)
{
    for (uint32_t i = 0; i < 64; ++i) {
        sources[i] = (const void *) (UINT64_C(0x7f0100000000) * (i % 2 + 1) + 4096 * i);
        destinations[i] = (void *) (UINT64_C(0x7e0300000000) + 8192 * (uint64_t) i);
    }
    return (symm_reduce_t){op, dtype, count, nsrc, ndst, sources, destinations};
}

static uint64_t address_at(const symm_resident_command_t *command, uint32_t i)
{
    return (uint64_t) command->data[i + 1] << 32 | command->data[i];
}

static void a_reduction_says_all(void **state)
{
    symm_resident_command_t command;
    symm_reduce_t reduce = make_reduce(SYMM_SUM, SYMM_INT32, 4, 3, 2);
    (void) state;
    assert_int_equal(0, symm_resident_reduce(&reduce, &command));
    assert_int_equal(2 + 2 * 5, command.words);
    assert_int_equal(command.words, command.data[0] & 0xff);
    assert_int_equal(SYMM_SUM, command.data[0] >> 8 & 0xff);
    assert_int_equal(SYMM_UINT32, command.data[0] >> 16 & 0xff); /* the same bits as signed */
    assert_int_equal(3, command.data[0] >> 24);
    assert_int_equal(4, command.data[1] & 0xffff);
    assert_int_equal(4, command.data[1] >> 16 & 0xff);
    assert_int_equal(2, command.data[1] >> 24);
    for (uint32_t i = 0; i < 3; ++i) {
        assert_int_equal((uintptr_t) sources[i], address_at(&command, 2 + 2 * i));
    }
    for (uint32_t i = 0; i < 2; ++i) {
        assert_int_equal((uintptr_t) destinations[i], address_at(&command, 8 + 2 * i));
    }
}

static void copies_say_all(void **state)
{
    symm_resident_command_t command;
    symm_move_t moves[SYMM_RESIDENT_MOVES_MAX];
    (void) state;
    (void) make_reduce(SYMM_SUM, SYMM_INT32, 1, 1, 1);
    for (uint32_t i = 0; i < SYMM_RESIDENT_MOVES_MAX; ++i) {
        moves[i] = (symm_move_t){destinations[i], sources[i], 100 * i};
    }
    assert_int_equal(0, symm_resident_moves(moves, SYMM_RESIDENT_MOVES_MAX, &command));
    assert_int_equal(command.words, command.data[0] & 0xff);
    assert_true(SYMM_RESIDENT_END >= command.words);
    assert_int_equal(SYMM_OP_COUNT, command.data[0] >> 8 & 0xff);
    assert_int_equal(SYMM_RESIDENT_MOVES_MAX, command.data[0] >> 24);
    for (uint32_t i = 0; i < SYMM_RESIDENT_MOVES_MAX; ++i) {
        assert_int_equal((uintptr_t) destinations[i], address_at(&command, 2 + 5 * i));
        assert_int_equal((uintptr_t) sources[i], address_at(&command, 4 + 5 * i));
        assert_int_equal(100 * i, command.data[6 + 5 * i]);
    }
}

static int try_reduce(symm_op_t op, symm_dtype_t dtype, uint64_t count, uint32_t nsrc,
                      uint32_t ndst)
{
    symm_resident_command_t command;
    symm_reduce_t reduce = make_reduce(op, dtype, count, nsrc, ndst);
    return symm_resident_reduce(&reduce, &command);
}

static void every_pair_that_gpus_know(void **state)
{
    (void) state;
    for (int op = 0; op < SYMM_OP_COUNT; ++op) {
        for (int dtype = 0; dtype < SYMM_DTYPE_COUNT; ++dtype) {
            bool known = symm_op_defined((symm_op_t) op, (symm_dtype_t) dtype) &&
                         symm_dtype_on_gpu((symm_dtype_t) dtype);
            assert_true(known == (0 == try_reduce((symm_op_t) op, (symm_dtype_t) dtype, 8, 2, 1)));
        }
    }
}

static void reductions_that_are_too_large(void **state)
{
    (void) state;
    assert_int_equal(0, try_reduce(SYMM_MAX, SYMM_INT8, SYMM_RESIDENT_BYTES_MAX, 1, 1));
    assert_int_not_equal(0, try_reduce(SYMM_MAX, SYMM_INT8, SYMM_RESIDENT_BYTES_MAX + 1, 1, 1));
    for (uint32_t nsrc = 1; nsrc < SYMM_RESIDENT_BUFFERS_MAX; ++nsrc) {
        uint64_t most = SYMM_RESIDENT_BYTES_MAX / 8 / nsrc;
        assert_int_equal(0, try_reduce(SYMM_SUM, SYMM_FLOAT64, most, nsrc, 1));
        assert_int_not_equal(0, try_reduce(SYMM_SUM, SYMM_FLOAT64, most + 1, nsrc, 1));
    }
    assert_int_not_equal(0, try_reduce(SYMM_SUM, SYMM_FLOAT64, UINT64_MAX, 2, 1));
    assert_int_not_equal(0, try_reduce(SYMM_SUM, SYMM_FLOAT64, UINT64_MAX / 8, 2, 1));
    assert_int_not_equal(0, try_reduce(SYMM_SUM, SYMM_FLOAT64, 0, 2, 1));
}

static void buffers_that_are_too_many_or_none(void **state)
{
    (void) state;
    assert_int_equal(0, try_reduce(SYMM_SUM, SYMM_INT32, 1, 15, 15));
    assert_int_equal(0, try_reduce(SYMM_SUM, SYMM_INT32, 1, 29, 1));
    assert_int_not_equal(0, try_reduce(SYMM_SUM, SYMM_INT32, 1, 16, 15));
    assert_int_not_equal(0, try_reduce(SYMM_SUM, SYMM_INT32, 1, UINT32_MAX, 1));
    assert_int_not_equal(0, try_reduce(SYMM_SUM, SYMM_INT32, 1, 0, 1));
    assert_int_not_equal(0, try_reduce(SYMM_SUM, SYMM_INT32, 1, 1, 0));
}

static void buffers_that_are_not_aligned(void **state)
{
    symm_resident_command_t command;
    symm_reduce_t reduce = make_reduce(SYMM_SUM, SYMM_FLOAT64, 3, 2, 2);
    (void) state;
    sources[1] = (const char *) sources[1] + 4;
    assert_int_not_equal(0, symm_resident_reduce(&reduce, &command));
    reduce.dtype = SYMM_FLOAT32;
    assert_int_equal(0, symm_resident_reduce(&reduce, &command));
    destinations[1] = (char *) destinations[1] + 2;
    assert_int_not_equal(0, symm_resident_reduce(&reduce, &command));
    destinations[3] = (char *) destinations[3] + 1; /* not one of them */
    reduce.dtype = SYMM_FLOAT16;
    assert_int_equal(0, symm_resident_reduce(&reduce, &command));
}

static void copies_that_are_too_large_or_too_many(void **state)
{
    symm_resident_command_t command;
    symm_move_t moves[SYMM_RESIDENT_MOVES_MAX + 1] = {{0}};
    (void) state;
    assert_int_equal(EINVAL, symm_resident_moves(moves, 0, &command));
    assert_int_equal(EINVAL, symm_resident_moves(moves, SYMM_RESIDENT_MOVES_MAX + 1, &command));
    moves[0].len = SYMM_RESIDENT_BYTES_MAX;
    assert_int_equal(0, symm_resident_moves(moves, 2, &command));
    moves[1].len = 1;
    assert_int_equal(EINVAL, symm_resident_moves(moves, 2, &command));
    moves[1].len = UINT64_MAX;
    assert_int_equal(EINVAL, symm_resident_moves(moves, 2, &command));
    assert_int_equal(0, symm_resident_moves(moves, 1, &command));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reduction_says_all),
        cmocka_unit_test(copies_say_all),
        cmocka_unit_test(every_pair_that_gpus_know),
        cmocka_unit_test(reductions_that_are_too_large),
        cmocka_unit_test(buffers_that_are_too_many_or_none),
        cmocka_unit_test(buffers_that_are_not_aligned),
        cmocka_unit_test(copies_that_are_too_large_or_too_many),
    };
    return cmocka_run_group_tests_name("resident", tests, NULL, NULL);
}
