/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The thread that a stream has got takes a piece of work, waits a little (FAKE_CUDA_DELAY_US, on
 * average) and does it. So work that nobody waited for is, as a rule, not done yet. */
#include "symm_config.h"

#include "fake_stream.h"

#include "fake_context.h"
#include "fake_entry.h"
#include "fake_object.h"
#include "fake_report.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_DELAY_US 30
#define STACK_BYTES      ((size_t) 256 << 10)
#define THREADS_AT_FIRST 4

struct CUstream_st {
    fake_object_t object;
    bool blocking; /* waits for the legacy stream and is waited for by it */
    unsigned seed;
    pthread_cond_t done; /* a piece of work is */
    fake_work_t *first;  /* the one being done included */
    fake_work_t *last;
    bool taken;  /* by a thread */
    bool ending; /* goes with its last piece of work */
    CUstream next_ready;
};

/* NOTE threads. A stream with work has a thread of its own, one without has none: threads take
 * streams from the ready list, and there are never fewer of them than streams with work. So a
 * program that makes and ends streams does not make and end threads, whose stacks would look like
 * leaks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all of this and of all streams */
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static CUstream first_ready;
static CUstream *last_ready = &first_ready;
static int ready_count;
static int idle; /* threads that wait for a stream */
static bool started;

/* ---- the threads ---- */

void fake_delay(unsigned *seed)
{
    long mean = fake_env_number("FAKE_CUDA_DELAY_US", DEFAULT_DELAY_US);
    if (0 < mean) {
        long us = (long) ((double) rand_r(seed) / ((double) RAND_MAX + 1) * 2 * (double) mean);
        struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
        (void) nanosleep(&t, NULL); /* a signal may cut it short */
    }
}

/* Under the lock. */
static void free_stream(CUstream stream)
{
    (void) pthread_cond_destroy(&stream->done);
    free(stream);
}

/* Takes the next stream that has work. Under the lock. */
static CUstream take_ready(void)
{
    ++idle;
    while (NULL == first_ready) {
        (void) pthread_cond_wait(&ready, &lock);
    }
    --idle;
    --ready_count;
    CUstream stream = first_ready;
    first_ready = stream->next_ready;
    if (NULL == first_ready) {
        last_ready = &first_ready;
    }
    return stream;
}

/* Does the stream's first piece of work, which stays in the queue until then. Under the lock, which
 * it gives back meanwhile. */
static void do_one(CUstream stream)
{
    fake_work_t *work = stream->first;
    CUcontext context = stream->object.context;
    (void) pthread_mutex_unlock(&lock);
    fake_delay(&stream->seed);
    if (CUDA_SUCCESS == fake_context_sticky(context)) {
        work->run(work, context);
    }
    (void) pthread_mutex_lock(&lock);
    stream->first = work->next;
    (void) pthread_cond_broadcast(&stream->done);
    work->free(work);
    fake_context_end(context, stream->blocking);
}

static void *run_streams(void *unused)
{
    (void) unused;
    (void) pthread_mutex_lock(&lock); /* fails only on misuse */
    for (;;) {
        CUstream stream = take_ready();
        while (NULL != stream->first) {
            do_one(stream);
        }
        stream->taken = false;
        if (stream->ending) {
            free_stream(stream);
        }
    }
    return NULL;
}

/* Under the lock. */
static bool start_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    (void) pthread_attr_init(&attributes); /* these three cannot fail with what they are given */
    (void) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void) pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int rc = pthread_create(&thread, &attributes, run_streams, NULL);
    (void) pthread_attr_destroy(&attributes);
    return 0 == rc;
}

/* Starts the first threads, early, so that they are there before anybody counts. Under the lock. */
static bool start_first(void)
{
    for (int i = 0; !started && i < THREADS_AT_FIRST; ++i) {
        if (!start_thread()) {
            return 0 < i;
        }
    }
    started = true;
    return true;
}

