/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What becomes of a window: how info values are read, and the decision for every combination of
 * what the ranks ask for, compared with the rules of the design written down once more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpi.h>
#include <string.h>

#include "osc_symm_decide.h"

/* ---- reading info values ---- */

static osc_symm_request_t read_values(osc_symm_info_values_t values, const char *default_kind,
                                      int code)
{
    osc_symm_request_t request = {.want = 99, .required = 99, .noncontig = 99, .code = 99};
    symm_error_t error = {0};
    osc_symm_read_request(&values, default_kind, &request, &error);
    assert_int_equal(request.code, code);
    assert_int_equal(error.code, code);
    return request;
}

static void kinds(void **state)
{
    static const struct {
        const char *value;
        osc_symm_want_t want;
    } expected[] = {
        {NULL, OSC_SYMM_WANT_NOTHING},           {"", OSC_SYMM_WANT_NOTHING},
        {"system", OSC_SYMM_WANT_SYSTEM},        {"cuda:device", OSC_SYMM_WANT_CUDA},
        {"cuda", OSC_SYMM_WANT_UNKNOWN},         {"cuda:managed", OSC_SYMM_WANT_UNKNOWN},
        {"cuda:device ", OSC_SYMM_WANT_UNKNOWN}, {" system", OSC_SYMM_WANT_UNKNOWN},
        {"System", OSC_SYMM_WANT_UNKNOWN},       {"systematic", OSC_SYMM_WANT_UNKNOWN},
        {"syste", OSC_SYMM_WANT_UNKNOWN},        {"system,cuda:device", OSC_SYMM_WANT_UNKNOWN},
    };
    (void) state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); ++i) {
        osc_symm_request_t request = read_values(
            (osc_symm_info_values_t){.memory_kind = expected[i].value}, NULL, MPI_SUCCESS);
        assert_int_equal(request.want, expected[i].want);
        assert_int_equal(request.required, 0);
        assert_int_equal(request.noncontig, 0);
    }
}

/* The parameter counts where the program says nothing. */
static void default_kind(void **state)
{
    (void) state;
    osc_symm_info_values_t none = {0};
    osc_symm_info_values_t host = {.memory_kind = "system"};
    assert_int_equal(read_values(none, "", MPI_SUCCESS).want, OSC_SYMM_WANT_NOTHING);
    assert_int_equal(read_values(none, "cuda:device", MPI_SUCCESS).want, OSC_SYMM_WANT_CUDA);
    assert_int_equal(read_values(none, "nonsense", MPI_SUCCESS).want, OSC_SYMM_WANT_UNKNOWN);
    assert_int_equal(read_values(host, "cuda:device", MPI_SUCCESS).want, OSC_SYMM_WANT_SYSTEM);
}

static void booleans(void **state)
{
    static const struct {
        const char *value;
        int flag;
        bool malformed;
    } expected[] = {
        {NULL, 0, false},   {"true", 1, false}, {"TRUE", 1, false},    {"yes", 1, false},
        {"1", 1, false},    {"on", 1, false},   {"false", 0, false},   {"False", 0, false},
        {"no", 0, false},   {"0", 0, false},    {"off", 0, false},     {"", 0, true},
        {"maybe", 0, true}, {"2", 0, true},     {"truetrue", 0, true}, {"tru", 0, true},
        {" true", 0, true}, {"-1", 0, true},
    };
    (void) state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); ++i) {
        int code = expected[i].malformed ? MPI_ERR_INFO_VALUE : MPI_SUCCESS;
        osc_symm_info_values_t required = {.memory_kind = "system", .required = expected[i].value};
        osc_symm_info_values_t noncontig = {.noncontig = expected[i].value};
        osc_symm_request_t request = read_values(required, NULL, code);
        assert_int_equal(request.required, expected[i].flag);
        assert_int_equal(request.want, OSC_SYMM_WANT_SYSTEM);
        /* A hint that is not understood is no error. */
        assert_int_equal(read_values(noncontig, NULL, MPI_SUCCESS).noncontig, expected[i].flag);
    }
}

