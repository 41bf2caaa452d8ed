/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Queues of the cuda backend: non-blocking streams with copies and kernels (symm_cuda_kernel.c).
 *
 * NOTE completion. A kernel tells its end by a word in host memory. Copies have no such end, so
 * once one follows on the main lane the stream itself is asked. */
#include "symm_config.h"

#include "symm_cuda_batch.h"
#include "symm_cuda_resident.h"
#include "symm_cuda_staged.h"
#include "symm_log.h"
#include "symm_spin.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int create_flag(symm_queue_t *queue, symm_error_t *error)
{
    void *flag;
    int rc = symm_cuda_check(
        symm_cuda.cuMemHostAlloc(&flag, 64, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
        error, "cuMemHostAlloc of 64 bytes");
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    memset(flag, 0, 64);
    queue->flag = flag;
    return symm_cuda_check(symm_cuda.cuMemHostGetDevicePointer(&queue->flag_dev, flag, 0), error,
                           "cuMemHostGetDevicePointer");
}

static int create_parts(symm_queue_t *queue, symm_error_t *error)
{
    int rc = MPI_SUCCESS;
    for (int lane = 0; MPI_SUCCESS == rc && lane < SYMM_LANE_COUNT; ++lane) {
        rc =
            symm_cuda_check(symm_cuda.cuStreamCreate(&queue->streams[lane], CU_STREAM_NON_BLOCKING),
                            error, "cuStreamCreate");
    }
    if (MPI_SUCCESS == rc) {
        rc = create_flag(queue, error);
    }
    if (MPI_SUCCESS == rc) {
        rc =
            symm_cuda_check(symm_cuda.cuMemAlloc(&queue->done_state_dev, sizeof(symm_done_state_t)),
                            error, "cuMemAlloc of %zu bytes", sizeof(symm_done_state_t));
    }
    if (MPI_SUCCESS == rc) {
        /* On the main lane, so that it is done before any kernel there looks at it. */
        rc = symm_cuda_check(symm_cuda.cuMemsetD8Async(queue->done_state_dev, 0,
                                                       sizeof(symm_done_state_t),
                                                       queue->streams[SYMM_LANE_MAIN]),
                             error, "cuMemsetD8Async");
        queue->busy[SYMM_LANE_MAIN] = true;
    }
    return rc;
}

static void destroy_parts(symm_queue_t *queue)
{
    symm_cuda_resident_destroy(queue);
    symm_cuda_batch_destroy(queue);
    symm_cuda_stage_destroy(queue);
    symm_cuda_atomics_free(queue);
    symm_cuda_graphs_free(&queue->graphs);
    for (int lane = 0; lane < SYMM_LANE_COUNT; ++lane) {
        if (NULL != queue->streams[lane]) {
            (void) symm_cuda_check_log(
                SYMM_LOG_WARN, symm_cuda.cuStreamDestroy(queue->streams[lane]), "cuStreamDestroy");
        }
    }
    if (NULL != queue->flag) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuMemFreeHost((void *) queue->flag),
                                   "cuMemFreeHost");
    }
    if (0 != queue->done_state_dev) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuMemFree(queue->done_state_dev),
                                   "cuMemFree");
    }
}

int symm_cuda_queue_create(symm_device_t *device, symm_queue_t **queue_p, symm_error_t *error)
{
    symm_queue_t *queue = calloc(1, sizeof(*queue));
    symm_cuda_scope_t scope;
    if (NULL == queue || MPI_SUCCESS != symm_cuda_enter(device, &scope)) {
        free(queue);
        return symm_error_set(error, MPI_ERR_OTHER, "cannot make a queue on %s", device->text);
    }
    queue->device = device;
    (void) pthread_mutex_init(&queue->lock, NULL); /* cannot fail with default attributes */
    int rc = create_parts(queue, error);
    if (MPI_SUCCESS != rc) {
        destroy_parts(queue);
    }
    symm_cuda_leave(&scope);
    if (MPI_SUCCESS != rc) {
        (void) pthread_mutex_destroy(&queue->lock);
        free(queue);
        return rc;
    }
    *queue_p = queue;
    return MPI_SUCCESS;
}

void symm_cuda_queue_rest(symm_queue_t *queue)
{
    symm_cuda_scope_t scope;
    symm_cuda_resident_end(queue);
    if (NULL != queue->stage && MPI_SUCCESS == symm_cuda_queue_begin(queue, &scope)) {
        symm_cuda_resident_stop_all(queue->device); /* freeing waits for the device */
        symm_cuda_stage_destroy(queue);
        symm_cuda_queue_end(queue, &scope);
    }
}

