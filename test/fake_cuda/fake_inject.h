/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Calls that fail because FAKE_CUDA_FAIL or a test says so, by rules as in fault_rules.h. Actions:
 *
 *     ERROR          a number of CUresult: the call does nothing and returns it. A call that ends
 *                    something (a stream, a mapping) does so and then returns it, since what a
 *                    driver reports there is the failure of earlier work
 *     after:ERROR    a call that queues work or ends something does so and then returns the error;
 *                    `any` counts such calls alone
 *     delay:MS, kill
 *
 * `any` leaves out cuGetProcAddress, cuGetErrorName and cuGetErrorString, and cuStreamQuery, which
 * is called as often as the machine is slow. */
#ifndef FAKE_INJECT_H
#define FAKE_INJECT_H

#include "fake_cuda.h"

#include <stdbool.h>

/* What the call that is about to be made shall return instead, CUDA_SUCCESS when it may go on.
 * acts tells whether it queues work or ends something; *late_p whether it is to do so first. */
CUresult fake_inject(const char *function, bool acts, bool *late_p);

/* For tests, by dlsym: give the rules anew, from which calls are counted (0 if they make no sense);
 * the first function that met one since, "" for none; let calls pass uncounted for a while. */
FAKE_EXPORT int fake_cuda_arm(const char *rules);
FAKE_EXPORT const char *fake_cuda_fired(void);
FAKE_EXPORT void fake_cuda_hold(int on);

#endif
