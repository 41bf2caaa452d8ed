/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The agreement of collectives, with threads in place of ranks: each sees what all have shown in
 * the same call and never another one's, and all learn how it ended on each. */
#include "symm_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll_symm.h"

#define RANKS  4
#define ROUNDS 3000

typedef struct rank {
    mca_coll_symm_module_t module;
    int number;
    long mistakes;
    int results[RANKS * RANKS]; /* how calls ended */
} rank_t;

static rank_t *ranks;
static char handles[RANKS];

static int set_up(void **state)
{
    (void) state;
    size_t len = symm_comm_control_len(RANKS);
    symm_comm_control_t *control = aligned_alloc(SYMM_LINE_BYTES, len);
    assert_non_null(control);
    memset(control, 0, len);
    ranks = calloc(RANKS, sizeof(*ranks));
    assert_non_null(ranks);
    for (int r = 0; r < RANKS; ++r) {
        mca_coll_symm_module_t *module = &ranks[r].module;
        ranks[r].number = r;
        module->comm = symm_comm_create_shared((MPI_Comm) (void *) &handles[r], r, RANKS, NULL);
        assert_non_null(module->comm);
        module->comm->control = control;
        assert_int_equal(coll_symm_work_create(&module->work, RANKS), MPI_SUCCESS);
        module->policy = (coll_symm_policy_t){.one_shot_max = {1000, 1000}, .gpu_max_ranks = 32};
    }
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    free(ranks[0].module.comm->control);
    for (int r = 0; r < RANKS; ++r) {
        ranks[r].module.comm->control = NULL;
        symm_comm_detach(ranks[r].module.comm);
        symm_comm_release(ranks[r].module.comm);
        coll_symm_work_free(&ranks[r].module.work);
    }
    free(ranks);
    return 0;
}

static void run(void *(*function)(void *) )
{
    pthread_t threads[RANKS];
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(pthread_create(&threads[r], NULL, function, &ranks[r]), 0);
    }
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(pthread_join(threads[r], NULL), 0);
    }
}

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    (void) nanosleep(&time, NULL);
}

/* ---- showing ---- */

#define BYTES 400

/* What rank shows in a round: offsets and bytes that no other call has. */
static void show(rank_t *me, int round, coll_symm_call_t *call, unsigned char *input)
{
    memset(input, me->number * 60 + round % 59, BYTES);
    *call = (coll_symm_call_t){
        .module = &me->module, .work = &me->module.work, .send = (char *) input, .send_len = BYTES};
    call->mine.collective = COLL_SYMM_ALLREDUCE;
    call->mine.bytes = BYTES;
    call->mine.flags = COLL_SYMM_PAYLOAD;
    call->mine.send_offset = (uint64_t) round;
    call->mine.recv_offset = (uint64_t) (1000 * round + me->number);
    call->mine.send_window = (uint32_t) (me->number + 1);
    coll_symm_call_begin(call);
}

static void check_seen(rank_t *me, int round, const coll_symm_call_t *call)
{
    for (int r = 0; r < RANKS; ++r) {
        const coll_symm_descriptor_t *seen = &me->module.work.all[r];
        const unsigned char *payload = coll_symm_call_payload_of(call, r);
        bool right = (uint64_t) round == seen->send_offset &&
                     (uint64_t) (1000 * round + r) == seen->recv_offset &&
                     (uint32_t) (r + 1) == seen->send_window && BYTES == seen->bytes;
        for (int i = 0; i < BYTES; ++i) {
            right = right && payload[i] == (unsigned char) (r * 60 + round % 59);
        }
        me->mistakes += right ? 0 : 1;
    }
    me->mistakes += COLL_SYMM_PUSH_SLOT == call->plan.path ? 0 : 1;
}

/* With no other step between the calls, as the low-latency path does it. */
static void *show_again_and_again(void *argument)
{
    rank_t *me = argument;
    unsigned char input[BYTES];
    for (int round = 1; round <= ROUNDS; ++round) {
        coll_symm_call_t call;
        if (0 == round % 500 && me->number == round / 500 % RANKS) {
            sleep_ms(20);
        }
        show(me, round, &call, input);
        check_seen(me, round, &call);
    }
    return NULL;
}

static void all_see_what_all_show(void **state)
{
    (void) state;
    run(show_again_and_again);
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(ranks[r].mistakes, 0);
        assert_int_equal(ranks[r].module.comm->call, ROUNDS);
    }
}

static void *choose_among_differing(void *argument)
{
    rank_t *me = argument;
    for (int round = 0; round < RANKS; ++round) {
        coll_symm_call_t call = {.module = &me->module, .work = &me->module.work};
        call.mine.collective = COLL_SYMM_ALLREDUCE;
        call.mine.bytes = 8;
        call.mine.op = me->number == round ? SYMM_MAX : SYMM_SUM;
        coll_symm_call_begin(&call);
        me->mistakes += COLL_SYMM_MISMATCH == call.plan.path ? 0 : 1;
        me->mistakes += MPI_ERR_OP == call.plan.code ? 0 : 1;
    }
    return NULL;
}

static void all_choose_alike(void **state)
{
    (void) state;
    run(choose_among_differing);
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(ranks[r].mistakes, 0);
    }
}

/* ---- leaving ---- */

static long written[RANKS]; /* without any atomicity: leaving must order it */

static void *leave_again_and_again(void *argument)
{
    rank_t *me = argument;
    unsigned char input[BYTES];
    for (int round = 1; round <= ROUNDS; ++round) {
        coll_symm_call_t call;
        show(me, round, &call, input);
        written[me->number] = round;
        me->mistakes += MPI_SUCCESS == coll_symm_call_end(&call, MPI_SUCCESS) ? 0 : 1;
        for (int r = 0; r < RANKS; ++r) {
            me->mistakes += round == written[r] ? 0 : 1;
        }
        show(me, round, &call, input); /* so that nobody writes while another still looks */
    }
    return NULL;
}

