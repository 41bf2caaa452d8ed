/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Large reductions with few blocks: copy engines bring what is in other GPUs' memory to a stage in
 * this one's and take the results there, piece after piece. Copies in both directions and the
 * kernel overlap. Nothing waits for a peer: what is read was ready, what is written nobody else
 * writes.
 *
 * NOTE streams. The stage has two slots, and pieces take turns. Each slot has a stream that brings,
 * and one that takes away; kernels run on the main lane. Events order them: a kernel behind its
 * piece's copies, the copies of its results behind the kernel, the copies of the piece after next
 * behind whatever reads the slot last. In the end the main lane waits for all, so that whoever
 * waits for that has waited for everything. */
#include "symm_config.h"

#include "symm_cuda_staged.h"

#include "symm_cuda_batch.h"
#include "symm_log.h"
#include "symm_reduce_params.h"

#include <mpi.h>
#include <stdlib.h>

#define SLOTS 2

/* Where pieces begin in buffers: multiples of this, so that they are aligned as the buffers are. In
 * the stage each has so many bytes more, to begin where its buffer does. */
#define PIECE_ALIGN 256u
#define ALIGNING    ((size_t) SLOTS * SYMM_REDUCE_MAX_RANKS * PIECE_ALIGN)

struct symm_cuda_stage {
    CUdeviceptr memory;
    size_t slot_bytes; /* without what alignment takes */
    CUstream bring[SLOTS], take[SLOTS];
    CUevent begun;           /* all that the main lane was given before */
    CUevent brought[SLOTS];  /* the slot's piece */
    CUevent combined[SLOTS]; /* likewise */
    CUevent taken[SLOTS];    /* likewise */
};

/* A reduction under way. */
typedef struct staged {
    symm_queue_t *queue;
    symm_cuda_stage_t *stage;
    const symm_reduce_t *whole;
    int own_src, own_dst;
    uint32_t blocks;
    size_t element;
    uint64_t sources; /* that are brought */
    uint64_t piece;   /* elements, but for the last one */
    size_t room;      /* bytes of the stage for one of a source */
} staged_t;

/* ---- the stage ---- */

static int make_streams(symm_cuda_stage_t *stage)
{
    CUresult result = symm_cuda.cuEventCreate(&stage->begun, CU_EVENT_DISABLE_TIMING);
    for (int i = 0; CUDA_SUCCESS == result && i < 2 * SLOTS; ++i) {
        CUstream *stream = i < SLOTS ? &stage->bring[i] : &stage->take[i - SLOTS];
        result = symm_cuda.cuStreamCreate(stream, CU_STREAM_NON_BLOCKING);
    }
    for (int i = 0; CUDA_SUCCESS == result && i < 3 * SLOTS; ++i) {
        CUevent *events[] = {stage->brought, stage->combined, stage->taken};
        result = symm_cuda.cuEventCreate(&events[i / SLOTS][i % SLOTS], CU_EVENT_DISABLE_TIMING);
    }
    return symm_cuda_check_log(SYMM_LOG_DEBUG, result, "streams and events for staged reductions");
}

static void end_event(CUevent event)
{
    if (NULL != event) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuEventDestroy(event),
                                   "cuEventDestroy");
    }
}

static void end_stream(CUstream stream)
{
    if (NULL != stream) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuStreamDestroy(stream),
                                   "cuStreamDestroy");
    }
}

void symm_cuda_stage_destroy(symm_queue_t *queue)
{
    symm_cuda_stage_t *stage = queue->stage;
    if (NULL == stage) {
        return;
    }
    for (int i = 0; i < SLOTS; ++i) {
        end_stream(stage->bring[i]);
        end_stream(stage->take[i]);
        end_event(stage->brought[i]);
        end_event(stage->combined[i]);
        end_event(stage->taken[i]);
    }
    end_event(stage->begun);
    if (0 != stage->memory) {
        (void) symm_cuda_check_log(SYMM_LOG_WARN, symm_cuda.cuMemFree(stage->memory), "cuMemFree");
    }
    free(stage);
    queue->stage = NULL;
}

