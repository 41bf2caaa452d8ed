/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Synchronisation: what each call orders, whom it waits for and whom not. Races are made certain by
 * a rank that comes late, and old data is told from new by numbers that never repeat. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdlib.h>
#include <string.h>

#define LATE_MS 2000

/* Every rank's memory holds this many words; word r of it is rank r's to write. */
#define WORDS 4096

static mt_win_t window;

static int right_of_me(void)
{
    return (mt_rank + 1) % mt_size;
}

static int left_of_me(void)
{
    return (mt_rank + mt_size - 1) % mt_size;
}

/* ---- access to words of the window ---- */

static int64_t read_word(int index)
{
    int64_t word;
    mt_read(&word, window.base + (size_t) index * sizeof(word), sizeof(word));
    return word;
}

static void write_word(int index, int64_t value)
{
    mt_write(window.base + (size_t) index * sizeof(value), &value, sizeof(value));
}

static void clear_words(void)
{
    void *zeros = calloc(WORDS, sizeof(int64_t));
    mt_write(window.base, zeros, WORDS * sizeof(int64_t));
    free(zeros);
    mt_barrier();
}

static void put_word(int target, int index, const int64_t *value)
{
    CHECK_OK(MPI_Put(value, 1, MPI_INT64_T, target, index, 1, MPI_INT64_T, window.win));
}

static int64_t get_word(int target, int index)
{
    int64_t value = -1;
    CHECK_OK(MPI_Get(&value, 1, MPI_INT64_T, target, index, 1, MPI_INT64_T, window.win));
    CHECK_OK(MPI_Win_flush(target, window.win));
    return value;
}

/* A message that nobody need be inside the window's calls for. */
static void tell(int rank)
{
    CHECK_OK(MPI_Send(NULL, 0, MPI_BYTE, rank, 9, mt_comm));
}

static void await(int rank)
{
    CHECK_OK(MPI_Recv(NULL, 0, MPI_BYTE, rank, 9, mt_comm, MPI_STATUS_IGNORE));
}

static MPI_Group group_of(const int *ranks, int count)
{
    MPI_Group world, group;
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Group_incl(world, count, ranks, &group));
    CHECK_OK(MPI_Group_free(&world));
    return group;
}

static void post(const int *origins, int count)
{
    MPI_Group group = group_of(origins, count);
    CHECK_OK(MPI_Win_post(group, 0, window.win));
    CHECK_OK(MPI_Group_free(&group));
}

static void start(const int *targets, int count)
{
    MPI_Group group = group_of(targets, count);
    CHECK_OK(MPI_Win_start(group, 0, window.win));
    CHECK_OK(MPI_Group_free(&group));
}

/* ---- fence ---- */

static void fence_separates_rounds(void)
{
    clear_words();
    for (int64_t i = 1; i <= 200; ++i) {
        mt_context("round %lld", (long long) i);
        if (mt_rank == i % mt_size) {
            mt_sleep_ms(0 == i % 50 ? 5 : 0);
        }
        CHECK_OK(MPI_Win_fence(0, window.win));
        put_word(right_of_me(), 0, &i);
        CHECK_OK(MPI_Win_fence(0, window.win));
        CHECK_INT(i, read_word(0));
    }
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
}

/* Reads in one fence epoch, local stores between fences: neither may see the other's round. */
static void fence_orders_local_stores_with_gets(void)
{
    clear_words();
    CHECK_OK(MPI_Win_fence(0, window.win));
    for (int64_t i = 1; i <= 100; ++i) {
        int64_t got = -1;
        mt_context("round %lld", (long long) i);
        write_word(1, i);
        CHECK_OK(MPI_Win_fence(0, window.win));
        CHECK_OK(MPI_Get(&got, 1, MPI_INT64_T, left_of_me(), 1, 1, MPI_INT64_T, window.win));
        CHECK_OK(MPI_Win_fence(0, window.win));
        CHECK_INT(i, got);
    }
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
}

static void fence_waits_for_a_late_rank(void)
{
    int late = mt_size - 1;
    int64_t value = 4711;
    if (!mt_needs_ranks(2)) {
        return;
    }
    clear_words();
    CHECK_OK(MPI_Win_fence(0, window.win));
    if (mt_rank == late) {
        mt_sleep_ms(LATE_MS);
        for (int r = 0; r < mt_size; ++r) {
            put_word(r, 3, &value);
        }
    }
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    CHECK_INT(4711, read_word(3));
}

