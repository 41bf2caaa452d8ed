/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The osc component of symmetric windows: its component and module structures, and the functions
 * that its files share. MPI sees one module per window.
 *
 * NOTE threads. Several threads may lock different targets of one window, and put and get within
 * one epoch. `lock` guards the fields that say which epochs are open; nothing waits while holding
 * it. */
#ifndef OSC_SYMM_H
#define OSC_SYMM_H

#include "symm_ompi_compat.h"

#include <stdatomic.h>

#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/win/win.h"
#include "opal/threads/mutex.h"

#include "osc_symm_decide.h"
#include "osc_symm_target.h"
#include "symm_window.h"

typedef struct ompi_osc_symm_component {
    ompi_osc_base_component_t super;
    int priority;
    int verbose;
    char *kind; /* for windows without the info key; "" for none */
    int rendezvous_timeout_ms;
    bool fabric_handles;
    size_t cache_bytes;
    bool cma;         /* cross-memory attach may be used */
    int max_attached; /* regions that a rank can have attached to one dynamic window */
} ompi_osc_symm_component_t;

/* Open MPI finds the component by this name. */
SYMM_EXPORT extern ompi_osc_symm_component_t mca_osc_symm_component;

/* A passive-target lock that this rank holds. */
typedef enum osc_symm_held {
    OSC_SYMM_HELD_NONE,
    OSC_SYMM_HELD_SHARED,
    OSC_SYMM_HELD_EXCLUSIVE,
    OSC_SYMM_HELD_NOCHECK, /* taken with MPI_MODE_NOCHECK: nothing was locked */
} osc_symm_held_t;

/* The hints about a window's use that MPI defines (MPI-4.0, 12.2.1), told and changed at any time.
 */
typedef enum osc_symm_hint {
    OSC_SYMM_HINT_NO_LOCKS,
    OSC_SYMM_HINT_SAME_SIZE,
    OSC_SYMM_HINT_SAME_DISP_UNIT,
    OSC_SYMM_HINT_ACCUMULATE_ORDERING,
    OSC_SYMM_HINT_ACCUMULATE_OPS,
    OSC_SYMM_HINT_COUNT,
} osc_symm_hint_t;

/* Holds the longest value, "rar,raw,war,waw", with blanks to spare. */
#define OSC_SYMM_HINT_TEXT_MAX 32

/* What a window on the program's own memory has besides (osc_symm_own.c). */
typedef struct osc_symm_own osc_symm_own_t;

struct ompi_osc_symm_module {
    ompi_osc_base_module_t super;
    ompi_win_t *win;
    symm_window_t *window;
    const symm_device_ops_t *ops; /* what copies and kernels run on */
    symm_queue_t *queue;          /* likewise */
    symm_device_t *device;        /* of these */
    osc_symm_target_t *targets;   /* [size] */
    bool dynamic;                 /* regions are looked up at each operation */
    bool on_host;                 /* all targets are host memory that is mapped here */
    osc_symm_own_t *own;          /* NULL for allocated memory */
    bool driven;                  /* by MPI's progress, see osc_symm_request.h */
    ompi_osc_symm_module_t *next_driven;
    struct ompi_osc_symm_request *requests; /* not complete yet */
    bool noncontig;                         /* the info key alloc_shared_noncontig is honoured */
    char hints[OSC_SYMM_HINT_COUNT][OSC_SYMM_HINT_TEXT_MAX]; /* the values in force */
    _Atomic unsigned flushes;                                /* so far */
    opal_mutex_t lock;

    /* The access epochs that are open. */
    bool fence_open;
    bool lock_all;
    bool lock_all_nocheck;
    uint8_t *held;    /* [size] osc_symm_held_t */
    int held_count;   /* targets that are locked */
    bool started;     /* MPI_Win_start without its complete */
    int *start_ranks; /* [start_count] */
    int start_count;

    /* The exposure epoch that is open. */
    bool posted; /* MPI_Win_post without its wait */
    int post_count;
};

static inline ompi_osc_symm_module_t *ompi_osc_symm_module_of(const ompi_win_t *win)
{
    return (ompi_osc_symm_module_t *) win->w_osc_module;
}

/* osc_symm_module.c: makes the module of a window that exists and attaches it to win, with the info
 * keys that were honoured by decision. On failure the window is the caller's still. Local. */
int ompi_osc_symm_module_create(ompi_win_t *win, symm_window_t *window,
                                const osc_symm_decision_t *decision);
/* Frees the module alone, if there is one; the window is the caller's. */
void ompi_osc_symm_module_destroy(ompi_win_t *win);
int ompi_osc_symm_free(ompi_win_t *win);
int ompi_osc_symm_shared_query(ompi_win_t *win, int rank, size_t *size, int *disp_unit,
                               void *baseptr);

