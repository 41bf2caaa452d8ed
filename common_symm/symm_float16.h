/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The handles of 16-bit floats (mpi_symm.h) and what they stand for. Local; any thread. */
#ifndef SYMM_FLOAT16_H
#define SYMM_FLOAT16_H

#include <mpi.h>
#include <stdbool.h>

#include "symm_types.h"

/* Whether datatype is one of ours; if so *dtype_p is set. */
bool symm_float16_find_type(MPI_Datatype datatype, symm_dtype_t *dtype_p);

/* Whether handle is one that symm_op() gave; if so *op_p is set. */
bool symm_float16_find_op(MPI_Op handle, symm_op_t *op_p);

/* The operation to give to other components with datatype, which know no MPI_SUM on 16-bit floats:
 * that of symm_op() for these, otherwise op itself. */
SYMM_EXPORT MPI_Op symm_float16_portable_op(MPI_Datatype datatype, MPI_Op op);

#endif
