/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Lists of work that a device is asked to do again and again: copies and reductions between fixed
 * addresses, noted as the entries of a backend's table of the same names take them
 * (symm_device.h). They are done in the order of the list, but for copies that stand apart: these
 * wait for nothing, and nothing waits for them. */
#ifndef SYMM_TASKS_H
#define SYMM_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symm_export.h"
#include "symm_move.h"
#include "symm_reduce.h"

typedef enum symm_task_kind {
    SYMM_TASK_COPY,      /* of moves[0] */
    SYMM_TASK_COPY_MANY, /* by one kernel */
    SYMM_TASK_REDUCE,
} symm_task_kind_t;

typedef struct symm_task symm_task_t;
struct symm_task {
    symm_task_t *next;
    symm_task_kind_t kind;
    bool apart;      /* a copy */
    uint32_t blocks; /* of a kernel: for each move, or in all */
    symm_move_t *moves;
    uint32_t count; /* of moves */
    symm_reduce_t reduce;
};

/* In the order in which they were noted. Zero is an empty list. */
typedef struct symm_tasks {
    symm_task_t *first, *last;
} symm_tasks_t;

/* Each adds a task, with copies of the arrays that describe it. Return MPI_SUCCESS or
 * MPI_ERR_NO_MEM. */
SYMM_EXPORT int symm_tasks_copy(symm_tasks_t *tasks, bool apart, void *dst, const void *src,
                                size_t len);
SYMM_EXPORT int symm_tasks_copy_many(symm_tasks_t *tasks, const symm_move_t *moves, uint32_t count,
                                     uint32_t blocks_per_move);
SYMM_EXPORT int symm_tasks_reduce(symm_tasks_t *tasks, const symm_reduce_t *reduce,
                                  uint32_t blocks);

/* Frees all tasks; the list is empty then. */
SYMM_EXPORT void symm_tasks_free(symm_tasks_t *tasks);

#endif
