/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Makes and unmakes mappings, step by step with agreement in between. Deciding when a mapping is
 * made or taken from the cache is symm_window.c's work. */
#include "symm_config.h"

#include "symm_mapping.h"
#include "symm_log.h"
#include "symm_shm.h"
#include "symm_stats.h"

#include <errno.h>
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

/* The rank whose control block all share. */
#define CONTROL_OWNER 0

/* What goes round after the local allocation: how it went, and the fabric handle if there is one.
 */
typedef struct creation_record {
    int code;
    int has_fabric;
    symm_fabric_handle_t fabric;
} creation_record_t;

/* What only the building of a mapping needs. */
typedef struct symm_mapping_work {
    const symm_exchange_t *exchange;
    const char *what;
    symm_error_t error;
    symm_memory_t own;          /* this rank's allocation; len 0 when it has none */
    symm_memory_t *imported;    /* [size] peers' allocations; len 0 for those not imported */
    symm_fds_t mine;            /* to send: the control block (its owner), then the segment */
    creation_record_t *records; /* [size] */
    bool fabric;                /* segments travel by fabric handle */
} work_t;

static work_t *allocate_work(int size)
{
    work_t *work = calloc(1, sizeof(*work));
    if (NULL == work) {
        return NULL;
    }
    work->imported = calloc((size_t) size, sizeof(*work->imported));
    work->records = calloc((size_t) size, sizeof(*work->records));
    return work;
}

static bool work_is_whole(const work_t *work)
{
    return NULL != work && NULL != work->imported && NULL != work->records;
}

static void drop_imports(symm_mapping_t *mapping)
{
    symm_memory_t *imported = mapping->work->imported;
    for (int r = 0; r < mapping->layout.size; ++r) {
        if (0 < imported[r].len) {
            mapping->ops->memory_release(mapping->device, &imported[r]);
        }
    }
}

/* Drops what only the building needed; the mappings keep the memory alive. */
static void free_work(symm_mapping_t *mapping)
{
    work_t *work = mapping->work;
    if (NULL == work) {
        return;
    }
    if (work_is_whole(work)) {
        drop_imports(mapping);
    }
    if (0 < work->own.len) {
        mapping->ops->memory_release(mapping->device, &work->own);
    }
    symm_fds_close(&work->mine);
    free(work->imported);
    free(work->records);
    free(work);
    mapping->work = NULL;
}

