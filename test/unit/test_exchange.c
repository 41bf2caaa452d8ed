/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Agreement: with threads in place of ranks, that all get the outcome of the lowest rank that
 * failed, that one rank tells why, and that descriptors are swapped by all or by none. */
#include "symm_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "symm_exchange.h"
#include "thread_ranks.h"

typedef struct rank {
    symm_error_t error;
    symm_fds_t mine;
    int number;
    int result;
} rank_t;

static rank_t ranks[RANKS];
static symm_exchange_t exchanges[RANKS];

static void *agree(void *argument)
{
    rank_t *me = argument;
    me->result = symm_agree(&exchanges[me->number], &me->error, "the user's call");
    return NULL;
}

static void *swap(void *argument)
{
    rank_t *me = argument;
    me->result =
        symm_exchange_descriptors(&exchanges[me->number], &me->mine, &me->error, "the user's call");
    return NULL;
}

static void run(void *(*function)(void *) )
{
    ranks_run(function, ranks, sizeof(ranks[0]));
}

static int set_up(void **state)
{
    (void) state;
    memset(ranks, 0, sizeof(ranks));
    for (int r = 0; r < RANKS; ++r) {
        ranks[r].number = r;
    }
    ranks_begin(exchanges);
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    ranks_end(exchanges);
    return 0;
}

/* ---- what goes to stderr meanwhile ---- */

static char told[4096];

static void run_listening(void *(*function)(void *) )
{
    int file = memfd_create("stderr", MFD_CLOEXEC);
    int saved = dup(STDERR_FILENO);
    assert_true(0 <= file && 0 <= saved);
    assert_true(0 <= dup2(file, STDERR_FILENO));
    run(function);
    assert_true(0 <= dup2(saved, STDERR_FILENO));
    ssize_t len = pread(file, told, sizeof(told) - 1, 0);
    assert_true(0 <= len);
    told[len] = '\0';
    (void) close(file);
    (void) close(saved);
}

static int lines_told(void)
{
    int lines = 0;
    for (const char *c = told; '\0' != *c; ++c) {
        lines += '\n' == *c ? 1 : 0;
    }
    return lines;
}

/* ---- agreement ---- */

static void first_error_of_the_codes(void **state)
{
    (void) state;
    assert_int_equal(symm_agree_first_error((int[]){0, 0, 0}, 3), -1);
    assert_int_equal(symm_agree_first_error((int[]){5, 0, 0}, 3), 0);
    assert_int_equal(symm_agree_first_error((int[]){0, 0, 5}, 3), 2);
    assert_int_equal(symm_agree_first_error((int[]){0, 7, 5}, 3), 1);
    assert_int_equal(symm_agree_first_error((int[]){0, 0, 5}, 2), -1);
    assert_int_equal(symm_agree_first_error(NULL, 0), -1);
}

static void all_succeed(void **state)
{
    (void) state;
    run_listening(agree);
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(ranks[r].result, MPI_SUCCESS);
    }
    assert_string_equal(told, "");
}

/* Every set of ranks fails once, each with a code of its own. */
static void lowest_failing_rank_decides(void **state)
{
    (void) state;
    for (int failing = 1; failing < 1 << RANKS; ++failing) {
        int lowest = -1;
        for (int r = 0; r < RANKS; ++r) {
            memset(&ranks[r].error, 0, sizeof(ranks[r].error));
            if (0 != (failing >> r & 1)) {
                (void) symm_error_set(&ranks[r].error, 10 + r, "cause of rank %d", r);
                lowest = 0 > lowest ? r : lowest;
            }
        }
        run_listening(agree);
        for (int r = 0; r < RANKS; ++r) {
            assert_int_equal(ranks[r].result, 10 + lowest);
        }
        char cause[32];
        (void) snprintf(cause, sizeof(cause), "cause of rank %d", lowest);
        assert_non_null(strstr(told, cause)); /* that one, and nobody else */
        assert_non_null(strstr(told, "the user's call"));
        assert_int_equal(lines_told(), 1);
    }
}

