/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Lets users see which plan a call took: counters, the latest plan, and one line for each new one.
 */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_log.h"
#include "symm_reduce_params.h"
#include "symm_stats.h"

#include <stdio.h>
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
    coll_symm_told_t now = {mine->collective, mine->op, mine->dtype,
                            (uint8_t) ((call->plan.kernel ? 0x80 : 0) |
                                       (call->plan.gaps ? 0x40 : 0) | (call->resident ? 0x20 : 0) |
                                       call->plan.path),
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

/* Data of small calls comes with the agreement, wherever it lies. */
static bool is_in_windows(const coll_symm_call_t *call)
{
    bool passes_window = 0 < call->mine.send_window || 0 < call->mine.recv_window;
    return passes_window && COLL_SYMM_PUSH_SLOT != call->plan.path;
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
        SYMM_COUNT(collectives_in_windows, is_in_windows(call) ? 1 : 0);
    }
}

void coll_symm_report(coll_symm_call_t *call)
{
    const coll_symm_descriptor_t *mine = &call->mine;
    const coll_symm_traits_t *traits = coll_symm_traits(mine->collective);
    symm_plan_note_t *note = symm_stats_latest_plan();
    *note = (symm_plan_note_t){
        .collective = traits->name,
        .bytes = mine->bytes,
        .plan = coll_symm_plan_name(&call->plan),
        .ranks = call->module->comm->exchange.size,
        .blocks = call->blocks,
        .threads = SYMM_REDUCE_THREADS,
        .resident = call->resident,
    };
    if (traits->reduces && 0 == (mine->flags & COLL_SYMM_UNSUPPORTED)) {
        note->dtype = symm_dtype_name((symm_dtype_t) mine->dtype);
        note->op = symm_op_name((symm_op_t) mine->op);
    }
    count(call);
    if (SYMM_LOG_INFO <= symm_log_level && is_new(call)) {
        char text[SYMM_PLAN_TEXT_MAX];
        symm_plan_text(note, text, sizeof(text));
        symm_log(SYMM_LOG_INFO, "%s", text);
    }
}

/* "allreduce of 8 bytes (f32 sum)", "bcast of 8 bytes (root 1)". */
static void tell_call(const coll_symm_descriptor_t *d, char *text, size_t len)
{
    const coll_symm_traits_t *traits = coll_symm_traits(d->collective);
    int written =
        snprintf(text, len, "%s of %llu bytes", traits->name, (unsigned long long) d->bytes);
    text += written;
    len -= (size_t) written;
    if (traits->reduces) {
        written = snprintf(text, len, " (%s %s)", symm_dtype_name((symm_dtype_t) d->dtype),
                           symm_op_name((symm_op_t) d->op));
        text += written;
        len -= (size_t) written;
    }
    if (COLL_SYMM_ALL_RANKS != traits->rooted) {
        (void) snprintf(text, len, " (root %u)", (unsigned) d->root);
    }
}

void coll_symm_report_mismatch(const coll_symm_call_t *call)
{
    const coll_symm_descriptor_t *all = call->work->all;
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    char first[96], second[96];
    bool eager = 0 != (call->mine.flags & COLL_SYMM_EAGER);
    int teller = eager ? exchange->rank : 0; /* where all ranks know, one tells */
    if (teller != exchange->rank) {
        return;
    }
    int other = coll_symm_plan_mismatch(all, exchange->size, teller);
    tell_call(&all[teller], first, sizeof(first));
    tell_call(&all[other], second, sizeof(second));
    symm_log(SYMM_LOG_ERROR, "the ranks' collectives do not match: rank %d calls %s, rank %d %s",
             teller, first, other, second);
}
