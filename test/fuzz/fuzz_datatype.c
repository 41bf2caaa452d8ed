/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Flattening of datatypes: any nest of MPI's constructors, walked, gives the bytes that its
 * definition gives, in that order. What a constructor means is written down once more here, element
 * by element; of MPI only extents are asked. (Open MPI's own packing is no measure: it takes some
 * vectors of negative stride for contiguous.) The input: constructors from the inside out, then a
 * count. */
#include "symm_config.h"

#include "fuzz.h"
#include "symm_typemap.h"

#include <mpi.h>
#include <stdbool.h>
#include <string.h>

#define DEPTH_MAX    5
#define BLOCKS_MAX   4
#define ELEMENTS_MAX 4096
#define SPAN_MAX     ((ptrdiff_t) 1 << 16) /* larger ones are left out */

/* One basic element. */
typedef struct element {
    ptrdiff_t offset;
    size_t len;
} element_t;

/* A datatype and its elements in order; too many are counted, not kept. */
typedef struct made {
    MPI_Datatype datatype;
    size_t count;
    element_t elements[ELEMENTS_MAX];
} made_t;

static void start_mpi(void)
{
    static bool started;
    if (!started) {
        FUZZ_CHECK(MPI_SUCCESS == MPI_Init(NULL, NULL)); /* alone, without a launcher */
        (void) atexit((void (*)(void)) MPI_Finalize);
        started = true;
    }
}

static ptrdiff_t extent_of(MPI_Datatype datatype)
{
    MPI_Aint lb, extent;
    FUZZ_CHECK(MPI_SUCCESS == MPI_Type_get_extent(datatype, &lb, &extent));
    return extent;
}

static void append(made_t *to, const made_t *from, ptrdiff_t at)
{
    for (size_t i = 0; i < from->count; ++i, ++to->count) {
        if (ELEMENTS_MAX > i && ELEMENTS_MAX > to->count) {
            to->elements[to->count] =
                (element_t){from->elements[i].offset + at, from->elements[i].len};
        }
    }
}

/* count elements of from behind one another. */
static void append_block(made_t *to, const made_t *from, ptrdiff_t at, int count)
{
    for (int i = 0; i < count; ++i) {
        append(to, from, at + i * extent_of(from->datatype));
    }
}

static void take_basic(fuzz_input_t *input, made_t *made)
{
    const MPI_Datatype basic[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_BYTE};
    int size = 0;
    made->datatype = basic[fuzz_below(input, sizeof(basic) / sizeof(basic[0]))];
    FUZZ_CHECK(MPI_SUCCESS == MPI_Type_size(made->datatype, &size));
    made->count = 1;
    made->elements[0] = (element_t){0, (size_t) size};
}

static int take_displacement(fuzz_input_t *input)
{
    return (int) fuzz_below(input, 24) - 4;
}

/* ---- constructors: each makes *to of the datatype inner, and writes its elements down ---- */

static int make_contiguous(fuzz_input_t *input, const made_t *inner, made_t *to)
{
    int count = (int) fuzz_below(input, 5);
    append_block(to, inner, 0, count);
    return MPI_Type_contiguous(count, inner->datatype, &to->datatype);
}

static int make_vector(fuzz_input_t *input, const made_t *inner, made_t *to)
{
    int count = (int) fuzz_below(input, 5);
    int len = (int) fuzz_below(input, 4);
    int stride = take_displacement(input);
    bool bytes = 0 == fuzz_below(input, 2);
    for (int i = 0; i < count; ++i) {
        append_block(to, inner, (ptrdiff_t) i * stride * (bytes ? 1 : extent_of(inner->datatype)),
                     len);
    }
    return bytes ? MPI_Type_create_hvector(count, len, stride, inner->datatype, &to->datatype)
                 : MPI_Type_vector(count, len, stride, inner->datatype, &to->datatype);
}

