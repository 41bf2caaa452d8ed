/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Transfers of the cuda backend that are not simply a copy: small ones, which are gathered, and
 * those of non-contiguous data. What moves how depends on where both ends are:
 *
 *   within reach of the GPU's kernels     by a batch; long runs by a copy engine
 *   ordinary host memory at one end       packed through the batch's data area; long runs by the
 *                                         driver's own copy
 *   memory of another GPU, out of reach   by the driver's own copies, row by row */
#include "symm_config.h"

#include "symm_cuda_batch.h"

#include <mpi.h>

/* Bytes up to which a run is gathered: above, a copy engine is faster, or does not wait for us. */
#define GATHERED_HOST   ((size_t) 8 << 10)
#define GATHERED_DEVICE ((size_t) 32 << 10)

/* Bytes from which on a run among the pieces of non-contiguous data is copied by itself. */
#define LONG_RUN ((size_t) 1 << 20)

/* Bytes of ordinary host memory that are worth going to the next slot for. */
#define WORTH_STAGING ((size_t) 64 << 10)

/* Where the two ends of a transfer are. */
typedef struct ends {
    symm_cuda_place_t dst;
    symm_cuda_place_t src;
} ends_t;

/* Looks at the ends, except at the one that is known. */
static ends_t find_ends(const symm_queue_t *queue, const void *dst, const void *src,
                        symm_known_t known)
{
    ends_t ends = {SYMM_CUDA_REACHED, SYMM_CUDA_REACHED};
    if (0 == (known & SYMM_KNOWN_DST)) {
        ends.dst = symm_cuda_place(queue->device, dst);
    }
    if (0 == (known & SYMM_KNOWN_SRC)) {
        ends.src = symm_cuda_place(queue->device, src);
    }
    return ends;
}

static bool within_reach(ends_t ends)
{
    return SYMM_CUDA_REACHED == ends.dst && SYMM_CUDA_REACHED == ends.src;
}

static bool is_put(ends_t ends)
{
    return SYMM_CUDA_REACHED == ends.dst && SYMM_CUDA_ORDINARY == ends.src;
}

static bool is_get(ends_t ends)
{
    return SYMM_CUDA_ORDINARY == ends.dst && SYMM_CUDA_REACHED == ends.src;
}

/* Gathers rows whose ends are such that a batch can move them, and for whose data there is room. */
static int gather(symm_queue_t *queue, ends_t ends, const symm_rows_t *rows)
{
    if (is_get(ends)) {
        return symm_cuda_batch_get(queue, rows);
    }
    if (is_put(ends)) {
        symm_cuda_batch_put(queue, rows);
    } else {
        symm_cuda_batch_rows(queue, rows);
    }
    return MPI_SUCCESS;
}

/* ---- runs ---- */

/* Bytes of data that gathering a run takes, 0 for none; returns whether it is gathered at all. */
static bool is_gathered(ends_t ends, size_t len, size_t *data_p)
{
    if (within_reach(ends)) {
        *data_p = 0;
        return GATHERED_DEVICE >= len;
    }
    *data_p = len;
    return (is_put(ends) || is_get(ends)) && GATHERED_HOST >= len;
}

int symm_cuda_transfer(symm_queue_t *queue, void *dst, const void *src, size_t len,
                       symm_known_t known)
{
    size_t data, room;
    if (0 == len || GATHERED_DEVICE < len) {
        return symm_cuda_copy(queue, SYMM_LANE_MAIN, dst, src, len);
    }
    ends_t ends = find_ends(queue, dst, src, known);
    if (!is_gathered(ends, len, &data)) {
        return symm_cuda_copy(queue, SYMM_LANE_MAIN, dst, src, len);
    }
    symm_cuda_queue_lock(queue);
    int rc;
    if (is_put(ends)) {
        rc = symm_cuda_batch_put_run(queue, dst, src, len);
    } else {
        symm_rows_t rows = {.dst = dst, .src = src, .len = len, .rows = 1};
        rc = symm_cuda_batch_room(queue, data, &room);
        rc = MPI_SUCCESS == rc ? gather(queue, ends, &rows) : rc;
    }
    symm_cuda_queue_unlock(queue);
    return rc;
}

/* ---- non-contiguous data ---- */

static int copy_rows(symm_queue_t *queue, const symm_rows_t *rows)
{
    int rc = MPI_SUCCESS;
    for (size_t row = 0; MPI_SUCCESS == rc && row < rows->rows; ++row) {
        rc = symm_cuda_copy_entered(queue, SYMM_LANE_MAIN,
                                    rows->dst + (ptrdiff_t) row * rows->dst_pitch,
                                    rows->src + (ptrdiff_t) row * rows->src_pitch, rows->len);
    }
    return rc;
}

static symm_rows_t rows_of(const symm_typepiece_t *piece, void *dst, const void *src)
{
    return (symm_rows_t){(char *) dst + piece->a,
                         (const char *) src + piece->b,
                         piece->len,
                         piece->rows,
                         piece->a_pitch,
                         piece->b_pitch};
}

/* Moves all that is left of the walk; the caller has begun on the queue. */
static int move_entered(symm_queue_t *queue, void *dst, const void *src, symm_typewalk_t *walk,
                        ends_t ends)
{
    symm_typepiece_t piece;
    size_t room = 0;
    bool direct = within_reach(ends);
    bool batched = direct || is_put(ends) || is_get(ends);
    int rc = MPI_SUCCESS;
    while (MPI_SUCCESS == rc) {
        size_t run = symm_typewalk_run(walk);
        bool copied = !batched || LONG_RUN <= run;
        if (!copied) {
            size_t wanted = run < WORTH_STAGING ? run : WORTH_STAGING;
            rc = symm_cuda_batch_room(queue, direct ? 0 : wanted, &room);
        }
        if (MPI_SUCCESS != rc ||
            !symm_typewalk_next(walk, copied || direct ? SIZE_MAX : room, &piece)) {
            break;
        }
        symm_rows_t rows = rows_of(&piece, dst, src);
        rc = copied ? copy_rows(queue, &rows) : gather(queue, ends, &rows);
    }
    return rc;
}

int symm_cuda_move(symm_queue_t *queue, void *dst, const void *src, symm_typewalk_t *walk,
                   symm_known_t known)
{
    symm_cuda_scope_t scope;
    ends_t ends = find_ends(queue, (const char *) dst + symm_typecursor_next(&walk->a),
                            (const char *) src + symm_typecursor_next(&walk->b), known);
    int rc = symm_cuda_queue_begin(queue, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = move_entered(queue, dst, src, walk, ends);
    symm_cuda_queue_end(queue, &scope);
    return rc;
}