/* Makes the queue's stage when it is needed first; where that fails kernels do without. */
static int provide_stage(symm_queue_t *queue, size_t bytes)
{
    if (NULL != queue->stage || queue->stage_failed) {
        return queue->stage_failed ? MPI_ERR_UNSUPPORTED_OPERATION : MPI_SUCCESS;
    }
    queue->stage = calloc(1, sizeof(*queue->stage));
    int rc = NULL == queue->stage ? MPI_ERR_NO_MEM : make_streams(queue->stage);
    if (MPI_SUCCESS == rc) {
        queue->stage->slot_bytes = bytes / SLOTS;
        rc = symm_cuda_check_log(SYMM_LOG_DEBUG,
                                 symm_cuda.cuMemAlloc(&queue->stage->memory, bytes + ALIGNING),
                                 "cuMemAlloc of a stage for reductions");
    }
    if (MPI_SUCCESS != rc) {
        symm_cuda_stage_destroy(queue);
        queue->stage_failed = true;
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    return MPI_SUCCESS;
}

/* ---- one piece ---- */

static int record(CUevent event, CUstream stream)
{
    return symm_cuda_check_log(SYMM_LOG_ERROR, symm_cuda.cuEventRecord(event, stream),
                               "cuEventRecord");
}

static int follow(CUstream stream, CUevent event)
{
    return symm_cuda_check_log(SYMM_LOG_ERROR,
                               symm_cuda.cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT),
                               "cuStreamWaitEvent");
}

static int copy(CUstream stream, uintptr_t dst, uintptr_t src, size_t len)
{
    return symm_cuda_check_log(SYMM_LOG_ERROR, symm_cuda.cuMemcpyAsync(dst, src, len, stream),
                               "cuMemcpyAsync");
}

static CUstream main_lane(const staged_t *s)
{
    return s->queue->streams[SYMM_LANE_MAIN];
}

static uint64_t first_of(const staged_t *s, uint64_t piece)
{
    return piece * s->piece;
}

static uint64_t count_of(const staged_t *s, uint64_t piece)
{
    uint64_t left = s->whole->count - first_of(s, piece);
    return left < s->piece ? left : s->piece;
}

/* Where source r of a piece is read by the kernel. */
static uintptr_t source_of(const staged_t *s, uint64_t piece, int r)
{
    uintptr_t at = (uintptr_t) s->whole->src[r] + first_of(s, piece) * s->element;
    if (r == s->own_src) {
        return at;
    }
    uint64_t index = (uint64_t) (0 <= s->own_src && r > s->own_src ? r - 1 : r);
    return s->stage->memory + (piece % SLOTS * s->sources + index) * s->room + at % PIECE_ALIGN;
}

/* Where the kernel puts a piece's results: over a source in the stage, if not into own memory. */
static uintptr_t result_of(const staged_t *s, uint64_t piece)
{
    return 0 <= s->own_dst ? (uintptr_t) s->whole->dst[s->own_dst] + first_of(s, piece) * s->element
                           : source_of(s, piece, 0 == s->own_src ? 1 : 0);
}

/* Starts bringing a piece, once its slot is free. */
static int bring(const staged_t *s, uint64_t piece)
{
    int slot = (int) (piece % SLOTS);
    CUstream stream = s->stage->bring[slot];
    int rc = MPI_SUCCESS;
    if (SLOTS <= piece) {
        rc = follow(stream, 0 <= s->own_dst ? s->stage->combined[slot] : s->stage->taken[slot]);
    }
    for (int r = 0; MPI_SUCCESS == rc && r < (int) s->whole->nsrc; ++r) {
        uintptr_t from = (uintptr_t) s->whole->src[r] + first_of(s, piece) * s->element;
        rc = r == s->own_src
                 ? MPI_SUCCESS
                 : copy(stream, source_of(s, piece, r), from, count_of(s, piece) * s->element);
    }
    return MPI_SUCCESS == rc ? record(s->stage->brought[slot], stream) : rc;
}

/* Starts combining a piece behind its copies. */
static int combine(const staged_t *s, uint64_t piece)
{
    int slot = (int) (piece % SLOTS);
    const void *src[SYMM_REDUCE_MAX_RANKS];
    void *dst = (void *) result_of(s, piece);
    symm_reduce_t part = *s->whole;
    for (int r = 0; r < (int) s->whole->nsrc; ++r) {
        src[r] = (const void *) source_of(s, piece, r);
    }
    part.count = count_of(s, piece);
    part.src = src;
    part.dst = &dst;
    part.ndst = 1;
    int rc = follow(main_lane(s), s->stage->brought[slot]);
    if (MPI_SUCCESS == rc) {
        rc = symm_cuda_launch_reduce(s->queue, &part, s->blocks);
    }
    return MPI_SUCCESS == rc ? record(s->stage->combined[slot], main_lane(s)) : rc;
}

/* Starts taking a piece's results to where else they go. */
static int take(const staged_t *s, uint64_t piece)
{
    int slot = (int) (piece % SLOTS);
    CUstream stream = s->stage->take[slot];
    int rc = follow(stream, s->stage->combined[slot]);
    for (int d = 0; MPI_SUCCESS == rc && d < (int) s->whole->ndst; ++d) {
        uintptr_t to = (uintptr_t) s->whole->dst[d] + first_of(s, piece) * s->element;
        rc = d == s->own_dst
                 ? MPI_SUCCESS
                 : copy(stream, to, result_of(s, piece), count_of(s, piece) * s->element);
    }
    return MPI_SUCCESS == rc ? record(s->stage->taken[slot], stream) : rc;
}

