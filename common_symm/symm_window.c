/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Creates windows, from the cache where it can, and keeps the registry of their addresses. */
#include "symm_config.h"

#include "symm_window.h"
#include "symm_log.h"
#include "symm_options.h"
#include "symm_registry.h"
#include "symm_stats.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

symm_options_t symm_options = {
    .cache_bytes = (size_t) 256 << 20,
    .rendezvous_timeout_ms = 60000,
    .fabric_handles = true,
    .threads = true,
    .share_windows = true,
    .resident_idle_us = 1000,
};

/* Which window an address lies in, and which window an MPI handle (by its address) stands for. */
static symm_registry_t registry = SYMM_REGISTRY_INIT;
static symm_registry_t handles = SYMM_REGISTRY_INIT;
static symm_registry_t identities =
    SYMM_REGISTRY_INIT; /* by the identity, in place of an address */

static pthread_mutex_t watches_lock = PTHREAD_MUTEX_INITIALIZER; /* of all windows' watches */

/* What goes round before anything is made. */
typedef struct window_record {
    int code;
    bool collectives; /* the coll component runs here, and is to serve this communicator */
    bool any_cached;  /* segments of some shape are cached here */
    uint32_t cached;  /* id of a cached mapping that would do, 0 if none */
    uint32_t serial;  /* the least that is free here */
    uint64_t granularity;
} window_record_t;

_Static_assert(sizeof(window_record_t) <= SYMM_EXCHANGE_RECORD_MAX, "does not fit the scratch");

/* What the records of all ranks say. */
typedef struct window_decision {
    bool collectives;
    uint32_t cached;
    uint32_t serial;
    bool any_cached; /* some rank has cached segments, of whatever shape */
} window_decision_t;

static symm_window_t *allocate_window(symm_comm_t *comm, const symm_window_request_t *request)
{
    symm_window_t *window = calloc(1, sizeof(*window));
    if (NULL == window) {
        return NULL;
    }
    int size = comm->exchange.size;
    window->parts = malloc((size_t) size * sizeof(*window->parts));
    if (NULL == window->parts) {
        free(window);
        return NULL;
    }
    memcpy(window->parts, request->parts, (size_t) size * sizeof(*window->parts));
    window->handle = request->handle;
    window->kind = request->kind;
    window->own_memory = 0 < request->service_bytes;
    window->rank = comm->exchange.rank;
    window->size = size;
    return window;
}

/* Opens the device and makes an empty mapping of the right layout. Local. */
static int prepare(symm_comm_t *comm, const symm_window_request_t *request,
                   symm_mapping_t **mapping_p, symm_error_t *error)
{
    const symm_exchange_t *exchange = &comm->exchange;
    bool own_memory = 0 < request->service_bytes;
    symm_kind_t kind = own_memory ? SYMM_KIND_SYSTEM : request->kind;
    const symm_device_ops_t *ops = symm_device_ops(kind);
    if (NULL == ops) {
        return symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION,
                              "built without support for %s memory", symm_kind_name(kind));
    }
    symm_device_t *device;
    size_t *sizes = malloc((size_t) exchange->size * sizeof(*sizes));
    if (NULL == sizes) {
        return symm_error_set(error, MPI_ERR_NO_MEM, "no memory for %d sizes", exchange->size);
    }
    for (int r = 0; r < exchange->size; ++r) {
        sizes[r] = own_memory ? request->service_bytes : request->parts[r].size;
    }
    int rc = ops->open(&device, error);
    if (MPI_SUCCESS == rc) {
        rc = symm_mapping_prepare(ops, device, exchange->rank, exchange->size, sizes,
                                  request->contiguous, mapping_p, error);
    }
    free(sizes);
    return rc;
}

/* Puts all records together; the same on all ranks. Returns whether the ranks' devices, as far as
 * they were opened, allocate in the same units, without which their layouts would differ. */
static bool combine(const window_record_t *records, int size, window_decision_t *decision_p)
{
    uint64_t unit = 0;
    bool same_units = true;
    *decision_p = (window_decision_t){.collectives = true, .cached = records[0].cached};
    for (int r = 0; r < size; ++r) {
        decision_p->collectives = decision_p->collectives && records[r].collectives;
        decision_p->any_cached = decision_p->any_cached || records[r].any_cached;
        if (records[r].serial > decision_p->serial) {
            decision_p->serial = records[r].serial;
        }
        if (records[r].cached != records[0].cached) {
            decision_p->cached = 0;
        }
        unit = 0 == unit ? records[r].granularity : unit;
        same_units = same_units && (0 == records[r].granularity || unit == records[r].granularity);
    }
    return same_units;
}

