/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Host copies of GPU buffers, so that a component that knows host memory only can serve the call.
 * The whole span of a buffer is copied, gaps included. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_copy.h"
#include "symm_log.h"

#include <stdlib.h>

/* Prepares buf, which spans len bytes from first on. Fills the copy: an output may be an input, and
 * what the call does not write must stay. */
static int stage_in(coll_symm_stage_t *stage, const void *buf, const char *first, size_t len,
                    bool copy)
{
    *stage = (coll_symm_stage_t){.host = (void *) buf};
    if (!copy || 0 == len) {
        return MPI_SUCCESS;
    }
    stage->memory = malloc(len);
    if (NULL == stage->memory) {
        symm_log(SYMM_LOG_ERROR, "no memory to stage %zu bytes of a buffer", len);
        return MPI_ERR_NO_MEM;
    }
    stage->first = (char *) first;
    stage->len = len;
    stage->host = stage->memory - (first - (const char *) buf);
    return symm_copy_blocking(stage->memory, first, len);
}

/* Open MPI's nonblocking MPI_Alltoallv and MPI_Alltoallw mix up blocks of unequal length in place
 * (4.1.4): they get the input as a copy, and call->sbuf still tells that it is one. */
static bool wants_input_apart(const coll_symm_call_t *call)
{
    const coll_symm_traits_t *traits = coll_symm_traits(call->mine.collective);
    return COLL_SYMM_BLOCKING != call->mode && MPI_IN_PLACE == call->sbuf && traits->swaps &&
           traits->rows;
}

int coll_symm_stages_in(coll_symm_stages_t *stages, const coll_symm_call_t *call)
{
    bool apart = wants_input_apart(call);
    bool device_send = MPI_IN_PLACE != call->sbuf && coll_symm_is_device(call->mine.send_place);
    int rc = stage_in(&stages->send, apart ? call->rbuf : call->sbuf, call->send, call->send_len,
                      apart || device_send);
    int rc2 = stage_in(&stages->recv, call->rbuf, call->recv, call->recv_len,
                       coll_symm_is_device(call->mine.recv_place));
    return MPI_SUCCESS == rc ? rc2 : rc;
}

int coll_symm_stages_out(const coll_symm_stages_t *stages)
{
    const coll_symm_stage_t *recv = &stages->recv;
    return NULL == recv->first ? MPI_SUCCESS
                               : symm_copy_blocking(recv->first, recv->memory, recv->len);
}

static int renew(const coll_symm_stage_t *stage)
{
    return NULL == stage->memory ? MPI_SUCCESS
                                 : symm_copy_blocking(stage->memory, stage->first, stage->len);
}

int coll_symm_stages_renew(const coll_symm_stages_t *stages)
{
    int rc = renew(&stages->send);
    int rc2 = renew(&stages->recv);
    return MPI_SUCCESS == rc ? rc2 : rc;
}

void coll_symm_stages_free(coll_symm_stages_t *stages)
{
    free(stages->send.memory);
    free(stages->recv.memory);
    *stages = (coll_symm_stages_t){0};
}

static int pass_on_copies(coll_symm_call_t *call, bool agreed)
{
    coll_symm_stages_t stages;
    int rc = coll_symm_stages_in(&stages, call);
    rc = agreed ? coll_symm_call_end(call, rc) : rc;
    if (MPI_SUCCESS == rc) {
        rc = call->steps->next(call, stages.send.host, stages.recv.host);
        rc = OMPI_SUCCESS == rc ? coll_symm_stages_out(&stages) : rc;
        rc = agreed ? coll_symm_call_end_again(call, rc) : rc;
    }
    coll_symm_stages_free(&stages);
    return rc;
}

int coll_symm_pass_on(coll_symm_call_t *call, bool agreed)
{
    bool stage = agreed
                     ? call->plan.stage
                     : !call->module->comm->ruled_out && coll_symm_descriptor_on_gpu(&call->mine);
    return stage ? pass_on_copies(call, agreed) : call->steps->next(call, call->sbuf, call->rbuf);
}
