/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Passing descriptors: between forked processes as it is meant to be, and then with everything that
 * may come instead - strangers, broken messages, duplicates, nothing at all, no descriptors left.
 */
#include "symm_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symm_rendezvous.h"

#define RANKS_MAX  24
#define TIMEOUT_MS 20000

static symm_rendezvous_t ends[RANKS_MAX];
static symm_rendezvous_card_t cards[RANKS_MAX];
static symm_fds_t received[RANKS_MAX];

static int open_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (NULL != readdir(dir)) {
        ++count;
    }
    (void) closedir(dir);
    return count;
}

static void open_ends(int size)
{
    symm_error_t error = {0};
    for (int r = 0; r < size; ++r) {
        assert_int_equal(symm_rendezvous_open(&ends[r], &cards[r], &error), MPI_SUCCESS);
    }
}

static void close_ends(int size)
{
    for (int r = 0; r < size; ++r) {
        symm_rendezvous_close(&ends[r]);
        assert_int_equal(ends[r].socket, -1);
    }
}

/* A descriptor that tells where it comes from: a file that begins with the number. */
static int marked_fd(int number)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    return 0 <= fd && (ssize_t) sizeof(number) == write(fd, &number, sizeof(number)) ? fd : -1;
}

static int mark_of(int fd)
{
    int number = -1;
    return (ssize_t) sizeof(number) == pread(fd, &number, sizeof(number), 0) ? number : -1;
}

static void close_received(int size)
{
    for (int r = 0; r < size; ++r) {
        symm_fds_close(&received[r]);
        assert_int_equal(received[r].count, 0);
    }
}

/* ---- forked ranks ---- */

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #condition);         \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int count_of(int rank)
{
    return rank % (SYMM_RENDEZVOUS_MAX_FDS + 1);
}

/* Each rank sends none to three descriptors and receives those of all others. */
static int swap_as(int rank, int size)
{
    symm_fds_t mine = {.count = count_of(rank)};
    symm_error_t error = {0};
    for (int i = 0; i < mine.count; ++i) {
        mine.fd[i] = marked_fd(100 * rank + i);
    }
    EXPECT(MPI_SUCCESS == symm_rendezvous_swap(&ends[rank], rank, size, cards, &mine, received,
                                               TIMEOUT_MS, &error));
    symm_fds_close(&mine); /* theirs live on without ours */
    for (int r = 0; r < size; ++r) {
        EXPECT((r == rank ? 0 : count_of(r)) == received[r].count);
        for (int i = 0; i < received[r].count; ++i) {
            EXPECT(100 * r + i == mark_of(received[r].fd[i]));
            EXPECT(0 != (fcntl(received[r].fd[i], F_GETFD) & FD_CLOEXEC));
        }
    }
    return 0;
}

static void run_ranks(int size)
{
    pid_t children[RANKS_MAX];
    open_ends(size);
    for (int r = 0; r < size; ++r) {
        children[r] = fork();
        assert_true(0 <= children[r]);
        if (0 == children[r]) {
            (void) alarm(60);
            _exit(swap_as(r, size));
        }
    }
    for (int r = 0; r < size; ++r) {
        int status = -1;
        assert_int_equal(waitpid(children[r], &status, 0), children[r]);
        assert_int_equal(status, 0);
    }
    close_ends(size);
}

static void descriptors_arrive_and_are_usable(void **state)
{
    (void) state;
    run_ranks(2);
    run_ranks(5);
}

/* More than a socket's queue holds, so that ranks must receive while they cannot send. */
static void many_ranks_at_once(void **state)
{
    (void) state;
    run_ranks(RANKS_MAX);
}

static void one_rank_waits_for_nobody(void **state)
{
    symm_fds_t mine = {0};
    symm_error_t error = {0};
    (void) state;
    open_ends(1);
    assert_int_equal(symm_rendezvous_swap(&ends[0], 0, 1, cards, &mine, received, 0, &error),
                     MPI_SUCCESS);
    assert_int_equal(received[0].count, 0);
    close_ends(1);
}

