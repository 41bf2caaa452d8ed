/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Counters and the latest plan, as symm_stats_query() and symm_plan_query() show them. */
#ifndef SYMM_STATS_H
#define SYMM_STATS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "mpi_symm.h"

/* How one collective was carried out. The texts are static. */
typedef struct symm_plan_note {
    const char *collective; /* "allreduce" */
    uint64_t bytes;         /* of one rank's contribution */
    const char *dtype;      /* "f32", NULL where no elements are combined */
    const char *op;         /* "sum", likewise */
    const char *plan;       /* "two_shot_sm" */
    int ranks;
    uint32_t blocks; /* launch shape; 0 when nothing was launched */
    uint32_t threads;
    bool resident; /* a kernel that was there already did this rank's work */
} symm_plan_note_t;

#define SYMM_COUNTER_FIELD(field, description) _Atomic uint64_t field;
typedef struct symm_counters {
    SYMM_COUNTER_LIST(SYMM_COUNTER_FIELD)
    symm_plan_note_t latest_plan;
} symm_counters_t;
#undef SYMM_COUNTER_FIELD

/* The calling thread's counters and latest plan, NULL before it has counted: a locked addition
 * would cost as much as a small put. Written by their thread alone, summed up by
 * symm_stats_query(). One pointer fits the room that the loader keeps for such variables of
 * libraries that are opened late. */
SYMM_EXPORT extern _Thread_local symm_counters_t *symm_counters_mine
    __attribute__((tls_model("initial-exec")));

/* Makes them. Never NULL. */
SYMM_EXPORT symm_counters_t *symm_counters_make(void);

static inline symm_counters_t *symm_counters(void)
{
    symm_counters_t *mine = symm_counters_mine;
    return NULL != mine ? mine : symm_counters_make();
}

/* Adds amount, which may be negative, to a counter of `counters`, the calling thread's. */
#define SYMM_COUNT_IN(counters, field, amount)                                                     \
    atomic_store_explicit(&(counters)->field,                                                      \
                          atomic_load_explicit(&(counters)->field, memory_order_relaxed) +         \
                              (uint64_t) (amount),                                                 \
                          memory_order_relaxed)

/* The same without having them at hand. */
#define SYMM_COUNT(field, amount)                                                                  \
    do {                                                                                           \
        symm_counters_t *symm_count_mine = symm_counters();                                        \
        SYMM_COUNT_IN(symm_count_mine, field, amount);                                             \
    } while (0)

/* Where the calling thread's latest plan is kept. */
static inline symm_plan_note_t *symm_stats_latest_plan(void)
{
    return &symm_counters()->latest_plan;
}

/* Writes note in the form that symm_plan_query() documents; cut to len bytes. */
SYMM_EXPORT void symm_plan_text(const symm_plan_note_t *note, char *text, size_t len);

#endif
