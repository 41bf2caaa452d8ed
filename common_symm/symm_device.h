/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The device backends: one table of functions, implemented by `cuda` (symm_cuda*.c) and `host`
 * (symm_host.c). Above this table nothing knows which of them it talks to.
 *
 * Unless said otherwise a function is local, may be called by any thread with one caller per object
 * at a time, returns an MPI error class with the error recorded, and leaves nothing behind when it
 * fails. "Teardown" functions cannot fail: they log what the driver refuses and go on. */
#ifndef SYMM_DEVICE_H
#define SYMM_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_symm.h"
#include "symm_atomic.h"
#include "symm_error.h"
#include "symm_move.h"
#include "symm_program_memory.h"
#include "symm_reduce.h"
#include "symm_tasks.h"
#include "symm_typemap.h"

/* A device in use: a CUDA context, or this host. Owned by its backend. */
typedef struct symm_device symm_device_t;

/* An ordered line of copies and reductions on a device, with its two lanes (see copy). Any thread
 * may use it; calls take turns. */
typedef struct symm_queue symm_queue_t;

/* Work that was made ready to be done again and again. Owned by its backend. */
typedef struct symm_prepared symm_prepared_t;

/* One rank's physical allocation; what value means, the backend knows. */
typedef struct symm_memory {
    uint64_t value;
    size_t len;
} symm_memory_t;

#define SYMM_FABRIC_HANDLE_BYTES 64

typedef struct symm_fabric_handle {
    unsigned char bytes[SYMM_FABRIC_HANDLE_BYTES];
} symm_fabric_handle_t;

#define SYMM_OFFER_HANDLE_BYTES 64

/* Ways in which memory that the program allocated can be had by other processes. */
typedef enum symm_offer_kind {
    SYMM_OFFER_NONE,
    SYMM_OFFER_HANDLE,     /* the bytes of a handle do */
    SYMM_OFFER_DESCRIPTOR, /* a descriptor has to be sent */
} symm_offer_kind_t;

/* How to have a piece of memory of another process. Travels as bytes. */
typedef struct symm_offer {
    uint32_t kind;   /* symm_offer_kind_t */
    uint64_t offset; /* of the piece in its allocation */
    uint64_t len;    /* of the allocation */
    unsigned char handle[SYMM_OFFER_HANDLE_BYTES];
} symm_offer_t;

/* Memory of another process in this one. */
typedef struct symm_adopted {
    symm_offer_kind_t kind; /* SYMM_OFFER_NONE for none */
    void *base;             /* of the allocation */
    size_t len;
    void *address; /* of the piece that was offered */
} symm_adopted_t;

/* Lanes of a queue: work on one lane is in order, work on different lanes may overlap. */
typedef enum symm_lane { SYMM_LANE_MAIN, SYMM_LANE_LOCAL, SYMM_LANE_COUNT } symm_lane_t;

/* Which end of a transfer is certainly memory that the device reaches, as a window's is. */
typedef enum symm_known {
    SYMM_KNOWN_NEITHER,
    SYMM_KNOWN_DST,
    SYMM_KNOWN_SRC,
    SYMM_KNOWN_BOTH, /* the sum of the two before */
} symm_known_t;

/* A point in what a queue has been given to do: all that was given before. */
typedef uint32_t symm_mark_t;

/* What a plain pointer points to, as far as copies and kernels care. */
typedef enum symm_pointer_kind {
    SYMM_POINTER_HOST,   /* ordinary or pinned host memory: loads and stores work */
    SYMM_POINTER_DEVICE, /* memory of a GPU: only copies and kernels may touch it */
} symm_pointer_kind_t;

/* How operands and results of updates can be had. */
typedef enum symm_reach {
    SYMM_REACH_KERNEL, /* kernels read and write it */
    SYMM_REACH_HOST,   /* ordinary or pinned host memory */
    SYMM_REACH_COPY,   /* memory of another device or context: by copies alone */
} symm_reach_t;

/* An atomic update, one of those that make up a call. The targets of one call do not overlap. */
typedef struct symm_update {
    symm_atomic_t atomic; /* compare is host memory */
    symm_reach_t origin, result;
    bool ordered;     /* stay behind earlier updates of the same elements */
    bool first, last; /* of its call */
} symm_update_t;

