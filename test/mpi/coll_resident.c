/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The resident kernel of small collectives (coll_symm_resident): that it does them, and right,
 * many in a row, between ordinary ones and one-sided operations; that it is there again after it
 * has ended, for whatever reason; and that windows may go, and MPI end, while it runs.
 * coll_resident_brief is this program with a kernel that hardly stays. On the host there is none
 * and all the rest holds. */
#include "symm_config.h"

#include "mpi_test_reduce.h"

#include <stdlib.h>
#include <string.h>

#ifdef IDLE_US
#    define NAME "coll_resident_brief"
#else
#    define NAME    "coll_resident"
#    define IDLE_US "20000"
#endif

#define SMALL   ((size_t) 1024)   /* bytes of a call that the kernel takes */
#define LARGE   ((size_t) 300000) /* and of one that it does not */
#define ROW     30                /* calls in a row, each with buffers of its own */
#define SPACING (SMALL + 2 * MT_GUARD)

static mt_win_t window;
static uint64_t round_number;
static unsigned char *input, *expected, *scratch, *got; /* LARGE bytes each, on the host */

static bool on_gpu(void)
{
    return SYMM_KIND_CUDA_DEVICE == mt_kind && 1 < mt_size;
}

static bool plan_says_resident(void)
{
    char plan[SYMM_PLAN_TEXT_MAX] = "";
    CHECK_OK(symm_plan_query(plan, sizeof(plan)));
    const char *shape = strrchr(plan, ' ');
    return NULL != shape && 0 == strcmp(shape, " resident");
}

/* Checks whether the kernel did one piece of work since, and the plan says so. */
static void check_way(const symm_stats_t *before, bool resident)
{
    symm_stats_t after = mt_stats();
    resident = resident && on_gpu();
    CHECK_INT(resident ? 1 : 0, after.resident_commands - before->resident_commands);
    CHECK(resident == plan_says_resident());
}

/* ---- one reduction ---- */

typedef struct sum {
    const mr_type_t *type;
    mr_op_t op;
    size_t count;
    char *send, *recv; /* with guards around */
    uint64_t round;
    MPI_Comm comm;
} sum_t;

static char *slot(const mt_win_t *w, size_t i)
{
    return w->base + i * SPACING + MT_GUARD;
}

static sum_t small_sum(const mt_win_t *w, size_t i)
{
    return (sum_t){.type = mr_type(MPI_INT),
                   .op = MR_SUM,
                   .count = 4,
                   .send = slot(w, 2 * i),
                   .recv = slot(w, 2 * i + 1),
                   .comm = MPI_COMM_WORLD};
}

static void prepare(sum_t *s)
{
    size_t len = s->count * s->type->size;
    s->round = ++round_number;
    mr_input(s->type, s->op, mt_rank, s->round, input, s->count);
    mt_poison(s->recv - MT_GUARD, len + 2 * MT_GUARD);
    mt_write(s->send, input, len);
}

static void start_sum(const sum_t *s)
{
    mt_context("%s %s, count %zu, round %llu", mr_op_name(s->op), s->type->name, s->count,
               (unsigned long long) s->round);
    CHECK_OK(MPI_Allreduce(s->send, s->recv, (int) s->count, s->type->handle, mr_op(s->type, s->op),
                           s->comm));
}

/* The input goes first: who still reads it, although the call is complete, gets something else. */
static void check_sum(const sum_t *s)
{
    size_t len = s->count * s->type->size;
    mt_poison(s->send, len);
    mr_result(s->type, s->op, mt_size, s->round, expected, scratch, s->count);
    mt_read(got, s->recv, len);
    CHECK_ELEMENTS(s->type, expected, got, s->count);
    CHECK_POISON(s->recv - MT_GUARD, MT_GUARD);
    CHECK_POISON(s->recv + len, MT_GUARD);
}

static void whole_sum(sum_t *s, bool resident)
{
    prepare(s);
    symm_stats_t before = mt_stats();
    start_sum(s);
    check_way(&before, resident);
    check_sum(s);
}

/* ---- tests ---- */

/* Inputs first, then all calls, then the results: nothing waits for the device in between, so that
 * most calls find the kernel that the one before has left. */
static void many_in_a_row(void)
{
    static const size_t counts[] = {1, 2, 3, 7, 64, 100};
    static const mr_op_t ops[] = {MR_SUM, MR_MAX, MR_PROD, MR_BXOR};
    sum_t sums[ROW];
    for (size_t i = 0; i < ROW; ++i) {
        sums[i] = small_sum(&window, i);
        sums[i].type = mr_type(0 == i % 3 ? MPI_UNSIGNED_CHAR : 1 == i % 3 ? MPI_INT : MPI_DOUBLE);
        sums[i].op = ops[i % 4];
        sums[i].op = mr_defined(sums[i].type, sums[i].op) ? sums[i].op : MR_MIN;
        sums[i].count = counts[i % 6];
        prepare(&sums[i]);
    }
    symm_stats_t before = mt_stats();
    for (size_t i = 0; i < ROW; ++i) {
        symm_stats_t now = mt_stats();
        start_sum(&sums[i]);
        check_way(&now, true);
    }
    symm_stats_t after = mt_stats();
    if (on_gpu() && 0 == strcmp("coll_resident", NAME)) {
        CHECK_MSG(ROW > after.resident_launches - before.resident_launches,
                  "the kernel never stayed");
    }
    for (size_t i = 0; i < ROW; ++i) {
        check_sum(&sums[i]);
    }
}

