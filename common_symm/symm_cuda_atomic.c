/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Atomic updates of the cuda backend. Small ones are gathered and launched together; large ones get
 * a launch of their own.
 *
 * NOTE stages. What a launch reads and what it fetches for host memory lies in a stage, a piece of
 * pinned memory: its updates in front, operands and results behind. Two stages take turns, so that
 * one is filled while the GPU works on the other; large operands go through them in parts.
 *
 * NOTE order. The updates of one launch are done in any order. One that could be told from an
 * earlier one of the same launch by its outcome (it touches the same element, and they are not two
 * additions, say, of which none is fetched) goes to the next launch; launches are in order. */
#include "symm_config.h"

#include "symm_atomic_params.h"
#include "symm_cuda_queue.h"
#include "symm_log.h"
#include "symm_reduce_kernel.h"
#include "symm_touched.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define STAGES     2
#define PIECES_MAX 2048

/* Bytes behind the pieces of a stage, and how many of them one update may take. */
#define DATA_BYTES  ((size_t) 1 << 20)
#define SHARE_BYTES (DATA_BYTES / 4)

/* Bytes of targets from which on an update is launched alone, and into what shares a smaller one is
 * cut where others are launched with it: a warp works on each. */
#define ALONE_BYTES ((size_t) 256 << 10)
#define PART_BYTES  ((size_t) 4 << 10)

/* A result that is not in place when its launch is done: rows of len bytes at `from`. */
typedef struct delivery {
    char *to;
    const char *from;
    size_t len;
    uint64_t rows;
    ptrdiff_t pitch; /* at `to` */
    bool by_copy;    /* the device's copy engine brings it */
} delivery_t;

typedef struct stage {
    char *memory; /* pinned; PIECES_MAX pieces, then data */
    CUdeviceptr memory_dev;
    size_t used; /* bytes of data */
    delivery_t *deliveries;
    uint32_t delivery_count;
    bool in_flight;
    uint32_t launch; /* its number, when in flight */
} stage_t;

struct symm_cuda_atomics {
    stage_t stages[STAGES];
    int current;
    uint32_t piece_count; /* of the batch that is being gathered in the current stage */
    uint32_t call_count;  /* calls that these are from */
    uint64_t elements;    /* of all pieces */
    symm_atomic_op_t op;
    symm_dtype_t dtype;
    bool all_commute;
    symm_touched_t touched;
};

typedef struct symm_cuda_atomics atomics_t;

/* ---- stages ---- */

static int create_stage(stage_t *stage)
{
    size_t len = PIECES_MAX * sizeof(symm_atomic_piece_t) + DATA_BYTES;
    void *memory = NULL;
    stage->deliveries = malloc(PIECES_MAX * sizeof(stage->deliveries[0]));
    if (NULL == stage->deliveries) {
        return MPI_ERR_NO_MEM;
    }
    int rc = symm_cuda_check_log(
        SYMM_LOG_ERROR,
        symm_cuda.cuMemHostAlloc(&memory, len,
                                 CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE),
        "cuMemHostAlloc for updates; raise the limit of locked memory (ulimit -l)");
    stage->memory = memory;
    return MPI_SUCCESS == rc ? symm_cuda_check_log(SYMM_LOG_ERROR,
                                                   symm_cuda.cuMemHostGetDevicePointer(
                                                       &stage->memory_dev, memory, 0),
                                                   "cuMemHostGetDevicePointer")
                             : rc;
}

void symm_cuda_atomics_free(symm_queue_t *queue)
{
    atomics_t *atomics = queue->atomics;
    for (int s = 0; NULL != atomics && s < STAGES; ++s) {
        if (NULL != atomics->stages[s].memory) {
            (void) symm_cuda_check_log(
                SYMM_LOG_WARN, symm_cuda.cuMemFreeHost(atomics->stages[s].memory), "cuMemFreeHost");
        }
        free(atomics->stages[s].deliveries);
    }
    free(atomics);
    queue->atomics = NULL;
}

/* Makes what updates need, at the first of them. */
static int prepare(symm_queue_t *queue)
{
    if (NULL != queue->atomics) {
        return MPI_SUCCESS;
    }
    queue->atomics = calloc(1, sizeof(*queue->atomics));
    int rc = NULL == queue->atomics ? MPI_ERR_NO_MEM : MPI_SUCCESS;
    for (int s = 0; MPI_SUCCESS == rc && s < STAGES; ++s) {
        rc = create_stage(&queue->atomics->stages[s]);
    }
    if (MPI_SUCCESS == rc) {
        symm_touched_clear(&queue->atomics->touched);
    } else {
        symm_cuda_atomics_free(queue);
    }
    return rc;
}

