/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Counters, the text of plans, and errors on their way up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "symm_error.h"
#include "symm_stats.h"

/* ---- counters ---- */

static symm_stats_t stats(void)
{
    symm_stats_t now;
    memset(&now, 0x5a, sizeof(now));
    assert_int_equal(symm_stats_query(&now), MPI_SUCCESS);
    return now;
}

static void every_counter_is_copied(void **state)
{
    (void) state;
    symm_stats_t before = stats();
    uint64_t amount = 0;
#define COUNT_MORE(field, description) SYMM_COUNT(field, ++amount);
    SYMM_COUNTER_LIST(COUNT_MORE)
#undef COUNT_MORE
    symm_stats_t after = stats();
    amount = 0;
#define CHECK_MORE(field, description)                                                             \
    ++amount;                                                                                      \
    assert_int_equal(after.field - before.field, amount);                                          \
    assert_int_not_equal(strlen(description), 0);
    SYMM_COUNTER_LIST(CHECK_MORE)
#undef CHECK_MORE
}

static void counters_go_down_too(void **state)
{
    (void) state;
    symm_stats_t before = stats();
    SYMM_COUNT(bytes_mapped, 5000);
    SYMM_COUNT(bytes_mapped, -(int64_t) 2000);
    assert_int_equal(stats().bytes_mapped - before.bytes_mapped, 3000);
    SYMM_COUNT(bytes_mapped, -(int64_t) 3000);
    assert_int_equal(stats().bytes_mapped, before.bytes_mapped);
}

#define THREADS 4
#define COUNTS  20000

static void *count(void *argument)
{
    (void) argument;
    for (int i = 0; i < COUNTS; ++i) {
        SYMM_COUNT(puts, 1);
        SYMM_COUNT(put_bytes, 3);
    }
    return NULL;
}

/* Nothing is lost, also not with the thread that counted it. */
static void threads_count_together(void **state)
{
    pthread_t threads[THREADS];
    (void) state;
    symm_stats_t before = stats();
    for (int t = 0; t < THREADS; ++t) {
        assert_int_equal(pthread_create(&threads[t], NULL, count, NULL), 0);
    }
    (void) count(NULL);
    for (int t = 0; t < THREADS; ++t) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    }
    symm_stats_t after = stats();
    assert_int_equal(after.puts - before.puts, (THREADS + 1) * COUNTS);
    assert_int_equal(after.put_bytes - before.put_bytes, 3 * (THREADS + 1) * COUNTS);
}

static void queries_want_room(void **state)
{
    char text[8] = "kept";
    (void) state;
    assert_int_equal(symm_stats_query(NULL), MPI_ERR_ARG);
    assert_int_equal(symm_plan_query(NULL, 100), MPI_ERR_ARG);
    assert_int_equal(symm_plan_query(text, 0), MPI_ERR_ARG);
    assert_string_equal(text, "kept");
}

/* ---- plans ---- */

static void assert_plan(const symm_plan_note_t *note, const char *expected)
{
    char text[SYMM_PLAN_TEXT_MAX];
    symm_plan_text(note, text, sizeof(text));
    assert_string_equal(text, expected);
    *symm_stats_latest_plan() = *note;
    assert_int_equal(symm_plan_query(text, sizeof(text)), MPI_SUCCESS);
    assert_string_equal(text, expected);
}

static void plan_texts(void **state)
{
    (void) state;
    assert_plan(&(symm_plan_note_t){0}, "none");
    assert_plan(&(symm_plan_note_t){.collective = "allreduce",
                                    .bytes = 2097152,
                                    .dtype = "f32",
                                    .op = "sum",
                                    .plan = "two_shot_sm",
                                    .ranks = 2,
                                    .blocks = 64,
                                    .threads = 512},
                "allreduce 2097152 B f32 sum: two_shot_sm 2 ranks 64x512");
    assert_plan(&(symm_plan_note_t){.collective = "allreduce",
                                    .bytes = 8,
                                    .dtype = "u8",
                                    .op = "bxor",
                                    .plan = "low_latency_push",
                                    .ranks = 5,
                                    .threads = 512},
                "allreduce 8 B u8 bxor: low_latency_push 5 ranks");
    assert_plan(
        &(symm_plan_note_t){
            .collective = "allgather", .bytes = UINT64_MAX, .plan = "copy_push_ce", .ranks = 8},
        "allgather 18446744073709551615 B: copy_push_ce 8 ranks");
}

