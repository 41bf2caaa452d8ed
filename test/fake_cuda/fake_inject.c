/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Reads FAKE_CUDA_FAIL once and counts the calls that it is about. */
#include "symm_config.h"

#include "fake_inject.h"

#include "fake_report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULES_MAX 16

typedef struct rule {
    char name[64]; /* "any" for all functions */
    unsigned long which;
    CUresult result;
    atomic_ulong calls;
} rule_t;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static rule_t rules[RULES_MAX];
static int rule_count;

/* The rank that the launcher gave this process, -1 without one. */
static long own_rank(void)
{
    return fake_env_number("OMPI_COMM_WORLD_RANK", fake_env_number("PMIX_RANK", -1));
}

static void read_rule(const char *text)
{
    rule_t *rule = &rules[rule_count];
    unsigned long which;
    long rank = own_rank();
    int result, end = 0;
    int prefix = (int) strspn(text, "0123456789");
    const char *rest = 0 < prefix && ':' == text[prefix] ? text + prefix + 1 : text;
    if (rest != text) {
        rank = strtol(text, NULL, 10);
    }
    if (RULES_MAX == rule_count ||
        3 != sscanf(rest, "%63[^@]@%lu=%d%n", rule->name, &which, &result, &end) ||
        '\0' != rest[end]) {
        (void) fake_misuse(CUDA_SUCCESS, "FAKE_CUDA_FAIL: \"%s\" makes no sense", text);
        return;
    }
    if (rank == own_rank()) {
        rule->which = which;
        rule->result = (CUresult) result;
        ++rule_count;
    }
}

static void read_rules(void)
{
    char copy[1024];
    char *rest;
    const char *list = getenv("FAKE_CUDA_FAIL");
    (void) snprintf(copy, sizeof(copy), "%s", NULL == list ? "" : list);
    for (char *word = strtok_r(copy, ",", &rest); NULL != word; word = strtok_r(NULL, ",", &rest)) {
        read_rule(word);
    }
}

/* Whether the rule is about the function, whose name may end in _v and a number. */
static bool is_about(const rule_t *rule, const char *function)
{
    size_t len = strlen(rule->name);
    if (0 == strcmp("any", rule->name)) {
        return 0 != strncmp(function, "cuGet", strlen("cuGet")) &&
               0 != strcmp(function, "cuStreamQuery");
    }
    return 0 == strncmp(function, rule->name, len) &&
           ('\0' == function[len] || 0 == strncmp(function + len, "_v", 2));
}

CUresult fake_inject(const char *function)
{
    CUresult result = CUDA_SUCCESS;
    (void) pthread_once(&once, read_rules); /* cannot fail with a valid control */
    for (int i = 0; i < rule_count; ++i) {
        rule_t *rule = &rules[i];
        if (!is_about(rule, function)) {
            continue;
        }
        unsigned long call = 1 + atomic_fetch_add(&rule->calls, 1);
        if (0 == rule->which || rule->which == call) {
            result = rule->result;
        }
    }
    if (CUDA_SUCCESS != result) {
        fake_note("injected: %s returns %d", function, (int) result);
    }
    return result;
}
