/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The per-communicator state and the table that the two components find it in. Windows enter and
 * leave it in symm_window.c. */
#include "symm_config.h"

#include "symm_comm.h"
#include "symm_options.h"
#include "symm_shm.h"
#include "symm_window.h"

#include <stdlib.h>
#include <string.h>

#define SHARED_OWNER 0 /* who makes memory that all ranks of a communicator map */

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before a comm's lock */
static symm_comm_t *table;
static symm_window_t *live;              /* windows counted as live; under the lock, too */
static _Atomic uint32_t next_serial = 1; /* 0 is no window */

static void remember_members(symm_comm_t *comm, const uint64_t *members)
{
    size_t len = (size_t) comm->exchange.size * sizeof(*members);
    comm->members = NULL == members ? NULL : malloc(len);
    if (NULL != comm->members) {
        memcpy(comm->members, members, len);
    }
}

static symm_comm_t *create(MPI_Comm handle, int rank, int size, bool shared)
{
    symm_comm_t *comm = calloc(1, sizeof(*comm));
    if (NULL == comm) {
        return NULL;
    }
    comm->handle = handle;
    comm->relay = MPI_COMM_NULL;
    comm->shared = shared;
    comm->next_mapping = 1;
    comm->exchange.rank = rank;
    comm->exchange.size = size;
    comm->exchange.context = comm;
    comm->exchange.allgather = symm_exchange_mpi_allgather;
    comm->exchange.codes = calloc((size_t) size, sizeof(*comm->exchange.codes));
    comm->exchange.scratch = malloc((size_t) size * SYMM_EXCHANGE_RECORD_MAX);
    comm->exchange.received = calloc((size_t) size, sizeof(*comm->exchange.received));
    (void) pthread_mutex_init(&comm->lock, NULL); /* cannot fail with default attributes */
    atomic_init(&comm->references, 1);
    if (NULL == comm->exchange.codes || NULL == comm->exchange.scratch ||
        NULL == comm->exchange.received) {
        symm_comm_release(comm);
        return NULL;
    }
    return comm;
}

symm_comm_t *symm_comm_acquire(MPI_Comm handle, int rank, int size)
{
    (void) pthread_mutex_lock(&table_lock);
    symm_comm_t *comm = table;
    while (NULL != comm && comm->handle != handle) {
        comm = comm->next;
    }
    if (NULL != comm) {
        atomic_fetch_add(&comm->references, 1);
    }
    (void) pthread_mutex_unlock(&table_lock);
    return NULL != comm ? comm : create(handle, rank, size, false);
}

/* Destroys a chain of mappings. */
static void destroy_all(symm_mapping_t *mapping)
{
    while (NULL != mapping) {
        symm_mapping_t *next = mapping->next;
        symm_mapping_destroy(mapping);
        mapping = next;
    }
}

static void empty_cache(symm_comm_t *comm)
{
    (void) pthread_mutex_lock(&comm->lock);
    symm_mapping_t *all = comm->cache;
    comm->cache = NULL;
    comm->cached_bytes = 0;
    (void) pthread_mutex_unlock(&comm->lock);
    destroy_all(all);
}

bool symm_comm_any_cached(void)
{
    bool any = false;
    (void) pthread_mutex_lock(&table_lock);
    for (symm_comm_t *comm = table; NULL != comm; comm = comm->next) {
        (void) pthread_mutex_lock(&comm->lock);
        any = any || NULL != comm->cache;
        (void) pthread_mutex_unlock(&comm->lock);
    }
    (void) pthread_mutex_unlock(&table_lock);
    return any;
}

void symm_comm_empty_caches(void)
{
    (void) pthread_mutex_lock(&table_lock);
    for (symm_comm_t *comm = table; NULL != comm; comm = comm->next) {
        empty_cache(comm);
    }
    (void) pthread_mutex_unlock(&table_lock);
}

/* After MPI_Finalize has begun the relay goes as all communicators do. */
static void free_relay(symm_comm_t *comm)
{
    int finalized = 0;
    (void) PMPI_Finalized(&finalized); /* cannot fail */
    if (MPI_COMM_NULL != comm->relay && 0 == finalized) {
        (void) PMPI_Comm_free(&comm->relay); /* teardown */
    }
    comm->relay = MPI_COMM_NULL;
}

