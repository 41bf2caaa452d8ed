/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What all calls have in common. */
#include "symm_config.h"

#include "fake_entry.h"

#include "fake_capture.h"
#include "fake_context.h"
#include "fake_inject.h"
#include "fake_report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_bool initialised;
static atomic_ulong calls;
static _Thread_local const char *current;
static _Thread_local CUresult late; /* what the call returns though it succeeds */
static pthread_once_t options_once = PTHREAD_ONCE_INIT;
static bool trace;
static bool always_context;

static void read_options(void)
{
    trace = 0 != fake_env_number("FAKE_CUDA_TRACE", 0);
    always_context = 0 != fake_env_number("FAKE_CUDA_CONTEXT", 0);
}

const char *fake_entry_name(void)
{
    return NULL == current ? "a stream" : current;
}

unsigned long fake_entry_count(void)
{
    return atomic_load(&calls);
}

void fake_entry_initialised(void)
{
    atomic_store(&initialised, true);
}

bool fake_entry_is_initialised(void)
{
    return atomic_load(&initialised);
}

static CUresult check_needs(unsigned needs)
{
    if (FAKE_NEEDS_NOTHING == needs) {
        return CUDA_SUCCESS;
    }
    if (!fake_entry_is_initialised()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (0 != (needs & FAKE_NEEDS_CONTEXT) ||
        (always_context && 0 != (needs & FAKE_WANTS_CONTEXT))) {
        CUresult usable = fake_context_usable();
        if (CUDA_SUCCESS != usable) {
            return usable;
        }
    }
    if (0 != (needs & FAKE_UNSAFE_IN_CAPTURE) && !fake_capture_survives()) {
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult fake_enter(const char *function, unsigned needs)
{
    current = function;
    unsigned long number = 1 + atomic_fetch_add(&calls, 1);
    (void) pthread_once(&options_once, read_options); /* cannot fail with a valid control */
    if (trace) {
        fake_note("call %lu: %s", number, function);
    }
    bool after;
    CUresult injected = fake_inject(function, 0 != (needs & (FAKE_ENDS | FAKE_QUEUES)), &after);
    bool acts = 0 != (needs & FAKE_ENDS) || (after && 0 != (needs & FAKE_QUEUES));
    late = acts ? injected : CUDA_SUCCESS;
    return CUDA_SUCCESS == injected || acts ? check_needs(needs) : injected;
}

CUresult fake_leave(CUresult result)
{
    return CUDA_SUCCESS == result ? late : result;
}