/* Puts results into the host memory they are for; the launch is done. */
static void deliver(const stage_t *stage)
{
    for (uint32_t d = 0; d < stage->delivery_count; ++d) {
        const delivery_t *delivery = &stage->deliveries[d];
        for (uint64_t row = 0; !delivery->by_copy && row < delivery->rows; ++row) {
            memcpy(delivery->to + (ptrdiff_t) row * delivery->pitch,
                   delivery->from + row * delivery->len, delivery->len);
        }
    }
}

void symm_cuda_atomics_finish(symm_queue_t *queue, uint32_t done, int rc)
{
    for (int i = 0; NULL != queue->atomics && i < STAGES; ++i) {
        stage_t *stage = &queue->atomics->stages[i];
        if (!stage->in_flight || 0 > (int32_t) (done - stage->launch)) {
            continue;
        }
        if (MPI_SUCCESS == rc) {
            deliver(stage);
        }
        stage->delivery_count = 0;
        stage->in_flight = false;
    }
}

bool symm_cuda_atomics_pending(const symm_queue_t *queue)
{
    return NULL != queue->atomics && 0 < queue->atomics->piece_count;
}

/* ---- launching ---- */

static symm_atomic_piece_t *pieces_of(const stage_t *stage)
{
    return (symm_atomic_piece_t *) (void *) stage->memory;
}

/* The device's address of a place in the stage. */
static void *at_device(const stage_t *stage, const char *place)
{
    return (char *) (uintptr_t) stage->memory_dev + (place - stage->memory);
}

/* Lets the copy engine bring the results that are for memory which kernels do not reach. */
static int copy_results(symm_queue_t *queue, const stage_t *stage)
{
    int rc = MPI_SUCCESS;
    for (uint32_t d = 0; d < stage->delivery_count; ++d) {
        const delivery_t *delivery = &stage->deliveries[d];
        for (uint64_t row = 0; MPI_SUCCESS == rc && delivery->by_copy && row < delivery->rows;
             ++row) {
            rc = symm_cuda_copy_entered(queue, SYMM_LANE_MAIN,
                                        delivery->to + (ptrdiff_t) row * delivery->pitch,
                                        delivery->from + row * delivery->len, delivery->len);
        }
    }
    return rc;
}

static int launch_batch(symm_queue_t *queue, const stage_t *stage)
{
    atomics_t *atomics = queue->atomics;
    char name[SYMM_ATOMIC_KERNEL_NAME_MAX];
    symm_atomic_params_t params = {.piece_count = atomics->piece_count,
                                   .pieces = at_device(stage, stage->memory)};
    if (0 != symm_atomic_kernel_name(atomics->op, atomics->dtype, name, sizeof(name))) {
        return MPI_ERR_OP;
    }
    params.one = pieces_of(stage)[0];
    symm_cuda_kernel_t kernel = {SYMM_FATBIN_ATOMIC, name,
                                 &queue->device->atomic_kernels[atomics->op][atomics->dtype]};
    return symm_cuda_launch(
        queue, &kernel, &params, sizeof(params),
        symm_atomic_blocks(atomics->piece_count, atomics->elements, queue->device->multiprocessors),
        SYMM_ATOMIC_THREADS);
}

int symm_cuda_atomics_launch(symm_queue_t *queue)
{
    atomics_t *atomics = queue->atomics;
    if (!symm_cuda_atomics_pending(queue)) {
        return MPI_SUCCESS;
    }
    stage_t *stage = &atomics->stages[atomics->current];
    int rc = launch_batch(queue, stage);
    if (MPI_SUCCESS == rc) {
        stage->launch = queue->flag_value;
        stage->in_flight = true;
        rc = copy_results(queue, stage);
    } else {
        stage->delivery_count = 0; /* nothing was fetched */
    }
    atomics->current = (atomics->current + 1) % STAGES;
    atomics->piece_count = 0;
    symm_touched_clear(&atomics->touched);
    return rc;
}