/* ---- all pieces ---- */

/* Pieces are as large as slots allow, and of an even number, so that both slots get alike. Returns
 * how many there are, 0 when a slot holds too little. */
static uint64_t cut(staged_t *s)
{
    uint64_t unit = PIECE_ALIGN / s->element; /* sizes of elements are powers of two here */
    uint64_t most = s->stage->slot_bytes / s->sources / PIECE_ALIGN * unit;
    if (0 == most) {
        return 0;
    }
    uint64_t pairs = (s->whole->count + SLOTS * most - 1) / (SLOTS * most);
    uint64_t pieces = SLOTS * pairs;
    s->piece = ((s->whole->count + pieces - 1) / pieces + unit - 1) / unit * unit;
    s->room = s->piece * s->element + PIECE_ALIGN;
    return (s->whole->count + s->piece - 1) / s->piece;
}

/* Lets the streams begin behind what the main lane was given before. */
static int begin(const staged_t *s)
{
    int rc = record(s->stage->begun, main_lane(s));
    for (int slot = 0; MPI_SUCCESS == rc && slot < SLOTS; ++slot) {
        rc = follow(s->stage->bring[slot], s->stage->begun);
    }
    return rc;
}

/* Lets the main lane end behind them. */
static int join(const staged_t *s, uint64_t pieces)
{
    int rc = MPI_SUCCESS;
    for (uint64_t slot = 0; MPI_SUCCESS == rc && slot < SLOTS && slot < pieces; ++slot) {
        rc = follow(main_lane(s), s->stage->taken[slot]);
    }
    symm_cuda_queue_note_copy(s->queue, SYMM_LANE_MAIN);
    return rc;
}

/* After a failure: what was started ends before the caller goes on. It waits for nobody. */
static void wait_for_all(const staged_t *s)
{
    for (int slot = 0; slot < SLOTS; ++slot) {
        (void) symm_cuda_check_log(SYMM_LOG_DEBUG,
                                   symm_cuda.cuStreamSynchronize(s->stage->bring[slot]),
                                   "cuStreamSynchronize");
        (void) symm_cuda_check_log(SYMM_LOG_DEBUG,
                                   symm_cuda.cuStreamSynchronize(s->stage->take[slot]),
                                   "cuStreamSynchronize");
    }
}

static int run(const staged_t *s, uint64_t pieces)
{
    int rc = begin(s);
    for (uint64_t ahead = 0; MPI_SUCCESS == rc && ahead < pieces + SLOTS; ++ahead) {
        if (SLOTS <= ahead) {
            rc = combine(s, ahead - SLOTS);
            rc = MPI_SUCCESS == rc ? take(s, ahead - SLOTS) : rc;
        }
        if (MPI_SUCCESS == rc && ahead < pieces) {
            rc = bring(s, ahead);
        }
    }
    if (MPI_SUCCESS == rc) {
        rc = join(s, pieces);
    }
    if (MPI_SUCCESS != rc) {
        wait_for_all(s);
        symm_cuda_queue_note_copy(s->queue, SYMM_LANE_MAIN);
    }
    return rc;
}

static int run_staged(staged_t *s, size_t stage_bytes)
{
    int rc = symm_cuda_queue_order(s->queue);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = provide_stage(s->queue, stage_bytes);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    s->stage = s->queue->stage;
    uint64_t pieces = cut(s);
    return 0 == pieces ? MPI_ERR_UNSUPPORTED_OPERATION : run(s, pieces);
}

int symm_cuda_reduce_staged(symm_queue_t *queue, const symm_reduce_t *reduce, int own_src,
                            int own_dst, size_t stage_bytes, uint32_t blocks)
{
    symm_cuda_scope_t scope;
    staged_t staged = {.queue = queue,
                       .whole = reduce,
                       .own_src = own_src,
                       .own_dst = own_dst,
                       .blocks = blocks,
                       .sources = reduce->nsrc - (0 <= own_src ? 1u : 0u),
                       .element = symm_dtype_size(reduce->dtype)};
    if (SYMM_REDUCE_MAX_RANKS < reduce->nsrc || 0 == stage_bytes || 0 == reduce->count ||
        0 == staged.sources || symm_dtype_has_gaps(reduce->dtype)) {
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    int rc = symm_cuda_queue_begin(queue, &scope);
    if (MPI_SUCCESS == rc) {
        rc = run_staged(&staged, stage_bytes);
        symm_cuda_queue_end(queue, &scope);
    }
    return rc;
}
