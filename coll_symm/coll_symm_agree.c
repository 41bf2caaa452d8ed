/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The agreement of blocking collectives on the communicator's control block. Choosing the plan is
 * coll_symm_plan.c's work, carrying it out each collective's. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_device.h"
#include "symm_log.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* Bytes of payload that share the descriptor's cache line. */
#define SHORT_PAYLOAD (SYMM_LINE_BYTES - offsetof(symm_slot_t, payload))

static symm_comm_peer_t *peer_of(const coll_symm_call_t *call, int rank)
{
    return &call->module->comm->control->peers[rank];
}

/* Behind the rows of the slots are those of the ring. */
static symm_block_t *row_of(const coll_symm_call_t *call, int rank)
{
    const symm_comm_t *comm = call->module->comm;
    uint64_t row = NULL != call->pending ? 2 + call->number % SYMM_PENDING_MAX : call->number % 2;
    return symm_comm_control_row(comm->control, comm->exchange.size, rank, (int) row);
}

/* A nonblocking call has its place in the ring of pending ones. */
static symm_pending_t *pending_of(const coll_symm_call_t *call, int rank)
{
    return &peer_of(call, rank)->pending[call->number % SYMM_PENDING_MAX];
}

static symm_slot_t *slot_of(const coll_symm_call_t *call, int rank)
{
    return NULL != call->pending ? &pending_of(call, rank)->slot
                                 : &peer_of(call, rank)->slots[call->number % 2];
}

/* Barriers inside the blocking calls of a communicator are counted through, those inside a pending
 * call from when it is shown. */
static _Atomic uint64_t *step_of(const coll_symm_call_t *call, int rank)
{
    return NULL != call->pending ? &pending_of(call, rank)->step : &peer_of(call, rank)->step;
}

/* Whether window's memory, any rank's part of it, holds all of [ptr, ptr + len). */
static bool holds(const symm_window_t *window, const void *ptr, size_t len)
{
    size_t offset = (size_t) ((const char *) ptr - window->mapping->range);
    size_t range_len = window->mapping->layout.range_len;
    return offset < range_len && len <= range_len - offset;
}

/* The window that holds all of [ptr, ptr + len) and that this communicator's collectives may use,
 * NULL when there is none. Looks at the recent one before it asks the registry. */
static const symm_window_t *find_window(mca_coll_symm_module_t *module, const void *ptr, size_t len)
{
    uint64_t gone = atomic_load_explicit(&module->comm->windows_gone, memory_order_relaxed);
    if (NULL != module->recent && gone == module->recent_gone && holds(module->recent, ptr, len)) {
        return module->recent;
    }
    const symm_window_t *window = symm_window_find(ptr, len);
    if (NULL == window || !window->collectives ||
        window != symm_comm_find_window(module->comm, window->serial)) {
        return NULL;
    }
    module->recent = window;
    module->recent_gone = gone;
    return window;
}

/* Where [ptr, ptr + len) lies. *window_p, *serial_p and *offset_p tell the window, NULL and 0 when
 * it is in none. */
static coll_symm_place_t place_of(mca_coll_symm_module_t *module, const void *ptr, size_t len,
                                  const symm_window_t **window_p, uint32_t *serial_p,
                                  uint64_t *offset_p)
{
    const symm_window_t *window = 0 == len ? NULL : find_window(module, ptr, len);
    *window_p = window;
    if (NULL != window) {
        *serial_p = window->serial;
        *offset_p = (uint64_t) ((const char *) ptr - window->mapping->range);
        return SYMM_KIND_CUDA_DEVICE == window->mapping->ops->kind ? COLL_SYMM_WINDOW_CUDA
                                                                   : COLL_SYMM_WINDOW_SYSTEM;
    }
    *serial_p = 0;
    *offset_p = 0;
    if (0 == len) {
        return COLL_SYMM_NOWHERE;
    }
    return SYMM_POINTER_DEVICE == symm_pointer_kind(ptr) ? COLL_SYMM_DEVICE : COLL_SYMM_HOST;
}

/* Whether one device of this rank reaches both buffers. */
static bool within_reach(const symm_window_t *send, const symm_window_t *recv,
                         const coll_symm_call_t *call)
{
    if (NULL != send && NULL != recv) {
        return send->mapping->device == recv->mapping->device ||
               send->mapping->ops->kind != recv->mapping->ops->kind;
    }
    if (NULL != recv) {
        /* The input is read by copies, which reach everything, or it rules kernels out anyway. */
        return true;
    }
    const symm_mapping_t *mapping = NULL == send ? NULL : send->mapping;
    return NULL == mapping || COLL_SYMM_DEVICE != call->mine.recv_place ||
           mapping->ops->reaches(mapping->device, call->recv);
}

