/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The report, the checks, and windows and collectives that are certainly ours. Memory is
 * mpi_test_memory.c's work. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Failures that a rank prints; the rest is counted. */
#define FAILURES_SHOWN 10

int mt_rank, mt_size;
symm_kind_t mt_kind;
MPI_Comm mt_comm = MPI_COMM_NULL;

static const char *program = "?";
static const char *running = "";
static atomic_long checks;
static atomic_long failures;
static long failures_before; /* the running test */
static int tests_run;
static int tests_failed;
static _Thread_local char context[512];

/* ---- the run ---- */

static void end_skipped(const char *reason)
{
    if (0 == mt_rank) {
        printf("SKIP: %s: %s\n", program, reason);
        (void) fflush(stdout);
    }
    (void) MPI_Finalize();
    exit(77);
}

void mt_skip(const char *reason)
{
    end_skipped(reason);
    abort(); /* not reached */
}

static void read_kind(void)
{
    const char *kind = getenv("SYMM_TEST_KIND");
    mt_kind = SYMM_KIND_SYSTEM;
    if (NULL == kind || '\0' == *kind || 0 == strcmp(kind, "system")) {
        return;
    }
    if (0 != strcmp(kind, "cuda:device")) {
        fprintf(stderr, "FAIL: SYMM_TEST_KIND is \"%s\"; use system or cuda:device\n", kind);
        (void) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    mt_kind = SYMM_KIND_CUDA_DEVICE;
}

#define HARNESS_TAG 32000

/* Combines two values element by element, by op (MPI_MAX or MPI_SUM), over all ranks of mt_comm: in
 * messages, so that the harness makes no collective that the tests would count. */
static void combine(long long values[2], MPI_Op op)
{
    long long theirs[2];
    if (0 != mt_rank) {
        (void) MPI_Send(values, 2, MPI_LONG_LONG, 0, HARNESS_TAG, mt_comm);
        (void) MPI_Recv(values, 2, MPI_LONG_LONG, 0, HARNESS_TAG, mt_comm, MPI_STATUS_IGNORE);
        return;
    }
    for (int r = 1; r < mt_size; ++r) {
        (void) MPI_Recv(theirs, 2, MPI_LONG_LONG, r, HARNESS_TAG, mt_comm, MPI_STATUS_IGNORE);
        for (int i = 0; i < 2; ++i) {
            bool take = MPI_MAX == op && theirs[i] > values[i];
            values[i] = MPI_SUM == op ? values[i] + theirs[i] : take ? theirs[i] : values[i];
        }
    }
    for (int r = 1; r < mt_size; ++r) {
        (void) MPI_Send(values, 2, MPI_LONG_LONG, r, HARNESS_TAG, mt_comm);
    }
}

/* Skips on all ranks when one of them lacks what the kind needs. */
static void check_kind(void)
{
    const char *missing = mt_memory_missing(mt_kind);
    if (!mt_all(NULL == missing)) {
        mt_skip(NULL != missing ? missing : "a rank has no GPU");
    }
}

static void start(int *argc, char ***argv, const char *name, int level)
{
    int provided = MPI_THREAD_SINGLE;
    program = name;
    (void) setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    if (MPI_SUCCESS != MPI_Init_thread(argc, argv, level, &provided)) {
        fprintf(stderr, "FAIL: %s: MPI_Init_thread\n", program);
        exit(1);
    }
    (void) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    (void) MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    (void) MPI_Comm_rank(MPI_COMM_WORLD, &mt_rank);
    (void) MPI_Comm_size(MPI_COMM_WORLD, &mt_size);
    (void) MPI_Comm_dup(MPI_COMM_WORLD, &mt_comm);
    read_kind();
    if (provided < level) {
        mt_skip("this MPI does not provide MPI_THREAD_MULTIPLE");
    }
    check_kind();
}

void mt_init(int *argc, char ***argv, const char *name)
{
    start(argc, argv, name, MPI_THREAD_SINGLE);
}

void mt_init_threads(int *argc, char ***argv, const char *name)
{
    start(argc, argv, name, MPI_THREAD_MULTIPLE);
}

void mt_set_param(const char *name, const char *value)
{
    char variable[128];
    (void) snprintf(variable, sizeof(variable), "OMPI_MCA_%s", name);
    if (0 != setenv(variable, value, 1)) {
        perror("setenv");
        exit(1);
    }
}

void mt_run(const char *test, void (*function)(void))
{
    failures_before = atomic_load(&failures);
    running = test;
    context[0] = '\0';
    if (0 == mt_rank) {
        printf("RUN: %s %s\n", program, test);
    }
    mt_barrier();
    function();
    context[0] = '\0';
    long long bad[2] = {failures_before != atomic_load(&failures), 0};
    combine(bad, MPI_SUM);
    ++tests_run;
    if (0 < bad[0]) {
        ++tests_failed;
        if (0 == mt_rank) {
            printf("FAIL: %s %s on %lld of %d ranks\n", program, test, bad[0], mt_size);
        }
    }
}

int mt_finish(void)
{
    long long all[2] = {atomic_load(&checks), atomic_load(&failures)};
    combine(all, MPI_SUM);
    bool passed = 0 == tests_failed && 0 == all[1] && 0 < tests_run && 0 < all[0];
    if (0 == mt_rank) {
        printf("%s: %s (%s, %d ranks): %d tests, %d failed; %lld checks, %lld failed\n",
               passed ? "PASS" : "FAIL", program, symm_kind_name(mt_kind), mt_size, tests_run,
               tests_failed, all[0], all[1]);
        (void) fflush(stdout);
    }
    (void) MPI_Comm_free(&mt_comm);
    if (MPI_SUCCESS != MPI_Finalize()) {
        passed = false;
    }
    return passed ? 0 : 1;
}

void mt_note(const char *format, ...)
{
    if (0 != mt_rank) {
        return;
    }
    char line[512];
    va_list args;
    va_start(args, format);
    (void) vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    printf("NOTE: %s %s: %s\n", program, running, line);
}

bool mt_needs_ranks(int ranks)
{
    if (mt_size < ranks) {
        mt_note("left out, needs %d ranks", ranks);
        return false;
    }
    return true;
}

/* ---- checks ---- */

void mt_context(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void) vsnprintf(context, sizeof(context), format, args);
    va_end(args);
}