static int make_resized(fuzz_input_t *input, const made_t *inner, made_t *to)
{
    int lb = take_displacement(input);
    append(to, inner, 0);
    return MPI_Type_create_resized(inner->datatype, lb, 1 + (int) fuzz_below(input, 40),
                                   &to->datatype);
}

static int make_subarray(fuzz_input_t *input, const made_t *inner, made_t *to)
{
    int sizes[2], parts[2], starts[2];
    for (int i = 0; i < 2; ++i) {
        sizes[i] = 1 + (int) fuzz_below(input, 5);
        parts[i] = 1 + (int) fuzz_below(input, (unsigned) sizes[i]);
        starts[i] = (int) fuzz_below(input, (unsigned) (sizes[i] - parts[i] + 1));
    }
    bool c = 0 == fuzz_below(input, 2);
    int slow = c ? 0 : 1;
    int fast = 1 - slow;
    for (int i = 0; i < parts[slow]; ++i) {
        ptrdiff_t at = (ptrdiff_t) (starts[slow] + i) * sizes[fast] + starts[fast];
        append_block(to, inner, at * extent_of(inner->datatype), parts[fast]);
    }
    return MPI_Type_create_subarray(2, sizes, parts, starts, c ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                                    inner->datatype, &to->datatype);
}

static int make_indexed(fuzz_input_t *input, const made_t *inner, made_t *to)
{
    int lens[BLOCKS_MAX], places[BLOCKS_MAX];
    MPI_Aint bytes[BLOCKS_MAX];
    int count = (int) fuzz_below(input, BLOCKS_MAX + 1);
    unsigned kind = fuzz_below(input, 3);
    int same = 1 + (int) fuzz_below(input, 3);
    for (int i = 0; i < count; ++i) {
        lens[i] = (int) fuzz_below(input, 4);
        places[i] = take_displacement(input);
        bytes[i] = places[i];
        append_block(to, inner, 1 == kind ? places[i] : places[i] * extent_of(inner->datatype),
                     2 == kind ? same : lens[i]);
    }
    if (1 == kind) {
        return MPI_Type_create_hindexed(count, lens, bytes, inner->datatype, &to->datatype);
    }
    return 2 == kind
               ? MPI_Type_create_indexed_block(count, same, places, inner->datatype, &to->datatype)
               : MPI_Type_indexed(count, lens, places, inner->datatype, &to->datatype);
}

static int make_struct(fuzz_input_t *input, const made_t *inner, made_t *to)
{
    static made_t basic;
    int lens[BLOCKS_MAX];
    MPI_Aint places[BLOCKS_MAX];
    MPI_Datatype types[BLOCKS_MAX];
    int count = (int) fuzz_below(input, BLOCKS_MAX + 1);
    for (int i = 0; i < count; ++i) {
        const made_t *part = inner;
        if (0 == fuzz_below(input, 2)) {
            take_basic(input, &basic);
            part = &basic;
        }
        lens[i] = (int) fuzz_below(input, 4);
        places[i] = take_displacement(input);
        types[i] = part->datatype;
        append_block(to, part, places[i], lens[i]);
    }
    return MPI_Type_create_struct(count, lens, places, types, &to->datatype);
}

static int make_dup(fuzz_input_t *input, const made_t *inner, made_t *to)
{
    (void) input;
    append(to, inner, 0);
    return MPI_Type_dup(inner->datatype, &to->datatype);
}

/* A datatype of some depth in *made; the caller frees it. */
static void take_datatype(fuzz_input_t *input, made_t *made)
{
    static int (*const makers[])(fuzz_input_t *, const made_t *, made_t *) = {
        make_contiguous, make_vector, make_resized, make_subarray,
        make_indexed,    make_struct, make_dup};
    static made_t outer;
    take_basic(input, made);
    FUZZ_CHECK(MPI_SUCCESS == MPI_Type_dup(made->datatype, &made->datatype));
    for (unsigned depth = fuzz_below(input, DEPTH_MAX + 1); 0 < depth; --depth) {
        outer.count = 0;
        unsigned kind = fuzz_below(input, sizeof(makers) / sizeof(makers[0]));
        FUZZ_CHECK(MPI_SUCCESS == makers[kind](input, made, &outer));
        FUZZ_CHECK(MPI_SUCCESS == MPI_Type_free(&made->datatype));
        *made = outer;
    }
    FUZZ_CHECK(MPI_SUCCESS == MPI_Type_commit(&made->datatype));
}