static void ends_are_no_two_alike(void **state)
{
    (void) state;
    int before = open_descriptors();
    open_ends(2);
    assert_int_not_equal(0, memcmp(cards[0].token, cards[1].token, SYMM_RENDEZVOUS_TOKEN));
    assert_true(cards[0].address_len != cards[1].address_len ||
                0 != memcmp(&cards[0].address, &cards[1].address, cards[0].address_len));
    assert_int_equal(cards[0].address.sun_path[0], 0); /* abstract: no file is made */
    assert_memory_equal(cards[0].token, ends[0].token, SYMM_RENDEZVOUS_TOKEN);
    assert_true(0 != (fcntl(ends[0].socket, F_GETFD) & FD_CLOEXEC));
    close_ends(2);
    close_ends(2); /* again is allowed */
    assert_int_equal(open_descriptors(), before);
}

/* ---- what else may come ---- */

/* A message as it travels. */
typedef struct message {
    uint8_t token[SYMM_RENDEZVOUS_TOKEN];
    int32_t rank;
    int32_t count;
    char more[64]; /* of a message that is too long */
} message_t;

#define MESSAGE_LEN offsetof(message_t, more)
#define FDS_MAX     12

/* Sends len bytes of message with count descriptors, marked from `mark` on, to rank 0. */
static void send_raw(const message_t *message, size_t len, int count, int mark)
{
    char control[CMSG_SPACE(FDS_MAX * sizeof(int))] = {0};
    int fds[FDS_MAX];
    struct iovec data = {(void *) message, len};
    struct msghdr header = {.msg_name = &cards[0].address,
                            .msg_namelen = cards[0].address_len,
                            .msg_iov = &data,
                            .msg_iovlen = 1};
    for (int i = 0; i < count; ++i) {
        fds[i] = marked_fd(mark + i);
    }
    if (0 < count) {
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE((size_t) count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN((size_t) count * sizeof(int));
        memcpy(CMSG_DATA(rights), fds, (size_t) count * sizeof(int));
    }
    int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(sendmsg(sender, &header, MSG_DONTWAIT), len);
    (void) close(sender);
    for (int i = 0; i < count; ++i) {
        (void) close(fds[i]);
    }
}

static message_t message_from(int rank, int count)
{
    message_t message = {.rank = rank, .count = count};
    memcpy(message.token, cards[0].token, SYMM_RENDEZVOUS_TOKEN);
    return message;
}

/* What rank really has to send. */
static void send_proper(int rank, int count, int mark)
{
    message_t message = message_from(rank, count);
    send_raw(&message, MESSAGE_LEN, count, mark);
}

/* Rank 0's part among `size` ranks; the others' messages are in its queue already. */
static int swap_as_rank_0(int size, unsigned timeout_ms, symm_error_t *error)
{
    symm_fds_t mine = {0};
    return symm_rendezvous_swap(&ends[0], 0, size, cards, &mine, received, timeout_ms, error);
}

/* Rank 1's proper message, one descriptor marked 1, comes through whatever was sent before; nothing
 * of that is kept. */
static void assert_ignored(int before)
{
    symm_error_t error = {0};
    send_proper(1, 1, 1);
    assert_int_equal(swap_as_rank_0(2, TIMEOUT_MS, &error), MPI_SUCCESS);
    assert_int_equal(received[1].count, 1);
    assert_int_equal(mark_of(received[1].fd[0]), 1);
    assert_int_equal(open_descriptors(), before + 1);
    close_received(2);
}

static void stranger_without_the_token(void **state)
{
    (void) state;
    for (int byte = 0; byte < SYMM_RENDEZVOUS_TOKEN; ++byte) {
        open_ends(2);
        int before = open_descriptors();
        message_t message = message_from(1, 2);
        message.token[byte] ^= 1;
        send_raw(&message, MESSAGE_LEN, 2, 50);
        assert_ignored(before);
        close_ends(2);
    }
}

static void message_of_the_wrong_length(void **state)
{
    static const size_t lengths[] = {
        0, 1, SYMM_RENDEZVOUS_TOKEN, MESSAGE_LEN - 1, MESSAGE_LEN + 1, sizeof(message_t)};
    (void) state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); ++i) {
        open_ends(2);
        int before = open_descriptors();
        message_t message = message_from(1, 1);
        send_raw(&message, lengths[i], 1, 50);
        assert_ignored(before);
        close_ends(2);
    }
}

