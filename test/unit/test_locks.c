/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The reader-writer lock and the room, with threads in place of processes: who is let in with whom,
 * in which order, and that nobody starves. A thread that must stay outside is given some time to do
 * it wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "symm_locks.h"

#define THREADS 6

/* Time in which a thread that may enter would have entered. */
#define PATIENCE_MS 50

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    (void) nanosleep(&time, NULL);
}

/* ---- a thread that enters, stays until it is told, and leaves ---- */

typedef enum what { READ, WRITE, ALL, EXCLUSIVE, EXCLUSIVE_WITH_LOCK } what_t;

static symm_rwlock_t lock;
static symm_room_t room;

typedef struct guest {
    pthread_t thread;
    what_t what;
    bool sent; /* and not yet sent home */
    atomic_bool inside;
    atomic_bool leave;
} guest_t;

/* The guests of a test, static so that a test that fails leaves nothing on its stack. */
static guest_t guests[THREADS];

static void enter(what_t what)
{
    switch (what) {
    case READ:
        symm_rwlock_read(&lock);
        break;
    case WRITE:
        symm_rwlock_write(&lock);
        break;
    case ALL:
        symm_room_enter(&room, SYMM_ROOM_ALL, false);
        break;
    default:
        symm_room_enter(&room, SYMM_ROOM_EXCLUSIVE, EXCLUSIVE_WITH_LOCK == what);
        break;
    }
}

static void leave(what_t what)
{
    switch (what) {
    case READ:
        symm_rwlock_read_unlock(&lock);
        break;
    case WRITE:
        symm_rwlock_write_unlock(&lock);
        break;
    default:
        symm_room_leave(&room, ALL == what ? SYMM_ROOM_ALL : SYMM_ROOM_EXCLUSIVE);
        break;
    }
}

static void *visit(void *argument)
{
    guest_t *guest = argument;
    enter(guest->what);
    atomic_store(&guest->inside, true);
    while (!atomic_load(&guest->leave)) {
        sleep_ms(1);
    }
    atomic_store(&guest->inside, false);
    leave(guest->what);
    return NULL;
}

static void send_guest(guest_t *guest, what_t what)
{
    memset(guest, 0, sizeof(*guest));
    guest->what = what;
    assert_int_equal(pthread_create(&guest->thread, NULL, visit, guest), 0);
    guest->sent = true;
}

static void assert_gets_in(guest_t *guest)
{
    for (int ms = 0; !atomic_load(&guest->inside); ++ms) {
        assert_true(ms < 20000);
        sleep_ms(1);
    }
}

static void assert_stays_out(guest_t *guest)
{
    sleep_ms(PATIENCE_MS);
    assert_false(atomic_load(&guest->inside));
}

static void send_home(guest_t *guest)
{
    atomic_store(&guest->leave, true);
    guest->sent = false;
    assert_int_equal(pthread_join(guest->thread, NULL), 0);
}

/* Starts each test with nobody inside; numbers of tickets may be anything. */
static int set_up(void **state)
{
    (void) state;
    memset(&lock, 0, sizeof(lock));
    memset(&room, 0, sizeof(room));
    return 0;
}

/* Sends home whom a failed test left behind. */
static int tear_down(void **state)
{
    (void) state;
    for (int i = 0; i < THREADS; ++i) {
        atomic_store(&guests[i].leave, true);
    }
    for (int i = 0; i < THREADS; ++i) {
        if (guests[i].sent) {
            (void) pthread_join(guests[i].thread, NULL);
            guests[i].sent = false;
        }
    }
    return 0;
}

static void assert_nobody_left(void)
{
    assert_int_equal(lock.next, lock.read);
    assert_int_equal(lock.next, lock.write);
    assert_int_equal(room.state & 0x3fffffffffffffffu, 0);
}

/* ---- reader-writer lock ---- */

static void readers_are_inside_together(void **state)
{
    (void) state;
    for (int i = 0; i < THREADS; ++i) {
        send_guest(&guests[i], READ);
        assert_gets_in(&guests[i]);
    }
    for (int i = 0; i < THREADS; ++i) {
        send_home(&guests[i]);
    }
    assert_nobody_left();
}

static void writer_is_inside_alone(void **state)
{
    static const what_t others[] = {READ, WRITE};
    (void) state;
    for (int i = 0; i < 2; ++i) {
        guest_t *writer = &guests[0], *other = &guests[1];
        send_guest(writer, WRITE);
        assert_gets_in(writer);
        send_guest(other, others[i]);
        assert_stays_out(other);
        send_home(writer);
        assert_gets_in(other);
        send_home(other);
        assert_nobody_left();
    }
}

static void writer_waits_for_all_readers(void **state)
{
    guest_t *readers = &guests[0], *writer = &guests[2];
    (void) state;
    send_guest(&readers[0], READ);
    send_guest(&readers[1], READ);
    assert_gets_in(&readers[0]);
    assert_gets_in(&readers[1]);
    send_guest(writer, WRITE);
    assert_stays_out(writer);
    send_home(&readers[1]);
    assert_stays_out(writer);
    send_home(&readers[0]);
    assert_gets_in(writer);
    send_home(writer);
    assert_nobody_left();
}