/* Begins a batch in the next stage, once the launch before the last is done with it. */
static int begin_batch(symm_queue_t *queue, const symm_update_t *update)
{
    atomics_t *atomics = queue->atomics;
    stage_t *stage = &atomics->stages[atomics->current];
    int rc = MPI_SUCCESS;
    if (stage->in_flight) {
        rc = symm_cuda_queue_await(queue, stage->launch);
    }
    stage->used = 0;
    atomics->call_count = 0;
    atomics->elements = 0;
    atomics->op = update->atomic.op;
    atomics->dtype = update->atomic.dtype;
    atomics->all_commute = true;
    return rc;
}

/* ---- gathering ---- */

static size_t row_bytes(const symm_atomic_t *atomic)
{
    return atomic->count * symm_dtype_size(atomic->dtype);
}

/* Bytes of operands and results that go through the stage, each rounded up to whole lines. */
static size_t share_of(const symm_update_t *update)
{
    const symm_atomic_t *atomic = &update->atomic;
    size_t len = (atomic->rows * row_bytes(atomic) + 63) / 64 * 64;
    bool origin = NULL != atomic->origin && SYMM_REACH_KERNEL != update->origin;
    bool result = NULL != atomic->result && SYMM_REACH_KERNEL != update->result;
    return (origin + result) * len;
}

/* Whether the order of two such updates of an element cannot be told. */
static bool commutes(const symm_atomic_t *atomic)
{
    return NULL == atomic->result && SYMM_OP_COUNT > atomic->op;
}

/* Where the targets are, from the first byte to the last. */
static symm_range_t target_range(const symm_atomic_t *atomic)
{
    uintptr_t first = (uintptr_t) atomic->target;
    uintptr_t last = first + (uintptr_t) ((ptrdiff_t) (atomic->rows - 1) * atomic->target_pitch);
    return (symm_range_t){first < last ? first : last,
                          (first < last ? last : first) + row_bytes(atomic)};
}

/* Notes where the update goes. Returns false when it must not be in one launch with the others. */
static bool note_targets(atomics_t *atomics, const symm_update_t *update)
{
    symm_range_t range = target_range(&update->atomic);
    bool commuting = commutes(&update->atomic);
    /* The targets of one call do not overlap. */
    bool others = update->first ? 0 < atomics->call_count : 1 < atomics->call_count;
    if (!update->ordered) {
        return true;
    }
    if (others && !(commuting && atomics->all_commute) &&
        symm_touched_has(&atomics->touched, range.begin, range.end)) {
        return false;
    }
    atomics->all_commute = atomics->all_commute && commuting;
    return symm_touched_add(&atomics->touched, range.begin, range.end);
}

/* Whether the update can be one more of the batch; then its targets are noted. */
static bool fits(atomics_t *atomics, const symm_update_t *update)
{
    const stage_t *stage = &atomics->stages[atomics->current];
    return 0 < atomics->piece_count && PIECES_MAX > atomics->piece_count &&
           atomics->op == update->atomic.op && atomics->dtype == update->atomic.dtype &&
           DATA_BYTES - stage->used >= share_of(update) && note_targets(atomics, update);
}

/* Room for the update's rows in the stage, one behind the other. */
static char *take_share(stage_t *stage, const symm_atomic_t *atomic)
{
    char *share = stage->memory + PIECES_MAX * sizeof(symm_atomic_piece_t) + stage->used;
    stage->used += (atomic->rows * row_bytes(atomic) + 63) / 64 * 64;
    return share;
}

/* Brings operands to where kernels reach them. */
static int stage_origin(symm_queue_t *queue, stage_t *stage, const symm_update_t *update,
                        symm_atomic_piece_t *piece)
{
    const symm_atomic_t *atomic = &update->atomic;
    size_t len = row_bytes(atomic);
    int rc = MPI_SUCCESS;
    if (NULL == atomic->origin || SYMM_REACH_KERNEL == update->origin) {
        return MPI_SUCCESS;
    }
    if (SYMM_REACH_HOST == update->origin && 1 == atomic->count && 1 == atomic->rows) {
        piece->origin = NULL;
        memcpy(&piece->value[0], atomic->origin, len);
        return MPI_SUCCESS;
    }
    char *share = take_share(stage, atomic);
    for (uint64_t row = 0; MPI_SUCCESS == rc && row < atomic->rows; ++row) {
        const char *from = (const char *) atomic->origin + (ptrdiff_t) row * atomic->origin_pitch;
        if (SYMM_REACH_HOST == update->origin) {
            memcpy(share + row * len, from, len);
        } else {
            rc = symm_cuda_copy_entered(queue, SYMM_LANE_MAIN, share + row * len, from, len);
        }
    }
    piece->origin = at_device(stage, share);
    piece->origin_pitch = (int64_t) len;
    return rc;
}

