/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What a call works with, and how its work is begun: put on a queue, or, in a persistent call,
 * noted to be made ready and done with each start. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_copy.h"
#include "symm_device.h"

#include <stdlib.h>
#include <string.h>

int coll_symm_work_create(coll_symm_work_t *work, int size)
{
    size_t ranks = (size_t) size;
    *work = (coll_symm_work_t){.all = calloc(ranks, sizeof(*work->all)),
                               .src = calloc(ranks, sizeof(*work->src)),
                               .dst = calloc(ranks, sizeof(*work->dst)),
                               .row = calloc(ranks, sizeof(*work->row)),
                               .copies = {.moves = calloc(2 * ranks, sizeof(symm_move_t)),
                                          .local = calloc(2 * ranks, sizeof(bool))}};
    bool whole = NULL != work->all && NULL != work->src && NULL != work->dst && NULL != work->row &&
                 NULL != work->copies.moves && NULL != work->copies.local;
    return whole ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

void coll_symm_work_free(coll_symm_work_t *work)
{
    free(work->all);
    free(work->src);
    free(work->dst);
    free(work->row);
    free(work->copies.moves);
    free(work->copies.local);
    free(work->typed[COLL_SYMM_SEND_SIDE]);
    free(work->typed[COLL_SYMM_RECV_SIDE]);
    *work = (coll_symm_work_t){0};
}

static bool is_noted(const coll_symm_call_t *call)
{
    return COLL_SYMM_PERSISTENT == call->mode;
}

int coll_symm_work_copy(const coll_symm_call_t *call, const symm_mapping_t *mapping,
                        symm_lane_t lane, void *dst, const void *src, size_t len)
{
    return is_noted(call) ? symm_tasks_copy(call->tasks, SYMM_LANE_LOCAL == lane, dst, src, len)
                          : mapping->ops->copy(mapping->queue, lane, dst, src, len);
}

int coll_symm_work_copy_many(const coll_symm_call_t *call, const symm_mapping_t *mapping,
                             const symm_move_t *moves, uint32_t count, uint32_t blocks_per_move)
{
    return is_noted(call) ? symm_tasks_copy_many(call->tasks, moves, count, blocks_per_move)
                          : mapping->ops->copy_many(mapping->queue, moves, count, blocks_per_move);
}

int coll_symm_work_reduce(const coll_symm_call_t *call, const symm_mapping_t *mapping,
                          const symm_reduce_t *reduce, uint32_t blocks)
{
    return is_noted(call) ? symm_tasks_reduce(call->tasks, reduce, blocks)
                          : mapping->ops->reduce(mapping->queue, reduce, blocks);
}

int coll_symm_work_copy_here(const coll_symm_call_t *call, void *dst, const void *src, size_t len)
{
    if (is_noted(call)) {
        return symm_tasks_copy(call->tasks, false, dst, src, len);
    }
    memcpy(dst, src, len);
    return MPI_SUCCESS;
}

int coll_symm_work_reduce_here(const coll_symm_call_t *call, const symm_reduce_t *reduce)
{
    if (is_noted(call)) {
        return symm_tasks_reduce(call->tasks, reduce, 0);
    }
    return 0 == symm_reduce_host(reduce) ? MPI_SUCCESS : MPI_ERR_OP;
}

int coll_symm_work_copy_alone(const coll_symm_call_t *call, void *dst, const void *src, size_t len)
{
    return is_noted(call) ? symm_tasks_copy(call->tasks, false, dst, src, len)
                          : symm_copy_blocking(dst, src, len);
}
