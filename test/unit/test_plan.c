/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The choice of plans: a table for ranks that all pass the same, what changes it, what one rank
 * that differs does to it, and properties that hold whatever the ranks show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpi.h>
#include <string.h>

#include "coll_symm_plan.h"

#define PLACES 4
#define RANKS  4

#define ONE_SHOT_MAX_HOST 1000
#define ONE_SHOT_MAX_GPU  2000

static coll_symm_policy_t policy = {
    .one_shot_max = {ONE_SHOT_MAX_HOST, ONE_SHOT_MAX_GPU, ONE_SHOT_MAX_GPU, ONE_SHOT_MAX_GPU},
    .gpu_max_ranks = RANKS};

static coll_symm_descriptor_t all[64];

/* All ranks show the same. */
static void show_alike(coll_symm_collective_t collective, coll_symm_place_t send,
                       coll_symm_place_t recv, uint64_t bytes)
{
    memset(all, 0, sizeof(all));
    for (size_t r = 0; r < sizeof(all) / sizeof(all[0]); ++r) {
        all[r].collective = (uint8_t) collective;
        all[r].send_place = (uint8_t) send;
        all[r].recv_place = (uint8_t) recv;
        all[r].bytes = bytes;
        all[r].op = SYMM_SUM;
        all[r].dtype = SYMM_FLOAT32;
    }
}

static void set_all(uint8_t flags, coll_symm_algorithm_t algorithm)
{
    for (size_t r = 0; r < sizeof(all) / sizeof(all[0]); ++r) {
        all[r].flags = flags;
        all[r].algorithm = (uint8_t) algorithm;
    }
}

static coll_symm_plan_t choose(int size)
{
    coll_symm_descriptor_t before[64];
    coll_symm_plan_t plan, again;
    memcpy(before, all, sizeof(all));
    memset(&plan, 0x5a, sizeof(plan));
    coll_symm_plan_choose(all, size, &policy, &plan);
    assert_memory_equal(before, all, sizeof(all)); /* what was shown is not touched */
    coll_symm_plan_choose(all, size, &policy, &again);
    assert_int_equal(plan.path, again.path); /* and chosen for the same reason again */
    assert_int_equal(plan.place, again.place);
    return plan;
}

static void assert_path(coll_symm_path_t expected)
{
    assert_int_equal(choose(RANKS).path, expected);
}

/* Short names, for tables. */
#define NEXT COLL_SYMM_PASS
#define ONE  COLL_SYMM_ONE_SHOT_PATH
#define TWO  COLL_SYMM_TWO_SHOT_PATH
#define PUSH COLL_SYMM_COPY_PUSH
#define PULL COLL_SYMM_COPY_PULL
#define SLOT COLL_SYMM_PUSH_SLOT
#define VIA  COLL_SYMM_COPY_SCRATCH
#define THRU COLL_SYMM_ONE_SHOT_SCRATCH_PATH

static const coll_symm_place_t host = COLL_SYMM_HOST;
static const coll_symm_place_t device = COLL_SYMM_DEVICE;
static const coll_symm_place_t host_window = COLL_SYMM_WINDOW_SYSTEM;
static const coll_symm_place_t gpu_window = COLL_SYMM_WINDOW_CUDA;

/* ---- tables for ranks that are alike; rows are the input's place, columns the output's ---- */

static void check_table(coll_symm_collective_t collective, uint64_t bytes, uint8_t flags,
                        const coll_symm_path_t expected[PLACES][PLACES])
{
    for (int send = 0; send < PLACES; ++send) {
        for (int recv = 0; recv < PLACES; ++recv) {
            show_alike(collective, (coll_symm_place_t) send, (coll_symm_place_t) recv, bytes);
            set_all(flags, COLL_SYMM_AUTO);
            coll_symm_plan_t plan = choose(RANKS);
            assert_int_equal(plan.path, expected[send][recv]);
            bool gpu = coll_symm_is_device((uint8_t) send) || coll_symm_is_device((uint8_t) recv);
            assert_true(plan.stage == gpu);
        }
    }
}

static void small_allreduce(void **state)
{
    static const coll_symm_path_t expected[PLACES][PLACES] = {
        /*                  host  device host w. GPU w. */
        /* host */ {NEXT, NEXT, NEXT, NEXT},
        /* device */ {NEXT, NEXT, NEXT, NEXT},
        /* host window */ {ONE, NEXT, ONE, NEXT},
        /* GPU window */ {NEXT, ONE, NEXT, ONE},
    };
    (void) state;
    check_table(COLL_SYMM_ALLREDUCE, 100, 0, expected);
}

static void large_allreduce(void **state)
{
    static const coll_symm_path_t expected[PLACES][PLACES] = {
        {NEXT, NEXT, NEXT, NEXT},
        {NEXT, NEXT, NEXT, NEXT},
        {ONE, NEXT, TWO, NEXT},
        {NEXT, ONE, NEXT, TWO},
    };
    (void) state;
    check_table(COLL_SYMM_ALLREDUCE, 1 << 30, 0, expected);
}

static void allreduce_in_place(void **state)
{
    static const coll_symm_path_t expected[PLACES] = {NEXT, NEXT, TWO, TWO};
    (void) state;
    for (int place = 0; place < PLACES; ++place) {
        for (uint64_t bytes = 4; bytes < 1 << 20; bytes *= 64) {
            show_alike(COLL_SYMM_ALLREDUCE, (coll_symm_place_t) place, (coll_symm_place_t) place,
                       bytes);
            set_all(COLL_SYMM_IN_PLACE, COLL_SYMM_AUTO);
            assert_path(expected[place]);
            set_all(COLL_SYMM_IN_PLACE, COLL_SYMM_ONE_SHOT); /* would overwrite inputs */
            assert_path(expected[place]);
        }
    }
}

