/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Lets users see which plan a call took: counters, the latest plan, and one line for each new one.
 */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_log.h"
#include "symm_reduce_params.h"
#include "symm_stats.h"

#include <string.h>

static uint8_t size_class(uint64_t bytes)
{
    return (uint8_t) (0 == bytes ? 0 : 64 - __builtin_clzll(bytes));
}

/* Whether this is the first call of its kind; remembers it. A full table stays silent. */
static bool is_new(const coll_symm_call_t *call)
{
    mca_coll_symm_module_t *module = call->module;
    const coll_symm_descriptor_t *mine = &call->mine;
    coll_symm_told_t now = {mine->collective, mine->op, mine->dtype, (uint8_t) call->plan.path,
                            size_class(mine->bytes)};
    for (int i = 0; i < module->told_count; ++i) {
        if (0 == memcmp(&module->told[i], &now, sizeof(now))) {
            return false;
        }
    }
    if (COLL_SYMM_TOLD_MAX == module->told_count) {
        return false;
    }
    module->told[module->told_count++] = now;
    return true;
}

static void count(const coll_symm_call_t *call)
{
    if (COLL_SYMM_MISMATCH == call->plan.path) {
        SYMM_COUNT(collectives_mismatched, 1);
    } else if (COLL_SYMM_PASS == call->plan.path) {
        SYMM_COUNT(collectives_passed, 1);
        SYMM_COUNT(collectives_staged, call->plan.stage ? 1 : 0);
    } else {
        SYMM_COUNT(collectives, 1);
    }
}

void coll_symm_report(coll_symm_call_t *call)
{
    const coll_symm_descriptor_t *mine = &call->mine;
    if (call->module->comm->setting_up) {
        return; /* not the program's call */
    }
    symm_plan_note_t note = {
        .collective = coll_symm_collective_name((coll_symm_collective_t) mine->collective),
        .bytes = mine->bytes,
        .plan = coll_symm_plan_name(&call->plan),
        .ranks = call->module->comm->exchange.size,
        .blocks = call->blocks,
        .threads = SYMM_REDUCE_THREADS,
    };
    if (COLL_SYMM_ALLREDUCE == mine->collective && 0 == (mine->flags & COLL_SYMM_UNSUPPORTED)) {
        note.dtype = symm_dtype_name((symm_dtype_t) mine->dtype);
        note.op = symm_op_name((symm_op_t) mine->op);
    }
    count(call);
    symm_stats_note_plan(&note);
    if (SYMM_LOG_INFO <= symm_log_level && is_new(call)) {
        char text[SYMM_PLAN_TEXT_MAX];
        symm_plan_text(&note, text, sizeof(text));
        symm_log(SYMM_LOG_INFO, "%s", text);
    }
}

void coll_symm_report_mismatch(const coll_symm_call_t *call)
{
    const coll_symm_descriptor_t *all = call->module->all;
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    int other = 1;
    if (0 != exchange->rank) {
        return; /* all ranks know; one tells */
    }
    while (other < exchange->size - 1 && all[other].collective == all[0].collective &&
           all[other].dtype == all[0].dtype && all[other].op == all[0].op &&
           all[other].bytes == all[0].bytes) {
        ++other;
    }
    symm_log(SYMM_LOG_ERROR,
             "the ranks' collectives do not match: rank 0 calls %s of %llu bytes (%s %s), rank %d "
             "%s of %llu bytes (%s %s)",
             coll_symm_collective_name((coll_symm_collective_t) all[0].collective),
             (unsigned long long) all[0].bytes, symm_dtype_name((symm_dtype_t) all[0].dtype),
             symm_op_name((symm_op_t) all[0].op), other,
             coll_symm_collective_name((coll_symm_collective_t) all[other].collective),
             (unsigned long long) all[other].bytes,
             symm_dtype_name((symm_dtype_t) all[other].dtype),
             symm_op_name((symm_op_t) all[other].op));
}