static void stage_result(stage_t *stage, const symm_update_t *update, symm_atomic_piece_t *piece)
{
    const symm_atomic_t *atomic = &update->atomic;
    size_t len = row_bytes(atomic);
    if (NULL == atomic->result || SYMM_REACH_KERNEL == update->result) {
        return;
    }
    char *share = take_share(stage, atomic);
    stage->deliveries[stage->delivery_count++] =
        (delivery_t){.to = atomic->result,
                     .from = share,
                     .len = len,
                     .rows = atomic->rows,
                     .pitch = atomic->result_pitch,
                     .by_copy = SYMM_REACH_COPY == update->result};
    piece->result = at_device(stage, share);
    piece->result_pitch = (int64_t) len;
}

/* Makes the next piece of the batch. */
static int make_piece(symm_queue_t *queue, const symm_update_t *update)
{
    atomics_t *atomics = queue->atomics;
    const symm_atomic_t *atomic = &update->atomic;
    stage_t *stage = &atomics->stages[atomics->current];
    symm_atomic_piece_t piece = {.target = atomic->target,
                                 .origin = atomic->origin,
                                 .result = atomic->result,
                                 .count = atomic->count,
                                 .rows = atomic->rows,
                                 .target_pitch = atomic->target_pitch,
                                 .origin_pitch = atomic->origin_pitch,
                                 .result_pitch = atomic->result_pitch};
    if (NULL != atomic->compare) {
        memcpy(&piece.value[1], atomic->compare, row_bytes(atomic));
    }
    int rc = stage_origin(queue, stage, update, &piece);
    if (MPI_SUCCESS == rc) {
        stage_result(stage, update, &piece);
        pieces_of(stage)[atomics->piece_count++] = piece;
        atomics->call_count += update->first || 0 == atomics->call_count;
        atomics->elements += atomic->rows * atomic->count;
    }
    return rc;
}

/* Adds an update that needs no cutting. */
static int add(symm_queue_t *queue, const symm_update_t *update)
{
    int rc = MPI_SUCCESS;
    if (!fits(queue->atomics, update)) {
        rc = symm_cuda_atomics_launch(queue);
        if (MPI_SUCCESS == rc) {
            rc = begin_batch(queue, update);
        }
        (void) note_targets(queue->atomics, update); /* the first of a batch always fits */
    }
    return MPI_SUCCESS == rc ? make_piece(queue, update) : rc;
}

/* The part of an update that begins at a row and element of it. */
static symm_update_t part_of(const symm_update_t *update, uint64_t row, uint64_t element,
                             uint64_t rows, uint64_t count)
{
    symm_update_t part = *update;
    symm_atomic_t *atomic = &part.atomic;
    ptrdiff_t n = (ptrdiff_t) row;
    ptrdiff_t at = (ptrdiff_t) (element * symm_dtype_size(atomic->dtype));
    atomic->rows = rows;
    atomic->count = count;
    atomic->target = (char *) atomic->target + n * atomic->target_pitch + at;
    if (NULL != atomic->origin) {
        atomic->origin = (const char *) atomic->origin + n * atomic->origin_pitch + at;
    }
    if (NULL != atomic->result) {
        atomic->result = (char *) atomic->result + n * atomic->result_pitch + at;
    }
    part.first = update->first && 0 == row && 0 == element;
    return part;
}

/* Adds an update in parts of at most `most` elements, each in a launch of its own if `alone`. */
static int add_cut(symm_queue_t *queue, const symm_update_t *update, uint64_t most, bool alone)
{
    uint64_t rows = update->atomic.rows;
    uint64_t count = update->atomic.count;
    uint64_t at_once = most < count ? 1 : most / count; /* rows */
    uint64_t step = most < count ? most : count;
    int rc = alone ? symm_cuda_atomics_launch(queue) : MPI_SUCCESS; /* those before it */
    for (uint64_t row = 0; MPI_SUCCESS == rc && row < rows; row += at_once) {
        uint64_t now = rows - row < at_once ? rows - row : at_once;
        for (uint64_t i = 0; MPI_SUCCESS == rc && i < count; i += step) {
            symm_update_t part = part_of(update, row, i, now, count - i < step ? count - i : step);
            rc = add(queue, &part);
            if (MPI_SUCCESS == rc && alone) {
                rc = symm_cuda_atomics_launch(queue);
            }
        }
    }
    return rc;
}

