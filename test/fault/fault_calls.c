/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The calls in front of the C library's. They go to the kernel by syscall(), since mmap and malloc
 * are called before anything could be looked up. */
#include "symm_config.h"

#include "fault_calls.h"

#include "fault_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIBRARIES_MAX 8

#define SHOWN __attribute__((visibility("default")))

/* Where the product's message has what; see symm_rendezvous.c. */
#define MESSAGE_TOKEN 0
#define MESSAGE_RANK  16
#define MESSAGE_MAX   64

typedef struct library {
    uintptr_t start, end;
} library_t;

static library_t libraries[LIBRARIES_MAX];
static _Atomic int library_count;

/* glibc's own, under the names that it shows for this. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *ptr, size_t size);

/* ---- for tests ---- */

static int note_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    static const char *const names[] = {"libmpi_symm.so", "mca_osc_symm.so", "mca_coll_symm.so"};
    (void) size;
    (void) unused;
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); ++n) {
        for (int i = 0; NULL != strstr(info->dlpi_name, names[n]) && i < info->dlpi_phnum; ++i) {
            const ElfW(Phdr) *part = &info->dlpi_phdr[i];
            if (PT_LOAD == part->p_type && 0 != (part->p_flags & PF_X) &&
                LIBRARIES_MAX > library_count) {
                uintptr_t start = info->dlpi_addr + part->p_vaddr;
                libraries[library_count] = (library_t){start, start + part->p_memsz};
                ++library_count;
            }
        }
    }
    return 0;
}

int fault_calls_arm(const char *rules)
{
    library_count = 0;
    (void) dl_iterate_phdr(note_library, NULL);
    return 0 < library_count && fault_rules_set(rules) ? 1 : 0;
}

const char *fault_calls_fired(void)
{
    return fault_rules_fired();
}

void fault_calls_hold(int on)
{
    fault_rules_hold(0 != on);
}

/* ---- what is common ---- */

static bool is_products(const void *caller)
{
    for (int i = 0; i < library_count; ++i) {
        if (libraries[i].start <= (uintptr_t) caller && (uintptr_t) caller < libraries[i].end) {
            return true;
        }
    }
    return false;
}

/* A lost message costs the rendezvous's whole patience: `any` leaves recvmsg out. */
static bool next(const char *function, const void *caller, char action[FAULT_ACTION_MAX])
{
    bool for_any = 0 != strcmp("recvmsg", function);
    return is_products(caller) && fault_rules_next(function, for_any, action);
}

/* Whether the call is to fail; errno says how. */
static bool fails(const char *function, const void *caller)
{
    char action[FAULT_ACTION_MAX];
    if (!next(function, caller, action)) {
        return false;
    }
    errno = (int) strtol(action, NULL, 10);
    return true;
}

#define CALLER __builtin_return_address(0)

/* ---- calls that fail or not ---- */

#pragma GCC visibility push(default)

int socket(int domain, int type, int protocol)
{
    return fails("socket", CALLER) ? -1 : (int) syscall(SYS_socket, domain, type, protocol);
}

int bind(int fd, const struct sockaddr *address, socklen_t len)
{
    return fails("bind", CALLER) ? -1 : (int) syscall(SYS_bind, fd, address, len);
}

int getsockname(int fd, struct sockaddr *address, socklen_t *len)
{
    return fails("getsockname", CALLER) ? -1 : (int) syscall(SYS_getsockname, fd, address, len);
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
    return fails("setsockopt", CALLER)
               ? -1
               : (int) syscall(SYS_setsockopt, fd, level, option, value, len);
}

ssize_t getrandom(void *buffer, size_t len, unsigned flags)
{
    return fails("getrandom", CALLER) ? -1 : syscall(SYS_getrandom, buffer, len, flags);
}

int memfd_create(const char *name, unsigned flags)
{
    return fails("memfd_create", CALLER) ? -1 : (int) syscall(SYS_memfd_create, name, flags);
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
    return fails("fallocate", CALLER) ? -1 : (int) syscall(SYS_fallocate, fd, mode, offset, len);
}

int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *); /* whatever it is, a register holds it */
    va_end(arguments);
    return fails("fcntl", CALLER) ? -1 : (int) syscall(SYS_fcntl, fd, command, argument);
}

void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
    return fails("mmap", CALLER)
               ? MAP_FAILED
               : (void *) syscall(SYS_mmap, at, len, protection, flags, fd, offset);
}

