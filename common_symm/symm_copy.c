/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Copies that belong to no operation on a window. */
#include "symm_config.h"

#include "symm_copy.h"
#include "symm_device.h"
#include "symm_log.h"
#include "symm_window.h"

#include <pthread.h>
#include <string.h>

/* A queue for memory outside windows, kept from the first such copy on. */
static struct {
    pthread_mutex_t lock;
    symm_device_t *device;
    symm_queue_t *queue;
} staging = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void close_staging(const symm_device_ops_t *ops)
{
    ops->queue_destroy(staging.queue);
    ops->close(staging.device);
    staging.queue = NULL;
}

/* Makes the queue unless it is there. The caller holds the lock. */
static int open_staging(const symm_device_ops_t *ops)
{
    symm_error_t error = {0};
    if (NULL != staging.queue) {
        return MPI_SUCCESS;
    }
    if (MPI_SUCCESS == ops->open(&staging.device, &error) &&
        MPI_SUCCESS != ops->queue_create(staging.device, &staging.queue, &error)) {
        ops->close(staging.device);
    }
    if (MPI_SUCCESS != error.code) {
        symm_log(SYMM_LOG_ERROR, "staging a device buffer: %s", error.text);
    }
    return error.code;
}

/* What is to be copied: len bytes, or what a walk yields. */
typedef struct job {
    void *dst;
    const void *src;
    size_t len;
    symm_typewalk_t *walk; /* NULL for bytes */
} job_t;

static int copy_through(const symm_device_ops_t *ops, symm_queue_t *queue, const job_t *job)
{
    int rc = NULL == job->walk
                 ? ops->copy(queue, SYMM_LANE_MAIN, job->dst, job->src, job->len)
                 : ops->move(queue, job->dst, job->src, job->walk, SYMM_KNOWN_NEITHER);
    int waited = ops->queue_wait(queue); /* also for what a failure left behind */
    return MPI_SUCCESS == rc ? waited : rc;
}

static int copy_staged(const symm_device_ops_t *ops, const job_t *job)
{
    (void) pthread_mutex_lock(&staging.lock); /* fails only on misuse */
    int rc = open_staging(ops);
    if (MPI_SUCCESS == rc) {
        rc = copy_through(ops, staging.queue, job);
        if (!ops->lasts(staging.device)) {
            close_staging(ops);
        }
    }
    (void) pthread_mutex_unlock(&staging.lock);
    return rc;
}

/* The queue of the GPU window that ptr lies in, NULL when it lies in none. */
static symm_queue_t *window_queue(const void *ptr)
{
    const symm_window_t *window = symm_window_find(ptr, 0);
    bool gpu = NULL != window && SYMM_KIND_CUDA_DEVICE == window->mapping->ops->kind;
    return gpu ? window->mapping->queue : NULL;
}

/* dst and src are bytes of the two ends. */
static int copy_on_gpu(const void *dst, const void *src, const job_t *job)
{
    const symm_device_ops_t *ops = symm_device_ops(SYMM_KIND_CUDA_DEVICE);
    symm_queue_t *queue = window_queue(dst);
    if (NULL == queue) {
        queue = window_queue(src);
    }
    return NULL == queue ? copy_staged(ops, job) : copy_through(ops, queue, job);
}

int symm_copy_blocking(void *dst, const void *src, size_t len)
{
    if (SYMM_POINTER_HOST == symm_pointer_kind(dst) &&
        SYMM_POINTER_HOST == symm_pointer_kind(src)) {
        memcpy(dst, src, len);
        return MPI_SUCCESS;
    }
    job_t job = {dst, src, len, NULL};
    return copy_on_gpu(dst, src, &job);
}

int symm_move_blocking(void *dst, const void *src, symm_typewalk_t *walk)
{
    job_t job = {dst, src, 0, walk};
    const char *first_dst = (const char *) dst + symm_typecursor_next(&walk->a);
    const char *first_src = (const char *) src + symm_typecursor_next(&walk->b);
    if (SYMM_POINTER_HOST == symm_pointer_kind(first_dst) &&
        SYMM_POINTER_HOST == symm_pointer_kind(first_src)) {
        return symm_host_ops.move(NULL, dst, src, walk, SYMM_KNOWN_NEITHER); /* needs no queue */
    }
    return copy_on_gpu(first_dst, first_src, &job);
}

void symm_copy_finalize(void)
{
    if (NULL != staging.queue) {
        close_staging(symm_device_ops(SYMM_KIND_CUDA_DEVICE));
    }
}
