/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Requests of operations. */
#include "symm_config.h"

#include "osc_symm_request.h"

#include "osc_symm.h"

int ompi_osc_symm_request_start(ompi_osc_symm_module_t *module, ompi_request_t **request_p)
{
    int rc = ompi_osc_symm_complete_operations(module);
    if (MPI_SUCCESS == rc) {
        *request_p = &ompi_request_empty; /* complete; a status has nothing but its error to tell */
    }
    return rc;
}