/* ---- the comparison ---- */

/* The bytes of count datatypes at base, one after another, as the walk finds them. */
static void pack_by_walk(const symm_typemap_t *map, size_t count, const char *base, char *packed,
                         size_t limit)
{
    symm_typewalk_t walk;
    symm_typepiece_t piece;
    size_t total = count * map->size;
    symm_typewalk_init(&walk, SYMM_VIEW_BYTES, map, count, &symm_typemap_bytes, total);
    while (symm_typewalk_next(&walk, limit, &piece)) {
        FUZZ_CHECK(0 < piece.len && 0 < piece.rows && piece.len * piece.rows <= limit);
        for (size_t row = 0; row < piece.rows; ++row) {
            ptrdiff_t to = piece.b + (ptrdiff_t) row * piece.b_pitch;
            FUZZ_CHECK(0 <= to && (size_t) to + piece.len <= total);
            memcpy(packed + to, base + piece.a + (ptrdiff_t) row * piece.a_pitch, piece.len);
        }
    }
}

/* The same as the elements say. */
static void pack_by_elements(const made_t *made, size_t count, const char *base, char *packed)
{
    for (size_t n = 0; n < count; ++n) {
        const char *at = base + (ptrdiff_t) n * extent_of(made->datatype);
        for (size_t i = 0; i < made->count; ++i) {
            memcpy(packed, at + made->elements[i].offset, made->elements[i].len);
            packed += made->elements[i].len;
        }
    }
}

static void compare(const symm_typemap_t *map, const made_t *made, size_t count, ptrdiff_t begin,
                    ptrdiff_t end, size_t limit)
{
    size_t total = count * map->size;
    size_t span = (size_t) (end - begin);
    unsigned char *buffer = malloc(span + 1);
    char *expected = malloc(total + 1);
    char *got = calloc(1, total + 1);
    FUZZ_CHECK(NULL != buffer && NULL != expected && NULL != got);
    for (size_t i = 0; i < span; ++i) {
        buffer[i] = (unsigned char) (i * 37 + i / 251);
    }
    const char *base = (const char *) buffer - begin;
    pack_by_elements(made, count, base, expected);
    pack_by_walk(map, count, base, got, limit);
    FUZZ_CHECK(0 == memcmp(expected, got, total));
    free(buffer);
    free(expected);
    free(got);
}

static size_t bytes_of(const made_t *made)
{
    size_t bytes = 0;
    for (size_t i = 0; i < made->count; ++i) {
        bytes += made->elements[i].len;
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static made_t made;
    fuzz_input_t input = {data, len};
    const symm_typemap_t *map;
    ptrdiff_t begin, end;
    start_mpi();
    take_datatype(&input, &made);
    size_t count = fuzz_below(&input, 4);
    size_t limit = 0 == fuzz_below(&input, 2) ? SIZE_MAX : 1 + fuzz_below(&input, 64);
    FUZZ_CHECK(MPI_SUCCESS == symm_typemap_get(made.datatype, &map));
    if (ELEMENTS_MAX >= made.count) {
        FUZZ_CHECK(bytes_of(&made) == map->size);
        if (symm_typemap_bounds(map, count, &begin, &end) && SPAN_MAX > end - begin) {
            compare(map, &made, count, begin, end, limit);
        }
    }
    FUZZ_CHECK(MPI_SUCCESS == MPI_Type_free(&made.datatype));
    return 0;
}