/* Learns how all ranks prepared and what they have. Collective. */
static int decide(symm_comm_t *comm, const symm_window_request_t *request,
                  const symm_mapping_t *mapping, window_decision_t *decision_p, symm_error_t *error)
{
    const symm_exchange_t *exchange = &comm->exchange;
    window_record_t *records = exchange->scratch;
    window_record_t mine = {.code = error->code,
                            .collectives =
                                comm->shared && !comm->ruled_out && 0 == request->service_bytes,
                            .any_cached = symm_comm_any_cached(),
                            .serial = symm_comm_next_serial()};
    if (NULL != mapping) {
        mine.cached = symm_comm_cached_match(comm, mapping);
        mine.granularity = mapping->layout.granularity;
    }
    int rc = symm_gather(exchange, &mine, records, sizeof(mine), request->what);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    bool same_units = combine(records, exchange->size, decision_p);
    symm_comm_use_serial(decision_p->serial); /* whatever comes of it */
    comm->exchange.will_retry = comm->exchange.will_retry && decision_p->any_cached;
    for (int r = 0; r < exchange->size; ++r) {
        exchange->codes[r] = records[r].code;
        if (MPI_SUCCESS == records[r].code && !same_units) {
            exchange->codes[r] = symm_error_set(error, MPI_ERR_UNSUPPORTED_OPERATION,
                                                "the ranks' devices allocate in different units; "
                                                "use GPUs of one model");
        }
    }
    return symm_agree_gathered(exchange, error, request->what);
}

/* Makes the mapping ready for use: the cached one, or the prepared one by building it. Collective.
 * *mapping_p is replaced, and belongs to the caller also on failure. */
static int obtain_mapping(symm_comm_t *comm, const window_decision_t *decision,
                          symm_mapping_t **mapping_p, symm_error_t *error, const char *what)
{
    uint32_t id = comm->next_mapping++;
    if (0 == decision->cached) {
        (*mapping_p)->id = id;
        return symm_mapping_build(*mapping_p, &comm->exchange, what);
    }
    symm_mapping_t *cached = symm_comm_take_cached(comm, decision->cached);
    if (NULL == cached) {
        /* A thread that freed a window meanwhile has evicted it; publishing tells the others. */
        (void) symm_error_set(error, MPI_ERR_OTHER, "a cached segment vanished; create again");
        return MPI_SUCCESS;
    }
    symm_mapping_destroy(*mapping_p);
    *mapping_p = cached;
    SYMM_COUNT(windows_from_cache, 1);
    (void) symm_mapping_zero_pad(cached, error); /* its outcome is agreed on when publishing */
    return MPI_SUCCESS;
}

static const void *identity_of(const symm_mapping_t *mapping)
{
    return (const void *) (uintptr_t) mapping->control->identity;
}

static void leave_tables(symm_window_t *window)
{
    symm_registry_remove(&registry, window->mapping->range);
    symm_registry_remove(&handles, window->handle);
    const void *identity = identity_of(window->mapping);
    if (window == symm_registry_find(&identities, identity, 1)) {
        symm_registry_remove(&identities, identity);
    }
    symm_comm_remove_window(window);
}

/* Enters the window where pointers, handles and serial numbers are looked up. Local. */
static int enter_tables(symm_window_t *window, symm_error_t *error)
{
    symm_mapping_t *mapping = window->mapping;
    int rc = symm_registry_insert(&registry, mapping->range, mapping->layout.range_len, window);
    if (MPI_SUCCESS != rc) {
        return symm_error_set(error, rc, "no memory to register the window");
    }
    if (MPI_WIN_NULL != window->handle) {
        rc = symm_registry_insert(&handles, window->handle, 1, window);
    }
    if (MPI_SUCCESS == rc) {
        rc = symm_registry_insert(&identities, identity_of(mapping), 1, window);
        rc = MPI_ERR_BASE == rc ? MPI_SUCCESS : rc; /* ranks that share a process: one does */
    }
    if (MPI_SUCCESS == rc) {
        rc = symm_comm_add_window(window);
    }
    if (MPI_SUCCESS != rc) {
        leave_tables(window);
        return symm_error_set(error, rc, "no memory to register the window");
    }
    return MPI_SUCCESS;
}

