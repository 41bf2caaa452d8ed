/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Process-wide counters, and each thread's latest plan. */
#include "symm_config.h"

#include "symm_stats.h"

#include <inttypes.h>
#include <stdio.h>

symm_counters_t symm_counters;

static _Thread_local symm_plan_note_t latest_plan;

void symm_stats_note_plan(const symm_plan_note_t *note)
{
    latest_plan = *note;
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
    if (0 < note->blocks) {
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
    symm_plan_text(&latest_plan, text, len);
    return MPI_SUCCESS;
}

int symm_stats_query(symm_stats_t *stats_p)
{
    if (NULL == stats_p) {
        return MPI_ERR_ARG;
    }
#define SYMM_COUNTER_COPY(field, description)                                                      \
    stats_p->field = atomic_load_explicit(&symm_counters.field, memory_order_relaxed);
    SYMM_COUNTER_LIST(SYMM_COUNTER_COPY)
#undef SYMM_COUNTER_COPY
    return MPI_SUCCESS;
}
