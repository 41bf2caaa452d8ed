/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Windows on memory that the program has (MPI_Win_create, MPI_Win_create_dynamic): finding out,
 * with all ranks, how each rank's memory can be reached, and serving those who cannot reach ours.
 */
#include "symm_config.h"

#include "osc_symm.h"

#include "osc_symm_own.h"
#include "symm_cma.h"
#include "symm_log.h"

#include <stdlib.h>
#include <string.h>

/* Most ranks whose memory can be mapped by others; with more it is reached in other ways. */
#define MAPPED_RANKS_MAX 256

/* What a rank shows of itself and its memory. */
typedef struct own_record {
    int code;
    uint32_t kind; /* symm_kind_t of its memory */
    symm_cma_card_t card;
    uint64_t base;
    symm_window_place_t place; /* in a symmetric window that others may have, too */
    symm_offer_t offer;
} own_record_t;

/* What a rank found of the others' memory. */
typedef struct reach_record {
    int code;
    bool cma;                         /* reaches all of them */
    bool atomics;                     /* its device has them on all GPU memory that it has mapped */
    uint8_t mapped[MAPPED_RANKS_MAX]; /* [size] */
} reach_record_t;

_Static_assert(sizeof(own_record_t) <= SYMM_EXCHANGE_RECORD_MAX, "does not fit the scratch");
_Static_assert(sizeof(reach_record_t) <= SYMM_EXCHANGE_RECORD_MAX, "does not fit the scratch");

size_t ompi_osc_symm_own_service_bytes(int flavor)
{
    return ompi_osc_symm_own_mailbox_bytes() +
           (MPI_WIN_FLAVOR_DYNAMIC == flavor ? ompi_osc_symm_dynamic_bytes() : 0);
}

/* ---- serving those who cannot reach our memory ---- */

static opal_mutex_t served_lock = OPAL_MUTEX_STATIC_INIT;
static osc_symm_own_t *served;

/* A copy one end of which is the mailbox. May be within another queue's wait, so it has its own. */
static int copy_served(void *context, void *dst, const void *src, size_t len)
{
    const osc_symm_own_t *own = context;
    if (NULL == own->device || (SYMM_POINTER_HOST == symm_pointer_kind(dst) &&
                                SYMM_POINTER_HOST == symm_pointer_kind(src))) {
        memcpy(dst, src, len);
        return MPI_SUCCESS;
    }
    int rc = own->gpu_ops->copy(own->service_queue, SYMM_LANE_MAIN, dst, src, len);
    int waited = own->gpu_ops->queue_wait(own->service_queue);
    return MPI_SUCCESS == rc ? waited : rc;
}

/* A callback of opal_progress(). */
static int serve(void)
{
    int done = 0;
    if (0 != opal_mutex_trylock(&served_lock)) {
        return 0; /* another thread is at it */
    }
    for (osc_symm_own_t *own = served; NULL != own; own = own->next) {
        done += symm_mailbox_serve(
            ompi_osc_symm_own_mailbox(own->module, own->module->window->rank), copy_served, own);
    }
    opal_mutex_unlock(&served_lock);
    return done;
}

