/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The host backend: segments are memfd memory, copies and reductions run on the calling thread at
 * the moment they are started, so that waiting for a queue is nothing but a fence. What is prepared
 * is a list of tasks, run through with each replay. */
#include "symm_config.h"

#include "symm_device.h"
#include "symm_log.h"
#include "symm_rows.h"
#include "symm_shm.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes copied at a time, below the size from which libraries use non-temporal stores. */
#define COPY_BLOCK ((size_t) 256 * 1024)

struct symm_device {
    size_t page;
};

struct symm_queue {
    symm_device_t *device;
};

struct symm_prepared {
    const symm_tasks_t *tasks;
};

static symm_device_t this_host;
static symm_queue_t this_queue = {&this_host};

static int host_open(symm_device_t **device_p, symm_error_t *error)
{
    (void) error;
    this_host.page = (size_t) sysconf(_SC_PAGESIZE);
    *device_p = &this_host;
    return MPI_SUCCESS;
}

static void host_close(symm_device_t *device)
{
    (void) device;
}

static bool host_lasts(const symm_device_t *device)
{
    (void) device;
    return true;
}

static size_t host_granularity(const symm_device_t *device)
{
    return device->page;
}

static const char *host_describe(const symm_device_t *device)
{
    (void) device;
    return "host memory";
}

static uint32_t host_multiprocessors(const symm_device_t *device)
{
    (void) device;
    return 0;
}

static int host_memory_create(symm_device_t *device, size_t len, symm_memory_t *memory_p,
                              symm_error_t *error)
{
    (void) device;
    int fd;
    int rc = symm_shm_create(len, &fd, error);
    if (MPI_SUCCESS == rc) {
        *memory_p = (symm_memory_t){(uint64_t) fd, len};
    }
    return rc;
}

static int host_duplicate(int fd, int *fd_p, symm_error_t *error)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (0 > copy) {
        return symm_error_set_errno(
            error, MPI_ERR_NO_MEM, errno,
            "dup of a memory handle; raise the descriptor limit (ulimit -n)");
    }
    *fd_p = copy;
    return MPI_SUCCESS;
}

static int host_memory_export(symm_device_t *device, const symm_memory_t *memory, int *fd_p,
                              symm_error_t *error)
{
    (void) device;
    return host_duplicate((int) memory->value, fd_p, error);
}

static int host_memory_export_fabric(symm_device_t *device, const symm_memory_t *memory,
                                     symm_fabric_handle_t *handle_p)
{
    (void) device;
    (void) memory;
    (void) handle_p;
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

static int host_memory_import(symm_device_t *device, int fd, size_t len, symm_memory_t *memory_p,
                              symm_error_t *error)
{
    (void) device;
    int copy = -1;
    int rc = host_duplicate(fd, &copy, error);
    if (MPI_SUCCESS == rc) {
        *memory_p = (symm_memory_t){(uint64_t) copy, len};
    }
    return rc;
}

static int host_memory_import_fabric(symm_device_t *device, const symm_fabric_handle_t *handle,
                                     size_t len, symm_memory_t *memory_p, symm_error_t *error)
{
    (void) device;
    (void) handle;
    (void) len;
    (void) memory_p;
    return symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION, "host memory has no fabric handle");
}

static void host_memory_release(symm_device_t *device, symm_memory_t *memory)
{
    (void) device;
    (void) close((int) memory->value); /* only EBADF is possible, and would be our bug */
    memory->len = 0;
}

static int host_range_reserve(symm_device_t *device, size_t len, void **base_p, symm_error_t *error)
{
    (void) device;
    void *base = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (MAP_FAILED == base) {
        return symm_error_set_errno(error, MPI_ERR_NO_MEM, errno,
                                    "reserving %zu bytes of addresses; raise the address space "
                                    "limit (ulimit -v)",
                                    len);
    }
    *base_p = base;
    return MPI_SUCCESS;
}

static int host_range_map(symm_device_t *device, void *at, const symm_memory_t *memory,
                          symm_error_t *error)
{
    (void) device;
    void *mapped;
    return symm_shm_map((int) memory->value, memory->len, at, &mapped, error);
}