static void allgather(void **state)
{
    static const coll_symm_path_t expected[PLACES][PLACES] = {
        {NEXT, NEXT, PUSH, PUSH},
        {NEXT, NEXT, NEXT, PUSH},
        {PULL, NEXT, PULL, PUSH},
        {PULL, PULL, PULL, PUSH},
    };
    (void) state;
    check_table(COLL_SYMM_ALLGATHER, 100, 0, expected);
    check_table(COLL_SYMM_ALLGATHER, 1 << 30, 0, expected);
}

/* What could not be moved between GPUs directly is moved through scratch. */
static void allgather_with_scratch(void **state)
{
    static const coll_symm_path_t expected[PLACES][PLACES] = {
        {NEXT, VIA, PUSH, PUSH},
        {VIA, VIA, VIA, PUSH},
        {PULL, VIA, PULL, PUSH},
        {PULL, PULL, PULL, PUSH},
    };
    (void) state;
    policy.scratch_bytes = 1 << 20;
    check_table(COLL_SYMM_ALLGATHER, 1 << 30, 0, expected);
    policy.scratch_bytes = 0;
}

/* So are reductions that no other path serves; what touches no GPU is left to the next component.
 */
static void allreduce_with_scratch(void **state)
{
    static const coll_symm_path_t expected[PLACES][PLACES] = {
        {NEXT, THRU, NEXT, THRU},
        {THRU, THRU, THRU, THRU},
        {ONE, THRU, TWO, THRU},
        {THRU, ONE, THRU, TWO},
    };
    (void) state;
    policy.scratch_bytes = 1 << 20;
    check_table(COLL_SYMM_ALLREDUCE, 1 << 30, 0, expected);
    policy.scratch_bytes = 3 * 256 * RANKS - 1; /* too little for one line for each rank */
    show_alike(COLL_SYMM_ALLREDUCE, device, device, 8);
    assert_path(NEXT);
    policy.scratch_bytes = 0;
}

/* Who is told to use copy engines does so in the path with the fewest bytes to move. */
static void copy_engines_prefer_two_shot(void **state)
{
    (void) state;
    show_alike(COLL_SYMM_ALLREDUCE, gpu_window, gpu_window, 16);
    assert_path(ONE);
    set_all(0, COLL_SYMM_COPY_ENGINE);
    assert_path(TWO);
    show_alike(COLL_SYMM_ALLREDUCE, gpu_window, device, 16); /* it writes peers' outputs */
    set_all(0, COLL_SYMM_COPY_ENGINE);
    assert_path(ONE);
}

/* Large blocks of collectives with a root are copied by both ends, between host windows alone. */
static void both_ends_copy_large_blocks(void **state)
{
    static const coll_symm_collective_t rooted[] = {COLL_SYMM_BCAST, COLL_SYMM_GATHER,
                                                    COLL_SYMM_SCATTER};
    (void) state;
    for (size_t i = 0; i < 3; ++i) {
        show_alike(rooted[i], host_window, host_window, 1 << 20);
        assert_path(COLL_SYMM_COPY_SHARED);
        show_alike(rooted[i], host_window, host_window, (1 << 20) - 1);
        assert_path(PULL);
        show_alike(rooted[i], gpu_window, gpu_window, 1 << 20);
        assert_int_not_equal(choose(RANKS).path, COLL_SYMM_COPY_SHARED);
        show_alike(rooted[i], host_window, host, 1 << 20);
        assert_path(PULL);
    }
    show_alike(COLL_SYMM_ALLGATHER, host_window, host_window, 1 << 20);
    assert_path(PULL);
    show_alike(COLL_SYMM_GATHERV, host_window, host_window, 1 << 20);
    assert_path(PULL);
}

static void who_brings_inputs_is_named(void **state)
{
    coll_symm_plan_t plan = {.path = TWO, .place = COLL_SYMM_WINDOW_CUDA};
    (void) state;
    assert_string_equal(coll_symm_plan_name(&plan), "two_shot_sm");
    plan.staged = true;
    assert_string_equal(coll_symm_plan_name(&plan), "two_shot_ce");
    plan.path = ONE;
    assert_string_equal(coll_symm_plan_name(&plan), "one_shot_ce");
}

/* Inputs that others read must not be overwritten; what nobody else reads may be. */
static void other_reductions(void **state)
{
    static const struct {
        coll_symm_collective_t collective;
        coll_symm_path_t small, large, in_place;
    } expected[] = {{COLL_SYMM_REDUCE, ONE, TWO, ONE},
                    {COLL_SYMM_REDUCE_SCATTER, ONE, ONE, TWO},
                    {COLL_SYMM_REDUCE_SCATTER_BLOCK, ONE, ONE, TWO},
                    {COLL_SYMM_SCAN, ONE, TWO, TWO},
                    {COLL_SYMM_EXSCAN, ONE, TWO, TWO}};
    (void) state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); ++i) {
        show_alike(expected[i].collective, gpu_window, gpu_window, 100);
        assert_path(expected[i].small);
        set_all(COLL_SYMM_IN_PLACE, COLL_SYMM_AUTO);
        assert_path(expected[i].in_place);
        show_alike(expected[i].collective, gpu_window, gpu_window, 1 << 20);
        assert_path(expected[i].large);
    }
}

/* Data movements in which all that takes part is in GPU windows: inputs and outputs that a rank
 * does not have are nowhere. */
static void rooted_movements(void **state)
{
    static const struct {
        coll_symm_collective_t collective;
        bool to_root;
    } rooted[] = {{COLL_SYMM_BCAST, false},
                  {COLL_SYMM_SCATTER, false},
                  {COLL_SYMM_SCATTERV, false},
                  {COLL_SYMM_GATHER, true},
                  {COLL_SYMM_GATHERV, true}};
    (void) state;
    policy.spread_min = UINT64_MAX >> 8;
    for (int i = 0; i < 5; ++i) {
        show_alike(rooted[i].collective, gpu_window, gpu_window, 5000);
        for (int r = 0; r < RANKS; ++r) {
            bool root = 1 == r;
            all[r].root = 1;
            all[r].send_place = root || rooted[i].to_root ? gpu_window : COLL_SYMM_NOWHERE;
            all[r].recv_place = root || !rooted[i].to_root ? gpu_window : COLL_SYMM_NOWHERE;
        }
        assert_path(PUSH);
        all[0].root = 2;
        assert_int_equal(choose(RANKS).code, MPI_ERR_ROOT);
    }
}

