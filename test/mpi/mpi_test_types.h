/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Datatypes for tests: random nests of all the ways to make one, and the memory they need. */
#ifndef MPI_TEST_TYPES_H
#define MPI_TEST_TYPES_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define MT_TYPE_TEXT 512

/* A committed datatype and the buffer that `count` of them need: `len` bytes, of which MPI's buffer
 * address is the one at `origin`. Data nowhere overlaps. */
typedef struct mt_type {
    MPI_Datatype handle;
    int count;
    size_t bytes; /* of data, all elements together */
    size_t len;
    size_t origin;
    char text[MT_TYPE_TEXT]; /* how it was made, outermost first */
} mt_type_t;

/* Makes a datatype with `depth` constructors around a predefined one, and a count of elements; some
 * are of no data. Alike on all ranks for the same *state. */
mt_type_t mt_type_random(uint64_t *state, int depth);

/* A datatype of the same amount of data, in random pieces of whole bytes. */
mt_type_t mt_type_pieces(uint64_t *state, size_t bytes);

/* Takes over a datatype of the test's own making, committed here. */
mt_type_t mt_type_of(MPI_Datatype handle, int count, const char *text);

void mt_type_free(mt_type_t *type);

#endif