/* Forgets the windows of other communicators, which will not tell this one any more when they go.
 */
static void keep_own_windows(symm_comm_t *comm)
{
    int kept = 0;
    (void) pthread_mutex_lock(&comm->lock);
    for (int i = 0; i < comm->window_count; ++i) {
        if (comm->windows[i]->comm == comm) {
            comm->windows[kept++] = comm->windows[i];
        }
    }
    comm->window_count = kept;
    (void) pthread_mutex_unlock(&comm->lock);
}

static void destroy_scratches(symm_comm_t *comm)
{
    for (int i = 0; i < SYMM_SCRATCH_COUNT; ++i) {
        symm_mapping_destroy(comm->scratch[i]);
        comm->scratch[i] = NULL;
    }
}

void symm_comm_detach(symm_comm_t *comm)
{
    (void) pthread_mutex_lock(&table_lock);
    symm_comm_t **link = &table;
    while (NULL != *link && *link != comm) {
        link = &(*link)->next;
    }
    if (NULL != *link) {
        *link = comm->next;
    }
    comm->shared = false;
    keep_own_windows(comm);
    (void) pthread_mutex_unlock(&table_lock);
    free_relay(comm);
    empty_cache(comm);
    destroy_scratches(comm);
}

void symm_comm_release(symm_comm_t *comm)
{
    if (NULL == comm || 1 < atomic_fetch_sub(&comm->references, 1)) {
        return;
    }
    empty_cache(comm);
    destroy_scratches(comm);
    symm_shm_unmap(comm->control, symm_comm_control_len(comm->exchange.size));
    free(comm->windows);
    free(comm->members);
    free(comm->exchange.codes);
    free(comm->exchange.scratch);
    free(comm->exchange.received);
    (void) pthread_mutex_destroy(&comm->lock);
    free(comm);
}

