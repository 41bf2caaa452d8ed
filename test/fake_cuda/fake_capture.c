/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Which threads have a capture under way, and the mode that each thread is in. */
#include "symm_config.h"

#include "fake_capture.h"

#include "fake_entry.h"
#include "fake_graph.h"
#include "fake_object.h"
#include "fake_report.h"
#include "fake_stream.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct capture {
    struct capture *next;
    CUstream stream;
    CUstreamCaptureMode mode;
    pthread_t thread;
    bool broken;
} capture_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static capture_t *captures;

static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/* Whether the capture forbids this thread what is unsafe (manual,
 * cuThreadExchangeStreamCaptureMode; the thread is not relaxed). */
static bool forbids(const capture_t *capture)
{
    bool own = 0 != pthread_equal(pthread_self(), capture->thread);
    bool others_too = CU_STREAM_CAPTURE_MODE_GLOBAL == capture->mode &&
                      CU_STREAM_CAPTURE_MODE_GLOBAL == thread_mode;
    return CU_STREAM_CAPTURE_MODE_RELAXED != capture->mode && (own || others_too);
}

bool fake_capture_survives(void)
{
    bool survives = true;
    if (CU_STREAM_CAPTURE_MODE_RELAXED == thread_mode) {
        return true;
    }
    (void) pthread_mutex_lock(&lock); /* fails only on misuse */
    for (capture_t *c = captures; NULL != c; c = c->next) {
        if (forbids(c)) {
            c->broken = true;
            survives = false;
        }
    }
    (void) pthread_mutex_unlock(&lock);
    return survives;
}

static bool is_mode(CUstreamCaptureMode mode)
{
    return CU_STREAM_CAPTURE_MODE_GLOBAL == mode || CU_STREAM_CAPTURE_MODE_THREAD_LOCAL == mode ||
           CU_STREAM_CAPTURE_MODE_RELAXED == mode;
}

/* The link to the stream's capture, NULL when there is none. Under the lock. */
static capture_t **find(CUstream stream)
{
    capture_t **link = &captures;
    while (NULL != *link && (*link)->stream != stream) {
        link = &(*link)->next;
    }
    return NULL == *link ? NULL : link;
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    FAKE_ENTER(FAKE_NEEDS_INIT);
    if (NULL == mode || !is_mode(*mode)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "no such mode");
    }
    CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream hStream, CUstreamCaptureMode mode)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    capture_t *capture = malloc(sizeof(*capture));
    if (NULL == capture || !is_mode(mode) || !fake_object_check(hStream, FAKE_STREAM)) {
        free(capture);
        return CUDA_ERROR_INVALID_VALUE;
    }
    (void) pthread_mutex_lock(&lock);
    bool is_new = NULL == find(hStream);
    if (is_new) {
        *capture = (capture_t){
            .next = captures, .stream = hStream, .mode = mode, .thread = pthread_self()};
        captures = capture;
    }
    (void) pthread_mutex_unlock(&lock);
    if (!is_new) {
        free(capture);
        return fake_misuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is captured already");
    }
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    (void) pthread_mutex_lock(&lock);
    capture_t **link = find(hStream);
    capture_t *capture = NULL == link ? NULL : *link;
    if (NULL != capture) {
        *link = capture->next;
    }
    (void) pthread_mutex_unlock(&lock);
    if (NULL == capture) {
        return fake_misuse(CUDA_ERROR_ILLEGAL_STATE, "the stream is not captured");
    }
    bool broken = capture->broken;
    free(capture);
    if (broken) {
        *phGraph = NULL;
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    return fake_graph_new(phGraph);
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
    FAKE_ENTER(FAKE_NEEDS_CONTEXT);
    (void) pthread_mutex_lock(&lock);
    *captureStatus =
        NULL == find(hStream) ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    (void) pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}
