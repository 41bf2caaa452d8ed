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

#define CONTROL_OWNER 0

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static symm_comm_t *table;

static symm_comm_t *create(MPI_Comm handle, int rank, int size, bool shared)
{
    symm_comm_t *comm = calloc(1, sizeof(*comm));
    if (NULL == comm) {
        return NULL;
    }
    comm->handle = handle;
    comm->shared = shared;
    comm->next_window = 1;
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

symm_comm_t *symm_comm_create_shared(MPI_Comm handle, int rank, int size)
{
    symm_comm_t *comm = create(handle, rank, size, true);
    if (NULL != comm) {
        (void) pthread_mutex_lock(&table_lock); /* fails only on misuse */
        comm->next = table;
        table = comm;
        (void) pthread_mutex_unlock(&table_lock);
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
    (void) pthread_mutex_unlock(&table_lock);
    empty_cache(comm);
}

void symm_comm_release(symm_comm_t *comm)
{
    if (NULL == comm || 1 < atomic_fetch_sub(&comm->references, 1)) {
        return;
    }
    empty_cache(comm);
    symm_shm_unmap(comm->control, symm_comm_control_len(comm->exchange.size));
    free(comm->windows);
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

int symm_comm_add_window(symm_comm_t *comm, symm_window_t *window)
{
    (void) pthread_mutex_lock(&comm->lock);
    int rc = make_room(comm);
    if (MPI_SUCCESS == rc) {
        comm->windows[comm->window_count++] = window; /* serials grow: it stays sorted */
    }
    (void) pthread_mutex_unlock(&comm->lock);
    return rc;
}

void symm_comm_remove_window(symm_comm_t *comm, const symm_window_t *window)
{
    (void) pthread_mutex_lock(&comm->lock);
    int at = lower_bound(comm, window->serial);
    atomic_fetch_add(&comm->windows_gone, 1);
    if (at < comm->window_count && comm->windows[at] == window) {
        int behind = comm->window_count - at - 1;
        memmove(&comm->windows[at], &comm->windows[at + 1],
                (size_t) behind * sizeof(symm_window_t *));
        --comm->window_count;
    }
    (void) pthread_mutex_unlock(&comm->lock);
}

void symm_comm_cache_mapping(symm_comm_t *comm, symm_mapping_t *mapping)
{
    (void) pthread_mutex_lock(&comm->lock);
    symm_mapping_t *evicted = NULL;
    if (!comm->shared || !mapping->ops->lasts(mapping->device) ||
        mapping->cache_cost > symm_options.cache_bytes) {
        evicted = mapping;
    } else {
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

/* Maps the control block that its owner sent. Local. */
static int map_control(symm_comm_t *comm, const symm_fds_t *from, symm_error_t *error)
{
    void *control;
    if (1 > from->count) {
        return symm_error_set(error, MPI_ERR_INTERN, "no control block came");
    }
    int rc = symm_shm_map(from->fd[0], symm_comm_control_len(comm->exchange.size), NULL, &control,
                          error);
    if (MPI_SUCCESS == rc) {
        comm->control = control;
    }
    return rc;
}

int symm_comm_make_control(symm_comm_t *comm, const char *what)
{
    const symm_exchange_t *exchange = &comm->exchange;
    symm_error_t error = {0};
    symm_fds_t mine = {0};
    bool owner = CONTROL_OWNER == exchange->rank;
    if (owner && MPI_SUCCESS ==
                     symm_shm_create(symm_comm_control_len(exchange->size), &mine.fd[0], &error)) {
        mine.count = 1;
    }
    int rc = symm_exchange_descriptors(exchange, &mine, &error, what);
    if (MPI_SUCCESS == rc) {
        (void) map_control(comm, owner ? &mine : &exchange->received[CONTROL_OWNER], &error);
        symm_exchange_close_received(exchange);
        rc = symm_agree(exchange, &error, what);
    }
    symm_fds_close(&mine);
    if (MPI_SUCCESS != rc) {
        symm_shm_unmap(comm->control, symm_comm_control_len(exchange->size));
        comm->control = NULL;
    }
    return rc;
}
