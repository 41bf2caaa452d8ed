/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The fault loop over the system calls and allocations of the product, and over what can happen to
 * the messages of the rendezvous; on host memory and on the
 * fake driver. */
#include "symm_config.h"

#include "fault_calls.h"
#include "fault_loop.h"

static const fault_source_t source = {fault_calls_arm, fault_calls_fired, fault_calls_hold};

static fault_series_t series(const char *name, const char *function, const char *action)
{
    fault_series_t s = {.name = name, .source = &source, .function = function, .action = action};
    return s;
}

static void run_errors(bool fresh)
{
    static const char *const errors[] = {"24", "12", "1", "11", "4"};
    int number = fault_long() ? 5 : 1;
    for (int i = 0; i < number; ++i) {
        fault_series_t s = series("system calls", "any", errors[i]);
        s.fresh = fresh;
        fault_run(&s);
    }
}

static void system_calls_fail(void)
{
    run_errors(false);
}

/* With the first window of a communicator comes its control block. */
static void system_calls_fail_for_the_first_window(void)
{
    run_errors(true);
}

static void ordinary_windows_will_do(void)
{
    static const char *const functions[] = {"socket", "bind"};
    if (SYMM_KIND_SYSTEM == mt_kind) {
        mt_note("left out, there is nothing less than host memory");
        return;
    }
    for (int i = 0; i < 2; ++i) {
        fault_series_t s = series("fall back", functions[i], "24");
        s.fallback = true;
        fault_run(&s);
    }
}

/* Where creations take as long as the rendezvous waits, one number of ranks will do. */
static bool has_the_time(void)
{
    return fault_long() || mt_needs_ranks(3);
}

static void messages_go_astray(void)
{
    if (!has_the_time()) {
        return;
    }
    static const char *const ways[] = {"lost", "short", "token", "rank"};
    for (int i = 0; i < 4; ++i) {
        fault_series_t s = series(ways[i], "sendmsg", ways[i]);
        s.most = fault_long() ? 0 : 1;
        fault_run(&s);
    }
}

static void messages_are_not_accepted(void)
{
    if (!has_the_time()) {
        return;
    }
    static const char *const ways[] = {"stranger", "12"};
    for (int i = 0; i < 2; ++i) {
        fault_series_t s = series(ways[i], "recvmsg", ways[i]);
        s.most = fault_long() ? 0 : 1;
        fault_run(&s);
    }
}

static void descriptors_are_cut_off(void)
{
    fault_series_t s = series("bare messages", "sendmsg", "bare");
    fault_run(&s);
    s = series("bare messages", "recvmsg", "bare");
    fault_run(&s);
}

static void messages_cannot_be_sent(void)
{
    static const char *const errors[] = {"109", "111", "1"};
    for (int i = 0; i < (fault_long() ? 3 : 1); ++i) {
        fault_series_t s = series("messages", "sendmsg", errors[i]);
        fault_run(&s);
    }
}

/* A full queue is no failure, and neither are a late message and one that comes twice. */
static void messages_come_in_the_end(void)
{
    static const char *const ways[] = {"11", "105", "twice", "delay:100"};
    for (int i = 0; i < 4; ++i) {
        fault_series_t s = series(ways[i], "sendmsg", ways[i]);
        s.harmless = true;
        fault_run(&s);
    }
}

static void a_message_comes_too_late(void)
{
    if (!has_the_time()) {
        return;
    }
    fault_series_t s = series("too late", "sendmsg", "delay:2500");
    s.most = 1;
    fault_run(&s);
}

int main(int argc, char **argv)
{
    mt_set_param("osc_symm_cache_bytes", "0");
    mt_set_param("coll_symm_one_shot_max_system", "1024");
    mt_set_param("coll_symm_one_shot_max_cuda", "1024");
    mt_set_param("osc_symm_rendezvous_timeout", "1500");
    mt_init(&argc, &argv, "fault_system");
    MT_RUN(system_calls_fail);
    MT_RUN(system_calls_fail_for_the_first_window);
    MT_RUN(ordinary_windows_will_do);
    MT_RUN(messages_go_astray);
    MT_RUN(messages_are_not_accepted);
    MT_RUN(descriptors_are_cut_off);
    MT_RUN(messages_cannot_be_sent);
    MT_RUN(messages_come_in_the_end);
    MT_RUN(a_message_comes_too_late);
    fault_print_table(8);
    return mt_finish();
}
