/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Messages to a rank that waits for another's memory handles: any bytes, any number of descriptors,
 * with the right token or a wrong one. The input: messages, each a head of two bytes and its bytes.
 */
#include "symm_config.h"

#include "fuzz.h"
#include "symm_rendezvous.h"

#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGES_MAX 8
#define BYTES_MAX    64
#define FDS_MAX      6

/* The lowest descriptor that is free: the same before and after when none is left open. */
static int lowest_free(void)
{
    int fd = dup(STDERR_FILENO);
    FUZZ_CHECK(0 <= fd);
    (void) close(fd);
    return fd;
}

static void send_bytes(int from, const symm_rendezvous_card_t *to, const uint8_t *bytes, size_t len,
                       int fds)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control;
    struct sockaddr_un address = to->address;
    struct iovec data = {(void *) bytes, len};
    struct msghdr header = {
        .msg_name = &address, .msg_namelen = to->address_len, .msg_iov = &data, .msg_iovlen = 1};
    memset(&control, 0, sizeof(control));
    if (0 < fds) {
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE((size_t) fds * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN((size_t) fds * sizeof(int));
        for (int i = 0; i < fds; ++i) {
            int fd = STDERR_FILENO;
            memcpy(CMSG_DATA(rights) + (size_t) i * sizeof(fd), &fd, sizeof(fd));
        }
    }
    (void) sendmsg(from, &header, MSG_DONTWAIT | MSG_NOSIGNAL); /* a full queue is fine */
}

static void send_message(fuzz_input_t *input, int from, const symm_rendezvous_card_t *to)
{
    uint8_t bytes[BYTES_MAX] = {0};
    int fds = (int) fuzz_below(input, FDS_MAX + 1);
    unsigned head = fuzz_below(input, 256);
    size_t len = (head & 63u) < BYTES_MAX ? head & 63u : BYTES_MAX;
    if (0 != (head & 64u)) {
        len = SYMM_RENDEZVOUS_TOKEN + 8; /* that of a real message */
    }
    for (size_t i = 0; i < len; ++i) {
        bytes[i] = fuzz_byte(input);
    }
    if (0 != (head & 128u)) {
        memcpy(bytes, to->token, sizeof(to->token));
    }
    send_bytes(from, to, bytes, len, fds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input_t input = {data, len};
    symm_rendezvous_t ends[2];
    symm_rendezvous_card_t cards[2];
    symm_fds_t mine = {0};
    symm_fds_t theirs[2];
    symm_error_t error = {0};
    int before = lowest_free();
    for (int r = 0; r < 2; ++r) {
        FUZZ_CHECK(MPI_SUCCESS == symm_rendezvous_open(&ends[r], &cards[r], &error));
    }
    for (int i = 0; i < MESSAGES_MAX && 0 < input.len; ++i) {
        send_message(&input, ends[1].socket, &cards[0]);
    }
    int rc = symm_rendezvous_swap(&ends[0], 0, 2, cards, &mine, theirs, 0, &error);
    FUZZ_CHECK(rc == error.code);
    FUZZ_CHECK(0 == theirs[0].count && SYMM_RENDEZVOUS_MAX_FDS >= theirs[1].count);
    for (int r = 0; r < 2; ++r) {
        symm_fds_close(&theirs[r]);
        symm_rendezvous_close(&ends[r]);
    }
    FUZZ_CHECK(before == lowest_free());
    return 0;
}
