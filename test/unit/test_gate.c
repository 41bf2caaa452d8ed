/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The gate of updates, with threads in place of processes: who passes beside whom, who is alone,
 * and that together they lose nothing. And the table of touched memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "symm_control.h"
#include "symm_touched.h"

#define RANKS  4
#define ROUNDS 20000

static symm_window_control_t *control;

static int set_up(void **state)
{
    (void) state;
    control = calloc(1, symm_window_control_len(RANKS));
    return NULL == control ? -1 : 0;
}

static int tear_down(void **state)
{
    (void) state;
    free(control);
    return 0;
}

static _Atomic uint32_t *inside(int rank)
{
    return symm_window_control_inside(control, RANKS, rank, 1);
}

static symm_gate_t *gate(void)
{
    return &control->peers[1].update;
}

static void many_pass_side_by_side(void **state)
{
    (void) state;
    for (int rank = 0; rank < RANKS; ++rank) {
        assert_true(symm_gate_pass(gate(), inside(rank)));
        assert_true(symm_gate_pass(gate(), inside(rank))); /* another thread of the rank */
    }
    for (int rank = 0; rank < RANKS; ++rank) {
        assert_int_equal(2, *inside(rank));
        symm_gate_leave(inside(rank), true);
        assert_int_equal(1, *inside(rank));
        symm_gate_leave(inside(rank), true);
        assert_int_equal(0, *inside(rank));
    }
}

static void nobody_passes_a_closed_gate(void **state)
{
    (void) state;
    symm_window_control_close(control, RANKS, 1);
    assert_false(symm_gate_pass(gate(), inside(2)));
    assert_int_equal(0, *inside(2));
    /* The gates of other targets are open. */
    assert_true(symm_gate_pass(&control->peers[0].update,
                               symm_window_control_inside(control, RANKS, 2, 0)));
    symm_gate_open(gate());
    assert_true(symm_gate_pass(gate(), inside(2)));
    symm_gate_leave(inside(2), false);
}

static atomic_bool alone;

static void *close_once(void *arg)
{
    (void) arg;
    symm_window_control_close(control, RANKS, 1);
    atomic_store(&alone, true);
    symm_gate_open(gate());
    return NULL;
}

static void closing_waits_for_those_inside(void **state)
{
    (void) state;
    pthread_t thread;
    const struct timespec patience = {0, 50000000};
    atomic_store(&alone, false);
    assert_true(symm_gate_pass(gate(), inside(3)));
    assert_int_equal(0, pthread_create(&thread, NULL, close_once, NULL));
    while (atomic_load(&gate()->next) == atomic_load(&gate()->serving)) {
    }
    (void) nanosleep(&patience, NULL);
    assert_false(atomic_load(&alone));
    assert_false(symm_gate_pass(gate(), inside(0))); /* the one who waits is served first */
    symm_gate_leave(inside(3), false);
    assert_int_equal(0, pthread_join(thread, NULL));
    assert_true(atomic_load(&alone));
}

static _Atomic uint64_t shared_sum;

/* Adds with an atomic if it may pass, otherwise, and every 16th time, alone and without. */
static void *add(void *arg)
{
    int rank = (int) (intptr_t) arg;
    for (int i = 0; i < ROUNDS; ++i) {
        if (0 != i % 16 && symm_gate_pass(gate(), inside(rank))) {
            atomic_fetch_add_explicit(&shared_sum, 1, memory_order_relaxed);
            symm_gate_leave(inside(rank), false);
        } else {
            symm_window_control_close(control, RANKS, 1);
            uint64_t sum = atomic_load_explicit(&shared_sum, memory_order_relaxed);
            atomic_store_explicit(&shared_sum, sum + 1, memory_order_relaxed);
            symm_gate_open(gate());
        }
    }
    return NULL;
}

static void both_ways_together_lose_nothing(void **state)
{
    (void) state;
    pthread_t threads[RANKS];
    shared_sum = 0;
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(0, pthread_create(&threads[r], NULL, add, (void *) (intptr_t) r));
    }
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(0, pthread_join(threads[r], NULL));
    }
    assert_int_equal(RANKS * ROUNDS, shared_sum);
}

static symm_touched_t touched;

static void short_runs_are_told_exactly(void **state)
{
    (void) state;
    symm_touched_clear(&touched);
    assert_false(symm_touched_has(&touched, 0, 8));
    for (uintptr_t at = 4096; at < 4096 + 1000 * 16; at += 16) {
        assert_true(symm_touched_add(&touched, at, at + 8));
    }
    for (uintptr_t at = 4096; at < 4096 + 1000 * 16; at += 16) {
        assert_true(symm_touched_has(&touched, at, at + 1));
        assert_true(symm_touched_has(&touched, at + 4, at + 8));
        assert_false(symm_touched_has(&touched, at + 8, at + 16));
        assert_true(symm_touched_has(&touched, at - 1, at + 16));
    }
    symm_touched_clear(&touched);
    assert_false(symm_touched_has(&touched, 4096, 4096 + 8));
}

static void long_runs_are_told_by_their_range(void **state)
{
    (void) state;
    symm_touched_clear(&touched);
    assert_true(symm_touched_add(&touched, 1000, 2000));
    assert_true(symm_touched_has(&touched, 1999, 2007));
    assert_false(symm_touched_has(&touched, 2000, 2008));
    assert_false(symm_touched_has(&touched, 0, 1000));
    assert_true(symm_touched_add(&touched, 3000, 4000));
    assert_true(symm_touched_has(&touched, 2500, 2508)); /* may have been, for all it knows */
    assert_true(symm_touched_add(&touched, 8000, 8008));
    assert_true(symm_touched_has(&touched, 7000, 9000));
    assert_false(symm_touched_has(&touched, 8008, 9000));
}

static void a_full_table_takes_no_more(void **state)
{
    (void) state;
    uintptr_t at = 0;
    symm_touched_clear(&touched);
    while (symm_touched_add(&touched, at, at + 16)) {
        at += 16;
    }
    assert_int_equal(16 * (SYMM_TOUCHED_PLACES / 4), at);
    assert_true(symm_touched_has(&touched, at - 1, at));
    assert_false(symm_touched_has(&touched, at, at + 1));
    touched.round = UINT32_MAX; /* of the last round before the count wraps */
    symm_touched_clear(&touched);
    assert_true(symm_touched_add(&touched, 0, 8));
    assert_false(symm_touched_has(&touched, 8, 16));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(many_pass_side_by_side),
        TEST(nobody_passes_a_closed_gate),
        TEST(closing_waits_for_those_inside),
        TEST(both_ways_together_lose_nothing),
        cmocka_unit_test(short_runs_are_told_exactly),
        cmocka_unit_test(long_runs_are_told_by_their_range),
        cmocka_unit_test(a_full_table_takes_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