static void large_broadcasts_are_spread(void **state)
{
    (void) state;
    policy.spread_min = 1000;
    for (uint64_t bytes = 999; bytes <= 1000; ++bytes) {
        show_alike(COLL_SYMM_BCAST, gpu_window, gpu_window, bytes);
        assert_int_equal(choose(3).path, 1000 == bytes ? COLL_SYMM_COPY_SPREAD : PUSH);
        assert_int_equal(choose(2).path, PUSH); /* there is nobody to hand it on to */
        show_alike(COLL_SYMM_BCAST, host_window, host_window, bytes);
        assert_int_equal(choose(3).path, PULL);
        show_alike(COLL_SYMM_ALLTOALL, gpu_window, gpu_window, bytes);
        assert_int_equal(choose(3).path, PUSH);
    }
}

/* In place, an all-to-all's outputs are others' inputs: these go through scratch, or elsewhere. */
static void all_to_all_in_place(void **state)
{
    static const coll_symm_collective_t swaps[] = {COLL_SYMM_ALLTOALL, COLL_SYMM_ALLTOALLV,
                                                   COLL_SYMM_ALLTOALLW};
    (void) state;
    for (int i = 0; i < 3; ++i) {
        policy.scratch_bytes = 1 << 20;
        show_alike(swaps[i], gpu_window, gpu_window, 5000);
        set_all(COLL_SYMM_IN_PLACE, COLL_SYMM_AUTO);
        assert_path(VIA);
        assert_true(coll_symm_lands_in_scratch(&all[0]));
        policy.scratch_bytes = 0;
        assert_path(NEXT);
        show_alike(swaps[i], host_window, host_window, 5000);
        set_all(COLL_SYMM_IN_PLACE, COLL_SYMM_AUTO);
        assert_path(NEXT);
    }
    show_alike(COLL_SYMM_ALLGATHERV, gpu_window, gpu_window, 5000);
    set_all(COLL_SYMM_IN_PLACE, COLL_SYMM_AUTO);
    assert_path(PUSH);
}

/* Counts per rank may differ, of all others they must be the same. */
static void counts_per_rank(void **state)
{
    (void) state;
    for (uint8_t c = COLL_SYMM_ALLREDUCE; c < COLL_SYMM_COLLECTIVES; ++c) {
        show_alike((coll_symm_collective_t) c, gpu_window, gpu_window, 5000);
        all[2].bytes = 6000;
        bool mismatch = MPI_ERR_TRUNCATE == choose(RANKS).code;
        assert_true(mismatch != coll_symm_traits(c)->rows);
    }
}

static void policies_that_differ_show(void **state)
{
    coll_symm_policy_t other = policy;
    (void) state;
    assert_int_equal(coll_symm_policy_sum(&policy), coll_symm_policy_sum(&other));
    other.algorithm = COLL_SYMM_NEXT;
    assert_int_not_equal(coll_symm_policy_sum(&policy), coll_symm_policy_sum(&other));
    other = policy;
    for (symm_link_t link = SYMM_LINK_HOST; link < SYMM_LINK_COUNT; ++link) {
        other = policy;
        other.one_shot_max[link] ^= 4096;
        assert_int_not_equal(coll_symm_policy_sum(&policy), coll_symm_policy_sum(&other));
    }
}

/* The worst link that any rank knows of counts, the worst of all where none does, and on the host
 * none at all. */
static void sizes_by_link(void **state)
{
    coll_symm_policy_t before = policy;
    (void) state;
    for (symm_link_t link = SYMM_LINK_HOST; link < SYMM_LINK_COUNT; ++link) {
        policy.one_shot_max[link] = 1000 * (uint64_t) (link + 1);
    }
    policy.scratch_bytes = 1 << 20;
    for (symm_link_t worst = SYMM_LINK_HOST; worst < SYMM_LINK_COUNT; ++worst) {
        symm_link_t used = SYMM_LINK_HOST == worst ? SYMM_LINK_PCIE : worst;
        const uint64_t one = 1000 * (uint64_t) (used + 1);
        const struct {
            uint64_t bytes;
            coll_symm_path_t path;
        } cases[] = {{one, ONE}, {one + 1, TWO}};
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
            show_alike(COLL_SYMM_ALLREDUCE, gpu_window, gpu_window, cases[i].bytes);
            all[RANKS - 1].link = (uint8_t) worst & 0xf;
            assert_path(cases[i].path);
            assert_int_equal(choose(RANKS).link, used);
        }
        show_alike(COLL_SYMM_ALLREDUCE, host_window, host_window, 1001);
        all[RANKS - 1].link = (uint8_t) worst & 0xf;
        assert_path(TWO);
        assert_int_equal(choose(RANKS).link, SYMM_LINK_HOST);
    }
    policy = before;
}

/* All ranks pass windows of that kind, one of them a datatype with gaps. */
static void assert_path_with_gaps(coll_symm_place_t window, bool send, bool recv,
                                  coll_symm_path_t expected)
{
    show_alike(COLL_SYMM_ALLTOALL, window, window, 100);
    all[1].send_gaps = send ? 1 : 0;
    all[2].recv_gaps = recv ? 1 : 0;
    assert_path(expected);
    assert_true(choose(RANKS).gaps == (send || recv));
}

