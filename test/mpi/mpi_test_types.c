/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Random datatypes. All are made so that the data of one element lies within its lower bound and
 * extent: then repeating one never makes data overlap. */
#include "symm_config.h"

#include "mpi_test_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_test.h"

#define BLOCKS_MAX 5

static int below(uint64_t *state, int n)
{
    return (int) (mt_random(state) % (uint64_t) n);
}

static MPI_Aint extent_of(MPI_Datatype type)
{
    MPI_Aint lb, extent;
    CHECK_OK(MPI_Type_get_extent(type, &lb, &extent));
    return extent;
}

static MPI_Datatype random_named(uint64_t *state)
{
    const MPI_Datatype named[] = {MPI_BYTE,       MPI_SHORT,       MPI_INT,
                                  MPI_DOUBLE,     MPI_LONG_DOUBLE, MPI_FLOAT_INT,
                                  MPI_DOUBLE_INT, MPI_SHORT_INT,   MPI_LONG_INT,
                                  MPI_2INT,       MPI_CHAR,        MPI_LONG_DOUBLE_INT};
    return named[below(state, (int) (sizeof(named) / sizeof(named[0])))];
}

/* Blocks of random lengths, some 0, that do not overlap: displacements in units of one child. */
static int random_blocks(uint64_t *state, int *lens, int *places)
{
    int n = below(state, BLOCKS_MAX) + 1;
    int at = below(state, 5) - 2;
    for (int i = 0; i < n; ++i) {
        lens[i] = below(state, 4);
        places[i] = at;
        at += lens[i] + below(state, 3);
    }
    int a = below(state, n); /* not always in ascending order */
    int b = below(state, n);
    int len = lens[a], place = places[a];
    lens[a] = lens[b], places[a] = places[b];
    lens[b] = len, places[b] = place;
    return n;
}

/* Whether a stride shall be positive. Negative ones leave gaps: where there are none, Open MPI
 * takes the bytes in the order of their addresses (seen in 4.1.4), which is not that of the
 * datatype. */
static bool forward(uint64_t *state)
{
    return 0 != below(state, 3);
}

static MPI_Datatype make_vector(uint64_t *state, MPI_Datatype child)
{
    MPI_Datatype made;
    int len = below(state, 4);
    int stride = forward(state) ? len + below(state, 3) : -(len + 1 + below(state, 3));
    CHECK_OK(MPI_Type_vector(below(state, 6), len, stride, child, &made));
    return made;
}

static MPI_Datatype make_hvector(uint64_t *state, MPI_Datatype child)
{
    MPI_Datatype made;
    int len = below(state, 3) + 1;
    MPI_Aint block = len * extent_of(child);
    MPI_Aint stride = forward(state) ? block + below(state, 9) : -(block + 1 + below(state, 9));
    CHECK_OK(MPI_Type_create_hvector(below(state, 6), len, stride, child, &made));
    return made;
}

static MPI_Datatype make_indexed(uint64_t *state, MPI_Datatype child)
{
    MPI_Datatype made;
    int lens[BLOCKS_MAX], places[BLOCKS_MAX];
    int n = random_blocks(state, lens, places);
    CHECK_OK(MPI_Type_indexed(n, lens, places, child, &made));
    return made;
}

static MPI_Datatype make_hindexed(uint64_t *state, MPI_Datatype child)
{
    MPI_Datatype made;
    int lens[BLOCKS_MAX], places[BLOCKS_MAX];
    MPI_Aint bytes[BLOCKS_MAX];
    int n = random_blocks(state, lens, places);
    MPI_Aint unit = extent_of(child) + below(state, 3);
    for (int i = 0; i < n; ++i) {
        bytes[i] = places[i] * unit;
    }
    CHECK_OK(MPI_Type_create_hindexed(n, lens, bytes, child, &made));
    return made;
}

/* Displacements of equal blocks: every third is left out. */
static int equal_blocks(uint64_t *state, int len, int *places)
{
    int n = below(state, BLOCKS_MAX) + 1;
    for (int i = 0; i < n; ++i) {
        places[i] = (i + i / 3 - 1) * (0 < len ? len : 1);
    }
    return n;
}

static MPI_Datatype make_indexed_block(uint64_t *state, MPI_Datatype child)
{
    MPI_Datatype made;
    int places[BLOCKS_MAX];
    int len = below(state, 3);
    int n = equal_blocks(state, len, places);
    CHECK_OK(MPI_Type_create_indexed_block(n, len, places, child, &made));
    return made;
}

