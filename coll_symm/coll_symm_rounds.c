/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The rounds of a persistent call's plan, made ready: what each has to do is noted in a list of
 * tasks, which the backend prepares for a queue of the request's own. When they are run is
 * coll_symm_persistent.c's work. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_device.h"

#include <stdlib.h>

struct coll_symm_round {
    symm_tasks_t tasks;
    symm_prepared_t *prepared;
};

/* Bytes of scratch per rank with which the plan needs no more rounds than it must, or as many as
 * there may be. */
static size_t scratch_bytes(const coll_symm_call_t *call)
{
    uint64_t size = (uint64_t) call->module->comm->exchange.size;
    uint64_t allowed = call->module->policy.scratch_bytes;
    uint64_t most = 0;
    for (uint64_t r = 0; r < size; ++r) {
        most = call->work->all[r].bytes > most ? call->work->all[r].bytes : most;
    }
    if (most >= allowed) {
        return (size_t) allowed;
    }
    /* See coll_symm_scratch_area() and coll_symm_scratch_piece(): of each part, 256 bytes may be
     * lost in rounding. */
    uint64_t parts = 2 * size < 3 ? 3 : 2 * size;
    uint64_t wanted = parts * (most + 1024 * size);
    return (size_t) (wanted < allowed ? wanted : allowed);
}

void coll_symm_rounds_provide_scratch(coll_symm_call_t *call)
{
    if (coll_symm_path_uses_scratch(call->plan.path) &&
        MPI_SUCCESS != symm_comm_create_scratch(call->module->comm, scratch_bytes(call),
                                                "the scratch of a persistent collective",
                                                &call->scratch)) {
        call->mine.flags |= COLL_SYMM_NO_SCRATCH;
        coll_symm_call_choose(call);
    }
}

static int add_round(coll_symm_rounds_t *rounds, symm_error_t *error)
{
    size_t count = (size_t) rounds->count + 1;
    coll_symm_round_t *all = realloc(rounds->all, count * sizeof(*all));
    if (NULL == all) {
        return symm_error_set(error, MPI_ERR_NO_MEM, "no memory for round %zu", count);
    }
    all[count - 1] = (coll_symm_round_t){0};
    rounds->all = all;
    rounds->count = count;
    return MPI_SUCCESS;
}

/* Notes a round's work in a list of its own. */
static int note_round(coll_symm_rounds_t *rounds, coll_symm_call_t *call, uint64_t round,
                      symm_error_t *error)
{
    int rc = add_round(rounds, error);
    if (MPI_SUCCESS == rc) {
        call->round = round;
        call->tasks = &rounds->all[round].tasks;
        rc = call->steps->carry_out(call);
    }
    return MPI_SUCCESS == rc ? rc
                             : symm_error_set(error, rc, "no way to do a persistent %s",
                                              coll_symm_traits(call->mine.collective)->name);
}

/* Notes all of the plan's work: the last round is known once the first one is noted. */
static int note_rounds(coll_symm_rounds_t *rounds, coll_symm_call_t *call, symm_error_t *error)
{
    int rc = note_round(rounds, call, 0, error);
    for (uint64_t r = 1; MPI_SUCCESS == rc && r <= call->last_round; ++r) {
        rc = note_round(rounds, call, r, error);
    }
    return rc;
}

/* The device that does it: this host where all that is needed is in the places, or where there is
 * nothing to do. */
static symm_device_t *choose_device(coll_symm_rounds_t *rounds, coll_symm_call_t *call)
{
    const symm_mapping_t *mapping = call->scratch;
    if (NULL == mapping && COLL_SYMM_PUSH_SLOT != call->plan.path) {
        mapping = coll_symm_call_mapping(call);
    }
    rounds->ops = NULL == mapping ? symm_device_ops(SYMM_KIND_SYSTEM) : mapping->ops;
    return NULL == mapping ? NULL : mapping->device;
}

int coll_symm_rounds_prepare(coll_symm_rounds_t *rounds, coll_symm_call_t *call,
                             symm_error_t *error)
{
    symm_device_t *device = choose_device(rounds, call);
    int rc = note_rounds(rounds, call, error); /* all of them: what is ready refers to the lists */
    if (MPI_SUCCESS == rc) {
        rc = rounds->ops->queue_create(device, &rounds->queue, error);
    }
    for (uint64_t r = 0; MPI_SUCCESS == rc && r < rounds->count; ++r) {
        rc = rounds->ops->prepare(rounds->queue, &rounds->all[r].tasks, &rounds->all[r].prepared,
                                  error);
    }
    return rc;
}

int coll_symm_rounds_replay(coll_symm_rounds_t *rounds, uint64_t round)
{
    return rounds->ops->replay(rounds->all[round].prepared);
}

int coll_symm_rounds_test(coll_symm_rounds_t *rounds, bool *done_p)
{
    return rounds->ops->queue_test(rounds->queue, done_p);
}

void coll_symm_rounds_free(coll_symm_rounds_t *rounds)
{
    if (NULL != rounds->queue) {
        (void) rounds->ops->queue_wait(rounds->queue); /* has logged a failure; teardown goes on */
    }
    for (uint64_t r = 0; r < rounds->count; ++r) {
        rounds->ops->discard(rounds->all[r].prepared);
        symm_tasks_free(&rounds->all[r].tasks);
    }
    free(rounds->all);
    if (NULL != rounds->queue) {
        rounds->ops->queue_destroy(rounds->queue);
    }
    *rounds = (coll_symm_rounds_t){0};
}