/* Each rank knows the gaps of its own buffers: who has them does the work, or there is scratch. */
static void datatypes_with_gaps(void **state)
{
    (void) state;
    policy.scratch_bytes = 1 << 20;
    assert_path_with_gaps(gpu_window, false, false, PUSH);
    assert_path_with_gaps(gpu_window, true, false, PUSH);
    assert_path_with_gaps(gpu_window, false, true, PULL);
    assert_path_with_gaps(gpu_window, true, true, VIA);
    assert_false(coll_symm_lands_in_scratch(&all[1]));
    assert_true(coll_symm_lands_in_scratch(&all[2]));
    assert_path_with_gaps(host_window, false, false, PULL);
    assert_path_with_gaps(host_window, true, false, PUSH);
    assert_path_with_gaps(host_window, false, true, PULL);
    assert_path_with_gaps(host_window, true, true, NEXT);
    assert_path_with_gaps(host, true, false, NEXT);
    assert_path_with_gaps(host, false, true, NEXT);
    set_all(COLL_SYMM_PAYLOAD, COLL_SYMM_AUTO);
    assert_path(SLOT); /* whose output has gaps scatters what is in the slots */
    show_alike(COLL_SYMM_BCAST, gpu_window, gpu_window, 1 << 20);
    all[0].send_gaps = 1;
    policy.spread_min = 1;
    assert_path(PUSH);
    policy.spread_min = UINT64_MAX;
    policy.scratch_bytes = 0;
    assert_path_with_gaps(gpu_window, true, true, NEXT);
}

/* Without scratch on one rank all go another way, and would be glad of it. */
static void a_rank_without_scratch(void **state)
{
    (void) state;
    policy.scratch_bytes = 1 << 20;
    show_alike(COLL_SYMM_ALLGATHER, device, device, 5000);
    assert_false(choose(RANKS).misses_scratch);
    all[2].flags = COLL_SYMM_NO_SCRATCH;
    assert_path(NEXT);
    assert_true(choose(RANKS).misses_scratch);
    all[1].flags = COLL_SYMM_UNSUPPORTED;
    assert_false(choose(RANKS).misses_scratch);
    show_alike(COLL_SYMM_ALLREDUCE, gpu_window, gpu_window, 5000);
    set_all(COLL_SYMM_NO_SCRATCH, COLL_SYMM_AUTO);
    assert_false(choose(RANKS).misses_scratch);
    policy.scratch_bytes = 0;
}

/* One rank's wish does, whatever the call is. */
static void scratch_for_nonblocking_calls(void **state)
{
    (void) state;
    show_alike(COLL_SYMM_BARRIER, COLL_SYMM_NOWHERE, COLL_SYMM_NOWHERE, 0);
    assert_false(choose(RANKS).makes_pending_scratch);
    all[RANKS - 1].flags = COLL_SYMM_WANT_PENDING_SCRATCH;
    assert_true(choose(RANKS).makes_pending_scratch);
    assert_false(choose(RANKS - 1).makes_pending_scratch);
    all[0].bytes = 1; /* a mismatch */
    assert_true(choose(RANKS).makes_pending_scratch);
}

static void pieces_of_scratch(void **state)
{
    (void) state;
    for (int size = 2; size < 70; ++size) {
        for (uint64_t bytes = 0; bytes < 100000; bytes += 7777) {
            size_t piece = coll_symm_scratch_piece(bytes, size);
            assert_int_equal(piece % 256, 0);
            assert_true(2 * (uint64_t) (size - 1) * piece <= bytes);
            assert_true(2 * (uint64_t) (size - 1) * (piece + 256) > bytes);
        }
    }
}

/* Inputs that came in the slots are served there, wherever the buffers are. */
static void payload(void **state)
{
    static const coll_symm_place_t places[] = {COLL_SYMM_HOST, COLL_SYMM_WINDOW_SYSTEM};
    (void) state;
    for (int send = 0; send < 2; ++send) {
        for (int recv = 0; recv < 2; ++recv) {
            show_alike(COLL_SYMM_ALLREDUCE, places[send], places[recv], 8);
            set_all(COLL_SYMM_PAYLOAD, COLL_SYMM_AUTO);
            assert_path(SLOT);
            set_all(COLL_SYMM_PAYLOAD | COLL_SYMM_IN_PLACE, COLL_SYMM_LOW_LATENCY);
            assert_path(SLOT);
            show_alike(COLL_SYMM_ALLGATHER, places[send], places[recv], 8);
            set_all(COLL_SYMM_PAYLOAD, COLL_SYMM_AUTO);
            assert_path(SLOT);
        }
    }
    all[RANKS - 1].flags = 0; /* one rank's did not come */
    assert_path(PULL);
}

/* ---- what changes the choice ---- */

static void size_limit_of_one_shot(void **state)
{
    static const struct {
        coll_symm_place_t place;
        uint64_t limit;
    } limits[] = {{COLL_SYMM_WINDOW_SYSTEM, ONE_SHOT_MAX_HOST},
                  {COLL_SYMM_WINDOW_CUDA, ONE_SHOT_MAX_GPU}};
    (void) state;
    for (int i = 0; i < 2; ++i) {
        show_alike(COLL_SYMM_ALLREDUCE, limits[i].place, limits[i].place, limits[i].limit);
        assert_path(ONE);
        show_alike(COLL_SYMM_ALLREDUCE, limits[i].place, limits[i].place, limits[i].limit + 1);
        assert_path(TWO);
    }
}

static void algorithm_that_is_asked_for(void **state)
{
    static const struct {
        coll_symm_algorithm_t algorithm;
        coll_symm_path_t small, large, with_payload;
    } expected[] = {{COLL_SYMM_AUTO, ONE, TWO, SLOT},
                    {COLL_SYMM_LOW_LATENCY, ONE, TWO, SLOT},
                    {COLL_SYMM_ONE_SHOT, ONE, ONE, ONE},
                    {COLL_SYMM_TWO_SHOT, TWO, TWO, TWO},
                    {COLL_SYMM_COPY_ENGINE, ONE, TWO, ONE}};
    (void) state;
    for (int i = 0; i < 5; ++i) {
        show_alike(COLL_SYMM_ALLREDUCE, host_window, host_window, 100);
        set_all(0, expected[i].algorithm);
        assert_path(expected[i].small);
        set_all(COLL_SYMM_PAYLOAD, expected[i].algorithm);
        assert_path(expected[i].with_payload);
        show_alike(COLL_SYMM_ALLREDUCE, host_window, host_window, 1 << 20);
        set_all(0, expected[i].algorithm);
        assert_path(expected[i].large);
    }
}