/* The same memory again and again, which the kernel has read before: it must see what is new. */
static void the_same_buffers_again(void)
{
    int32_t value = 1;
    int32_t power = 1;
    char *there = window.base + MT_GUARD;
    mt_write(window.base, &value, sizeof(value));
    for (int i = 0; i < 6; ++i) {
        CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, window.base, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK_OK(MPI_Allreduce(window.base, there, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
        CHECK_OK(MPI_Allreduce(there, window.base, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
        power *= mt_size;
    }
    mt_read(&value, window.base, sizeof(value));
    CHECK_INT(power, value);
}

static void between_large_ones(void)
{
    for (int i = 0; i < 6; ++i) {
        sum_t small = small_sum(&window, (size_t) i);
        sum_t large = {.type = mr_type(MPI_FLOAT),
                       .op = MR_SUM,
                       .count = LARGE / sizeof(float) / 4 - (size_t) i,
                       .send = slot(&window, 2 * ROW),
                       .recv = slot(&window, 2 * ROW) + LARGE,
                       .comm = MPI_COMM_WORLD};
        whole_sum(&small, true);
        whole_sum(&large, false);
        prepare(&small);
        prepare(&large);
        start_sum(&small);
        start_sum(&large);
        start_sum(&small);
        check_sum(&large);
        check_sum(&small);
    }
}

/* What the kernel cannot take goes the ordinary way: elements that are not aligned. */
static void what_it_does_not_take(void)
{
    sum_t s = small_sum(&window, 0);
    s.type = mr_type(MPI_DOUBLE);
    s.send += 4;
    whole_sum(&s, false);
    s = small_sum(&window, 0);
    s.type = mr_type(MPI_SHORT);
    s.count = 33;
    s.send += 2;
    s.recv += 4;
    whole_sum(&s, true);
}

/* Puts that are gathered, and not complete yet, on the same queue; their target is read by the next
 * call. */
static void between_puts(void)
{
    int right = (mt_rank + 1) % mt_size;
    int left = (mt_rank + mt_size - 1) % mt_size;
    CHECK_OK(MPI_Win_fence(0, window.win));
    for (uint64_t i = 0; i < 8; ++i) {
        sum_t s = small_sum(&window, (size_t) i % 4);
        size_t at = (size_t) (s.send - window.base);
        size_t elsewhere = (size_t) (slot(&window, 20) - window.base);
        unsigned char bytes[200], own[16];
        prepare(&s);
        CHECK_OK(MPI_Win_fence(0, window.win));
        /* This rank's input comes from its left neighbour; other bytes go after it. */
        mr_input(s.type, s.op, right, s.round, own, s.count);
        mt_pattern(bytes, sizeof(bytes), mt_seed(mt_rank, i));
        mt_poison(s.send, sizeof(own));
        CHECK_OK(MPI_Win_fence(0, window.win));
        CHECK_OK(MPI_Put(own, sizeof(own), MPI_BYTE, right, (MPI_Aint) at, sizeof(own), MPI_BYTE,
                         window.win));
        CHECK_OK(MPI_Win_fence(0, window.win));
        CHECK_OK(MPI_Put(bytes, sizeof(bytes), MPI_BYTE, right, (MPI_Aint) elsewhere, sizeof(bytes),
                         MPI_BYTE, window.win));
        start_sum(&s);
        CHECK_OK(MPI_Win_fence(0, window.win));
        check_sum(&s);
        CHECK_PATTERN(slot(&window, 20), sizeof(bytes), mt_seed(left, i));
    }
}

static void data_movements(void)
{
    static const size_t lengths[] = {1, 4, 15, 16, 17, 48, 333, 1000};
    size_t size = (size_t) mt_size;
    char *send = slot(&window, 2 * ROW);
    char *recv = send + LARGE;
    for (size_t i = 0; i < 16; ++i) {
        size_t len = lengths[i % 8];
        size_t shift = i / 8; /* apart from one another, in the second half */
        uint64_t round = ++round_number;
        mt_context("blocks of %zu bytes, %zu apart", len, shift);
        for (size_t r = 0; r < size; ++r) {
            mt_fill(send + r * len, len, mt_seed(mt_rank * mt_size + (int) r, round));
        }
        mt_poison(recv - MT_GUARD, size * len + 2 * MT_GUARD + shift);
        symm_stats_t before = mt_stats();
        CHECK_OK(MPI_Alltoall(send, (int) len, MPI_BYTE, recv + shift, (int) len, MPI_BYTE,
                              MPI_COMM_WORLD));
        check_way(&before, true);
        for (size_t r = 0; r < size; ++r) {
            CHECK_PATTERN(recv + shift + r * len, len, mt_seed((int) r * mt_size + mt_rank, round));
        }
        CHECK_POISON(recv - MT_GUARD, MT_GUARD + shift);
        CHECK_POISON(recv + shift + size * len, MT_GUARD);
    }
}

/* A large call among small ones, none of which may overtake it on the queue. */
static void several_in_flight(void)
{
    enum { CALLS = 5, LARGE_ONE = 3 };
    sum_t sums[CALLS];
    MPI_Request requests[CALLS];
    for (int round = 0; round < 12; ++round) {
        for (size_t i = 0; i < CALLS; ++i) {
            sums[i] = small_sum(&window, i);
            sums[i].count = 1 + i;
            if (LARGE_ONE == i) {
                sums[i].send = slot(&window, 2 * ROW);
                sums[i].recv = sums[i].send + LARGE;
                sums[i].count = LARGE / 8;
            }
            prepare(&sums[i]);
        }
        for (size_t i = 0; i < CALLS; ++i) {
            const sum_t *s = &sums[i];
            CHECK_OK(MPI_Iallreduce(s->send, s->recv, (int) s->count, s->type->handle, MPI_SUM,
                                    MPI_COMM_WORLD, &requests[i]));
        }
        CHECK_OK(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE));
        check_sum(&sums[LARGE_ONE]); /* before the others' checks give it time */
        for (size_t i = 0; i < CALLS; ++i) {
            if (LARGE_ONE != i) {
                check_sum(&sums[i]);
            }
        }
    }
}

static void said_by_info_key(void)
{
    MPI_Info info;
    MPI_Comm comm;
    sum_t s = small_sum(&window, 0);
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "coll_symm_resident", "false"));
    CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    s.comm = comm;
    whole_sum(&s, false);
    CHECK_OK(MPI_Info_set(info, "coll_symm_resident", 0 == mt_rank ? "true" : "false"));
    CHECK_OK(MPI_Comm_set_info(comm, info));
    whole_sum(&s, 0 == mt_rank); /* each rank's own affair */
    s.comm = MPI_COMM_WORLD;
    whole_sum(&s, true);
    CHECK_OK(MPI_Info_free(&info));
    CHECK_OK(MPI_Comm_free(&comm));
}

/* The kernel of each runs when the windows are freed, one after the other and made anew: the small
 * ones into the cache, the large ones for good. */
static void two_windows(void)
{
    mt_win_t other;
    MPI_Comm comm;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 5; ++i) {
        size_t len = 0 == i % 2 ? SPACING * 8 : LARGE * 8;
        if (!mt_allocate(len, 1, 0 == i % 2 ? comm : MPI_COMM_WORLD, &other)) {
            break;
        }
        sum_t here = small_sum(&window, 0);
        sum_t there = small_sum(&other, 1);
        there.comm = comm;
        prepare(&here);
        prepare(&there);
        for (int k = 0; k < 4; ++k) {
            start_sum(&here);
            start_sum(&there);
        }
        check_sum(&here);
        check_sum(&there);
        start_sum(&there);
        start_sum(&here);
        mt_win_free(&other);
    }
    CHECK_OK(MPI_Comm_free(&comm));
}

