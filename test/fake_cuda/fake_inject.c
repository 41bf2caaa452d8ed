/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What the rules mean for a driver. */
#include "symm_config.h"

#include "fake_inject.h"

#include "fake_report.h"
#include "fault_rules.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define AFTER "after:"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool any_is_late; /* the rules' actions are "after" ones */

static bool set_rules(const char *rules)
{
    any_is_late = NULL != rules && NULL != strstr(rules, AFTER);
    return fault_rules_set(rules);
}

static void read_environment(void)
{
    const char *rules = getenv("FAKE_CUDA_FAIL");
    if (!set_rules(rules)) {
        (void) fake_misuse(CUDA_SUCCESS, "FAKE_CUDA_FAIL: \"%s\" makes no sense", rules);
    }
}

int fake_cuda_arm(const char *rules)
{
    (void) pthread_once(&once, read_environment); /* cannot fail with a valid control */
    return set_rules(rules) ? 1 : 0;
}

const char *fake_cuda_fired(void)
{
    return fault_rules_fired();
}

void fake_cuda_hold(int on)
{
    fault_rules_hold(0 != on);
}

static bool counts_for_any(const char *function, bool acts)
{
    return 0 != strncmp(function, "cuGet", strlen("cuGet")) &&
           0 != strcmp(function, "cuStreamQuery") && (acts || !any_is_late);
}

CUresult fake_inject(const char *function, bool acts, bool *late_p)
{
    char action[FAULT_ACTION_MAX];
    (void) pthread_once(&once, read_environment);
    *late_p = false;
    if (!fault_rules_next(function, counts_for_any(function, acts), action)) {
        return CUDA_SUCCESS;
    }
    *late_p = 0 == strncmp(action, AFTER, strlen(AFTER));
    long result = strtol(action + (*late_p ? strlen(AFTER) : 0), NULL, 10);
    fake_note("injected: %s returns %ld%s", function, result, *late_p ? " afterwards" : "");
    return (CUresult) result;
}