static void set_flag(coll_symm_descriptor_t *d, uint8_t flag, bool on)
{
    d->flags = (uint8_t) (on ? d->flags | flag : d->flags & ~flag);
}

/* Blocking calls make their scratch when they need it, unless that has failed; nonblocking ones
 * cannot wait for that, and have a blocking one make theirs. */
static void place_scratch(coll_symm_call_t *call)
{
    const symm_comm_t *comm = call->module->comm;
    const symm_mapping_t *of_pending = comm->scratch[SYMM_SCRATCH_PENDING];
    bool pending = NULL != call->pending;
    set_flag(&call->mine, COLL_SYMM_NO_SCRATCH,
             pending ? NULL == of_pending : comm->scratch_failed[SYMM_SCRATCH_BLOCKING]);
    set_flag(&call->mine, COLL_SYMM_WANT_PENDING_SCRATCH,
             !pending && call->module->misses_scratch && NULL == of_pending &&
                 !comm->scratch_failed[SYMM_SCRATCH_PENDING]);
}

void coll_symm_call_place(coll_symm_call_t *call)
{
    const symm_window_t *send, *recv;
    coll_symm_descriptor_t *mine = &call->mine;
    mca_coll_symm_module_t *module = call->module;
    mine->send_place =
        place_of(module, call->send, call->send_len, &send, &mine->send_window, &mine->send_offset);
    mine->recv_place =
        place_of(module, call->recv, call->recv_len, &recv, &mine->recv_window, &mine->recv_offset);
    if (coll_symm_traits(mine->collective)->reduces && coll_symm_descriptor_on_gpu(mine) &&
        !symm_dtype_on_gpu((symm_dtype_t) mine->dtype)) {
        mine->flags |= COLL_SYMM_UNSUPPORTED; /* as a long double is */
    }
    if (module->policy.copy_engine_only && (0 != mine->send_gaps || 0 != mine->recv_gaps)) {
        mine->flags |= COLL_SYMM_UNSUPPORTED; /* kernels gather and scatter */
    }
    bool fits = !coll_symm_descriptor_on_gpu(mine) && call->send_len <= SYMM_SLOT_PAYLOAD_BYTES &&
                0 == mine->send_gaps && 0 == (mine->flags & COLL_SYMM_UNSUPPORTED);
    mine->algorithm = (uint8_t) module->policy.algorithm;
    mine->link = (uint8_t) atomic_load_explicit(&module->comm->link, memory_order_relaxed);
    mine->policy = module->policy_sum;
    set_flag(mine, COLL_SYMM_APART, !within_reach(send, recv, call));
    set_flag(mine, COLL_SYMM_PAYLOAD, fits);
    place_scratch(call);
}

/* Asks for the payload's further lines, which are on their way while we choose the plan. Not
 * earlier: asked for while their owner still writes them, they would go back and forth. */
static void prefetch_payload(const symm_slot_t *slot, uint64_t bytes)
{
    uint64_t end = bytes < SYMM_SLOT_PAYLOAD_BYTES ? bytes : SYMM_SLOT_PAYLOAD_BYTES;
    for (uint64_t at = SHORT_PAYLOAD; at < end; at += SYMM_LINE_BYTES) {
        __builtin_prefetch(slot->payload + at);
    }
}

bool coll_symm_call_seen(const coll_symm_call_t *call, int rank)
{
    const symm_slot_t *slot = slot_of(call, rank);
    /* Acquire pairs with the release in coll_symm_call_show(): description, payload and the user's
     * data behind it. */
    if (call->number != atomic_load_explicit(&slot->call, memory_order_acquire)) {
        return false;
    }
    if (0 != (call->mine.flags & COLL_SYMM_PAYLOAD)) {
        prefetch_payload(slot, call->send_len);
    }
    memcpy(&call->work->all[rank], slot->descriptor, sizeof(call->mine));
    return true;
}

/* Writes the line that the others poll last and at one go: were it taken away in between, it would
 * have to come back before the call's number can be stored. */
void coll_symm_call_show(const coll_symm_call_t *call)
{
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    symm_slot_t *slot = slot_of(call, exchange->rank);
    size_t payload = 0 != (call->mine.flags & COLL_SYMM_PAYLOAD) ? call->send_len : 0;
    size_t first = payload < SHORT_PAYLOAD ? payload : SHORT_PAYLOAD;
    if (coll_symm_traits(call->mine.collective)->rows && SYMM_ROW_RANKS_MAX >= exchange->size) {
        memcpy(row_of(call, exchange->rank), call->work->row,
               (size_t) exchange->size * sizeof(symm_block_t));
    }
    if (first < payload) {
        memcpy(slot->payload + first, call->send + first, payload - first);
        atomic_signal_fence(memory_order_release); /* the compiler keeps this order, too */
    }
    memcpy(slot->descriptor, &call->mine, sizeof(call->mine));
    if (0 < first) {
        memcpy(slot->payload, call->send, first);
    }
    if (NULL != call->pending) {
        atomic_store_explicit(step_of(call, exchange->rank), 0, memory_order_relaxed);
    }
    atomic_store_explicit(&slot->call, call->number, memory_order_release);
}