static void after_a_pause(void)
{
    sum_t s = small_sum(&window, 0);
    for (int i = 0; i < 3; ++i) {
        prepare(&s);
        start_sum(&s);
        mt_sleep_ms(60);
        symm_stats_t before = mt_stats();
        start_sum(&s);
        symm_stats_t after = mt_stats();
        if (on_gpu()) {
            CHECK_MSG(after.resident_launches > before.resident_launches,
                      "the kernel stayed without work");
        }
        check_sum(&s);
    }
}

/* The window stays, with its kernel, until MPI ends. */
static void leave_it_running(void)
{
    sum_t s = small_sum(&window, 0);
    prepare(&s);
    start_sum(&s);
}

int main(int argc, char **argv)
{
    mt_set_param("coll_symm_resident", "1");
    mt_set_param("coll_symm_resident_idle", IDLE_US);
    mt_set_param("osc_symm_cache_bytes", "2097152");
    mt_init(&argc, &argv, NAME);
    input = malloc(LARGE);
    expected = malloc(LARGE);
    scratch = malloc(LARGE);
    got = malloc(LARGE);
    if (mt_allocate(2 * ROW * SPACING + 2 * LARGE, 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(many_in_a_row);
        MT_RUN(the_same_buffers_again);
        MT_RUN(between_large_ones);
        MT_RUN(what_it_does_not_take);
        MT_RUN(between_puts);
        MT_RUN(data_movements);
        MT_RUN(several_in_flight);
        MT_RUN(said_by_info_key);
        MT_RUN(two_windows);
        MT_RUN(after_a_pause);
        MT_RUN(leave_it_running);
    }
    int status = mt_finish();
    free(input);
    free(expected);
    free(scratch);
    free(got);
    return status;
}
