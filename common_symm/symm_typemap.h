/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Datatypes flattened once into runs of bytes, and walking two of them side by side. A flattened
 * datatype is kept with the datatype itself, as an attribute of it.
 *
 * NOTE the form. A list is a program of items in the datatype's own order. A run is `count` pieces
 * of `len` bytes, `stride` bytes apart; a loop repeats the items behind it. Pieces next to each
 * other in memory and in order are one piece; pieces at equal distances are one run. So a vector is
 * one item, a matrix's face two, whatever their counts. Offsets count from the address that MPI
 * calls the buffer.
 *
 *   vector(3, 2, 4, MPI_INT)      [offset 0, len 8, count 3, stride 16]
 *   two of these, 1000 bytes apart  [loop: count 2, stride 1000, items 1] [0, 8, 3, 16]
 */
#ifndef SYMM_TYPEMAP_H
#define SYMM_TYPEMAP_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_symm.h"

/* Loops inside one another that a list may have; deeper nests are written out. */
#define SYMM_TYPEMAP_DEPTH 8

typedef struct symm_typeitem {
    ptrdiff_t offset; /* bytes from the start of the element, or of the enclosing loop's round */
    ptrdiff_t stride; /* bytes from one piece, or round, to the next */
    size_t len;       /* bytes of each piece; 0 in a loop */
    size_t count;     /* pieces, or rounds */
    uint32_t items;   /* of a loop: how many of the items that follow it repeats; 0 in a run */
} symm_typeitem_t;

typedef struct symm_typelist {
    symm_typeitem_t *items;
    uint32_t count;
    int depth; /* loops inside one another */
} symm_typelist_t;

/* Two ways of seeing the same data: the bytes that a transfer moves, or whole elements, padding
 * inside of them included, whose places an operation computes on. They differ for the pair types
 * with padding (MPI_DOUBLE_INT and the like) and what is made of them. */
typedef enum symm_typeview { SYMM_VIEW_BYTES, SYMM_VIEW_ELEMENTS, SYMM_VIEW_COUNT } symm_typeview_t;

typedef struct symm_typemap {
    struct symm_typemap *next, *prev; /* all live ones */
    size_t size;                      /* bytes of data, without any padding */
    ptrdiff_t extent;                 /* from one element of the datatype to the next */
    ptrdiff_t true_lb, true_ub;       /* where data begins and ends; 0, 0 without data */
    MPI_Datatype element;  /* the predefined datatype that all data is of; MPI_DATATYPE_NULL when
                            * there are several, or none */
    size_t element_extent; /* its extent, 0 when there is no such datatype */
    bool padded;           /* element has padding: the two views differ */
    symm_typelist_t
        list[SYMM_VIEW_COUNT]; /* the second is empty unless padded: symm_typemap_list() */
} symm_typemap_t;

/* Gives the flattened form of datatype, made at the first call. *map_p stays valid as long as the
 * datatype does: until the caller's MPI call returns, whatever is freed later. Any thread.
 * Returns MPI_SUCCESS; MPI_ERR_TYPE when the datatype is none that MPI can describe;
 * MPI_ERR_NO_MEM; then *map_p is not written. */
SYMM_EXPORT int symm_typemap_get(MPI_Datatype datatype, const symm_typemap_t **map_p);

/* Single bytes: `count` of them are a buffer without gaps, as a second side for a walk. */
SYMM_EXPORT extern const symm_typemap_t symm_typemap_bytes;

/* Frees all flattened datatypes. No other call may be under way or follow. */
void symm_typemap_finalize(void);

static inline const symm_typelist_t *symm_typemap_list(const symm_typemap_t *map,
                                                       symm_typeview_t view)
{
    return &map->list[map->padded ? view : SYMM_VIEW_BYTES];
}

/* Whether all data of count elements is one run of bytes in the datatype's order: then *offset_p is
 * where it begins, from the buffer's address, and *len_p its bytes. */
static inline bool symm_typemap_is_run(const symm_typemap_t *map, size_t count, ptrdiff_t *offset_p,
                                       size_t *len_p)
{
    const symm_typelist_t *list = &map->list[SYMM_VIEW_BYTES];
    if (0 == list->count || 0 == count) {
        *offset_p = 0;
        *len_p = 0;
        return true;
    }
    const symm_typeitem_t *item = list->items;
    *offset_p = item->offset;
    *len_p = item->len * count;
    return 1 == list->count && 1 == item->count &&
           (1 == count || map->extent == (ptrdiff_t) item->len);
}

/* Where the data of count elements begins and ends, in bytes from the buffer's address; 0, 0
 * without data. Returns false when that is beyond what an address can be. */
SYMM_EXPORT bool symm_typemap_bounds(const symm_typemap_t *map, size_t count, ptrdiff_t *begin_p,
                                     ptrdiff_t *end_p);

/* ---- walking ---- */

/* One side of a walk: where it is. */
typedef struct symm_typecursor {
    const symm_typelist_t *list;
    uint32_t at; /* the next item */
    int depth;
    struct {
        uint32_t begin, end; /* the items repeated */
        size_t left;         /* rounds after this one */
        ptrdiff_t base;      /* of this round */
        ptrdiff_t stride;
    } loops[SYMM_TYPEMAP_DEPTH + 1]; /* the first one is over the elements of the datatype */
    ptrdiff_t offset;                /* the run that is left: its first piece */
    ptrdiff_t stride;
    size_t len;
    size_t count; /* 0 when the run is used up */
    size_t used;  /* bytes of the first piece that are used up */
} symm_typecursor_t;

typedef struct symm_typewalk {
    symm_typecursor_t a, b;
} symm_typewalk_t;

/* What both sides have in common: `rows` rows of `len` bytes, in order. */
typedef struct symm_typepiece {
    ptrdiff_t a, b;             /* first row, bytes from each buffer's address */
    size_t len;                 /* at least 1 */
    size_t rows;                /* at least 1 */
    ptrdiff_t a_pitch, b_pitch; /* from one row to the next */
} symm_typepiece_t;

/* Starts walking a_count elements of a beside b_count elements of b. Seen as elements, both must be
 * of the same predefined datatype. The maps must stay valid while the walk goes on. */
SYMM_EXPORT void symm_typewalk_init(symm_typewalk_t *walk, symm_typeview_t view,
                                    const symm_typemap_t *a, size_t a_count,
                                    const symm_typemap_t *b, size_t b_count);

/* Starts walking one side alone: a walk may also be put together of two cursors, of which the one
 * that does not end goes on in another walk. */
SYMM_EXPORT void symm_typecursor_init(symm_typecursor_t *cursor, symm_typeview_t view,
                                      const symm_typemap_t *map, size_t count);

/* Gives the next piece, of at most `limit` bytes in all its rows (at least 1). Returns false, with
 * *piece_p not written, when one of the sides has ended. */
SYMM_EXPORT bool symm_typewalk_next(symm_typewalk_t *walk, size_t limit, symm_typepiece_t *piece_p);

/* Bytes of the next piece's rows, without a limit; 0 at the end. */
SYMM_EXPORT size_t symm_typewalk_run(const symm_typewalk_t *walk);

/* Where the next piece begins on each side; 0 when the side has ended. */
static inline ptrdiff_t symm_typecursor_next(const symm_typecursor_t *cursor)
{
    return 0 == cursor->count ? 0 : cursor->offset + (ptrdiff_t) cursor->used;
}

#endif
