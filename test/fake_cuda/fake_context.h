/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Contexts, which of them is current in a thread, and the errors that stick to them. */
#ifndef FAKE_CONTEXT_H
#define FAKE_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>

#include "fake_cuda.h"

struct CUctx_st {
    unsigned long long id; /* never used twice, unlike the handle */
    int gpu;
    CUdevice device;
    bool primary;
    int references; /* of a primary one */
    bool alive;
    CUresult sticky;      /* the error that all calls in it return from now on */
    pthread_mutex_t lock; /* of the two below */
    pthread_cond_t idle;
    unsigned pending[2]; /* work not done: [0] of blocking streams, [1] of non-blocking ones */
};

/* The thread's current context, NULL when there is none. */
CUcontext fake_context_current(void);

/* Whether the current context can be worked in: CUDA_SUCCESS, CUDA_ERROR_INVALID_CONTEXT,
 * CUDA_ERROR_CONTEXT_IS_DESTROYED or its sticky error. */
CUresult fake_context_usable(void);

/* Breaks the context, telling why, as a kernel that faults does. */
void fake_context_fault(CUcontext context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
CUresult fake_context_sticky(CUcontext context);

/* Work of a stream begins and ends; and waiting until no work is left. */
void fake_context_begin(CUcontext context, bool blocking);
void fake_context_end(CUcontext context, bool blocking);
void fake_context_drain(CUcontext context, bool non_blocking_too);

/* Whether any context has faulted; nothing that is left then is a leak. */
bool fake_context_any_fault(void);

/* References to primary contexts. */
long fake_context_references(void);

#endif
