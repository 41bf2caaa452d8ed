/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What is kept for a communicator: the table that both components look in, the windows by number,
 * and the cache of freed mappings, which hold nothing here but their sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpi.h>

#include "symm_comm.h"
#include "symm_options.h"
#include "symm_window.h"

/* Handles are addresses of something; nobody calls MPI with them. */
static char handles[3];

static MPI_Comm handle(int i)
{
    return (MPI_Comm) (void *) &handles[i];
}

static symm_comm_t *new_comm(int i)
{
    symm_comm_t *comm = symm_comm_create_shared(handle(i), 1, 4, NULL);
    assert_non_null(comm);
    return comm;
}

static void end_comm(symm_comm_t *comm)
{
    symm_comm_detach(comm);
    symm_comm_release(comm);
}

/* ---- the table ---- */

static void new_state_is_empty(void **state)
{
    (void) state;
    symm_comm_t *comm = new_comm(0);
    assert_int_equal(comm->exchange.rank, 1);
    assert_int_equal(comm->exchange.size, 4);
    assert_true(comm->shared);
    assert_int_equal(comm->live_windows, 0);
    assert_null(comm->control);
    assert_null(symm_comm_find_window(comm, 1));
    end_comm(comm);
}

static void shared_state_is_found_again(void **state)
{
    (void) state;
    symm_comm_t *first = new_comm(0);
    symm_comm_t *second = new_comm(1);
    symm_comm_t *found = symm_comm_acquire(handle(0), 1, 4);
    assert_ptr_equal(found, first);
    assert_ptr_equal(symm_comm_acquire(handle(1), 1, 4), second);
    assert_int_equal(first->references, 2);
    symm_comm_release(found);
    symm_comm_release(second);
    end_comm(first);
    end_comm(second);
}

static void unknown_communicator_gets_a_state_of_its_own(void **state)
{
    (void) state;
    symm_comm_t *shared = new_comm(0);
    symm_comm_t *own = symm_comm_acquire(handle(2), 0, 2);
    symm_comm_t *another = symm_comm_acquire(handle(2), 0, 2);
    assert_ptr_not_equal(own, shared);
    assert_ptr_not_equal(own, another);
    assert_false(own->shared);
    symm_comm_release(own);
    symm_comm_release(another);
    end_comm(shared);
}

/* A window may hold on to it when its communicator is gone, and its handle another's. */
static void detached_state_is_not_found(void **state)
{
    (void) state;
    symm_comm_t *comm = new_comm(0);
    symm_comm_t *held = symm_comm_acquire(handle(0), 1, 4);
    end_comm(comm);
    assert_false(held->shared);
    symm_comm_t *reused = new_comm(0);
    assert_ptr_not_equal(reused, held);
    symm_comm_t *found = symm_comm_acquire(handle(0), 1, 4);
    assert_ptr_equal(found, reused);
    symm_comm_release(found);
    symm_comm_release(held);
    end_comm(reused);
    symm_comm_release(NULL);
}

/* ---- windows by number ---- */

static void windows_are_found_by_number(void **state)
{
    enum { COUNT = 100 };
    static symm_window_t windows[COUNT];
    (void) state;
    symm_comm_t *comm = new_comm(0);
    for (uint32_t i = 0; i < COUNT; ++i) {
        uint32_t at = (i * 37) % COUNT; /* in any order */
        windows[at].comm = comm;
        windows[at].serial = 2 * at + 1; /* numbers are left out where a creation failed */
        assert_int_equal(symm_comm_add_window(&windows[at]), MPI_SUCCESS);
    }
    for (uint32_t i = 0; i < COUNT; i += 3) {
        symm_comm_remove_window(&windows[i]);
        symm_comm_remove_window(&windows[i]); /* it is not there any more */
    }
    for (uint32_t i = 0; i < COUNT; ++i) {
        symm_window_t *expected = 0 == i % 3 ? NULL : &windows[i];
        assert_ptr_equal(symm_comm_find_window(comm, 2 * i + 1), expected);
        assert_null(symm_comm_find_window(comm, 2 * i));
    }
    assert_null(symm_comm_find_window(comm, 0));
    assert_null(symm_comm_find_window(comm, UINT32_MAX));
    end_comm(comm);
}

/* ---- windows of other communicators ---- */

