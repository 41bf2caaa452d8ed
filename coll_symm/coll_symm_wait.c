/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The end of waits for ranks that do not come.
 *
 * NOTE giving up. A rank that gives up marks the communicator's control block, which ends the other
 * ranks' waits and keeps those who come late from working on buffers of calls that are over. How
 * far each rank got is not known then, so the mark stays. No kernel ever waits for another rank, so
 * nothing goes on waiting on a GPU. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_log.h"

#include <stdio.h>
#include <time.h>

/* Of a longer time between two looks no more than this counts. */
#define LONGEST_STEP_MS 1000

/* Ranks that a message names. */
#define LISTED_MAX 8

static uint64_t now_ms(void)
{
    struct timespec t;
    (void) clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (uint64_t) t.tv_sec * 1000 + (uint64_t) t.tv_nsec / 1000000;
}

static bool is_over(coll_symm_wait_t *wait)
{
    uint64_t now = now_ms();
    uint64_t step = 0 == wait->looked_ms ? 0 : now - wait->looked_ms;
    wait->looked_ms = now;
    wait->waited_ms += step < LONGEST_STEP_MS ? step : LONGEST_STEP_MS;
    return wait->waited_ms >= (uint64_t) mca_coll_symm_component.timeout * 1000;
}

/* Writes the numbers of the ranks that have not come, of the first ones if they are many, and
 * returns how many they are. */
static int list_missing(const coll_symm_call_t *call, coll_symm_has_come_fn_t *has_come, char *text,
                        size_t len)
{
    int missing = 0;
    size_t at = 0;
    for (int r = 0; r < call->module->comm->exchange.size; ++r) {
        if (has_come(call, r)) {
            continue;
        }
        if (LISTED_MAX > missing) {
            at += (size_t) snprintf(text + at, len - at, "%s%d", 0 == missing ? "" : ", ", r);
        } else if (LISTED_MAX == missing) {
            (void) snprintf(text + at, len - at, "..."); /* there is room */
        }
        ++missing;
    }
    return missing;
}

/* Returns whether there was somebody to give up on. Of all ranks the first to do so tells. */
static bool give_up(const coll_symm_call_t *call, coll_symm_has_come_fn_t *has_come)
{
    const symm_comm_t *comm = call->module->comm;
    char ranks[16 * LISTED_MAX];
    if (0 == list_missing(call, has_come, ranks, sizeof(ranks))) {
        return false;
    }
    if (0 == atomic_exchange(&comm->control->broken, 1)) {
        symm_log(SYMM_LOG_ERROR,
                 "%s: rank %d of %d has waited %u s (coll_symm_timeout) for ranks that did not "
                 "come: %s; collectives of this communicator on symmetric memory are errors from "
                 "now on",
                 coll_symm_traits(call->mine.collective)->name, comm->exchange.rank,
                 comm->exchange.size, mca_coll_symm_component.timeout, ranks);
    }
    return true;
}

bool coll_symm_wait_on(const coll_symm_call_t *call, coll_symm_has_come_fn_t *has_come,
                       coll_symm_wait_t *wait)
{
    if (coll_symm_is_broken(call->module->comm)) {
        return false;
    }
    return 0 == mca_coll_symm_component.timeout || !is_over(wait) || !give_up(call, has_come);
}