/* Adds an update as a whole, or cut to what a stage, or a warp, takes. */
static int gather(symm_queue_t *queue, const symm_update_t *update)
{
    size_t size = symm_dtype_size(update->atomic.dtype);
    size_t len = update->atomic.rows * row_bytes(&update->atomic);
    bool among_others = 0 < queue->atomics->piece_count || !update->last;
    if (PART_BYTES >= len) {
        return add(queue, update);
    }
    if (ALONE_BYTES > len && among_others) {
        return add_cut(queue, update, PART_BYTES / size, false);
    }
    return add_cut(queue, update, 0 < share_of(update) ? SHARE_BYTES / size : UINT64_MAX, true);
}

/* ---- without atomics ---- */

/* Copies operands into a stage of their own and gives their place. */
static int stage_operands(symm_queue_t *queue, const char *from, size_t len, symm_reach_t reach,
                          const void **operands_p)
{
    atomics_t *atomics = queue->atomics;
    stage_t *stage = &atomics->stages[atomics->current];
    int rc = stage->in_flight ? symm_cuda_queue_await(queue, stage->launch) : MPI_SUCCESS;
    char *data = stage->memory + PIECES_MAX * sizeof(symm_atomic_piece_t);
    if (MPI_SUCCESS == rc && SYMM_REACH_COPY == reach) {
        rc = symm_cuda_copy_entered(queue, SYMM_LANE_MAIN, data, from, len);
    } else if (MPI_SUCCESS == rc) {
        memcpy(data, from, len);
    }
    *operands_p = at_device(stage, data);
    return rc;
}

static int combine_part(symm_queue_t *queue, const symm_reduce_t *reduce, symm_reach_t reach,
                        uint64_t done, uint64_t count)
{
    atomics_t *atomics = queue->atomics;
    size_t size = symm_dtype_size(reduce->dtype);
    void *target = (char *) reduce->dst[0] + done * size;
    const void *sources[] = {target, (const char *) reduce->src[1] + done * size};
    symm_reduce_t part = *reduce;
    int rc = MPI_SUCCESS;
    part.count = count;
    part.src = sources;
    part.dst = &target;
    if (SYMM_REACH_KERNEL != reach) {
        rc = stage_operands(queue, sources[1], count * size, reach, &sources[1]);
    }
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_launch_reduce(
            queue, &part, symm_reduce_blocks(count * size, queue->device->multiprocessors));
    }
    if (MPI_SUCCESS == rc && SYMM_REACH_KERNEL != reach) {
        stage_t *stage = &atomics->stages[atomics->current];
        stage->launch = queue->flag_value;
        stage->in_flight = true;
        atomics->current = (atomics->current + 1) % STAGES;
    }
    return rc;
}

static int combine(symm_queue_t *queue, const symm_reduce_t *reduce, symm_reach_t reach)
{
    uint64_t most =
        SYMM_REACH_KERNEL == reach ? reduce->count : DATA_BYTES / symm_dtype_size(reduce->dtype);
    int rc = symm_cuda_atomics_launch(queue); /* those before it */
    for (uint64_t done = 0; MPI_SUCCESS == rc && done < reduce->count; done += most) {
        uint64_t left = reduce->count - done;
        rc = combine_part(queue, reduce, reach, done, left < most ? left : most);
    }
    return rc;
}

int symm_cuda_combine(symm_queue_t *queue, symm_op_t op, symm_dtype_t dtype, void *target,
                      const void *origin, symm_reach_t reach, uint64_t count)
{
    const void *sources[] = {target, origin};
    symm_reduce_t reduce = {.op = op,
                            .dtype = dtype,
                            .count = count,
                            .nsrc = 2,
                            .ndst = 1,
                            .src = sources,
                            .dst = &target};
    symm_cuda_scope_t scope;
    int rc = symm_cuda_queue_begin(queue, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = prepare(queue);
    if (MPI_SUCCESS == rc) {
        rc = combine(queue, &reduce, reach);
    }
    symm_cuda_queue_end(queue, &scope);
    return rc;
}

/* ---- with atomics ---- */

int symm_cuda_atomic(symm_queue_t *queue, const symm_update_t *update)
{
    symm_cuda_scope_t scope;
    int rc = symm_cuda_queue_begin(queue, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = prepare(queue);
    if (MPI_SUCCESS == rc) {
        rc = gather(queue, update);
    }
    symm_cuda_queue_end(queue, &scope);
    return rc;
}