/* Gives a stream with work to the threads. Under the lock. */
static void make_ready(CUstream stream)
{
    stream->taken = true;
    stream->next_ready = NULL;
    *last_ready = stream;
    last_ready = &stream->next_ready;
    ++ready_count;
    (void) pthread_cond_signal(&ready);
    if (ready_count > idle) {
        (void) start_thread(); /* without a new one, the stream has to wait for an old one */
    }
}

/* ---- for the other files ---- */

CUresult fake_stream_check(CUstream stream)
{
    if (NULL == stream || CU_STREAM_LEGACY == stream || CU_STREAM_PER_THREAD == stream) {
        return fake_misuse(CUDA_ERROR_NOT_SUPPORTED, "the legacy stream, which a library must not "
                                                     "use");
    }
    return fake_object_check(stream, FAKE_STREAM) ? fake_context_sticky(stream->object.context)
                                                  : CUDA_ERROR_INVALID_HANDLE;
}

CUcontext fake_stream_context(CUstream stream)
{
    return stream->object.context;
}

void fake_stream_queue(CUstream stream, fake_work_t *work)
{
    work->next = NULL;
    fake_context_begin(stream->object.context, stream->blocking);
    (void) pthread_mutex_lock(&lock);
    if (NULL == stream->first) {
        stream->first = work;
    } else {
        stream->last->next = work;
    }
    stream->last = work;
    if (!stream->taken) {
        make_ready(stream);
    }
    (void) pthread_mutex_unlock(&lock);
}

void fake_stream_drain(CUstream stream)
{
    (void) pthread_mutex_lock(&lock);
    while (NULL != stream->first) {
        (void) pthread_cond_wait(&stream->done, &lock);
    }
    (void) pthread_mutex_unlock(&lock);
}

void fake_stream_end(CUstream stream)
{
    (void) pthread_mutex_lock(&lock);
    stream->ending = true;
    if (!stream->taken) {
        free_stream(stream);
    }
    (void) pthread_mutex_unlock(&lock);
}

/* ---- entry points ---- */

CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    if (NULL == phStream || 0 != (Flags & ~(unsigned) CU_STREAM_NON_BLOCKING)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "flags %x", Flags);
    }
    CUstream stream = calloc(1, sizeof(*stream));
    if (NULL == stream) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    stream->blocking = 0 == (Flags & (unsigned) CU_STREAM_NON_BLOCKING);
    stream->seed =
        (unsigned) fake_env_number("FAKE_CUDA_SEED", getpid()) + (unsigned) fake_entry_count();
    (void) pthread_cond_init(&stream->done, NULL); /* cannot fail with default attributes */
    fake_object_add(&stream->object, FAKE_STREAM, fake_context_current());
    (void) pthread_mutex_lock(&lock);
    bool threaded = start_first();
    (void) pthread_mutex_unlock(&lock);
    if (!threaded) {
        (void) fake_object_remove(stream, FAKE_STREAM);
        fake_stream_end(stream);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *phStream = stream;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamDestroy(CUstream hStream)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_ENDS);
    CUresult result = fake_stream_check(hStream);
    if (CUDA_SUCCESS != result) {
        return result;
    }
    if (fake_object_remove(hStream, FAKE_STREAM)) {
        fake_stream_end(hStream);
    }
    return fake_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    CUresult result = fake_stream_check(hStream);
    if (CUDA_SUCCESS != result) {
        return result;
    }
    (void) pthread_mutex_lock(&lock);
    bool busy = NULL != hStream->first;
    (void) pthread_mutex_unlock(&lock);
    return busy ? CUDA_ERROR_NOT_READY : fake_context_sticky(hStream->object.context);
}

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_UNSAFE_IN_CAPTURE);
    CUresult result = fake_stream_check(hStream);
    if (CUDA_SUCCESS != result) {
        return result;
    }
    fake_stream_drain(hStream);
    return fake_context_sticky(hStream->object.context);
}