static symm_comm_t *comm_of(int i, int size, const uint64_t *members)
{
    symm_comm_t *comm = symm_comm_create_shared(handle(i), 0, size, members);
    assert_non_null(comm);
    return comm;
}

static void subsets_see_a_window(void **state)
{
    static const uint64_t all[] = {7, 5, 3, 9}, some[] = {9, 5}, others[] = {5, 4};
    symm_window_control_t control = {.link = SYMM_LINK_NVLINK};
    symm_mapping_t mapping = {.ops = symm_device_ops(SYMM_KIND_SYSTEM), .control = &control};
    (void) state;
    symm_comm_t *owner = comm_of(0, 4, all);
    symm_comm_t *subset = comm_of(1, 2, some);
    symm_window_t window = {.comm = owner, .serial = 6, .collectives = true, .mapping = &mapping};
    assert_int_equal(symm_comm_add_window(&window), MPI_SUCCESS);
    assert_int_equal(subset->live_windows, 0); /* not before all ranks have it */
    symm_comm_count_window(&window, true);
    symm_comm_t *later = comm_of(2, 4, all);
    symm_comm_t *outside = comm_of(2, 2, others);
    symm_comm_t *unknown = symm_comm_create_shared(handle(2), 0, 2, NULL);
    symm_comm_t *sees[] = {owner, subset, later}, *blind[] = {outside, unknown};
    for (int i = 0; i < 3; ++i) {
        assert_ptr_equal(symm_comm_find_window(sees[i], 6), &window);
        assert_int_equal(sees[i]->live_windows, 1);
        assert_int_equal(sees[i]->watch, 1);
        assert_int_equal(sees[i]->link, SYMM_LINK_NVLINK);
    }
    for (int i = 0; i < 2; ++i) {
        assert_null(symm_comm_find_window(blind[i], 6));
        assert_int_equal(blind[i]->live_windows, 0);
        assert_int_equal(blind[i]->link, SYMM_LINK_HOST);
        assert_int_equal(blind[i]->watch, 0); /* host memory is nobody's trouble */
        end_comm(blind[i]);
    }
    symm_comm_count_window(&window, false);
    symm_comm_remove_window(&window);
    for (int i = 0; i < 3; ++i) {
        assert_null(symm_comm_find_window(sees[i], 6));
        assert_int_equal(sees[i]->live_windows, 0);
        assert_int_equal(sees[i]->watch, 0);
        assert_int_equal(sees[i]->windows_gone, 1);
        end_comm(sees[i]);
    }
}

/* The worst stays known. */
static void the_worst_link_counts(void **state)
{
    static const symm_link_t links[] = {SYMM_LINK_HOST, SYMM_LINK_NVLINK, SYMM_LINK_SAME_GPU,
                                        SYMM_LINK_PCIE, SYMM_LINK_HOST};
    symm_link_t worst = SYMM_LINK_HOST;
    (void) state;
    symm_comm_t *comm = new_comm(0);
    for (uint32_t i = 0; i < sizeof(links) / sizeof(links[0]); ++i) {
        symm_window_control_t control = {.link = (uint32_t) links[i]};
        symm_mapping_t mapping = {.ops = symm_device_ops(SYMM_KIND_SYSTEM), .control = &control};
        symm_window_t window = {
            .comm = comm, .serial = i + 1, .collectives = true, .mapping = &mapping};
        worst = worst < links[i] ? links[i] : worst;
        assert_int_equal(symm_comm_add_window(&window), MPI_SUCCESS);
        symm_comm_count_window(&window, true);
        assert_int_equal(comm->link, worst);
        symm_comm_count_window(&window, false);
        symm_comm_remove_window(&window);
        assert_int_equal(comm->link, worst);
    }
    end_comm(comm);
}

static void windows_are_not_shared_among_threads(void **state)
{
    static const uint64_t all[] = {1, 2};
    symm_window_control_t control = {.link = SYMM_LINK_NVLINK};
    symm_mapping_t mapping = {.ops = symm_device_ops(SYMM_KIND_SYSTEM), .control = &control};
    (void) state;
    symm_comm_t *owner = comm_of(0, 2, all), *twin = comm_of(1, 2, all);
    symm_window_t window = {.comm = owner, .serial = 1, .collectives = true, .mapping = &mapping};
    symm_options.share_windows = false;
    assert_int_equal(symm_comm_add_window(&window), MPI_SUCCESS);
    symm_comm_count_window(&window, true);
    assert_int_equal(owner->live_windows, 1);
    assert_int_equal(twin->live_windows, 0);
    symm_comm_count_window(&window, false);
    symm_comm_remove_window(&window);
    symm_options.share_windows = true;
    end_comm(owner);
    end_comm(twin);
}