void symm_cuda_queue_destroy(symm_queue_t *queue)
{
    symm_cuda_scope_t scope;
    (void) symm_cuda_queue_wait(queue); /* has logged a failure; teardown goes on */
    bool entered = MPI_SUCCESS == symm_cuda_enter(queue->device, &scope);
    destroy_parts(queue); /* the handles know their context; only old drivers want it current */
    if (entered) {
        symm_cuda_leave(&scope);
    }
    (void) pthread_mutex_destroy(&queue->lock);
    free(queue);
}

int symm_cuda_queue_begin(symm_queue_t *queue, symm_cuda_scope_t *scope_p)
{
    symm_cuda_queue_lock(queue);
    int rc = symm_cuda_enter(queue->device, scope_p);
    if (MPI_SUCCESS != rc) {
        symm_cuda_queue_unlock(queue);
    }
    return rc;
}

void symm_cuda_queue_end(symm_queue_t *queue, const symm_cuda_scope_t *scope)
{
    symm_cuda_leave(scope);
    symm_cuda_queue_unlock(queue);
}

void symm_cuda_queue_note_copy(symm_queue_t *queue, symm_lane_t lane)
{
    queue->busy[lane] = true;
    if (SYMM_LANE_MAIN == lane) {
        queue->flag_pending = false; /* the copy comes behind the kernel */
    }
}

int symm_cuda_queue_order(symm_queue_t *queue)
{
    int rc = symm_cuda_queue_settle(queue);
    return MPI_SUCCESS == rc ? symm_cuda_batch_launch(queue) : rc;
}

static int keep_order(symm_queue_t *queue, symm_lane_t lane)
{
    return SYMM_LANE_MAIN == lane ? symm_cuda_queue_order(queue) : MPI_SUCCESS;
}

int symm_cuda_copy_entered(symm_queue_t *queue, symm_lane_t lane, void *dst, const void *src,
                           size_t len)
{
    int rc = keep_order(queue, lane);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = symm_cuda_check_log(SYMM_LOG_ERROR,
                             symm_cuda.cuMemcpyAsync((CUdeviceptr) (uintptr_t) dst,
                                                     (CUdeviceptr) (uintptr_t) src, len,
                                                     queue->streams[lane]),
                             "cuMemcpyAsync");
    symm_cuda_queue_note_copy(queue, lane);
    return rc;
}

