/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Lists of tasks. A task's arrays stand behind it, in the same piece of memory. */
#include "symm_config.h"

#include "symm_tasks.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* A new task at the list's end with room for arrays of len bytes, at *arrays_p. NULL when memory is
 * short. */
static symm_task_t *append(symm_tasks_t *tasks, symm_task_kind_t kind, size_t len, void **arrays_p)
{
    symm_task_t *task = calloc(1, sizeof(*task) + len);
    if (NULL == task) {
        return NULL;
    }
    task->kind = kind;
    *arrays_p = task + 1;
    if (NULL == tasks->first) {
        tasks->first = task;
    } else {
        tasks->last->next = task;
    }
    tasks->last = task;
    return task;
}

static int add_moves(symm_tasks_t *tasks, symm_task_kind_t kind, const symm_move_t *moves,
                     uint32_t count, uint32_t blocks)
{
    void *arrays;
    symm_task_t *task = append(tasks, kind, count * sizeof(*moves), &arrays);
    if (NULL == task) {
        return MPI_ERR_NO_MEM;
    }
    task->blocks = blocks;
    task->moves = arrays;
    task->count = count;
    memcpy(task->moves, moves, count * sizeof(*moves));
    return MPI_SUCCESS;
}

int symm_tasks_copy(symm_tasks_t *tasks, bool apart, void *dst, const void *src, size_t len)
{
    symm_move_t move = {dst, src, len};
    int rc = add_moves(tasks, SYMM_TASK_COPY, &move, 1, 0);
    if (MPI_SUCCESS == rc) {
        tasks->last->apart = apart;
    }
    return rc;
}

int symm_tasks_copy_many(symm_tasks_t *tasks, const symm_move_t *moves, uint32_t count,
                         uint32_t blocks_per_move)
{
    return add_moves(tasks, SYMM_TASK_COPY_MANY, moves, count, blocks_per_move);
}

int symm_tasks_reduce(symm_tasks_t *tasks, const symm_reduce_t *reduce, uint32_t blocks)
{
    void *arrays;
    symm_task_t *task =
        append(tasks, SYMM_TASK_REDUCE, (reduce->nsrc + reduce->ndst) * sizeof(void *), &arrays);
    if (NULL == task) {
        return MPI_ERR_NO_MEM;
    }
    const void **src = arrays;
    void **dst = (void **) arrays + reduce->nsrc;
    memcpy(src, reduce->src, reduce->nsrc * sizeof(*src));
    memcpy(dst, reduce->dst, reduce->ndst * sizeof(*dst));
    task->blocks = blocks;
    task->reduce = *reduce;
    task->reduce.src = src;
    task->reduce.dst = dst;
    return MPI_SUCCESS;
}

void symm_tasks_free(symm_tasks_t *tasks)
{
    while (NULL != tasks->first) {
        symm_task_t *task = tasks->first;
        tasks->first = task->next;
        free(task);
    }
    tasks->last = NULL;
}
