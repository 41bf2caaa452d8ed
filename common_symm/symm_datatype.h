/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Which machine type and operation an MPI datatype and MPI_Op stand for (MPI-4.0, 6.9.2). Handles
 * are compared and asked for their size; no internals of MPI are needed. Local; any thread. */
#ifndef SYMM_DATATYPE_H
#define SYMM_DATATYPE_H

#include <mpi.h>
#include <stdbool.h>

#include "symm_types.h"

/* Whether datatype, a predefined one or one of symm_type_float16() and symm_type_bfloat16(), has
 * elements of a machine type; if so *dtype_p is set. Bytes and logical types are unsigned integers.
 */
SYMM_EXPORT bool symm_datatype_find(MPI_Datatype datatype, symm_dtype_t *dtype_p);

/* Whether MPI allows op, a predefined one or one of symm_op(), on datatype and we know both; if so
 * *dtype_p and *op_p are set. */
SYMM_EXPORT bool symm_datatype_find_reduction(MPI_Datatype datatype, MPI_Op op,
                                              symm_dtype_t *dtype_p, symm_op_t *op_p);

#endif
