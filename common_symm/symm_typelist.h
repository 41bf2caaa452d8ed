/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Building the lists of symm_typemap.h: appending runs and repeating whole lists, with everything
 * that can be merged merged. Pure; knows nothing of datatypes. */
#ifndef SYMM_TYPELIST_H
#define SYMM_TYPELIST_H

#include <stdbool.h>

#include "symm_typemap.h"

/* A list that grows. Zero-initialise it; give its memory back with symm_typelist_clear(). */
typedef struct symm_typebuilder {
    symm_typelist_t list;
    uint32_t capacity;
    bool mergeable; /* the last item is a run at the top level */
    bool failed; /* memory was short, or there are too many items: the list is good for clearing */
} symm_typebuilder_t;

/* Appends one piece; nothing when len is 0. */
void symm_typebuilder_piece(symm_typebuilder_t *builder, ptrdiff_t offset, size_t len);

/* Appends list `count` times, the first at offset, the others `stride` bytes after one another. The
 * list must not be the builder's own. */
void symm_typebuilder_repeat(symm_typebuilder_t *builder, const symm_typelist_t *list,
                             ptrdiff_t offset, size_t count, ptrdiff_t stride);

/* Merges `count` rounds of the run, stride bytes apart, into one run if that is possible: then
 * changes *run and returns true. */
bool symm_typeitem_merge_rounds(symm_typeitem_t *run, size_t count, ptrdiff_t stride);

/* Where the list's data begins and ends; 0, 0 without data. Returns false when that is beyond what
 * an address can be. */
bool symm_typelist_bounds(const symm_typelist_t *list, ptrdiff_t *begin_p, ptrdiff_t *end_p);

void symm_typelist_clear(symm_typelist_t *list);

#endif
