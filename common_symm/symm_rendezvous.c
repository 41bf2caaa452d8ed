/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Descriptor passing between verified ranks. What the descriptors mean, the caller knows. */
#include "symm_config.h"

#include "symm_rendezvous.h"
#include "symm_log.h"
#include "symm_spin.h"

#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef struct message {
    uint8_t token[SYMM_RENDEZVOUS_TOKEN]; /* the receiver's */
    int32_t rank;                         /* the sender's */
    int32_t count; /* descriptors that come along; NOTHING_COMES when they could not be sent */
} message_t;

#define NOTHING_COMES (-1)

/* Control data of one datagram, aligned as the cmsg macros want it. */
typedef union control {
    struct cmsghdr align;
    char
        bytes[CMSG_SPACE(SYMM_RENDEZVOUS_MAX_FDS * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
} control_t;

/* Where one swap stands. */
typedef struct swap {
    const symm_rendezvous_t *rendezvous;
    int rank;
    int size;
    const symm_rendezvous_card_t *cards;
    const symm_fds_t *mine;
    symm_fds_t *theirs;
    bool *sent; /* [size] */
    bool *got;  /* [size] */
    int to_send;
    int to_get;
    symm_error_t *error;
} swap_t;

static double now_ms(void)
{
    struct timespec t;
    (void) clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

static int bind_socket(int fd, symm_rendezvous_card_t *card, symm_error_t *error)
{
    int on = 1;
    if (0 != setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on))) {
        return symm_error_set_errno(error, MPI_ERR_OTHER, errno, "setsockopt(SO_PASSCRED)");
    }
    /* An address of the family alone lets the kernel choose an abstract one: unix(7), autobind. */
    struct sockaddr_un family = {.sun_family = AF_UNIX};
    if (0 != bind(fd, (struct sockaddr *) &family, sizeof(family.sun_family))) {
        return symm_error_set_errno(error, MPI_ERR_OTHER, errno, "bind of a Unix socket");
    }
    socklen_t len = sizeof(card->address);
    if (0 != getsockname(fd, (struct sockaddr *) &card->address, &len)) {
        return symm_error_set_errno(error, MPI_ERR_OTHER, errno, "getsockname");
    }
    card->address_len = len;
    return MPI_SUCCESS;
}

int symm_rendezvous_open(symm_rendezvous_t *rendezvous, symm_rendezvous_card_t *card_p,
                         symm_error_t *error)
{
    rendezvous->socket = -1;
    memset(card_p, 0, sizeof(*card_p));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (0 > fd) {
        const char *hint = EMFILE == errno ? "; raise the descriptor limit (ulimit -n)" : "";
        return symm_error_set_errno(error, MPI_ERR_OTHER, errno, "socket%s", hint);
    }
    int rc = bind_socket(fd, card_p, error);
    if (MPI_SUCCESS == rc &&
        SYMM_RENDEZVOUS_TOKEN != getrandom(rendezvous->token, SYMM_RENDEZVOUS_TOKEN, 0)) {
        rc = symm_error_set_errno(error, MPI_ERR_OTHER, errno, "getrandom");
    }
    if (MPI_SUCCESS != rc) {
        (void) close(fd);
        return rc;
    }
    memcpy(card_p->token, rendezvous->token, SYMM_RENDEZVOUS_TOKEN);
    rendezvous->socket = fd;
    return MPI_SUCCESS;
}

/* Sends one message to peer, with our descriptors if that is what count says. Returns whether it is
 * sent; errno tells why not. */
static bool send_message(const swap_t *swap, int peer, int32_t count)
{
    message_t message = {.rank = swap->rank, .count = count};
    memcpy(message.token, swap->cards[peer].token, SYMM_RENDEZVOUS_TOKEN);
    struct iovec data = {&message, sizeof(message)};
    struct sockaddr_un address = swap->cards[peer].address;
    struct msghdr header = {.msg_name = &address,
                            .msg_namelen = swap->cards[peer].address_len,
                            .msg_iov = &data,
                            .msg_iovlen = 1};
    control_t control;
    memset(&control, 0, sizeof(control));
    if (0 < count) {
        size_t len = (size_t) count * sizeof(int);
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(len);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(len);
        memcpy(CMSG_DATA(rights), swap->mine->fd, len);
    }
    return 0 <= sendmsg(swap->rendezvous->socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Sends to one peer. Returns true when nothing more is to be sent there: sent, or failed for good.
 */
static bool send_to(swap_t *swap, int peer)
{
    if (send_message(swap, peer, swap->mine->count)) {
        return true;
    }
    if (EAGAIN == errno || EWOULDBLOCK == errno || EINTR == errno || ENOBUFS == errno) {
        return false; /* the peer's queue is full: it drains it while it waits for us */
    }
    (void) symm_error_set_errno(swap->error, MPI_ERR_OTHER, errno,
                                "sending memory handles to rank %d", peer);
    (void) send_message(swap, peer, NOTHING_COMES); /* or else it waits until its time is up */
    return true;
}

/* Lets no peer wait for a rank that has given up. */
static void tell_nothing_comes(const swap_t *swap)
{
    for (int r = 0; r < swap->size; ++r) {
        if (r != swap->rank) {
            (void) send_message(swap, r, NOTHING_COMES); /* it waits for its time to be up then */
        }
    }
}

/* Keeps what fits; a stranger may send more, since control data is padded. */
static void keep_fds(symm_fds_t *fds, const unsigned char *data, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        int fd;
        memcpy(&fd, data + i * sizeof(fd), sizeof(fd));
        if (SYMM_RENDEZVOUS_MAX_FDS > fds->count) {
            fds->fd[fds->count++] = fd;
        } else {
            (void) close(fd);
        }
    }
}

/* Takes the descriptors and credentials out of a received message. */
static void read_control(struct msghdr *header, symm_fds_t *fds, struct ucred *sender)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); NULL != c; c = CMSG_NXTHDR(header, c)) {
        if (SOL_SOCKET != c->cmsg_level) {
            continue;
        }
        if (SCM_CREDENTIALS == c->cmsg_type) {
            memcpy(sender, CMSG_DATA(c), sizeof(*sender));
        } else if (SCM_RIGHTS == c->cmsg_type) {
            keep_fds(fds, CMSG_DATA(c), (c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        }
    }
}

/* Whether the message is one that this swap still waits for. */
static bool is_expected(const swap_t *swap, const message_t *message, ssize_t len,
                        const struct ucred *sender)
{
    return (ssize_t) sizeof(*message) == len && geteuid() == sender->uid &&
           0 == memcmp(message->token, swap->rendezvous->token, SYMM_RENDEZVOUS_TOKEN) &&
           0 <= message->rank && message->rank < swap->size && message->rank != swap->rank &&
           !swap->got[message->rank];
}

/* Receives one datagram. Returns false when there is none now. */
static bool receive_one(swap_t *swap)
{
    message_t message;
    control_t control;
    struct iovec data = {&message, sizeof(message)};
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof(control.bytes)};
    ssize_t len = recvmsg(swap->rendezvous->socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (0 > len) {
        return false; /* EAGAIN; anything else ends in the time-out, which names the peer */
    }
    symm_fds_t fds = {0};
    struct ucred sender = {.uid = (uid_t) -1};
    read_control(&header, &fds, &sender);
    bool whole = 0 == (header.msg_flags & MSG_TRUNC);
    if (!whole || !is_expected(swap, &message, len, &sender)) {
        symm_log(SYMM_LOG_DEBUG, "rendezvous: ignored a message of uid %d, %d descriptors",
                 (int) sender.uid, fds.count);
        symm_fds_close(&fds);
        return true;
    }
    swap->theirs[message.rank] = fds;
    swap->got[message.rank] = true;
    --swap->to_get;
    if (NOTHING_COMES == message.count) {
        (void) symm_error_set(swap->error, MPI_ERR_OTHER, "rank %d could not send memory handles",
                              message.rank);
    } else if (0 != (header.msg_flags & MSG_CTRUNC) || fds.count != message.count) {
        (void) symm_error_set(swap->error, MPI_ERR_OTHER,
                              "received %d of %d memory handles of rank %d; raise the descriptor "
                              "limit (ulimit -n)",
                              fds.count, message.count, message.rank);
    }
    return true;
}

static void send_all(swap_t *swap)
{
    /* Start behind our own rank, so that not all ranks fill rank 0's queue first. */
    for (int i = 1; i < swap->size && 0 < swap->to_send; ++i) {
        int peer = (swap->rank + i) % swap->size;
        if (!swap->sent[peer] && send_to(swap, peer)) {
            swap->sent[peer] = true;
            --swap->to_send;
        }
    }
}

static int first_missing(const swap_t *swap)
{
    for (int r = 0; r < swap->size; ++r) {
        if (r != swap->rank && (!swap->got[r] || !swap->sent[r])) {
            return r;
        }
    }
    return -1;
}

static void run_swap(swap_t *swap, unsigned timeout_ms)
{
    double deadline = now_ms() + timeout_ms;
    symm_spin_t spin = SYMM_SPIN_INIT;
    for (;;) {
        send_all(swap);
        while (0 < swap->to_get && receive_one(swap)) {
        }
        if (0 == swap->to_send && 0 == swap->to_get) {
            return; /* however late */
        }
        if (now_ms() > deadline) {
            (void) symm_error_set(swap->error, MPI_ERR_OTHER,
                                  "no memory handle exchanged with rank %d within %u ms; raise "
                                  "osc_symm_rendezvous_timeout",
                                  first_missing(swap), timeout_ms);
            return;
        }
        symm_spin_once(&spin);
    }
}

int symm_rendezvous_swap(symm_rendezvous_t *rendezvous, int rank, int size,
                         const symm_rendezvous_card_t *cards, const symm_fds_t *mine,
                         symm_fds_t *theirs_p, unsigned timeout_ms, symm_error_t *error)
{
    memset(theirs_p, 0, (size_t) size * sizeof(*theirs_p));
    bool *flags = calloc(2 * (size_t) size, sizeof(*flags));
    swap_t swap = {.rendezvous = rendezvous,
                   .rank = rank,
                   .size = size,
                   .cards = cards,
                   .mine = mine,
                   .theirs = theirs_p,
                   .to_send = size - 1,
                   .to_get = size - 1,
                   .error = error};
    if (NULL == flags) {
        tell_nothing_comes(&swap);
        return symm_error_set(error, MPI_ERR_NO_MEM, "no memory for %d ranks", size);
    }
    swap.sent = flags;
    swap.got = flags + size;
    run_swap(&swap, timeout_ms);
    free(flags);
    return error->code;
}

void symm_rendezvous_close(symm_rendezvous_t *rendezvous)
{
    if (0 <= rendezvous->socket) {
        (void) close(rendezvous->socket); /* only EBADF is possible, and would be our bug */
        rendezvous->socket = -1;
    }
}

void symm_fds_close(symm_fds_t *fds)
{
    for (int i = 0; i < fds->count; ++i) {
        (void) close(fds->fd[i]);
    }
    fds->count = 0;
}