static void fence_takes_every_assertion(void)
{
    clear_words();
    for (int64_t i = 1; i <= 20; ++i) {
        int after = MPI_MODE_NOSUCCEED | (0 == i % 2 ? MPI_MODE_NOSTORE : 0);
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE, window.win));
        put_word(right_of_me(), 2, &i);
        CHECK_OK(MPI_Win_fence(after, window.win));
        CHECK_INT(i, read_word(2));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOPUT, window.win));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOPUT, window.win));
    }
}

/* ---- post, start, complete, wait ---- */

/* The ranks that accesses go to in an epoch: one or two others, or oneself, by the epoch's number.
 * sign -1 tells the ranks that accesses come from. */
static int partners(int epoch, int sign, int ranks[2])
{
    int first = (mt_rank + sign * (epoch % mt_size) + mt_size) % mt_size;
    int second = (mt_rank + sign * ((epoch + 1) % mt_size) + mt_size) % mt_size;
    ranks[0] = first;
    ranks[1] = second;
    return 0 == epoch % 3 || first == second ? 1 : 2;
}

static void groups_change_with_every_epoch(void)
{
    int64_t *expected = calloc((size_t) mt_size, sizeof(*expected));
    clear_words();
    for (int epoch = 1; epoch <= 150; ++epoch) {
        int targets[2], origins[2];
        int64_t value = epoch;
        mt_context("epoch %d", epoch);
        int target_count = partners(epoch, 1, targets);
        int origin_count = partners(epoch, -1, origins);
        post(origins, origin_count);
        start(targets, target_count);
        for (int i = 0; i < target_count; ++i) {
            put_word(targets[i], mt_rank, &value);
        }
        CHECK_OK(MPI_Win_complete(window.win));
        CHECK_OK(MPI_Win_wait(window.win));
        for (int i = 0; i < origin_count; ++i) {
            expected[origins[i]] = epoch;
        }
        for (int r = 0; r < mt_size; ++r) {
            CHECK_INT(expected[r], read_word(r));
        }
    }
    free(expected);
}

/* The origin must wait for the post, before which the target stored what the origin gets. */
static void start_waits_for_a_late_post(void)
{
    int origin = 0;
    int target = mt_size - 1;
    int64_t got = -1;
    clear_words();
    if (mt_rank == target) {
        if (1 < mt_size) {
            mt_sleep_ms(LATE_MS);
        }
        write_word(5, 1234);
        post(&origin, 1);
    }
    if (mt_rank == origin) {
        start(&target, 1);
        CHECK_OK(MPI_Get(&got, 1, MPI_INT64_T, target, 5, 1, MPI_INT64_T, window.win));
        CHECK_OK(MPI_Win_complete(window.win));
        CHECK_INT(1234, got);
    }
    if (mt_rank == target) {
        CHECK_OK(MPI_Win_wait(window.win));
    }
}

/* The target must wait for every origin's complete, and sees what all of them put. */
static void wait_waits_for_a_late_origin(void)
{
    int target = 0;
    int64_t value = 99;
    if (!mt_needs_ranks(2)) {
        return;
    }
    clear_words();
    if (mt_rank == target) {
        int *others = malloc((size_t) mt_size * sizeof(*others));
        for (int i = 0; i + 1 < mt_size; ++i) {
            others[i] = i + 1;
        }
        post(others, mt_size - 1);
        CHECK_OK(MPI_Win_wait(window.win));
        for (int i = 1; i < mt_size; ++i) {
            CHECK_INT(99, read_word(i));
        }
        free(others);
    } else {
        start(&target, 1);
        if (mt_rank == mt_size - 1) {
            mt_sleep_ms(300);
        }
        put_word(target, mt_rank, &value);
        CHECK_OK(MPI_Win_complete(window.win));
    }
}

/* Ranks outside the groups take no part: they are not even in a call on the window. */
static void only_the_groups_take_part(void)
{
    int last = mt_size - 1;
    int zero = 0;
    int64_t value = 31;
    if (!mt_needs_ranks(3)) {
        return;
    }
    clear_words();
    for (int i = 0; i < 20; ++i) {
        if (mt_rank == zero) {
            post(&last, 1);
            CHECK_OK(MPI_Win_wait(window.win));
            CHECK_INT(31, read_word(7));
        } else if (mt_rank == last) {
            start(&zero, 1);
            put_word(zero, 7, &value);
            CHECK_OK(MPI_Win_complete(window.win));
        }
    }
}