/* Enters the tables on all ranks or none. Collective. */
static int publish(symm_window_t *window, symm_error_t *error, const char *what)
{
    bool entered = MPI_SUCCESS == error->code && MPI_SUCCESS == enter_tables(window, error);
    int rc = symm_agree(&window->comm->exchange, error, what);
    if (MPI_SUCCESS == rc) {
        symm_comm_count_window(window, true);
    } else if (MPI_SUCCESS != rc && entered) {
        leave_tables(window);
    }
    return rc;
}

/* The collective part of a creation, from the local preparation on. */
static int create_agreed(symm_window_t *window, const symm_window_request_t *request,
                         symm_comm_t *comm, symm_mapping_t **mapping_p,
                         window_decision_t *decision_p, symm_error_t *error)
{
    int rc = decide(comm, request, *mapping_p, decision_p, error);
    if (MPI_SUCCESS == rc && decision_p->collectives && NULL == comm->control) {
        rc = symm_comm_make_control(comm, request->what);
    }
    if (MPI_SUCCESS == rc) {
        rc = obtain_mapping(comm, decision_p, mapping_p, error, request->what);
    }
    if (MPI_SUCCESS == rc) {
        window->comm = comm;
        window->mapping = *mapping_p;
        window->base =
            0 < request->service_bytes ? request->base : symm_window_address(window, window->rank);
        window->serial = decision_p->serial;
        window->collectives = decision_p->collectives;
        rc = publish(window, error, request->what);
    }
    return rc;
}

static void log_window(const symm_window_t *window)
{
    const symm_mapping_t *mapping = window->mapping;
    symm_log(SYMM_LOG_INFO, "window %u: %s, %d ranks, link %s, rank %d has %zu bytes on %s%s",
             (unsigned) window->serial, symm_kind_name(window->kind), window->size,
             symm_link_name(symm_mapping_link(mapping)), window->rank,
             window->parts[window->rank].size, mapping->ops->describe(mapping->device),
             mapping->layout.contiguous ? ", contiguous" : "");
}

/* One try at creating a window, on all ranks. *any_cached_p tells whether some rank has segments
 * cached, whose memory another try could use. */
static int try_create(symm_comm_t *comm, const symm_window_request_t *request,
                      symm_window_t **window_p, bool *any_cached_p)
{
    symm_error_t error = {0};
    symm_mapping_t *mapping = NULL;
    symm_window_t *window = allocate_window(comm, request);
    if (NULL == window) {
        (void) symm_error_set(&error, MPI_ERR_NO_MEM, "no memory for a window");
    } else {
        (void) prepare(comm, request, &mapping, &error); /* error has the outcome */
    }
    symm_window_t nothing = {0}; /* what a rank without memory takes through the agreement */
    window_decision_t decision = {0};
    int rc = create_agreed(NULL == window ? &nothing : window, request, comm, &mapping, &decision,
                           &error);
    *any_cached_p = decision.any_cached;
    if (MPI_SUCCESS != rc) {
        symm_mapping_destroy(mapping);
        if (NULL != window) {
            free(window->parts);
            free(window);
        }
        return rc;
    }
    *window_p = window;
    return MPI_SUCCESS;
}

int symm_window_create(symm_comm_t *comm, const symm_window_request_t *request,
                       symm_window_t **window_p)
{
    bool any_cached = false;
    comm->exchange.will_retry = true; /* if any rank has segments cached, see decide() */
    int rc = try_create(comm, request, window_p, &any_cached);
    comm->exchange.will_retry = false;
    if (MPI_ERR_NO_MEM == rc && any_cached) {
        symm_comm_empty_caches();
        rc = try_create(comm, request, window_p, &any_cached);
    }
    if (MPI_SUCCESS == rc) {
        atomic_fetch_add(&comm->references, 1);
        SYMM_COUNT(windows_created, 1);
        log_window(*window_p);
    }
    return rc;
}

