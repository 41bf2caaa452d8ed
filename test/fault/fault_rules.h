/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Which calls shall fail, and how: a list of rules, as an environment variable or a test gives it.
 * Compiled into each library that makes calls fail, which has a list of its own.
 *
 *     [RANK:]NAME@N=ACTION,...
 *
 * On the process of that rank (of the launcher; on all when there is none) the N-th call of NAME
 * since the list was given, or of any function when NAME is `any`, meets ACTION; N of 0 means each
 * call. Two actions are the same everywhere: `delay:MS` sleeps before the call, and `kill` ends the
 * process at once, as kill -9 does. The others are the library's own. */
#ifndef FAULT_RULES_H
#define FAULT_RULES_H

#include <stdbool.h>

#define FAULT_ACTION_MAX 32
#define FAULT_NAME_MAX   64

/* Replaces the list, and counts calls from now on; NULL and "" leave no rule. Any thread. Returns
 * false, keeping the rules before it, at one that makes no sense. */
bool fault_rules_set(const char *list);

/* While on, calls pass without being counted: for what a test does itself. */
void fault_rules_hold(bool on);

/* The first function that met an action since the list was given, "" when none did. Static. */
const char *fault_rules_fired(void);

/* Asks about the call of function that is about to be made; a name may end in _v and a number,
 * which rules leave out. for_any tells whether rules for `any` count it. Sleeps or ends the process
 * where that is the action. Returns whether the call has another one, which is in action. */
bool fault_rules_next(const char *function, bool for_any, char action[FAULT_ACTION_MAX]);

#endif