typedef struct symm_device_ops {
    symm_kind_t kind;

    /* Opens the device this rank shall use: that of the thread's current context, otherwise one
     * near the rank's cores, the same for the life of the process. Each call is paired with a
     * close. */
    int (*open)(symm_device_t **device_p, symm_error_t *error);
    void (*close)(symm_device_t *device);

    /* Whether the device outlives all windows on it, so that freed segments can be kept. */
    bool (*lasts)(const symm_device_t *device);

    /* Bytes that allocations and mappings are multiples of. */
    size_t (*granularity)(const symm_device_t *device);

    /* A line for people: "NVIDIA H200 (device 0)". Static as long as the device is open. */
    const char *(*describe)(const symm_device_t *device);

    /* Multiprocessors that kernels can use, 0 on the host. */
    uint32_t (*multiprocessors)(const symm_device_t *device);

    /* Allocates len bytes (a multiple of the granularity) that peers can map. */
    int (*memory_create)(symm_device_t *device, size_t len, symm_memory_t *memory_p,
                         symm_error_t *error);
    /* Gives a descriptor to send to peers of this host; the caller closes it. */
    int (*memory_export)(symm_device_t *device, const symm_memory_t *memory, int *fd_p,
                         symm_error_t *error);
    /* Gives a handle that is good on all hosts of an NVLink fabric. MPI_ERR_UNSUPPORTED_OPERATION
     * without an error recorded when the device or this allocation has none. */
    int (*memory_export_fabric)(symm_device_t *device, const symm_memory_t *memory,
                                symm_fabric_handle_t *handle_p);
    /* Takes a peer's memory of len bytes; the descriptor stays the caller's to close. */
    int (*memory_import)(symm_device_t *device, int fd, size_t len, symm_memory_t *memory_p,
                         symm_error_t *error);
    int (*memory_import_fabric)(symm_device_t *device, const symm_fabric_handle_t *handle,
                                size_t len, symm_memory_t *memory_p, symm_error_t *error);
    /* Drops this process's hold on created or imported memory. Mappings keep it alive. Teardown. */
    void (*memory_release)(symm_device_t *device, symm_memory_t *memory);

    /* Reserves len bytes of addresses; maps memory into a part of it, readable and writable by this
     * rank's device; ends such a mapping; gives the addresses back. The last two are teardown. */
    int (*range_reserve)(symm_device_t *device, size_t len, void **base_p, symm_error_t *error);
    int (*range_map)(symm_device_t *device, void *at, const symm_memory_t *memory,
                     symm_error_t *error);
    void (*range_unmap)(symm_device_t *device, void *at, size_t len);
    void (*range_free)(symm_device_t *device, void *base, size_t len);

    int (*queue_create)(symm_device_t *device, symm_queue_t **queue_p, symm_error_t *error);
    void (*queue_destroy)(symm_queue_t *queue); /* waits for what is under way; teardown */

    /* Starts copying len bytes. On a GPU: between any two of mapped segments, other device memory,
     * pinned and ordinary host memory; on the host: between host memory only. The source must not
     * change, the destination not be used, before queue_wait. Returns MPI_ERR_OTHER, logging the
     * cause, when the copy cannot be started. */
    int (*copy)(symm_queue_t *queue, symm_lane_t lane, void *dst, const void *src, size_t len);
    /* The same on the main lane for one operation of many: what is small is gathered, and started
     * together with others when the queue is waited for, when progress is made, or when there is
     * enough of it. A source in host memory that is no CUDA memory may be read at once, a
     * destination of that kind is written by queue_wait or queue_progress. */
    int (*transfer)(symm_queue_t *queue, void *dst, const void *src, size_t len,
                    symm_known_t known);
    /* The same for all that is left of walk, from src, its side b, to dst, its side a. The walk is
     * used up on return; the datatypes behind it may go. */
    int (*move)(symm_queue_t *queue, void *dst, const void *src, symm_typewalk_t *walk,
                symm_known_t known);
    /* Starts filling with zero bytes. */
    int (*zero)(symm_queue_t *queue, symm_lane_t lane, void *dst, size_t len);
    /* Starts several copies on the main lane, all at once: between memory that kernels on the
     * device reach. MPI_ERR_UNSUPPORTED_OPERATION when there are more than SYMM_MOVE_MAX. */
    int (*copy_many)(symm_queue_t *queue, const symm_move_t *moves, uint32_t count,
                     uint32_t blocks_per_move);
    /* Starts a reduction on the main lane. MPI_ERR_UNSUPPORTED_OPERATION when there are more
     * sources or destinations than max_ranks. */
    int (*reduce)(symm_queue_t *queue, const symm_reduce_t *reduce, uint32_t blocks);
    /* The same by few blocks: copy engines bring all sources but own_src, and take the result to
     * all destinations but own_dst, through a stage of stage_bytes on this device that the queue
     * keeps; -1 where none is this device's own memory. MPI_ERR_UNSUPPORTED_OPERATION, with nothing
     * started, where there are no copy engines or no stage, or elements have gaps. */
    int (*reduce_staged)(symm_queue_t *queue, const symm_reduce_t *reduce, int own_src, int own_dst,
                         size_t stage_bytes, uint32_t blocks);
    /* Do what reduce and copy_many do by a kernel that stays on the device for a while and saves
     * small work the launch: only when the queue has nothing under way and the work is small.
     * MPI_ERR_UNSUPPORTED_OPERATION otherwise, also where there is no such kernel; then nothing is
     * started. */
    int (*reduce_resident)(symm_queue_t *queue, const symm_reduce_t *reduce);
    int (*copy_resident)(symm_queue_t *queue, const symm_move_t *moves, uint32_t count);
    /* Ends what stays on the device for a queue with nothing under way, and frees what is large.
     * Teardown; the queue can be used again. */
    void (*queue_rest)(symm_queue_t *queue);
    /* Starts an atomic update of mapped memory, which kernels reach. Small ones may wait for others
     * until queue_wait. Origins in host memory are free again on return, others and results as with
     * copy. */
    int (*atomic)(symm_queue_t *queue, const symm_update_t *update);
    /* Starts target[i] = target[i] op origin[i] on the main lane, without atomics: nobody else
     * touches the targets until queue_wait. Otherwise as atomic. */
    int (*combine)(symm_queue_t *queue, symm_op_t op, symm_dtype_t dtype, void *target,
                   const void *origin, symm_reach_t reach, uint64_t count);
    /* Waits until all lanes are done, driving progress; their results are then visible to this
     * host, to every stream and to every peer. Returns MPI_ERR_OTHER, logging the cause, when the
     * device reports a failure. */
    int (*queue_wait)(symm_queue_t *queue);
    /* The same without waiting: sets *done_p to whether all lanes are done, which is so after a
     * failure, too. */
    int (*queue_test)(symm_queue_t *queue, bool *done_p);

    /* Marks what the main lane has been given so far; has the class of a failure to do that. */
    int (*queue_mark)(symm_queue_t *queue, symm_mark_t *mark_p);
    /* Goes on without waiting: starts what was gathered, ends what is done. Returns MPI_ERR_OTHER,
     * logging the cause, when the device reports a failure: nothing is under way then. */
    int (*queue_progress)(symm_queue_t *queue);
    /* Whether all before mark is complete, as far as queue_progress and queue_wait have seen. */
    bool (*queue_passed)(const symm_queue_t *queue, symm_mark_t mark);

    /* Makes ready what tasks say, to be done on queue once with each replay. The tasks, and the
     * memory that they are about, stay as they are until discard. */
    int (*prepare)(symm_queue_t *queue, const symm_tasks_t *tasks, symm_prepared_t **prepared_p,
                   symm_error_t *error);
    /* Starts it. As with copy and reduce, also after a failure. */
    int (*replay)(symm_prepared_t *prepared);
    /* Ends it; nothing of it is under way. NULL is allowed. Teardown. */
    void (*discard)(symm_prepared_t *prepared);

    /* Whether kernels on device can read and write ptr, memory outside any window. */
    bool (*reaches)(symm_device_t *device, const void *ptr);

    /* What joins the device to mapped memory; SYMM_LINK_PCIE when that is not known. */
    symm_link_t (*link)(const symm_device_t *device, const void *mapped);

    /* What ptr points to, by the driver's word; see symm_pointer_kind(). */
    symm_pointer_kind_t (*pointer_kind)(const void *ptr);

    /* Whether the calling thread uses this kind of memory already. Never starts a driver. */
    bool (*in_use)(void);

    /* Tells how others can have [ptr, ptr + len), memory of this kind that the program allocated.
     * Only when descriptors may be sent, *fd_p gets one where the offer's kind says so, which the
     * caller closes. MPI_ERR_UNSUPPORTED_OPERATION when the memory cannot be shared. */
    int (*offer)(symm_device_t *device, const void *ptr, size_t len, bool descriptors,
                 symm_offer_t *offer_p, int *fd_p, symm_error_t *error);
    /* Makes offered memory of another process readable and writable by this rank's device; the
     * descriptor stays the caller's. Ends that (teardown); nothing may be under way on it. */
    int (*adopt)(symm_device_t *device, const symm_offer_t *offer, int fd,
                 symm_adopted_t *adopted_p, symm_error_t *error);
    void (*abandon)(symm_device_t *device, symm_adopted_t *adopted);

    /* Frees what the backend keeps for the life of the process. */
    void (*finalize)(void);

    /* Most sources or destinations of one reduction. */
    int max_ranks;
} symm_device_ops_t;

/* Whether a device's atomics on memory over that link are atomic to those of the other devices that
 * have it mapped. */
static inline bool symm_link_has_atomics(symm_link_t link)
{
    return SYMM_LINK_PCIE > link;
}

extern const symm_device_ops_t symm_host_ops;
extern const symm_device_ops_t symm_cuda_ops; /* only in a library built with CUDA's headers */

/* The backend of a kind; NULL when this library was built without it. */
SYMM_EXPORT const symm_device_ops_t *symm_device_ops(symm_kind_t kind);

/* False once it is known that this process cannot have GPU memory: there is no driver. */
SYMM_EXPORT extern _Atomic bool symm_gpu_memory_possible;

/* The slow part of symm_pointer_kind(); call that instead. */
SYMM_EXPORT symm_pointer_kind_t symm_pointer_kind_ask(const void *ptr);

/* Classifies ptr. Costs one load where there is no driver. Any thread. */
static inline symm_pointer_kind_t symm_pointer_kind(const void *ptr)
{
    return atomic_load_explicit(&symm_gpu_memory_possible, memory_order_relaxed) &&
                   !symm_program_memory(ptr)
               ? symm_pointer_kind_ask(ptr)
               : SYMM_POINTER_HOST;
}

#endif