static void asserted_kinds_filter(void **state)
{
    static const struct {
        const char *list;
        bool allows_cuda;
    } expected[] = {
        {NULL, true},
        {"cuda", true},
        {"cuda:device", true},
        {"system,cuda:device", true},
        {"cuda:device,system", true},
        {"mpi, cuda , system", true},
        {"system", false},
        {"", false},
        {",,", false},
        {"mpi,system", false},
        {"cuda:host", false},
        {"cuda:managed,cuda:host", false},
        {"cuda:devices", false},
        {"cud", false},
        {"xcuda", false},
    };
    (void) state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); ++i) {
        osc_symm_info_values_t gpu = {.memory_kind = "cuda:device",
                                      .asserted_kinds = expected[i].list};
        osc_symm_info_values_t by_default = {.asserted_kinds = expected[i].list};
        osc_symm_want_t want = expected[i].allows_cuda ? OSC_SYMM_WANT_CUDA : OSC_SYMM_WANT_NOTHING;
        assert_int_equal(read_values(gpu, NULL, MPI_SUCCESS).want, want);
        assert_int_equal(read_values(by_default, "cuda:device", MPI_SUCCESS).want, want);
        /* They never ask for anything. */
        assert_int_equal(read_values(by_default, "", MPI_SUCCESS).want, OSC_SYMM_WANT_NOTHING);
        /* Host memory is in every program's use. */
        gpu.memory_kind = "system";
        assert_int_equal(read_values(gpu, NULL, MPI_SUCCESS).want, OSC_SYMM_WANT_SYSTEM);
    }
}

/* ---- the decision for every combination ---- */

#define RANKS_MAX 3

/* One rank's request by number: four wants, required or not, another component there or not, of
 * this host or another, noncontiguous or not. */
#define REQUESTS (4 * 2 * 2 * 2)

static osc_symm_request_t numbered_request(int number)
{
    return (osc_symm_request_t){.want = (uint8_t) (number % 4),
                                .required = (uint8_t) (number / 4 % 2),
                                .has_next = (uint8_t) (number / 8 % 2),
                                .host = 7000 + (uint64_t) (number / 16 % 2),
                                .uid = 1000,
                                .noncontig = (uint8_t) (number % 3 != 0)};
}

typedef struct outcome {
    osc_symm_action_t action;
    symm_kind_t kind;
} outcome_t;

static bool all_want_the_same_known_kind(const osc_symm_request_t *requests, int size)
{
    bool same = OSC_SYMM_WANT_SYSTEM == requests[0].want || OSC_SYMM_WANT_CUDA == requests[0].want;
    for (int r = 1; r < size; ++r) {
        same = same && requests[r].want == requests[0].want;
    }
    return same;
}

/* The rules: what all agree on and can have, they get. Otherwise: an error if anybody insists; else
 * the other component if all have one; else host memory if all are on one host; else an error. */
static outcome_t expected_outcome(const osc_symm_request_t *requests, int size)
{
    bool one_host = true, insists = false, all_have_next = true;
    for (int r = 0; r < size; ++r) {
        one_host = one_host && requests[r].host == requests[0].host;
        insists = insists || 0 != requests[r].required;
        all_have_next = all_have_next && 0 != requests[r].has_next;
    }
    if (one_host && all_want_the_same_known_kind(requests, size)) {
        return (outcome_t){OSC_SYMM_USE, OSC_SYMM_WANT_CUDA == requests[0].want
                                             ? SYMM_KIND_CUDA_DEVICE
                                             : SYMM_KIND_SYSTEM};
    }
    if (insists) {
        return (outcome_t){OSC_SYMM_FAIL, 0};
    }
    if (all_have_next) {
        return (outcome_t){OSC_SYMM_DELEGATE, 0};
    }
    return (outcome_t){one_host ? OSC_SYMM_USE : OSC_SYMM_FAIL, SYMM_KIND_SYSTEM};
}

static bool all_noncontig(const osc_symm_request_t *requests, int size)
{
    bool all = true;
    for (int r = 0; r < size; ++r) {
        all = all && 0 != requests[r].noncontig;
    }
    return all;
}

static bool any_asked(const osc_symm_request_t *requests, int size)
{
    bool any = false;
    for (int r = 0; r < size; ++r) {
        any = any || OSC_SYMM_WANT_NOTHING != requests[r].want;
    }
    return any;
}

static void check_decision(const osc_symm_request_t *requests, int size)
{
    osc_symm_decision_t decision;
    outcome_t expected = expected_outcome(requests, size);
    memset(&decision, 0x5a, sizeof(decision));
    osc_symm_decide(requests, size, &decision);
    assert_int_equal(decision.action, expected.action);
    assert_true(decision.noncontig == all_noncontig(requests, size));
    assert_true(decision.asked == any_asked(requests, size));
    assert_non_null(decision.reason);
    if (OSC_SYMM_USE == expected.action) {
        assert_int_equal(decision.kind, expected.kind);
    }
    if (OSC_SYMM_FAIL == expected.action) {
        assert_int_not_equal(decision.code, MPI_SUCCESS);
        assert_int_not_equal(strlen(decision.reason), 0);
    }
    if (OSC_SYMM_USE == expected.action && all_want_the_same_known_kind(requests, size)) {
        assert_string_equal(decision.reason, ""); /* nothing to complain of */
    }
}

