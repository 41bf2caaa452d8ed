/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Building mappings, with threads in place of ranks and the host backend under a layer that counts
 * its calls and makes one of them fail: everything is mapped where the layout says, or nothing is
 * left on any rank, whichever call fails on whichever rank. */
#include "symm_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symm_log.h"
#include "symm_mapping.h"
#include "thread_ranks.h"

/* ---- a backend that fails on demand ---- */

static symm_device_ops_t faulty_ops;

/* Of the thread, that is, of the rank. */
static _Thread_local int calls;
static _Thread_local int fail_at; /* the number of the call that fails, from 1; 0 for none */

static atomic_int opened;      /* opens less closes */
static atomic_bool has_fabric; /* fabric handles, which are descriptors of this process here */
static int rank_without_export = -1;
static int rank_without_import = -1;
static _Thread_local int this_rank;

static bool fails(symm_error_t *error)
{
    if (++calls != fail_at) {
        return false;
    }
    if (NULL != error) {
        (void) symm_error_set(error, MPI_ERR_NO_MEM, "call %d was told to fail", calls);
    }
    return true;
}

static void faulty_close(symm_device_t *device)
{
    atomic_fetch_sub(&opened, 1);
    symm_host_ops.close(device);
}

/* Memory of a GPU comes with what its last owner left in it. */
static void make_dirty(const symm_memory_t *memory)
{
    void *at = mmap(NULL, memory->len, PROT_WRITE, MAP_SHARED, (int) memory->value, 0);
    memset(at, 0xdb, memory->len);
    (void) munmap(at, memory->len);
}

static int faulty_memory_create(symm_device_t *device, size_t len, symm_memory_t *memory_p,
                                symm_error_t *error)
{
    if (fails(error)) {
        return error->code;
    }
    int rc = symm_host_ops.memory_create(device, len, memory_p, error);
    if (MPI_SUCCESS == rc) {
        make_dirty(memory_p);
    }
    return rc;
}

static int faulty_memory_export(symm_device_t *device, const symm_memory_t *memory, int *fd_p,
                                symm_error_t *error)
{
    return fails(error) ? error->code : symm_host_ops.memory_export(device, memory, fd_p, error);
}

static int faulty_memory_import(symm_device_t *device, int fd, size_t len, symm_memory_t *memory_p,
                                symm_error_t *error)
{
    return fails(error) ? error->code
                        : symm_host_ops.memory_import(device, fd, len, memory_p, error);
}

