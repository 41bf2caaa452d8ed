/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The inside of a queue of the cuda backend, for the files that put work on it: copies
 * (symm_cuda_queue.c), launches (symm_cuda_kernel.c) and one file per family of kernels. */
#ifndef SYMM_CUDA_QUEUE_H
#define SYMM_CUDA_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "symm_cuda.h"
#include "symm_cuda_graph.h"
#include "symm_done.h"
#include "symm_fatbin.h"
#include "symm_options.h"

/* What gathers atomic updates (symm_cuda_atomic.c). */
typedef struct symm_cuda_atomics symm_cuda_atomics_t;
typedef struct symm_cuda_batch symm_cuda_batch_t;       /* symm_cuda_batch.h */
typedef struct symm_cuda_resident symm_cuda_resident_t; /* symm_cuda_resident.h */
typedef struct symm_cuda_stage symm_cuda_stage_t;       /* symm_cuda_staged.h */

struct symm_queue {
    pthread_mutex_t lock; /* of all below; not held while progress is driven */
    bool locked;
    symm_device_t *device;
    CUstream streams[SYMM_LANE_COUNT];
    bool busy[SYMM_LANE_COUNT]; /* the stream must be asked */
    bool flag_pending;          /* the main lane ends with a kernel: look at the word */
    uint32_t flag_value;        /* of the latest launch */
    _Atomic uint32_t *flag;     /* host address of the word */
    CUdeviceptr flag_dev;
    CUdeviceptr done_state_dev;  /* a symm_done_state_t */
    bool out_of_step;            /* a launch or command failed that flag_value counts */
    _Atomic uint32_t done_value; /* of the latest launch that is known to be done */
    uint32_t polls;              /* of the word by progress, while nothing was done */
    uint32_t looks;              /* at the word by those who wait; apart from the polls, which come
                                  * in between and would take every turn to ask the stream */
    int failed_queries;          /* of a stream, in a row */
    int failure;                 /* MPI error class of the first of these, until it is told */
    symm_cuda_batch_t *batch;    /* NULL until something is gathered */
    symm_cuda_graphs_t graphs;
    symm_cuda_stage_t *stage;       /* NULL until a reduction is staged */
    bool stage_failed;              /* it cannot be made */
    symm_cuda_atomics_t *atomics;   /* NULL until the first update */
    symm_prepared_t *preparing;     /* what kernels become a part of instead of being launched, else
                                     * NULL */
    symm_cuda_resident_t *resident; /* NULL until the first command */
    bool resident_pending;          /* the word is to be written by the resident kernel */
    bool resident_refused;          /* which cannot be had */
};

/* How often a stream is asked whether it has failed, while a word of host memory is polled. */
#define SYMM_CUDA_POLLS_PER_QUERY 4096

/* A stream that fails to answer that often has failed; less often, it was the question. */
#define SYMM_CUDA_QUERIES_MAX 16

/* Whether the latest launch, or the latest command to the resident kernel, has told its end.
 * Acquire pairs with the kernel's system-scope release: what it wrote is visible behind it. */
static inline bool symm_cuda_flag_written(const symm_queue_t *queue)
{
    return queue->flag_value == atomic_load_explicit(queue->flag, memory_order_acquire);
}

/* Takes and gives back the queue's lock, which costs as much as gathering an operation: only where
 * there are threads. Try returns whether it was free; not when the caller has it already. */
static inline void symm_cuda_queue_lock(symm_queue_t *queue)
{
    if (symm_options.threads) {
        (void) pthread_mutex_lock(&queue->lock); /* fails only on misuse */
    }
    queue->locked = true;
}

static inline bool symm_cuda_queue_try_lock(symm_queue_t *queue)
{
    if (symm_options.threads ? 0 != pthread_mutex_trylock(&queue->lock) : queue->locked) {
        return false;
    }
    queue->locked = true;
    return true;
}

static inline void symm_cuda_queue_unlock(symm_queue_t *queue)
{
    queue->locked = false;
    if (symm_options.threads) {
        (void) pthread_mutex_unlock(&queue->lock); /* likewise */
    }
}