static void groups_may_be_empty(void)
{
    CHECK_OK(MPI_Win_post(MPI_GROUP_EMPTY, 0, window.win));
    CHECK_OK(MPI_Win_start(MPI_GROUP_EMPTY, 0, window.win));
    CHECK_OK(MPI_Win_complete(window.win));
    CHECK_OK(MPI_Win_wait(window.win));
}

/* Test answers no until the origin has completed, then ends the epoch. */
static void test_tells_when_the_epoch_is_over(void)
{
    int origin = mt_size - 1;
    int target = 0;
    int64_t value = 55;
    if (!mt_needs_ranks(2)) {
        return;
    }
    clear_words();
    for (int i = 0; i < 20; ++i) {
        int flag = -1;
        if (mt_rank == target) {
            post(&origin, 1);
            CHECK_OK(MPI_Win_test(window.win, &flag));
            CHECK_INT(0, flag); /* the origin waits for our message */
            tell(origin);
            while (1 != flag && CHECK_OK(MPI_Win_test(window.win, &flag))) {
            }
            CHECK_INT(55, read_word(8));
            CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_wait(window.win));
        } else if (mt_rank == origin) {
            start(&target, 1);
            put_word(target, 8, &value);
            await(target);
            CHECK_OK(MPI_Win_complete(window.win));
        }
    }
}

/* One side is in an access epoch while it is in an exposure epoch to somebody else. */
static void chains_of_epochs_do_not_lock_up(void)
{
    int right = right_of_me();
    int left = left_of_me();
    int64_t value = 0;
    clear_words();
    for (int i = 1; i <= 50; ++i) {
        value = i;
        post(&left, 1);
        start(&right, 1);
        put_word(right, 10, &value);
        CHECK_OK(MPI_Win_complete(window.win));
        CHECK_OK(MPI_Win_wait(window.win));
        CHECK_INT(i, read_word(10));
    }
}

/* ---- locks ---- */

/* Adds one to a word with get and put alone: right only if the lock excludes all others. */
static void exclusive_lock_excludes(void)
{
    int rounds = 2 >= mt_size ? 500 : 100;
    clear_words();
    for (int target = 0; target < mt_size; ++target) {
        for (int i = 0; i < rounds; ++i) {
            CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win));
            int64_t value = get_word(target, 20) + 1;
            put_word(target, 20, &value);
            CHECK_OK(MPI_Win_unlock(target, window.win));
        }
    }
    mt_barrier();
    CHECK_INT(rounds * mt_size, read_word(20));
}

/* A barrier inside: it would never end if shared locks excluded each other. */
static void shared_locks_are_held_together(void)
{
    for (int target = 0; target < mt_size; ++target) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window.win));
        mt_barrier();
        CHECK_OK(MPI_Win_unlock(target, window.win));
    }
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    mt_barrier();
    CHECK_OK(MPI_Win_unlock_all(window.win));
}

/* lock_all is a set of shared locks, so a shared lock is no obstacle to it. */
static void lock_all_and_shared_lock_are_held_together(void)
{
    if (0 == mt_rank) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, mt_size - 1, 0, window.win));
        mt_barrier();
        CHECK_OK(MPI_Win_unlock(mt_size - 1, window.win));
    } else {
        CHECK_OK(MPI_Win_lock_all(0, window.win));
        mt_barrier();
        CHECK_OK(MPI_Win_unlock_all(window.win));
    }
}

/* Writers change two words apart from each other; who looks at both at a time must see them alike.
 */
static void write_two_words(int target, int64_t value)
{
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win));
    put_word(target, 30, &value);
    CHECK_OK(MPI_Win_flush(target, window.win));
    mt_sleep_ms(0);
    put_word(target, 31, &value);
    CHECK_OK(MPI_Win_unlock(target, window.win));
}

static void read_two_words(int target, bool all)
{
    CHECK_OK(all ? MPI_Win_lock_all(0, window.win)
                 : MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window.win));
    int64_t first = get_word(target, 30);
    int64_t second = get_word(target, 31);
    CHECK_INT(first, second);
    CHECK_OK(all ? MPI_Win_unlock_all(window.win) : MPI_Win_unlock(target, window.win));
}