static int faulty_export_fabric(symm_device_t *device, const symm_memory_t *memory,
                                symm_fabric_handle_t *handle_p)
{
    (void) device;
    if (!atomic_load(&has_fabric) || this_rank == rank_without_export) {
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    memcpy(handle_p->bytes, &memory->value, sizeof(memory->value));
    return MPI_SUCCESS;
}

static int faulty_import_fabric(symm_device_t *device, const symm_fabric_handle_t *handle,
                                size_t len, symm_memory_t *memory_p, symm_error_t *error)
{
    uint64_t fd;
    if (this_rank == rank_without_import) {
        return symm_error_set(error, MPI_ERR_OTHER, "no fabric handle can be imported here");
    }
    memcpy(&fd, handle->bytes, sizeof(fd));
    return fails(error) ? error->code
                        : symm_host_ops.memory_import(device, (int) fd, len, memory_p, error);
}

static int faulty_reserve(symm_device_t *device, size_t len, void **base_p, symm_error_t *error)
{
    return fails(error) ? error->code : symm_host_ops.range_reserve(device, len, base_p, error);
}

static int faulty_map(symm_device_t *device, void *at, const symm_memory_t *memory,
                      symm_error_t *error)
{
    return fails(error) ? error->code : symm_host_ops.range_map(device, at, memory, error);
}

static int faulty_queue_create(symm_device_t *device, symm_queue_t **queue_p, symm_error_t *error)
{
    return fails(error) ? error->code : symm_host_ops.queue_create(device, queue_p, error);
}

static int faulty_zero(symm_queue_t *queue, symm_lane_t lane, void *dst, size_t len)
{
    return fails(NULL) ? MPI_ERR_OTHER : symm_host_ops.zero(queue, lane, dst, len);
}

static int faulty_wait(symm_queue_t *queue)
{
    return fails(NULL) ? MPI_ERR_OTHER : symm_host_ops.queue_wait(queue);
}

static void make_faulty_ops(void)
{
    faulty_ops = symm_host_ops;
    faulty_ops.close = faulty_close;
    faulty_ops.memory_create = faulty_memory_create;
    faulty_ops.memory_export = faulty_memory_export;
    faulty_ops.memory_import = faulty_memory_import;
    faulty_ops.memory_export_fabric = faulty_export_fabric;
    faulty_ops.memory_import_fabric = faulty_import_fabric;
    faulty_ops.range_reserve = faulty_reserve;
    faulty_ops.range_map = faulty_map;
    faulty_ops.queue_create = faulty_queue_create;
    faulty_ops.zero = faulty_zero;
    faulty_ops.queue_wait = faulty_wait;
}

/* ---- ranks ---- */

typedef struct rank {
    int number;
    int fail_at;
    symm_mapping_t *mapping;
    int result;
    int calls;
} rank_t;

static rank_t ranks[RANKS];
static symm_exchange_t exchanges[RANKS];
static const size_t *sizes;
static bool contiguous;

static int prepare(int rank, symm_mapping_t **mapping_p)
{
    symm_device_t *device;
    symm_error_t error = {0};
    int rc = symm_host_ops.open(&device, &error);
    atomic_fetch_add(&opened, 1);
    return MPI_SUCCESS == rc ? symm_mapping_prepare(&faulty_ops, device, rank, RANKS, sizes,
                                                    contiguous, mapping_p, &error)
                             : rc;
}

static void *build(void *argument)
{
    rank_t *me = argument;
    this_rank = me->number;
    calls = 0;
    fail_at = me->fail_at;
    me->result = prepare(me->number, &me->mapping);
    if (MPI_SUCCESS == me->result) {
        me->result = symm_mapping_build(me->mapping, &exchanges[me->number], "the test");
    }
    me->calls = calls;
    return NULL;
}

static void build_all(void)
{
    ranks_run(build, ranks, sizeof(ranks[0]));
}

static void destroy_all(void)
{
    for (int r = 0; r < RANKS; ++r) {
        symm_mapping_destroy(ranks[r].mapping);
        ranks[r].mapping = NULL;
    }
}

static int set_up(void **state)
{
    (void) state;
    memset(ranks, 0, sizeof(ranks));
    for (int r = 0; r < RANKS; ++r) {
        ranks[r].number = r;
    }
    atomic_store(&has_fabric, false);
    rank_without_export = rank_without_import = -1;
    symm_log_level = -1; /* failures are told of, and there will be many */
    make_faulty_ops();
    ranks_begin(exchanges);
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    ranks_end(exchanges);
    symm_log_level = SYMM_LOG_WARN;
    return 0;
}

/* ---- what the process holds ---- */

typedef struct holdings {
    int fds, maps, opened;
    uint64_t bytes;
} holdings_t;

static holdings_t holdings(void)
{
    char line[512];
    symm_stats_t stats;
    assert_int_equal(symm_stats_query(&stats), MPI_SUCCESS);
    holdings_t held = {
        .fds = open_descriptors(), .opened = atomic_load(&opened), .bytes = stats.bytes_mapped};
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (NULL != fgets(line, sizeof(line), maps)) {
        held.maps += NULL != strstr(line, "mpi_symm") ? 1 : 0;
    }
    (void) fclose(maps);
    return held;
}

static void assert_holds(holdings_t before)
{
    holdings_t now = holdings();
    assert_int_equal(now.fds, before.fds);
    assert_int_equal(now.maps, before.maps);
    assert_int_equal(now.opened, before.opened);
    assert_int_equal(now.bytes, before.bytes);
}

/* ---- shapes to build ---- */

static const size_t shapes[][RANKS] = {
    {10000, 10000, 10000, 10000},
    {1, 200000, 0, 5000},
    {0, 0, 0, 0},
    {0, 0, 4096, 1},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* The mark of byte i of rank's memory. */
static unsigned char mark(int rank, size_t i)
{
    return (unsigned char) (rank * 50 + (int) (i % 47) + 1);
}

static void mark_memory(int rank)
{
    unsigned char *data = symm_mapping_data(ranks[rank].mapping, rank);
    for (size_t i = 0; i < sizes[rank]; ++i) {
        data[i] = mark(rank, i);
    }
}

static void assert_marks_seen_by(int viewer)
{
    for (int r = 0; r < RANKS; ++r) {
        const unsigned char *data = symm_mapping_data(ranks[viewer].mapping, r);
        for (size_t i = 0; i < sizes[r]; ++i) {
            assert_int_equal(data[i], mark(r, i));
        }
    }
}

/* Pads are zero; a word that one rank leaves in another's pad is there for all. */
static void assert_pads_work(void)
{
    for (int r = 0; r < RANKS; ++r) {
        const unsigned char *pad = symm_mapping_pad(ranks[r].mapping, r);
        for (size_t i = 0; i < SYMM_PAD_BYTES; ++i) {
            assert_int_equal(pad[i], 0);
        }
    }
    for (int r = 0; r < RANKS; ++r) {
        ((int *) symm_mapping_pad(ranks[(r + 1) % RANKS].mapping, r))[100] = 7 + r;
    }
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(((int *) symm_mapping_pad(ranks[(r + 2) % RANKS].mapping, r))[100], 7 + r);
    }
}

static void assert_whole(void)
{
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(ranks[r].result, MPI_SUCCESS);
        assert_null(ranks[r].mapping->work);
        assert_non_null(ranks[r].mapping->control);
    }
    assert_pads_work();
    for (int r = 0; r < RANKS; ++r) {
        mark_memory(r);
    }
    for (int r = 0; r < RANKS; ++r) {
        assert_marks_seen_by(r);
    }
    /* One control block, seen by all. */
    atomic_store(&ranks[0].mapping->control->peers[1].arrivals, 99);
    assert_int_equal(atomic_load(&ranks[3].mapping->control->peers[1].arrivals), 99);
}