static void host_range_unmap(symm_device_t *device, void *at, size_t len)
{
    (void) device;
    /* Keep the addresses reserved: another thread's mmap must not land in the middle. */
    void *hole =
        mmap(at, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (MAP_FAILED == hole) {
        symm_log(SYMM_LOG_WARN, "unmapping %zu bytes at %p: %s", len, at, strerror(errno));
    }
}

static void host_range_free(symm_device_t *device, void *base, size_t len)
{
    (void) device;
    symm_shm_unmap(base, len);
}

static int host_queue_create(symm_device_t *device, symm_queue_t **queue_p, symm_error_t *error)
{
    (void) device;
    (void) error;
    *queue_p = &this_queue;
    return MPI_SUCCESS;
}

static void host_queue_destroy(symm_queue_t *queue)
{
    (void) queue;
}

static int host_copy(symm_queue_t *queue, symm_lane_t lane, void *dst, const void *src, size_t len)
{
    (void) queue;
    (void) lane;
    /* In one piece a large copy would bypass the caches, which is slower: the data is used next. */
    while (len > COPY_BLOCK) {
        memcpy(dst, src, COPY_BLOCK);
        dst = (char *) dst + COPY_BLOCK;
        src = (const char *) src + COPY_BLOCK;
        len -= COPY_BLOCK;
    }
    memcpy(dst, src, len);
    return MPI_SUCCESS;
}

static int host_transfer(symm_queue_t *queue, void *dst, const void *src, size_t len,
                         symm_known_t known)
{
    (void) known;
    return host_copy(queue, SYMM_LANE_MAIN, dst, src, len);
}

static int host_move(symm_queue_t *queue, void *dst, const void *src, symm_typewalk_t *walk,
                     symm_known_t known)
{
    (void) known;
    symm_typepiece_t piece;
    while (symm_typewalk_next(walk, SIZE_MAX, &piece)) {
        symm_rows_t rows = {(char *) dst + piece.a,
                            (const char *) src + piece.b,
                            piece.len,
                            piece.rows,
                            piece.a_pitch,
                            piece.b_pitch};
        if (1 == rows.rows) {
            (void) host_copy(queue, SYMM_LANE_MAIN, rows.dst, rows.src, rows.len); /* cannot fail */
        } else {
            symm_rows_copy_host(&rows);
        }
    }
    return MPI_SUCCESS;
}

static int host_zero(symm_queue_t *queue, symm_lane_t lane, void *dst, size_t len)
{
    (void) queue;
    (void) lane;
    memset(dst, 0, len);
    return MPI_SUCCESS;
}

static int host_copy_many(symm_queue_t *queue, const symm_move_t *moves, uint32_t count,
                          uint32_t blocks_per_move)
{
    (void) queue;
    (void) blocks_per_move;
    symm_move_host(moves, count);
    return MPI_SUCCESS;
}

/* No launch to save. */
static int host_reduce_resident(symm_queue_t *queue, const symm_reduce_t *reduce)
{
    (void) queue;
    (void) reduce;
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

static int host_copy_resident(symm_queue_t *queue, const symm_move_t *moves, uint32_t count)
{
    (void) queue;
    (void) moves;
    (void) count;
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

static void host_queue_rest(symm_queue_t *queue)
{
    (void) queue;
}

static int host_reduce(symm_queue_t *queue, const symm_reduce_t *reduce, uint32_t blocks)
{
    (void) queue;
    (void) blocks;
    return 0 == symm_reduce_host(reduce) ? MPI_SUCCESS : MPI_ERR_OP;
}

static int host_reduce_staged(symm_queue_t *queue, const symm_reduce_t *reduce, int own_src,
                              int own_dst, size_t stage_bytes, uint32_t blocks)
{
    (void) queue;
    (void) reduce;
    (void) own_src;
    (void) own_dst;
    (void) stage_bytes;
    (void) blocks;
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

static int host_atomic(symm_queue_t *queue, const symm_update_t *update)
{
    (void) queue;
    return 0 == symm_atomic_host(&update->atomic) ? MPI_SUCCESS : MPI_ERR_OP;
}

static int host_combine(symm_queue_t *queue, symm_op_t op, symm_dtype_t dtype, void *target,
                        const void *origin, symm_reach_t reach, uint64_t count)
{
    (void) queue;
    (void) reach;
    const void *sources[] = {target, origin};
    symm_reduce_t reduce = {.op = op,
                            .dtype = dtype,
                            .count = count,
                            .nsrc = 2,
                            .ndst = 1,
                            .src = sources,
                            .dst = &target};
    return 0 == symm_reduce_host(&reduce) ? MPI_SUCCESS : MPI_ERR_OP;
}

static int host_queue_wait(symm_queue_t *queue)
{
    (void) queue;
    atomic_thread_fence(memory_order_seq_cst);
    return MPI_SUCCESS;
}

static int host_queue_test(symm_queue_t *queue, bool *done_p)
{
    *done_p = true;
    return host_queue_wait(queue);
}

static int host_queue_mark(symm_queue_t *queue, symm_mark_t *mark_p)
{
    *mark_p = 0;
    return host_queue_wait(queue);
}

static bool host_queue_passed(const symm_queue_t *queue, symm_mark_t mark)
{
    (void) queue;
    (void) mark;
    return true;
}

static int host_prepare(symm_queue_t *queue, const symm_tasks_t *tasks,
                        symm_prepared_t **prepared_p, symm_error_t *error)
{
    (void) queue;
    symm_prepared_t *prepared = malloc(sizeof(*prepared));
    if (NULL == prepared) {
        return symm_error_set(error, MPI_ERR_NO_MEM, "no memory to prepare work");
    }
    prepared->tasks = tasks;
    *prepared_p = prepared;
    return MPI_SUCCESS;
}

static int run_task(const symm_task_t *task)
{
    const symm_move_t *move = task->moves;
    switch (task->kind) {
    case SYMM_TASK_COPY:
        return host_copy(&this_queue, SYMM_LANE_MAIN, move->dst, move->src, (size_t) move->len);
    case SYMM_TASK_COPY_MANY:
        return host_copy_many(&this_queue, task->moves, task->count, task->blocks);
    case SYMM_TASK_REDUCE:
        return host_reduce(&this_queue, &task->reduce, task->blocks);
    }
    return MPI_ERR_INTERN; /* there are no other kinds */
}

static int host_replay(symm_prepared_t *prepared)
{
    int rc = MPI_SUCCESS;
    for (const symm_task_t *task = prepared->tasks->first; MPI_SUCCESS == rc && NULL != task;
         task = task->next) {
        rc = run_task(task);
    }
    return rc;
}

static void host_discard(symm_prepared_t *prepared)
{
    free(prepared);
}

static bool host_reaches(symm_device_t *device, const void *ptr)
{
    (void) device;
    return SYMM_POINTER_HOST == symm_pointer_kind(ptr);
}

static symm_link_t host_link(const symm_device_t *device, const void *mapped)
{
    (void) device;
    (void) mapped;
    return SYMM_LINK_HOST;
}

static symm_pointer_kind_t host_pointer_kind(const void *ptr)
{
    (void) ptr;
    return SYMM_POINTER_HOST;
}

static bool host_in_use(void)
{
    return true;
}

/* Ordinary memory has no handle; see symm_cma.h for what there is instead. */
static int host_offer(symm_device_t *device, const void *ptr, size_t len, bool descriptors,
                      symm_offer_t *offer_p, int *fd_p, symm_error_t *error)
{
    (void) device;
    (void) ptr;
    (void) len;
    (void) descriptors;
    (void) offer_p;
    (void) fd_p;
    return symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION, "host memory has no handle");
}

static int host_adopt(symm_device_t *device, const symm_offer_t *offer, int fd,
                      symm_adopted_t *adopted_p, symm_error_t *error)
{
    (void) device;
    (void) offer;
    (void) fd;
    (void) adopted_p;
    return symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION, "host memory has no handle");
}

static void host_abandon(symm_device_t *device, symm_adopted_t *adopted)
{
    (void) device;
    (void) adopted;
}

static void host_finalize(void)
{
}

const symm_device_ops_t symm_host_ops = {
    .kind = SYMM_KIND_SYSTEM,
    .open = host_open,
    .close = host_close,
    .lasts = host_lasts,
    .granularity = host_granularity,
    .describe = host_describe,
    .multiprocessors = host_multiprocessors,
    .memory_create = host_memory_create,
    .memory_export = host_memory_export,
    .memory_export_fabric = host_memory_export_fabric,
    .memory_import = host_memory_import,
    .memory_import_fabric = host_memory_import_fabric,
    .memory_release = host_memory_release,
    .range_reserve = host_range_reserve,
    .range_map = host_range_map,
    .range_unmap = host_range_unmap,
    .range_free = host_range_free,
    .queue_create = host_queue_create,
    .queue_destroy = host_queue_destroy,
    .copy = host_copy,
    .transfer = host_transfer,
    .move = host_move,
    .zero = host_zero,
    .copy_many = host_copy_many,
    .reduce_resident = host_reduce_resident,
    .copy_resident = host_copy_resident,
    .queue_rest = host_queue_rest,
    .reduce = host_reduce,
    .reduce_staged = host_reduce_staged,
    .atomic = host_atomic,
    .combine = host_combine,
    .queue_wait = host_queue_wait,
    .queue_test = host_queue_test,
    .queue_mark = host_queue_mark,
    .queue_progress = host_queue_wait,
    .queue_passed = host_queue_passed,
    .prepare = host_prepare,
    .replay = host_replay,
    .discard = host_discard,
    .reaches = host_reaches,
    .link = host_link,
    .pointer_kind = host_pointer_kind,
    .in_use = host_in_use,
    .offer = host_offer,
    .adopt = host_adopt,
    .abandon = host_abandon,
    .finalize = host_finalize,
    .max_ranks = INT_MAX,
};