/* ---- the cache ---- */

static int closed; /* mappings destroyed */

static void count_close(symm_device_t *device)
{
    (void) device;
    ++closed;
}

static symm_device_ops_t ops;

/* A mapping that was never built, whose segment is said to have own_bytes. */
static symm_mapping_t *new_mapping(uint32_t id, size_t size, size_t own_bytes)
{
    size_t sizes[4] = {size, size, size, size};
    symm_device_t *device;
    symm_mapping_t *mapping;
    symm_error_t error = {0};
    ops = symm_host_ops;
    ops.close = count_close;
    assert_int_equal(ops.open(&device, &error), MPI_SUCCESS);
    assert_int_equal(symm_mapping_prepare(&ops, device, 1, 4, sizes, false, &mapping, &error),
                     MPI_SUCCESS);
    mapping->id = id;
    mapping->own_bytes = own_bytes;
    return mapping;
}

static int set_up(void **state)
{
    (void) state;
    closed = 0;
    symm_options.cache_bytes = (size_t) 1 << 20;
    return 0;
}

/* The segment of a window of `size` bytes on the host. */
static size_t segment(size_t size)
{
    return (SYMM_PAD_BYTES + size + 4095) / 4096 * 4096;
}

static symm_mapping_t *cached(symm_comm_t *comm, uint32_t id, size_t size)
{
    symm_mapping_t *mapping = new_mapping(id, size, segment(size));
    symm_comm_cache_mapping(comm, mapping);
    return mapping;
}

/* The id of what is in the cache for a window of that size, 0 when there is nothing. */
static uint32_t match(symm_comm_t *comm, size_t size)
{
    symm_mapping_t *wanted = new_mapping(0, size, 0);
    uint32_t id = symm_comm_cached_match(comm, wanted);
    symm_mapping_destroy(wanted);
    --closed; /* not one of those that the test counts */
    return id;
}

static void freed_mapping_is_kept_and_taken(void **state)
{
    (void) state;
    symm_comm_t *comm = new_comm(0);
    assert_int_equal(match(comm, 5000), 0);
    symm_mapping_t *mapping = cached(comm, 7, 5000);
    assert_int_equal(match(comm, 5000), 7);
    assert_int_equal(match(comm, 5001), 0);
    assert_null(symm_comm_take_cached(comm, 8));
    assert_ptr_equal(symm_comm_take_cached(comm, 7), mapping);
    assert_null(symm_comm_take_cached(comm, 7));
    assert_int_equal(match(comm, 5000), 0);
    assert_int_equal(comm->cached_bytes, 0);
    assert_int_equal(closed, 0);
    symm_mapping_destroy(mapping);
    end_comm(comm);
}

/* So that ranks that freed them in the same order take the same one. */
static void oldest_match_comes_first(void **state)
{
    (void) state;
    symm_comm_t *comm = new_comm(0);
    for (uint32_t id = 1; id <= 3; ++id) {
        (void) cached(comm, id, 5000);
    }
    for (uint32_t id = 1; id <= 3; ++id) {
        assert_int_equal(match(comm, 5000), id);
        symm_mapping_destroy(symm_comm_take_cached(comm, id));
    }
    end_comm(comm);
    assert_int_equal(closed, 3);
}

static void oldest_goes_when_room_is_short(void **state)
{
    (void) state;
    symm_comm_t *comm = new_comm(0);
    symm_options.cache_bytes = 3 * segment(5000);
    for (uint32_t id = 1; id <= 3; ++id) {
        (void) cached(comm, id, 5000 + id);
    }
    assert_int_equal(closed, 0); /* exactly full */
    (void) cached(comm, 4, 5004);
    assert_int_equal(closed, 1);
    assert_int_equal(match(comm, 5001), 0);
    assert_int_equal(match(comm, 5002), 2);
    assert_int_equal(match(comm, 5004), 4);
    (void) cached(comm, 5, 2 * segment(5000) - SYMM_PAD_BYTES); /* needs the room of two */
    assert_int_equal(closed, 3);
    assert_int_equal(match(comm, 5004), 4);
    assert_int_equal(match(comm, 5003), 0);
    end_comm(comm);
    assert_int_equal(closed, 5);
}

