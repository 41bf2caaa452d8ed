/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The list of ranges, under one lock of readers and writers. */
#include "symm_config.h"

#include "fake_space.h"

#include "fake_context.h"
#include "fake_physical.h"
#include "fake_report.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static fake_range_t *ranges;

void fake_space_read(void)
{
    (void) pthread_rwlock_rdlock(&lock); /* fails only on misuse */
}

void fake_space_write(void)
{
    (void) pthread_rwlock_wrlock(&lock);
}

void fake_space_unlock(void)
{
    (void) pthread_rwlock_unlock(&lock);
}

static size_t whole_pages(size_t len)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    return (len + page - 1) / page * page;
}

static void *map_anonymous(size_t len, int protection)
{
    void *address = mmap(NULL, len, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return MAP_FAILED == address ? NULL : address;
}

/* Addresses without access, aligned. */
static void *reserve(size_t len, size_t align)
{
    size_t slack = 0 == align ? 0 : align;
    char *start = map_anonymous(len + slack, PROT_NONE);
    if (NULL == start || 0 == slack) {
        return start;
    }
    size_t skip = (align - (uintptr_t) start % align) % align;
    if (0 < skip) {
        (void) munmap(start, skip); /* part of our own mapping */
    }
    if (skip < slack) {
        (void) munmap(start + skip + len, slack - skip);
    }
    return start + skip;
}

static void *map_file(int fd, size_t len)
{
    void *address = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return MAP_FAILED == address ? NULL : address;
}

/* Maps what the kind of range needs. Leaves base 0 when the host has no memory. */
static void map_range(fake_range_t *range, size_t align)
{
    size_t len = range->mapped_len;
    if (FAKE_PINNED == range->kind) {
        range->shadow = map_anonymous(len, PROT_READ | PROT_WRITE);
        range->base = (uintptr_t) range->shadow;
        return;
    }
    char *base = reserve(len, align);
    range->shadow = NULL == base              ? NULL
                    : NULL != range->physical ? map_file(range->physical->fd, len)
                                              : map_anonymous(len, PROT_NONE);
    if (NULL == range->shadow && NULL != base) {
        (void) munmap(base, len);
        base = NULL;
    }
    range->base = (uintptr_t) base;
}

static fake_range_t *create(fake_range_kind_t kind, size_t len, size_t align, CUcontext context,
                            fake_physical_t *physical)
{
    fake_range_t *range = calloc(1, sizeof(*range));
    if (NULL == range) {
        return NULL;
    }
    range->kind = kind;
    range->len = len;
    range->mapped_len = whole_pages(len);
    range->context = context;
    range->physical = physical;
    map_range(range, align);
    if (0 == range->base) {
        free(range);
        return NULL;
    }
    fake_space_write();
    range->next = ranges;
    ranges = range;
    fake_space_unlock();
    return range;
}

fake_range_t *fake_space_create(fake_range_kind_t kind, size_t len, size_t align, CUcontext context)
{
    return create(kind, len, align, context, NULL);
}

fake_range_t *fake_space_create_of(fake_range_kind_t kind, fake_physical_t *physical,
                                   CUcontext context)
{
    fake_range_t *range = create(kind, physical->len, 0, context, physical);
    if (NULL == range) {
        fake_physical_drop_handle(physical);
    }
    return range;
}

void fake_space_destroy(fake_range_t *range)
{
    fake_range_t **link = &ranges;
    while (*link != range) {
        link = &(*link)->next;
    }
    *link = range->next;
    (void) munmap((void *) range->base, range->mapped_len); /* our own mappings */
    if ((uintptr_t) range->shadow != range->base) {
        (void) munmap(range->shadow, range->mapped_len);
    }
    if (NULL != range->physical) {
        fake_physical_drop_handle(range->physical);
    }
    free(range);
}

fake_range_t *fake_space_find(uintptr_t address)
{
    fake_range_t *range = ranges;
    while (NULL != range && (address < range->base || address - range->base >= range->mapped_len)) {
        range = range->next;
    }
    return range;
}

fake_mapping_t *fake_space_mapping(const fake_range_t *range, size_t offset)
{
    fake_mapping_t *mapping = range->mappings;
    while (NULL != mapping &&
           (offset < mapping->offset || offset - mapping->offset >= mapping->len)) {
        mapping = mapping->next;
    }
    return mapping;
}

static bool permits(const fake_mapping_t *mapping, const fake_access_t *access)
{
    unsigned flags = mapping->access[access->gpu];
    return CU_MEM_ACCESS_FLAGS_PROT_READWRITE == flags ||
           (CU_MEM_ACCESS_FLAGS_PROT_READ == flags && !access->write);
}

/* Whether each byte of the part of a reservation is mapped for that access. */
static fake_place_t resolve_reserved(const fake_range_t *range, size_t offset, size_t len,
                                     const fake_access_t *access, const char **why_p)
{
    size_t end = offset + len;
    while (offset < end) {
        const fake_mapping_t *mapping = fake_space_mapping(range, offset);
        if (NULL == mapping) {
            *why_p = "reserved, but nothing is mapped there";
            return FAKE_PLACE_FAULT;
        }
        if (!permits(mapping, access)) {
            *why_p = "mapped, but not with this access for this device";
            return FAKE_PLACE_FAULT;
        }
        offset = mapping->offset + mapping->len;
    }
    return FAKE_PLACE_DEVICE;
}

static fake_place_t resolve_allocated(const fake_range_t *range, const fake_access_t *access,
                                      const char **why_p)
{
    if (FAKE_PINNED == range->kind) {
        return FAKE_PLACE_PINNED;
    }
    if (access->kernel && (range->context->gpu != access->gpu ||
                           !fake_machine_peers(access->gpu, range->physical->gpu))) {
        *why_p = "memory of another device, which its kernels have no access to";
        return FAKE_PLACE_FAULT;
    }
    return FAKE_PLACE_DEVICE;
}

fake_place_t fake_space_resolve(uintptr_t address, size_t len, const fake_access_t *access,
                                char **bytes_p, const char **why_p)
{
    const fake_range_t *range = fake_space_find(address);
    if (NULL == range) {
        *bytes_p = (char *) address;
        *why_p = "host memory that CUDA does not know";
        return FAKE_PLACE_PAGEABLE;
    }
    size_t offset = address - range->base;
    *bytes_p = range->shadow + offset;
    *why_p = "";
    if (offset > range->len || len > range->len - offset) {
        *why_p = "beyond the end of what was allocated or reserved";
        return FAKE_PLACE_OUTSIDE;
    }
    return FAKE_RESERVATION == range->kind ? resolve_reserved(range, offset, len, access, why_p)
                                           : resolve_allocated(range, access, why_p);
}

long fake_space_count(fake_range_kind_t kind)
{
    long count = 0;
    fake_space_read();
    for (const fake_range_t *r = ranges; NULL != r; r = r->next) {
        count += r->kind == kind ? 1 : 0;
    }
    fake_space_unlock();
    return count;
}

long fake_space_count_mappings(void)
{
    long count = 0;
    fake_space_read();
    for (const fake_range_t *r = ranges; NULL != r; r = r->next) {
        for (const fake_mapping_t *m = r->mappings; NULL != m; m = m->next) {
            ++count;
        }
    }
    fake_space_unlock();
    return count;
}

fake_range_t *fake_space_any(fake_range_kind_t kind, CUcontext context)
{
    fake_range_t *range = ranges;
    while (NULL != range && (range->kind != kind || range->context != context)) {
        range = range->next;
    }
    return range;
}

void fake_space_report(void)
{
    static const char *const names[] = {
        [FAKE_RESERVATION] = "reserved",
        [FAKE_DEVICE] = "of device memory",
        [FAKE_PINNED] = "of pinned memory",
        [FAKE_IPC] = "of another process's memory",
    };
    fake_space_read();
    for (const fake_range_t *r = ranges; NULL != r; r = r->next) {
        fake_leak("%zu bytes %s at %p%s at exit", r->len, names[r->kind], (void *) r->base,
                  NULL == r->mappings ? "" : ", with mappings,");
    }
    fake_space_unlock();
}