/* Odd ranks write, even ranks read, all at the same target. */
static void readers_and_writers(bool all)
{
    int rounds = 2 >= mt_size ? 300 : 60;
    clear_words();
    for (int i = 1; i <= rounds; ++i) {
        mt_context("round %d", i);
        if (1 == mt_rank % 2) {
            write_two_words(mt_size - 1, (int64_t) i * mt_size + mt_rank);
        } else {
            read_two_words(mt_size - 1, all);
        }
    }
    mt_barrier();
}

static void shared_lock_excludes_writers(void)
{
    readers_and_writers(false);
}

static void lock_all_excludes_writers(void)
{
    readers_and_writers(true);
}

/* A rank that collects exclusive locks one by one, against ranks that lock all at once: MPI
 * promises no deadlock, since lock_all is not a lock of several targets one after the other. */
static void lock_all_against_several_exclusive_locks(void)
{
    int rounds = 2 >= mt_size ? 200 : 50;
    for (int i = 0; i < rounds; ++i) {
        if (0 == mt_rank) {
            for (int target = 0; target < mt_size; ++target) {
                CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win));
            }
            for (int target = 0; target < mt_size; ++target) {
                CHECK_OK(MPI_Win_unlock(target, window.win));
            }
        } else {
            CHECK_OK(MPI_Win_lock_all(0, window.win));
            CHECK_OK(MPI_Win_unlock_all(window.win));
        }
    }
    mt_barrier();
}

/* A shared lock is held while an exclusive one is asked for, with a third rank at lock_all. */
static void exclusive_lock_while_holding_a_shared_one(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    for (int i = 0; i < 50; ++i) {
        if (0 == mt_rank) {
            CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.win));
            CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window.win));
            CHECK_OK(MPI_Win_unlock(1, window.win));
            CHECK_OK(MPI_Win_unlock(0, window.win));
        } else if (1 == mt_rank) {
            CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.win));
            CHECK_OK(MPI_Win_unlock(0, window.win));
        } else {
            CHECK_OK(MPI_Win_lock_all(0, window.win));
            CHECK_OK(MPI_Win_unlock_all(window.win));
        }
    }
    mt_barrier();
}

/* Holds a lock that others wait for; what it writes last is what they must see first. */
static void lock_waits_for_a_late_release(int type, bool all)
{
    int target = mt_size - 1;
    int64_t value = 77;
    clear_words();
    if (0 == mt_rank) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win));
        mt_barrier();
        mt_sleep_ms(1 < mt_size ? LATE_MS / 2 : 0);
        put_word(target, 40, &value);
        CHECK_OK(MPI_Win_unlock(target, window.win));
    } else {
        mt_barrier();
        CHECK_OK(all ? MPI_Win_lock_all(0, window.win) : MPI_Win_lock(type, target, 0, window.win));
        CHECK_INT(77, get_word(target, 40));
        CHECK_OK(all ? MPI_Win_unlock_all(window.win) : MPI_Win_unlock(target, window.win));
    }
    mt_barrier();
}

static void every_lock_waits_for_a_late_release(void)
{
    lock_waits_for_a_late_release(MPI_LOCK_SHARED, false);
    lock_waits_for_a_late_release(MPI_LOCK_EXCLUSIVE, false);
    lock_waits_for_a_late_release(0, true);
}

/* Who lets go and asks again comes after all who wait already. */
static void locks_are_served_in_turn(void)
{
    int64_t count = 0;
    if (!mt_needs_ranks(2)) {
        return;
    }
    clear_words();
    if (0 == mt_rank) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.win));
    }
    mt_barrier();
    if (0 == mt_rank) {
        mt_sleep_ms(LATE_MS); /* the others wait by now */
        CHECK_OK(MPI_Win_unlock(0, window.win));
    }
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.win));
    count = get_word(0, 1);
    CHECK_MSG(0 != mt_rank || mt_size - 1 == count, "only %lld of %d were let in before",
              (long long) count, mt_size - 1);
    ++count;
    put_word(0, 1, &count);
    CHECK_OK(MPI_Win_unlock(0, window.win));
    mt_barrier();
}

