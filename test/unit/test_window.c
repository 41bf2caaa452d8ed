/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Windows on host memory, with threads in place of ranks and no MPI windows around them: what all
 * ranks must do alike, also when one of them is not like the others. */
#include "symm_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpi.h>

#include "symm_log.h"
#include "symm_options.h"
#include "symm_window.h"
#include "thread_ranks.h"

typedef struct rank {
    int number;
    symm_comm_t *comm;
    symm_window_t *window;
    size_t size; /* of this rank's memory, in the next creation */
    bool contiguous;
    int result;
} rank_t;

static rank_t ranks[RANKS];
static symm_exchange_t exchanges[RANKS];
static char handles[RANKS];

static int set_up(void **state)
{
    (void) state;
    symm_log_level = -1;
    symm_options.cache_bytes = (size_t) 16 << 20;
    memset(ranks, 0, sizeof(ranks));
    ranks_begin(exchanges);
    for (int r = 0; r < RANKS; ++r) {
        ranks[r].number = r;
        ranks[r].size = 10000;
        ranks[r].comm = symm_comm_create_shared((MPI_Comm) (void *) &handles[r], r, RANKS, NULL);
        assert_non_null(ranks[r].comm);
        ranks[r].comm->exchange.allgather = ranks_gather;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    for (int r = 0; r < RANKS; ++r) {
        symm_comm_detach(ranks[r].comm);
        symm_comm_release(ranks[r].comm);
    }
    ranks_end(exchanges);
    symm_log_level = SYMM_LOG_WARN;
    return 0;
}

static void *create(void *argument)
{
    rank_t *me = argument;
    symm_window_part_t parts[RANKS];
    for (int r = 0; r < RANKS; ++r) {
        parts[r] = (symm_window_part_t){ranks[r].size, r + 1};
    }
    me->window = NULL;
    symm_window_request_t request = {.handle = MPI_WIN_NULL,
                                     .kind = SYMM_KIND_SYSTEM,
                                     .contiguous = me->contiguous,
                                     .parts = parts,
                                     .what = "the test"};
    me->result = symm_window_create(me->comm, &request, &me->window);
    return NULL;
}

static void *free_window(void *argument)
{
    rank_t *me = argument;
    symm_window_free(me->window);
    me->window = NULL;
    return NULL;
}

static uint64_t taken_from_cache(void)
{
    symm_stats_t stats;
    assert_int_equal(symm_stats_query(&stats), MPI_SUCCESS);
    return stats.windows_from_cache;
}

static void create_all(int expected)
{
    ranks_run(create, ranks, sizeof(ranks[0]));
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(ranks[r].result, expected);
    }
}

static void free_all(void)
{
    ranks_run(free_window, ranks, sizeof(ranks[0]));
}

/* Creates and frees a window. Returns whether it came from the cache on all ranks; some is an
 * error. */
static bool comes_from_cache(void)
{
    uint64_t before = taken_from_cache();
    create_all(MPI_SUCCESS);
    free_all();
    uint64_t taken = taken_from_cache() - before;
    assert_true(0 == taken || RANKS == taken);
    return 0 < taken;
}

/* ---- the tests ---- */

static void windows_are_alike_on_all_ranks(void **state)
{
    uint32_t last = 0;
    (void) state;
    for (int round = 1; round <= 3; ++round) {
        create_all(MPI_SUCCESS);
        uint32_t serial = ranks[0].window->serial;
        assert_true(serial > last);
        last = serial;
        for (int r = 0; r < RANKS; ++r) {
            symm_window_t *window = ranks[r].window;
            assert_int_equal(window->serial, serial);
            assert_int_equal(window->rank, r);
            assert_int_equal(window->parts[1].size, 10000);
            assert_int_equal(window->parts[2].disp_unit, 3);
            assert_true(window->collectives);
            assert_int_equal(ranks[r].comm->live_windows, 1);
            assert_ptr_equal(symm_comm_find_window(ranks[r].comm, window->serial), window);
        }
        free_all();
        assert_int_equal(ranks[0].comm->live_windows, 0);
        assert_null(symm_comm_find_window(ranks[0].comm, serial));
    }
}

static void pointers_are_found(void **state)
{
    (void) state;
    create_all(MPI_SUCCESS);
    for (int r = 0; r < RANKS; ++r) {
        symm_window_t *window = ranks[r].window;
        for (int peer = 0; peer < RANKS; ++peer) {
            char *base = symm_window_base(window, peer);
            assert_ptr_equal(symm_window_find(base, 10000), window);
            assert_ptr_equal(symm_window_find(base + 9999, 1), window);
        }
    }
    void *base = symm_window_base(ranks[2].window, 1);
    free_all();
    assert_null(symm_window_find(base, 1)); /* though it waits in the cache */
}