/* One from the middle is taken, and the room is counted right afterwards. */
static void room_is_counted_right(void **state)
{
    (void) state;
    symm_comm_t *comm = new_comm(0);
    symm_options.cache_bytes = 3 * segment(5000);
    for (uint32_t id = 1; id <= 3; ++id) {
        (void) cached(comm, id, 5000 + id);
    }
    symm_mapping_destroy(symm_comm_take_cached(comm, 2));
    closed = 0;
    (void) cached(comm, 4, 5004);
    assert_int_equal(closed, 0);
    assert_int_equal(match(comm, 5001), 1);
    assert_int_equal(match(comm, 5003), 3);
    assert_int_equal(match(comm, 5004), 4);
    end_comm(comm);
}

static void what_is_too_large_drives_nobody_out(void **state)
{
    (void) state;
    symm_comm_t *comm = new_comm(0);
    (void) cached(comm, 1, 5000);
    (void) cached(comm, 2, (size_t) 1 << 20);
    assert_int_equal(closed, 1);
    assert_int_equal(match(comm, (size_t) 1 << 20), 0);
    assert_int_equal(match(comm, 5000), 1);
    end_comm(comm);
}

/* Also what takes no memory here: the peers' memory hangs on it. */
static void no_room_keeps_nothing(void **state)
{
    (void) state;
    symm_comm_t *comm = new_comm(0);
    symm_options.cache_bytes = 0;
    (void) cached(comm, 1, 5000);
    assert_int_equal(closed, 1);
    symm_comm_cache_mapping(comm, new_mapping(2, 5000, 0));
    assert_int_equal(closed, 2);
    assert_int_equal(match(comm, 5000), 0);
    end_comm(comm);
}

static void mappings_without_own_memory_are_bounded_too(void **state)
{
    (void) state;
    symm_comm_t *comm = new_comm(0);
    symm_options.cache_bytes = 10 * segment(5000);
    for (uint32_t id = 1; id <= 100; ++id) {
        symm_comm_cache_mapping(comm, new_mapping(id, 5000 + id, 0));
    }
    assert_true(closed >= 80);
    end_comm(comm);
    assert_int_equal(closed, 100);
}

static void gone_communicator_keeps_nothing(void **state)
{
    (void) state;
    symm_comm_t *comm = new_comm(0);
    symm_comm_t *held = symm_comm_acquire(handle(0), 1, 4);
    (void) cached(comm, 1, 5000);
    (void) cached(comm, 2, 6000);
    end_comm(comm);
    assert_int_equal(closed, 2);
    (void) cached(held, 3, 5000);
    assert_int_equal(closed, 3);
    symm_comm_release(held);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_state_is_empty),
        cmocka_unit_test(shared_state_is_found_again),
        cmocka_unit_test(unknown_communicator_gets_a_state_of_its_own),
        cmocka_unit_test(detached_state_is_not_found),
        cmocka_unit_test(windows_are_found_by_number),
        cmocka_unit_test(subsets_see_a_window),
        cmocka_unit_test(the_worst_link_counts),
        cmocka_unit_test(windows_are_not_shared_among_threads),
        cmocka_unit_test_setup(freed_mapping_is_kept_and_taken, set_up),
        cmocka_unit_test_setup(oldest_match_comes_first, set_up),
        cmocka_unit_test_setup(oldest_goes_when_room_is_short, set_up),
        cmocka_unit_test_setup(room_is_counted_right, set_up),
        cmocka_unit_test_setup(what_is_too_large_drives_nobody_out, set_up),
        cmocka_unit_test_setup(no_room_keeps_nothing, set_up),
        cmocka_unit_test_setup(mappings_without_own_memory_are_bounded_too, set_up),
        cmocka_unit_test_setup(gone_communicator_keeps_nothing, set_up),
    };
    return cmocka_run_group_tests_name("comm", tests, NULL, NULL);
}
