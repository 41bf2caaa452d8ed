/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Builds lists of runs and loops. */
#include "symm_config.h"

#include "symm_typelist.h"

#include <stdlib.h>
#include <string.h>

/* Items up to which repeating a list writes it out, so that pieces can merge across rounds. */
#define WRITTEN_OUT 256

void symm_typelist_clear(symm_typelist_t *list)
{
    free(list->items);
    *list = (symm_typelist_t){0};
}

/* Makes room for `more` items. */
static bool reserve(symm_typebuilder_t *builder, size_t more)
{
    size_t wanted = builder->list.count + more;
    if (builder->failed || UINT32_MAX < wanted) {
        builder->failed = true;
        return false;
    }
    if (wanted <= builder->capacity) {
        return true;
    }
    size_t capacity = builder->capacity + builder->capacity / 2 + 4;
    capacity = capacity < wanted ? wanted : capacity;
    capacity = UINT32_MAX < capacity ? UINT32_MAX : capacity;
    symm_typeitem_t *items = realloc(builder->list.items, capacity * sizeof(*items));
    if (NULL == items) {
        builder->failed = true;
        return false;
    }
    builder->list.items = items;
    builder->capacity = (uint32_t) capacity;
    return true;
}

static void push(symm_typebuilder_t *builder, const symm_typeitem_t *item)
{
    if (reserve(builder, 1)) {
        builder->list.items[builder->list.count++] = *item;
        builder->mergeable = 0 == item->items;
    }
}

/* The run that another could continue, NULL when there is none. */
static symm_typeitem_t *last_run(symm_typebuilder_t *builder)
{
    return builder->mergeable ? &builder->list.items[builder->list.count - 1] : NULL;
}

static ptrdiff_t last_piece(const symm_typeitem_t *run)
{
    return run->offset + (ptrdiff_t) (run->count - 1) * run->stride;
}

/* Whether one run continues the other at the same distance; then adds its pieces. */
static bool extend(symm_typeitem_t *last, const symm_typeitem_t *run)
{
    ptrdiff_t step = run->offset - last_piece(last);
    if (last->len != run->len || (1 < last->count && step != last->stride) ||
        (1 < run->count && step != run->stride)) {
        return false;
    }
    last->stride = step;
    last->count += run->count;
    return true;
}

/* Takes the last piece off a run of several. */
static symm_typeitem_t split_last(symm_typeitem_t *run)
{
    symm_typeitem_t piece = {.offset = last_piece(run), .len = run->len, .count = 1};
    --run->count;
    run->stride = 1 == run->count ? 0 : run->stride;
    return piece;
}

/* Appends a piece that starts where the last one ends: makes that one longer. */
static void lengthen(symm_typebuilder_t *builder, size_t len)
{
    symm_typeitem_t *last = last_run(builder);
    if (1 == last->count) {
        last->len += len;
        return;
    }
    symm_typeitem_t piece = split_last(last);
    piece.len += len;
    push(builder, &piece);
}

static void append_run(symm_typebuilder_t *builder, symm_typeitem_t run)
{
    symm_typeitem_t *last = last_run(builder);
    if (NULL != last && run.offset == last_piece(last) + (ptrdiff_t) last->len) {
        lengthen(builder, run.len);
        run.offset += run.stride;
        --run.count;
        run.stride = 1 >= run.count ? 0 : run.stride;
        last = last_run(builder);
    }
    if (0 < run.count && (NULL == last || !extend(last, &run))) {
        push(builder, &run);
    }
}

void symm_typebuilder_piece(symm_typebuilder_t *builder, ptrdiff_t offset, size_t len)
{
    if (0 < len) {
        append_run(builder, (symm_typeitem_t){.offset = offset, .len = len, .count = 1});
    }
}

/* Copies a loop with all that it repeats. */
static void append_loop(symm_typebuilder_t *builder, symm_typeitem_t head,
                        const symm_typeitem_t *body)
{
    if (reserve(builder, (size_t) head.items + 1)) {
        push(builder, &head);
        memcpy(builder->list.items + builder->list.count, body, head.items * sizeof(*body));
        builder->list.count += head.items;
    }
}