void symm_window_watch(symm_window_t *window, symm_window_watch_t *watch)
{
    (void) pthread_mutex_lock(&watches_lock); /* fails only on misuse */
    watch->window = window;
    watch->next = window->watches;
    window->watches = watch;
    (void) pthread_mutex_unlock(&watches_lock);
}

/* Takes watch off its window's list. The caller holds the lock. */
static void unlink_watch(symm_window_watch_t *watch)
{
    symm_window_watch_t **link = &watch->window->watches;
    while (*link != watch) {
        link = &(*link)->next;
    }
    *link = watch->next;
    watch->window = NULL;
}

void symm_window_unwatch(symm_window_watch_t *watch)
{
    (void) pthread_mutex_lock(&watches_lock);
    if (NULL != watch->window) {
        unlink_watch(watch);
    }
    (void) pthread_mutex_unlock(&watches_lock);
}

static void tell_watches(symm_window_t *window)
{
    (void) pthread_mutex_lock(&watches_lock);
    while (NULL != window->watches) {
        symm_window_watch_t *watch = window->watches;
        unlink_watch(watch);
        watch->gone(watch);
    }
    (void) pthread_mutex_unlock(&watches_lock);
}

void symm_window_free(symm_window_t *window)
{
    symm_comm_t *comm = window->comm;
    symm_mapping_t *mapping = window->mapping;
    (void) mapping->ops->queue_wait(mapping->queue); /* has logged a failure; teardown goes on */
    symm_window_control_barrier(mapping->control, window->rank, window->size,
                                &mapping->barrier_round);
    tell_watches(window);
    symm_comm_count_window(window, false);
    leave_tables(window);
    symm_comm_cache_mapping(comm, mapping);
    symm_comm_release(comm);
    free(window->parts);
    free(window);
    SYMM_COUNT(windows_freed, 1);
}

symm_window_t *symm_window_find(const void *ptr, size_t len)
{
    return symm_registry_find(&registry, ptr, len);
}

symm_window_place_t symm_window_locate(const void *ptr, size_t len)
{
    const symm_window_t *window = symm_window_find(ptr, len);
    if (NULL == window || window->own_memory) {
        return (symm_window_place_t){0};
    }
    const symm_mapping_t *mapping = window->mapping;
    return (symm_window_place_t){mapping->control->identity,
                                 (uint64_t) ((const char *) ptr - mapping->range)};
}

void *symm_window_resolve(const symm_window_place_t *place)
{
    const void *identity = (const void *) (uintptr_t) place->identity;
    const symm_window_t *window =
        0 == place->identity ? NULL : symm_registry_find(&identities, identity, 1);
    return NULL == window ? NULL : window->mapping->range + place->offset;
}

const char *symm_kind_name(symm_kind_t kind)
{
    switch (kind) {
    case SYMM_KIND_SYSTEM:
        return "system";
    case SYMM_KIND_CUDA_DEVICE:
        return "cuda:device";
    default:
        return "?";
    }
}

const char *symm_link_name(symm_link_t link)
{
    switch (link) {
    case SYMM_LINK_HOST:
        return "host";
    case SYMM_LINK_SAME_GPU:
        return "same_gpu";
    case SYMM_LINK_NVLINK:
        return "nvlink";
    case SYMM_LINK_PCIE:
        return "pcie";
    default:
        return "?";
    }
}

int symm_pointer_query(const void *ptr, size_t len, MPI_Win *win_p)
{
    if (NULL == win_p) {
        return MPI_ERR_ARG;
    }
    const symm_window_t *window = symm_window_find(ptr, len);
    if (NULL == window) {
        return MPI_ERR_BASE;
    }
    *win_p = window->handle;
    return MPI_SUCCESS;
}

int symm_window_query(MPI_Win win, symm_window_info_t *info_p)
{
    if (NULL == info_p) {
        return MPI_ERR_ARG;
    }
    const symm_window_t *window = symm_registry_find(&handles, win, 1);
    if (NULL == window) {
        return MPI_ERR_WIN;
    }
    *info_p = (symm_window_info_t){
        .kind = window->kind,
        .link = symm_mapping_link(window->mapping),
        .rank = window->rank,
        .size = window->size,
        .serial = window->serial,
        .base = window->base,
        .size_bytes = window->parts[window->rank].size,
        .stride = window->own_memory ? 0 : window->mapping->layout.stride,
    };
    return MPI_SUCCESS;
}