/* Whether no rank wants the communicator's collectives elsewhere. Collective. */
static bool all_take_part(symm_comm_t *comm)
{
    const symm_exchange_t *exchange = &comm->exchange;
    bool mine = !comm->ruled_out, *all = exchange->scratch;
    if (MPI_SUCCESS != symm_gather(exchange, &mine, all, sizeof(mine), "a collective")) {
        return false;
    }
    int taking_part = 0;
    for (int r = 0; r < exchange->size; ++r) {
        taking_part += all[r] ? 1 : 0;
    }
    if (0 < taking_part && taking_part < exchange->size && 0 == exchange->rank) {
        symm_log(SYMM_LOG_INFO,
                 "coll_symm_enable is true on %d of the %d ranks of a communicator: its "
                 "collectives go to the next component",
                 taking_part, exchange->size);
    }
    return taking_part == exchange->size;
}

bool coll_symm_call_open(mca_coll_symm_module_t *module)
{
    symm_comm_t *comm = module->comm;
    if (0 == atomic_load_explicit(&comm->live_windows, memory_order_relaxed) ||
        comm->control_failed) {
        return false;
    }
    if (NULL == comm->control) {
        comm->control_failed =
            !all_take_part(comm) || MPI_SUCCESS != symm_comm_make_control(comm, "a collective");
    }
    return !comm->control_failed;
}

/* Whether all ranks were told the same; otherwise they go by what the parameters say. */
static bool have_one_policy(const coll_symm_call_t *call)
{
    const coll_symm_descriptor_t *all = call->work->all;
    bool same = true;
    for (int r = 1; r < call->module->comm->exchange.size; ++r) {
        same = same && all[r].policy == all[0].policy;
    }
    return same;
}

void coll_symm_call_choose(coll_symm_call_t *call)
{
    const mca_coll_symm_module_t *module = call->module;
    call->work->all[module->comm->exchange.rank] = call->mine;
    coll_symm_policy_t policy =
        have_one_policy(call) ? module->policy : mca_coll_symm_component.policy;
    coll_symm_plan_choose(call->work->all, module->comm->exchange.size, &policy, &call->plan);
}

static bool has_shown(const coll_symm_call_t *call, int rank)
{
    return rank == call->module->comm->exchange.rank || coll_symm_call_seen(call, rank);
}

int coll_symm_call_begin(coll_symm_call_t *call)
{
    mca_coll_symm_module_t *module = call->module;
    call->number = ++module->comm->call;
    coll_symm_call_show(call);
    /* A late rank sees all the others, but those who gave up on it are in this call no more. */
    if (!coll_symm_wait_for_all(call, has_shown) || coll_symm_is_broken(module->comm)) {
        return COLL_SYMM_BROKEN;
    }
    coll_symm_call_choose(call);
    return MPI_SUCCESS;
}

void coll_symm_call_arrive(const coll_symm_call_t *call)
{
    symm_comm_t *comm = call->module->comm;
    uint64_t step = NULL != call->pending ? call->round + 1 : ++comm->step;
    /* Release: what this rank wrote into the others' memory comes before its arrival. */
    atomic_store_explicit(step_of(call, comm->exchange.rank), step, memory_order_release);
}

bool coll_symm_call_has_arrived(const coll_symm_call_t *call, int rank)
{
    uint64_t step = NULL != call->pending ? call->round + 1 : call->module->comm->step;
    return step <= atomic_load_explicit(step_of(call, rank), memory_order_acquire);
}

int coll_symm_call_step(const coll_symm_call_t *call, int rc)
{
    coll_symm_call_arrive(call);
    /* As at the beginning: all may have come, some of whom are here no more. */
    bool together = coll_symm_wait_for_all(call, coll_symm_call_has_arrived) &&
                    !coll_symm_is_broken(call->module->comm);
    return MPI_SUCCESS != rc || together ? rc : COLL_SYMM_BROKEN;
}

int coll_symm_call_wait(coll_symm_call_t *call, symm_mapping_t *mapping, int rc)
{
    if (NULL != call->pending) {
        coll_symm_pending_note(call->pending, mapping);
        return rc;
    }
    int waited = mapping->ops->queue_wait(mapping->queue);
    return MPI_SUCCESS == rc ? waited : rc;
}