static void every_combination(void **state)
{
    osc_symm_request_t requests[RANKS_MAX];
    (void) state;
    for (int a = 0; a < REQUESTS; ++a) {
        requests[0] = numbered_request(a);
        check_decision(requests, 1);
        for (int b = 0; b < REQUESTS; ++b) {
            requests[1] = numbered_request(b);
            check_decision(requests, 2);
            for (int c = 0; c < REQUESTS; ++c) {
                requests[2] = numbered_request(c);
                check_decision(requests, 3);
            }
        }
    }
}

/* Without a wish there is nothing to complain of, whoever serves the window. */
static void nobody_asked(void **state)
{
    osc_symm_request_t requests[2] = {numbered_request(0), numbered_request(0)};
    osc_symm_decision_t decision;
    (void) state;
    osc_symm_decide(requests, 2, &decision);
    assert_string_equal(decision.reason, "");
    requests[0].has_next = requests[1].has_next = 1;
    osc_symm_decide(requests, 2, &decision);
    assert_int_equal(decision.action, OSC_SYMM_DELEGATE);
    assert_string_equal(decision.reason, "");
}

static void another_user_is_another_host(void **state)
{
    osc_symm_request_t requests[2] = {numbered_request(OSC_SYMM_WANT_SYSTEM),
                                      numbered_request(OSC_SYMM_WANT_SYSTEM)};
    osc_symm_decision_t decision;
    (void) state;
    requests[1].uid = 1001;
    osc_symm_decide(requests, 2, &decision);
    assert_int_equal(decision.action, OSC_SYMM_FAIL);
    assert_int_equal(decision.code, MPI_ERR_UNSUPPORTED_OPERATION);
}

/* Whatever else is asked for, and the lowest rank's code for all. */
static void malformed_value_is_an_error(void **state)
{
    (void) state;
    for (int a = 0; a < REQUESTS; ++a) {
        osc_symm_request_t requests[3] = {numbered_request(a), numbered_request(a),
                                          numbered_request(a)};
        osc_symm_decision_t decision;
        requests[1].code = MPI_ERR_INFO_VALUE;
        requests[2].code = MPI_ERR_NO_MEM;
        osc_symm_decide(requests, 3, &decision);
        assert_int_equal(decision.action, OSC_SYMM_FAIL);
        assert_int_equal(decision.code, MPI_ERR_INFO_VALUE);
    }
}

/* ---- after a failure ---- */

static osc_symm_decision_t decision_after_failure(osc_symm_want_t want, bool required, bool next)
{
    osc_symm_request_t request = {
        .want = (uint8_t) want, .required = required, .has_next = next, .host = 1};
    osc_symm_decision_t decision;
    osc_symm_decide(&request, 1, &decision);
    assert_int_equal(decision.action, OSC_SYMM_USE);
    osc_symm_decide_after_failure(&decision, MPI_ERR_NO_MEM);
    return decision;
}

static void failure_of_gpu_memory(void **state)
{
    (void) state;
    assert_int_equal(decision_after_failure(OSC_SYMM_WANT_CUDA, false, true).action,
                     OSC_SYMM_DELEGATE);
    osc_symm_decision_t host = decision_after_failure(OSC_SYMM_WANT_CUDA, false, false);
    assert_int_equal(host.action, OSC_SYMM_USE);
    assert_int_equal(host.kind, SYMM_KIND_SYSTEM);
    osc_symm_decide_after_failure(&host, MPI_ERR_OTHER);
    assert_int_equal(host.action, OSC_SYMM_FAIL); /* and not for ever */
    assert_int_equal(host.code, MPI_ERR_OTHER);
    for (int next = 0; next < 2; ++next) {
        osc_symm_decision_t failed = decision_after_failure(OSC_SYMM_WANT_CUDA, true, 0 != next);
        assert_int_equal(failed.action, OSC_SYMM_FAIL);
        assert_int_equal(failed.code, MPI_ERR_NO_MEM);
    }
}

static void failure_of_host_memory(void **state)
{
    (void) state;
    assert_int_equal(decision_after_failure(OSC_SYMM_WANT_SYSTEM, false, true).action,
                     OSC_SYMM_DELEGATE);
    for (int required = 0; required < 2; ++required) {
        osc_symm_decision_t failed =
            decision_after_failure(OSC_SYMM_WANT_SYSTEM, 0 != required, false);
        assert_int_equal(failed.action, OSC_SYMM_FAIL);
        assert_int_equal(failed.code, MPI_ERR_NO_MEM);
    }
    /* The host memory that stood in for a wish that nobody knew. */
    assert_int_equal(decision_after_failure(OSC_SYMM_WANT_UNKNOWN, false, false).action,
                     OSC_SYMM_FAIL);
}

