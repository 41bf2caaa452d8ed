/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A compute kernel on all multiprocessors of this rank's GPU, on a stream of its own, for
 * communication to run beside. It computes in registers alone, so that only the want of
 * multiprocessors slows it down. Needs perf_cuda to be open; after opening, a failing call ends the
 * job. */
#ifndef PERF_BUSY_H
#define PERF_BUSY_H

#include <stdbool.h>

/* Loads the kernel. Returns false with the cause in reason [PERF_TEXT_MAX] when that fails or the
 * program was built without nvcc. */
bool perf_busy_open(char *reason);
void perf_busy_close(void);

/* Makes the kernel last about so many seconds when nothing runs beside it. Runs it a few times. */
void perf_busy_set(double seconds);

/* Launches the kernel; one at a time. */
void perf_busy_start(void);

/* Waits for it. Returns the seconds it took on the GPU. */
double perf_busy_finish(void);

#endif