int symm_cuda_copy(symm_queue_t *queue, symm_lane_t lane, void *dst, const void *src, size_t len)
{
    symm_cuda_scope_t scope;
    if (0 == len) {
        return MPI_SUCCESS;
    }
    int rc = symm_cuda_queue_begin(queue, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = symm_cuda_copy_entered(queue, lane, dst, src, len);
    symm_cuda_queue_end(queue, &scope);
    return rc;
}

int symm_cuda_zero(symm_queue_t *queue, symm_lane_t lane, void *dst, size_t len)
{
    symm_cuda_scope_t scope;
    int rc = symm_cuda_queue_begin(queue, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = keep_order(queue, lane);
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_check_log(
            SYMM_LOG_ERROR,
            symm_cuda.cuMemsetD8Async((CUdeviceptr) (uintptr_t) dst, 0, len, queue->streams[lane]),
            "cuMemsetD8Async");
        symm_cuda_queue_note_copy(queue, lane);
    }
    symm_cuda_queue_end(queue, &scope);
    return rc;
}

/* A query that fails is repeated, as the work may go on behind it and must
 * not outlive the memory that it is about; a broken context fails again, and nothing runs in it. */
bool symm_cuda_stream_done(symm_queue_t *queue, CUstream stream)
{
    CUresult result = symm_cuda.cuStreamQuery(stream);
    if (CUDA_SUCCESS == result || CUDA_ERROR_NOT_READY == result) {
        return CUDA_SUCCESS == result;
    }
    if (MPI_SUCCESS == queue->failure) {
        queue->failure = symm_cuda_check_log(SYMM_LOG_ERROR, result, "work on the GPU failed");
    }
    return SYMM_CUDA_QUERIES_MAX == ++queue->failed_queries;
}

static bool lane_done(symm_queue_t *queue, symm_lane_t lane)
{
    return symm_cuda_stream_done(queue, queue->streams[lane]);
}

/* The failure that queries have met, told once. */
static int take_failure(symm_queue_t *queue)
{
    int rc = queue->failure;
    queue->failure = MPI_SUCCESS;
    queue->failed_queries = 0;
    return rc;
}

static bool flag_done(symm_queue_t *queue)
{
    if (symm_cuda_flag_written(queue)) {
        return true;
    }
    if (queue->resident_pending) {
        return symm_cuda_resident_lost(queue);
    }
    if (0 != ++queue->looks % SYMM_CUDA_POLLS_PER_QUERY || !lane_done(queue, SYMM_LANE_MAIN)) {
        return false;
    }
    if (MPI_SUCCESS == queue->failure && !symm_cuda_flag_written(queue)) {
        symm_log(SYMM_LOG_ERROR, "a kernel ended on the GPU without telling so");
        queue->failure = MPI_ERR_OTHER;
    }
    return true;
}

/* Looks once at what is under way. Returns whether nothing is any more. */
static bool look(symm_queue_t *queue)
{
    if (queue->flag_pending) {
        if (!flag_done(queue)) {
            return false;
        }
        queue->flag_pending = false;
        queue->resident_pending = false;
        queue->busy[SYMM_LANE_MAIN] = false; /* the kernel came behind any copy there */
    }
    for (int lane = 0; lane < SYMM_LANE_COUNT; ++lane) {
        if (queue->busy[lane] && !lane_done(queue, lane)) {
            return false;
        }
        queue->busy[lane] = false;
        queue->failed_queries = 0;
    }
    return true;
}

/* Notes that all launches up to `done` are over, with what came of them. */
static void end_launches(symm_queue_t *queue, uint32_t done, int rc)
{
    symm_cuda_batch_finish(queue, done, rc);
    symm_cuda_atomics_finish(queue, done, rc);
    atomic_store_explicit(&queue->done_value, done, memory_order_release);
}

int symm_cuda_queue_settle(symm_queue_t *queue)
{
    if (!queue->resident_pending) {
        return MPI_SUCCESS;
    }
    /* Drives no progress, which might come here while the lock is held. */
    while (!flag_done(queue)) {
        symm_spin_relax();
    }
    queue->flag_pending = false;
    queue->resident_pending = false;
    int rc = take_failure(queue);
    end_launches(queue, queue->flag_value, rc);
    return rc;
}

bool symm_cuda_queue_idle(symm_queue_t *queue)
{
    if (symm_cuda_batch_pending(queue) || symm_cuda_atomics_pending(queue) || !look(queue) ||
        MPI_SUCCESS != queue->failure) {
        return false;
    }
    end_launches(queue, queue->flag_value, MPI_SUCCESS);
    return true;
}

/* Launches all that is gathered; in the context. */
static int launch_gathered(symm_queue_t *queue)
{
    int rc = symm_cuda_batch_launch(queue);
    int also = symm_cuda_atomics_launch(queue);
    return MPI_SUCCESS == rc ? also : rc;
}

/* Looks once, within the device's context if `entered` is MPI_SUCCESS: what was gathered is
 * launched then. Otherwise looking goes on, since what is under way must not outlive the wait, and
 * a stream can be asked from outside its context. */
static int test(symm_queue_t *queue, int entered, bool *done_p)
{
    symm_cuda_queue_lock(queue);
    int rc = MPI_SUCCESS == entered ? launch_gathered(queue) : entered;
    *done_p = look(queue);
    if (*done_p) {
        int failure = take_failure(queue);
        end_launches(queue, queue->flag_value, failure);
        rc = MPI_SUCCESS == rc ? failure : rc;
    }
    symm_cuda_queue_unlock(queue);
    return rc;
}

/* Whether a kernel is most likely under way, and all that was gathered before: who polls need not
 * ask the driver, but now and then. */
static bool is_running(symm_queue_t *queue)
{
    symm_cuda_queue_lock(queue);
    bool running = queue->flag_pending && !symm_cuda_flag_written(queue) &&
                   !symm_cuda_batch_pending(queue) && !symm_cuda_atomics_pending(queue) &&
                   0 != (queue->looks + 1) % SYMM_CUDA_POLLS_PER_QUERY &&
                   (!queue->resident_pending || symm_cuda_resident_runs(queue));
    queue->looks += running ? 1 : 0;
    symm_cuda_queue_unlock(queue);
    return running;
}

int symm_cuda_queue_test(symm_queue_t *queue, bool *done_p)
{
    symm_cuda_scope_t scope;
    if (is_running(queue)) {
        *done_p = false;
        return MPI_SUCCESS;
    }
    int entered = symm_cuda_enter(queue->device, &scope);
    int rc = test(queue, entered, done_p);
    if (MPI_SUCCESS == entered) {
        symm_cuda_leave(&scope);
    }
    return rc;
}

int symm_cuda_queue_wait(symm_queue_t *queue)
{
    symm_cuda_scope_t scope;
    symm_spin_t spin = SYMM_SPIN_INIT;
    bool done;
    int entered = symm_cuda_enter(queue->device, &scope);
    int rc = test(queue, entered, &done);
    while (!done) {
        symm_spin_once(&spin); /* without the lock: progress may come here */
        int now = test(queue, entered, &done);
        rc = MPI_SUCCESS == rc ? now : rc;
    }
    if (MPI_SUCCESS == entered) {
        symm_cuda_leave(&scope);
    }
    return rc;
}

/* Whether a launch is done; no if it cannot be told yet. */
static bool launch_done(const symm_queue_t *queue, uint32_t value)
{
    uint32_t flag = atomic_load_explicit(queue->flag, memory_order_acquire);
    return 0 <= (int32_t) (flag - value);
}

int symm_cuda_queue_await(symm_queue_t *queue, uint32_t value)
{
    /* Drives no progress, which might come here while the lock is held; kernels wait for nobody. */
    while (!launch_done(queue, value) &&
           (0 != ++queue->looks % SYMM_CUDA_POLLS_PER_QUERY || !lane_done(queue, SYMM_LANE_MAIN))) {
        symm_spin_relax();
    }
    int rc = take_failure(queue);
    end_launches(queue, value, rc);
    return rc;
}

/* ---- marks ---- */

/* Enters the context and launches what is gathered. */
static int enter_and_launch(symm_queue_t *queue)
{
    symm_cuda_scope_t scope;
    int rc = symm_cuda_enter(queue->device, &scope);
    if (MPI_SUCCESS == rc) {
        rc = launch_gathered(queue);
        symm_cuda_leave(&scope);
    }
    return rc;
}

int symm_cuda_queue_mark(symm_queue_t *queue, symm_mark_t *mark_p)
{
    symm_cuda_queue_lock(queue);
    int rc = symm_cuda_queue_settle(queue);
    /* Which of two kinds that are gathered will be launched first is not known. */
    if (MPI_SUCCESS == rc && symm_cuda_atomics_pending(queue)) {
        rc = enter_and_launch(queue);
    }
    /* Copies end without a word: the next launch will tell that they are done. */
    if (MPI_SUCCESS == rc && queue->busy[SYMM_LANE_MAIN] && !queue->flag_pending) {
        rc = symm_cuda_batch_promise(queue);
    }
    *mark_p = queue->flag_value + (symm_cuda_batch_pending(queue) ? 1 : 0);
    symm_cuda_queue_unlock(queue);
    return rc;
}

bool symm_cuda_queue_passed(const symm_queue_t *queue, symm_mark_t mark)
{
    uint32_t done = atomic_load_explicit(&queue->done_value, memory_order_acquire);
    return 0 <= (int32_t) (done - mark);
}

/* Sees which launches are done, and from time to time whether the device has failed. */
static int see_launches(symm_queue_t *queue)
{
    int rc = MPI_SUCCESS;
    uint32_t flag = atomic_load_explicit(queue->flag, memory_order_acquire);
    if (queue->resident_pending) {
        return MPI_SUCCESS; /* nothing else is under way; a wait or test sees its end */
    }
    if (0 < (int32_t) (flag - queue->done_value)) {
        end_launches(queue, flag, MPI_SUCCESS);
        queue->polls = 0;
    } else if (flag != queue->flag_value && 0 == ++queue->polls % SYMM_CUDA_POLLS_PER_QUERY) {
        bool idle = lane_done(queue, SYMM_LANE_MAIN);
        rc = take_failure(queue);
        if (idle || MPI_SUCCESS != rc) {
            end_launches(queue, queue->flag_value, rc);
        }
    }
    return rc;
}

int symm_cuda_queue_progress(symm_queue_t *queue)
{
    int rc = MPI_SUCCESS;
    /* Whoever has the lock makes progress here. */
    if (!symm_cuda_queue_try_lock(queue)) {
        return MPI_SUCCESS;
    }
    if (symm_cuda_batch_pending(queue) || symm_cuda_atomics_pending(queue)) {
        rc = enter_and_launch(queue);
    }
    int seen = see_launches(queue);
    symm_cuda_queue_unlock(queue);
    return MPI_SUCCESS == rc ? seen : rc;
}