/* What is asked for is done where it can be, not instead of serving the call. */
static void algorithm_that_cannot_serve(void **state)
{
    (void) state;
    show_alike(COLL_SYMM_ALLREDUCE, host_window, host, 1 << 20);
    set_all(0, COLL_SYMM_TWO_SHOT);
    assert_path(ONE);
    show_alike(COLL_SYMM_ALLREDUCE, host, host, 8);
    set_all(COLL_SYMM_PAYLOAD, COLL_SYMM_TWO_SHOT);
    assert_path(SLOT);
}

/* Ranks that were told different things go on as if they had been told nothing. */
static void algorithms_that_differ(void **state)
{
    (void) state;
    for (int other = 0; other < RANKS; ++other) {
        show_alike(COLL_SYMM_ALLREDUCE, host_window, host_window, 100);
        set_all(0, COLL_SYMM_TWO_SHOT);
        all[other].algorithm = COLL_SYMM_ONE_SHOT;
        assert_path(ONE);
        all[other].bytes = all[0].bytes;
    }
}

static void more_ranks_than_a_kernel_takes(void **state)
{
    (void) state;
    show_alike(COLL_SYMM_ALLREDUCE, gpu_window, gpu_window, 1 << 20);
    assert_int_equal(choose(RANKS).path, TWO);
    assert_int_equal(choose(RANKS + 1).path, NEXT);
    show_alike(COLL_SYMM_ALLREDUCE, host_window, host_window, 1 << 20);
    assert_int_equal(choose(64).path, TWO); /* a loop takes any number */
    show_alike(COLL_SYMM_ALLGATHER, gpu_window, gpu_window, 1 << 20);
    assert_int_equal(choose(64).path, PUSH); /* so do copies */
}

static void buffers_that_are_apart(void **state)
{
    (void) state;
    show_alike(COLL_SYMM_ALLREDUCE, gpu_window, gpu_window, 100);
    all[2].flags = COLL_SYMM_APART;
    assert_path(NEXT);
    show_alike(COLL_SYMM_ALLGATHER, gpu_window, gpu_window, 100);
    all[2].flags = COLL_SYMM_APART;
    assert_path(NEXT);
}

static void what_no_plan_knows(void **state)
{
    (void) state;
    for (int place = 0; place < PLACES; ++place) {
        for (int r = 0; r < RANKS; ++r) {
            show_alike(COLL_SYMM_ALLREDUCE, (coll_symm_place_t) place, (coll_symm_place_t) place,
                       100);
            all[r].flags = COLL_SYMM_UNSUPPORTED;
            assert_path(NEXT);
            all[r].collective = COLL_SYMM_ALLGATHER; /* that much is known all the same */
            assert_path(COLL_SYMM_MISMATCH);
        }
    }
}

static void one_rank_alone(void **state)
{
    (void) state;
    for (int collective = COLL_SYMM_ALLREDUCE; collective <= COLL_SYMM_ALLGATHER; ++collective) {
        for (int send = 0; send < PLACES; ++send) {
            show_alike((coll_symm_collective_t) collective, (coll_symm_place_t) send, gpu_window,
                       100);
            assert_int_equal(choose(1).path, COLL_SYMM_LOCAL);
            show_alike((coll_symm_collective_t) collective, host_window, (coll_symm_place_t) send,
                       100);
            assert_int_equal(choose(1).path, COLL_SYMM_LOCAL);
        }
        show_alike((coll_symm_collective_t) collective, host, host, 100);
        assert_int_equal(choose(1).path, NEXT);
        all[0].flags = COLL_SYMM_UNSUPPORTED;
        all[0].recv_place = COLL_SYMM_WINDOW_SYSTEM;
        assert_int_equal(choose(1).path, NEXT);
    }
}

/* ---- one rank that differs ---- */

/* One rank's output is not in the window: two-shot cannot write there, one-shot can be done. */
static void one_output_outside(void **state)
{
    (void) state;
    for (int r = 0; r < RANKS; ++r) {
        show_alike(COLL_SYMM_ALLREDUCE, host_window, host_window, 1 << 20);
        all[r].recv_place = COLL_SYMM_HOST;
        assert_path(ONE);
        all[r].recv_place = COLL_SYMM_DEVICE;
        assert_path(NEXT);
        show_alike(COLL_SYMM_ALLGATHER, host_window, host_window, 1 << 20);
        all[r].recv_place = COLL_SYMM_HOST;
        assert_path(PULL);
    }
}

static void one_input_outside(void **state)
{
    (void) state;
    for (int r = 0; r < RANKS; ++r) {
        show_alike(COLL_SYMM_ALLREDUCE, gpu_window, gpu_window, 1 << 20);
        all[r].send_place = COLL_SYMM_DEVICE;
        assert_path(NEXT);
        show_alike(COLL_SYMM_ALLGATHER, host_window, host_window, 1 << 20);
        all[r].send_place = COLL_SYMM_HOST;
        assert_path(PUSH);
    }
}

static void one_rank_in_place(void **state)
{
    (void) state;
    for (int r = 0; r < RANKS; ++r) {
        show_alike(COLL_SYMM_ALLREDUCE, host_window, host_window, 100);
        all[r].flags = COLL_SYMM_IN_PLACE;
        assert_path(TWO);
    }
}

static void windows_of_both_kinds(void **state)
{
    (void) state;
    for (int r = 0; r < RANKS; ++r) {
        show_alike(COLL_SYMM_ALLREDUCE, host_window, host_window, 100);
        all[r].send_place = all[r].recv_place = COLL_SYMM_WINDOW_CUDA;
        coll_symm_plan_t plan = choose(RANKS);
        assert_int_equal(plan.path, NEXT);
        assert_true(plan.stage);
    }
}

/* Offsets and windows are each rank's own business. */
static void windows_and_offsets_do_not_matter(void **state)
{
    (void) state;
    show_alike(COLL_SYMM_ALLREDUCE, host_window, host_window, 1 << 20);
    for (uint32_t r = 0; r < RANKS; ++r) {
        all[r].send_window = r + 1;
        all[r].recv_window = 9 - r;
        all[r].send_offset = 1000 * r;
        all[r].recv_offset = 77 * r;
    }
    assert_path(TWO);
}

