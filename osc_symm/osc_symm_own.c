/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Windows on memory that the program has (MPI_Win_create, MPI_Win_create_dynamic): finding out how
 * each rank's memory can be reached, attaching regions, and carrying bytes where nothing is mapped.
 *
 * NOTE service area. Such a window has segments of host memory that all ranks map. A rank's holds
 * its mailbox (symm_mailbox.h) and, in a dynamic window, the table of its regions
 * (symm_regions.h). */
#include "symm_config.h"

#include "osc_symm.h"

#include "symm_cma.h"
#include "symm_copy.h"
#include "symm_iov.h"
#include "symm_log.h"
#include "symm_mailbox.h"
#include "symm_regions.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that go through a buffer on the host at a time, where this side's memory is on a GPU. */
#define BOUNCE_BYTES ((size_t) 1 << 20)

struct osc_symm_own {
    pid_t *pids; /* [size] */
    bool cma;    /* works between all ranks */
    size_t capacity;
    osc_symm_own_t *next; /* among those served */
    ompi_osc_symm_module_t *module;
    bool served;
};

/* What a rank shows of itself and its memory. */
typedef struct own_record {
    int code;
    symm_cma_card_t card;
    uint64_t base;
} own_record_t;

_Static_assert(sizeof(own_record_t) <= SYMM_EXCHANGE_RECORD_MAX, "does not fit the scratch");

static size_t max_attached(void)
{
    int most = mca_osc_symm_component.max_attached;
    return 0 < most ? (size_t) most : 0;
}

static size_t mailbox_len(void)
{
    return (sizeof(symm_mailbox_t) + 63) / 64 * 64;
}

size_t ompi_osc_symm_own_service_bytes(int flavor)
{
    return mailbox_len() +
           (MPI_WIN_FLAVOR_DYNAMIC == flavor ? symm_regions_len(max_attached()) : 0);
}

static symm_mailbox_t *mailbox_of(const ompi_osc_symm_module_t *module, int rank)
{
    return symm_window_base(module->window, rank);
}

static symm_regions_t *regions_of(const ompi_osc_symm_module_t *module, int rank)
{
    char *area = symm_window_base(module->window, rank);
    return (symm_regions_t *) (void *) (area + mailbox_len());
}

/* ---- serving those who cannot reach our memory ---- */

static opal_mutex_t served_lock = OPAL_MUTEX_STATIC_INIT;
static osc_symm_own_t *served;

static int copy_host(void *context, void *dst, const void *src, size_t len)
{
    (void) context;
    memcpy(dst, src, len);
    return MPI_SUCCESS;
}

