/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Host copies of GPU buffers, so that a component that knows host memory only can serve the call.
 * The whole span of a buffer is copied, gaps included. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_copy.h"
#include "symm_log.h"

#include <stdlib.h>

/* A buffer for the next component. */
typedef struct stage {
    char *first;  /* of the bytes that are staged, NULL when the buffer is used as it is */
    size_t len;   /* bytes */
    char *memory; /* the host copy of these, to free */
    void *host;   /* what to pass on */
} stage_t;

/* Prepares buf, which spans len bytes from first on. Fills the copy: an output may be an input, and
 * what the call does not write must stay. */
static int stage_in(stage_t *stage, const void *buf, const char *first, size_t len, bool is_device)
{
    *stage = (stage_t){.host = (void *) buf};
    if (!is_device) {
        return MPI_SUCCESS;
    }
    stage->memory = malloc(len);
    if (NULL == stage->memory) {
        symm_log(SYMM_LOG_ERROR, "no memory to stage %zu bytes of a device buffer", len);
        return MPI_ERR_NO_MEM;
    }
    stage->first = (char *) first;
    stage->len = len;
    stage->host = stage->memory - (first - (const char *) buf);
    return symm_copy_blocking(stage->memory, first, len);
}

static int stage_out(const stage_t *stage)
{
    return NULL == stage->first ? MPI_SUCCESS
                                : symm_copy_blocking(stage->first, stage->memory, stage->len);
}

static int pass_on_copies(coll_symm_call_t *call, bool agreed)
{
    stage_t send, recv;
    bool device_send = MPI_IN_PLACE != call->sbuf && coll_symm_is_device(call->mine.send_place);
    int rc = stage_in(&send, call->sbuf, call->send, call->send_len, device_send);
    int rc2 = stage_in(&recv, call->rbuf, call->recv, call->recv_len,
                       coll_symm_is_device(call->mine.recv_place));
    rc = MPI_SUCCESS == rc ? rc2 : rc;
    rc = agreed ? coll_symm_call_end(call, rc) : rc;
    if (MPI_SUCCESS == rc) {
        rc = call->steps->next(call, send.host, recv.host);
        rc = OMPI_SUCCESS == rc ? stage_out(&recv) : rc;
        rc = agreed ? coll_symm_call_end_again(call, rc) : rc;
    }
    free(send.memory);
    free(recv.memory);
    return rc;
}

int coll_symm_pass_on(coll_symm_call_t *call, bool agreed)
{
    bool stage = agreed ? call->plan.stage : coll_symm_descriptor_on_gpu(&call->mine);
    return stage ? pass_on_copies(call, agreed) : call->steps->next(call, call->sbuf, call->rbuf);
}