static int begin_serving(osc_symm_own_t *own)
{
    opal_mutex_lock(&served_lock);
    int rc = NULL == served ? opal_progress_register(serve) : OMPI_SUCCESS;
    if (OMPI_SUCCESS == rc) {
        own->next = served;
        served = own;
        own->served = true;
    }
    opal_mutex_unlock(&served_lock);
    return OMPI_SUCCESS == rc ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static void end_serving(osc_symm_own_t *own)
{
    opal_mutex_lock(&served_lock);
    osc_symm_own_t **link = &served;
    while (NULL != *link && *link != own) {
        link = &(*link)->next;
    }
    if (NULL != *link) {
        *link = own->next;
        if (NULL == served) {
            (void) opal_progress_unregister(serve); /* it is there */
        }
    }
    opal_mutex_unlock(&served_lock);
}

/* ---- making a window ---- */

/* What one connection needs on its way. */
typedef struct connection {
    ompi_osc_symm_module_t *module;
    osc_symm_own_t *own;
    const symm_exchange_t *exchange;
    const char *what;
    symm_error_t error;
    own_record_t *records; /* [size] */
    symm_fds_t mine;       /* the descriptor of this rank's memory, if it needs one */
    bool descriptors;      /* some rank has one */
    bool serves;           /* others need this rank to copy for them */
} connection_t;

static void allocate_own(connection_t *c)
{
    size_t size = (size_t) c->exchange->size;
    osc_symm_own_t *own = calloc(1, sizeof(*own));
    c->records = calloc(size, sizeof(*c->records));
    if (NULL != own) {
        own->module = c->module;
        own->capacity = c->module->dynamic ? (size_t) mca_osc_symm_component.max_attached : 0;
        own->pids = calloc(size, sizeof(*own->pids));
        own->adopted = calloc(size, sizeof(*own->adopted));
        c->module->own = c->own = own;
    }
    if (NULL == own || NULL == own->pids || NULL == own->adopted || NULL == c->records) {
        (void) symm_error_set(&c->error, MPI_ERR_NO_MEM, "no memory for %d ranks",
                              c->exchange->size);
    }
}

/* Whether the window shall be able to have GPU memory: it was asked for or is there, or GPUs are in
 * use on all ranks and regions of it may be attached. Collective for dynamic windows. */
static int decide_gpu(const connection_t *c, bool *gpu_p)
{
    const symm_device_ops_t *gpu_ops = symm_device_ops(SYMM_KIND_CUDA_DEVICE);
    *gpu_p = SYMM_KIND_CUDA_DEVICE == c->module->window->kind;
    if (!c->module->dynamic || *gpu_p) {
        return MPI_SUCCESS;
    }
    int uses = NULL != gpu_ops && gpu_ops->in_use();
    int rc = symm_gather(c->exchange, &uses, c->exchange->codes, sizeof(uses), c->what);
    *gpu_p = true;
    for (int r = 0; r < c->exchange->size; ++r) {
        *gpu_p = *gpu_p && 0 != c->exchange->codes[r];
    }
    return rc;
}

static int create_queues(osc_symm_own_t *own, const symm_device_ops_t *ops, symm_device_t *device,
                         symm_error_t *error)
{
    int rc = ops->queue_create(device, &own->queue, error);
    if (MPI_SUCCESS == rc) {
        rc = ops->queue_create(device, &own->service_queue, error);
        if (MPI_SUCCESS != rc) {
            ops->queue_destroy(own->queue);
        }
    }
    return rc;
}

/* Opens the GPU for the window's operations. Local. */
static void open_gpu(connection_t *c)
{
    const symm_device_ops_t *ops = symm_device_ops(SYMM_KIND_CUDA_DEVICE);
    symm_device_t *device;
    if (NULL == ops) {
        (void) symm_error_set(&c->error, MPI_ERR_UNSUPPORTED_OPERATION,
                              "built without support for GPU memory");
    } else if (MPI_SUCCESS == ops->open(&device, &c->error)) {
        if (MPI_SUCCESS != create_queues(c->own, ops, device, &c->error)) {
            ops->close(device);
            return;
        }
        c->own->gpu_ops = ops;
        c->own->device = device;
        c->module->ops = ops;
        c->module->queue = c->own->queue;
        c->module->device = device;
    }
}

/* Tells how others can have this rank's GPU memory, or nothing where they cannot. */
static void offer_memory(connection_t *c, size_t size, own_record_t *mine)
{
    symm_error_t error = {0};
    if (MPI_SUCCESS != c->module->ops->offer(c->own->device, c->module->window->base, size, true,
                                             &mine->offer, &c->mine.fd[0], &error)) {
        symm_log(SYMM_LOG_INFO, "%s: copying for others: %s", c->what, error.text);
        mine->offer.kind = SYMM_OFFER_NONE;
    }
    c->mine.count = SYMM_OFFER_DESCRIPTOR == mine->offer.kind ? 1 : 0;
}

/* Fills in what the others must know of this rank's memory. Local. */
static void describe_memory(connection_t *c, own_record_t *mine)
{
    const symm_window_t *window = c->module->window;
    size_t size = window->parts[window->rank].size;
    symm_cma_card(&mine->card);
    mine->base = (uintptr_t) window->base;
    mine->kind = SYMM_KIND_SYSTEM;
    if (c->module->dynamic || 0 == size) {
        return;
    }
    mine->place = symm_window_locate(window->base, size);
    if (SYMM_POINTER_DEVICE == symm_pointer_kind(window->base) && NULL != c->own &&
        NULL != c->own->device) {
        mine->kind = SYMM_KIND_CUDA_DEVICE;
        if (1 == window->size) {
            return; /* nobody to share it with */
        }
        offer_memory(c, size, mine);
    }
}

/* Shows each rank what the others have; then they swap descriptors where some have any. Collective.
 */
static int show_memory(connection_t *c)
{
    own_record_t mine = {0};
    const symm_exchange_t *exchange = c->exchange;
    own_record_t *records = exchange->scratch;
    describe_memory(c, &mine);
    mine.code = c->error.code;
    int rc = symm_gather(exchange, &mine, records, sizeof(mine), c->what);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    for (int r = 0; r < exchange->size; ++r) {
        exchange->codes[r] = records[r].code;
        c->descriptors = c->descriptors || SYMM_OFFER_DESCRIPTOR == records[r].offer.kind;
    }
    rc = symm_agree_gathered(exchange, &c->error, c->what);
    if (MPI_SUCCESS == rc) {
        memcpy(c->records, records, (size_t) exchange->size * sizeof(*records));
        if (c->descriptors) {
            rc = symm_exchange_descriptors(exchange, &c->mine, &c->error, c->what);
        }
    }
    return rc;
}

/* The address here of rank r's memory, NULL when it cannot be mapped. */
static void *map_memory(const connection_t *c, int r)
{
    symm_error_t error = {0};
    const own_record_t *record = &c->records[r];
    void *address = symm_window_resolve(&record->place);
    if (NULL != address || SYMM_OFFER_NONE == record->offer.kind) {
        return address;
    }
    symm_adopted_t *adopted = &c->own->adopted[r];
    int fd =
        c->descriptors && 0 < c->exchange->received[r].count ? c->exchange->received[r].fd[0] : -1;
    if (MPI_SUCCESS != c->module->ops->adopt(c->own->device, &record->offer, fd, adopted, &error)) {
        symm_log(SYMM_LOG_INFO, "%s: rank %d copies for us: %s", c->what, r, error.text);
        return NULL;
    }
    return adopted->address;
}

/* Whether cross-memory attach reaches rank r and, if it has host memory, both ends of that. */
static bool cma_reaches(const connection_t *c, int r)
{
    const own_record_t *record = &c->records[r];
    const char *base = (const char *) (uintptr_t) record->base;
    pid_t pid = (pid_t) record->card.pid;
    size_t size = SYMM_KIND_SYSTEM == record->kind ? c->module->targets[r].size : 0;
    return symm_cma_works(&record->card) &&
           (c->module->dynamic || 0 == size ||
            (symm_cma_can_read(pid, base) && symm_cma_can_read(pid, base + size - 1)));
}

/* Maps what can be mapped and tries out the rest. Local. */
static void reach_memory(connection_t *c, reach_record_t *mine)
{
    int size = c->exchange->size;
    mine->cma = mca_osc_symm_component.cma;
    mine->atomics = true;
    for (int r = 0; r < size; ++r) {
        osc_symm_target_t *target = &c->module->targets[r];
        bool myself = r == c->exchange->rank;
        c->own->pids[r] = (pid_t) c->records[r].card.pid;
        target->kind = (symm_kind_t) c->records[r].kind;
        void *address = myself ? c->module->window->base : NULL;
        if (!myself && 0 < target->size && !c->module->dynamic && size <= MAPPED_RANKS_MAX) {
            address = map_memory(c, r);
        }
        if (NULL != address && SYMM_KIND_CUDA_DEVICE == target->kind && 0 < target->size) {
            mine->atomics = mine->atomics &&
                            symm_link_has_atomics(c->own->gpu_ops->link(c->own->device, address));
        }
        target->base = NULL != address ? address : (char *) (uintptr_t) c->records[r].base;
        if (size <= MAPPED_RANKS_MAX) {
            mine->mapped[r] = myself || NULL != address || 0 == target->size;
        }
        mine->cma = mine->cma && (myself || cma_reaches(c, r));
    }
    mine->code = c->error.code;
}

/* Decides how rank r's memory is reached, alike on all ranks. */
static void settle_reach(connection_t *c, int r, bool mapped, bool atomics)
{
    osc_symm_target_t *target = &c->module->targets[r];
    bool myself = r == c->exchange->rank;
    bool by_cma = c->own->cma && SYMM_KIND_SYSTEM == target->kind;
    target->locked = !(mapped && atomics) && 1 < c->exchange->size;
    target->reach = mapped || myself ? OSC_SYMM_REACH_MAPPED
                    : by_cma         ? OSC_SYMM_REACH_CMA
                                     : OSC_SYMM_REACH_OWNER;
    if (myself) {
        /* Regions on a GPU that will be attached may need it. */
        bool maybe = c->module->dynamic && NULL != c->own->device;
        c->serves = 1 < c->exchange->size && ((!mapped && !by_cma) || maybe);
    }
    if (!mapped && !myself) {
        target->base = (char *) (uintptr_t) c->records[r].base;
    }
}

/* Learns what all ranks reach, and settles how. Collective. */
static int agree_on_reach(connection_t *c, const reach_record_t *mine)
{
    const symm_exchange_t *exchange = c->exchange;
    reach_record_t *records = exchange->scratch;
    int rc = symm_gather(exchange, mine, records, sizeof(*mine), c->what);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    bool atomics = true;
    c->own->cma = true;
    for (int r = 0; r < exchange->size; ++r) {
        exchange->codes[r] = records[r].code;
        c->own->cma = c->own->cma && records[r].cma;
        atomics = atomics && records[r].atomics;
    }
    for (int r = 0; r < exchange->size; ++r) {
        bool mapped = !c->module->dynamic && exchange->size <= MAPPED_RANKS_MAX;
        for (int origin = 0; mapped && origin < exchange->size; ++origin) {
            mapped = 0 != records[origin].mapped[r];
        }
        settle_reach(c, r, mapped, atomics);
    }
    return symm_agree_gathered(exchange, &c->error, c->what);
}

/* All steps after the local preparation. Collective. */
static int connect_agreed(connection_t *c)
{
    reach_record_t mine = {0};
    int rc = show_memory(c);
    if (MPI_SUCCESS == rc) {
        reach_memory(c, &mine);
        rc = agree_on_reach(c, &mine);
    }
    if (MPI_SUCCESS == rc && c->serves && MPI_SUCCESS != begin_serving(c->own)) {
        (void) symm_error_set(&c->error, MPI_ERR_NO_MEM, "no memory for a progress callback");
    }
    return MPI_SUCCESS == rc ? symm_agree(c->exchange, &c->error, c->what) : rc;
}

int ompi_osc_symm_own_connect(ompi_osc_symm_module_t *module, const symm_exchange_t *exchange,
                              const char *what)
{
    connection_t c = {.module = module, .exchange = exchange, .what = what};
    bool gpu;
    allocate_own(&c);
    /* Segments of a window before this one have what that left there. */
    memset(symm_window_base(module->window, exchange->rank), 0,
           ompi_osc_symm_own_service_bytes(module->win->w_flavor));
    int rc = decide_gpu(&c, &gpu);
    if (MPI_SUCCESS == rc) {
        if (gpu && MPI_SUCCESS == c.error.code) {
            open_gpu(&c);
        }
        rc = connect_agreed(&c);
    }
    if (c.descriptors) {
        symm_exchange_close_received(exchange);
    }
    symm_fds_close(&c.mine);
    free(c.records);
    return rc;
}

/* Lets go of the GPU and of others' memory there. */
static void close_gpu(osc_symm_own_t *own)
{
    ompi_osc_symm_dynamic_forget(own->module);
    for (int r = 0; NULL != own->adopted && r < own->module->window->size; ++r) {
        if (SYMM_OFFER_NONE != own->adopted[r].kind) {
            own->gpu_ops->abandon(own->device, &own->adopted[r]);
        }
    }
    own->gpu_ops->queue_destroy(own->queue);
    own->gpu_ops->queue_destroy(own->service_queue);
    own->gpu_ops->close(own->device);
}

void ompi_osc_symm_own_disconnect(ompi_osc_symm_module_t *module)
{
    osc_symm_own_t *own = module->own;
    if (NULL == own) {
        return;
    }
    if (own->served) {
        end_serving(own);
    }
    if (NULL != own->device) {
        close_gpu(own);
        module->ops = module->window->mapping->ops;
        module->queue = module->window->mapping->queue;
        module->device = module->window->mapping->device;
    }
    free(own->pids);
    free(own->adopted);
    free(own);
    module->own = NULL;
}
