/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Flattened datatypes against MPI_Pack and MPI_Unpack: written out for each way of making one, and
 * random nests of all of them. No window is used; every rank does the same. */
#include "symm_config.h"

#include "mpi_test.h"
#include "mpi_test_types.h"
#include "symm_typemap.h"

#include <stdlib.h>
#include <string.h>

#define RANDOM_TYPES 1500

static uint64_t random_state = 20260;

static const symm_typemap_t *map_of(MPI_Datatype datatype)
{
    const symm_typemap_t *map = NULL;
    CHECK_OK(symm_typemap_get(datatype, &map));
    return map;
}

static char *allocate(size_t len)
{
    return mt_alloc(MT_HOST, len + 1);
}

/* ---- moving data by walks ---- */

/* Copies what the walk yields, in pieces of at most limit bytes; returns the bytes moved. */
static size_t copy_walk(symm_typewalk_t *walk, size_t limit, char *a, const char *b)
{
    symm_typepiece_t piece;
    size_t moved = 0;
    while (symm_typewalk_next(walk, limit, &piece)) {
        CHECK(0 < piece.len && 0 < piece.rows && piece.len * piece.rows <= limit);
        for (size_t row = 0; row < piece.rows; ++row) {
            memcpy(a + piece.a + (ptrdiff_t) row * piece.a_pitch,
                   b + piece.b + (ptrdiff_t) row * piece.b_pitch, piece.len);
        }
        moved += piece.len * piece.rows;
    }
    return moved;
}

static size_t random_limit(void)
{
    size_t limit = mt_random(&random_state) % 64;
    return 0 == limit ? SIZE_MAX : limit;
}

/* Copies all of the type's data from typed to a packed buffer, by our walk. */
static void our_pack(const mt_type_t *type, const char *typed, char *packed)
{
    symm_typewalk_t walk;
    symm_typewalk_init(&walk, SYMM_VIEW_BYTES, &symm_typemap_bytes, type->bytes,
                       map_of(type->handle), (size_t) type->count);
    CHECK_INT(type->bytes, copy_walk(&walk, random_limit(), packed, typed + type->origin));
}

static void our_unpack(const mt_type_t *type, const char *packed, char *typed)
{
    symm_typewalk_t walk;
    symm_typewalk_init(&walk, SYMM_VIEW_BYTES, map_of(type->handle), (size_t) type->count,
                       &symm_typemap_bytes, type->bytes);
    CHECK_INT(type->bytes, copy_walk(&walk, random_limit(), typed + type->origin, packed));
}

static void mpi_pack(const mt_type_t *type, const char *typed, char *packed)
{
    int at = 0;
    CHECK_OK(MPI_Pack(typed + type->origin, type->count, type->handle, packed, (int) type->bytes,
                      &at, MPI_COMM_SELF));
}

static void mpi_unpack(const mt_type_t *type, char *packed, char *typed)
{
    int at = 0;
    CHECK_OK(MPI_Unpack(packed, (int) type->bytes, &at, typed + type->origin, type->count,
                        type->handle, MPI_COMM_SELF));
}

static void check_bounds(const mt_type_t *type)
{
    const symm_typemap_t *map = map_of(type->handle);
    ptrdiff_t begin = 1, end = -1;
    CHECK(symm_typemap_bounds(map, (size_t) type->count, &begin, &end));
    CHECK(0 == type->bytes ? 0 == begin && 0 == end
                           : begin >= -(ptrdiff_t) type->origin &&
                                 end <= (ptrdiff_t) (type->len - type->origin));
}

/* Moves the data of every element on its own, found in the view of whole elements. */
static void check_elements(const mt_type_t *type, const char *typed, const char *packed)
{
    const symm_typemap_t *map = map_of(type->handle);
    symm_typewalk_t walk;
    symm_typepiece_t piece;
    int at = 0;
    char *ours = allocate(type->bytes);
    if (MPI_DATATYPE_NULL == map->element) {
        free(ours);
        return;
    }
    symm_typewalk_init(&walk, SYMM_VIEW_ELEMENTS, map, (size_t) type->count, map,
                       (size_t) type->count);
    while (symm_typewalk_next(&walk, SIZE_MAX, &piece)) {
        int elements = (int) (piece.len / map->element_extent);
        CHECK_INT(0, piece.len % map->element_extent);
        CHECK(piece.a == piece.b);
        for (size_t row = 0; row < piece.rows; ++row) {
            CHECK_OK(MPI_Pack(typed + type->origin + piece.a + (ptrdiff_t) row * piece.a_pitch,
                              elements, map->element, ours, (int) type->bytes, &at, MPI_COMM_SELF));
        }
    }
    CHECK_INT(type->bytes, at);
    CHECK(0 == memcmp(ours, packed, type->bytes));
    free(ours);
}

