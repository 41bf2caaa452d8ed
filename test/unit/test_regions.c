/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The table of attached regions: against a list kept by hand, and while it changes. */
#include "symm_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "symm_regions.h"

#define CAPACITY 200

static symm_regions_t *table;

static int set_up(void **state)
{
    (void) state;
    table = aligned_alloc(64, (symm_regions_len(CAPACITY) + 63) / 64 * 64);
    assert_non_null(table);
    atomic_init(&table->version, 0);
    atomic_init(&table->count, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    free(table);
    return 0;
}

static int add(uint64_t start, uint64_t len, uint64_t tag)
{
    symm_region_t region = {start, len, tag};
    return symm_regions_add(table, CAPACITY, &region);
}

static bool find(uint64_t start, uint64_t len)
{
    symm_region_t region;
    return symm_regions_find(table, start, len, &region);
}

static bool remove_at(uint64_t start)
{
    symm_region_t region;
    return symm_regions_remove(table, (void *) (uintptr_t) start, &region);
}

static void edges_are_kept(void **state)
{
    (void) state;
    assert_int_equal(add(1000, 100, 0), MPI_SUCCESS);
    assert_false(find(999, 1));
    assert_false(find(999, 2));
    assert_true(find(1000, 1));
    assert_true(find(1000, 100));
    assert_true(find(1099, 1));
    assert_false(find(1099, 2));
    assert_false(find(1100, 1));
    assert_false(find(1000, UINT64_MAX));
}

static void overlaps_are_refused(void **state)
{
    (void) state;
    assert_int_equal(add(1000, 100, 0), MPI_SUCCESS);
    assert_int_equal(add(1050, 1, 0), MPI_ERR_RMA_ATTACH);
    assert_int_equal(add(1099, 5, 0), MPI_ERR_RMA_ATTACH);
    assert_int_equal(add(900, 101, 0), MPI_ERR_RMA_ATTACH);
    assert_int_equal(add(900, 1000, 0), MPI_ERR_RMA_ATTACH);
    assert_int_equal(add(1000, 50, 0), MPI_ERR_RMA_ATTACH);
    assert_int_equal(add(1000, 150, 0), MPI_ERR_RMA_ATTACH);
    assert_int_equal(add(900, 100, 0), MPI_SUCCESS);
    assert_int_equal(add(1100, 100, 0), MPI_SUCCESS);
}

static void empty_regions_are_nobodys_obstacle(void **state)
{
    (void) state;
    assert_int_equal(add(1000, 0, 0), MPI_SUCCESS);
    assert_int_equal(add(1000, 100, 0), MPI_SUCCESS);
    assert_int_equal(add(1050, 0, 0), MPI_SUCCESS);
    assert_int_equal(add(1099, 0, 0), MPI_SUCCESS);
    assert_int_equal(add(1080, 10, 0), MPI_ERR_RMA_ATTACH);
    assert_true(find(1060, 40));
    assert_true(remove_at(1050));
    assert_false(remove_at(1050));
    assert_true(remove_at(1000)); /* the one with bytes first */
    assert_false(find(1000, 1));
    assert_true(remove_at(1000));
    assert_false(remove_at(1000));
}

static void neighbours_of_one_tag_join(void **state)
{
    (void) state;
    assert_int_equal(add(1000, 100, 7), MPI_SUCCESS);
    assert_int_equal(add(1100, 100, 7), MPI_SUCCESS);
    assert_int_equal(add(1100, 0, 9), MPI_SUCCESS);
    assert_int_equal(add(1200, 100, 8), MPI_SUCCESS);
    assert_int_equal(add(1301, 100, 8), MPI_SUCCESS);
    assert_true(find(1050, 150));
    assert_false(find(1050, 151));
    assert_false(find(1250, 60));
}

static void full_table_is_told(void **state)
{
    (void) state;
    for (int i = 0; i < CAPACITY; ++i) {
        assert_int_equal(add((uint64_t) (i * 37 % CAPACITY) * 10, 10, 0), MPI_SUCCESS);
    }
    assert_int_equal(add(CAPACITY * 10, 10, 0), MPI_ERR_RMA_ATTACH);
    assert_true(find(0, CAPACITY * 10));
    for (int i = 0; i < CAPACITY; ++i) {
        assert_true(remove_at((uint64_t) (i * 53 % CAPACITY) * 10));
        assert_false(find((uint64_t) (i * 53 % CAPACITY) * 10, 1));
    }
}

static atomic_bool stop;

/* What stays is found, and what was never there is not, whatever else changes. */
static void *look(void *argument)
{
    (void) argument;
    long wrong = 0;
    while (!atomic_load(&stop)) {
        wrong += find(5000, 100) ? 0 : 1;
        wrong += find(5100, 1) ? 1 : 0;
    }
    return (void *) wrong;
}

static void looking_while_it_changes(void **state)
{
    pthread_t thread;
    void *wrong;
    (void) state;
    assert_int_equal(add(5000, 100, 3), MPI_SUCCESS);
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, look, NULL), 0);
    for (int i = 0; i < 20000; ++i) {
        uint64_t start = i % 2 ? 6000 : 100;
        assert_int_equal(add(start, 10, 0), MPI_SUCCESS);
        assert_true(remove_at(start));
    }
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(edges_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(overlaps_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_regions_are_nobodys_obstacle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(neighbours_of_one_tag_join, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_table_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(looking_while_it_changes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
