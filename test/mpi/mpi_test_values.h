/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Values of predefined datatypes for tests of operations: making them, and telling whether two are
 * the same, padding apart. */
#ifndef MPI_TEST_VALUES_H
#define MPI_TEST_VALUES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How values of a datatype look in memory. */
typedef enum mt_form {
    MT_FORM_INTEGER,
    MT_FORM_FLOAT,
    MT_FORM_DOUBLE,
    MT_FORM_LONG_DOUBLE,
    MT_FORM_COMPLEX_FLOAT,
    MT_FORM_COMPLEX_DOUBLE,
    MT_FORM_COMPLEX_LONG_DOUBLE,
    MT_FORM_LOGICAL,
    MT_FORM_BYTE,
    MT_FORM_FLOAT_INT,
    MT_FORM_DOUBLE_INT,
    MT_FORM_LONG_INT,
    MT_FORM_INT_INT,
    MT_FORM_SHORT_INT,
    MT_FORM_LONG_DOUBLE_INT,
} mt_form_t;

typedef struct mt_value_type {
    MPI_Datatype datatype;
    const char *name;
    mt_form_t form;
    size_t size; /* extent */
} mt_value_type_t;

/* The i-th datatype; false when there are no more. Those that this MPI lacks are left out. */
bool mt_value_type(int i, mt_value_type_t *type_p);

/* The i-th operation, all predefined ones with MPI_REPLACE and MPI_NO_OP, with a static name; false
 * when there are no more. */
bool mt_value_op(int i, MPI_Op *op_p, const char **name_p);

/* Whether MPI defines op on values of that form (MPI-4.0, 6.9.2 and 12.3.4). */
bool mt_value_allows(mt_form_t form, MPI_Op op);

/* Writes count small values that depend on seed, exact in all operations; padding is untouched. */
void mt_values(const mt_value_type_t *type, void *host, size_t count, uint64_t seed);

/* target = target op origin for count values on the host, by MPI's own MPI_Reduce_local. */
void mt_values_update(const mt_value_type_t *type, MPI_Op op, void *target, const void *origin,
                      size_t count);

/* Checks that count values on the host are those expected. */
bool mt_check_values(const char *file, int line, const mt_value_type_t *type, const void *expected,
                     const void *got, size_t count);
#define CHECK_VALUES(type, expected, got, count)                                                   \
    mt_check_values(__FILE__, __LINE__, (type), (expected), (got), (count))

#endif
