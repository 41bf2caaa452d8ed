/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The locks of symm_locks.h. Which lock MPI wants when is the osc component's work. */
#include "symm_config.h"

#include "symm_locks.h"
#include "symm_spin.h"

void symm_rwlock_read(symm_rwlock_t *lock)
{
    uint32_t ticket = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
    symm_spin_t spin = SYMM_SPIN_INIT;
    /* Acquire pairs with the release of the writer before us. */
    while (ticket != atomic_load_explicit(&lock->read, memory_order_acquire)) {
        symm_spin_once(&spin);
    }
    /* Lets the next ticket in if it is a reader's; release hands on what we acquired. */
    atomic_fetch_add_explicit(&lock->read, 1, memory_order_release);
}

void symm_rwlock_read_unlock(symm_rwlock_t *lock)
{
    atomic_fetch_add_explicit(&lock->write, 1, memory_order_release);
}

void symm_rwlock_write(symm_rwlock_t *lock)
{
    uint32_t ticket = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
    symm_spin_t spin = SYMM_SPIN_INIT;
    /* Acquire pairs with the release of every reader and writer before us. */
    while (ticket != atomic_load_explicit(&lock->write, memory_order_acquire)) {
        symm_spin_once(&spin);
    }
}

void symm_rwlock_write_unlock(symm_rwlock_t *lock)
{
    atomic_fetch_add_explicit(&lock->read, 1, memory_order_release);
    atomic_fetch_add_explicit(&lock->write, 1, memory_order_release);
}

/* The room's state is packed so that one compare-and-swap moves it as a whole: 15 bits each for the
 * holders of class 0 and 1 and for the waiting of class 0 and 1, and a bit per class that flips
 * when its waiting are let in. Who leaves the room empty lets in all who wait, the other class
 * first; so nobody waits for an empty room, and each of the waiting is let in exactly once. */
#define ROOM_COUNT_BITS  15
#define ROOM_COUNT_MASK  0x7fffu
#define ROOM_GRANT_SHIFT 62

static int inside_field(symm_room_class_t who)
{
    return (int) who;
}

static int waiting_field(symm_room_class_t who)
{
    return 2 + (int) who;
}

static symm_room_class_t other_class(symm_room_class_t who)
{
    return SYMM_ROOM_ALL == who ? SYMM_ROOM_EXCLUSIVE : SYMM_ROOM_ALL;
}

static uint64_t room_count(uint64_t state, int field)
{
    return (state >> (ROOM_COUNT_BITS * field)) & ROOM_COUNT_MASK;
}

/* One of a field, to add or subtract. */
static uint64_t room_one(int field)
{
    return (uint64_t) 1 << (ROOM_COUNT_BITS * field);
}

static uint64_t room_grant(symm_room_class_t who)
{
    return (uint64_t) 1 << (ROOM_GRANT_SHIFT + (int) who);
}

/* Moves all of a class who wait inside, and flips the bit they watch. */
static uint64_t let_in(uint64_t state, symm_room_class_t who)
{
    uint64_t waiting = room_count(state, waiting_field(who));
    state -= waiting * room_one(waiting_field(who));
    state += waiting * room_one(inside_field(who));
    return state ^ room_grant(who);
}

void symm_room_enter(symm_room_t *room, symm_room_class_t who, bool holds_lock)
{
    symm_room_class_t other = other_class(who);
    uint64_t state = atomic_load_explicit(&room->state, memory_order_relaxed);
    bool enter;
    uint64_t wanted;
    do {
        enter = 0 == room_count(state, inside_field(other)) &&
                (holds_lock || 0 == room_count(state, waiting_field(other)));
        wanted = state + room_one(enter ? inside_field(who) : waiting_field(who));
        /* Acquire pairs with the release of those who left. */
    } while (!atomic_compare_exchange_weak_explicit(&room->state, &state, wanted,
                                                    memory_order_acquire, memory_order_relaxed));
    symm_spin_t spin = SYMM_SPIN_INIT;
    while (!enter) {
        uint64_t now = atomic_load_explicit(&room->state, memory_order_acquire);
        enter = 0 != ((now ^ state) & room_grant(who));
        if (!enter) {
            symm_spin_once(&spin);
        }
    }
}

void symm_room_leave(symm_room_t *room, symm_room_class_t who)
{
    symm_room_class_t other = other_class(who);
    uint64_t state = atomic_load_explicit(&room->state, memory_order_relaxed);
    uint64_t wanted;
    do {
        wanted = state - room_one(inside_field(who));
        if (0 == room_count(wanted, inside_field(who))) {
            if (0 < room_count(wanted, waiting_field(other))) {
                wanted = let_in(wanted, other);
            } else if (0 < room_count(wanted, waiting_field(who))) {
                wanted = let_in(wanted, who);
            }
        }
        /* Release hands what we did to whoever enters next. */
    } while (!atomic_compare_exchange_weak_explicit(&room->state, &state, wanted,
                                                    memory_order_acq_rel, memory_order_relaxed));
}

void symm_gate_close(symm_gate_t *gate, const _Atomic uint32_t *inside, size_t stride, int count)
{
    uint32_t ticket = atomic_fetch_add(&gate->next, 1);
    symm_spin_t spin = SYMM_SPIN_INIT;
    while (ticket != atomic_load_explicit(&gate->serving, memory_order_acquire)) {
        symm_spin_once(&spin);
    }
    for (int i = 0; i < count; ++i) {
        const char *word = (const char *) inside + (size_t) i * stride;
        while (0 != atomic_load((const _Atomic uint32_t *) (const void *) word)) {
            symm_spin_once(&spin);
        }
    }
}

void symm_gate_open(symm_gate_t *gate)
{
    /* Nobody else writes it while we are alone. Release hands on what we did. */
    uint32_t served = atomic_load_explicit(&gate->serving, memory_order_relaxed);
    atomic_store_explicit(&gate->serving, served + 1, memory_order_release);
}