static void append_list(symm_typebuilder_t *builder, const symm_typelist_t *list, ptrdiff_t offset)
{
    for (uint32_t i = 0; i < list->count; i += 1 + list->items[i].items) {
        symm_typeitem_t item = list->items[i];
        item.offset += offset;
        if (0 == item.items) {
            append_run(builder, item);
        } else {
            append_loop(builder, item, &list->items[i + 1]);
        }
    }
    builder->list.depth = builder->list.depth < list->depth ? list->depth : builder->list.depth;
}

bool symm_typeitem_merge_rounds(symm_typeitem_t *run, size_t count, ptrdiff_t stride)
{
    if (1 < count && 1 < run->count && stride != run->stride * (ptrdiff_t) run->count) {
        return false;
    }
    run->stride = 1 == run->count ? stride : run->stride;
    run->count *= count;
    if (1 == run->count || run->stride == (ptrdiff_t) run->len) {
        run->len *= run->count;
        run->count = 1;
        run->stride = 0;
    }
    return true;
}

static void append_rounds(symm_typebuilder_t *builder, const symm_typelist_t *list,
                          ptrdiff_t offset, size_t count, ptrdiff_t stride)
{
    symm_typeitem_t head = {
        .offset = offset, .stride = stride, .count = count, .items = list->count};
    append_loop(builder, head, list->items);
    int depth = list->depth + 1;
    builder->list.depth = builder->list.depth < depth ? depth : builder->list.depth;
}

void symm_typebuilder_repeat(symm_typebuilder_t *builder, const symm_typelist_t *list,
                             ptrdiff_t offset, size_t count, ptrdiff_t stride)
{
    if (0 == count || 0 == list->count) {
        return;
    }
    symm_typeitem_t run = list->items[0];
    if (1 == list->count && symm_typeitem_merge_rounds(&run, count, stride)) {
        run.offset += offset;
        append_run(builder, run);
    } else if (1 == count || count <= WRITTEN_OUT / list->count ||
               SYMM_TYPEMAP_DEPTH == list->depth) {
        for (size_t i = 0; i < count && !builder->failed; ++i) {
            append_list(builder, list, offset + (ptrdiff_t) i * stride);
        }
    } else {
        append_rounds(builder, list, offset, count, stride);
    }
}

/* ---- bounds ---- */

/* What lies between two places. */
typedef struct span {
    ptrdiff_t begin, end;
    bool any; /* data */
} span_t;

/* The span of item's pieces or rounds, each of which has the span `one`. */
static bool spread(const symm_typeitem_t *item, const span_t *one, span_t *all_p)
{
    ptrdiff_t last; /* from the first to the last */
    if (__builtin_mul_overflow(item->stride, item->count - 1, &last)) {
        return false;
    }
    all_p->any = one->any;
    return !__builtin_add_overflow(one->begin, item->offset, &all_p->begin) &&
           !__builtin_add_overflow(one->end, item->offset, &all_p->end) &&
           !__builtin_add_overflow(all_p->begin, 0 > last ? last : 0, &all_p->begin) &&
           !__builtin_add_overflow(all_p->end, 0 < last ? last : 0, &all_p->end);
}

static void include(span_t *span, const span_t *part)
{
    if (part->any) {
        span->begin = span->any && span->begin < part->begin ? span->begin : part->begin;
        span->end = span->any && span->end > part->end ? span->end : part->end;
        span->any = true;
    }
}

/* Adds the items [at, end) to *span. */
static bool add_items(const symm_typelist_t *list, uint32_t at, uint32_t end, span_t *span)
{
    while (at < end) {
        const symm_typeitem_t *item = &list->items[at++];
        span_t one = {0, (ptrdiff_t) item->len, 0 < item->len};
        span_t all;
        if (!add_items(list, at, at + item->items, &one) || !spread(item, &one, &all)) {
            return false;
        }
        include(span, &all);
        at += item->items;
    }
    return true;
}

bool symm_typelist_bounds(const symm_typelist_t *list, ptrdiff_t *begin_p, ptrdiff_t *end_p)
{
    span_t span = {0};
    if (!add_items(list, 0, list->count, &span)) {
        return false;
    }
    *begin_p = span.begin;
    *end_p = span.end;
    return true;
}
