/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The fault loop over the calls of the CUDA driver, on the fake one. */
#include "symm_config.h"

#include "fault_loop.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#ifdef FAULT_CUDA_CACHED
#    define NAME   "fault_cuda_cached"
#    define CACHED true
#else
#    define CACHED false
#    ifdef FAULT_CUDA_RESIDENT
#        define NAME     "fault_cuda_resident"
#        define RESIDENT true
#    else
#        define NAME "fault_cuda"
#    endif
#endif
#ifndef RESIDENT
#    define RESIDENT false
#endif

static fault_source_t source;

static struct {
    long (*count)(const char *what);
    int (*set_current)(void *context);
    int (*get_current)(void **context);
    int (*create)(void **context, unsigned flags, int device);
    int (*destroy)(void *context);
    int (*exchange_mode)(int *mode);
    int (*device_count)(int *number);
} driver;

static bool find_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void *slot;
    } functions[] = {
        {"fake_cuda_count", &driver.count},
        {"cuCtxSetCurrent", &driver.set_current},
        {"cuCtxGetCurrent", &driver.get_current},
        {"cuCtxCreate_v2", &driver.create},
        {"cuCtxDestroy_v2", &driver.destroy},
        {"cuThreadExchangeStreamCaptureMode", &driver.exchange_mode},
        {"cuDeviceGetCount", &driver.device_count},
    };
    if (NULL == library || NULL == dlsym(library, "fake_cuda_arm")) {
        mt_skip("the CUDA driver is not the fake one");
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i) {
        void *function = dlsym(library, functions[i].name);
        if (!CHECK_MSG(NULL != function, "no %s", functions[i].name)) {
            return false;
        }
        memcpy(functions[i].slot, &function, sizeof(function));
    }
    return fault_source_find(library, "fake_cuda", &source);
}

/* What the fake has given out. */
/* Graphs and their like: a queue, which has two streams at least, may keep so many for later. */
#define GRAPHS_OF_A_QUEUE 8

static long graphs_beyond(const char *word, long allowed)
{
    long graphs = driver.count(word);
    return graphs > allowed ? graphs : allowed;
}

static int count(long *numbers, const char **names, int max)
{
    static const char *const words[] = {
        "handles", "mappings", "reservations", "device allocations", "pinned allocations",
        "streams", "graphs",   "graph execs",  "primary references", "modules",
        "misuses"};
    int number = (int) (sizeof(words) / sizeof(words[0]));
    long allowed = driver.count("streams") / 2 * GRAPHS_OF_A_QUEUE;
    number = number < max ? number : max;
    for (int i = 0; i < number; ++i) {
        names[i] = words[i];
        numbers[i] = 0 == strncmp(words[i], "graph", 5) ? graphs_beyond(words[i], allowed)
                                                        : driver.count(words[i]);
    }
    return number;
}

/* The thread is left with the mode of stream capture that it had: the strict one, 0. Nobody can
 * help it when the call that sets it is the one that fails. */
static void check_mode(void)
{
    int mode = 0;
    CHECK(0 == driver.exchange_mode(&mode));
    CHECK_MSG(0 == mode || 0 == strcmp("cuThreadExchangeStreamCaptureMode", source.fired()),
              "the mode of stream capture is %d", mode);
}

/* ---- whose context it is ---- */

static void *programs_context;

static void take_context_away(void)
{
    CHECK(0 == driver.get_current(&programs_context));
    CHECK(0 == driver.set_current(NULL));
}

static void give_context_back(void)
{
    void *left = NULL;
    check_mode();
    CHECK(0 == driver.get_current(&left));
    CHECK_MSG(NULL == left, "a context is current that was not before");
    CHECK(0 == driver.set_current(programs_context));
}

static void *own_context;

static int gpu_count(void)
{
    int number = 0;
    CHECK(0 == driver.device_count(&number));
    return 0 < number ? number : 1;
}

static void make_context(void)
{
    CHECK(0 == driver.get_current(&programs_context));
    CHECK(0 == driver.create(&own_context, 0, mt_rank % gpu_count()));
}

static void end_context(void)
{
    void *left = NULL;
    CHECK(0 == driver.get_current(&left));
    CHECK_MSG(own_context == left, "another context is current than before");
    CHECK(0 == driver.destroy(own_context));
    CHECK(0 == driver.set_current(programs_context));
}

static void allow_fabric(void)
{
    (void) setenv("FAKE_CUDA_FABRIC", "1", 1);
    make_context();
}

static void end_fabric(void)
{
    end_context();
    (void) setenv("FAKE_CUDA_FABRIC", "0", 1);
}

