/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Calls that fail because FAKE_CUDA_FAIL says so: a comma-separated list of
 *
 *     [RANK:]NAME@N=ERROR
 *
 * On the process of that rank (of the launcher; on all when there is none) the N-th call of NAME,
 * without _v2, or of any function when NAME is `any`, does nothing and returns ERROR, a number of
 * CUresult. N of 0 means each call. `any` leaves out cuGetProcAddress, cuGetErrorName and
 * cuGetErrorString, and cuStreamQuery, which is called as often as the machine is slow. */
#ifndef FAKE_INJECT_H
#define FAKE_INJECT_H

#include "fake_cuda.h"

/* What the call that is about to be made shall return instead, CUDA_SUCCESS when it may go on. */
CUresult fake_inject(const char *function);

#endif
