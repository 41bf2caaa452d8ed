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

static int copy_through(const symm_device_ops_t *ops, symm_queue_t *queue, void *dst,
                        const void *src, size_t len)
{
    int rc = ops->copy(queue, SYMM_LANE_MAIN, dst, src, len);
    int waited = ops->queue_wait(queue); /* also for what a failure left behind */
    return MPI_SUCCESS == rc ? waited : rc;
}

static int copy_staged(const symm_device_ops_t *ops, void *dst, const void *src, size_t len)
{
    (void) pthread_mutex_lock(&staging.lock); /* fails only on misuse */
    int rc = open_staging(ops);
    if (MPI_SUCCESS == rc) {
        rc = copy_through(ops, staging.queue, dst, src, len);
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

int symm_copy_blocking(void *dst, const void *src, size_t len)
{
    if (SYMM_POINTER_HOST == symm_pointer_kind(dst) &&
        SYMM_POINTER_HOST == symm_pointer_kind(src)) {
        memcpy(dst, src, len);
        return MPI_SUCCESS;
    }
    const symm_device_ops_t *ops = symm_device_ops(SYMM_KIND_CUDA_DEVICE);
    symm_queue_t *queue = window_queue(dst);
    if (NULL == queue) {
        queue = window_queue(src);
    }
    return NULL == queue ? copy_staged(ops, dst, src, len)
                         : copy_through(ops, queue, dst, src, len);
}

void symm_copy_finalize(void)
{
    if (NULL != staging.queue) {
        close_staging(symm_device_ops(SYMM_KIND_CUDA_DEVICE));
    }
}