/* Begins and ends a call on queue: its lock and its device's context. Returns MPI_SUCCESS or
 * MPI_ERR_OTHER (then do not end). */
int symm_cuda_queue_begin(symm_queue_t *queue, symm_cuda_scope_t *scope_p);
void symm_cuda_queue_end(symm_queue_t *queue, const symm_cuda_scope_t *scope);

/* The following are for callers within begin and end. */

/* Starts a copy behind all that the lane has been given. */
int symm_cuda_copy_entered(symm_queue_t *queue, symm_lane_t lane, void *dst, const void *src,
                           size_t len);

/* Waits until a launch is done and ends the batches up to it. */
int symm_cuda_queue_await(symm_queue_t *queue, uint32_t value);

/* Waits for the resident kernel's command under way, if there is one. Returns MPI_SUCCESS, or
 * MPI_ERR_OTHER when the device failed. */
int symm_cuda_queue_settle(symm_queue_t *queue);

/* Does that and launches what is gathered, so that what follows on the main lane comes behind: to
 * be called before anything is put there. The caller has entered the context. */
int symm_cuda_queue_order(symm_queue_t *queue);

/* Whether nothing is gathered or under way on any lane, and nothing has failed. */
bool symm_cuda_queue_idle(symm_queue_t *queue);

/* Whether all work on a stream of the queue is done, or has failed, which is recorded. */
bool symm_cuda_stream_done(symm_queue_t *queue, CUstream stream);

/* Marks that lane holds work that only its stream can tell the end of. */
void symm_cuda_queue_note_copy(symm_queue_t *queue, symm_lane_t lane);

/* Launches the updates gathered so far, if there are any. */
int symm_cuda_atomics_launch(symm_queue_t *queue);
bool symm_cuda_atomics_pending(const symm_queue_t *queue);
/* Ends the launches of updates up to the given one: puts what they fetched into the host memory it
 * is for, unless rc is a failure. */
void symm_cuda_atomics_finish(symm_queue_t *queue, uint32_t done, int rc);
/* Frees what updates keep; nothing is under way. Teardown. */
void symm_cuda_atomics_free(symm_queue_t *queue);

/* How kernels of the queue tell their end. */
static inline symm_done_t symm_cuda_done(const symm_queue_t *queue)
{
    return (symm_done_t){.state = (symm_done_state_t *) (uintptr_t) queue->done_state_dev,
                         .flag = (uint32_t *) (uintptr_t) queue->flag_dev};
}

/* A kernel as the family's file keeps it: where its name is found, and room to remember it. */
typedef struct symm_cuda_kernel {
    symm_fatbin_t fatbin;
    const char *name;
    _Atomic CUfunction *known; /* NULL at first; in the device */
} symm_cuda_kernel_t;

/* Finds a kernel. Returns MPI_SUCCESS, or MPI_ERR_OTHER with the cause logged. */
int symm_cuda_get_kernel(symm_device_t *device, const symm_cuda_kernel_t *kernel,
                         CUfunction *function_p);

/* Launches a kernel on the main lane, behind all that is gathered, blocks times threads, one
 * dimension each. params begins with a symm_done_t, which is filled in here, and is copied; the
 * kernel reads no more of it than params_len bytes, and like launches have these alike. Returns
 * MPI_SUCCESS, or an MPI error class with the cause logged. */
int symm_cuda_launch(symm_queue_t *queue, const symm_cuda_kernel_t *kernel, void *params,
                     size_t params_len, uint32_t blocks, uint32_t threads);

/* Launches a graph of so many of our kernels, one behind the other, on the main lane, behind all
 * that is gathered. Returns likewise. */
int symm_cuda_launch_graph(symm_queue_t *queue, CUgraphExec exec, uint32_t kernels);

/* Launches a reduction; its sources and destinations are at most SYMM_REDUCE_MAX_RANKS. */
int symm_cuda_launch_reduce(symm_queue_t *queue, const symm_reduce_t *reduce, uint32_t blocks);

#endif