int munmap(void *at, size_t len)
{
    int rc = (int) syscall(SYS_munmap, at, len);
    return fails("munmap", CALLER) ? -1 : rc;
}

void *malloc(size_t size)
{
    return fails("malloc", CALLER) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails("calloc", CALLER) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *ptr, size_t size)
{
    return fails("realloc", CALLER) ? NULL : __libc_realloc(ptr, size);
}

#pragma GCC visibility pop

/* ---- messages ---- */

static ssize_t send_it(int fd, const struct msghdr *header, int flags)
{
    return syscall(SYS_sendmsg, fd, header, flags);
}

/* Sends a copy of a message of one part with one byte changed and `cut` bytes left out; returns the
 * length of the whole, as if it had been sent. */
static ssize_t send_changed(int fd, const struct msghdr *header, int flags, size_t byte, size_t cut)
{
    char copy[MESSAGE_MAX];
    struct msghdr changed = *header;
    size_t len = header->msg_iov[0].iov_len;
    if (MESSAGE_MAX < len) {
        abort(); /* not the product's message any more */
    }
    memcpy(copy, header->msg_iov[0].iov_base, len);
    copy[byte] = (char) (copy[byte] + (0 == cut ? 1 : 0));
    struct iovec data = {copy, len - cut};
    changed.msg_iov = &data;
    ssize_t sent = send_it(fd, &changed, flags);
    return 0 > sent ? sent : (ssize_t) len;
}

static ssize_t send_bare(int fd, const struct msghdr *header, int flags)
{
    struct msghdr bare = *header;
    bare.msg_control = NULL;
    bare.msg_controllen = 0;
    return send_it(fd, &bare, flags);
}

SHOWN ssize_t sendmsg(int fd, const struct msghdr *header, int flags)
{
    char action[FAULT_ACTION_MAX];
    if (!next("sendmsg", CALLER, action)) {
        return send_it(fd, header, flags);
    }
    if (0 == strcmp("lost", action)) {
        return (ssize_t) header->msg_iov[0].iov_len;
    }
    if (0 == strcmp("twice", action)) {
        (void) send_it(fd, header, flags); /* the second one counts */
        return send_it(fd, header, flags);
    }
    if (0 == strcmp("short", action)) {
        return send_changed(fd, header, flags, 0, 4);
    }
    if (0 == strcmp("token", action)) {
        return send_changed(fd, header, flags, MESSAGE_TOKEN, 0);
    }
    if (0 == strcmp("rank", action)) {
        return send_changed(fd, header, flags, MESSAGE_RANK, 0);
    }
    if (0 == strcmp("bare", action)) {
        return send_bare(fd, header, flags);
    }
    errno = (int) strtol(action, NULL, 10);
    return -1;
}

static void close_descriptors(const struct cmsghdr *part)
{
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
        int fd;
        memcpy(&fd, CMSG_DATA(part) + i * sizeof(fd), sizeof(fd));
        (void) close(fd); /* nobody else knows it */
    }
}

/* Takes the descriptors out of a received message; only the credentials are left. */
static void cut_descriptors(struct msghdr *header)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); NULL != c; c = CMSG_NXTHDR(header, c)) {
        if (SCM_RIGHTS == c->cmsg_type) {
            close_descriptors(c);
            c->cmsg_type = 0;
            c->cmsg_level = -1;
        }
    }
}

static void change_sender(struct msghdr *header)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); NULL != c; c = CMSG_NXTHDR(header, c)) {
        if (SCM_CREDENTIALS == c->cmsg_type) {
            ++((struct ucred *) (void *) CMSG_DATA(c))->uid;
        }
    }
}

/* Counts messages, not looks for one: how often the product looks is a matter of time. */
SHOWN ssize_t recvmsg(int fd, struct msghdr *header, int flags)
{
    char action[FAULT_ACTION_MAX];
    ssize_t len = syscall(SYS_recvmsg, fd, header, flags);
    if (0 > len || !next("recvmsg", CALLER, action)) {
        return len;
    }
    if (0 == strcmp("stranger", action)) {
        change_sender(header);
        return len;
    }
    cut_descriptors(header);
    if (0 == strcmp("bare", action)) {
        header->msg_flags |= MSG_CTRUNC;
        return len;
    }
    errno = (int) strtol(action, NULL, 10);
    return -1;
}