/* ---- success ---- */

static void everything_is_mapped_where_it_belongs(void **state)
{
    (void) state;
    for (size_t shape = 0; shape < 2 * SHAPES; ++shape) {
        sizes = shapes[shape / 2];
        contiguous = 0 != shape % 2;
        holdings_t before = holdings();
        build_all();
        assert_whole();
        assert_int_equal(open_descriptors(), before.fds); /* mappings need none */
        destroy_all();
        assert_holds(before);
    }
}

static void mapping_outlives_the_peers(void **state)
{
    (void) state;
    sizes = shapes[0];
    contiguous = false;
    holdings_t before = holdings();
    build_all();
    mark_memory(2);
    for (int r = 0; r < RANKS; ++r) {
        if (1 != r) {
            symm_mapping_destroy(ranks[r].mapping);
            ranks[r].mapping = NULL;
        }
    }
    const unsigned char *data = symm_mapping_data(ranks[1].mapping, 2);
    assert_int_equal(data[9999], mark(2, 9999));
    destroy_all();
    assert_holds(before);
}

static void pad_is_zeroed_for_the_next_user(void **state)
{
    symm_error_t error = {0};
    (void) state;
    sizes = shapes[0];
    contiguous = true;
    build_all();
    for (int r = 0; r < RANKS; ++r) {
        memset(symm_mapping_pad(ranks[0].mapping, r), 1, SYMM_PAD_BYTES);
    }
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(symm_mapping_zero_pad(ranks[r].mapping, &error), MPI_SUCCESS);
    }
    assert_pads_work();
    destroy_all();
}

/* ---- failure ---- */

/* Every call on every rank fails once, until there are no more calls. Returns how many failed. */
static int fail_every_call(void)
{
    int failures = 0;
    for (int r = 0; r < RANKS; ++r) {
        bool failed = true;
        for (int n = 1; failed; ++n) {
            holdings_t before = holdings();
            ranks[r].fail_at = n;
            build_all();
            failed = ranks[r].calls >= n;
            for (int peer = 0; peer < RANKS; ++peer) {
                assert_int_equal(MPI_SUCCESS != ranks[peer].result, failed);
                assert_int_equal(ranks[peer].result, ranks[r].result);
            }
            failures += failed ? 1 : 0;
            destroy_all();
            assert_holds(before);
        }
        ranks[r].fail_at = 0;
    }
    return failures;
}

static void failure_of_any_call_undoes_all(void **state)
{
    (void) state;
    for (size_t shape = 0; shape < 2 * SHAPES; ++shape) {
        sizes = shapes[shape / 2];
        contiguous = 0 != shape % 2;
        /* At least reserve, queue, zero and wait of each rank. */
        assert_true(4 * RANKS <= fail_every_call());
    }
}