/* ---- the series ---- */

static fault_series_t series(const char *name, const char *action)
{
    fault_series_t s = {.name = name,
                        .source = &source,
                        .function = "any",
                        .action = action,
                        .leave = check_mode,
                        .count = count};
    return s;
}

/* CUDA is not in use yet; so this can be done but once. */
static void the_first_window(void)
{
    fault_series_t s = series("first window", "999");
    s.enter = take_context_away;
    s.leave = give_context_back;
    s.once = true;
    s.count = NULL; /* the device stays */
    fault_run(&s);
}

static void in_the_programs_context(void)
{
    static const char *const actions[] = {"2", "999", "719", "304", "800", "201", "700", "1"};
    int number = fault_long() ? 8 : 1;
    for (int i = 0; i < number; ++i) {
        fault_series_t s = series("the program's context", actions[i]);
        fault_run(&s);
    }
}

static void without_a_current_context(void)
{
    fault_series_t s = series("no current context", "999");
    s.enter = take_context_away;
    s.leave = give_context_back;
    fault_run(&s);
}

static void in_a_new_context_each_time(void)
{
    fault_series_t s = series("a new context", "999");
    s.begin = make_context;
    s.end = end_context;
    fault_run(&s);
}

static void with_fabric_handles(void)
{
    fault_series_t s = series("fabric handles", "999");
    s.begin = allow_fabric;
    s.end = end_fabric;
    fault_run(&s);
}

static void errors_of_earlier_work(void)
{
    fault_series_t s = series("errors that come after the deed", "after:719");
    fault_run(&s);
}

static void ordinary_windows_will_do(void)
{
    fault_series_t s = series("fall back", "2");
    s.fallback = true;
    fault_run(&s);
}

/* cuStreamQuery has no part in `any`. */
static void waiting_fails(void)
{
    fault_series_t s = series("waiting", "719");
    s.function = "cuStreamQuery";
    s.most = fault_long() ? 200 : 15;
    fault_run(&s);
}

static void calls_are_late(void)
{
    fault_series_t s = series("late calls", "delay:50");
    s.harmless = true;
    s.function = fault_long() ? "any" : "cuMemMap";
    fault_run(&s);
}

/* ---- the run ---- */

typedef struct test {
    const char *name;
    void (*run)(void);
    bool cached;   /* also with the cache of freed segments, where few rounds make new ones */
    bool resident; /* also with a resident kernel */
    bool two;      /* on 2 ranks only in the short choice */
} test_t;

static const test_t tests[] = {
    {"the_first_window", the_first_window, false, false, false},
    {"in_the_programs_context", in_the_programs_context, true, true, false},
    {"without_a_current_context", without_a_current_context, false, false, true},
    {"in_a_new_context_each_time", in_a_new_context_each_time, false, true, false},
    {"with_fabric_handles", with_fabric_handles, false, false, true},
    {"errors_of_earlier_work", errors_of_earlier_work, true, true, true},
    {"ordinary_windows_will_do", ordinary_windows_will_do, false, false, false},
    {"waiting_fails", waiting_fails, false, true, true},
    {"calls_are_late", calls_are_late, false, false, true},
};

static bool is_chosen(const test_t *test, const char *only)
{
    if (NULL != only) {
        return 0 == strcmp(only, test->name);
    }
    return (test->cached || !CACHED) && (test->resident || !RESIDENT) &&
           (!test->two || 2 == mt_size || fault_long());
}

/* Runs all of them, or only the one that is named. */
static void run_tests(const char *only)
{
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); ++i) {
        if (is_chosen(&tests[i], only)) {
            mt_run(tests[i].name, tests[i].run);
        }
    }
    fault_print_table(NULL != only ? 1 : CACHED ? 10 : 30);
}

/* fault_cuda [TEST] */
int main(int argc, char **argv)
{
    if (!CACHED) {
        mt_set_param("osc_symm_cache_bytes", "0");
    }
    if (RESIDENT) {
        mt_set_param("coll_symm_resident", "1");
        mt_set_param("coll_symm_resident_idle", "1");
        (void) setenv("FAKE_CUDA_DELAY_US", "0", 0); /* it ends before it sees the work */
    }
    mt_set_param("coll_symm_one_shot_max_cuda", "1024");
    mt_set_param("coll_symm_copy_engine_min", CACHED ? "1024" : "1000000000"); /* both ways */
    mt_set_param("osc_symm_rendezvous_timeout", "5000");
    mt_init(&argc, &argv, NAME);
    if (find_driver()) {
        run_tests(1 < argc ? argv[1] : NULL);
    }
    return mt_finish();
}
