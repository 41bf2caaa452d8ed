/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Events that tell times: when a stream came to them. */
#include "symm_config.h"

#include "fake_context.h"
#include "fake_entry.h"
#include "fake_object.h"
#include "fake_report.h"
#include "fake_stream.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct CUevent_st {
    fake_object_t object;
    bool recorded;
    int waiting; /* records that no stream has come to yet */
    struct timespec at;
};

typedef struct record_work {
    fake_work_t super;
    CUevent event;
} record_work_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all events */

static void run_record(fake_work_t *super, CUcontext context)
{
    (void) context;
    CUevent event = ((record_work_t *) super)->event;
    (void) pthread_mutex_lock(&lock);                  /* fails only on misuse */
    (void) clock_gettime(CLOCK_MONOTONIC, &event->at); /* so does this */
    --event->waiting;
    (void) pthread_mutex_unlock(&lock);
}

static void free_record(fake_work_t *super)
{
    free(super);
}

CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    if (NULL == phEvent || CU_EVENT_DEFAULT != Flags) {
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
    bool waiting = 0 < event->waiting;
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
    record_work_t *work = malloc(sizeof(*work));
    if (NULL == work) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *work = (record_work_t){.super = {.run = run_record, .free = free_record}, .event = hEvent};
    (void) pthread_mutex_lock(&lock);
    hEvent->recorded = true;
    ++hEvent->waiting;
    (void) pthread_mutex_unlock(&lock);
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
    if (!first->recorded || !second->recorded) {
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