/* A creation that fails takes its number on all ranks, so that the next one has one number again.
 */
static void failed_creation_keeps_ranks_in_step(void **state)
{
    (void) state;
    ranks[2].size = SIZE_MAX;
    create_all(MPI_ERR_SIZE);
    for (int r = 0; r < RANKS; ++r) {
        assert_null(ranks[r].window);
        assert_int_equal(ranks[r].comm->live_windows, 0);
    }
    ranks[2].size = 10000;
    create_all(MPI_SUCCESS);
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(ranks[r].window->serial, ranks[0].window->serial);
    }
    free_all();
}

static void cache_is_used_where_all_ranks_can(void **state)
{
    (void) state;
    assert_false(comes_from_cache());
    assert_true(comes_from_cache());
    ranks[0].size = 10001;
    assert_false(comes_from_cache());
    ranks[0].size = 10000;
    assert_true(comes_from_cache());
    for (int r = 0; r < RANKS; ++r) {
        ranks[r].contiguous = true;
    }
    assert_false(comes_from_cache());
}

/* One rank has thrown its own away: nobody may use theirs. */
static void cache_is_not_used_where_one_rank_cannot(void **state)
{
    (void) state;
    for (int r = 0; r < RANKS; ++r) {
        (void) comes_from_cache();
        symm_comm_t *comm = ranks[r].comm;
        while (NULL != comm->cache) {
            symm_mapping_destroy(symm_comm_take_cached(comm, comm->cache->id));
        }
        assert_false(comes_from_cache());
    }
}

/* Two of one shape wait, in another order on one rank: they must not be mixed up. */
static void cached_mappings_are_not_mixed_up(void **state)
{
    symm_window_t *first[RANKS];
    (void) state;
    create_all(MPI_SUCCESS);
    for (int r = 0; r < RANKS; ++r) {
        first[r] = ranks[r].window;
    }
    create_all(MPI_SUCCESS);
    free_all();
    for (int r = 0; r < RANKS; ++r) {
        ranks[r].window = first[r];
    }
    free_all();
    symm_comm_t *odd = ranks[1].comm; /* its oldest becomes its newest */
    symm_comm_cache_mapping(odd, symm_comm_take_cached(odd, odd->cache->id));
    create_all(MPI_SUCCESS);
    for (int r = 0; r < RANKS; ++r) {
        *(int *) symm_window_base(ranks[r].window, r) = 100 + r;
    }
    for (int r = 0; r < RANKS; ++r) {
        for (int peer = 0; peer < RANKS; ++peer) {
            assert_int_equal(*(int *) symm_window_base(ranks[r].window, peer), 100 + peer);
        }
    }
    free_all();
}

/* Without the coll component on one rank no rank may agree with the others in collectives. */
static void collectives_need_all_ranks(void **state)
{
    (void) state;
    symm_comm_detach(ranks[3].comm); /* as one that the component does not know */
    create_all(MPI_SUCCESS);
    for (int r = 0; r < RANKS; ++r) {
        assert_false(ranks[r].window->collectives);
        assert_int_equal(ranks[r].comm->live_windows, 0);
        assert_null(ranks[r].comm->control);
    }
    free_all();
}

static void window_outlives_the_communicator(void **state)
{
    (void) state;
    create_all(MPI_SUCCESS);
    for (int r = 0; r < RANKS; ++r) {
        symm_comm_detach(ranks[r].comm);
        symm_comm_release(ranks[r].comm);
    }
    int *word = symm_window_base(ranks[0].window, 1);
    *word = 5;
    assert_int_equal(*(int *) symm_window_base(ranks[1].window, 1), 5);
    free_all();
    for (int r = 0; r < RANKS; ++r) { /* for tear_down */
        ranks[r].comm = symm_comm_create_shared((MPI_Comm) (void *) &handles[r], r, RANKS, NULL);
    }
}

static void nothing_is_left(void **state)
{
    (void) state;
    int before = open_descriptors();
    for (int i = 0; i < 20; ++i) {
        ranks[i % RANKS].size = (size_t) (1000 * i);
        create_all(MPI_SUCCESS);
        free_all();
    }
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(windows_are_alike_on_all_ranks),
        TEST(pointers_are_found),
        TEST(failed_creation_keeps_ranks_in_step),
        TEST(cache_is_used_where_all_ranks_can),
        TEST(cache_is_not_used_where_one_rank_cannot),
        TEST(cached_mappings_are_not_mixed_up),
        TEST(collectives_need_all_ranks),
        TEST(window_outlives_the_communicator),
        TEST(nothing_is_left),
    };
    return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