static void message_of_no_such_rank(void **state)
{
    static const int ranks[] = {-1, 0, 2, INT32_MAX, INT32_MIN};
    (void) state;
    for (int i = 0; i < 5; ++i) {
        open_ends(2);
        int before = open_descriptors();
        send_proper(ranks[i], 1, 50);
        assert_ignored(before);
        close_ends(2);
    }
}

static void stranger_with_many_descriptors(void **state)
{
    (void) state;
    for (int count = SYMM_RENDEZVOUS_MAX_FDS; count <= FDS_MAX; ++count) {
        open_ends(2);
        int before = open_descriptors();
        message_t message = message_from(1, count);
        message.token[0] ^= 1;
        send_raw(&message, MESSAGE_LEN, count, 50);
        assert_ignored(before);
        close_ends(2);
    }
}

/* The kernel says who sent; needs a user to change to. */
static void message_of_another_user(void **state)
{
    (void) state;
    if (0 != geteuid()) {
        print_message("only root can become somebody else: skipped\n");
        skip();
    }
    open_ends(2);
    int before = open_descriptors();
    pid_t child = fork();
    if (0 == child) {
        if (0 != setuid(65534)) {
            _exit(1);
        }
        send_proper(1, 1, 50);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_ignored(before);
    close_ends(2);
}

static void duplicate_is_ignored(void **state)
{
    symm_error_t error = {0};
    (void) state;
    open_ends(3);
    int before = open_descriptors();
    send_proper(1, 2, 10);
    send_proper(1, 3, 50);
    send_proper(2, 1, 20);
    assert_int_equal(swap_as_rank_0(3, TIMEOUT_MS, &error), MPI_SUCCESS);
    assert_int_equal(received[1].count, 2);
    assert_int_equal(mark_of(received[1].fd[1]), 11);
    assert_int_equal(received[2].count, 1);
    assert_int_equal(mark_of(received[2].fd[0]), 20);
    assert_int_equal(open_descriptors(), before + 3);
    close_received(3);
    close_ends(3);
}

/* ---- errors ---- */

/* A swap of two ranks that fails: the text names what to look for, and what was received can be
 * closed. */
static void assert_fails(int size, unsigned timeout_ms, const char *hint)
{
    symm_error_t error = {0};
    assert_int_equal(swap_as_rank_0(size, timeout_ms, &error), MPI_ERR_OTHER);
    assert_int_equal(error.code, MPI_ERR_OTHER);
    if (NULL == strstr(error.text, hint)) {
        fail_msg("\"%s\" does not mention %s", error.text, hint);
    }
}

static void peer_that_never_sends(void **state)
{
    (void) state;
    open_ends(3);
    int before = open_descriptors();
    send_proper(1, 1, 10);
    assert_fails(3, 50, "rank 2");
    assert_int_equal(received[1].count, 1);
    assert_int_equal(mark_of(received[1].fd[0]), 10);
    assert_int_equal(received[2].count, 0);
    close_received(3);
    assert_int_equal(open_descriptors(), before);
    close_ends(3);
}

static void peer_that_is_gone(void **state)
{
    (void) state;
    open_ends(2);
    symm_rendezvous_close(&ends[1]);
    send_proper(1, 0, 0);
    assert_fails(2, TIMEOUT_MS, "rank 1");
    close_ends(2);
}

/* Its queue is full and stays so. */
static void peer_that_never_receives(void **state)
{
    (void) state;
    open_ends(2);
    int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    while (0 <= sendto(sender, "x", 1, MSG_DONTWAIT, (struct sockaddr *) &cards[1].address,
                       cards[1].address_len)) {
    }
    assert_int_equal(errno, EAGAIN);
    (void) close(sender);
    send_proper(1, 0, 0);
    assert_fails(2, 50, "rank 1");
    close_ends(2);
}

static void fewer_descriptors_than_announced(void **state)
{
    (void) state;
    open_ends(2);
    int before = open_descriptors();
    message_t message = message_from(1, 2);
    send_raw(&message, MESSAGE_LEN, 1, 10);
    assert_fails(2, TIMEOUT_MS, "1 of 2");
    close_received(2);
    assert_int_equal(open_descriptors(), before);
    close_ends(2);
}

static void more_descriptors_than_there_is_room_for(void **state)
{
    (void) state;
    for (int count = SYMM_RENDEZVOUS_MAX_FDS + 1; count <= FDS_MAX; ++count) {
        open_ends(2);
        int before = open_descriptors();
        send_proper(1, count, 10);
        assert_fails(2, TIMEOUT_MS, "rank 1");
        assert_true(received[1].count <= SYMM_RENDEZVOUS_MAX_FDS);
        close_received(2);
        assert_int_equal(open_descriptors(), before);
        close_ends(2);
    }
}

static struct rlimit allow_more_descriptors(int more)
{
    struct rlimit saved, limit;
    int free_fd = dup(STDIN_FILENO);
    assert_true(0 <= free_fd);
    (void) close(free_fd);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
    limit = saved;
    limit.rlim_cur = (rlim_t) (free_fd + more);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return saved;
}

static void no_descriptors_left_to_receive(void **state)
{
    (void) state;
    for (int more = 0; more < 2; ++more) {
        symm_error_t error = {0};
        open_ends(2);
        int before = open_descriptors();
        send_proper(1, 2, 10);
        struct rlimit saved = allow_more_descriptors(more);
        int rc = swap_as_rank_0(2, TIMEOUT_MS, &error);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
        assert_int_equal(rc, MPI_ERR_OTHER);
        assert_non_null(strstr(error.text, "ulimit -n"));
        close_received(2);
        assert_int_equal(open_descriptors(), before);
        close_ends(2);
    }
}

static void no_descriptors_left_to_open(void **state)
{
    symm_error_t error = {0};
    (void) state;
    struct rlimit saved = allow_more_descriptors(0);
    int rc = symm_rendezvous_open(&ends[0], &cards[0], &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
    assert_int_equal(rc, MPI_ERR_OTHER);
    assert_non_null(strstr(error.text, "ulimit -n"));
    assert_int_equal(ends[0].socket, -1);
    symm_rendezvous_close(&ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_arrive_and_are_usable),
        cmocka_unit_test(many_ranks_at_once),
        cmocka_unit_test(one_rank_waits_for_nobody),
        cmocka_unit_test(ends_are_no_two_alike),
        cmocka_unit_test(stranger_without_the_token),
        cmocka_unit_test(message_of_the_wrong_length),
        cmocka_unit_test(message_of_no_such_rank),
        cmocka_unit_test(stranger_with_many_descriptors),
        cmocka_unit_test(message_of_another_user),
        cmocka_unit_test(duplicate_is_ignored),
        cmocka_unit_test(peer_that_never_sends),
        cmocka_unit_test(peer_that_is_gone),
        cmocka_unit_test(peer_that_never_receives),
        cmocka_unit_test(fewer_descriptors_than_announced),
        cmocka_unit_test(more_descriptors_than_there_is_room_for),
        cmocka_unit_test(no_descriptors_left_to_receive),
        cmocka_unit_test(no_descriptors_left_to_open),
    };
    return cmocka_run_group_tests_name("rendezvous", tests, NULL, NULL);
}
