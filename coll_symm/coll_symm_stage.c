/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Host copies of GPU buffers, so that a component that knows host memory only can serve the call.
 * The whole span of the datatype is copied, gaps included. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_copy.h"
#include "symm_log.h"

#include <stdlib.h>

int coll_symm_stage_in(coll_symm_stage_t *stage, const void *buf, size_t count,
                       MPI_Datatype datatype, bool is_device, bool fill)
{
    *stage = (coll_symm_stage_t){.host = (void *) buf};
    if (!is_device) {
        return MPI_SUCCESS;
    }
    stage->len = symm_ompi_span(datatype, count, &stage->start);
    stage->memory = malloc(0 < stage->len ? stage->len : 1);
    if (NULL == stage->memory) {
        symm_log(SYMM_LOG_ERROR, "no memory to stage %zu bytes of a device buffer", stage->len);
        return MPI_ERR_NO_MEM;
    }
    stage->user = (void *) buf;
    stage->host = (char *) stage->memory - stage->start;
    return fill ? symm_copy_blocking(stage->memory, (const char *) buf + stage->start, stage->len)
                : MPI_SUCCESS;
}

int coll_symm_stage_out(const coll_symm_stage_t *stage)
{
    if (NULL == stage->user) {
        return MPI_SUCCESS;
    }
    return symm_copy_blocking((char *) stage->user + stage->start, stage->memory, stage->len);
}

void coll_symm_stage_end(coll_symm_stage_t *stage)
{
    free(stage->memory);
    stage->memory = NULL;
}