/* Waits until somebody has taken one more ticket. */
static void await_ticket(uint32_t before)
{
    while (before == atomic_load(&lock.next)) {
        sleep_ms(1);
    }
}

/* Readers that come behind a writer wait behind it, or writers would starve. */
static void served_in_order_of_arrival(void **state)
{
    guest_t *first = &guests[0], *writer = &guests[1], *second = &guests[2],
            *last_writer = &guests[3];
    (void) state;
    send_guest(first, READ);
    assert_gets_in(first);
    uint32_t tickets = lock.next;
    send_guest(writer, WRITE);
    await_ticket(tickets);
    send_guest(second, READ);
    await_ticket(tickets + 1);
    send_guest(last_writer, WRITE);
    await_ticket(tickets + 2);
    assert_stays_out(second);
    send_home(first);
    assert_gets_in(writer);
    assert_stays_out(second);
    send_home(writer);
    assert_gets_in(second);
    assert_stays_out(last_writer);
    send_home(second);
    assert_gets_in(last_writer);
    send_home(last_writer);
    assert_nobody_left();
}

/* ---- what the lock protects ---- */

#define ROUNDS 3000

static long unprotected; /* changed by writers only, without any atomicity */
static atomic_long mistakes;

static void *write_and_read(void *argument)
{
    (void) argument;
    for (int i = 0; i < ROUNDS; ++i) {
        if (0 == i % 3) {
            symm_rwlock_write(&lock);
            long seen = unprotected;
            unprotected = -1; /* nobody may see this */
            unprotected = seen + 1;
            symm_rwlock_write_unlock(&lock);
        } else {
            symm_rwlock_read(&lock);
            long seen = unprotected;
            if (0 > seen || seen != unprotected) {
                atomic_fetch_add(&mistakes, 1);
            }
            symm_rwlock_read_unlock(&lock);
        }
    }
    return NULL;
}

static void run_all(void *(*function)(void *), void *argument)
{
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; ++t) {
        assert_int_equal(pthread_create(&threads[t], NULL, function, argument), 0);
    }
    for (int t = 0; t < THREADS; ++t) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    }
}

static void lock_excludes(void **state)
{
    (void) state;
    unprotected = 0;
    atomic_store(&mistakes, 0);
    run_all(write_and_read, NULL);
    assert_int_equal(unprotected, THREADS * ROUNDS / 3);
    assert_int_equal(atomic_load(&mistakes), 0);
    assert_nobody_left();
}

static void tickets_may_wrap(void **state)
{
    uint32_t start = UINT32_MAX - 500;
    (void) state;
    lock.next = start;
    lock.read = start;
    lock.write = start;
    lock_excludes(state);
}

/* ---- the room ---- */

static void one_class_is_inside_together(void **state)
{
    static const what_t classes[] = {ALL, EXCLUSIVE};
    (void) state;
    for (int c = 0; c < 2; ++c) {
        for (int i = 0; i < THREADS; ++i) {
            send_guest(&guests[i], classes[c]);
            assert_gets_in(&guests[i]);
        }
        for (int i = 0; i < THREADS; ++i) {
            send_home(&guests[i]);
        }
        assert_nobody_left();
    }
}

static void classes_exclude_each_other(void **state)
{
    static const what_t pairs[][2] = {
        {ALL, EXCLUSIVE}, {EXCLUSIVE, ALL}, {ALL, EXCLUSIVE_WITH_LOCK}};
    (void) state;
    for (int i = 0; i < 3; ++i) {
        guest_t *holders = &guests[0], *other = &guests[2];
        send_guest(&holders[0], pairs[i][0]);
        send_guest(&holders[1], pairs[i][0]);
        assert_gets_in(&holders[0]);
        assert_gets_in(&holders[1]);
        send_guest(other, pairs[i][1]);
        assert_stays_out(other);
        send_home(&holders[0]);
        assert_stays_out(other);
        send_home(&holders[1]);
        assert_gets_in(other);
        send_home(other);
        assert_nobody_left();
    }
}

/* Waits until the room's state is another one: somebody has begun to wait. */
static void await_change(uint64_t before)
{
    while (before == atomic_load(&room.state)) {
        sleep_ms(1);
    }
}

static void send_to_wait(guest_t *guest, what_t what)
{
    uint64_t before = atomic_load(&room.state);
    send_guest(guest, what);
    await_change(before);
    assert_stays_out(guest);
}

/* Newcomers of the class inside wait behind those of the other class who wait already. */
static void waiting_class_gets_its_turn(void **state)
{
    static const what_t pairs[][2] = {{ALL, EXCLUSIVE}, {EXCLUSIVE, ALL}};
    (void) state;
    for (int i = 0; i < 2; ++i) {
        guest_t *inside = &guests[0], *waiting = &guests[1], *newcomer = &guests[2];
        send_guest(inside, pairs[i][0]);
        assert_gets_in(inside);
        send_to_wait(waiting, pairs[i][1]);
        send_to_wait(newcomer, pairs[i][0]);
        send_home(inside);
        assert_gets_in(waiting);
        assert_stays_out(newcomer);
        send_home(waiting);
        assert_gets_in(newcomer);
        send_home(newcomer);
        assert_nobody_left();
    }
}

