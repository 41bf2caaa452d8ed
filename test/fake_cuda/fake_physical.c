/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A memfd is one page longer than the memory: there is the note. A FABRIC handle names the process
 * that made it and the descriptor there, which /proc opens for others of the same user; so nothing
 * is left behind, however the processes end. */
#include "symm_config.h"

#include "fake_physical.h"

#include "fake_machine.h"
#include "fake_report.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTE_BYTES 4096
#define MAGIC      0x66616b6563756461u /* "fakecuda" */

/* More than this is left as it comes, to save time: zeros. */
#define SPOIL_BYTES ((size_t) 16 << 20)
#define JUNK        0xfd

#define HIGH_DESCRIPTOR 700

typedef struct note {
    uint64_t magic;
    uint64_t machine;
    uint64_t len;
    int32_t gpu;
    uint32_t padding;
    uint64_t types;
} note_t;

typedef struct fabric_name {
    uint64_t magic;
    int64_t pid;
    int64_t fd;
    uint64_t inode;
    uint64_t device;
    uint64_t unused[3];
} fabric_name_t;

_Static_assert(sizeof(fabric_name_t) == sizeof(CUmemFabricHandle), "fabric handles are 64 bytes");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the counts */
static pthread_mutex_t limits_lock = PTHREAD_MUTEX_INITIALIZER;

void fake_physical_spoil(void *bytes, size_t len)
{
    memset(bytes, JUNK, len < SPOIL_BYTES ? len : SPOIL_BYTES);
}

static CUresult of_errno(void)
{
    return EMFILE == errno || ENFILE == errno ? CUDA_ERROR_OPERATING_SYSTEM
                                              : CUDA_ERROR_OUT_OF_MEMORY;
}

static void spoil_file(int fd, size_t len)
{
    void *bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (MAP_FAILED != bytes) {
        fake_physical_spoil(bytes, len);
        (void) munmap(bytes, len); /* our own mapping */
    }
}

/* The memory of a GPU is no file, and its handle is no descriptor: limits on these do not concern
 * the driver until it exports one. So they are lifted, as far as we may, while we make ours. */
typedef struct limits {
    struct rlimit file_size;
    struct rlimit descriptors;
} limits_t;

static void lift(int resource, struct rlimit *saved_p)
{
    (void) getrlimit(resource, saved_p); /* cannot fail for these */
    struct rlimit lifted = {saved_p->rlim_max, saved_p->rlim_max};
    (void) setrlimit(resource, &lifted);
}

static void lift_limits(limits_t *saved_p)
{
    (void) pthread_mutex_lock(&limits_lock); /* fails only on misuse */
    lift(RLIMIT_FSIZE, &saved_p->file_size);
    lift(RLIMIT_NOFILE, &saved_p->descriptors);
}

static void restore_limits(const limits_t *saved)
{
    (void) setrlimit(RLIMIT_FSIZE, &saved->file_size);
    (void) setrlimit(RLIMIT_NOFILE, &saved->descriptors);
    (void) pthread_mutex_unlock(&limits_lock);
}

