/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Memory that is not mapped: both ways to it, with lists of pieces that are cut differently on the
 * two sides, against copies byte by byte. */
#include "symm_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symm_cma.h"
#include "symm_iov.h"
#include "symm_log.h"
#include "symm_mailbox.h"

#define LEN    ((size_t) 300000)
#define PIECES 700

/* Memory that a child process shares, so that both can look at it. */
typedef struct shared {
    symm_cma_card_t card; /* the child's */
    atomic_int ready;
    unsigned char bytes[LEN];
} shared_t;

static unsigned char mine[LEN];

/* Cuts base into pieces of changing length with gaps between them, some of them empty. Returns
 * their bytes; *count_p is how many there are. */
static size_t cut(unsigned char *base, unsigned seed, size_t total, struct iovec *pieces,
                  size_t *count_p)
{
    size_t at = 0, taken = 0, n = 0;
    while (taken < total && n < PIECES - 1) {
        size_t len = (size_t) rand_r(&seed) % 997;
        len = 0 == n % 11 ? 0 : len;
        len = len < total - taken ? len : total - taken;
        pieces[n++] = (struct iovec){base + at, len};
        taken += len;
        at += len + (size_t) rand_r(&seed) % 5;
    }
    *count_p = n;
    return taken;
}

static void fill(unsigned char *bytes, unsigned seed)
{
    for (size_t i = 0; i < LEN; ++i) {
        bytes[i] = (unsigned char) rand_r(&seed);
    }
}

/* Copies byte by byte, as the reference. */
static void reference(const struct iovec *to, const struct iovec *from, size_t len)
{
    size_t t = 0, f = 0, to_at = 0, from_at = 0;
    for (size_t i = 0; i < len; ++i) {
        while (to_at == to[t].iov_len) {
            ++t;
            to_at = 0;
        }
        while (from_at == from[f].iov_len) {
            ++f;
            from_at = 0;
        }
        ((unsigned char *) to[t].iov_base)[to_at++] =
            ((const unsigned char *) from[f].iov_base)[from_at++];
    }
}

typedef int (*transfer_fn_t)(bool write, const struct iovec *local, size_t local_count,
                             const struct iovec *remote, size_t remote_count);

/* theirs is where both sides see the remote memory. */
static void compare(transfer_fn_t transfer, unsigned char *theirs, bool write, unsigned seed)
{
    static unsigned char expected[LEN];
    static struct iovec local[PIECES], remote[PIECES], other[PIECES];
    size_t local_count, remote_count, other_count;
    size_t total = 40000 + seed * 7919;
    total = cut(mine, seed, total, local, &local_count);
    size_t got = cut(theirs, seed + 100, total, remote, &remote_count);
    total = got < total ? got : total;
    (void) cut(mine, seed, total, local, &local_count);
    (void) cut(theirs, seed + 100, total, remote, &remote_count);
    fill(mine, seed + 1);
    fill(theirs, seed + 2);
    memcpy(expected, write ? theirs : mine, LEN);
    (void) cut(expected, write ? seed + 100 : seed, total, other, &other_count);
    reference(other, write ? local : remote, total);
    assert_int_equal(transfer(write, local, local_count, remote, remote_count), MPI_SUCCESS);
    assert_memory_equal(write ? theirs : mine, expected, LEN);
}

/* ---- cross-memory attach ---- */

static shared_t *shared;
static pid_t child;

static int start_child(void **state)
{
    (void) state;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    child = fork();
    if (0 == child) {
        symm_cma_card(&shared->card);
        atomic_store(&shared->ready, 1);
        for (;;) {
            (void) pause();
        }
    }
    while (0 == atomic_load(&shared->ready)) {
        (void) usleep(1000);
    }
    return 0;
}

static int end_child(void **state)
{
    (void) state;
    (void) kill(child, SIGKILL);
    (void) waitpid(child, NULL, 0);
    (void) munmap(shared, sizeof(*shared));
    return 0;
}

static int by_cma(bool write, const struct iovec *local, size_t local_count,
                  const struct iovec *remote, size_t remote_count)
{
    return symm_cma_transfer(child, write, local, local_count, remote, remote_count);
}

static bool permitted(void)
{
    if (!symm_cma_works(&shared->card)) {
        print_message("SKIP: the kernel forbids cross-memory attach here\n");
        return false;
    }
    return true;
}

static void cma_copies_all_pieces(void **state)
{
    (void) state;
    if (!permitted()) {
        skip();
    }
    for (unsigned seed = 0; seed < 8; ++seed) {
        compare(by_cma, shared->bytes, 0 == seed % 2, seed);
    }
}