/* ---- calls that do not match ---- */

static void assert_mismatch(int code)
{
    coll_symm_plan_t plan = choose(RANKS);
    assert_int_equal(plan.path, COLL_SYMM_MISMATCH);
    assert_int_equal(plan.code, code);
    assert_int_equal(choose(1).path == COLL_SYMM_MISMATCH, false);
}

static void mismatches(void **state)
{
    (void) state;
    for (int r = 1; r < RANKS; ++r) {
        for (int place = 0; place < PLACES; ++place) {
            coll_symm_place_t p = (coll_symm_place_t) place;
            show_alike(COLL_SYMM_ALLREDUCE, p, p, 100);
            all[r].collective = COLL_SYMM_ALLGATHER;
            assert_mismatch(MPI_ERR_OTHER);
            show_alike(COLL_SYMM_ALLREDUCE, p, p, 100);
            all[r].dtype = SYMM_INT32;
            assert_mismatch(MPI_ERR_TYPE);
            show_alike(COLL_SYMM_ALLREDUCE, p, p, 100);
            all[r].op = SYMM_MAX;
            assert_mismatch(MPI_ERR_OP);
            show_alike(COLL_SYMM_ALLREDUCE, p, p, 100);
            all[r].bytes = 104;
            assert_mismatch(MPI_ERR_TRUNCATE);
            show_alike(COLL_SYMM_ALLGATHER, p, p, 100);
            all[r].bytes = 0;
            assert_mismatch(MPI_ERR_TRUNCATE);
        }
    }
}

/* ---- calls that not all ranks wait in ---- */

static bool is_eager(int rank, bool known, bool gpu_windows)
{
    return coll_symm_plan_is_eager(&all[rank], rank, &policy, known, gpu_windows);
}

/* The root says whether what comes from it is. */
static void eager_from_the_root(void **state)
{
    static const coll_symm_collective_t collectives[] = {COLL_SYMM_BCAST, COLL_SYMM_SCATTER};
    (void) state;
    for (int i = 0; i < 2; ++i) {
        show_alike(collectives[i], host, host, 100);
        all[1].root = all[2].root = 2;
        assert_false(is_eager(2, true, false)); /* the input is not in the slot */
        all[1].flags = all[2].flags = COLL_SYMM_PAYLOAD;
        assert_true(is_eager(2, true, false));
        assert_true(is_eager(2, false, true));
        assert_false(is_eager(1, true, false));
    }
}

/* Of what goes to the root, each rank knows. */
static void eager_to_the_root(void **state)
{
    (void) state;
    for (int r = 0; r < 3; ++r) {
        show_alike(COLL_SYMM_GATHER, device, host, SYMM_SLOT_PAYLOAD_BYTES);
        assert_true(is_eager(r, false, false));
        assert_false(is_eager(r, false, true));
        show_alike(COLL_SYMM_GATHER, host, host, SYMM_SLOT_PAYLOAD_BYTES + 1);
        assert_false(is_eager(r, true, false));
        show_alike(COLL_SYMM_REDUCE, host, host, 8);
        assert_true(is_eager(r, true, false));
        assert_false(is_eager(r, false, false)); /* the next component's work */
    }
}

static void never_eager(void **state)
{
    static const coll_symm_collective_t collectives[] = {
        COLL_SYMM_ALLREDUCE, COLL_SYMM_ALLGATHER, COLL_SYMM_ALLTOALL, COLL_SYMM_BARRIER,
        COLL_SYMM_GATHERV,   COLL_SYMM_SCATTERV,  COLL_SYMM_SCAN};
    (void) state;
    for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); ++i) {
        show_alike(collectives[i], host, host, 8);
        set_all(COLL_SYMM_PAYLOAD, COLL_SYMM_AUTO);
        assert_false(is_eager(0, true, false));
    }
    show_alike(COLL_SYMM_BCAST, host_window, host_window, 8);
    set_all(COLL_SYMM_PAYLOAD, COLL_SYMM_AUTO);
    policy.algorithm = COLL_SYMM_LOW_LATENCY;
    assert_true(is_eager(0, true, false));
    policy.algorithm = COLL_SYMM_NEXT;
    assert_false(is_eager(0, true, false));
    policy.algorithm = COLL_SYMM_AUTO;
}

static void assert_needed(int rank, int first, int end)
{
    coll_symm_ranks_t needed = coll_symm_needed(&all[rank], rank, RANKS);
    assert_int_equal(needed.first, first);
    assert_int_equal(needed.end, end);
}

static void assert_eager(int rank, int code)
{
    coll_symm_plan_t plan;
    coll_symm_plan_choose_eager(all, RANKS, rank, &plan);
    assert_int_equal(plan.path, MPI_SUCCESS == code ? COLL_SYMM_EAGER_SLOT : COLL_SYMM_MISMATCH);
    assert_int_equal(plan.code, code);
}

/* Each rank compares its call with those that it needs, and sees no others. */
static void eager_mismatches(void **state)
{
    (void) state;
    show_alike(COLL_SYMM_BCAST, host, host, 8);
    assert_needed(1, 0, RANKS);
    set_all(COLL_SYMM_EAGER, COLL_SYMM_AUTO);
    all[1].bytes = 4;
    assert_needed(1, 0, 1);
    assert_eager(0, MPI_SUCCESS);
    assert_eager(1, MPI_ERR_TRUNCATE);
    assert_int_equal(coll_symm_plan_mismatch(all, RANKS, 1), 0);
    show_alike(COLL_SYMM_REDUCE, host, host, 8);
    set_all(COLL_SYMM_EAGER, COLL_SYMM_AUTO);
    all[1].op = SYMM_MAX;
    assert_needed(0, 0, RANKS);
    assert_needed(1, 0, 0);
    assert_eager(0, MPI_ERR_OP);
    assert_eager(1, MPI_SUCCESS);
    assert_int_equal(coll_symm_plan_mismatch(all, RANKS, 0), 1);
}