/* With MPI_MODE_NOCHECK nothing is locked, so nobody waits although somebody holds the lock. */
static void nocheck_waits_for_nobody(void)
{
    int64_t value = 8;
    clear_words();
    if (0 == mt_rank) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.win));
    }
    mt_barrier();
    if (0 != mt_rank) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, window.win));
        put_word(0, mt_rank, &value);
        CHECK_OK(MPI_Win_unlock(0, window.win));
        CHECK_OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, window.win));
        CHECK_INT(8, get_word(0, mt_rank));
        CHECK_OK(MPI_Win_unlock_all(window.win));
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, MPI_MODE_NOCHECK, window.win));
        CHECK_OK(MPI_Win_unlock(0, window.win));
    }
    mt_barrier();
    if (0 == mt_rank) {
        CHECK_OK(MPI_Win_unlock(0, window.win));
    }
    /* The lock is whole: it can be had again by everyone. */
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.win));
    CHECK_OK(MPI_Win_unlock(0, window.win));
    mt_barrier();
}

static void locks_of_all_targets_at_once(void)
{
    int64_t value = 100 + mt_rank;
    clear_words();
    for (int r = 0; r < mt_size; ++r) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, r, 0, window.win));
    }
    for (int r = 0; r < mt_size; ++r) {
        put_word(r, mt_rank, &value);
    }
    CHECK_OK(MPI_Win_flush_all(window.win));
    for (int r = mt_size - 1; r >= 0; --r) {
        CHECK_OK(MPI_Win_unlock(r, window.win));
    }
    mt_barrier();
    for (int r = 0; r < mt_size; ++r) {
        CHECK_INT(100 + r, read_word(r));
    }
    mt_barrier();
}

/* ---- progress ---- */

/* A message too long to be sent before its receiver does something for it. */
#define MESSAGE_BYTES (8 << 20)

/* Rank 0 sends to the last rank, which has posted the receive and waits in a window's call for what
 * rank 0 does only behind the send. Never ends unless the wait makes the message move. */
static void wait_moves_messages(void (*wait_in)(void), void (*release)(void))
{
    char *message = malloc(MESSAGE_BYTES);
    MPI_Request request = MPI_REQUEST_NULL;
    memset(message, mt_rank, MESSAGE_BYTES);
    if (mt_rank == mt_size - 1) {
        CHECK_OK(MPI_Irecv(message, MESSAGE_BYTES, MPI_CHAR, 0, 3, mt_comm, &request));
    }
    mt_barrier();
    if (0 == mt_rank) {
        mt_sleep_ms(100); /* so that the others wait already */
        CHECK_OK(MPI_Send(message, MESSAGE_BYTES, MPI_CHAR, mt_size - 1, 3, mt_comm));
        release();
    } else {
        wait_in();
    }
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    mt_barrier();
    free(message);
}

static void do_fence(void)
{
    CHECK_OK(MPI_Win_fence(0, window.win));
}

static void expose_to_last(void)
{
    int last = mt_size - 1;
    post(&last, 1);
    CHECK_OK(MPI_Win_wait(window.win));
}

static void access_first(void)
{
    int zero = 0;
    if (mt_rank == mt_size - 1) {
        start(&zero, 1);
        CHECK_OK(MPI_Win_complete(window.win));
    }
}

static void wait_for_first(void)
{
    int zero = 0;
    if (mt_rank == mt_size - 1) {
        post(&zero, 1);
        CHECK_OK(MPI_Win_wait(window.win));
    }
}

static void access_last(void)
{
    int last = mt_size - 1;
    start(&last, 1);
    CHECK_OK(MPI_Win_complete(window.win));
}

static void lock_first(void)
{
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.win));
    CHECK_OK(MPI_Win_unlock(0, window.win));
}

static void lock_all_of_them(void)
{
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_OK(MPI_Win_unlock_all(window.win));
}

static void unlock_first(void)
{
    CHECK_OK(MPI_Win_unlock(0, window.win));
}

static void every_wait_moves_messages(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    mt_context("fence");
    wait_moves_messages(do_fence, do_fence);
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    mt_context("start");
    wait_moves_messages(access_first, expose_to_last);
    mt_context("wait");
    wait_moves_messages(wait_for_first, access_last);
    for (int all = 0; all < 2; ++all) {
        mt_context(all ? "lock_all" : "lock");
        if (0 == mt_rank) {
            CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.win));
        }
        wait_moves_messages(all ? lock_all_of_them : lock_first, unlock_first);
    }
}