static void failures_of_several_ranks(void **state)
{
    (void) state;
    sizes = shapes[1];
    contiguous = false;
    for (int n = 1; n < 12; ++n) {
        holdings_t before = holdings();
        for (int r = 0; r < RANKS; ++r) {
            ranks[r].fail_at = n + r;
        }
        build_all();
        for (int r = 0; r < RANKS; ++r) {
            assert_int_not_equal(ranks[r].result, MPI_SUCCESS);
            assert_int_equal(ranks[r].result, ranks[0].result);
        }
        destroy_all();
        assert_holds(before);
    }
}

/* ---- fabric handles ---- */

static void fabric_handles_are_used_where_all_can(void **state)
{
    (void) state;
    atomic_store(&has_fabric, true);
    for (size_t shape = 0; shape < 2 * SHAPES; ++shape) {
        sizes = shapes[shape / 2];
        contiguous = 0 != shape % 2;
        holdings_t before = holdings();
        build_all();
        assert_whole();
        destroy_all();
        assert_holds(before);
    }
}

static void one_rank_without_fabric_sends_all_back(void **state)
{
    (void) state;
    atomic_store(&has_fabric, true);
    sizes = shapes[0];
    contiguous = false;
    for (int i = 0; i < 2 * RANKS; ++i) {
        rank_without_export = i < RANKS ? i : -1;
        rank_without_import = i < RANKS ? -1 : i - RANKS;
        holdings_t before = holdings();
        build_all();
        assert_whole();
        destroy_all();
        assert_holds(before);
    }
}

/* An import that fails on the way is no failure of the window: descriptors do it. */
static void failure_among_fabric_handles(void **state)
{
    (void) state;
    atomic_store(&has_fabric, true);
    sizes = shapes[0];
    contiguous = false;
    for (int n = 2; n <= RANKS; ++n) { /* call 1 is memory_create, then come the imports */
        holdings_t before = holdings();
        ranks[1].fail_at = n;
        build_all();
        assert_whole();
        destroy_all();
        assert_holds(before);
    }
}

/* ---- the rest ---- */

static void preparing_the_impossible(void **state)
{
    static const size_t huge[RANKS] = {1, 2, SIZE_MAX, 3};
    (void) state;
    sizes = huge;
    contiguous = false;
    holdings_t before = holdings();
    symm_mapping_t *mapping = (symm_mapping_t *) &before;
    assert_int_equal(prepare(0, &mapping), MPI_ERR_SIZE);
    assert_null(mapping);
    assert_holds(before);
    symm_mapping_destroy(NULL);
}

static void destroying_what_was_never_built(void **state)
{
    (void) state;
    sizes = shapes[0];
    contiguous = true;
    holdings_t before = holdings();
    symm_mapping_t *mapping;
    assert_int_equal(prepare(0, &mapping), MPI_SUCCESS);
    symm_mapping_destroy(mapping);
    assert_holds(before);
}

static void what_a_mapping_serves(void **state)
{
    symm_mapping_t *mapping, *same, *other;
    (void) state;
    sizes = shapes[0];
    contiguous = false;
    assert_int_equal(prepare(0, &mapping), MPI_SUCCESS);
    assert_int_equal(prepare(0, &same), MPI_SUCCESS);
    contiguous = true;
    assert_int_equal(prepare(0, &other), MPI_SUCCESS);
    assert_true(symm_mapping_serves(mapping, same->ops, same->device, &same->layout));
    assert_false(symm_mapping_serves(mapping, &symm_host_ops, same->device, &same->layout));
    assert_false(symm_mapping_serves(mapping, same->ops, NULL, &same->layout));
    assert_false(symm_mapping_serves(mapping, same->ops, same->device, &other->layout));
    symm_mapping_destroy(mapping);
    symm_mapping_destroy(same);
    symm_mapping_destroy(other);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(everything_is_mapped_where_it_belongs),
        TEST(mapping_outlives_the_peers),
        TEST(pad_is_zeroed_for_the_next_user),
        TEST(failure_of_any_call_undoes_all),
        TEST(failures_of_several_ranks),
        TEST(fabric_handles_are_used_where_all_can),
        TEST(one_rank_without_fabric_sends_all_back),
        TEST(failure_among_fabric_handles),
        TEST(preparing_the_impossible),
        TEST(destroying_what_was_never_built),
        TEST(what_a_mapping_serves),
    };
    return cmocka_run_group_tests_name("mapping", tests, NULL, NULL);
}
