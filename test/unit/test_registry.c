/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Which range a pointer lies in: edges, overlaps, many ranges, and threads that look meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "symm_registry.h"

/* Addresses are numbers here; nothing is at them. */
static void *at(uintptr_t address)
{
    return (void *) address;
}

static int owners[4];

static void empty_finds_nothing(void **state)
{
    symm_registry_t registry = SYMM_REGISTRY_INIT;
    (void) state;
    assert_null(symm_registry_find(&registry, at(1000), 0));
    assert_null(symm_registry_find(&registry, NULL, 0));
    symm_registry_remove(&registry, at(1000));
    symm_registry_clear(&registry);
}

static void edges_of_a_range(void **state)
{
    symm_registry_t registry = SYMM_REGISTRY_INIT;
    (void) state;
    assert_int_equal(symm_registry_insert(&registry, at(1000), 100, owners), MPI_SUCCESS);
    assert_ptr_equal(symm_registry_find(&registry, at(1000), 0), owners);
    assert_ptr_equal(symm_registry_find(&registry, at(1000), 100), owners);
    assert_ptr_equal(symm_registry_find(&registry, at(1099), 0), owners);
    assert_ptr_equal(symm_registry_find(&registry, at(1099), 1), owners);
    assert_ptr_equal(symm_registry_find(&registry, at(1050), 50), owners);
    assert_null(symm_registry_find(&registry, at(999), 0));
    assert_null(symm_registry_find(&registry, at(999), 1));
    assert_null(symm_registry_find(&registry, at(999), 50));
    assert_null(symm_registry_find(&registry, at(1000), 101));
    assert_null(symm_registry_find(&registry, at(1099), 2));
    assert_null(symm_registry_find(&registry, at(1100), 0));
    assert_null(symm_registry_find(&registry, at(1100), 1));
    assert_null(symm_registry_find(&registry, at(1000), SIZE_MAX));
    assert_null(symm_registry_find(&registry, at(1050), SIZE_MAX));
    symm_registry_clear(&registry);
}

static void range_at_the_end_of_memory(void **state)
{
    symm_registry_t registry = SYMM_REGISTRY_INIT;
    uintptr_t start = UINTPTR_MAX - 99;
    (void) state;
    assert_int_equal(symm_registry_insert(&registry, at(start), 100, owners), MPI_SUCCESS);
    assert_ptr_equal(symm_registry_find(&registry, at(UINTPTR_MAX), 1), owners);
    assert_null(symm_registry_find(&registry, at(UINTPTR_MAX), 2));
    assert_null(symm_registry_find(&registry, at(0), 0));
    assert_int_equal(symm_registry_insert(&registry, at(start + 50), 10, owners), MPI_ERR_BASE);
    symm_registry_clear(&registry);
}

static void neighbours_are_told_apart(void **state)
{
    symm_registry_t registry = SYMM_REGISTRY_INIT;
    (void) state;
    assert_int_equal(symm_registry_insert(&registry, at(2000), 100, &owners[1]), MPI_SUCCESS);
    assert_int_equal(symm_registry_insert(&registry, at(1900), 100, &owners[0]), MPI_SUCCESS);
    assert_int_equal(symm_registry_insert(&registry, at(2100), 100, &owners[2]), MPI_SUCCESS);
    assert_ptr_equal(symm_registry_find(&registry, at(1999), 1), &owners[0]);
    assert_ptr_equal(symm_registry_find(&registry, at(2000), 1), &owners[1]);
    assert_ptr_equal(symm_registry_find(&registry, at(2100), 0), &owners[2]);
    assert_null(symm_registry_find(&registry, at(1999), 2)); /* in two of them is in none */
    symm_registry_clear(&registry);
}

static void overlaps_are_refused(void **state)
{
    symm_registry_t registry = SYMM_REGISTRY_INIT;
    static const struct {
        uintptr_t start;
        size_t len;
    } overlapping[] = {{1000, 100}, {1000, 1},  {1099, 1},  {1050, 10},      {900, 101},
                       {900, 1000}, {1099, 99}, {1050, 50}, {999, SIZE_MAX}, {1, 1000}};
    (void) state;
    assert_int_equal(symm_registry_insert(&registry, at(1000), 100, &owners[0]), MPI_SUCCESS);
    for (size_t i = 0; i < sizeof(overlapping) / sizeof(overlapping[0]); ++i) {
        assert_int_equal(symm_registry_insert(&registry, at(overlapping[i].start),
                                              overlapping[i].len, &owners[1]),
                         MPI_ERR_BASE);
    }
    assert_int_equal(registry.count, 1);
    assert_int_equal(symm_registry_insert(&registry, at(900), 100, &owners[1]), MPI_SUCCESS);
    assert_int_equal(symm_registry_insert(&registry, at(1100), 1, &owners[2]), MPI_SUCCESS);
    assert_ptr_equal(symm_registry_find(&registry, at(1050), 1), &owners[0]);
    symm_registry_clear(&registry);
}