/* A process with the same number somewhere else is not the one that made the card. */
static void cma_does_not_take_another_process(void **state)
{
    symm_cma_card_t wrong = shared->card;
    (void) state;
    wrong.token[3] ^= 1;
    assert_false(symm_cma_works(&wrong));
    wrong = shared->card;
    wrong.address = 16;
    assert_false(symm_cma_works(&wrong));
    assert_false(symm_cma_can_read(child, (void *) 16));
}

static void cma_tells_of_bad_addresses(void **state)
{
    struct iovec local = {mine, 8};
    struct iovec remote = {(void *) 16, 8};
    (void) state;
    symm_log_level = -1;
    assert_int_equal(symm_cma_transfer(child, false, &local, 1, &remote, 1), MPI_ERR_OTHER);
    symm_log_level = SYMM_LOG_WARN;
}

/* ---- the mailbox, with threads in place of processes ---- */

static symm_mailbox_t mailbox;
static atomic_bool stop;
static unsigned char theirs[LEN];

static int copy(void *context, void *dst, const void *src, size_t len)
{
    atomic_int *fails = context;
    if (0 < atomic_load(fails)) {
        return MPI_ERR_OTHER;
    }
    memcpy(dst, src, len);
    return MPI_SUCCESS;
}

static void *own(void *argument)
{
    while (!atomic_load(&stop)) {
        if (0 == symm_mailbox_serve(&mailbox, copy, argument)) {
            (void) sched_yield();
        }
    }
    return NULL;
}

static int by_mailbox(bool write, const struct iovec *local, size_t local_count,
                      const struct iovec *remote, size_t remote_count)
{
    return symm_mailbox_transfer(&mailbox, write, local, local_count, remote, remote_count);
}

static void mailbox_copies_all_pieces(void **state)
{
    pthread_t owner;
    atomic_int fails = 0;
    (void) state;
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&owner, NULL, own, &fails), 0);
    for (unsigned seed = 0; seed < 8; ++seed) {
        compare(by_mailbox, theirs, 0 == seed % 2, seed);
    }
    atomic_store(&fails, 1);
    struct iovec piece = {mine, 8};
    struct iovec remote = {theirs, 8};
    assert_int_equal(by_mailbox(true, &piece, 1, &remote, 1), MPI_ERR_OTHER);
    atomic_store(&fails, 0);
    compare(by_mailbox, theirs, true, 9); /* the slot is good again */
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(owner, NULL), 0);
    assert_int_equal(mailbox.asked, 0);
}

#define ASKERS 8
#define SHARE  (LEN / ASKERS / 8 * 8)

/* More askers than slots, each with a part of its own. */
static void *asker(void *argument)
{
    size_t number = (size_t) argument;
    unsigned char *part = malloc(SHARE);
    struct iovec local = {part, SHARE};
    struct iovec remote = {theirs + number * SHARE, SHARE};
    long wrong = 0;
    for (int round = 0; round < 20; ++round) {
        memset(part, (int) number * 16 + round % 16, SHARE);
        wrong += MPI_SUCCESS == by_mailbox(true, &local, 1, &remote, 1) ? 0 : 1;
        memset(part, 0, SHARE);
        wrong += MPI_SUCCESS == by_mailbox(false, &local, 1, &remote, 1) ? 0 : 1;
        for (size_t i = 0; i < SHARE; ++i) {
            wrong += part[i] == (unsigned char) (number * 16 + (size_t) round % 16) ? 0 : 1;
        }
    }
    free(part);
    return (void *) wrong;
}

static void mailbox_serves_many(void **state)
{
    pthread_t owners[2], askers[ASKERS];
    atomic_int fails = 0;
    void *wrong;
    (void) state;
    atomic_store(&stop, false);
    for (int i = 0; i < 2; ++i) { /* threads of the owner's */
        assert_int_equal(pthread_create(&owners[i], NULL, own, &fails), 0);
    }
    for (size_t i = 0; i < ASKERS; ++i) {
        assert_int_equal(pthread_create(&askers[i], NULL, asker, (void *) i), 0);
    }
    for (int i = 0; i < ASKERS; ++i) {
        assert_int_equal(pthread_join(askers[i], &wrong), 0);
        assert_null(wrong);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(pthread_join(owners[i], NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cma_copies_all_pieces, start_child, end_child),
        cmocka_unit_test_setup_teardown(cma_does_not_take_another_process, start_child, end_child),
        cmocka_unit_test_setup_teardown(cma_tells_of_bad_addresses, start_child, end_child),
        cmocka_unit_test(mailbox_copies_all_pieces),
        cmocka_unit_test(mailbox_serves_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
