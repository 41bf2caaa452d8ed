/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The calls of process_vm_readv(2) and process_vm_writev(2), as often as it takes. */
#include "symm_config.h"

#include "symm_cma.h"
#include "symm_iov.h"
#include "symm_log.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* Pieces of either side in one call; the kernel takes up to 1024. */
#define BATCH 128

/* Bytes of one call, below the kernel's limit of 2 GiB less a page. */
#define BATCH_BYTES ((size_t) 1 << 30)

static unsigned char token[SYMM_CMA_TOKEN_BYTES];
static pthread_once_t token_once = PTHREAD_ONCE_INIT;

static void make_token(void)
{
    if (sizeof(token) != getrandom(token, sizeof(token), 0)) {
        /* Early in a boot there may be none; the token only has to differ from other processes'. */
        struct timespec now;
        (void) clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
        memcpy(token, &now, sizeof(token));
    }
}

void symm_cma_card(symm_cma_card_t *card_p)
{
    (void) pthread_once(&token_once, make_token); /* fails only on misuse */
    card_p->pid = (uint64_t) getpid();
    card_p->address = (uintptr_t) token;
    memcpy(card_p->token, token, sizeof(token));
}

bool symm_cma_works(const symm_cma_card_t *card)
{
    unsigned char found[SYMM_CMA_TOKEN_BYTES];
    struct iovec local = {found, sizeof(found)};
    struct iovec remote = {(void *) (uintptr_t) card->address, sizeof(found)};
    return (ssize_t) sizeof(found) ==
               process_vm_readv((pid_t) card->pid, &local, 1, &remote, 1, 0) &&
           0 == memcmp(found, card->token, sizeof(found));
}

bool symm_cma_can_read(pid_t pid, const void *address)
{
    char byte;
    struct iovec local = {&byte, 1};
    struct iovec remote = {(void *) (uintptr_t) address, 1};
    return 1 == process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

int symm_cma_transfer(pid_t pid, bool write, const struct iovec *local, size_t local_count,
                      const struct iovec *remote, size_t remote_count)
{
    symm_iov_cursor_t here = SYMM_IOV_CURSOR(local, local_count);
    symm_iov_cursor_t there = SYMM_IOV_CURSOR(remote, remote_count);
    struct iovec mine[BATCH], theirs[BATCH];
    size_t len;
    for (;;) {
        size_t mine_count = symm_iov_peek(&here, mine, BATCH, BATCH_BYTES, &len);
        size_t theirs_count = symm_iov_peek(&there, theirs, BATCH, BATCH_BYTES, &len);
        if (0 == mine_count || 0 == theirs_count) {
            return MPI_SUCCESS;
        }
        /* Ends at the shorter side's last piece. */
        ssize_t done = write ? process_vm_writev(pid, mine, mine_count, theirs, theirs_count, 0)
                             : process_vm_readv(pid, mine, mine_count, theirs, theirs_count, 0);
        if (0 >= done) {
            symm_log(SYMM_LOG_ERROR, "process_vm_%s of process %ld at %p: %s",
                     write ? "writev" : "readv", (long) pid, theirs[0].iov_base,
                     0 == done ? "nothing copied" : strerror(errno));
            return MPI_ERR_OTHER;
        }
        symm_iov_advance(&here, (size_t) done);
        symm_iov_advance(&there, (size_t) done);
    }
}