/* Everything that must hold of one datatype. */
static void check_type(const mt_type_t *type)
{
    char *typed = allocate(type->len);
    char *other = allocate(type->len);
    char *packed = allocate(type->bytes);
    char *ours = allocate(type->bytes);
    mt_context("%s", type->text);
    mt_pattern(typed, type->len, mt_random(&random_state));
    mpi_pack(type, typed, packed);
    our_pack(type, typed, ours);
    CHECK(0 == memcmp(packed, ours, type->bytes));
    check_elements(type, typed, packed);
    check_bounds(type);
    mt_poison(typed, type->len);
    mt_poison(other, type->len);
    mpi_unpack(type, packed, typed);
    our_unpack(type, packed, other);
    CHECK(0 == memcmp(typed, other, type->len));
    free(typed);
    free(other);
    free(packed);
    free(ours);
}

/* Moves from one datatype to another of the same data. */
static void check_pair(const mt_type_t *to, const mt_type_t *from)
{
    char *source = allocate(from->len);
    char *expected = allocate(to->len);
    char *got = allocate(to->len);
    char *packed = allocate(from->bytes);
    symm_typewalk_t walk;
    mt_context("from %s to %s", from->text, to->text);
    mt_pattern(source, from->len, mt_random(&random_state));
    mt_poison(expected, to->len);
    mt_poison(got, to->len);
    mpi_pack(from, source, packed);
    mpi_unpack(to, packed, expected);
    symm_typewalk_init(&walk, SYMM_VIEW_BYTES, map_of(to->handle), (size_t) to->count,
                       map_of(from->handle), (size_t) from->count);
    CHECK_INT(to->bytes, copy_walk(&walk, random_limit(), got + to->origin, source + from->origin));
    CHECK(0 == memcmp(expected, got, to->len));
    free(source);
    free(expected);
    free(got);
    free(packed);
}

/* ---- tests ---- */

static void random_types(void)
{
    int with_data = 0;
    for (int i = 0; i < RANDOM_TYPES; ++i) {
        mt_type_t type = mt_type_random(&random_state, i % 5);
        mt_type_t pieces = mt_type_pieces(&random_state, type.bytes);
        check_type(&type);
        check_pair(&type, &pieces);
        check_pair(&pieces, &type);
        with_data += 0 < type.bytes;
        mt_type_free(&type);
        mt_type_free(&pieces);
    }
    CHECK(RANDOM_TYPES / 3 < with_data);
}

/* Checks what became of a datatype, which is freed: its items, and its first one. */
static void check_form(MPI_Datatype handle, const char *text, uint32_t items, size_t len,
                       size_t count, ptrdiff_t stride)
{
    mt_type_t type = mt_type_of(handle, 1, text);
    const symm_typelist_t *list = symm_typemap_list(map_of(handle), SYMM_VIEW_BYTES);
    check_type(&type);
    if (CHECK_INT(items, list->count) && 0 < items) {
        CHECK_INT(len, list->items[0].len);
        CHECK_INT(count, list->items[0].count);
        CHECK_INT(stride, list->items[0].stride);
    }
    mt_type_free(&type);
}

static void regular_types_are_one_run(void)
{
    MPI_Datatype type, row, named;
    const int lens[] = {1, 1, 1, 2}, places[] = {0, 2, 4, 5};
    CHECK_OK(MPI_Type_vector(3, 2, 4, MPI_INT, &type));
    check_form(type, "vector", 1, 8, 3, 16);
    CHECK_OK(MPI_Type_vector(3, 2, 2, MPI_INT, &type));
    check_form(type, "vector without gaps", 1, 24, 1, 0);
    CHECK_OK(MPI_Type_vector(3, 2, -4, MPI_INT, &type));
    check_form(type, "backward vector", 1, 8, 3, -16);
    CHECK_OK(MPI_Type_indexed(4, lens, places, MPI_INT, &type));
    check_form(type, "indexed, the last two blocks adjacent", 2, 4, 2, 8);
    CHECK_OK(MPI_Type_create_indexed_block(3, 1, (const int[]){1, 3, 5}, MPI_INT, &type));
    check_form(type, "even indexed_block", 1, 4, 3, 8);
    CHECK_OK(MPI_Type_vector(0, 2, 4, MPI_INT, &type));
    check_form(type, "empty", 0, 0, 0, 0);
    CHECK_OK(MPI_Type_dup(MPI_DOUBLE_INT, &named));
    check_form(named, "padded pair", 1, 12, 1, 0);
    CHECK_OK(MPI_Type_contiguous(5, MPI_DOUBLE_INT, &named));
    check_form(named, "padded pairs", 1, 12, 5, 16);
    CHECK_OK(MPI_Type_vector(1000, 1, 3, MPI_DOUBLE, &row));
    CHECK_OK(MPI_Type_create_hvector(1000, 1, 100000, row, &type));
    check_form(type, "matrix of a vector", 2, 0, 1000, 100000);
    CHECK_OK(MPI_Type_free(&row));
}