static MPI_Datatype make_hindexed_block(uint64_t *state, MPI_Datatype child)
{
    MPI_Datatype made;
    int places[BLOCKS_MAX];
    MPI_Aint bytes[BLOCKS_MAX];
    int len = below(state, 3);
    int n = equal_blocks(state, len, places);
    MPI_Aint unit = extent_of(child) + below(state, 2) * 8;
    for (int i = 0; i < n; ++i) {
        bytes[i] = places[i] * unit;
    }
    CHECK_OK(MPI_Type_create_hindexed_block(n, len, bytes, child, &made));
    return made;
}

static MPI_Datatype make_dup(uint64_t *state, MPI_Datatype child)
{
    (void) state;
    MPI_Datatype made;
    CHECK_OK(MPI_Type_dup(child, &made));
    return made;
}

static bool is_empty(MPI_Datatype type)
{
    int size;
    CHECK_OK(MPI_Type_size(type, &size));
    return 0 == size;
}

/* The child among predefined ones. */
static MPI_Datatype make_struct(uint64_t *state, MPI_Datatype child)
{
    MPI_Datatype made;
    if (is_empty(child)) {
        return make_dup(state, child); /* Open MPI 4.1.4 may lose padding behind the other data */
    }
    MPI_Datatype types[3] = {random_named(state), child, random_named(state)};
    int lens[3] = {below(state, 3), below(state, 3), below(state, 3)};
    MPI_Aint bytes[3];
    MPI_Aint lb, extent;
    MPI_Aint at = below(state, 8) - 4;
    for (int i = 0; i < 3; ++i) {
        CHECK_OK(MPI_Type_get_extent(types[i], &lb, &extent));
        bytes[i] = at - lb;
        at += lens[i] * extent + below(state, 8);
    }
    CHECK_OK(MPI_Type_create_struct(3, lens, bytes, types, &made));
    return made;
}