static void removal(void **state)
{
    symm_registry_t registry = SYMM_REGISTRY_INIT;
    (void) state;
    for (uintptr_t i = 0; i < 3; ++i) {
        assert_int_equal(symm_registry_insert(&registry, at(1000 * (i + 1)), 100, &owners[i]),
                         MPI_SUCCESS);
    }
    symm_registry_remove(&registry, at(2050)); /* inside, but no start */
    symm_registry_remove(&registry, at(500));
    assert_int_equal(registry.count, 3);
    symm_registry_remove(&registry, at(2000));
    assert_null(symm_registry_find(&registry, at(2000), 1));
    assert_ptr_equal(symm_registry_find(&registry, at(1000), 1), &owners[0]);
    assert_ptr_equal(symm_registry_find(&registry, at(3000), 1), &owners[2]);
    assert_int_equal(symm_registry_insert(&registry, at(1990), 50, &owners[3]), MPI_SUCCESS);
    assert_ptr_equal(symm_registry_find(&registry, at(2000), 1), &owners[3]);
    symm_registry_clear(&registry);
}

static void clear_leaves_it_usable(void **state)
{
    symm_registry_t registry = SYMM_REGISTRY_INIT;
    (void) state;
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(symm_registry_insert(&registry, at(1000), 100, owners), MPI_SUCCESS);
        symm_registry_clear(&registry);
        assert_null(symm_registry_find(&registry, at(1000), 1));
    }
}

#define MANY 1000

static char many_owners[MANY];

/* Range i: 60 bytes from 100 * i on. Entered in an order that jumps about. */
static uintptr_t start_of(int i)
{
    return 100000 + 100 * (uintptr_t) i;
}

static int shuffled(int i)
{
    return i * 387 % MANY; /* 387 has no divisor in common with 1,000 */
}

static void many_ranges(void **state)
{
    symm_registry_t registry = SYMM_REGISTRY_INIT;
    (void) state;
    for (int i = 0; i < MANY; ++i) {
        int k = shuffled(i);
        assert_int_equal(symm_registry_insert(&registry, at(start_of(k)), 60, &many_owners[k]),
                         MPI_SUCCESS);
    }
    for (int i = 0; i < MANY; ++i) {
        assert_ptr_equal(symm_registry_find(&registry, at(start_of(i)), 60), &many_owners[i]);
        assert_ptr_equal(symm_registry_find(&registry, at(start_of(i) + 59), 1), &many_owners[i]);
        assert_null(symm_registry_find(&registry, at(start_of(i) + 60), 1));
    }
    for (int i = 0; i < MANY; i += 2) {
        symm_registry_remove(&registry, at(start_of(shuffled(i))));
    }
    for (int i = 0; i < MANY; ++i) {
        int k = shuffled(i);
        void *expected = 0 == i % 2 ? NULL : &many_owners[k];
        assert_ptr_equal(symm_registry_find(&registry, at(start_of(k) + 30), 30), expected);
    }
    assert_int_equal(registry.count, MANY / 2);
    symm_registry_clear(&registry);
}

/* ---- threads ---- */

static symm_registry_t shared = SYMM_REGISTRY_INIT;
static atomic_bool stop;
static atomic_long mistakes;

/* The even ranges stay; whatever comes and goes between them must not hide them. */
static void *look(void *argument)
{
    (void) argument;
    for (int i = 0; !atomic_load(&stop); i = (i + 2) % MANY) {
        if (&many_owners[i] != symm_registry_find(&shared, at(start_of(i) + 5), 10)) {
            atomic_fetch_add(&mistakes, 1);
        }
        void *odd = symm_registry_find(&shared, at(start_of(i + 1)), 60);
        if (NULL != odd && &many_owners[i + 1] != odd) {
            atomic_fetch_add(&mistakes, 1);
        }
    }
    return NULL;
}

static void come_and_go(void)
{
    for (int round = 0; round < 4; ++round) {
        for (int i = 1; i < MANY; i += 2) {
            if (MPI_SUCCESS !=
                symm_registry_insert(&shared, at(start_of(i)), 60, &many_owners[i])) {
                atomic_fetch_add(&mistakes, 1);
            }
        }
        for (int i = 1; i < MANY; i += 2) {
            symm_registry_remove(&shared, at(start_of(i)));
        }
    }
}

static void threads_look_while_ranges_come_and_go(void **state)
{
    pthread_t threads[3];
    (void) state;
    for (int i = 0; i < MANY; i += 2) {
        assert_int_equal(symm_registry_insert(&shared, at(start_of(i)), 60, &many_owners[i]),
                         MPI_SUCCESS);
    }
    for (int t = 0; t < 3; ++t) {
        assert_int_equal(pthread_create(&threads[t], NULL, look, NULL), 0);
    }
    come_and_go();
    atomic_store(&stop, true);
    for (int t = 0; t < 3; ++t) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    }
    assert_int_equal(atomic_load(&mistakes), 0);
    assert_int_equal(shared.count, MANY / 2);
    symm_registry_clear(&shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_finds_nothing),
        cmocka_unit_test(edges_of_a_range),
        cmocka_unit_test(range_at_the_end_of_memory),
        cmocka_unit_test(neighbours_are_told_apart),
        cmocka_unit_test(overlaps_are_refused),
        cmocka_unit_test(removal),
        cmocka_unit_test(clear_leaves_it_usable),
        cmocka_unit_test(many_ranges),
        cmocka_unit_test(threads_look_while_ranges_come_and_go),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