/* osc_symm_own.c: makes the memory that the program has at base on each rank reachable for all, or
 * whatever regions will be attached to a dynamic window. Collective over the window's ranks through
 * exchange. Returns the agreed MPI error class; what it made goes with disconnect. */
int ompi_osc_symm_own_connect(ompi_osc_symm_module_t *module, const symm_exchange_t *exchange,
                              const char *what);
void ompi_osc_symm_own_disconnect(ompi_osc_symm_module_t *module);
/* Bytes that the segments of such a window have for this component. */
size_t ompi_osc_symm_own_service_bytes(int flavor);
/* ompi_osc_symm_locate() of a dynamic window. */
int ompi_osc_symm_locate_region(ompi_osc_symm_module_t *module, int target, ptrdiff_t disp,
                                ptrdiff_t offset, size_t len, osc_symm_place_t *place_p);
int ompi_osc_symm_attach(ompi_win_t *win, void *base, size_t len);
int ompi_osc_symm_detach(ompi_win_t *win, const void *base);

static inline int ompi_osc_symm_locate(ompi_osc_symm_module_t *module, int target, ptrdiff_t disp,
                                       ptrdiff_t offset, size_t len, osc_symm_place_t *place_p)
{
    const osc_symm_target_t *memory = &module->targets[target];
    ptrdiff_t start;
    if (module->dynamic) {
        return ompi_osc_symm_locate_region(module, target, disp, offset, len, place_p);
    }
    if (__builtin_mul_overflow(disp, memory->disp_unit, &start) ||
        __builtin_add_overflow(start, offset, &start) || 0 > start ||
        (size_t) start > memory->size || len > memory->size - (size_t) start) {
        return MPI_ERR_RMA_RANGE;
    }
    *place_p = (osc_symm_place_t){memory->base + start, target, memory->reach, memory->kind,
                                  memory->locked};
    return MPI_SUCCESS;
}

static inline bool ompi_osc_symm_place_is_known(const ompi_osc_symm_module_t *module,
                                                const osc_symm_place_t *place)
{
    return place->kind == module->ops->kind;
}

/* Whether rank target is of the access epoch that MPI_Win_start has begun. */
static inline bool ompi_osc_symm_started(const ompi_osc_symm_module_t *module, int target)
{
    bool found = false;
    for (int i = 0; !found && module->started && i < module->start_count; ++i) {
        found = target == module->start_ranks[i];
    }
    return found;
}

/* Whether an access epoch to target is open (MPI-4.0, 12.5). */
static inline bool ompi_osc_symm_may_access(const ompi_osc_symm_module_t *module, int target)
{
    return module->lock_all || OSC_SYMM_HELD_NONE != module->held[target] || module->fence_open ||
           ompi_osc_symm_started(module, target);
}

/* Whether accumulate-class operations of this rank on the same element must stay in order. */
static inline bool ompi_osc_symm_keeps_order(const ompi_osc_symm_module_t *module)
{
    return 0 != strcmp("none", module->hints[OSC_SYMM_HINT_ACCUMULATE_ORDERING]);
}

/* osc_symm_info.c: reads the request out of info; puts the honoured keys of a symmetric window into
 * its info; takes our keys out of that of any other window. */
void ompi_osc_symm_info_read(opal_info_t *info, const char *default_kind,
                             osc_symm_request_t *request_p, symm_error_t *error);
int ompi_osc_symm_info_publish(ompi_win_t *win, const osc_symm_decision_t *decision);
void ompi_osc_symm_info_clear(ompi_win_t *win);

/* osc_symm_comm.c */
int ompi_osc_symm_put(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                      int target, ptrdiff_t target_disp, int target_count,
                      ompi_datatype_t *target_dt, ompi_win_t *win);
int ompi_osc_symm_get(void *origin_addr, int origin_count, ompi_datatype_t *origin_dt, int target,
                      ptrdiff_t target_disp, int target_count, ompi_datatype_t *target_dt,
                      ompi_win_t *win);
int ompi_osc_symm_rput(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                       int target, ptrdiff_t target_disp, int target_count,
                       ompi_datatype_t *target_dt, ompi_win_t *win, ompi_request_t **request_p);
int ompi_osc_symm_rget(void *origin_addr, int origin_count, ompi_datatype_t *origin_dt, int target,
                       ptrdiff_t target_disp, int target_count, ompi_datatype_t *target_dt,
                       ompi_win_t *win, ompi_request_t **request_p);
/* Whether a transfer between a place that is mapped and the origin's memory is beyond the window's
 * queue: the place is of another kind, or the origin is on a GPU and the window is not. */