/* Index of the first window whose serial is not below serial. The caller holds the lock. */
static int lower_bound(const symm_comm_t *comm, uint32_t serial)
{
    int low = 0;
    int high = comm->window_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (comm->windows[middle]->serial < serial) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The index of window in comm's list, -1 when it is not there. The caller holds the lock. */
static int index_of(const symm_comm_t *comm, const symm_window_t *window)
{
    int at = lower_bound(comm, window->serial);
    return at < comm->window_count && comm->windows[at] == window ? at : -1;
}

symm_window_t *symm_comm_find_window(symm_comm_t *comm, uint32_t serial)
{
    (void) pthread_mutex_lock(&comm->lock);
    int at = lower_bound(comm, serial);
    bool found = at < comm->window_count && comm->windows[at]->serial == serial;
    symm_window_t *window = found ? comm->windows[at] : NULL;
    (void) pthread_mutex_unlock(&comm->lock);
    return window;
}

static int make_room(symm_comm_t *comm)
{
    if (comm->window_count < comm->window_capacity) {
        return MPI_SUCCESS;
    }
    int capacity = 0 == comm->window_capacity ? 8 : 2 * comm->window_capacity;
    symm_window_t **windows = realloc(comm->windows, (size_t) capacity * sizeof(symm_window_t *));
    if (NULL == windows) {
        return MPI_ERR_NO_MEM;
    }
    comm->windows = windows;
    comm->window_capacity = capacity;
    return MPI_SUCCESS;
}

static int list_window(symm_comm_t *comm, symm_window_t *window)
{
    (void) pthread_mutex_lock(&comm->lock);
    int rc = make_room(comm);
    if (MPI_SUCCESS == rc) {
        int at = lower_bound(comm, window->serial);
        memmove(&comm->windows[at + 1], &comm->windows[at],
                (size_t) (comm->window_count - at) * sizeof(symm_window_t *));
        comm->windows[at] = window;
        ++comm->window_count;
    }
    (void) pthread_mutex_unlock(&comm->lock);
    return rc;
}

static void unlist_window(symm_comm_t *comm, const symm_window_t *window)
{
    (void) pthread_mutex_lock(&comm->lock);
    int at = index_of(comm, window);
    if (0 <= at) {
        atomic_fetch_add(&comm->windows_gone, 1);
        --comm->window_count;
        memmove(&comm->windows[at], &comm->windows[at + 1],
                (size_t) (comm->window_count - at) * sizeof(symm_window_t *));
    }
    (void) pthread_mutex_unlock(&comm->lock);
}

static bool is_listed(symm_comm_t *comm, const symm_window_t *window)
{
    (void) pthread_mutex_lock(&comm->lock);
    bool listed = 0 <= index_of(comm, window);
    (void) pthread_mutex_unlock(&comm->lock);
    return listed;
}

static bool has_member(const symm_comm_t *comm, uint64_t member)
{
    for (int r = 0; r < comm->exchange.size; ++r) {
        if (member == comm->members[r]) {
            return true;
        }
    }
    return false;
}

/* Whether collectives on comm may use window: all ranks of comm have mapped it. All of them know,
 * and learn of the window's creation and end between the same two collectives, which must be called
 * in the same order on all ranks whatever their communicators. */
static bool is_visible(const symm_comm_t *comm, const symm_window_t *window)
{
    const symm_comm_t *owner = window->comm;
    if (comm == owner) {
        return true;
    }
    bool visible = symm_options.share_windows && window->collectives && NULL != comm->members &&
                   NULL != owner->members && comm->exchange.size <= owner->exchange.size;
    for (int r = 0; visible && r < comm->exchange.size; ++r) {
        visible = comm->members[r] == owner->members[r] || has_member(owner, comm->members[r]);
    }
    return visible;
}

/* The communicators that may see a window: those of the table, and its own. The caller holds the
 * table's lock. */
static symm_comm_t *first_viewer(const symm_window_t *window)
{
    return window->comm->shared ? table : window->comm;
}

static symm_comm_t *next_viewer(const symm_window_t *window, const symm_comm_t *comm)
{
    if (!window->comm->shared && comm == window->comm) {
        return table;
    }
    return comm->next;
}

int symm_comm_add_window(symm_window_t *window)
{
    int rc = MPI_SUCCESS;
    (void) pthread_mutex_lock(&table_lock);
    symm_comm_t *comm = first_viewer(window);
    for (; MPI_SUCCESS == rc && NULL != comm; comm = next_viewer(window, comm)) {
        rc = is_visible(comm, window) ? list_window(comm, window) : MPI_SUCCESS;
    }
    (void) pthread_mutex_unlock(&table_lock);
    if (MPI_SUCCESS != rc) {
        symm_comm_remove_window(window);
    }
    return rc;
}

void symm_comm_remove_window(symm_window_t *window)
{
    (void) pthread_mutex_lock(&table_lock);
    symm_comm_t *comm = first_viewer(window);
    for (; NULL != comm; comm = next_viewer(window, comm)) {
        unlist_window(comm, window);
    }
    (void) pthread_mutex_unlock(&table_lock);
}

static void note_link(symm_comm_t *comm, const symm_mapping_t *mapping)
{
    int link = (int) symm_mapping_link(mapping);
    if (atomic_load(&comm->link) < link) {
        atomic_store(&comm->link, link); /* one writer: under the lock, or in a collective */
    }
}

/* Adds amount to the counts of comm that a live window is in. */
static void count_for(symm_comm_t *comm, const symm_window_t *window, int amount)
{
    bool usable = window->collectives && is_listed(comm, window);
    bool gpu = SYMM_KIND_CUDA_DEVICE == window->mapping->ops->kind;
    if (usable) {
        note_link(comm, window->mapping);
    }
    atomic_fetch_add(&comm->live_windows, usable ? amount : 0);
    atomic_fetch_add(&comm->gpu_windows, usable && gpu ? amount : 0);
    atomic_fetch_add(&comm->watch, usable || gpu ? amount : 0);
}

static void unlink_live(symm_window_t *window)
{
    symm_window_t **link = &live;
    while (NULL != *link && *link != window) {
        link = &(*link)->next_live;
    }
    if (NULL != *link) {
        *link = window->next_live;
    }
}

void symm_comm_count_window(symm_window_t *window, bool is_live)
{
    (void) pthread_mutex_lock(&table_lock);
    if (is_live) {
        window->next_live = live;
        live = window;
    } else {
        unlink_live(window);
    }
    symm_comm_t *comm = first_viewer(window);
    for (; NULL != comm; comm = next_viewer(window, comm)) {
        count_for(comm, window, is_live ? 1 : -1);
    }
    (void) pthread_mutex_unlock(&table_lock);
}

/* Shows comm, a new one, the live windows. The caller holds the table's lock. */
static int see_live_windows(symm_comm_t *comm)
{
    int rc = MPI_SUCCESS;
    for (symm_window_t *w = live; MPI_SUCCESS == rc && NULL != w; w = w->next_live) {
        rc = is_visible(comm, w) ? list_window(comm, w) : MPI_SUCCESS;
        count_for(comm, w, 1);
    }
    return rc;
}

symm_comm_t *symm_comm_create_shared(MPI_Comm handle, int rank, int size, const uint64_t *members)
{
    symm_comm_t *comm = create(handle, rank, size, true);
    if (NULL == comm) {
        return NULL;
    }
    remember_members(comm, members);
    (void) pthread_mutex_lock(&table_lock); /* fails only on misuse */
    int rc = NULL != members && NULL == comm->members ? MPI_ERR_NO_MEM : see_live_windows(comm);
    if (MPI_SUCCESS == rc) {
        comm->next = table;
        table = comm;
    }
    (void) pthread_mutex_unlock(&table_lock);
    if (MPI_SUCCESS != rc) {
        symm_comm_release(comm);
        return NULL;
    }
    return comm;
}

uint32_t symm_comm_next_serial(void)
{
    return atomic_load(&next_serial);
}

void symm_comm_use_serial(uint32_t serial)
{
    uint32_t next = atomic_load(&next_serial);
    while (next <= serial && !atomic_compare_exchange_weak(&next_serial, &next, serial + 1)) {
    }
}

void symm_comm_cache_mapping(symm_comm_t *comm, symm_mapping_t *mapping)
{
    (void) pthread_mutex_lock(&comm->lock);
    symm_mapping_t *evicted = NULL;
    if (!comm->shared || mapping->spoiled || !mapping->ops->lasts(mapping->device) ||
        mapping->cache_cost > symm_options.cache_bytes) {
        evicted = mapping;
    } else {
        mapping->ops->queue_rest(mapping->queue);
        symm_mapping_t **last = &comm->cache;
        while (NULL != *last) {
            last = &(*last)->next;
        }
        *last = mapping;
        comm->cached_bytes += mapping->cache_cost;
    }
    while (comm->cached_bytes > symm_options.cache_bytes) {
        symm_mapping_t *oldest = comm->cache;
        comm->cache = oldest->next;
        comm->cached_bytes -= oldest->cache_cost;
        oldest->next = evicted;
        evicted = oldest;
    }
    (void) pthread_mutex_unlock(&comm->lock);
    destroy_all(evicted);
}

uint32_t symm_comm_cached_match(symm_comm_t *comm, const symm_mapping_t *wanted)
{
    uint32_t id = 0;
    (void) pthread_mutex_lock(&comm->lock);
    for (const symm_mapping_t *m = comm->cache; NULL != m && 0 == id; m = m->next) {
        id = symm_mapping_serves(m, wanted->ops, wanted->device, &wanted->layout) ? m->id : 0;
    }
    (void) pthread_mutex_unlock(&comm->lock);
    return id;
}

symm_mapping_t *symm_comm_take_cached(symm_comm_t *comm, uint32_t id)
{
    (void) pthread_mutex_lock(&comm->lock);
    symm_mapping_t **link = &comm->cache;
    while (NULL != *link && (*link)->id != id) {
        link = &(*link)->next;
    }
    symm_mapping_t *mapping = *link;
    if (NULL != mapping) {
        *link = mapping->next;
        mapping->next = NULL;
        comm->cached_bytes -= mapping->cache_cost;
    }
    (void) pthread_mutex_unlock(&comm->lock);
    return mapping;
}

/* Maps the memory that its owner sent. Local. */
static int map_shared(size_t len, const symm_fds_t *from, symm_error_t *error, void **address_p)
{
    if (1 > from->count) {
        return symm_error_set(error, MPI_ERR_INTERN, "no memory came from rank %d", SHARED_OWNER);
    }
    return symm_shm_map(from->fd[0], len, NULL, address_p, error);
}

int symm_comm_share(symm_comm_t *comm, size_t len, symm_error_t *error, const char *what,
                    void **address_p)
{
    const symm_exchange_t *exchange = &comm->exchange;
    symm_fds_t mine = {0};
    void *address = NULL;
    bool owner = SHARED_OWNER == exchange->rank;
    if (owner && MPI_SUCCESS == error->code &&
        MPI_SUCCESS == symm_shm_create(len, &mine.fd[0], error)) {
        mine.count = 1;
    }
    int rc = symm_exchange_descriptors(exchange, &mine, error, what);
    if (MPI_SUCCESS == rc) {
        const symm_fds_t *from = owner ? &mine : &exchange->received[SHARED_OWNER];
        (void) map_shared(len, from, error, &address); /* error keeps the outcome */
        symm_exchange_close_received(exchange);
        rc = symm_agree(exchange, error, what);
    }
    symm_fds_close(&mine);
    if (MPI_SUCCESS != rc) {
        symm_shm_unmap(address, len);
        return rc;
    }
    *address_p = address;
    return MPI_SUCCESS;
}

/* Makes the relay. Collective. */
static int make_relay(symm_comm_t *comm, const char *what)
{
    symm_error_t error = {0};
    if (symm_exchange_mpi_allgather != comm->exchange.allgather) {
        return MPI_SUCCESS; /* a test without MPI */
    }
    comm->setting_up = true;
    int rc = PMPI_Comm_split(comm->handle, 0, comm->exchange.rank, &comm->relay);
    comm->setting_up = false;
    if (MPI_SUCCESS != rc) {
        (void) symm_error_set(&error, rc, "MPI_Comm_split for nonblocking collectives failed");
    }
    return symm_agree(&comm->exchange, &error, what);
}

int symm_comm_make_control(symm_comm_t *comm, const char *what)
{
    symm_error_t error = {0};
    void *control = NULL;
    int rc =
        symm_comm_share(comm, symm_comm_control_len(comm->exchange.size), &error, what, &control);
    comm->control = control;
    if (MPI_SUCCESS == rc) {
        rc = make_relay(comm, what);
    }
    if (MPI_SUCCESS != rc) {
        free_relay(comm);
        symm_shm_unmap(comm->control, symm_comm_control_len(comm->exchange.size));
        comm->control = NULL;
    }
    return rc;
}

/* Opens a GPU and makes an empty mapping on it. Local. */
static int prepare_scratch(const symm_exchange_t *exchange, size_t bytes,
                           symm_mapping_t **mapping_p, symm_error_t *error)
{
    const symm_device_ops_t *ops = symm_device_ops(SYMM_KIND_CUDA_DEVICE);
    symm_device_t *device;
    size_t *sizes = malloc((size_t) exchange->size * sizeof(*sizes));
    if (NULL == ops || NULL == sizes) {
        free(sizes);
        return symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION, "no GPU memory to be had");
    }
    for (int r = 0; r < exchange->size; ++r) {
        sizes[r] = bytes;
    }
    int rc = ops->open(&device, error);
    if (MPI_SUCCESS == rc) {
        rc = symm_mapping_prepare(ops, device, exchange->rank, exchange->size, sizes, false,
                                  mapping_p, error);
    }
    free(sizes);
    if (MPI_SUCCESS == rc && !ops->lasts(device)) {
        rc = symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION,
                            "the GPU's context is not the primary one and may end at any time");
    }
    return rc;
}

int symm_comm_create_scratch(symm_comm_t *comm, size_t bytes, const char *what,
                             symm_mapping_t **mapping_p)
{
    symm_error_t error = {0};
    symm_mapping_t *mapping = NULL;
    (void) prepare_scratch(&comm->exchange, bytes, &mapping, &error); /* agreed on next */
    int rc = symm_agree(&comm->exchange, &error, what);
    if (MPI_SUCCESS == rc) {
        rc = symm_mapping_build(mapping, &comm->exchange, what);
    }
    if (MPI_SUCCESS != rc) {
        symm_mapping_destroy(mapping);
        return rc;
    }
    *mapping_p = mapping;
    note_link(comm, mapping);
    return MPI_SUCCESS;
}

int symm_comm_make_scratch(symm_comm_t *comm, symm_scratch_t scratch, size_t bytes,
                           const char *what)
{
    if (NULL != comm->scratch[scratch]) {
        return MPI_SUCCESS;
    }
    if (comm->scratch_failed[scratch]) {
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    int rc = symm_comm_create_scratch(comm, bytes, what, &comm->scratch[scratch]);
    comm->scratch_failed[scratch] = MPI_SUCCESS != rc;
    return rc;
}