static void longest_text_fits(void **state)
{
    char text[2 * SYMM_PLAN_TEXT_MAX];
    symm_plan_note_t note = {.collective = "allreduce",
                             .bytes = UINT64_MAX,
                             .dtype = "f64",
                             .op = "prod",
                             .plan = "low_latency_push",
                             .ranks = INT32_MAX,
                             .blocks = UINT32_MAX,
                             .threads = UINT32_MAX};
    (void) state;
    symm_plan_text(&note, text, sizeof(text));
    assert_true(strlen(text) < SYMM_PLAN_TEXT_MAX);
}

static void text_is_cut_to_the_room(void **state)
{
    (void) state;
    symm_plan_note_t note = {.collective = "allgather", .plan = "copy_push_ce", .ranks = 8};
    *symm_stats_latest_plan() = note;
    for (size_t len = 1; len < 20; ++len) {
        char text[32];
        memset(text, 'x', sizeof(text));
        assert_int_equal(symm_plan_query(text, len), MPI_SUCCESS);
        assert_int_equal(strlen(text), len - 1);
        assert_int_equal(0, strncmp("allgather 0 B: copy_push_ce", text, len - 1));
        assert_int_equal(text[len], 'x');
    }
}

static void *see_none(void *argument)
{
    char text[16];
    *(int *) argument =
        MPI_SUCCESS == symm_plan_query(text, sizeof(text)) && 0 == strcmp("none", text);
    return NULL;
}

static void plan_is_each_threads_own(void **state)
{
    pthread_t thread;
    int seen = 0;
    (void) state;
    *symm_stats_latest_plan() =
        (symm_plan_note_t){.collective = "allgather", .plan = "x", .ranks = 1};
    assert_int_equal(pthread_create(&thread, NULL, see_none, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(seen, 1);
}

/* ---- errors ---- */

static void first_error_is_kept(void **state)
{
    symm_error_t error = {0};
    (void) state;
    assert_int_equal(symm_error_set(&error, MPI_ERR_NO_MEM, "%d bytes", 12), MPI_ERR_NO_MEM);
    assert_string_equal(error.text, "12 bytes");
    assert_int_equal(symm_error_set(&error, MPI_ERR_OTHER, "later"), MPI_ERR_NO_MEM);
    assert_int_equal(symm_error_set_errno(&error, MPI_ERR_OTHER, EPERM, "later still"),
                     MPI_ERR_NO_MEM);
    assert_int_equal(error.code, MPI_ERR_NO_MEM);
    assert_string_equal(error.text, "12 bytes");
}

static void errno_is_named(void **state)
{
    symm_error_t error = {0};
    (void) state;
    assert_int_equal(symm_error_set_errno(&error, MPI_ERR_OTHER, ENOENT, "open of %s", "x"),
                     MPI_ERR_OTHER);
    assert_non_null(strstr(error.text, "open of x: "));
    assert_non_null(strstr(error.text, strerror(ENOENT)));
    assert_non_null(strstr(error.text, "(errno 2)"));
}

static void long_text_is_cut(void **state)
{
    char long_text[2 * SYMM_ERROR_TEXT_MAX];
    symm_error_t errors[2] = {{0}, {0}};
    (void) state;
    memset(long_text, 'y', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    (void) symm_error_set(&errors[0], MPI_ERR_OTHER, "%s", long_text);
    assert_int_equal(strlen(errors[0].text), SYMM_ERROR_TEXT_MAX - 1);
    (void) symm_error_set_errno(&errors[1], MPI_ERR_OTHER, ENOENT, "%s", long_text);
    assert_non_null(strstr(errors[1].text, "errno 2")); /* the cause is not what is cut */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_counter_is_copied),
        cmocka_unit_test(counters_go_down_too),
        cmocka_unit_test(threads_count_together),
        cmocka_unit_test(queries_want_room),
        cmocka_unit_test(plan_texts),
        cmocka_unit_test(longest_text_fits),
        cmocka_unit_test(text_is_cut_to_the_room),
        cmocka_unit_test(plan_is_each_threads_own),
        cmocka_unit_test(first_error_is_kept),
        cmocka_unit_test(errno_is_named),
        cmocka_unit_test(long_text_is_cut),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
