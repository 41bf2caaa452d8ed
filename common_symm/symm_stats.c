/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Counters and the latest plan, kept per thread. */
#include "symm_config.h"

#include "symm_stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Counters of a thread; they stay when it ends, so that what it did still counts. */
typedef struct counter_block {
    symm_counters_t counters;
    struct counter_block *next;
} counter_block_t;

_Thread_local symm_counters_t *symm_counters_mine;

static counter_block_t first_block; /* of threads for which memory was short; may lose counts */
static counter_block_t *_Atomic blocks = &first_block;

symm_counters_t *symm_counters_make(void)
{
    counter_block_t *block = calloc(1, sizeof(*block));
    if (NULL == block) {
        return &first_block.counters;
    }
    block->next = atomic_load(&blocks);
    while (!atomic_compare_exchange_weak(&blocks, &block->next, block)) {
    }
    symm_counters_mine = &block->counters;
    return symm_counters_mine;
}

void symm_plan_text(const symm_plan_note_t *note, char *text, size_t len)
{
    if (NULL == note->collective) {
        (void) snprintf(text, len, "none"); /* cut when it does not fit, as promised */
        return;
    }
    char elements[32] = "";
    char shape[32] = "";
    if (NULL != note->dtype) {
        (void) snprintf(elements, sizeof(elements), " %s %s", note->dtype, note->op);
    }
    if (note->resident) {
        (void) snprintf(shape, sizeof(shape), " resident");
    } else if (0 < note->blocks) {
        (void) snprintf(shape, sizeof(shape), " %" PRIu32 "x%" PRIu32, note->blocks, note->threads);
    }
    (void) snprintf(text, len, "%s %" PRIu64 " B%s: %s %d ranks%s", note->collective, note->bytes,
                    elements, note->plan, note->ranks, shape);
}

int symm_plan_query(char *text, size_t len)
{
    if (NULL == text || 0 == len) {
        return MPI_ERR_ARG;
    }
    symm_plan_text(symm_stats_latest_plan(), text, len);
    return MPI_SUCCESS;
}

int symm_stats_query(symm_stats_t *stats_p)
{
    if (NULL == stats_p) {
        return MPI_ERR_ARG;
    }
    memset(stats_p, 0, sizeof(*stats_p));
    for (counter_block_t *block = atomic_load(&blocks); NULL != block; block = block->next) {
#define SYMM_COUNTER_ADD(field, description)                                                       \
    stats_p->field += atomic_load_explicit(&block->counters.field, memory_order_relaxed);
        SYMM_COUNTER_LIST(SYMM_COUNTER_ADD)
#undef SYMM_COUNTER_ADD
    }
    return MPI_SUCCESS;
}