static void leaving_waits_for_all(void **state)
{
    (void) state;
    run(leave_again_and_again);
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(ranks[r].mistakes, 0);
    }
}

/* In call i the ranks whose bits are set in i fail, each with a code of its own. */
static void *fail_in_turn(void *argument)
{
    rank_t *me = argument;
    unsigned char input[BYTES];
    for (int i = 0; i < RANKS * RANKS; ++i) {
        coll_symm_call_t call;
        show(me, i + 1, &call, input);
        me->results[i] =
            coll_symm_call_end(&call, 0 != (i >> me->number & 1) ? 10 + me->number : MPI_SUCCESS);
    }
    return NULL;
}

static void all_get_the_lowest_ranks_failure(void **state)
{
    (void) state;
    run(fail_in_turn);
    for (int i = 0; i < RANKS * RANKS; ++i) {
        int lowest = 0;
        while (lowest < RANKS && 0 == (i >> lowest & 1)) {
            ++lowest;
        }
        for (int r = 0; r < RANKS; ++r) {
            assert_int_equal(ranks[r].results[i], RANKS == lowest ? MPI_SUCCESS : 10 + lowest);
        }
    }
}

/* ---- ranks that do not come ---- */

static _Atomic int gone; /* ranks that have given up */

static void wait_until_gone(int count)
{
    while (count > atomic_load(&gone)) {
        sleep_ms(10);
    }
}

static void expect(rank_t *me, int expected, int got)
{
    me->mistakes += expected == got ? 0 : 1;
}

/* All but the last rank call, and the last one when these have given up. */
static void *come_too_late(void *argument)
{
    rank_t *me = argument;
    bool late = RANKS - 1 == me->number;
    if (late) {
        wait_until_gone(RANKS - 1);
    }
    for (int i = 0; i < 3; ++i) {
        coll_symm_call_t call = {.module = &me->module, .work = &me->module.work};
        call.mine.collective = COLL_SYMM_BARRIER;
        expect(me, COLL_SYMM_BROKEN, coll_symm_call_begin(&call));
        atomic_fetch_add(&gone, 0 == i ? 1 : 0);
    }
    return NULL;
}

/* The last rank stays inside the call, before a barrier in it, until the others have given up. */
static void *stay_inside(void *argument)
{
    rank_t *me = argument;
    coll_symm_call_t call = {.module = &me->module, .work = &me->module.work};
    call.mine.collective = COLL_SYMM_BARRIER;
    expect(me, MPI_SUCCESS, coll_symm_call_begin(&call));
    expect(me, MPI_SUCCESS, coll_symm_call_step(&call, MPI_SUCCESS));
    if (RANKS - 1 == me->number) {
        wait_until_gone(RANKS - 1);
    }
    int rc = coll_symm_call_step(&call, MPI_SUCCESS);
    expect(me, COLL_SYMM_BROKEN, rc); /* also who came last, as the others work no more */
    atomic_fetch_add(&gone, 1);
    expect(me, COLL_SYMM_BROKEN, coll_symm_call_end(&call, rc));
    return NULL;
}

/* The same before it leaves, with a failure of its own. */
static void *do_not_leave(void *argument)
{
    rank_t *me = argument;
    coll_symm_call_t call = {.module = &me->module, .work = &me->module.work};
    call.mine.collective = COLL_SYMM_BARRIER;
    expect(me, MPI_SUCCESS, coll_symm_call_begin(&call));
    if (RANKS - 1 == me->number) {
        wait_until_gone(RANKS - 1);
    }
    expect(me, COLL_SYMM_BROKEN, coll_symm_call_end(&call, MPI_SUCCESS));
    atomic_fetch_add(&gone, 1);
    return NULL;
}

/* Later than other ranks, but in time. */
static void *come_in_time(void *argument)
{
    rank_t *me = argument;
    for (int i = 0; i < 3; ++i) {
        coll_symm_call_t call = {.module = &me->module, .work = &me->module.work};
        call.mine.collective = COLL_SYMM_BARRIER;
        if (i == me->number) {
            sleep_ms(300);
        }
        expect(me, MPI_SUCCESS, coll_symm_call_begin(&call));
        expect(me, MPI_SUCCESS, coll_symm_call_end(&call, MPI_SUCCESS));
    }
    return NULL;
}

static void run_with_timeout(void *(*function)(void *), unsigned seconds)
{
    atomic_store(&gone, 0);
    mca_coll_symm_component.timeout = seconds;
    run(function);
    mca_coll_symm_component.timeout = 0;
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(ranks[r].mistakes, 0);
    }
}

static void late_rank_is_given_up(void **state)
{
    (void) state;
    run_with_timeout(come_too_late, 1);
}

static void rank_inside_is_given_up(void **state)
{
    (void) state;
    run_with_timeout(stay_inside, 1);
}

static void rank_that_does_not_leave_is_given_up(void **state)
{
    (void) state;
    run_with_timeout(do_not_leave, 1);
}

static void rank_in_time_is_waited_for(void **state)
{
    (void) state;
    run_with_timeout(come_in_time, 60);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(all_see_what_all_show),
        TEST(all_choose_alike),
        TEST(leaving_waits_for_all),
        TEST(all_get_the_lowest_ranks_failure),
        TEST(late_rank_is_given_up),
        TEST(rank_inside_is_given_up),
        TEST(rank_that_does_not_leave_is_given_up),
        TEST(rank_in_time_is_waited_for),
    };
    return cmocka_run_group_tests_name("agree", tests, NULL, NULL);
}
