/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The one place that every entry point of the fake driver passes, before it does anything. Tracing,
 * counting, injected failures and the checks that all calls share live here. */
#ifndef FAKE_ENTRY_H
#define FAKE_ENTRY_H

#include <stdbool.h>

#include "fake_cuda.h"

/* What a call needs before it may do anything. A context implies cuInit. */
#define FAKE_NEEDS_NOTHING 0u
#define FAKE_NEEDS_INIT    1u
#define FAKE_NEEDS_CONTEXT 2u
/* Not while a stream is captured, unless the thread is relaxed. */
#define FAKE_UNSAFE_IN_CAPTURE 4u
/* The context of what the call is about will do. Older drivers want one to be current, which
 * FAKE_CUDA_CONTEXT=1 asks for. */
#define FAKE_WANTS_CONTEXT 8u
/* Ends something, which is gone then whatever it returns; or queues work. Both return through
 * fake_leave(). */
#define FAKE_ENDS   16u
#define FAKE_QUEUES 32u

/* Ends the calling function with the error of a call that may not go on. */
#define FAKE_ENTER(needs)                                                                          \
    do {                                                                                           \
        CUresult fake_entered = fake_enter(__func__, (needs));                                     \
        if (CUDA_SUCCESS != fake_entered) {                                                        \
            return fake_entered;                                                                   \
        }                                                                                          \
    } while (0)

/* function is the symbol's name, with its _v2 if it has one. */
CUresult fake_enter(const char *function, unsigned needs);

/* The end of a call that ends something or queues work: what it returns instead of result. */
CUresult fake_leave(CUresult result);

/* The call that this thread is in, for messages; "a stream" in a stream's own thread. */
const char *fake_entry_name(void);

/* Calls so far. */
unsigned long fake_entry_count(void);

/* cuInit has succeeded. */
void fake_entry_initialised(void);
bool fake_entry_is_initialised(void);

#endif
