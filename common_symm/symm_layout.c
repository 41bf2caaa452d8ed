/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The arithmetic of window layouts. Reserving and mapping are symm_mapping.c's work. */
#include "symm_config.h"

#include "symm_layout.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* User address space of x86-64 and of arm64 with 48-bit addresses. */
#define RANGE_MAX ((size_t) 1 << 47)

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Whether the sum of all sizes with their pads and rounding stays inside the address space. */
static bool sizes_fit(int size, const size_t *sizes, size_t granularity)
{
    size_t largest = 0;
    for (int r = 0; r < size; ++r) {
        if (sizes[r] > largest) {
            largest = sizes[r];
        }
    }
    return largest < RANGE_MAX / (size_t) size - SYMM_PAD_BYTES - 2 * granularity;
}

static void place_symmetric(symm_layout_t *layout, const size_t *sizes)
{
    size_t stride = 0;
    for (int r = 0; r < layout->size; ++r) {
        size_t len = round_up(SYMM_PAD_BYTES + sizes[r], layout->granularity);
        layout->seg[r].len = len;
        stride = len > stride ? len : stride;
    }
    for (int r = 0; r < layout->size; ++r) {
        layout->seg[r].offset = (size_t) r * stride;
        layout->data[r].offset = (size_t) r * stride + SYMM_PAD_BYTES;
        layout->data[r].len = sizes[r];
    }
    layout->stride = stride;
    layout->pad_stride = stride;
    layout->range_len = (size_t) layout->size * stride;
}

static void place_contiguous(symm_layout_t *layout, const size_t *sizes)
{
    size_t at = (size_t) layout->size * SYMM_PAD_BYTES;
    size_t granule = 0; /* the first that no rank owns yet */
    for (int r = 0; r < layout->size; ++r) {
        layout->data[r].offset = at;
        layout->data[r].len = sizes[r];
        at += sizes[r];
        size_t end = round_up(at, layout->granularity) / layout->granularity;
        layout->seg[r].offset = granule * layout->granularity;
        layout->seg[r].len = (end - granule) * layout->granularity;
        granule = end;
    }
    layout->stride = 0;
    layout->pad_stride = SYMM_PAD_BYTES;
    layout->range_len = granule * layout->granularity;
}

int symm_layout_init(symm_layout_t *layout, int size, const size_t *sizes, size_t granularity,
                     bool contiguous)
{
    memset(layout, 0, sizeof(*layout));
    if (!sizes_fit(size, sizes, granularity)) {
        return MPI_ERR_SIZE;
    }
    symm_span_t *spans = calloc(2 * (size_t) size, sizeof(*spans));
    if (NULL == spans) {
        return MPI_ERR_NO_MEM;
    }
    layout->size = size;
    layout->contiguous = contiguous;
    layout->granularity = granularity;
    layout->seg = spans;
    layout->data = spans + size;
    if (contiguous) {
        place_contiguous(layout, sizes);
    } else {
        place_symmetric(layout, sizes);
    }
    return MPI_SUCCESS;
}

void symm_layout_free(symm_layout_t *layout)
{
    free(layout->seg);
    memset(layout, 0, sizeof(*layout));
}

bool symm_layout_equal(const symm_layout_t *a, const symm_layout_t *b)
{
    return a->size == b->size && a->contiguous == b->contiguous &&
           a->granularity == b->granularity &&
           0 == memcmp(a->data, b->data, (size_t) a->size * sizeof(*a->data));
}