static inline bool ompi_osc_symm_is_foreign(const ompi_osc_symm_module_t *module,
                                            const osc_symm_place_t *place, const void *origin)
{
    return !ompi_osc_symm_place_is_known(module, place) ||
           (SYMM_KIND_SYSTEM == module->ops->kind &&
            SYMM_POINTER_DEVICE == symm_pointer_kind(origin));
}

/* What the device surely reaches of a put or get that is not foreign: the place, and the origin if
 * it is in this rank's own memory of the window, which saves asking the driver about it. */
static inline symm_known_t ompi_osc_symm_known(bool put, const ompi_osc_symm_module_t *module,
                                               const void *origin)
{
    const osc_symm_target_t *own = &module->targets[module->window->rank];
    bool inside = !module->dynamic && SYMM_KIND_CUDA_DEVICE == own->kind &&
                  (uintptr_t) origin - (uintptr_t) own->base < own->size;
    if (inside) {
        return SYMM_KNOWN_BOTH;
    }
    return put ? SYMM_KNOWN_DST : SYMM_KNOWN_SRC;
}

/* osc_symm_typed.c: a put or a get with any datatypes; an access epoch to target is open. */
int ompi_osc_symm_transfer_typed(bool put, const void *origin_addr, int origin_count,
                                 ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                                 int target_count, ompi_datatype_t *target_dt,
                                 ompi_osc_symm_module_t *module);
/* Completes all operations that this rank has started on the window. Returns an MPI error class. */
static inline int ompi_osc_symm_complete_operations(const ompi_osc_symm_module_t *module)
{
    if (module->on_host) { /* copies on the host are done when they return */
        atomic_thread_fence(memory_order_seq_cst);
        return MPI_SUCCESS;
    }
    return module->ops->queue_wait(module->queue);
}

/* osc_symm_accumulate.c */
int ompi_osc_symm_accumulate(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                             int target, ptrdiff_t target_disp, int target_count,
                             ompi_datatype_t *target_dt, MPI_Op op, ompi_win_t *win);
int ompi_osc_symm_get_accumulate(const void *origin_addr, int origin_count,
                                 ompi_datatype_t *origin_dt, void *result_addr, int result_count,
                                 ompi_datatype_t *result_dt, int target, ptrdiff_t target_disp,
                                 int target_count, ompi_datatype_t *target_dt, MPI_Op op,
                                 ompi_win_t *win);
int ompi_osc_symm_raccumulate(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                              int target, ptrdiff_t target_disp, int target_count,
                              ompi_datatype_t *target_dt, MPI_Op op, ompi_win_t *win,
                              ompi_request_t **request_p);
int ompi_osc_symm_rget_accumulate(const void *origin_addr, int origin_count,
                                  ompi_datatype_t *origin_dt, void *result_addr, int result_count,
                                  ompi_datatype_t *result_dt, int target, ptrdiff_t target_disp,
                                  int target_count, ompi_datatype_t *target_dt, MPI_Op op,
                                  ompi_win_t *win, ompi_request_t **request_p);
int ompi_osc_symm_fetch_and_op(const void *origin_addr, void *result_addr, ompi_datatype_t *dt,
                               int target, ptrdiff_t target_disp, MPI_Op op, ompi_win_t *win);
int ompi_osc_symm_compare_and_swap(const void *origin_addr, const void *compare_addr,
                                   void *result_addr, ompi_datatype_t *dt, int target,
                                   ptrdiff_t target_disp, ompi_win_t *win);

/* osc_symm_sync.c: fence and post/start/complete/wait */
int ompi_osc_symm_fence(int assertion, ompi_win_t *win);
int ompi_osc_symm_start(ompi_group_t *group, int assertion, ompi_win_t *win);
int ompi_osc_symm_complete(ompi_win_t *win);
int ompi_osc_symm_post(ompi_group_t *group, int assertion, ompi_win_t *win);
int ompi_osc_symm_wait(ompi_win_t *win);
int ompi_osc_symm_test(ompi_win_t *win, int *flag);

/* osc_symm_lock.c: passive target */
int ompi_osc_symm_lock(int lock_type, int target, int assertion, ompi_win_t *win);
int ompi_osc_symm_unlock(int target, ompi_win_t *win);
int ompi_osc_symm_lock_all(int assertion, ompi_win_t *win);
int ompi_osc_symm_unlock_all(ompi_win_t *win);
int ompi_osc_symm_sync(ompi_win_t *win);
int ompi_osc_symm_flush(int target, ompi_win_t *win);
int ompi_osc_symm_flush_all(ompi_win_t *win);
/* Gives back all locks that this rank holds; its operations are complete. */
void ompi_osc_symm_release_locks(ompi_osc_symm_module_t *module);

#endif