/* A rank that polls its memory and calls MPI_Win_sync gets messages through, too. */
static void sync_moves_messages(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    char *message = malloc(MESSAGE_BYTES);
    MPI_Request request = MPI_REQUEST_NULL;
    int64_t value = 1;
    clear_words();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    if (mt_rank == mt_size - 1) {
        CHECK_OK(MPI_Irecv(message, MESSAGE_BYTES, MPI_CHAR, 0, 4, mt_comm, &request));
        while (1 != read_word(50) && CHECK_OK(MPI_Win_sync(window.win))) {
        }
    } else if (0 == mt_rank) {
        memset(message, 0, MESSAGE_BYTES);
        mt_sleep_ms(100);
        CHECK_OK(MPI_Send(message, MESSAGE_BYTES, MPI_CHAR, mt_size - 1, 4, mt_comm));
        put_word(mt_size - 1, 50, &value);
        CHECK_OK(MPI_Win_flush(mt_size - 1, window.win));
    }
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
    free(message);
}

/* ---- more than one window ---- */

static void epochs_of_two_windows_are_apart(void)
{
    mt_win_t other;
    int64_t value = 66;
    if (!mt_allocate(64, 8, MPI_COMM_WORLD, &other)) {
        return;
    }
    clear_words();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_OK(MPI_Win_fence(0, other.win));
    CHECK_OK(MPI_Put(&value, 1, MPI_INT64_T, right_of_me(), 0, 1, MPI_INT64_T, other.win));
    put_word(right_of_me(), 60, &value);
    CHECK_OK(MPI_Win_unlock_all(window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, other.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(other.win));
    CHECK_CLASS(MPI_ERR_RMA_SYNC,
                MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, window.win));
    CHECK_INT(66, read_word(60));
    mt_win_free(&other);
}

/* Freeing waits for all ranks: what a late one did before is there when the others come back. */
static void free_waits_for_a_late_rank(void)
{
    mt_win_t w;
    int64_t value = 1357;
    int late = mt_size - 1;
    if (!mt_allocate(100000, 1, MPI_COMM_WORLD, &w)) {
        return;
    }
    clear_words();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    mt_fill(w.base, w.size, mt_seed(mt_rank, 1));
    mt_barrier();
    if (mt_rank == late) {
        mt_sleep_ms(300);
        CHECK_PATTERN(mt_peer(&w, 0), w.size, mt_seed(0, 1)); /* it is whole still */
        for (int r = 0; r < mt_size; ++r) {
            put_word(r, 70, &value);
        }
        CHECK_OK(MPI_Win_flush_all(window.win));
    }
    mt_win_free(&w);
    CHECK_OK(MPI_Win_sync(window.win));
    CHECK_INT(1357, read_word(70));
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "rma_sync");
    if (mt_allocate(WORDS * sizeof(int64_t), sizeof(int64_t), MPI_COMM_WORLD, &window)) {
        MT_RUN(fence_separates_rounds);
        MT_RUN(fence_orders_local_stores_with_gets);
        MT_RUN(fence_waits_for_a_late_rank);
        MT_RUN(fence_takes_every_assertion);
        MT_RUN(groups_change_with_every_epoch);
        MT_RUN(start_waits_for_a_late_post);
        MT_RUN(wait_waits_for_a_late_origin);
        MT_RUN(only_the_groups_take_part);
        MT_RUN(groups_may_be_empty);
        MT_RUN(test_tells_when_the_epoch_is_over);
        MT_RUN(chains_of_epochs_do_not_lock_up);
        MT_RUN(exclusive_lock_excludes);
        MT_RUN(shared_locks_are_held_together);
        MT_RUN(lock_all_and_shared_lock_are_held_together);
        MT_RUN(shared_lock_excludes_writers);
        MT_RUN(lock_all_excludes_writers);
        MT_RUN(lock_all_against_several_exclusive_locks);
        MT_RUN(exclusive_lock_while_holding_a_shared_one);
        MT_RUN(every_lock_waits_for_a_late_release);
        MT_RUN(locks_are_served_in_turn);
        MT_RUN(nocheck_waits_for_nobody);
        MT_RUN(locks_of_all_targets_at_once);
        MT_RUN(every_wait_moves_messages);
        MT_RUN(sync_moves_messages);
        MT_RUN(epochs_of_two_windows_are_apart);
        MT_RUN(free_waits_for_a_late_rank);
        mt_win_free(&window);
    }
    return mt_finish();
}