/* Some are gone: the others must not go on without them. */
static void eager_on_some_ranks(void **state)
{
    (void) state;
    show_alike(COLL_SYMM_REDUCE, host, host, 8);
    all[1].flags = COLL_SYMM_EAGER;
    assert_mismatch(MPI_ERR_OTHER);
    all[0].flags = COLL_SYMM_UNSUPPORTED;
    assert_mismatch(MPI_ERR_OTHER);
}

/* The next component is to judge what we do not know. */
static void unknown_arguments_are_not_compared(void **state)
{
    (void) state;
    show_alike(COLL_SYMM_ALLREDUCE, host_window, host_window, 100);
    all[1].flags = COLL_SYMM_UNSUPPORTED;
    all[1].dtype = 0;
    all[1].bytes = 160;
    assert_path(NEXT);
}

/* ---- whatever the ranks show ---- */

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return *seed >> 33;
}

static void show_random(uint64_t *seed)
{
    show_alike(0 == next_random(seed) % 2 ? COLL_SYMM_ALLREDUCE : COLL_SYMM_ALLGATHER, host, host,
               next_random(seed) % 4000);
    coll_symm_place_t usual = (coll_symm_place_t) (next_random(seed) % PLACES);
    uint8_t common = 0 == next_random(seed) % 4 ? COLL_SYMM_PAYLOAD : 0;
    for (int r = 0; r < RANKS; ++r) {
        uint64_t random = next_random(seed);
        bool usually = 0 != random % 4;
        all[r].send_place = (uint8_t) (usually ? usual : random / 4 % PLACES);
        all[r].recv_place = (uint8_t) (usually ? usual : random / 16 % PLACES);
        all[r].flags = (uint8_t) (common | (0 == random / 64 % 8 ? random / 512 % 16 : 0));
        all[r].algorithm = (uint8_t) (random / 8192 % 5);
        all[r].bytes += 0 == random / 32768 % 32 ? 4 : 0;
    }
}

/* Whether every rank's buffer is in the window kind that the plan works on. */
static bool all_in(coll_symm_place_t place, bool send)
{
    bool in = true;
    for (int r = 0; r < RANKS; ++r) {
        in = in && place == (send ? all[r].send_place : all[r].recv_place);
    }
    return in;
}

static uint8_t any_flag(void)
{
    uint8_t flags = 0;
    for (int r = 0; r < RANKS; ++r) {
        flags |= all[r].flags;
    }
    return flags;
}

static void check_properties(const coll_symm_plan_t *plan)
{
    bool window = COLL_SYMM_WINDOW_SYSTEM == plan->place || COLL_SYMM_WINDOW_CUDA == plan->place;
    switch (plan->path) {
    case COLL_SYMM_ONE_SHOT_PATH:
        assert_true(all_in(plan->place, true));
        assert_int_equal(any_flag() & (COLL_SYMM_IN_PLACE | COLL_SYMM_APART), 0);
        break;
    case COLL_SYMM_TWO_SHOT_PATH:
        assert_true(all_in(plan->place, true) && all_in(plan->place, false));
        assert_int_equal(any_flag() & COLL_SYMM_APART, 0);
        break;
    case COLL_SYMM_COPY_PUSH:
        assert_true(all_in(plan->place, false));
        break;
    case COLL_SYMM_ONE_SHOT_SCRATCH_PATH:
        assert_int_equal(plan->place, COLL_SYMM_WINDOW_CUDA);
        break;
    case COLL_SYMM_COPY_PULL:
        assert_true(all_in(plan->place, true));
        break;
    case COLL_SYMM_COPY_SHARED:
        assert_int_equal(plan->place, COLL_SYMM_WINDOW_SYSTEM);
        assert_true(all_in(plan->place, true) && all_in(plan->place, false));
        break;
    case COLL_SYMM_PUSH_SLOT:
        for (int r = 0; r < RANKS; ++r) {
            assert_int_not_equal(all[r].flags & COLL_SYMM_PAYLOAD, 0);
        }
        break;
    default:
        return;
    }
    assert_true(window);
    assert_int_equal(any_flag() & COLL_SYMM_UNSUPPORTED, 0);
    assert_int_equal(plan->code, MPI_SUCCESS);
}

static void properties_of_every_plan(void **state)
{
    uint64_t seed = 3;
    int seen[COLL_SYMM_PATHS] = {0};
    (void) state;
    for (int i = 0; i < 200000; ++i) {
        show_random(&seed);
        policy.scratch_bytes = 0 == i % 2 ? 0 : 1 << 20;
        coll_symm_plan_t plan = choose(RANKS);
        assert_true(plan.path < COLL_SYMM_PATHS);
        ++seen[plan.path];
        check_properties(&plan);
    }
    policy.scratch_bytes = 0;
    for (int path = 0; path < COLL_SYMM_PATHS; ++path) {
        bool elsewhere = COLL_SYMM_LOCAL == path || COLL_SYMM_COPY_SPREAD == path ||
                         COLL_SYMM_EAGER_SLOT == path || COLL_SYMM_COPY_SHARED == path;
        assert_true(elsewhere || 0 < seen[path]); /* the test sees all of them */
    }
}

/* ---- slices ---- */

static void assert_slices(uint64_t count, size_t element, int size)
{
    uint64_t end = 0;
    for (int rank = 0; rank < size; ++rank) {
        uint64_t first = 99, mine = 99;
        coll_symm_slice(count, element, size, rank, &first, &mine);
        assert_int_equal(first, end); /* one after the other, none twice and none left out */
        assert_true(0 == mine || 0 == first * element % 128);
        assert_true(first + mine == count || 0 == mine * element % 128);
        end = first + mine;
    }
    assert_int_equal(end, count);
}

static void slices_cover_everything_once(void **state)
{
    (void) state;
    for (size_t element = 1; element <= 8; element *= 2) {
        for (int size = 1; size <= 9; ++size) {
            for (uint64_t count = 0; count < 1200; ++count) {
                assert_slices(count, element, size);
            }
            assert_slices(((uint64_t) 1 << 31) + 3, element, size);
            assert_slices(((uint64_t) 1 << 44) + 1, element, size);
        }
        assert_slices(100003, element, 1000);
    }
}