/* A copy of fd out of the way of the program's own descriptors, -1 if there is none. */
static int copy_high(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    return 0 <= copy ? copy : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* Under lifted limits. */
static int make_file(size_t len, const note_t *note)
{
    int low = memfd_create("fake_cuda", MFD_CLOEXEC);
    int fd = 0 > low ? -1 : copy_high(low);
    if (0 <= low) {
        (void) close(low); /* our own */
    }
    if (0 > fd) {
        return -1;
    }
    if (0 != ftruncate(fd, (off_t) (len + NOTE_BYTES)) ||
        (ssize_t) sizeof(*note) != pwrite(fd, note, sizeof(*note), (off_t) len)) {
        (void) close(fd); /* the failure to report is the one above */
        return -1;
    }
    spoil_file(fd, len);
    return fd;
}

/* A memfd of len bytes with its note, or -1. */
static int make_memory(size_t len, const note_t *note)
{
    limits_t saved;
    lift_limits(&saved);
    int fd = make_file(len, note);
    restore_limits(&saved);
    return fd;
}

static int copy_unlimited(int fd)
{
    limits_t saved;
    lift_limits(&saved);
    int copy = copy_high(fd);
    restore_limits(&saved);
    return copy;
}

CUresult fake_physical_create(int gpu, size_t len, unsigned long long types,
                              fake_physical_t **physical_p)
{
    if (!fake_machine_take(gpu, len)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    note_t note = {
        .magic = MAGIC, .machine = fake_machine_hash(), .len = len, .gpu = gpu, .types = types};
    fake_physical_t *physical = malloc(sizeof(*physical));
    int fd = NULL == physical ? -1 : make_memory(len, &note);
    if (0 > fd) {
        CUresult result = of_errno();
        free(physical);
        fake_machine_give(gpu, len);
        return result;
    }
    *physical = (fake_physical_t){
        .fd = fd, .len = len, .gpu = gpu, .types = types, .charged = true, .handles = 1};
    *physical_p = physical;
    return CUDA_SUCCESS;
}

/* Reads the note behind the memory. False when the file is none of ours. */
static bool read_note(int fd, note_t *note_p)
{
    struct stat file;
    if (0 != fstat(fd, &file) || NOTE_BYTES > file.st_size) {
        return false;
    }
    off_t len = file.st_size - NOTE_BYTES;
    return (ssize_t) sizeof(*note_p) == pread(fd, note_p, sizeof(*note_p), len) &&
           MAGIC == note_p->magic && (uint64_t) len == note_p->len;
}

CUresult fake_physical_import(int fd, fake_physical_t **physical_p)
{
    note_t note;
    if (!read_note(fd, &note)) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "descriptor %d is no memory of a GPU", fd);
    }
    if (fake_machine_hash() != note.machine) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "the memory is of another machine");
    }
    fake_physical_t *physical = malloc(sizeof(*physical));
    int copy = NULL == physical ? -1 : copy_unlimited(fd);
    if (0 > copy) {
        CUresult result = of_errno();
        free(physical);
        return result;
    }
    *physical = (fake_physical_t){
        .fd = copy, .len = note.len, .gpu = note.gpu, .types = note.types, .handles = 1};
    *physical_p = physical;
    return CUDA_SUCCESS;
}

/* Frees what nothing holds any more. The caller holds the lock, which this gives back. */
static void unlock_and_sweep(fake_physical_t *physical)
{
    bool gone = 0 == physical->handles && 0 == physical->mappings;
    (void) pthread_mutex_unlock(&lock);
    if (gone) {
        (void) close(physical->fd); /* our own */
        if (physical->charged) {
            fake_machine_give(physical->gpu, physical->len);
        }
        free(physical);
    }
}

void fake_physical_hold_handle(fake_physical_t *physical)
{
    (void) pthread_mutex_lock(&lock); /* fails only on misuse */
    ++physical->handles;
    (void) pthread_mutex_unlock(&lock);
}

void fake_physical_hold_mapping(fake_physical_t *physical)
{
    (void) pthread_mutex_lock(&lock);
    ++physical->mappings;
    (void) pthread_mutex_unlock(&lock);
}

void fake_physical_drop_handle(fake_physical_t *physical)
{
    (void) pthread_mutex_lock(&lock);
    --physical->handles;
    unlock_and_sweep(physical);
}

void fake_physical_drop_mapping(fake_physical_t *physical)
{
    (void) pthread_mutex_lock(&lock);
    --physical->mappings;
    unlock_and_sweep(physical);
}

void fake_physical_name(const fake_physical_t *physical, CUmemFabricHandle *handle_p)
{
    struct stat file = {0};
    (void) fstat(physical->fd, &file); /* our own */
    fabric_name_t name = {.magic = MAGIC,
                          .pid = getpid(),
                          .fd = physical->fd,
                          .inode = file.st_ino,
                          .device = file.st_dev};
    memcpy(handle_p, &name, sizeof(name));
}

CUresult fake_physical_open(const CUmemFabricHandle *handle, int *fd_p)
{
    fabric_name_t name;
    char path[64];
    struct stat file;
    memcpy(&name, handle, sizeof(name));
    (void) snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int) name.pid, (int) name.fd);
    int fd = MAGIC == name.magic ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (0 <= fd && 0 == fstat(fd, &file) && name.inode == file.st_ino &&
        name.device == file.st_dev) {
        *fd_p = fd;
        return CUDA_SUCCESS;
    }
    if (0 <= fd) {
        (void) close(fd); /* something else by now */
    }
    return fake_misuse(CUDA_ERROR_INVALID_VALUE, "the FABRIC handle names no memory");
}
