/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What the files of the cuda backend share: the device, and working in its context. */
#ifndef SYMM_CUDA_H
#define SYMM_CUDA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "symm_cuda_driver.h"
#include "symm_device.h"
#include "symm_fatbin.h"

/* A CUDA context in use, and the GPU under it. Kept until the library's end once opened, so that
 * later windows find the kernels loaded. */
struct symm_device {
    symm_device_t *next;
    CUcontext context;
    unsigned long long context_id; /* a later context may get the same handle, never the same id */
    CUdevice gpu;
    bool retained; /* the primary context, of which we hold a reference */
    bool fabric;   /* FABRIC handles were not refused yet */
    int ordinal;
    size_t granularity;
    uint32_t multiprocessors;
    CUmodule modules[SYMM_FATBIN_COUNT];
    pthread_mutex_t kernels_lock; /* held while a kernel is looked up for the first time */
    /* The kernels found so far, NULL at first. */
    _Atomic CUfunction atomic_kernels[SYMM_ATOMIC_OP_COUNT][SYMM_DTYPE_COUNT];
    _Atomic CUfunction batch_kernel;
    _Atomic CUfunction move_kernel;
    _Atomic CUfunction reduce_kernels[SYMM_OP_COUNT][SYMM_DTYPE_COUNT];
    _Atomic CUfunction resident_kernel;
    pthread_mutex_t residents_lock;       /* of the list */
    struct symm_cuda_resident *residents; /* of all queues, see symm_cuda_resident.h */
    char text[128];
};

/* What symm_cuda_enter() changed in the calling thread. */
typedef struct symm_cuda_scope {
    bool pushed;
    bool relaxed; /* the mode of stream capture was exchanged for a relaxed one */
    CUstreamCaptureMode mode;
} symm_cuda_scope_t;

/* Makes device's context the thread's current one, unless it is, and lets the thread make calls
 * that an unfinished stream capture would otherwise forbid; leave undoes both. Nothing in between
 * may return. Returns MPI_SUCCESS or MPI_ERR_OTHER (then do not leave). */
int symm_cuda_enter(const symm_device_t *device, symm_cuda_scope_t *scope_p);
void symm_cuda_leave(const symm_cuda_scope_t *scope);

/* Entries of the backend's table in symm_cuda_queue.c, symm_cuda_move.c, symm_cuda_kernel.c,
 * symm_cuda_resident.c and
 * symm_cuda_atomic.c. */
int symm_cuda_queue_create(symm_device_t *device, symm_queue_t **queue_p, symm_error_t *error);
void symm_cuda_queue_destroy(symm_queue_t *queue);
int symm_cuda_copy(symm_queue_t *queue, symm_lane_t lane, void *dst, const void *src, size_t len);
int symm_cuda_transfer(symm_queue_t *queue, void *dst, const void *src, size_t len,
                       symm_known_t known);
int symm_cuda_move(symm_queue_t *queue, void *dst, const void *src, symm_typewalk_t *walk,
                   symm_known_t known);
int symm_cuda_zero(symm_queue_t *queue, symm_lane_t lane, void *dst, size_t len);
int symm_cuda_copy_many(symm_queue_t *queue, const symm_move_t *moves, uint32_t count,
                        uint32_t blocks_per_move);
int symm_cuda_reduce(symm_queue_t *queue, const symm_reduce_t *reduce, uint32_t blocks);
int symm_cuda_reduce_staged(symm_queue_t *queue, const symm_reduce_t *reduce, int own_src,
                            int own_dst, size_t stage_bytes, uint32_t blocks);
int symm_cuda_reduce_resident(symm_queue_t *queue, const symm_reduce_t *reduce);
int symm_cuda_copy_resident(symm_queue_t *queue, const symm_move_t *moves, uint32_t count);
void symm_cuda_queue_rest(symm_queue_t *queue);
int symm_cuda_atomic(symm_queue_t *queue, const symm_update_t *update);
int symm_cuda_combine(symm_queue_t *queue, symm_op_t op, symm_dtype_t dtype, void *target,
                      const void *origin, symm_reach_t reach, uint64_t count);
int symm_cuda_queue_wait(symm_queue_t *queue);
int symm_cuda_queue_test(symm_queue_t *queue, bool *done_p);
int symm_cuda_queue_mark(symm_queue_t *queue, symm_mark_t *mark_p);
int symm_cuda_queue_progress(symm_queue_t *queue);
bool symm_cuda_queue_passed(const symm_queue_t *queue, symm_mark_t mark);

/* symm_cuda_prepared.c's entries. */
int symm_cuda_prepare(symm_queue_t *queue, const symm_tasks_t *tasks, symm_prepared_t **prepared_p,
                      symm_error_t *error);
int symm_cuda_replay(symm_prepared_t *prepared);
void symm_cuda_discard(symm_prepared_t *prepared);

/* Where memory is for the kernels of a device. */
typedef enum symm_cuda_place {
    SYMM_CUDA_REACHED,   /* device memory, or pinned memory at an address that is good for both */
    SYMM_CUDA_ORDINARY,  /* host memory that kernels do not reach */
    SYMM_CUDA_ELSEWHERE, /* device memory that they may not reach, but copies do */
} symm_cuda_place_t;

/* Looks at memory outside any window. The context need not be entered. */
symm_cuda_place_t symm_cuda_place(const symm_device_t *device, const void *ptr);

/* symm_cuda_share.c's entries. */
bool symm_cuda_in_use(void);
int symm_cuda_offer(symm_device_t *device, const void *ptr, size_t len, bool descriptors,
                    symm_offer_t *offer_p, int *fd_p, symm_error_t *error);
int symm_cuda_adopt(symm_device_t *device, const symm_offer_t *offer, int fd,
                    symm_adopted_t *adopted_p, symm_error_t *error);
void symm_cuda_abandon(symm_device_t *device, symm_adopted_t *adopted);

/* Loads the kernels into device's context, entered by the caller. Returns MPI_SUCCESS, or
 * MPI_ERR_UNSUPPORTED_OPERATION when there are none for this GPU, with error recorded. */
int symm_cuda_load_kernels(symm_device_t *device, symm_error_t *error);

/* Unloads what of them was loaded, in device's context, entered by the caller. Teardown. */
void symm_cuda_unload_kernels(symm_device_t *device);

#endif
