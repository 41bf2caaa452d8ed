/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The list of rules, under one lock. */
#include "symm_config.h"

#include "fault_rules.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RULES_MAX 16

typedef struct rule {
    char name[FAULT_NAME_MAX];
    unsigned long which;
    char action[FAULT_ACTION_MAX];
    unsigned long calls;
} rule_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static rule_t rules[RULES_MAX];
static int rule_count;
static bool held;
static char fired[FAULT_NAME_MAX];

/* The rank that the launcher gave this process, -1 without one. */
static long own_rank(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    rank = NULL == rank ? getenv("PMIX_RANK") : rank;
    return NULL == rank ? -1 : strtol(rank, NULL, 10);
}

/* Under the lock. */
static bool read_rule(const char *text)
{
    rule_t rule = {.calls = 0};
    int end = 0;
    int prefix = (int) strspn(text, "0123456789");
    bool ranked = 0 < prefix && ':' == text[prefix];
    const char *rest = ranked ? text + prefix + 1 : text;
    if (RULES_MAX == rule_count ||
        3 != sscanf(rest, "%63[^@]@%lu=%31s%n", rule.name, &rule.which, rule.action, &end) ||
        '\0' != rest[end]) {
        return false;
    }
    if (!ranked || strtol(text, NULL, 10) == own_rank()) {
        rules[rule_count++] = rule;
    }
    return true;
}

bool fault_rules_set(const char *list)
{
    char copy[1024];
    char *rest;
    bool good = true;
    (void) snprintf(copy, sizeof(copy), "%s", NULL == list ? "" : list);
    (void) pthread_mutex_lock(&lock); /* fails only on misuse */
    rule_count = 0;
    fired[0] = '\0';
    for (char *word = strtok_r(copy, ",", &rest); good && NULL != word;
         word = strtok_r(NULL, ",", &rest)) {
        good = read_rule(word);
    }
    (void) pthread_mutex_unlock(&lock);
    return good;
}

void fault_rules_hold(bool on)
{
    (void) pthread_mutex_lock(&lock);
    held = on;
    (void) pthread_mutex_unlock(&lock);
}

const char *fault_rules_fired(void)
{
    return fired;
}

static bool is_about(const rule_t *rule, const char *function, bool for_any)
{
    size_t len = strlen(rule->name);
    if (0 == strcmp("any", rule->name)) {
        return for_any;
    }
    return 0 == strncmp(function, rule->name, len) &&
           ('\0' == function[len] || 0 == strncmp(function + len, "_v", 2));
}

/* Counts the call; whether a rule catches it. Under the lock. */
static bool look_up(const char *function, bool for_any, char action[FAULT_ACTION_MAX])
{
    bool caught = false;
    for (int i = 0; i < rule_count; ++i) {
        rule_t *rule = &rules[i];
        if (!is_about(rule, function, for_any)) {
            continue;
        }
        ++rule->calls;
        if (0 == rule->which || rule->which == rule->calls) {
            (void) strcpy(action, rule->action); /* of the same size */
            caught = true;
        }
    }
    return caught;
}

static void sleep_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (0 != nanosleep(&left, &left)) {
    }
}

bool fault_rules_next(const char *function, bool for_any, char action[FAULT_ACTION_MAX])
{
    (void) pthread_mutex_lock(&lock);
    bool caught = !held && look_up(function, for_any, action);
    if (caught && '\0' == fired[0]) {
        (void) snprintf(fired, sizeof(fired), "%s", function);
    }
    (void) pthread_mutex_unlock(&lock);
    if (caught && 0 == strcmp("kill", action)) {
        (void) raise(SIGKILL);
    }
    if (caught && 0 == strncmp("delay:", action, strlen("delay:"))) {
        sleep_ms(strtol(action + strlen("delay:"), NULL, 10));
        return false;
    }
    return caught;
}