/* And then the other way round: those who were passed over have their turn next, before newcomers
 * of the class that is inside now. */
static void turns_alternate(void **state)
{
    static const what_t pairs[][2] = {{ALL, EXCLUSIVE}, {EXCLUSIVE, ALL}};
    (void) state;
    for (int i = 0; i < 2; ++i) {
        guest_t *inside = &guests[0], *waiting = &guests[1], *passed_over = &guests[2],
                *newcomer = &guests[3];
        send_guest(inside, pairs[i][0]);
        assert_gets_in(inside);
        send_to_wait(waiting, pairs[i][1]);
        send_to_wait(passed_over, pairs[i][0]);
        send_home(inside);
        assert_gets_in(waiting);
        send_guest(newcomer, pairs[i][1]);
        assert_stays_out(newcomer); /* or it might be followed by others without end */
        send_home(waiting);
        assert_gets_in(passed_over);
        send_home(passed_over);
        assert_gets_in(newcomer);
        send_home(newcomer);
        assert_nobody_left();
    }
}

/* Who holds a lock does not wait for the turn: those inside may be waiting for that very lock. */
static void lock_holder_passes_those_who_wait(void **state)
{
    guest_t *inside = &guests[0], *waiting = &guests[1], *holder = &guests[2];
    (void) state;
    send_guest(inside, EXCLUSIVE);
    assert_gets_in(inside);
    send_to_wait(waiting, ALL);
    send_guest(holder, EXCLUSIVE_WITH_LOCK);
    assert_gets_in(holder);
    send_home(holder);
    assert_stays_out(waiting);
    send_home(inside);
    assert_gets_in(waiting);
    send_home(waiting);
    assert_nobody_left();
}

static atomic_int inside_count[2];

static void *come_and_go(void *argument)
{
    symm_room_class_t who = *(symm_room_class_t *) argument;
    for (int i = 0; i < ROUNDS; ++i) {
        symm_room_enter(&room, who, false);
        atomic_fetch_add(&inside_count[who], 1);
        if (0 != atomic_load(&inside_count[1 - who])) {
            atomic_fetch_add(&mistakes, 1);
        }
        atomic_fetch_sub(&inside_count[who], 1);
        symm_room_leave(&room, who);
    }
    return NULL;
}

static void room_excludes_under_load(void **state)
{
    pthread_t threads[THREADS];
    static symm_room_class_t classes[] = {SYMM_ROOM_ALL, SYMM_ROOM_EXCLUSIVE};
    (void) state;
    atomic_store(&mistakes, 0);
    for (int t = 0; t < THREADS; ++t) {
        assert_int_equal(pthread_create(&threads[t], NULL, come_and_go, &classes[t % 2]), 0);
    }
    for (int t = 0; t < THREADS; ++t) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    }
    assert_int_equal(atomic_load(&mistakes), 0);
    assert_nobody_left();
}

/* Two of a class relay each other so that the room is never empty of them; one of the other class
 * gets in all the same. */
static atomic_bool relay_stop;

static void *relay(void *argument)
{
    symm_room_class_t who = *(symm_room_class_t *) argument;
    while (!atomic_load(&relay_stop)) {
        symm_room_enter(&room, who, false);
        sleep_ms(1);
        symm_room_leave(&room, who);
    }
    return NULL;
}

static void nobody_starves_while_others_relay(void **state)
{
    static symm_room_class_t classes[] = {SYMM_ROOM_ALL, SYMM_ROOM_EXCLUSIVE};
    static const what_t others[] = {EXCLUSIVE, ALL};
    (void) state;
    for (int c = 0; c < 2; ++c) {
        pthread_t threads[THREADS];
        atomic_store(&relay_stop, false);
        for (int t = 0; t < THREADS; ++t) {
            assert_int_equal(pthread_create(&threads[t], NULL, relay, &classes[c]), 0);
        }
        for (int i = 0; i < 10; ++i) {
            guest_t *guest = &guests[0];
            send_guest(guest, others[c]);
            assert_gets_in(guest);
            send_home(guest);
        }
        atomic_store(&relay_stop, true);
        for (int t = 0; t < THREADS; ++t) {
            assert_int_equal(pthread_join(threads[t], NULL), 0);
        }
        assert_nobody_left();
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(readers_are_inside_together),
        TEST(writer_is_inside_alone),
        TEST(writer_waits_for_all_readers),
        TEST(served_in_order_of_arrival),
        TEST(lock_excludes),
        TEST(tickets_may_wrap),
        TEST(one_class_is_inside_together),
        TEST(classes_exclude_each_other),
        TEST(waiting_class_gets_its_turn),
        TEST(turns_alternate),
        TEST(lock_holder_passes_those_who_wait),
        TEST(room_excludes_under_load),
        TEST(nobody_starves_while_others_relay),
    };
    return cmocka_run_group_tests_name("locks", tests, NULL, NULL);
}
