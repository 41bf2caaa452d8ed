/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Blocks of datatypes with gaps, or whose bytes are out of order: the backend gathers and scatters
 * them on their way to where there are none, as those of puts and gets.
 *
 * NOTE pieces. A block that goes through scratch does so in pieces, in order, so each block has a
 * cursor that stands where the next piece begins. All is looked up when the call is described:
 * datatypes cannot be asked where progress is made, but stay until the call is complete. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_copy.h"
#include "symm_device.h"

#include <stdlib.h>

bool coll_symm_typed_keep(coll_symm_call_t *call, coll_symm_side_t side, const void *buf,
                          const coll_symm_vector_t *v)
{
    int size = call->module->comm->exchange.size;
    coll_symm_typed_t **typed = &call->work->typed[side];
    const ompi_datatype_t *known = NULL;
    const symm_typemap_t *map = NULL;
    if (NULL == *typed) {
        *typed = calloc((size_t) size, sizeof(**typed));
    }
    for (int p = 0; NULL != *typed && p < size; ++p) {
        ompi_datatype_t *type = NULL == v->types ? v->type : v->types[p];
        size_t count = NULL == v->counts ? v->each : (size_t) v->counts[p];
        if (type != known &&
            (!symm_ompi_has_contents(type) || MPI_SUCCESS != symm_typemap_get(type, &map))) {
            return false;
        }
        known = type;
        (*typed)[p].address = (char *) coll_symm_vector_block(buf, v, p);
        symm_typecursor_init(&(*typed)[p].cursor, SYMM_VIEW_BYTES, map, count);
    }
    bool kept = NULL != *typed;
    if (COLL_SYMM_SEND_SIDE == side) {
        call->mine.send_gaps = kept ? 1 : 0;
    } else {
        call->mine.recv_gaps = kept ? 1 : 0;
    }
    return kept;
}

/* Returns what the backend shall take for the end's address. */
static char *begin(symm_typecursor_t *cursor, const coll_symm_end_t *end, size_t len)
{
    if (NULL != end->typed) {
        *cursor = end->typed->cursor;
        return end->typed->address;
    }
    symm_typecursor_init(cursor, SYMM_VIEW_BYTES, &symm_typemap_bytes, len);
    return end->bytes;
}

static symm_known_t known_of(const coll_symm_end_t *dst, const coll_symm_end_t *src)
{
    int known = (dst->known ? SYMM_KNOWN_DST : 0) | (src->known ? SYMM_KNOWN_SRC : 0);
    return (symm_known_t) known;
}

int coll_symm_typed_move(coll_symm_call_t *call, symm_mapping_t *mapping, coll_symm_end_t dst,
                         coll_symm_end_t src, size_t len)
{
    symm_typewalk_t walk;
    char *to = begin(&walk.a, &dst, len);
    const char *from = begin(&walk.b, &src, len);
    symm_known_t known = known_of(&dst, &src);
    /* No GPU has part in a copy within this rank's host memory. */
    bool apart = SYMM_KNOWN_NEITHER == known && !coll_symm_descriptor_on_gpu(&call->mine);
    int rc;
    if (NULL == mapping || apart) {
        rc = symm_move_blocking(to, from, &walk);
    } else {
        rc = mapping->ops->move(mapping->queue, to, from, &walk, known);
        call->work->copies.started = true;
    }
    if (NULL != dst.typed) {
        dst.typed->cursor = walk.a;
    }
    if (NULL != src.typed) {
        src.typed->cursor = walk.b;
    }
    return rc;
}