static _Atomic uint64_t *left_of(const coll_symm_call_t *call, int rank)
{
    return NULL != call->pending ? &pending_of(call, rank)->left : &peer_of(call, rank)->left;
}

static int32_t *left_code_of(const coll_symm_call_t *call, int rank)
{
    return NULL != call->pending ? &pending_of(call, rank)->left_code
                                 : &peer_of(call, rank)->left_code[call->number % 2];
}

void coll_symm_call_leave(const coll_symm_call_t *call, int rc)
{
    int rank = call->module->comm->exchange.rank;
    *left_code_of(call, rank) = rc;
    /* Release: what this rank wrote into the others' buffers comes before its leaving. */
    atomic_store_explicit(left_of(call, rank), call->number, memory_order_release);
}

bool coll_symm_call_has_left(const coll_symm_call_t *call, int rank)
{
    return call->number <= atomic_load_explicit(left_of(call, rank), memory_order_acquire);
}

int coll_symm_call_left_code(const coll_symm_call_t *call, int rank)
{
    return *left_code_of(call, rank);
}

int coll_symm_call_end(const coll_symm_call_t *call, int rc)
{
    int agreed = MPI_SUCCESS;
    coll_symm_call_leave(call, rc);
    /* As at the beginning: all may have left, some of them without waiting for this rank. */
    if (!coll_symm_wait_for_all(call, coll_symm_call_has_left) ||
        coll_symm_is_broken(call->module->comm)) {
        return COLL_SYMM_BROKEN;
    }
    for (int r = 0; MPI_SUCCESS == agreed && r < call->module->comm->exchange.size; ++r) {
        agreed = coll_symm_call_left_code(call, r);
    }
    return agreed;
}

bool coll_symm_call_is_alone(const coll_symm_call_t *call)
{
    /* Of blocks in rows each rank looks at its own alone: their lengths may not match. */
    return COLL_SYMM_LOCAL == call->plan.path || (COLL_SYMM_PUSH_SLOT == call->plan.path &&
                                                  !coll_symm_traits(call->mine.collective)->rows);
}

int coll_symm_call_end_again(coll_symm_call_t *call, int rc)
{
    call->number = ++call->module->comm->call; /* a number of its own, which no slot shows */
    return coll_symm_call_end(call, rc);
}

symm_mapping_t *coll_symm_call_scratch(const coll_symm_call_t *call)
{
    bool pending = NULL != call->pending;
    return call->module->comm->scratch[pending ? SYMM_SCRATCH_PENDING : SYMM_SCRATCH_BLOCKING];
}

/* The window of that serial number. Most calls name one window again and again; a serial number is
 * never used twice on a communicator, and a live window is named by its owner. */
static const symm_window_t *window_of(coll_symm_call_t *call, uint32_t serial)
{
    if (NULL == call->window || serial != call->window->serial) {
        call->window = symm_comm_find_window(call->module->comm, serial);
    }
    return call->window;
}

static char *address_of(coll_symm_call_t *call, uint32_t serial, uint64_t offset)
{
    const symm_window_t *window = window_of(call, serial);
    return NULL == window ? NULL : window->mapping->range + offset;
}

const void *coll_symm_call_send_of(coll_symm_call_t *call, int rank)
{
    const coll_symm_descriptor_t *d = &call->work->all[rank];
    return address_of(call, d->send_window, d->send_offset);
}

void *coll_symm_call_recv_of(coll_symm_call_t *call, int rank)
{
    const coll_symm_descriptor_t *d = &call->work->all[rank];
    return address_of(call, d->recv_window, d->recv_offset);
}

const void *coll_symm_call_payload_of(const coll_symm_call_t *call, int rank)
{
    return slot_of(call, rank)->payload;
}

const symm_block_t *coll_symm_call_row_of(const coll_symm_call_t *call, int rank)
{
    return row_of(call, rank);
}

/* The window of the plan's kind that rank passes, 0 when it passes none. */
static uint32_t window_in(const coll_symm_descriptor_t *d, uint8_t place)
{
    return d->recv_place == place ? d->recv_window : d->send_place == place ? d->send_window : 0;
}

symm_mapping_t *coll_symm_call_mapping(coll_symm_call_t *call)
{
    const mca_coll_symm_module_t *module = call->module;
    uint8_t place = (uint8_t) call->plan.place;
    uint32_t serial = window_in(&call->mine, place);
    for (int r = 0; 0 == serial && r < module->comm->exchange.size; ++r) {
        serial = window_in(&call->work->all[r], place);
    }
    const symm_window_t *window = window_of(call, serial);
    return NULL == window ? NULL : window->mapping;
}
