/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Gathering moves and launching them together. */
#include "symm_config.h"

#include "symm_cuda_batch.h"

#include "symm_batch.h"
#include "symm_log.h"
#include "symm_spin.h"

#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS       4
#define PIECES      1024
#define PIECE_BYTES (PIECES * sizeof(symm_batch_piece_t))
#define SLOT_BYTES  (PIECE_BYTES + SYMM_CUDA_BATCH_DATA)

/* Bytes of a slot's data that one move may take beside its own: to be aligned, and for the bytes
 * that come out of the piece before it. */
#define ALIGNING 64

/* Units beyond which nothing more is gathered, far from where their number overflows. */
#define UNITS_MAX (1u << 28)

_Static_assert(SYMM_CUDA_BATCH_DATA <= SYMM_BATCH_DATA_MAX, "offsets must not look like addresses");

typedef struct slot {
    symm_batch_piece_t *pieces; /* [PIECES], mapped */
    char *data;                 /* [SYMM_CUDA_BATCH_DATA], mapped */
    uint32_t piece_count;
    uint32_t unit_count;
    size_t data_used;
    bool grown;    /* the last piece is a run that others have joined: to be cut anew */
    bool promised; /* to be launched even if it is empty */
    bool launched;
    uint32_t value; /* of its launch */
    symm_rows_t *deliveries;
    size_t delivery_count, delivery_capacity;
} slot_t;

struct symm_cuda_batch {
    slot_t slots[SLOTS];
    slot_t *open;
    char *memory;
    ptrdiff_t to_device; /* from a host address in memory to the device's */
};

/* ---- memory ---- */

static void set_slots(symm_cuda_batch_t *batch)
{
    for (int i = 0; i < SLOTS; ++i) {
        char *start = batch->memory + (size_t) i * SLOT_BYTES;
        batch->slots[i].pieces = (symm_batch_piece_t *) (void *) start;
        batch->slots[i].data = start + PIECE_BYTES;
    }
    batch->open = &batch->slots[0];
}

static int map_memory(symm_cuda_batch_t *batch)
{
    void *memory;
    CUdeviceptr device;
    int rc = symm_cuda_check_log(
        SYMM_LOG_ERROR,
        symm_cuda.cuMemHostAlloc(&memory, SLOTS * SLOT_BYTES,
                                 CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
        "cuMemHostAlloc of the memory to gather operations in");
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    batch->memory = memory;
    rc =
        symm_cuda_check_log(SYMM_LOG_ERROR, symm_cuda.cuMemHostGetDevicePointer(&device, memory, 0),
                            "cuMemHostGetDevicePointer");
    batch->to_device = (ptrdiff_t) (device - (uintptr_t) memory);
    return rc;
}

void symm_cuda_batch_destroy(symm_queue_t *queue)
{
    symm_cuda_batch_t *batch = queue->batch;
    if (NULL == batch) {
        return;
    }
    for (int i = 0; i < SLOTS; ++i) {
        free(batch->slots[i].deliveries);
    }
    if (NULL != batch->memory) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuMemFreeHost(batch->memory),
                                   "cuMemFreeHost");
    }
    free(batch);
    queue->batch = NULL;
}

/* Makes the queue's batches, when something is gathered first. */
static int create(symm_queue_t *queue)
{
    symm_cuda_scope_t scope;
    queue->batch = calloc(1, sizeof(*queue->batch));
    if (NULL == queue->batch) {
        return MPI_ERR_NO_MEM;
    }
    int rc = symm_cuda_enter(queue->device, &scope);
    if (MPI_SUCCESS == rc) {
        rc = map_memory(queue->batch);
        if (MPI_SUCCESS != rc) {
            symm_cuda_batch_destroy(queue);
        }
        symm_cuda_leave(&scope);
    } else {
        symm_cuda_batch_destroy(queue);
    }
    if (MPI_SUCCESS == rc) {
        set_slots(queue->batch);
    }
    return rc;
}

/* ---- gathering ---- */