/* No rank has more than its share, rounded up to a line. */
static void slices_are_even(void **state)
{
    (void) state;
    for (int size = 1; size <= 9; ++size) {
        for (uint64_t count = 1; count < 100000; count = count * 3 + 1) {
            for (int rank = 0; rank < size; ++rank) {
                uint64_t first, mine;
                coll_symm_slice(count, 4, size, rank, &first, &mine);
                assert_true(mine <= (count + (uint64_t) size - 1) / (uint64_t) size + 32);
            }
        }
    }
}

/* ---- names ---- */

static void names(void **state)
{
    static const struct {
        coll_symm_path_t path;
        bool gpu, stage;
        const char *name;
    } expected[] = {
        {COLL_SYMM_MISMATCH, false, false, "mismatch"},
        {COLL_SYMM_PASS, false, false, "next"},
        {COLL_SYMM_PASS, true, true, "next_staged"},
        {COLL_SYMM_PUSH_SLOT, false, false, "low_latency_push"},
        {COLL_SYMM_EAGER_SLOT, false, false, "eager_push"},
        {COLL_SYMM_LOCAL, true, false, "local_copy"},
        {COLL_SYMM_ONE_SHOT_PATH, false, false, "one_shot_host"},
        {COLL_SYMM_ONE_SHOT_PATH, true, false, "one_shot_sm"},
        {COLL_SYMM_TWO_SHOT_PATH, false, false, "two_shot_host"},
        {COLL_SYMM_TWO_SHOT_PATH, true, false, "two_shot_sm"},
        {COLL_SYMM_COPY_PUSH, false, false, "copy_push_host"},
        {COLL_SYMM_COPY_PUSH, true, false, "copy_push_ce"},
        {COLL_SYMM_COPY_PULL, false, false, "copy_pull_host"},
        {COLL_SYMM_COPY_SHARED, false, false, "copy_shared_host"},
        {COLL_SYMM_COPY_PULL, true, false, "copy_pull_ce"},
    };
    (void) state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); ++i) {
        coll_symm_plan_t plan = {.path = expected[i].path,
                                 .place = expected[i].gpu ? gpu_window : host_window,
                                 .stage = expected[i].stage};
        assert_string_equal(coll_symm_plan_name(&plan), expected[i].name);
    }
    coll_symm_plan_t typed = {.path = COLL_SYMM_COPY_PUSH, .place = gpu_window, .gaps = true};
    assert_string_equal(coll_symm_plan_name(&typed), "copy_push_typed");
    typed.path = COLL_SYMM_COPY_PULL;
    assert_string_equal(coll_symm_plan_name(&typed), "copy_pull_typed");
    typed.path = COLL_SYMM_COPY_SCRATCH;
    assert_string_equal(coll_symm_plan_name(&typed), "copy_scratch_typed");
    assert_string_equal(coll_symm_traits(COLL_SYMM_ALLREDUCE)->name, "allreduce");
    assert_string_equal(coll_symm_traits(COLL_SYMM_ALLGATHER)->name, "allgather");
    assert_string_equal(coll_symm_traits(0)->name, "?");
}

static void places_on_a_gpu(void **state)
{
    (void) state;
    assert_false(coll_symm_is_device((uint8_t) host));
    assert_true(coll_symm_is_device((uint8_t) device));
    assert_false(coll_symm_is_device((uint8_t) host_window));
    assert_true(coll_symm_is_device((uint8_t) gpu_window));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_allreduce),
        cmocka_unit_test(large_allreduce),
        cmocka_unit_test(allreduce_in_place),
        cmocka_unit_test(allgather),
        cmocka_unit_test(allgather_with_scratch),
        cmocka_unit_test(allreduce_with_scratch),
        cmocka_unit_test(copy_engines_prefer_two_shot),
        cmocka_unit_test(both_ends_copy_large_blocks),
        cmocka_unit_test(who_brings_inputs_is_named),
        cmocka_unit_test(other_reductions),
        cmocka_unit_test(rooted_movements),
        cmocka_unit_test(large_broadcasts_are_spread),
        cmocka_unit_test(all_to_all_in_place),
        cmocka_unit_test(counts_per_rank),
        cmocka_unit_test(policies_that_differ_show),
        cmocka_unit_test(datatypes_with_gaps),
        cmocka_unit_test(sizes_by_link),
        cmocka_unit_test(a_rank_without_scratch),
        cmocka_unit_test(scratch_for_nonblocking_calls),
        cmocka_unit_test(pieces_of_scratch),
        cmocka_unit_test(payload),
        cmocka_unit_test(size_limit_of_one_shot),
        cmocka_unit_test(algorithm_that_is_asked_for),
        cmocka_unit_test(algorithm_that_cannot_serve),
        cmocka_unit_test(algorithms_that_differ),
        cmocka_unit_test(more_ranks_than_a_kernel_takes),
        cmocka_unit_test(buffers_that_are_apart),
        cmocka_unit_test(what_no_plan_knows),
        cmocka_unit_test(one_rank_alone),
        cmocka_unit_test(one_output_outside),
        cmocka_unit_test(one_input_outside),
        cmocka_unit_test(one_rank_in_place),
        cmocka_unit_test(windows_of_both_kinds),
        cmocka_unit_test(windows_and_offsets_do_not_matter),
        cmocka_unit_test(mismatches),
        cmocka_unit_test(eager_from_the_root),
        cmocka_unit_test(eager_to_the_root),
        cmocka_unit_test(never_eager),
        cmocka_unit_test(eager_mismatches),
        cmocka_unit_test(eager_on_some_ranks),
        cmocka_unit_test(unknown_arguments_are_not_compared),
        cmocka_unit_test(properties_of_every_plan),
        cmocka_unit_test(slices_cover_everything_once),
        cmocka_unit_test(slices_are_even),
        cmocka_unit_test(names),
        cmocka_unit_test(places_on_a_gpu),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
