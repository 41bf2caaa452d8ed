/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Passive target synchronisation (MPI-4.0, 12.5.3 and 12.5.4), on the locks in the window's control
 * block; the target takes no part.
 *
 * NOTE two levels. A lock of one target is that target's reader-writer lock. lock_all takes none of
 * these: it shares a room with the holders of exclusive locks instead, so it costs one step
 * whatever the number of ranks, and cannot deadlock with a rank that collects exclusive locks one
 * by one. */
#include "symm_config.h"

#include "osc_symm.h"

#include <stdatomic.h>

static symm_window_control_t *control_of(const ompi_osc_symm_module_t *module)
{
    return module->window->mapping->control;
}

/* Marks target as locked if it may be. *held_others_p tells whether others are. */
static int claim(ompi_osc_symm_module_t *module, int target, osc_symm_held_t how,
                 bool *held_others_p)
{
    int rc = MPI_ERR_RMA_SYNC;
    OPAL_THREAD_LOCK(&module->lock);
    if (!module->lock_all && !module->started && OSC_SYMM_HELD_NONE == module->held[target]) {
        *held_others_p = 0 < module->held_count;
        module->held[target] = (uint8_t) how;
        ++module->held_count;
        module->fence_open = false;
        rc = OMPI_SUCCESS;
    }
    OPAL_THREAD_UNLOCK(&module->lock);
    return rc;
}

int ompi_osc_symm_lock(int lock_type, int target, int assertion, ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    symm_window_control_t *control = control_of(module);
    osc_symm_held_t how =
        MPI_LOCK_EXCLUSIVE == lock_type ? OSC_SYMM_HELD_EXCLUSIVE : OSC_SYMM_HELD_SHARED;
    bool holds_others = false;
    if (0 != (assertion & MPI_MODE_NOCHECK)) {
        how = OSC_SYMM_HELD_NOCHECK;
    }
    int rc = claim(module, target, how, &holds_others);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (OSC_SYMM_HELD_EXCLUSIVE == how) {
        symm_room_enter(&control->room, SYMM_ROOM_EXCLUSIVE, holds_others);
        symm_rwlock_write(&control->peers[target].lock);
    } else if (OSC_SYMM_HELD_SHARED == how) {
        symm_rwlock_read(&control->peers[target].lock);
    }
    return OMPI_SUCCESS;
}

/* Gives back what was locked of target. */
static void release(const ompi_osc_symm_module_t *module, int target)
{
    symm_window_control_t *control = control_of(module);
    if (OSC_SYMM_HELD_EXCLUSIVE == module->held[target]) {
        symm_rwlock_write_unlock(&control->peers[target].lock);
        symm_room_leave(&control->room, SYMM_ROOM_EXCLUSIVE);
    } else if (OSC_SYMM_HELD_SHARED == module->held[target]) {
        symm_rwlock_read_unlock(&control->peers[target].lock);
    }
}

int ompi_osc_symm_unlock(int target, ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (OSC_SYMM_HELD_NONE == module->held[target]) {
        return MPI_ERR_RMA_SYNC;
    }
    int rc = ompi_osc_symm_complete_operations(module);
    release(module, target);
    OPAL_THREAD_LOCK(&module->lock);
    module->held[target] = OSC_SYMM_HELD_NONE;
    --module->held_count;
    OPAL_THREAD_UNLOCK(&module->lock);
    return rc;
}

int ompi_osc_symm_lock_all(int assertion, ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (module->lock_all || module->started || 0 < module->held_count) {
        return MPI_ERR_RMA_SYNC;
    }
    module->lock_all_nocheck = 0 != (assertion & MPI_MODE_NOCHECK);
    if (!module->lock_all_nocheck) {
        symm_room_enter(&control_of(module)->room, SYMM_ROOM_ALL, false);
    }
    module->lock_all = true;
    module->fence_open = false;
    return OMPI_SUCCESS;
}

static void release_all(ompi_osc_symm_module_t *module)
{
    if (!module->lock_all_nocheck) {
        symm_room_leave(&control_of(module)->room, SYMM_ROOM_ALL);
    }
    module->lock_all = false;
}

int ompi_osc_symm_unlock_all(ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (!module->lock_all) {
        return MPI_ERR_RMA_SYNC;
    }
    int rc = ompi_osc_symm_complete_operations(module);
    release_all(module);
    return rc;
}

void ompi_osc_symm_release_locks(ompi_osc_symm_module_t *module)
{
    if (module->lock_all) {
        release_all(module);
    }
    for (int r = 0; 0 < module->held_count && r < module->window->size; ++r) {
        release(module, r);
        module->held_count -= OSC_SYMM_HELD_NONE == module->held[r] ? 0 : 1;
        module->held[r] = OSC_SYMM_HELD_NONE;
    }
}

int ompi_osc_symm_sync(ompi_win_t *win)
{
    const ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (!module->lock_all && 0 == module->held_count) {
        return MPI_ERR_RMA_SYNC; /* MPI-4.0, 12.5.4: in a passive target epoch only */
    }
    opal_progress(); /* a loop of loads and syncs must not starve the rest of MPI */
    atomic_thread_fence(memory_order_seq_cst);
    return OMPI_SUCCESS;
}

/* Flushes between two in which MPI makes progress, which takes twenty times as long as a flush
 * itself: some microseconds, and too little to be seen in the time of one. */
#define FLUSHES_PER_PROGRESS 512

/* Completes operations. A loop that polls memory with operations and flushes must not starve the
 * rest of MPI, nor those who need this rank to reach its memory. */
static int flush(ompi_osc_symm_module_t *module)
{
    int rc = ompi_osc_symm_complete_operations(module);
    /* Threads may lose a count to each other. */
    unsigned flushes = atomic_load_explicit(&module->flushes, memory_order_relaxed) + 1;
    atomic_store_explicit(&module->flushes, flushes, memory_order_relaxed);
    if (NULL != module->own || 0 == flushes % FLUSHES_PER_PROGRESS) {
        opal_progress();
    }
    return rc;
}

int ompi_osc_symm_flush(int target, ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (0 > target || target >= module->window->size) {
        return MPI_ERR_RANK; /* Open MPI 4 itself does not look at it in this call */
    }
    if (!module->lock_all && OSC_SYMM_HELD_NONE == module->held[target]) {
        return MPI_ERR_RMA_SYNC;
    }
    return flush(module);
}

int ompi_osc_symm_flush_all(ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (!module->lock_all && 0 == module->held_count) {
        return MPI_ERR_RMA_SYNC;
    }
    return flush(module);
}