/* Whether the open slot takes one more move with len bytes of data. */
static inline bool has_room(const slot_t *slot, size_t len)
{
    return !slot->launched && 2 * SYMM_BATCH_CUTS <= PIECES - slot->piece_count &&
           UNITS_MAX > slot->unit_count && slot->data_used + ALIGNING + len <= SYMM_CUDA_BATCH_DATA;
}

/* Appends the pieces of rows. */
static void append_pieces(slot_t *slot, const symm_rows_t *rows)
{
    symm_batch_piece_t *pieces = &slot->pieces[slot->piece_count];
    unsigned count = symm_batch_cut(rows, pieces);
    for (unsigned i = 0; i < count; ++i) {
        pieces[i].first_unit = slot->unit_count;
        slot->unit_count += pieces[i].units;
    }
    slot->piece_count += count;
}

/* Cuts the last piece anew, if it is a run that others have joined. */
static void settle(slot_t *slot)
{
    if (slot->grown) {
        const symm_batch_piece_t *last = &slot->pieces[--slot->piece_count];
        symm_rows_t run = {.dst = (char *) (uintptr_t) last->dst,
                           .src = (const char *) (uintptr_t) last->src,
                           .len = last->len,
                           .rows = 1};
        slot->unit_count -= last->units;
        slot->grown = false;
        append_pieces(slot, &run);
    }
}

/* Takes a run, as a part of the last piece if it goes on where that ends. */
static inline void append_run(slot_t *slot, uint64_t dst, uint64_t src, size_t len)
{
    symm_batch_piece_t *last = &slot->pieces[slot->piece_count - 1];
    if (0 < slot->piece_count && last->dst + last->len == dst && last->src + last->len == src &&
        1 == last->rows && SYMM_BATCH_INSIDE != last->src) {
        last->len += len;
        slot->grown = true;
        return;
    }
    settle(slot);
    if (symm_batch_is_simple(len)) {
        symm_batch_simple(&slot->pieces[slot->piece_count++], dst, src, len, slot->unit_count++);
    } else {
        symm_rows_t run = {.dst = (char *) (uintptr_t) dst,
                           .src = (const char *) (uintptr_t) src,
                           .len = len,
                           .rows = 1};
        append_pieces(slot, &run);
    }
}

static inline void append(slot_t *slot, const symm_rows_t *rows)
{
    if (1 == rows->rows) {
        append_run(slot, (uintptr_t) rows->dst, (uintptr_t) rows->src, rows->len);
    } else {
        settle(slot);
        append_pieces(slot, rows);
    }
}

/* Room in the data for rows, packed; at the same alignment as `like`, so that wide accesses work.
 */
static inline size_t take_data(slot_t *slot, size_t len, const void *like)
{
    size_t at = slot->data_used + (((uintptr_t) like - slot->data_used) & 15);
    slot->data_used = at + len;
    return at;
}

void symm_cuda_batch_rows(symm_queue_t *queue, const symm_rows_t *rows)
{
    append(queue->batch->open, rows);
}

void symm_cuda_batch_put(symm_queue_t *queue, const symm_rows_t *rows)
{
    slot_t *slot = queue->batch->open;
    size_t at = take_data(slot, rows->len * rows->rows, rows->dst);
    symm_rows_t move = *rows;
    symm_rows_t pack = *rows;
    pack.dst = slot->data + at;
    pack.dst_pitch = (ptrdiff_t) rows->len;
    symm_rows_copy_host(&pack);
    move.src = (const char *) at;
    move.src_pitch = (ptrdiff_t) rows->len;
    append(slot, &move);
}

/* Copies a few bytes; those of the most frequent length without a call. */
static inline void copy_few(void *dst, const void *src, size_t len)
{
    if (sizeof(uint64_t) == len) {
        memcpy(dst, src, sizeof(uint64_t));
    } else {
        memcpy(dst, src, len);
    }
}

/* Takes the last piece's bytes out of it, to where others can follow them. */
static void move_outside(slot_t *slot, symm_batch_piece_t *last)
{
    size_t at = take_data(slot, last->len, (const void *) (uintptr_t) last->dst);
    memcpy(slot->data + at, last->inside, last->len);
    last->src = at;
    last->dst_pitch = 0;
    last->src_pitch = 0;
    slot->grown = true;
}

