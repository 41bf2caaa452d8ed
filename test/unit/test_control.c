/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Places inside control blocks, and the barrier of a window, with threads in place of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "symm_control.h"

#define RANKS 4

static symm_window_control_t *new_control(int size)
{
    size_t len = symm_window_control_len(size);
    symm_window_control_t *control = aligned_alloc(SYMM_LINE_BYTES, len);
    assert_non_null(control);
    memset(control, 0, len);
    return control;
}

static size_t offset_in(const symm_window_control_t *control, const volatile void *at)
{
    return (size_t) ((const volatile char *) at - (const volatile char *) control);
}

static void parts_lie_inside(void **state)
{
    (void) state;
    for (int size = 1; size < 40; ++size) {
        symm_window_control_t *control = new_control(size);
        size_t len = symm_window_control_len(size);
        size_t peers_end = offset_in(control, &control->peers[size]);
        assert_int_equal(len % SYMM_LINE_BYTES, 0); /* aligned_alloc asks for that, too */
        for (int origin = 0; origin < size; ++origin) {
            for (int target = 0; target < size; ++target) {
                size_t at =
                    offset_in(control, symm_window_control_post(control, size, origin, target));
                assert_true(at >= peers_end);
                assert_true(at + sizeof(uint32_t) <= len);
            }
        }
        free(control);
    }
}

/* A mark in each place is found where it was left, so no two places are one. */
static void parts_are_apart(void **state)
{
    enum { SIZE = 19 };
    (void) state;
    symm_window_control_t *control = new_control(SIZE);
    for (int i = 0; i < SIZE * SIZE; ++i) {
        *symm_window_control_post(control, SIZE, i / SIZE, i % SIZE) = (uint32_t) i + 1;
    }
    for (int r = 0; r < SIZE; ++r) {
        assert_int_equal(control->peers[r].arrivals, 0);
        assert_int_equal(control->peers[r].completions, 0);
        assert_int_equal(control->peers[r].lock.next, 0);
    }
    assert_int_equal(control->room.state, 0);
    for (int i = 0; i < SIZE * SIZE; ++i) {
        assert_int_equal(*symm_window_control_post(control, SIZE, i / SIZE, i % SIZE), i + 1);
    }
    free(control);
}

/* Words with different writers share no line. */
static void writers_have_lines_of_their_own(void **state)
{
    (void) state;
    symm_window_control_t *control = new_control(3);
    size_t lines[] = {
        offset_in(control, &control->room) / SYMM_LINE_BYTES,
        offset_in(control, &control->peers[0].arrivals) / SYMM_LINE_BYTES,
        offset_in(control, &control->peers[0].lock) / SYMM_LINE_BYTES,
        offset_in(control, &control->peers[0].completions) / SYMM_LINE_BYTES,
        offset_in(control, &control->peers[1].arrivals) / SYMM_LINE_BYTES,
        offset_in(control, symm_window_control_post(control, 3, 0, 0)) / SYMM_LINE_BYTES,
        offset_in(control, symm_window_control_post(control, 3, 1, 0)) / SYMM_LINE_BYTES,
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); ++i) {
        for (size_t k = 0; k < i; ++k) {
            assert_int_not_equal(lines[i], lines[k]);
        }
    }
    free(control);
}

static void communicator_block_holds_all_peers(void **state)
{
    (void) state;
    for (int size = 1; size < 20; ++size) {
        assert_true(symm_comm_control_len(size) >= (size_t) size * sizeof(symm_comm_peer_t));
    }
    assert_int_equal(sizeof(symm_comm_peer_t) % SYMM_LINE_BYTES, 0);
    assert_int_equal(offsetof(symm_slot_t, call), 0);
    /* The number and the descriptor come in one line. */
    assert_true(offsetof(symm_slot_t, descriptor) + SYMM_SLOT_DESCRIPTOR_BYTES <= SYMM_LINE_BYTES);
}

/* Rows begin behind the peers, on lines of their own, and no two share a block. */
static void rows_of_blocks_are_apart(void **state)
{
    enum { SIZE = 5 };
    (void) state;
    size_t len = symm_comm_control_len(SIZE);
    symm_comm_control_t *control = aligned_alloc(SYMM_LINE_BYTES, len);
    assert_non_null(control);
    memset(control, 0, len);
    for (int i = 0; i < SIZE * SYMM_ROWS; ++i) {
        symm_block_t *row = symm_comm_control_row(control, SIZE, i / SYMM_ROWS, i % SYMM_ROWS);
        assert_int_equal((uintptr_t) row % SYMM_LINE_BYTES, 0);
        assert_true((char *) row >= (char *) &control->peers[SIZE]);
        assert_true((char *) (row + SIZE) <= (char *) control + len);
        for (int p = 0; p < SIZE; ++p) {
            assert_int_equal(row[p].recv_len, 0);
            row[p].recv_len = 1;
        }
    }
    free(control);
    assert_null(symm_comm_control_row(NULL, SYMM_ROW_RANKS_MAX + 1, 0, 0));
}

/* ---- the barrier ---- */

#define ROUNDS 2000

typedef struct rank {
    symm_window_control_t *control;
    int rank;
    uint32_t round; /* the count it starts with */
    long *written;  /* [RANKS] without any atomicity: the barrier must order it */
    long mistakes;
} rank_t;

static void *meet(void *argument)
{
    rank_t *me = argument;
    for (long i = 1; i <= ROUNDS; ++i) {
        me->written[me->rank] = i;
        symm_window_control_barrier(me->control, me->rank, RANKS, &me->round);
        for (int r = 0; r < RANKS; ++r) {
            me->mistakes += i == me->written[r] ? 0 : 1;
        }
        symm_window_control_barrier(me->control, me->rank, RANKS, &me->round);
    }
    return NULL;
}

static void run_barriers(uint32_t first_round)
{
    symm_window_control_t *control = new_control(RANKS);
    long written[RANKS] = {0};
    rank_t ranks[RANKS];
    pthread_t threads[RANKS];
    for (int r = 0; r < RANKS; ++r) {
        control->peers[r].arrivals = first_round;
        ranks[r] = (rank_t){control, r, first_round, written, 0};
    }
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(pthread_create(&threads[r], NULL, meet, &ranks[r]), 0);
    }
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(pthread_join(threads[r], NULL), 0);
        assert_int_equal(ranks[r].mistakes, 0);
        assert_int_equal(ranks[r].round, first_round + 2 * ROUNDS);
    }
    free(control);
}

static void barrier_orders_what_is_around_it(void **state)
{
    (void) state;
    run_barriers(0);
}

static void barrier_count_may_wrap(void **state)
{
    (void) state;
    run_barriers(UINT32_MAX - ROUNDS);
    run_barriers(INT32_MAX - ROUNDS);
}

static void barrier_of_one_is_no_wait(void **state)
{
    uint32_t round = 0;
    (void) state;
    symm_window_control_t *control = new_control(1);
    for (int i = 0; i < 10; ++i) {
        symm_window_control_barrier(control, 0, 1, &round);
    }
    assert_int_equal(round, 10);
    free(control);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_lie_inside),
        cmocka_unit_test(parts_are_apart),
        cmocka_unit_test(writers_have_lines_of_their_own),
        cmocka_unit_test(communicator_block_holds_all_peers),
        cmocka_unit_test(rows_of_blocks_are_apart),
        cmocka_unit_test(barrier_orders_what_is_around_it),
        cmocka_unit_test(barrier_count_may_wrap),
        cmocka_unit_test(barrier_of_one_is_no_wait),
    };
    return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