/* Flattening must not write huge datatypes out, and counts beyond 2^32 bytes must not overflow. */
static void huge_types_stay_small(void)
{
    MPI_Datatype row, plane, type;
    symm_typewalk_t walk;
    symm_typepiece_t piece;
    CHECK_OK(MPI_Type_vector(1 << 20, 3, 8, MPI_INT, &row));
    CHECK_OK(MPI_Type_contiguous(1 << 20, row, &plane));
    CHECK_OK(MPI_Type_contiguous(1 << 10, plane, &type));
    CHECK_OK(MPI_Type_commit(&type));
    const symm_typemap_t *map = map_of(type);
    CHECK(8 >= symm_typemap_list(map, SYMM_VIEW_BYTES)->count);
    CHECK_INT((int64_t) 12 << 50, map->size);
    symm_typewalk_init(&walk, SYMM_VIEW_BYTES, map, 1, &symm_typemap_bytes, map->size);
    CHECK(symm_typewalk_next(&walk, SIZE_MAX, &piece));
    CHECK_INT(12, piece.len);
    CHECK_INT(1 << 20, piece.rows);
    ptrdiff_t begin, end;
    CHECK(symm_typemap_bounds(map, 1, &begin, &end));
    CHECK_INT(map->true_ub, end);
    CHECK(!symm_typemap_bounds(map, (size_t) 1 << 20, &begin, &end));
    CHECK_OK(MPI_Type_free(&row));
    CHECK_OK(MPI_Type_free(&plane));
    CHECK_OK(MPI_Type_free(&type));
}

static void elements_are_known(void)
{
    MPI_Datatype type, real;
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    const MPI_Datatype with_empty[] = {MPI_INT, MPI_FLOAT_INT};
    const MPI_Aint places[] = {0, 8};
    CHECK_OK(MPI_Type_create_struct(2, (const int[]){1, 1}, places, types, &type));
    CHECK(MPI_DATATYPE_NULL == map_of(type)->element);
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Type_create_struct(2, (const int[]){1, 0}, places, types, &type));
    CHECK_INT(2, 1 + (MPI_INT != map_of(type)->element)); /* a block of none counts all the same */
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Type_create_struct(2, (const int[]){2, 3}, places, with_empty, &type));
    CHECK(MPI_DATATYPE_NULL == map_of(type)->element);
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Type_vector(2, 3, 4, MPI_SHORT_INT, &type));
    CHECK(MPI_SHORT_INT == map_of(type)->element && map_of(type)->padded);
    CHECK_INT(8, map_of(type)->element_extent);
    CHECK_OK(MPI_Type_free(&type));
    CHECK_OK(MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real));
    CHECK_OK(MPI_Type_vector(2, 3, 4, real, &type));
    CHECK(MPI_DOUBLE == map_of(type)->element && MPI_DOUBLE == map_of(real)->element);
    CHECK_OK(MPI_Type_free(&type));
}

/* The map goes with its datatype: a leak of these would be a gigabyte. */
static void maps_are_kept_and_freed(void)
{
    enum { BLOCKS = 10000, ROUNDS = 2000 };
    static int lens[BLOCKS], places[BLOCKS];
    MPI_Datatype type, copy;
    for (int i = 0; i < BLOCKS; ++i) {
        lens[i] = 1 + i % 3;
        places[i] = 5 * i + i % 2;
    }
    mt_resources_t before = mt_resources();
    for (int i = 0; i < ROUNDS; ++i) {
        CHECK_OK(MPI_Type_indexed(BLOCKS, lens, places, MPI_INT, &type));
        CHECK_OK(MPI_Type_commit(&type));
        const symm_typemap_t *map = map_of(type);
        CHECK(map == map_of(type));
        CHECK_OK(MPI_Type_dup(type, &copy));
        CHECK_OK(MPI_Type_free(&type));
        CHECK_INT(BLOCKS, map_of(copy)->list[SYMM_VIEW_BYTES].count);
        CHECK_OK(MPI_Type_free(&copy));
    }
    CHECK(200000 > mt_resources().resident_kib - before.resident_kib);
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "typemap");
    MT_RUN(regular_types_are_one_run);
    MT_RUN(huge_types_stay_small);
    MT_RUN(elements_are_known);
    MT_RUN(random_types);
    MT_RUN(maps_are_kept_and_freed);
    return mt_finish();
}