/* Takes a run of a few bytes into a piece of its own. Returns false when it goes on where the last
 * piece ends. */
static inline bool put_inside(slot_t *slot, void *dst, const void *src, size_t len)
{
    symm_batch_piece_t *last = &slot->pieces[slot->piece_count - 1];
    if (0 < slot->piece_count && (uintptr_t) dst == last->dst + last->len && 1 == last->rows) {
        if (SYMM_BATCH_INSIDE == last->src) {
            move_outside(slot, last);
        }
        return false;
    }
    settle(slot);
    symm_batch_piece_t *piece = &slot->pieces[slot->piece_count++];
    symm_batch_inside(piece, (uintptr_t) dst, len, slot->unit_count++);
    copy_few(piece->inside, src, len);
    return true;
}

/* The fast path is one call: it looks for room by itself. */
int symm_cuda_batch_put_run(symm_queue_t *queue, void *dst, const void *src, size_t len)
{
    if (NULL == queue->batch || !has_room(queue->batch->open, len)) {
        size_t room;
        int rc = symm_cuda_batch_room(queue, len, &room);
        if (MPI_SUCCESS != rc) {
            return rc;
        }
    }
    slot_t *slot = queue->batch->open;
    if (SYMM_BATCH_INSIDE_MAX < len || !put_inside(slot, dst, src, len)) {
        size_t at = take_data(slot, len, dst);
        memcpy(slot->data + at, src, len);
        append_run(slot, (uintptr_t) dst, at, len);
    }
    return MPI_SUCCESS;
}

static int add_delivery(slot_t *slot, const symm_rows_t *delivery)
{
    if (slot->delivery_count == slot->delivery_capacity) {
        size_t capacity = 2 * slot->delivery_capacity + 64;
        symm_rows_t *deliveries = realloc(slot->deliveries, capacity * sizeof(*deliveries));
        if (NULL == deliveries) {
            return MPI_ERR_NO_MEM;
        }
        slot->deliveries = deliveries;
        slot->delivery_capacity = capacity;
    }
    slot->deliveries[slot->delivery_count++] = *delivery;
    return MPI_SUCCESS;
}

int symm_cuda_batch_get(symm_queue_t *queue, const symm_rows_t *rows)
{
    slot_t *slot = queue->batch->open;
    size_t at = take_data(slot, rows->len * rows->rows, rows->src);
    symm_rows_t move = *rows;
    symm_rows_t delivery = *rows;
    delivery.src = slot->data + at;
    delivery.src_pitch = (ptrdiff_t) rows->len;
    int rc = add_delivery(slot, &delivery);
    if (MPI_SUCCESS == rc) {
        move.dst = slot->data + at + queue->batch->to_device;
        move.dst_pitch = (ptrdiff_t) rows->len;
        append(slot, &move);
    }
    return rc;
}

/* ---- launching ---- */

static bool slot_empty(const slot_t *slot)
{
    return 0 == slot->piece_count;
}

bool symm_cuda_batch_pending(const symm_queue_t *queue)
{
    const slot_t *open = NULL == queue->batch ? NULL : queue->batch->open;
    return NULL != open && !open->launched && (open->promised || !slot_empty(open));
}

/* Returns how many bytes of the parameters count. */
static size_t fill_params(const symm_cuda_batch_t *batch, const slot_t *slot, uint32_t blocks,
                          symm_batch_params_t *params)
{
    size_t pieces_len = slot->piece_count * sizeof(*slot->pieces);
    size_t carried = pieces_len + slot->data_used;
    params->piece_count = slot->piece_count;
    params->unit_count = slot->unit_count;
    params->units_per_block = (slot->unit_count + blocks - 1) / blocks;
    params->units_per_block = 0 == params->units_per_block ? 1 : params->units_per_block;
    params->reserved = 0;
    params->pieces = NULL;
    params->data = NULL;
    if (SYMM_BATCH_CARRIED >= carried) {
        memcpy(params->carried, slot->pieces, pieces_len);
        memcpy(params->carried + pieces_len, slot->data, slot->data_used);
    } else {
        params->pieces = (const void *) ((const char *) slot->pieces + batch->to_device);
        params->data = (const void *) (slot->data + batch->to_device);
        carried = 0;
    }
    return offsetof(symm_batch_params_t, carried) + carried;
}

