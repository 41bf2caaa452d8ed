/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Streams: each a thread that does the work queued to it, one piece after the other, some time
 * later. What a piece of work does is fake_copy.c's and fake_kernel.c's business. */
#ifndef FAKE_STREAM_H
#define FAKE_STREAM_H

#include "fake_cuda.h"

/* A piece of work; the first member of a struct that holds the rest. */
typedef struct fake_work {
    struct fake_work *next;
    void (*run)(struct fake_work *work, CUcontext context); /* not called in a broken context */
    void (*free)(struct fake_work *work);
} fake_work_t;

/* Waits as long as work is late. */
void fake_delay(unsigned *seed);

/* Whether stream is one that work can be given to: CUDA_SUCCESS or the error to return. */
CUresult fake_stream_check(CUstream stream);

/* The context that the stream belongs to, and its gpu. */
CUcontext fake_stream_context(CUstream stream);

/* Queues work, which belongs to the stream from now on. */
void fake_stream_queue(CUstream stream, fake_work_t *work);

/* Waits until all that was queued is done. */
void fake_stream_drain(CUstream stream);

/* Ends a stream once its work is done, without waiting. */
void fake_stream_end(CUstream stream);

#endif
