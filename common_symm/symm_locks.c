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

/* The room's state is packed so that one compare-and-swap moves it as a whole: 16 bits each for the
 * holders of class 0 and 1 and the waiting of class 0 and 1. */
/* Bit 63 of the packed state: the class whose turn it is when both wait. Counts are below 2^15. */
#define ROOM_TURN_SHIFT 63
#define ROOM_COUNT_MASK 0x7fffu

static uint64_t room_count(uint64_t state, int field)
{
    return (state >> (16 * field)) & ROOM_COUNT_MASK;
}

static uint64_t room_add(uint64_t state, int field, int amount)
{
    uint64_t one = (uint64_t) 1 << (16 * field);
    return amount > 0 ? state + one : state - one;
}

static uint64_t room_set_turn(uint64_t state, symm_room_class_t who)
{
    uint64_t bit = (uint64_t) 1 << ROOM_TURN_SHIFT;
    return SYMM_ROOM_EXCLUSIVE == who ? state | bit : state & ~bit;
}

/* Fields of the packed state. */
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

static bool may_enter(uint64_t state, symm_room_class_t who, bool holds_lock)
{
    symm_room_class_t other = other_class(who);
    bool my_turn = holds_lock || (int) who == (int) (state >> ROOM_TURN_SHIFT);
    return 0 == room_count(state, inside_field(other)) &&
           (0 == room_count(state, waiting_field(other)) || my_turn);
}

/* Enters at once or registers as waiting. Returns whether it entered. */
static bool enter_or_wait(symm_room_t *room, symm_room_class_t who, bool holds_lock)
{
    uint64_t state = atomic_load_explicit(&room->state, memory_order_relaxed);
    uint64_t wanted;
    bool enter;
    do {
        enter = may_enter(state, who, holds_lock);
        wanted = room_add(state, enter ? inside_field(who) : waiting_field(who), 1);
        if (!enter && 0 < room_count(state, inside_field(other_class(who)))) {
            wanted = room_set_turn(wanted, who); /* newcomers of the other class wait behind us */
        }
    } while (!atomic_compare_exchange_weak_explicit(&room->state, &state, wanted,
                                                    memory_order_acquire, memory_order_relaxed));
    return enter;
}

static bool try_leave_queue(symm_room_t *room, symm_room_class_t who, bool holds_lock)
{
    uint64_t state = atomic_load_explicit(&room->state, memory_order_relaxed);
    if (!may_enter(state, who, holds_lock)) {
        return false;
    }
    uint64_t wanted = room_add(room_add(state, waiting_field(who), -1), inside_field(who), 1);
    return atomic_compare_exchange_strong_explicit(&room->state, &state, wanted,
                                                   memory_order_acquire, memory_order_relaxed);
}

void symm_room_enter(symm_room_t *room, symm_room_class_t who, bool holds_lock)
{
    if (enter_or_wait(room, who, holds_lock)) {
        return;
    }
    symm_spin_t spin = SYMM_SPIN_INIT;
    while (!try_leave_queue(room, who, holds_lock)) {
        symm_spin_once(&spin);
    }
}

void symm_room_leave(symm_room_t *room, symm_room_class_t who)
{
    uint64_t state = atomic_load_explicit(&room->state, memory_order_relaxed);
    uint64_t wanted;
    do {
        wanted = room_add(state, inside_field(who), -1);
        if (0 == room_count(wanted, inside_field(who)) &&
            0 < room_count(wanted, waiting_field(other_class(who)))) {
            wanted = room_set_turn(wanted, other_class(who));
        }
        /* Release hands what we did to whoever enters next. */
    } while (!atomic_compare_exchange_weak_explicit(&room->state, &state, wanted,
                                                    memory_order_release, memory_order_relaxed));
}
