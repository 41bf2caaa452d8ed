/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Events: when a stream came to them, and streams that wait for that. */
#include "symm_config.h"

#include "fake_context.h"
#include "fake_entry.h"
#include "fake_object.h"
#include "fake_report.h"
#include "fake_stream.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

struct CUevent_st {
    fake_object_t object;
    uint64_t recorded; /* how often; in a stream at a time */
    uint64_t reached;  /* how many of these a stream has come to */
    struct timespec at;
};

/* Records an event, or waits for a record of it. */
typedef struct event_work {
    fake_work_t super;
    CUevent event;
    uint64_t number; /* of the record */
} event_work_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all events */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void run_record(fake_work_t *super, CUcontext context)
{
    (void) context;
    CUevent event = ((event_work_t *) super)->event;
    (void) pthread_mutex_lock(&lock);                  /* fails only on misuse */
    (void) clock_gettime(CLOCK_MONOTONIC, &event->at); /* so does this */
    (void) pthread_mutex_unlock(&lock);
}

/* The stream has come to it; also in a broken context, in which nothing is run any more. */
static void free_record(fake_work_t *super)
{
    CUevent event = ((event_work_t *) super)->event;
    (void) pthread_mutex_lock(&lock);
    ++event->reached;
    (void) pthread_cond_broadcast(&changed);
    (void) pthread_mutex_unlock(&lock);
    free(super);
}

static void run_wait(fake_work_t *super, CUcontext context)
{
    const event_work_t *work = (const event_work_t *) super;
    (void) context;
    (void) pthread_mutex_lock(&lock);
    while (work->event->reached < work->number) {
        (void) pthread_cond_wait(&changed, &lock);
    }
    (void) pthread_mutex_unlock(&lock);
}

static void free_wait(fake_work_t *super)
{
    free(super);
}

CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    if (NULL == phEvent || 0 != (Flags & ~(unsigned) CU_EVENT_DISABLE_TIMING)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "flags %x", Flags);
    }
    CUevent event = calloc(1, sizeof(*event));
    if (NULL == event) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    fake_object_add(&event->object, FAKE_EVENT, fake_context_current());
    *phEvent = event;
    return CUDA_SUCCESS;
}

/* The real driver frees such an event later; nobody here means to do that. */
static bool is_waiting(CUevent event)
{
    (void) pthread_mutex_lock(&lock);
    bool waiting = event->reached < event->recorded;
    (void) pthread_mutex_unlock(&lock);
    return waiting;
}

CUresult CUDAAPI cuEventDestroy(CUevent hEvent)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_ENDS);
    if (!fake_object_check(hEvent, FAKE_EVENT)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (is_waiting(hEvent)) {
        return fake_misuse(CUDA_ERROR_NOT_SUPPORTED, "an event that no stream has come to yet");
    }
    (void) fake_object_remove(hEvent, FAKE_EVENT);
    free(hEvent);
    return fake_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_QUEUES);
    CUresult result = fake_stream_check(hStream);
    if (CUDA_SUCCESS != result || !fake_object_check(hEvent, FAKE_EVENT)) {
        return CUDA_SUCCESS != result ? result : CUDA_ERROR_INVALID_HANDLE;
    }
    event_work_t *work = malloc(sizeof(*work));
    if (NULL == work) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *work = (event_work_t){.super = {.run = run_record, .free = free_record}, .event = hEvent};
    (void) pthread_mutex_lock(&lock);
    ++hEvent->recorded;
    (void) pthread_mutex_unlock(&lock);
    fake_stream_queue(hStream, &work->super);
    return fake_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT | FAKE_QUEUES);
    CUresult result = fake_stream_check(hStream);
    if (CUDA_SUCCESS != result || !fake_object_check(hEvent, FAKE_EVENT)) {
        return CUDA_SUCCESS != result ? result : CUDA_ERROR_INVALID_HANDLE;
    }
    if (CU_EVENT_WAIT_DEFAULT != Flags || 0 == hEvent->recorded) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "flags %x, or an event that was not recorded",
                           Flags);
    }
    event_work_t *work = malloc(sizeof(*work));
    if (NULL == work) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *work = (event_work_t){
        .super = {.run = run_wait, .free = free_wait}, .event = hEvent, .number = hEvent->recorded};
    fake_stream_queue(hStream, &work->super);
    return fake_leave(CUDA_SUCCESS);
}

/* The first version, which every driver has. */
#undef cuEventElapsedTime
FAKE_EXPORT CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent first, CUevent second);

CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent first, CUevent second)
{
    FAKE_ENTER(FAKE_NEEDS_INIT | FAKE_WANTS_CONTEXT);
    if (!fake_object_check(first, FAKE_EVENT) || !fake_object_check(second, FAKE_EVENT)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (0 == first->recorded || 0 == second->recorded) {
        return fake_misuse(CUDA_ERROR_INVALID_HANDLE, "an event that was not recorded");
    }
    if (is_waiting(first) || is_waiting(second)) {
        return CUDA_ERROR_NOT_READY;
    }
    double seconds = (double) (second->at.tv_sec - first->at.tv_sec) +
                     (double) (second->at.tv_nsec - first->at.tv_nsec) * 1e-9;
    *ms = (float) (seconds * 1e3);
    return CUDA_SUCCESS;
}