/* Counts a check that failed; prints it, in one piece, if it is one of the first. */
static void tell_failure(const char *file, int line, const char *text)
{
    long number = atomic_fetch_add(&failures, 1);
    const char *base = strrchr(file, '/');
    if (FAILURES_SHOWN > number) {
        printf("FAIL: %s:%d: rank %d, %s%s%s: %s\n", NULL == base ? file : base + 1, line, mt_rank,
               running, '\0' == context[0] ? "" : ", ", context, text);
    } else if (FAILURES_SHOWN == number) {
        printf("FAIL: rank %d: more failures, not shown\n", mt_rank);
    }
}

bool mt_check(const char *file, int line, bool holds, const char *format, ...)
{
    (void) atomic_fetch_add(&checks, 1);
    if (!holds) {
        char text[512];
        va_list args;
        va_start(args, format);
        (void) vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        tell_failure(file, line, text);
    }
    return holds;
}

bool mt_check_int(const char *file, int line, const char *what, long long expected, long long got)
{
    return mt_check(file, line, expected == got, "%s: expected %lld, got %lld", what, expected,
                    got);
}

int mt_class(int code)
{
    int error_class = MPI_ERR_UNKNOWN;
    if (MPI_SUCCESS != MPI_Error_class(code, &error_class)) {
        return MPI_ERR_UNKNOWN;
    }
    return error_class;
}

bool mt_check_class(const char *file, int line, const char *call, int expected, int code)
{
    int got = mt_class(code);
    char text[MPI_MAX_ERROR_STRING] = "?";
    int len;
    if (expected != got) {
        (void) MPI_Error_string(code, text, &len);
    }
    return mt_check(file, line, expected == got, "%s: expected class %d, got %d (%s)", call,
                    expected, got, text);
}

bool mt_failed(void)
{
    return !mt_all(failures_before == atomic_load(&failures));
}

bool mt_all(bool mine)
{
    long long lacking[2] = {mine ? 0 : 1, 0};
    combine(lacking, MPI_MAX);
    return 0 == lacking[0];
}

bool mt_check_same(const char *file, int line, const char *what, long long value)
{
    long long all[2] = {value, -value};
    combine(all, MPI_MAX);
    return mt_check(file, line, all[0] == -all[1], "%s: %lld here, but from %lld to %lld on all",
                    what, value, -all[1], all[0]);
}

void mt_barrier(void)
{
    long long nothing[2] = {0, 0};
    combine(nothing, MPI_MAX);
}

void mt_sleep_ms(unsigned ms)
{
    struct timespec left = {ms / 1000, (long) (ms % 1000) * 1000000};
    while (0 != nanosleep(&left, &left)) {
    }
}

/* splitmix64 (Steele, Lea, Flood 2014). */
uint64_t mt_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- windows ---- */

MPI_Info mt_info(void)
{
    MPI_Info info = MPI_INFO_NULL;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, SYMM_INFO_MEMORY_KIND, symm_kind_name(mt_kind)));
    CHECK_OK(MPI_Info_set(info, SYMM_INFO_REQUIRED, "true"));
    return info;
}

