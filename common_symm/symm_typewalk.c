/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Walks two flattened datatypes side by side. */
#include "symm_config.h"

#include "symm_typelist.h"

/* Finds the next run of the list; the one before is used up. Leaves count 0 at the end. */
static void next_run(symm_typecursor_t *cursor)
{
    for (;;) {
        uint32_t depth = (uint32_t) cursor->depth;
        if (cursor->at < cursor->loops[depth].end) {
            const symm_typeitem_t *item = &cursor->list->items[cursor->at++];
            ptrdiff_t offset = cursor->loops[depth].base + item->offset;
            if (0 == item->items) {
                cursor->offset = offset;
                cursor->stride = item->stride;
                cursor->len = item->len;
                cursor->count = item->count;
                return;
            }
            ++cursor->depth;
            cursor->loops[depth + 1].begin = cursor->at;
            cursor->loops[depth + 1].end = cursor->at + item->items;
            cursor->loops[depth + 1].left = item->count - 1;
            cursor->loops[depth + 1].base = offset;
            cursor->loops[depth + 1].stride = item->stride;
        } else if (0 < cursor->loops[depth].left) {
            --cursor->loops[depth].left;
            cursor->loops[depth].base += cursor->loops[depth].stride;
            cursor->at = cursor->loops[depth].begin;
        } else if (0 < depth) {
            --cursor->depth;
        } else {
            return;
        }
    }
}

void symm_typecursor_init(symm_typecursor_t *cursor, symm_typeview_t view,
                          const symm_typemap_t *map, size_t count)
{
    const symm_typelist_t *list = symm_typemap_list(map, view);
    cursor->list = list;
    cursor->at = 0;
    cursor->depth = 0;
    cursor->count = 0;
    cursor->used = 0;
    cursor->loops[0].begin = 0;
    cursor->loops[0].end = list->count;
    cursor->loops[0].left = 0;
    cursor->loops[0].base = 0;
    cursor->loops[0].stride = map->extent;
    if (0 == count || 0 == list->count) {
        cursor->at = list->count; /* nothing to find */
        return;
    }
    symm_typeitem_t run = list->items[0];
    if (1 == list->count && symm_typeitem_merge_rounds(&run, count, map->extent)) {
        cursor->at = 1;
        cursor->offset = run.offset;
        cursor->stride = run.stride;
        cursor->len = run.len;
        cursor->count = run.count;
    } else {
        cursor->loops[0].left = count - 1;
        next_run(cursor);
    }
}

void symm_typewalk_init(symm_typewalk_t *walk, symm_typeview_t view, const symm_typemap_t *a,
                        size_t a_count, const symm_typemap_t *b, size_t b_count)
{
    symm_typecursor_init(&walk->a, view, a, a_count);
    symm_typecursor_init(&walk->b, view, b, b_count);
}

/* Uses up rows of len bytes: whole pieces of the run, or a part of its first piece. */
static void use(symm_typecursor_t *cursor, size_t len, size_t rows, bool whole)
{
    size_t pieces = rows;
    if (!whole) {
        cursor->used += len * rows;
        pieces = cursor->used == cursor->len ? 1 : 0;
    }
    if (0 < pieces) {
        cursor->used = 0;
        cursor->offset += (ptrdiff_t) pieces * cursor->stride;
        cursor->count -= pieces;
        if (0 == cursor->count) {
            next_run(cursor);
        }
    }
}

/* What one side has left of its piece. */
static size_t rest(const symm_typecursor_t *cursor)
{
    return cursor->len - cursor->used;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t symm_typewalk_run(const symm_typewalk_t *walk)
{
    bool ended = 0 == walk->a.count || 0 == walk->b.count;
    return ended ? 0 : smaller(rest(&walk->a), rest(&walk->b));
}

/* How many rows both sides have in common, each `len` bytes, the smaller of what they have left: a
 * side is at whole pieces of that length, or inside a longer one. */
static size_t common_rows(const symm_typecursor_t *a, bool a_whole, const symm_typecursor_t *b,
                          bool b_whole, size_t len)
{
    if (!a_whole && !b_whole) {
        return 1;
    }
    return smaller(a_whole ? a->count : rest(a) / len, b_whole ? b->count : rest(b) / len);
}

bool symm_typewalk_next(symm_typewalk_t *walk, size_t limit, symm_typepiece_t *piece_p)
{
    symm_typecursor_t *a = &walk->a;
    symm_typecursor_t *b = &walk->b;
    if (0 == a->count || 0 == b->count) {
        return false;
    }
    size_t len = smaller(smaller(rest(a), rest(b)), limit);
    bool a_whole = len == a->len; /* so nothing of it is used up */
    bool b_whole = len == b->len;
    size_t rows = smaller(common_rows(a, a_whole, b, b_whole, len), limit / len);
    *piece_p = (symm_typepiece_t){
        .a = a->offset + (ptrdiff_t) a->used,
        .b = b->offset + (ptrdiff_t) b->used,
        .len = len,
        .rows = rows,
        .a_pitch = a_whole ? a->stride : (ptrdiff_t) len,
        .b_pitch = b_whole ? b->stride : (ptrdiff_t) len,
    };
    use(a, len, rows, a_whole);
    use(b, len, rows, b_whole);
    return true;
}
