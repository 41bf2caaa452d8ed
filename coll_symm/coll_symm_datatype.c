/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Remembers what the latest pair of handles stands for; symm_datatype.c knows. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_datatype.h"

bool coll_symm_known(mca_coll_symm_module_t *module, MPI_Datatype datatype, MPI_Op op)
{
    if (datatype == module->known_datatype && op == module->known_op) {
        return true;
    }
    symm_dtype_t found_dtype;
    symm_op_t found_op;
    if (!symm_datatype_find_reduction(datatype, op, &found_dtype, &found_op)) {
        return false;
    }
    /* Only handles that live as long as MPI get here: none is freed and used again. */
    module->known_datatype = datatype;
    module->known_op = op;
    module->dtype = found_dtype;
    module->op = found_op;
    return true;
}