bool mt_check_ours(const char *file, int line, MPI_Win win)
{
    symm_window_info_t found = {.kind = SYMM_KIND_COUNT};
    int rc = symm_window_query(win, &found);
    return mt_check_class(file, line, "symm_window_query", MPI_SUCCESS, rc) &&
           mt_check(file, line, mt_kind == found.kind, "the window is of kind %s, not %s",
                    symm_kind_name(found.kind), symm_kind_name(mt_kind));
}

static bool finish_window(bool created, size_t size, int disp_unit, mt_win_t *w)
{
    if (!created) {
        w->win = MPI_WIN_NULL;
        return false;
    }
    w->size = size;
    w->disp_unit = disp_unit;
    CHECK_OK(MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN));
    CHECK_OURS(w->win); /* a failure is noted, the window can be used all the same */
    return true;
}

bool mt_allocate(size_t size, int disp_unit, MPI_Comm comm, mt_win_t *w_p)
{
    MPI_Info info = mt_info();
    bool created =
        CHECK_OK(MPI_Win_allocate((MPI_Aint) size, disp_unit, info, comm, &w_p->base, &w_p->win));
    CHECK_OK(MPI_Info_free(&info));
    return finish_window(created, size, disp_unit, w_p);
}

bool mt_allocate_shared(size_t size, int disp_unit, bool noncontig, MPI_Comm comm, mt_win_t *w_p)
{
    MPI_Info info = mt_info();
    if (noncontig) {
        CHECK_OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    }
    bool created = CHECK_OK(
        MPI_Win_allocate_shared((MPI_Aint) size, disp_unit, info, comm, &w_p->base, &w_p->win));
    CHECK_OK(MPI_Info_free(&info));
    return finish_window(created, size, disp_unit, w_p);
}

void mt_win_free(mt_win_t *w)
{
    CHECK_OK(MPI_Win_free(&w->win));
    CHECK(MPI_WIN_NULL == w->win);
}

char *mt_peer(const mt_win_t *w, int rank)
{
    MPI_Aint size = -1;
    int disp_unit = -1;
    char *base = NULL;
    CHECK_OK(MPI_Win_shared_query(w->win, rank, &size, &disp_unit, &base));
    CHECK_MSG(NULL != base, "no address of rank %d's memory", rank);
    return base;
}

/* ---- collectives ---- */

symm_stats_t mt_stats(void)
{
    symm_stats_t stats = {0};
    CHECK_OK(symm_stats_query(&stats));
    return stats;
}

/* Whether the plan's name, which comes after ": " in its text, begins with family. */
static bool plan_is(const char *text, const char *family)
{
    const char *name = strstr(text, ": ");
    return NULL != name && 0 == strncmp(name + 2, family, strlen(family));
}

bool mt_check_served(const char *file, int line, const symm_stats_t *before, const char *family)
{
    symm_stats_t now = mt_stats();
    char plan[SYMM_PLAN_TEXT_MAX] = "";
    CHECK_OK(symm_plan_query(plan, sizeof(plan)));
    return mt_check(file, line, before->collectives + 1 == now.collectives,
                    "not served on symmetric memory; the latest plan is \"%s\"", plan) &&
           mt_check(file, line, NULL == family || plan_is(plan, family),
                    "the plan is \"%s\", not of family %s", plan, NULL == family ? "" : family);
}

bool mt_check_passed(const char *file, int line, const symm_stats_t *before)
{
    symm_stats_t now = mt_stats();
    char plan[SYMM_PLAN_TEXT_MAX] = "";
    CHECK_OK(symm_plan_query(plan, sizeof(plan)));
    return mt_check(file, line, before->collectives_passed + 1 == now.collectives_passed,
                    "not passed to the next component; the latest plan is \"%s\"", plan) &&
           mt_check(file, line, plan_is(plan, "next"), "the plan is \"%s\", not next", plan);
}

static void reduce_device_memory(int *device)
{
    MPI_Request request;
    int value = mt_rank;
    mt_write(device, &value, sizeof(value));
    CHECK_OK(MPI_Iallreduce(device, device + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    mt_read(&value, device + 1, sizeof(value));
    CHECK_INT(mt_size * (mt_size - 1) / 2, value);
}

void mt_provide_scratch(void)
{
    int *device = mt_alloc(MT_DEVICE, 2 * sizeof(int));
    symm_stats_t before = mt_stats();
    reduce_device_memory(device);
    CHECK_PASSED(&before);
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    before = mt_stats();
    reduce_device_memory(device);
    CHECK_SERVED(&before, "one_shot_scratch");
    mt_free(MT_DEVICE, device);
}