static void broken_communicator_is_told_apart(void **state)
{
    (void) state;
    ranks_broken = 2;
    run_listening(agree);
    assert_int_equal(ranks[2].result, MPI_ERR_COMM);
    assert_int_equal(ranks[0].result, MPI_SUCCESS); /* it cannot know */
    assert_non_null(strstr(told, "rank 2"));
}

/* ---- descriptors ---- */

/* Rank r has r descriptors to send, each marked. */
static void make_descriptors(void)
{
    for (int r = 0; r < RANKS; ++r) {
        for (int i = 0; i < r; ++i) {
            int mark = 10 * r + i;
            int fd = memfd_create("test", MFD_CLOEXEC);
            assert_int_equal(write(fd, &mark, sizeof(mark)), sizeof(mark));
            ranks[r].mine.fd[i] = fd;
        }
        ranks[r].mine.count = r;
    }
}

static void close_descriptors(void)
{
    for (int r = 0; r < RANKS; ++r) {
        symm_fds_close(&ranks[r].mine);
    }
}

static void assert_received(const symm_exchange_t *exchange)
{
    for (int r = 0; r < RANKS; ++r) {
        const symm_fds_t *fds = &exchange->received[r];
        assert_int_equal(fds->count, r == exchange->rank ? 0 : r);
        for (int i = 0; i < fds->count; ++i) {
            int mark = -1;
            assert_int_equal(pread(fds->fd[i], &mark, sizeof(mark), 0), sizeof(mark));
            assert_int_equal(mark, 10 * r + i);
        }
    }
}

static void descriptors_are_swapped(void **state)
{
    (void) state;
    int before = open_descriptors();
    make_descriptors();
    run(swap);
    close_descriptors();
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(ranks[r].result, MPI_SUCCESS);
        assert_received(&exchanges[r]);
        symm_exchange_close_received(&exchanges[r]);
        symm_exchange_close_received(&exchanges[r]); /* there are none any more */
    }
    assert_int_equal(open_descriptors(), before);
}

/* All ranks get `code`, and nothing stays open beside what they wanted to send. */
static void assert_swap_fails(int code, int before)
{
    run_listening(swap);
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(ranks[r].result, code);
        for (int peer = 0; peer < RANKS; ++peer) {
            assert_int_equal(exchanges[r].received[peer].count, 0);
        }
    }
    assert_int_equal(open_descriptors(), before);
}

static void earlier_error_stops_all(void **state)
{
    (void) state;
    make_descriptors();
    int before = open_descriptors();
    for (int r = 0; r < RANKS; ++r) {
        memset(&ranks[r].error, 0, sizeof(ranks[r].error));
        (void) symm_error_set(&ranks[r].error, MPI_ERR_NO_MEM, "no memory here");
        assert_swap_fails(MPI_ERR_NO_MEM, before);
        memset(&ranks[r].error, 0, sizeof(ranks[r].error));
    }
    close_descriptors();
}

/* Threads share their limit, so all of them fail; how far they get depends on how many are left. */
static void descriptors_run_out_anywhere(void **state)
{
    (void) state;
    make_descriptors();
    int free_fd = dup(STDIN_FILENO);
    (void) close(free_fd);
    struct rlimit saved, limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
    /* The four ends, and then some of what is received; 3 x 6 descriptors and the ends are enough.
     */
    for (int more = 0; more < 3 * 6 + RANKS; ++more) {
        for (int r = 0; r < RANKS; ++r) {
            memset(&ranks[r].error, 0, sizeof(ranks[r].error));
        }
        int before = open_descriptors();
        limit = saved;
        limit.rlim_cur = (rlim_t) (free_fd + more);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        run(swap);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
        for (int r = 0; r < RANKS; ++r) {
            assert_int_equal(ranks[r].result, MPI_ERR_OTHER);
        }
        assert_int_equal(open_descriptors(), before);
    }
    close_descriptors();
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(first_error_of_the_codes),     TEST(all_succeed),
        TEST(lowest_failing_rank_decides),  TEST(broken_communicator_is_told_apart),
        TEST(descriptors_are_swapped),      TEST(earlier_error_stops_all),
        TEST(descriptors_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
