/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Locks between processes, made of a few words of shared memory that are zero when unlocked. All
 * waits drive MPI progress (symm_spin.h), so a holder that needs our progress to let go gets it. */
#ifndef SYMM_LOCKS_H
#define SYMM_LOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
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

#endif