/* A callback of opal_progress(). */
static int serve(void)
{
    int done = 0;
    if (0 != opal_mutex_trylock(&served_lock)) {
        return 0; /* another thread is at it */
    }
    for (osc_symm_own_t *own = served; NULL != own; own = own->next) {
        done +=
            symm_mailbox_serve(mailbox_of(own->module, own->module->window->rank), copy_host, NULL);
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

static int allocate_own(ompi_osc_symm_module_t *module)
{
    osc_symm_own_t *own = calloc(1, sizeof(*own));
    if (NULL == own) {
        return MPI_ERR_NO_MEM;
    }
    own->module = module;
    own->capacity = module->dynamic ? max_attached() : 0;
    own->pids = calloc((size_t) module->window->size, sizeof(*own->pids));
    module->own = own;
    return NULL == own->pids ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* Whether a byte at either end of a rank's memory can be read, where it has memory. */
static bool ends_can_be_read(const own_record_t *record, const osc_symm_target_t *target)
{
    const char *base = (const char *) (uintptr_t) record->base;
    return 0 == target->size ||
           (symm_cma_can_read((pid_t) record->card.pid, base) &&
            symm_cma_can_read((pid_t) record->card.pid, base + target->size - 1));
}

/* Notes what all ranks showed, and tries whether cross-memory attach reaches them all. */
static bool meet(ompi_osc_symm_module_t *module, const own_record_t *records)
{
    bool works = mca_osc_symm_component.cma;
    for (int r = 0; r < module->window->size; ++r) {
        osc_symm_target_t *target = &module->targets[r];
        module->own->pids[r] = (pid_t) records[r].card.pid;
        target->base = (char *) (uintptr_t) records[r].base;
        works = works && (r == module->window->rank ||
                          (symm_cma_works(&records[r].card) &&
                           (module->dynamic || ends_can_be_read(&records[r], target))));
    }
    return works;
}

/* Decides how each rank's memory is reached; alike on all ranks. */
static void settle_reach(ompi_osc_symm_module_t *module)
{
    for (int r = 0; r < module->window->size; ++r) {
        osc_symm_target_t *target = &module->targets[r];
        target->kind = SYMM_KIND_SYSTEM;
        target->locked = 1 < module->window->size;
        target->reach = r == module->window->rank ? OSC_SYMM_REACH_MAPPED
                        : module->own->cma        ? OSC_SYMM_REACH_CMA
                                                  : OSC_SYMM_REACH_OWNER;
    }
}

/* Learns which of all ranks find cross-memory attach working. Collective. */
static int agree_on_cma(ompi_osc_symm_module_t *module, const symm_exchange_t *exchange, bool mine,
                        const char *what)
{
    int works = mine;
    int rc = symm_gather(exchange, &works, exchange->codes, sizeof(works), what);
    module->own->cma = true;
    for (int r = 0; MPI_SUCCESS == rc && r < exchange->size; ++r) {
        module->own->cma = module->own->cma && 0 != exchange->codes[r];
    }
    return rc;
}

int ompi_osc_symm_own_connect(ompi_osc_symm_module_t *module, const symm_exchange_t *exchange,
                              const char *what)
{
    symm_error_t error = {0};
    own_record_t mine = {.base = (uintptr_t) module->window->base};
    own_record_t *records = exchange->scratch;
    if (MPI_SUCCESS != allocate_own(module)) {
        (void) symm_error_set(&error, MPI_ERR_NO_MEM, "no memory for %d ranks", exchange->size);
    }
    if (SYMM_KIND_CUDA_DEVICE == module->window->kind) {
        (void) symm_error_set(&error, MPI_ERR_UNSUPPORTED_OPERATION,
                              "GPU memory of the program's own is not supported yet; use "
                              "MPI_Win_allocate");
    }
    /* Segments of a window before this one have what that left there. */
    memset(symm_window_base(module->window, exchange->rank), 0,
           ompi_osc_symm_own_service_bytes(module->win->w_flavor));
    symm_cma_card(&mine.card);
    int rc = symm_gather(exchange, &mine, records, sizeof(mine), what);
    if (MPI_SUCCESS == rc) {
        rc = agree_on_cma(module, exchange, MPI_SUCCESS == error.code && meet(module, records),
                          what);
    }
    if (MPI_SUCCESS == rc && MPI_SUCCESS == error.code) {
        settle_reach(module);
        if (!module->own->cma && MPI_SUCCESS != begin_serving(module->own)) {
            (void) symm_error_set(&error, MPI_ERR_NO_MEM, "no memory for a progress callback");
        }
    }
    return MPI_SUCCESS == rc ? symm_agree(exchange, &error, what) : rc;
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
    free(own->pids);
    free(own);
    module->own = NULL;
}

/* ---- dynamic windows ---- */

int ompi_osc_symm_locate_region(ompi_osc_symm_module_t *module, int target, ptrdiff_t disp,
                                ptrdiff_t offset, size_t len, osc_symm_place_t *place_p)
{
    const osc_symm_target_t *memory = &module->targets[target];
    uint64_t start = (uint64_t) disp + (uint64_t) offset; /* an address, which may look negative */
    symm_region_t region;
    if (0 < len && !symm_regions_find(regions_of(module, target), start, len, &region)) {
        return MPI_ERR_RMA_RANGE;
    }
    *place_p = (osc_symm_place_t){(char *) (uintptr_t) start, target, memory->reach, memory->kind,
                                  memory->locked};
    return MPI_SUCCESS;
}

int ompi_osc_symm_attach(ompi_win_t *win, void *base, size_t len)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    symm_region_t region = {.start = (uintptr_t) base, .len = len};
    if (!module->dynamic) {
        return MPI_ERR_RMA_FLAVOR;
    }
    if (len > PTRDIFF_MAX || (uintptr_t) base + len < (uintptr_t) base) {
        return MPI_ERR_SIZE;
    }
    OPAL_THREAD_LOCK(&module->lock);
    int rc =
        symm_regions_add(regions_of(module, module->window->rank), module->own->capacity, &region);
    OPAL_THREAD_UNLOCK(&module->lock);
    return rc;
}

int ompi_osc_symm_detach(ompi_win_t *win, const void *base)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    symm_region_t region;
    if (!module->dynamic) {
        return MPI_ERR_RMA_FLAVOR;
    }
    OPAL_THREAD_LOCK(&module->lock);
    bool found = symm_regions_remove(regions_of(module, module->window->rank), base, &region);
    OPAL_THREAD_UNLOCK(&module->lock);
    return found ? MPI_SUCCESS : MPI_ERR_ARG;
}

/* ---- carrying bytes ---- */

/* Between host memory of this process and the target's. */
static int carry(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place, bool write,
                 const struct iovec *local, size_t local_count, const struct iovec *remote,
                 size_t remote_count)
{
    if (OSC_SYMM_REACH_CMA == place->reach) {
        return symm_cma_transfer(module->own->pids[place->target], write, local, local_count,
                                 remote, remote_count);
    }
    return symm_mailbox_transfer(mailbox_of(module, place->target), write, local, local_count,
                                 remote, remote_count);
}

/* Copies the next len bytes between the pieces under the cursor, of any memory, and a buffer. */
static int copy_pieces(symm_iov_cursor_t *here, bool write, char *buffer, size_t len)
{
    struct iovec piece;
    size_t part;
    int rc = MPI_SUCCESS;
    while (MPI_SUCCESS == rc && 0 < len && 0 < symm_iov_peek(here, &piece, 1, len, &part)) {
        rc = symm_copy_blocking(write ? buffer : piece.iov_base, write ? piece.iov_base : buffer,
                                part);
        symm_iov_advance(here, part);
        buffer += part;
        len -= part;
    }
    return rc;
}

/* The same as carry() for memory of this process on a GPU, through a buffer on the host. */
static int carry_bounced(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place,
                         bool write, const struct iovec *local, size_t local_count,
                         const struct iovec *remote, size_t remote_count)
{
    symm_iov_cursor_t here = SYMM_IOV_CURSOR(local, local_count);
    symm_iov_cursor_t there = SYMM_IOV_CURSOR(remote, remote_count);
    struct iovec next[64];
    size_t len;
    int rc = MPI_SUCCESS;
    char *buffer = malloc(BOUNCE_BYTES);
    if (NULL == buffer) {
        return MPI_ERR_NO_MEM;
    }
    for (size_t count = symm_iov_peek(&there, next, 64, BOUNCE_BYTES, &len);
         MPI_SUCCESS == rc && 0 < count;
         count = symm_iov_peek(&there, next, 64, BOUNCE_BYTES, &len)) {
        struct iovec bounce = {buffer, len};
        rc = write ? copy_pieces(&here, true, buffer, len) : MPI_SUCCESS;
        if (MPI_SUCCESS == rc) {
            rc = carry(module, place, write, &bounce, 1, next, count);
        }
        if (MPI_SUCCESS == rc && !write) {
            rc = copy_pieces(&here, false, buffer, len);
        }
        symm_iov_advance(&there, len);
    }
    free(buffer);
    return rc;
}

static int transfer(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place, bool write,
                    const struct iovec *local, size_t local_count, const struct iovec *remote,
                    size_t remote_count)
{
    /* All pieces are of one buffer of the program's, hence of one kind of memory. */
    bool device = 0 < local_count && SYMM_POINTER_DEVICE == symm_pointer_kind(local[0].iov_base);
    return device ? carry_bounced(module, place, write, local, local_count, remote, remote_count)
                  : carry(module, place, write, local, local_count, remote, remote_count);
}

int ompi_osc_symm_remote_write(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place,
                               const struct iovec *local, size_t local_count,
                               const struct iovec *remote, size_t remote_count)
{
    return transfer(module, place, true, local, local_count, remote, remote_count);
}

int ompi_osc_symm_remote_read(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place,
                              const struct iovec *local, size_t local_count,
                              const struct iovec *remote, size_t remote_count)
{
    return transfer(module, place, false, local, local_count, remote, remote_count);
}

void ompi_osc_symm_update_lock(const ompi_osc_symm_module_t *module, int target)
{
    symm_rwlock_write(&module->window->mapping->control->peers[target].update);
}

void ompi_osc_symm_update_unlock(const ompi_osc_symm_module_t *module, int target)
{
    symm_rwlock_write_unlock(&module->window->mapping->control->peers[target].update);
}