static MPI_Datatype make_subarray(uint64_t *state, MPI_Datatype child)
{
    MPI_Datatype made;
    int sizes[3], subsizes[3], starts[3];
    int n = below(state, 3) + 1;
    for (int d = 0; d < n; ++d) {
        sizes[d] = below(state, 4) + 1;
        subsizes[d] = below(state, sizes[d]) + 1;
        starts[d] = below(state, sizes[d] - subsizes[d] + 1);
    }
    int order = 0 == below(state, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    CHECK_OK(MPI_Type_create_subarray(n, sizes, subsizes, starts, order, child, &made));
    return made;
}

static MPI_Datatype make_darray(uint64_t *state, MPI_Datatype child)
{
    MPI_Datatype made;
    int global[2], kinds[2], dargs[2], procs[2];
    if (is_empty(child)) {
        return make_dup(state, child); /* Open MPI refuses elements without data */
    }
    for (int d = 0; d < 2; ++d) {
        procs[d] = below(state, 3) + 1;
        global[d] = below(state, 9) + 1;
        kinds[d] = 0 == below(state, 2) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
        dargs[d] = MPI_DISTRIBUTE_DFLT_DARG;
        if (MPI_DISTRIBUTE_CYCLIC == kinds[d] && 0 == below(state, 2)) {
            dargs[d] = below(state, 3) + 1;
        }
    }
    int order = 0 == below(state, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int ranks = procs[0] * procs[1];
    CHECK_OK(MPI_Type_create_darray(ranks, below(state, ranks), 2, global, kinds, dargs, procs,
                                    order, child, &made));
    return made;
}

static MPI_Datatype make_resized(uint64_t *state, MPI_Datatype child)
{
    MPI_Datatype made;
    MPI_Aint lb, extent;
    MPI_Aint before = below(state, 9);
    CHECK_OK(MPI_Type_get_extent(child, &lb, &extent));
    CHECK_OK(MPI_Type_create_resized(child, lb - before, extent + before + below(state, 9), &made));
    return made;
}

static MPI_Datatype make_contiguous(uint64_t *state, MPI_Datatype child)
{
    MPI_Datatype made;
    CHECK_OK(MPI_Type_contiguous(below(state, 5), child, &made));
    return made;
}

static const struct {
    const char *name;
    MPI_Datatype (*make)(uint64_t *state, MPI_Datatype child);
} makers[] = {
    {"vector", make_vector},
    {"hvector", make_hvector},
    {"indexed", make_indexed},
    {"hindexed", make_hindexed},
    {"indexed_block", make_indexed_block},
    {"hindexed_block", make_hindexed_block},
    {"struct", make_struct},
    {"subarray", make_subarray},
    {"darray", make_darray},
    {"resized", make_resized},
    {"contiguous", make_contiguous},
    {"dup", make_dup},
};

#define MAKER_COUNT ((int) (sizeof(makers) / sizeof(makers[0])))

/* Writes what datatype was made with, as "hvector 5 1 | 12". */
static void describe(MPI_Datatype datatype, const char *name, char *text, size_t len)
{
    enum { SHOWN = 32 };
    int ints[SHOWN], int_count, address_count, type_count, combiner;
    MPI_Aint addresses[SHOWN];
    MPI_Datatype types[SHOWN];
    int at = snprintf(text, len, "%s", name);
    CHECK_OK(MPI_Type_get_envelope(datatype, &int_count, &address_count, &type_count, &combiner));
    if (SHOWN < int_count || SHOWN < address_count || SHOWN < type_count) {
        return;
    }
    CHECK_OK(MPI_Type_get_contents(datatype, int_count, address_count, type_count, ints, addresses,
                                   types));
    for (int i = 0; i < int_count && at < (int) len; ++i) {
        at += snprintf(text + at, len - (size_t) at, " %d", ints[i]);
    }
    for (int i = 0; i < address_count && at < (int) len; ++i) {
        at += snprintf(text + at, len - (size_t) at, "%s %ld", 0 == i ? " |" : "",
                       (long) addresses[i]);
    }
    for (int i = 0; i < type_count; ++i) {
        CHECK_OK(
            MPI_Type_get_envelope(types[i], &int_count, &address_count, &type_count, &combiner));
        if (MPI_COMBINER_NAMED != combiner) {
            CHECK_OK(MPI_Type_free(&types[i]));
        }
    }
}

/* The bytes that count elements need around the buffer's address. */
static void measure(mt_type_t *type)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    int size;
    CHECK_OK(MPI_Type_size(type->handle, &size));
    CHECK_OK(MPI_Type_get_extent(type->handle, &lb, &extent));
    CHECK_OK(MPI_Type_get_true_extent(type->handle, &true_lb, &true_extent));
    type->bytes = (size_t) size * (size_t) type->count;
    MPI_Aint last = 0 < type->count ? (type->count - 1) * extent : 0;
    MPI_Aint begin = true_lb + (0 > last ? last : 0);
    MPI_Aint end = true_lb + true_extent + (0 < last ? last : 0);
    begin = 0 == type->bytes || 0 < begin ? 0 : begin;
    end = 0 == type->bytes || 0 > end ? 0 : end;
    type->origin = (size_t) -begin;
    type->len = (size_t) (end - begin);
}

mt_type_t mt_type_of(MPI_Datatype handle, int count, const char *text)
{
    mt_type_t type = {.handle = handle, .count = count};
    (void) snprintf(type.text, sizeof(type.text), "%d x %s", count, text);
    CHECK_OK(MPI_Type_commit(&type.handle));
    measure(&type);
    return type;
}

mt_type_t mt_type_random(uint64_t *state, int depth)
{
    char text[MT_TYPE_TEXT];
    char name[MPI_MAX_OBJECT_NAME];
    int len;
    MPI_Datatype handle = random_named(state);
    CHECK_OK(MPI_Type_get_name(handle, name, &len));
    (void) snprintf(text, sizeof(text), "%s", name);
    CHECK_OK(MPI_Type_dup(handle, &handle));
    for (int i = 0; i < depth; ++i) {
        int which = below(state, MAKER_COUNT);
        MPI_Datatype outer = makers[which].make(state, handle);
        char inner[MT_TYPE_TEXT], made[MT_TYPE_TEXT];
        memcpy(inner, text, sizeof(inner));
        describe(outer, makers[which].name, made, sizeof(made));
        (void) snprintf(text, sizeof(text), "%.150s (%.340s)", made, inner);
        CHECK_OK(MPI_Type_free(&handle));
        handle = outer;
    }
    return mt_type_of(handle, 1 + below(state, 4), text);
}

mt_type_t mt_type_pieces(uint64_t *state, size_t bytes)
{
    int n = 1 + below(state, 20);
    int *lens = calloc((size_t) n, sizeof(*lens));
    int *places = calloc((size_t) n, sizeof(*places));
    MPI_Datatype handle = MPI_DATATYPE_NULL;
    size_t left = bytes;
    int at = 0;
    for (int i = 0; NULL != lens && NULL != places && i < n; ++i) {
        lens[i] = i == n - 1 ? (int) left : below(state, (int) (left / 4 + 1) + 1);
        lens[i] = (size_t) lens[i] > left ? (int) left : lens[i];
        left -= (size_t) lens[i];
        places[i] = at + below(state, 9);
        at = places[i] + lens[i];
    }
    CHECK_OK(MPI_Type_indexed(n, lens, places, MPI_BYTE, &handle));
    free(lens);
    free(places);
    return mt_type_of(handle, 1, "pieces");
}

void mt_type_free(mt_type_t *type)
{
    CHECK_OK(MPI_Type_free(&type->handle));
}
