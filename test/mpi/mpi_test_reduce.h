/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Reductions that the tests work out for themselves, element by element: every datatype and
 * operation that MPI pairs, inputs that differ by rank and round, and results to compare with. The
 * inputs are such that every sum and product is exact in its type, so that any order of the ranks
 * gives the same bits. */
#ifndef MPI_TEST_REDUCE_H
#define MPI_TEST_REDUCE_H

#include "mpi_test.h"

/* As MPI-4.0, 6.9.2, groups them; what is signed there but not an integer of C is MR_INTEGER. */
typedef enum mr_group {
    MR_SIGNED,
    MR_UNSIGNED,
    MR_INTEGER,
    MR_FLOATING,
    MR_NARROW, /* our 16-bit floats */
    MR_COMPLEX,
    MR_LOGICAL,
    MR_BYTES,
    MR_PAIR,
} mr_group_t;

typedef enum mr_op {
    MR_SUM,
    MR_PROD,
    MR_MAX,
    MR_MIN,
    MR_LAND,
    MR_LOR,
    MR_LXOR,
    MR_BAND,
    MR_BOR,
    MR_BXOR,
    MR_MAXLOC,
    MR_MINLOC,
    MR_OP_COUNT
} mr_op_t;

typedef struct mr_type {
    MPI_Datatype handle;
    const char *name;
    mr_group_t group;
    size_t size;     /* from one element to the next; 0 when this MPI has no such datatype */
    size_t index_at; /* of MR_PAIR: where the index lies, which is of type index */
    MPI_Datatype value, index;
} mr_type_t;

/* The datatypes. The first call makes those that are ours. */
size_t mr_types(const mr_type_t **types_p);
const mr_type_t *mr_type(MPI_Datatype handle);

const char *mr_op_name(mr_op_t op);
bool mr_defined(const mr_type_t *type, mr_op_t op);

/* The handle to pass with type. */
MPI_Op mr_op(const mr_type_t *type, mr_op_t op);

/* Whether windows of mt_kind serve type: GPUs have no long double. */
bool mr_served(const mr_type_t *type);

/* What rank contributes in that round. */
void mr_input(const mr_type_t *type, mr_op_t op, int rank, uint64_t round, void *to, size_t count);

/* What the ranks [0, ranks) give together; scratch holds one input. ranks is at least 1. */
void mr_result(const mr_type_t *type, mr_op_t op, int ranks, uint64_t round, void *to,
               void *scratch, size_t count);

/* Checks count elements against what is expected; bytes that hold nothing may be anything. */
bool mr_check(const char *file, int line, const mr_type_t *type, const void *expected,
              const void *got, size_t count);
#define CHECK_ELEMENTS(type, expected, got, count)                                                 \
    mr_check(__FILE__, __LINE__, (type), (expected), (got), (count))

#endif