/* ---- memory of the program's own ---- */

/* Two ranks that bring memory of these kinds, with another component there for host memory. */
static osc_symm_decision_t decide_memory(osc_symm_want_t want, osc_symm_memory_t first,
                                         osc_symm_memory_t second, bool served, bool required)
{
    osc_symm_request_t requests[2] = {{.want = (uint8_t) want,
                                       .has_next = 1,
                                       .host = 1,
                                       .memory = (uint8_t) first,
                                       .served = served,
                                       .required = required}};
    osc_symm_decision_t decision;
    requests[1] = requests[0];
    requests[1].memory = (uint8_t) second;
    osc_symm_decide(requests, 2, &decision);
    return decision;
}

static void host_memory_is_for_others_unless_asked(void **state)
{
    const osc_symm_memory_t host = OSC_SYMM_MEMORY_SYSTEM;
    (void) state;
    assert_int_equal(decide_memory(OSC_SYMM_WANT_NOTHING, host, host, false, false).action,
                     OSC_SYMM_DELEGATE);
    assert_int_equal(decide_memory(OSC_SYMM_WANT_NOTHING, host, host, true, false).action,
                     OSC_SYMM_USE);
    osc_symm_decision_t asked = decide_memory(OSC_SYMM_WANT_SYSTEM, host, host, false, true);
    assert_int_equal(asked.action, OSC_SYMM_USE);
    assert_int_equal(asked.kind, SYMM_KIND_SYSTEM);
    assert_string_equal(asked.reason, "");
}

static void gpu_memory_is_ours(void **state)
{
    const osc_symm_memory_t gpu = OSC_SYMM_MEMORY_CUDA;
    const osc_symm_memory_t kinds[] = {OSC_SYMM_MEMORY_NONE, OSC_SYMM_MEMORY_SYSTEM, gpu};
    (void) state;
    for (int i = 0; i < 3; ++i) {
        osc_symm_decision_t decision =
            decide_memory(OSC_SYMM_WANT_NOTHING, kinds[i], gpu, false, false);
        assert_int_equal(decision.action, OSC_SYMM_USE);
        assert_int_equal(decision.kind, SYMM_KIND_CUDA_DEVICE);
        assert_string_equal(decision.reason, "");
    }
    osc_symm_decision_t failed = decide_memory(OSC_SYMM_WANT_NOTHING, gpu, gpu, false, false);
    osc_symm_decide_after_failure(&failed, MPI_ERR_UNSUPPORTED_OPERATION);
    assert_int_equal(failed.action, OSC_SYMM_FAIL); /* no other component may have it */
    assert_int_equal(failed.code, MPI_ERR_UNSUPPORTED_OPERATION);
}

static void memory_of_another_kind_than_named(void **state)
{
    const osc_symm_memory_t host = OSC_SYMM_MEMORY_SYSTEM;
    const osc_symm_memory_t gpu = OSC_SYMM_MEMORY_CUDA;
    (void) state;
    assert_int_equal(decide_memory(OSC_SYMM_WANT_CUDA, host, gpu, false, true).action,
                     OSC_SYMM_FAIL);
    assert_int_equal(decide_memory(OSC_SYMM_WANT_SYSTEM, host, gpu, false, true).action,
                     OSC_SYMM_FAIL);
    assert_int_equal(decide_memory(OSC_SYMM_WANT_CUDA, host, host, false, false).action,
                     OSC_SYMM_DELEGATE);
    osc_symm_decision_t less = decide_memory(OSC_SYMM_WANT_SYSTEM, gpu, gpu, false, false);
    assert_int_equal(less.action, OSC_SYMM_USE);
    assert_int_equal(less.kind, SYMM_KIND_CUDA_DEVICE);
    assert_string_not_equal(less.reason, ""); /* so get_info says nothing */
    assert_int_equal(
        decide_memory(OSC_SYMM_WANT_CUDA, OSC_SYMM_MEMORY_NONE, gpu, false, true).action,
        OSC_SYMM_USE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(default_kind),
        cmocka_unit_test(booleans),
        cmocka_unit_test(asserted_kinds_filter),
        cmocka_unit_test(every_combination),
        cmocka_unit_test(nobody_asked),
        cmocka_unit_test(another_user_is_another_host),
        cmocka_unit_test(malformed_value_is_an_error),
        cmocka_unit_test(failure_of_gpu_memory),
        cmocka_unit_test(failure_of_host_memory),
        cmocka_unit_test(host_memory_is_for_others_unless_asked),
        cmocka_unit_test(gpu_memory_is_ours),
        cmocka_unit_test(memory_of_another_kind_than_named),
    };
    return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
