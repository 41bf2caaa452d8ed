/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What the fake driver has to say: misuse as it happens, and at the process's end what is left. */
#ifndef FAKE_REPORT_H
#define FAKE_REPORT_H

#include <stdbool.h>

#include "fake_cuda.h"

/* The exit status of a process that misused the driver or leaked (FAKE_CUDA_STRICT=0: its own). */
#define FAKE_EXIT_STATUS 87

/* Writes a line "fake_cuda: misuse: CALL: ..." and counts it. Returns result, to be returned. */
CUresult fake_misuse(CUresult result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes a line "fake_cuda: leak: ..." and counts it. */
void fake_leak(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes a line about the fake itself. */
void fake_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number from the environment, fallback where it is unset or none. */
long fake_env_number(const char *name, long fallback);

/* For tests, by dlsym("fake_cuda_count"): how many there are now of "handles", "mappings",
 * "reservations", "device allocations", "pinned allocations", "streams", "modules", "graphs",
 * "graph execs", "primary references"; or how often so far "calls", "misuses". -1 for other words.
 */
FAKE_EXPORT long fake_cuda_count(const char *what);

#endif
