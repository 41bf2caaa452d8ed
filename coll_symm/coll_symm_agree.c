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

/* Calls ahead of the present one whose slots are asked for: the time of a few small calls is that
 * of a line on its way. */
#define CLAIMED_AHEAD 8
#define FETCHED_AHEAD 2

/* Bytes of payload that share the descriptor's cache line. */
#define SHORT_PAYLOAD (SYMM_LINE_BYTES - offsetof(symm_slot_t, payload))

static symm_comm_peer_t *peer_of(const coll_symm_call_t *call, int rank)
{
    return &call->module->comm->control->peers[rank];
}

static int rank_of(const coll_symm_call_t *call)
{
    return call->module->comm->exchange.rank;
}

static int size_of(const coll_symm_call_t *call)
{
    return call->module->comm->exchange.size;
}

/* Behind the rows of blocking calls are those of the ring. */
static symm_block_t *row_of(const coll_symm_call_t *call, int rank)
{
    const symm_comm_t *comm = call->module->comm;
    uint64_t row = NULL != call->pending ? SYMM_BLOCKING_ROWS + call->number % SYMM_PENDING_MAX
                                         : call->number % SYMM_BLOCKING_ROWS;
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
                                 : &peer_of(call, rank)->slots[call->number % SYMM_SLOTS];
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
 * NULL when there is none. */
static const symm_window_t *search_window(mca_coll_symm_module_t *module, const void *ptr,
                                          size_t len, uint64_t gone)
{
    const symm_window_t *window = symm_window_find(ptr, len);
    if (NULL == window || !window->collectives ||
        window != symm_comm_find_window(module->comm, window->serial)) {
        return NULL;
    }
    module->recent = window;
    module->recent_gone = gone;
    return window;
}

/* The same, which looks at the recent one before it asks the registry. */
static inline const symm_window_t *find_window(mca_coll_symm_module_t *module, const void *ptr,
                                               size_t len)
{
    uint64_t gone = atomic_load_explicit(&module->comm->windows_gone, memory_order_relaxed);
    bool recent =
        NULL != module->recent && gone == module->recent_gone && holds(module->recent, ptr, len);
    return recent ? module->recent : search_window(module, ptr, len, gone);
}

/* Where a buffer lies. */
typedef struct place {
    coll_symm_place_t kind;
    const symm_window_t *window; /* NULL when it is in none */
    uint32_t serial;             /* of that, 0 for none */
    uint64_t offset;             /* in that */
} place_t;

static inline place_t place_of(mca_coll_symm_module_t *module, const void *ptr, size_t len)
{
    if (0 == len) {
        return (place_t){.kind = COLL_SYMM_NOWHERE};
    }
    const symm_window_t *window = find_window(module, ptr, len);
    if (NULL == window) {
        bool device = SYMM_POINTER_DEVICE == symm_pointer_kind(ptr);
        return (place_t){.kind = device ? COLL_SYMM_DEVICE : COLL_SYMM_HOST};
    }
    const symm_mapping_t *mapping = window->mapping;
    bool gpu = SYMM_KIND_CUDA_DEVICE == mapping->ops->kind;
    return (place_t){.kind = gpu ? COLL_SYMM_WINDOW_CUDA : COLL_SYMM_WINDOW_SYSTEM,
                     .window = window,
                     .serial = window->serial,
                     .offset = (uint64_t) ((const char *) ptr - mapping->range)};
}

/* Whether one device of this rank reaches both buffers. */
static inline bool within_reach(const place_t *send, const place_t *recv,
                                const coll_symm_call_t *call)
{
    if (NULL != send->window && NULL != recv->window) {
        return send->window->mapping->device == recv->window->mapping->device ||
               send->kind != recv->kind;
    }
    if (NULL != recv->window) {
        /* The input is read by copies, which reach everything, or it rules kernels out anyway. */
        return true;
    }
    const symm_mapping_t *mapping = NULL == send->window ? NULL : send->window->mapping;
    return NULL == mapping || COLL_SYMM_DEVICE != recv->kind ||
           mapping->ops->reaches(mapping->device, call->recv);
}

/* Whether the call is one of those of coll_symm_eager.c. */
static bool is_eager(const coll_symm_call_t *call, bool known)
{
    const mca_coll_symm_module_t *module = call->module;
    symm_comm_t *comm = module->comm;
    bool gpu = 0 < atomic_load_explicit(&comm->gpu_windows, memory_order_relaxed);
    return COLL_SYMM_BLOCKING == call->mode && module->one_policy && 1 < comm->exchange.size &&
           coll_symm_plan_is_eager(&call->mine, comm->exchange.rank, &module->policy, known, gpu);
}

/* Flags of the scratch. Blocking calls make theirs when they need it, unless that has failed;
 * nonblocking ones cannot wait for that, and have a blocking one make theirs. */
static inline int scratch_flags_of(const coll_symm_call_t *call)
{
    const symm_comm_t *comm = call->module->comm;
    bool pending_has = NULL != comm->scratch[SYMM_SCRATCH_PENDING];
    if (NULL != call->pending) {
        return pending_has ? 0 : COLL_SYMM_NO_SCRATCH;
    }
    bool wanted = COLL_SYMM_BLOCKING == call->mode && call->module->misses_scratch &&
                  !pending_has && !comm->scratch_failed[SYMM_SCRATCH_PENDING];
    return (comm->scratch_failed[SYMM_SCRATCH_BLOCKING] ? COLL_SYMM_NO_SCRATCH : 0) |
           (wanted ? COLL_SYMM_WANT_PENDING_SCRATCH : 0);
}

/* Most bytes of an input that shall travel in the slot: all that has room where not all may have to
 * wait. */
static inline size_t payload_max(const coll_symm_call_t *call, const coll_symm_traits_t *t)
{
    bool eager = COLL_SYMM_BLOCKING == call->mode && COLL_SYMM_ALL_RANKS != t->rooted && !t->rows;
    return eager ? SYMM_SLOT_PAYLOAD_BYTES : COLL_SYMM_PUSH_MAX;
}

/* The flags of a call, but for COLL_SYMM_EAGER. */
static inline uint8_t flags_of(const coll_symm_call_t *call, const place_t *send,
                               const place_t *recv)
{
    const coll_symm_descriptor_t *mine = &call->mine;
    const coll_symm_traits_t *t = coll_symm_traits(mine->collective);
    bool gpu =
        coll_symm_is_device((uint8_t) send->kind) || coll_symm_is_device((uint8_t) recv->kind);
    int flags =
        (mine->flags & (COLL_SYMM_IN_PLACE | COLL_SYMM_UNSUPPORTED)) | scratch_flags_of(call);
    if (gpu && t->reduces && !symm_dtype_on_gpu((symm_dtype_t) mine->dtype)) {
        flags |= COLL_SYMM_UNSUPPORTED; /* as a long double is */
    }
    bool gaps = 0 != mine->send_gaps || 0 != mine->recv_gaps;
    if (gaps && (call->module->policy.copy_engine_only || COLL_SYMM_PERSISTENT == call->mode)) {
        /* Kernels gather and scatter, and what they have to do is not noted. */
        flags |= COLL_SYMM_UNSUPPORTED;
    }
    bool fits = !gpu && call->send_len <= payload_max(call, t) && 0 == mine->send_gaps;
    flags |= fits && 0 == (flags & COLL_SYMM_UNSUPPORTED) ? COLL_SYMM_PAYLOAD : 0;
    flags |= within_reach(send, recv, call) ? 0 : COLL_SYMM_APART;
    return (uint8_t) flags;
}

void coll_symm_call_place(coll_symm_call_t *call)
{
    coll_symm_descriptor_t *mine = &call->mine;
    mca_coll_symm_module_t *module = call->module;
    const place_t send = place_of(module, call->send, call->send_len);
    const place_t recv = place_of(module, call->recv, call->recv_len);
    bool known = 0 == (mine->flags & COLL_SYMM_UNSUPPORTED);
    mine->flags = flags_of(call, &send, &recv);
    mine->send_place = send.kind & 7;
    mine->recv_place = recv.kind & 7;
    mine->send_window = send.serial;
    mine->recv_window = recv.serial;
    mine->send_offset = send.offset;
    mine->recv_offset = recv.offset;
    mine->algorithm = (uint8_t) module->policy.algorithm;
    mine->link = (uint8_t) atomic_load_explicit(&module->comm->link, memory_order_relaxed);
    mine->policy = module->policy_sum;
    mine->flags |= is_eager(call, known) ? COLL_SYMM_EAGER : 0;
}

/* Asks for the payload's further lines, as far as this rank reads them, which are on their way
 * while we choose the plan. Not earlier: asked for while their owner still writes them, they would
 * go back and forth. */
static void prefetch_payload(const coll_symm_call_t *call, const symm_slot_t *slot)
{
    const coll_symm_traits_t *t = coll_symm_traits(call->mine.collective);
    uint64_t bytes = t->rows ? call->send_len : call->mine.bytes;
    uint64_t from = COLL_SYMM_BLOCKS == t->send ? (uint64_t) rank_of(call) * bytes : 0;
    uint64_t end = from + bytes < SYMM_SLOT_PAYLOAD_BYTES ? from + bytes : SYMM_SLOT_PAYLOAD_BYTES;
    for (uint64_t at = from < SHORT_PAYLOAD ? SHORT_PAYLOAD : from; at < end;
         at += SYMM_LINE_BYTES) {
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
        prefetch_payload(call, slot);
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
    bool carries =
        0 != (call->mine.flags & COLL_SYMM_PAYLOAD) && COLL_SYMM_PERSISTENT != call->mode;
    size_t payload = carries ? call->send_len : 0;
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

static void choose_eager(coll_symm_call_t *call)
{
    coll_symm_plan_choose_eager(call->work->all, size_of(call), rank_of(call), &call->plan);
}

static void choose(coll_symm_call_t *call)
{
    mca_coll_symm_module_t *module = call->module;
    bool one_policy = have_one_policy(call);
    const coll_symm_policy_t *policy =
        one_policy ? &module->policy : &mca_coll_symm_component.policy;
    if (NULL == call->pending) {
        module->one_policy = one_policy;
    }
    coll_symm_plan_choose(call->work->all, size_of(call), policy, &call->plan);
}

static bool is_eager_call(const coll_symm_call_t *call)
{
    return 0 != (call->mine.flags & COLL_SYMM_EAGER);
}

void coll_symm_call_choose(coll_symm_call_t *call)
{
    call->work->all[rank_of(call)] = call->mine;
    if (is_eager_call(call)) {
        choose_eager(call);
    } else {
        choose(call);
    }
}

/* The call that rank has come to: it is done with those before. */
static uint64_t begun_by(const coll_symm_call_t *call, int rank)
{
    return atomic_load_explicit(&peer_of(call, rank)->begun, memory_order_acquire);
}

/* Whether rank is done with the call that this one is written over. */
static bool has_made_room(const coll_symm_call_t *call, int rank)
{
    return call->number < begun_by(call, rank) + SYMM_SLOTS;
}

/* Tells the others that this rank is done with the calls before, and waits until all are with the
 * one that this call is written over. In all but long runs of eager calls it is known that they
 * are. Rows need no such care: all leave the calls that have any together. Returns false where the
 * communicator is broken. */
static bool await_room(const coll_symm_call_t *call)
{
    symm_comm_t *comm = call->module->comm;
    /* Release: what this rank has read in the others' slots comes before. */
    atomic_store_explicit(&peer_of(call, rank_of(call))->begun, call->number, memory_order_release);
    if (call->number < comm->begun + SYMM_SLOTS) {
        return true;
    }
    if (!coll_symm_wait_for_all(call, has_made_room)) {
        return false;
    }
    comm->begun = call->number;
    for (int r = 0; r < size_of(call); ++r) {
        uint64_t begun = begun_by(call, r);
        comm->begun = begun < comm->begun ? begun : comm->begun;
    }
    return true;
}

/* Asks for the slot of a later call: one of this rank, to be written, which the others have read
 * last; or one of a root's, who may have written it already. Else each call of a long run waits for
 * a line on its way between cores. */
static void claim_ahead(const coll_symm_call_t *call)
{
    symm_slot_t *slots = peer_of(call, rank_of(call))->slots;
    symm_prefetch_to_write(&slots[(call->number + CLAIMED_AHEAD) % SYMM_SLOTS]);
}

static void fetch_ahead(const coll_symm_call_t *call, int root)
{
    const symm_slot_t *slots = peer_of(call, root)->slots;
    __builtin_prefetch(&slots[(call->number + FETCHED_AHEAD) % SYMM_SLOTS]);
}

static bool has_shown(const coll_symm_call_t *call, int rank)
{
    coll_symm_ranks_t needed = coll_symm_needed(&call->mine, rank_of(call), size_of(call));
    return rank == rank_of(call) || rank < needed.first || rank >= needed.end ||
           coll_symm_call_seen(call, rank);
}

static bool has_root_shown(const coll_symm_call_t *call, int rank)
{
    return rank != (int) call->mine.root || coll_symm_call_seen(call, rank);
}

/* Waits for those that this rank needs. What comes from the root is eager if the root says so.
 * Returns false where the communicator is broken. */
static bool await_needed(coll_symm_call_t *call)
{
    coll_symm_descriptor_t *mine = &call->mine;
    int root = mine->root;
    if (COLL_SYMM_FROM_ROOT == coll_symm_traits(mine->collective)->rooted &&
        root != rank_of(call)) {
        coll_symm_ranks_t only = {root, root + 1};
        if (!coll_symm_wait_for(call, only, has_root_shown)) {
            return false;
        }
        mine->flags |= call->work->all[root].flags & COLL_SYMM_EAGER;
        fetch_ahead(call, root);
    }
    return coll_symm_wait_for(call, coll_symm_needed(mine, rank_of(call), size_of(call)),
                              has_shown);
}

int coll_symm_call_begin(coll_symm_call_t *call)
{
    mca_coll_symm_module_t *module = call->module;
    call->number = ++module->comm->call;
    if (!await_room(call)) {
        return COLL_SYMM_BROKEN;
    }
    coll_symm_eager_load(call, slot_of(call, rank_of(call))->payload);
    coll_symm_call_show(call);
    /* A late rank sees all the others, but those who gave up on it are in this call no more. */
    if (!await_needed(call) || coll_symm_is_broken(module->comm)) {
        return COLL_SYMM_BROKEN;
    }
    claim_ahead(call);
    coll_symm_call_choose(call);
    if (!is_eager_call(call)) {
        module->comm->begun = call->number; /* all have shown it */
    }
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
    if (COLL_SYMM_NONBLOCKING == call->mode) {
        coll_symm_pending_note(call->pending, mapping);
    }
    if (COLL_SYMM_BLOCKING != call->mode) {
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
    return COLL_SYMM_LOCAL == call->plan.path || COLL_SYMM_EAGER_SLOT == call->plan.path ||
           (COLL_SYMM_PUSH_SLOT == call->plan.path &&
            !coll_symm_traits(call->mine.collective)->rows);
}

int coll_symm_call_end_again(coll_symm_call_t *call, int rc)
{
    call->number = ++call->module->comm->call; /* a number of its own, which no slot shows */
    return coll_symm_call_end(call, rc);
}

symm_mapping_t *coll_symm_call_scratch(const coll_symm_call_t *call)
{
    symm_mapping_t *const *scratch = call->module->comm->scratch;
    switch (call->mode) {
    case COLL_SYMM_BLOCKING:
        return scratch[SYMM_SCRATCH_BLOCKING];
    case COLL_SYMM_NONBLOCKING:
        return scratch[SYMM_SCRATCH_PENDING];
    default:
        return call->scratch;
    }
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
    const symm_slot_t *slot = NULL != call->places ? &call->places[rank].slot : slot_of(call, rank);
    uint8_t apart = call->mine.flags & (COLL_SYMM_PAYLOAD | COLL_SYMM_IN_PLACE);
    return rank == rank_of(call) && COLL_SYMM_PAYLOAD == apart ? (const void *) call->send
                                                               : (const void *) slot->payload;
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