static void empty_slot(slot_t *slot)
{
    slot->piece_count = 0;
    slot->unit_count = 0;
    slot->data_used = 0;
    slot->delivery_count = 0;
    slot->grown = false;
    slot->promised = false;
    slot->launched = false;
}

static int launch_slot(symm_queue_t *queue, slot_t *slot)
{
    static const char name[] = SYMM_BATCH_KERNEL;
    symm_batch_params_t params;
    settle(slot);
    uint32_t blocks = symm_batch_blocks(slot->unit_count, queue->device->multiprocessors);
    size_t params_len = fill_params(queue->batch, slot, blocks, &params);
    symm_cuda_kernel_t kernel = {SYMM_FATBIN_BATCH, name, &queue->device->batch_kernel};
    return symm_cuda_launch(queue, &kernel, &params, params_len, blocks, SYMM_BATCH_THREADS);
}

int symm_cuda_batch_launch(symm_queue_t *queue)
{
    if (!symm_cuda_batch_pending(queue)) {
        return MPI_SUCCESS;
    }
    symm_cuda_batch_t *batch = queue->batch;
    slot_t *slot = batch->open;
    uint32_t expected = queue->flag_value + 1;
    slot->launched = true; /* closed, so that the launch below finds nothing to launch before it */
    int rc = launch_slot(queue, slot);
    if (MPI_SUCCESS != rc) {
        empty_slot(slot);
        queue->flag_value = expected; /* whoever waits for this launch learns that it is over */
        queue->out_of_step = true;
        return rc;
    }
    slot->value = queue->flag_value;
    batch->open = &batch->slots[(slot - batch->slots + 1) % SLOTS];
    return MPI_SUCCESS;
}

/* ---- ending ---- */

/* Hands over what a slot has got. */
static void deliver(const slot_t *slot)
{
    for (size_t i = 0; i < slot->delivery_count; ++i) {
        symm_rows_copy_host(&slot->deliveries[i]);
    }
}

void symm_cuda_batch_finish(symm_queue_t *queue, uint32_t done, int rc)
{
    symm_cuda_batch_t *batch = queue->batch;
    bool idle = true;
    for (int i = 0; NULL != batch && i < SLOTS; ++i) {
        slot_t *slot = &batch->slots[i];
        if (slot->launched && 0 <= (int32_t) (done - slot->value)) {
            if (MPI_SUCCESS == rc) {
                deliver(slot);
            }
            empty_slot(slot);
        }
        idle = idle && !slot->launched && slot_empty(slot) && !slot->promised;
    }
    if (NULL != batch && idle) {
        batch->open = &batch->slots[0]; /* whose memory is most likely in the caches */
    }
}

/* ---- making room ---- */

/* Launches the open slot, and waits until the next one is free. */
static int next_slot(symm_queue_t *queue)
{
    symm_cuda_scope_t scope;
    int rc = symm_cuda_enter(queue->device, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = symm_cuda_batch_launch(queue);
    if (MPI_SUCCESS == rc && queue->batch->open->launched) {
        rc = symm_cuda_queue_await(queue, queue->batch->open->value);
    }
    symm_cuda_leave(&scope);
    return rc;
}

int symm_cuda_batch_room(symm_queue_t *queue, size_t len, size_t *room_p)
{
    int rc = NULL == queue->batch ? create(queue) : MPI_SUCCESS;
    if (MPI_SUCCESS == rc && !has_room(queue->batch->open, len)) {
        rc = next_slot(queue);
    }
    if (MPI_SUCCESS == rc) {
        *room_p = SYMM_CUDA_BATCH_DATA - ALIGNING - queue->batch->open->data_used;
    }
    return rc;
}

int symm_cuda_batch_promise(symm_queue_t *queue)
{
    size_t room;
    int rc = symm_cuda_batch_room(queue, 0, &room);
    if (MPI_SUCCESS == rc) {
        queue->batch->open->promised = true;
    }
    return rc;
}
