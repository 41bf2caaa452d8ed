/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Locks between processes, made of a few words of shared memory that are zero when unlocked. All
 * waits drive MPI progress (symm_spin.h), so a holder that needs our progress to let go gets it. */
#ifndef SYMM_LOCKS_H
#define SYMM_LOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_symm.h"

/* A reader-writer lock that serves in order of arrival, so neither side starves: Mellor-Crummey and
 * Scott's fair ticket lock (Synchronization Without Contention, 1991). */
typedef struct symm_rwlock {
    _Atomic uint32_t next;  /* the next ticket to give */
    _Atomic uint32_t read;  /* readers up to this ticket may enter */
    _Atomic uint32_t write; /* the writer with this ticket may enter */
} symm_rwlock_t;

SYMM_EXPORT void symm_rwlock_read(symm_rwlock_t *lock);
SYMM_EXPORT void symm_rwlock_read_unlock(symm_rwlock_t *lock);
SYMM_EXPORT void symm_rwlock_write(symm_rwlock_t *lock);
SYMM_EXPORT void symm_rwlock_write_unlock(symm_rwlock_t *lock);

/* A room that holds any number of one class at a time (group mutual exclusion): holders of
 * MPI_Win_lock_all in one class, holders of exclusive locks in the other. Newcomers wait behind a
 * class that waits, so neither keeps the other out for ever; only those who hold some other lock
 * pass it, since those inside may be waiting for that lock. At most 2^15 - 1 holders and waiting of
 * a class. */
typedef enum symm_room_class { SYMM_ROOM_ALL, SYMM_ROOM_EXCLUSIVE } symm_room_class_t;

typedef struct symm_room {
    _Atomic uint64_t state; /* see symm_locks.c */
} symm_room_t;

SYMM_EXPORT void symm_room_enter(symm_room_t *room, symm_room_class_t who, bool holds_lock);
SYMM_EXPORT void symm_room_leave(symm_room_t *room, symm_room_class_t who);

/* A gate to memory that many update side by side with atomics, or one alone without. Passing costs
 * little and bounces no cache line between those who pass: each has a word of its own, that says
 * how often it is inside. Closing is fair and looks at all these words. */
typedef struct symm_gate {
    _Atomic uint32_t next;    /* the next ticket to give to those who close */
    _Atomic uint32_t serving; /* the one with this ticket may be alone */
} symm_gate_t;

/* Goes inside beside others, unless somebody is or waits to be alone; returns whether it did. Who
 * did not should close the gate instead of trying again: that is served in turn. */
static inline bool symm_gate_pass(symm_gate_t *gate, _Atomic uint32_t *inside)
{
    /* Sequentially consistent, as in close: of one who passes and one who closes at the same time
     * at least one sees the other. The load of `serving` makes visible what was done alone. */
    (void) atomic_fetch_add(inside, 1);
    if (atomic_load(&gate->next) == atomic_load_explicit(&gate->serving, memory_order_acquire)) {
        return true;
    }
    (void) atomic_fetch_sub_explicit(inside, 1, memory_order_release);
    return false;
}

/* Goes outside again. shared: other threads of the caller may pass by the same word. */
static inline void symm_gate_leave(_Atomic uint32_t *inside, bool shared)
{
    /* Release: who closes the gate behind us sees what we did. */
    if (shared) {
        (void) atomic_fetch_sub_explicit(inside, 1, memory_order_release);
    } else {
        atomic_store_explicit(inside, 0, memory_order_release);
    }
}

/* Waits, driving progress, until nobody is inside; the words are `count` in number and `stride`
 * bytes apart. The caller is not inside itself. */
SYMM_EXPORT void symm_gate_close(symm_gate_t *gate, const _Atomic uint32_t *inside, size_t stride,
                                 int count);
SYMM_EXPORT void symm_gate_open(symm_gate_t *gate);

#endif