static int allocate_arrays(symm_mapping_t *mapping, int size)
{
    mapping->mapped = calloc((size_t) size, sizeof(*mapping->mapped));
    mapping->posts_taken = calloc((size_t) size, sizeof(*mapping->posts_taken));
    mapping->work = allocate_work(size);
    bool whole =
        NULL != mapping->mapped && NULL != mapping->posts_taken && work_is_whole(mapping->work);
    return whole ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static size_t largest_segment(const symm_layout_t *layout)
{
    size_t largest = 0;
    for (int r = 0; r < layout->size; ++r) {
        largest = layout->seg[r].len > largest ? layout->seg[r].len : largest;
    }
    return largest;
}

int symm_mapping_prepare(const symm_device_ops_t *ops, symm_device_t *device, int rank, int size,
                         const size_t *sizes, bool contiguous, symm_mapping_t **mapping_p,
                         symm_error_t *error)
{
    *mapping_p = NULL;
    symm_mapping_t *mapping = calloc(1, sizeof(*mapping));
    if (NULL == mapping) {
        ops->close(device);
        return symm_error_set(error, MPI_ERR_NO_MEM, "no memory for a window of %d ranks", size);
    }
    mapping->rank = rank;
    mapping->ops = ops;
    mapping->device = device;
    int rc = symm_layout_init(&mapping->layout, size, sizes, ops->granularity(device), contiguous);
    if (MPI_ERR_SIZE == rc) {
        (void) symm_error_set(error, rc,
                              "the sizes of all ranks do not fit the address space; ask "
                              "for less");
    } else if (MPI_SUCCESS == rc) {
        rc = allocate_arrays(mapping, size);
        mapping->cache_cost = largest_segment(&mapping->layout);
    }
    if (MPI_SUCCESS != rc) {
        symm_mapping_destroy(mapping);
        return symm_error_set(error, rc, "no memory for a window of %d ranks", size);
    }
    *mapping_p = mapping;
    return MPI_SUCCESS;
}

/* Makes the control block, with a name that no other one of this host has. */
static int create_control(symm_mapping_t *mapping)
{
    work_t *work = mapping->work;
    uint64_t identity = 0;
    int rc = symm_shm_create(symm_window_control_len(mapping->layout.size), &work->mine.fd[0],
                             &work->error);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    work->mine.count = 1;
    if ((ssize_t) sizeof(identity) != getrandom(&identity, sizeof(identity), 0)) {
        identity = 0; /* no name: nobody looks for it */
    }
    identity >>= 1; /* registered like an address, which has a next one */
    if ((ssize_t) sizeof(identity) != pwrite(work->mine.fd[0], &identity, sizeof(identity),
                                             offsetof(symm_window_control_t, identity))) {
        return symm_error_set_errno(&work->error, MPI_ERR_OTHER, errno, "writing a control block");
    }
    return MPI_SUCCESS;
}

/* Step 1, local: this rank's segment and, on its owner, the control block. */
static int create_own(symm_mapping_t *mapping)
{
    work_t *work = mapping->work;
    int rc = MPI_SUCCESS;
    if (CONTROL_OWNER == mapping->rank) {
        rc = create_control(mapping);
    }
    size_t len = mapping->layout.seg[mapping->rank].len;
    if (MPI_SUCCESS == rc && 0 < len) {
        rc = mapping->ops->memory_create(mapping->device, len, &work->own, &work->error);
        if (MPI_SUCCESS == rc) {
            mapping->own_bytes = len;
            SYMM_COUNT(bytes_mapped, len);
        }
    }
    return rc;
}

/* Shows all ranks how step 1 went, and finds out whether every segment has a fabric handle. */
static int agree_on_own(symm_mapping_t *mapping)
{
    work_t *work = mapping->work;
    const symm_exchange_t *exchange = work->exchange;
    creation_record_t record = {.code = work->error.code, .has_fabric = 1};
    if (0 < work->own.len) {
        record.has_fabric = MPI_SUCCESS == mapping->ops->memory_export_fabric(
                                               mapping->device, &work->own, &record.fabric);
    }
    int rc = symm_gather(exchange, &record, work->records, sizeof(record), work->what);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    work->fabric = true;
    bool any_segment = false;
    for (int r = 0; r < exchange->size; ++r) {
        exchange->codes[r] = work->records[r].code;
        work->fabric = work->fabric && work->records[r].has_fabric;
        any_segment = any_segment || 0 < mapping->layout.seg[r].len;
    }
    work->fabric = work->fabric && any_segment;
    return symm_agree_gathered(exchange, &work->error, work->what);
}

/* Whether this rank imports peer's segment. */
static bool imports(const symm_mapping_t *mapping, int peer)
{
    return peer != mapping->rank && 0 < mapping->layout.seg[peer].len;
}

/* Step 2, if all have fabric handles: imports them. One rank that cannot sends all ranks back to
 * descriptors; only the communicator itself can fail here. */
static int import_fabric(symm_mapping_t *mapping)
{
    work_t *work = mapping->work;
    symm_error_t error = {0};
    for (int r = 0; MPI_SUCCESS == error.code && r < mapping->layout.size; ++r) {
        if (imports(mapping, r)) {
            (void) mapping->ops->memory_import_fabric(mapping->device, &work->records[r].fabric,
                                                      mapping->layout.seg[r].len,
                                                      &work->imported[r], &error);
        }
    }
    const symm_exchange_t *exchange = work->exchange;
    int rc = symm_gather(exchange, &error.code, exchange->codes, sizeof(error.code), work->what);
    work->fabric = MPI_SUCCESS == rc && 0 > symm_agree_first_error(exchange->codes, exchange->size);
    if (!work->fabric) {
        symm_log(SYMM_LOG_DEBUG, "%s: a rank cannot import fabric handles; using descriptors. %s",
                 work->what, error.text);
        drop_imports(mapping);
    }
    return rc;
}

/* Step 3: sends descriptors of what is ours, receives those of the others. */
static int swap_descriptors(symm_mapping_t *mapping)
{
    work_t *work = mapping->work;
    symm_fds_t *mine = &work->mine;
    if (!work->fabric && 0 < work->own.len) {
        int rc = mapping->ops->memory_export(mapping->device, &work->own, &mine->fd[mine->count],
                                             &work->error);
        mine->count += MPI_SUCCESS == rc ? 1 : 0;
    }
    return symm_exchange_descriptors(work->exchange, mine, &work->error, work->what);
}

static int map_control(symm_mapping_t *mapping)
{
    work_t *work = mapping->work;
    const symm_fds_t *from =
        CONTROL_OWNER == mapping->rank ? &work->mine : &work->exchange->received[CONTROL_OWNER];
    void *control;
    if (1 > from->count) {
        return symm_error_set(&work->error, MPI_ERR_INTERN, "no control block came");
    }
    int rc = symm_shm_map(from->fd[0], symm_window_control_len(mapping->layout.size), NULL,
                          &control, &work->error);
    if (MPI_SUCCESS == rc) {
        mapping->control = control;
    }
    return rc;
}

/* Takes peer's segment from the descriptors it sent. */
static int import_segment(symm_mapping_t *mapping, int peer)
{
    work_t *work = mapping->work;
    const symm_fds_t *from = &work->exchange->received[peer];
    int at = CONTROL_OWNER == peer ? 1 : 0;
    if (from->count <= at) {
        return symm_error_set(&work->error, MPI_ERR_INTERN, "no segment of rank %d came", peer);
    }
    return mapping->ops->memory_import(mapping->device, from->fd[at], mapping->layout.seg[peer].len,
                                       &work->imported[peer], &work->error);
}

static int map_segment(symm_mapping_t *mapping, int peer)
{
    work_t *work = mapping->work;
    const symm_memory_t *memory = peer == mapping->rank ? &work->own : &work->imported[peer];
    char *at = mapping->range + mapping->layout.seg[peer].offset;
    int rc = mapping->ops->range_map(mapping->device, at, memory, &work->error);
    mapping->mapped[peer] = MPI_SUCCESS == rc;
    return rc;
}

/* Step 4, local: maps everything into one range. */
static int map_all(symm_mapping_t *mapping)
{
    work_t *work = mapping->work;
    void *range;
    int rc = map_control(mapping);
    if (MPI_SUCCESS == rc) {
        rc = mapping->ops->range_reserve(mapping->device, mapping->layout.range_len, &range,
                                         &work->error);
    }
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    mapping->range = range;
    for (int r = 0; MPI_SUCCESS == rc && r < mapping->layout.size; ++r) {
        if (!work->fabric && imports(mapping, r)) {
            rc = import_segment(mapping, r);
        }
        if (MPI_SUCCESS == rc && 0 < mapping->layout.seg[r].len) {
            rc = map_segment(mapping, r);
        }
    }
    return rc;
}

int symm_mapping_zero_pad(symm_mapping_t *mapping, symm_error_t *error)
{
    void *pad = symm_mapping_pad(mapping, mapping->rank);
    int rc = mapping->ops->zero(mapping->queue, SYMM_LANE_MAIN, pad, SYMM_PAD_BYTES);
    if (MPI_SUCCESS == rc) {
        rc = mapping->ops->queue_wait(mapping->queue);
    }
    return MPI_SUCCESS == rc ? rc : symm_error_set(error, rc, "cannot zero the signal pad");
}

/* Makes the link that all ranks see the worse of it and one of this rank's. Those who read it do
 * after the agreement that follows. */
static void note_link(symm_mapping_t *mapping, symm_link_t link)
{
    _Atomic uint32_t *worst = &mapping->control->link;
    uint32_t seen = atomic_load_explicit(worst, memory_order_relaxed);
    while (seen < (uint32_t) link &&
           !atomic_compare_exchange_weak_explicit(worst, &seen, (uint32_t) link,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

static void note_links(symm_mapping_t *mapping)
{
    for (int r = 0; r < mapping->layout.size; ++r) {
        if (0 == mapping->layout.seg[r].len) {
            continue;
        }
        symm_link_t link =
            mapping->ops->link(mapping->device, mapping->range + mapping->layout.seg[r].offset);
        note_link(mapping, link);
        if (!symm_link_has_atomics(link)) {
            symm_log(SYMM_LOG_DEBUG,
                     "%s: %s has no atomics on rank %d's memory: updates take turns instead",
                     mapping->work->what, mapping->ops->describe(mapping->device), r);
        }
    }
}

/* Step 5, local: a queue, and a clean signal pad. */
static int finish(symm_mapping_t *mapping)
{
    note_links(mapping);
    int rc = mapping->ops->queue_create(mapping->device, &mapping->queue, &mapping->work->error);
    return MPI_SUCCESS == rc ? symm_mapping_zero_pad(mapping, &mapping->work->error) : rc;
}

int symm_mapping_build(symm_mapping_t *mapping, const symm_exchange_t *exchange, const char *what)
{
    work_t *work = mapping->work;
    work->exchange = exchange;
    work->what = what;
    (void) create_own(mapping); /* each local step leaves its outcome in work->error */
    int rc = agree_on_own(mapping);
    if (MPI_SUCCESS == rc && work->fabric) {
        rc = import_fabric(mapping);
    }
    if (MPI_SUCCESS == rc) {
        rc = swap_descriptors(mapping);
    }
    if (MPI_SUCCESS == rc) {
        if (MPI_SUCCESS == map_all(mapping)) {
            (void) finish(mapping);
        }
        symm_exchange_close_received(exchange);
        rc = symm_agree(exchange, &work->error, what);
    }
    free_work(mapping);
    return rc;
}

static void unmap_range(symm_mapping_t *mapping)
{
    const symm_layout_t *layout = &mapping->layout;
    for (int r = 0; r < layout->size; ++r) {
        if (mapping->mapped[r]) {
            mapping->ops->range_unmap(mapping->device, mapping->range + layout->seg[r].offset,
                                      layout->seg[r].len);
        }
    }
    mapping->ops->range_free(mapping->device, mapping->range, layout->range_len);
}

void symm_mapping_destroy(symm_mapping_t *mapping)
{
    if (NULL == mapping) {
        return;
    }
    free_work(mapping);
    if (NULL != mapping->queue) {
        mapping->ops->queue_destroy(mapping->queue);
    }
    if (NULL != mapping->range) {
        unmap_range(mapping);
    }
    if (NULL != mapping->control) {
        symm_shm_unmap(mapping->control, symm_window_control_len(mapping->layout.size));
    }
    SYMM_COUNT(bytes_mapped, -(int64_t) mapping->own_bytes);
    mapping->ops->close(mapping->device);
    symm_layout_free(&mapping->layout);
    free(mapping->mapped);
    free(mapping->posts_taken);
    free(mapping);
}

bool symm_mapping_serves(const symm_mapping_t *mapping, const symm_device_ops_t *ops,
                         const symm_device_t *device, const symm_layout_t *layout)
{
    return mapping->ops == ops && mapping->device == device &&
           symm_layout_equal(&mapping->layout, layout);
}
