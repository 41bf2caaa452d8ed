/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Put and get with datatypes that are more than a run of bytes: both sides are walked together, see
 * symm_typemap.h. Data without gaps on both sides ends up as one copy all the same. */
#include "symm_config.h"

#include "osc_symm.h"

#include "symm_copy.h"
#include "symm_device.h"
#include "symm_stats.h"
#include "symm_typemap.h"

/* Pieces handed over at a time where the target's memory is not mapped. */
#define CARRIED 64

/* One side of a transfer. */
typedef struct side {
    char *address; /* what MPI calls the buffer's */
    const symm_typemap_t *map;
    size_t count;
} side_t;

typedef struct transfer {
    bool put;
    side_t origin;
    side_t remote; /* without an address until it is located */
    int target;
    ptrdiff_t disp;
} transfer_t;

static const side_t *destination(const transfer_t *t)
{
    return t->put ? &t->remote : &t->origin;
}

static const side_t *source(const transfer_t *t)
{
    return t->put ? &t->origin : &t->remote;
}

/* Side a of the walk is the destination. */
static void begin_walk(const transfer_t *t, symm_typewalk_t *walk)
{
    symm_typewalk_init(walk, SYMM_VIEW_BYTES, destination(t)->map, destination(t)->count,
                       source(t)->map, source(t)->count);
}

/* The run of a piece's bytes on the target's side. */
static ptrdiff_t remote_offset(const transfer_t *t, const symm_typepiece_t *piece, size_t row)
{
    return t->put ? piece->a + (ptrdiff_t) row * piece->a_pitch
                  : piece->b + (ptrdiff_t) row * piece->b_pitch;
}

static ptrdiff_t origin_offset(const transfer_t *t, const symm_typepiece_t *piece, size_t row)
{
    return t->put ? piece->b + (ptrdiff_t) row * piece->b_pitch
                  : piece->a + (ptrdiff_t) row * piece->a_pitch;
}

/* ---- memory that is mapped ---- */

static int move(ompi_osc_symm_module_t *module, const transfer_t *t, const osc_symm_place_t *place)
{
    symm_typewalk_t walk;
    char *dst = destination(t)->address;
    const char *src = source(t)->address;
    begin_walk(t, &walk);
    const char *first = t->origin.address + symm_typecursor_next(t->put ? &walk.b : &walk.a);
    if (ompi_osc_symm_is_foreign(module, place, first)) {
        return symm_move_blocking(dst, src, &walk);
    }
    return module->ops->move(module->queue, dst, src, &walk,
                             ompi_osc_symm_known(t->put, module, first));
}

/* ---- memory that is not ---- */

/* Pieces on both sides that are handed over together. */
typedef struct load {
    const ompi_osc_symm_module_t *module;
    const osc_symm_place_t *place;
    bool put;
    size_t count;
    struct iovec local[CARRIED];
    struct iovec remote[CARRIED];
} load_t;

static int unload(load_t *load)
{
    size_t count = load->count;
    load->count = 0;
    if (0 == count) {
        return MPI_SUCCESS;
    }
    return load->put ? ompi_osc_symm_remote_write(load->module, load->place, load->local, count,
                                                  load->remote, count)
                     : ompi_osc_symm_remote_read(load->module, load->place, load->local, count,
                                                 load->remote, count);
}

static int carry(ompi_osc_symm_module_t *module, const transfer_t *t, const osc_symm_place_t *place)
{
    symm_typewalk_t walk;
    symm_typepiece_t piece;
    load_t load = {.module = module, .place = place, .put = t->put};
    int rc = MPI_SUCCESS;
    begin_walk(t, &walk);
    while (MPI_SUCCESS == rc && symm_typewalk_next(&walk, SIZE_MAX, &piece)) {
        for (size_t row = 0; MPI_SUCCESS == rc && row < piece.rows; ++row) {
            load.local[load.count].iov_base = t->origin.address + origin_offset(t, &piece, row);
            load.local[load.count].iov_len = piece.len;
            load.remote[load.count].iov_base = t->remote.address + remote_offset(t, &piece, row);
            load.remote[load.count].iov_len = piece.len;
            rc = CARRIED == ++load.count ? unload(&load) : MPI_SUCCESS;
        }
    }
    return MPI_SUCCESS == rc ? unload(&load) : rc;
}

/* ---- memory in several regions ---- */

/* Moves one row to or from wherever it is. */
static int transfer_row(ompi_osc_symm_module_t *module, const transfer_t *t,
                        const symm_typepiece_t *piece, size_t row, const osc_symm_place_t *place)
{
    transfer_t one = {.put = t->put,
                      .origin = {t->origin.address + origin_offset(t, piece, row),
                                 &symm_typemap_bytes, piece->len},
                      .remote = {place->address, &symm_typemap_bytes, piece->len}};
    return OSC_SYMM_REACH_MAPPED == place->reach ? move(module, &one, place)
                                                 : carry(module, &one, place);
}

/* Locates each row by itself; moves them if that is asked for. */
static int visit_rows(ompi_osc_symm_module_t *module, const transfer_t *t, bool moving)
{
    symm_typewalk_t walk;
    symm_typepiece_t piece;
    osc_symm_place_t place;
    int rc = MPI_SUCCESS;
    begin_walk(t, &walk);
    while (MPI_SUCCESS == rc && symm_typewalk_next(&walk, SIZE_MAX, &piece)) {
        for (size_t row = 0; MPI_SUCCESS == rc && row < piece.rows; ++row) {
            rc = ompi_osc_symm_locate(module, t->target, t->disp, remote_offset(t, &piece, row),
                                      piece.len, &place);
            if (MPI_SUCCESS == rc && moving) {
                rc = transfer_row(module, t, &piece, row, &place);
            }
        }
    }
    return rc;
}

/* ---- all of it ---- */

static void count(const transfer_t *t, size_t bytes)
{
    symm_counters_t *counters = symm_counters();
    if (t->put) {
        SYMM_COUNT_IN(counters, puts, 1);
        SYMM_COUNT_IN(counters, put_bytes, bytes);
    } else {
        SYMM_COUNT_IN(counters, gets, 1);
        SYMM_COUNT_IN(counters, get_bytes, bytes);
    }
}

static int transfer(ompi_osc_symm_module_t *module, transfer_t *t)
{
    osc_symm_place_t place;
    ptrdiff_t begin, end;
    size_t bytes = t->origin.map->size * t->origin.count;
    if (bytes != t->remote.map->size * t->remote.count) {
        return MPI_ERR_TRUNCATE;
    }
    if (!symm_typemap_bounds(t->remote.map, t->remote.count, &begin, &end)) {
        return MPI_ERR_RMA_RANGE;
    }
    int rc =
        ompi_osc_symm_locate(module, t->target, t->disp, begin, (size_t) (end - begin), &place);
    if (MPI_SUCCESS == rc && 0 == bytes) {
        return MPI_SUCCESS;
    }
    if (MPI_ERR_RMA_RANGE == rc && module->dynamic) {
        rc = visit_rows(module, t, false); /* first of all, whether every row is there */
        if (MPI_SUCCESS == rc) {
            count(t, bytes);
            rc = visit_rows(module, t, true);
        }
        return rc;
    }
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    count(t, bytes);
    t->remote.address = place.address - begin;
    return OSC_SYMM_REACH_MAPPED == place.reach ? move(module, t, &place)
                                                : carry(module, t, &place);
}

int ompi_osc_symm_transfer_typed(bool put, const void *origin_addr, int origin_count,
                                 ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                                 int target_count, ompi_datatype_t *target_dt,
                                 ompi_osc_symm_module_t *module)
{
    transfer_t t = {.put = put, .target = target, .disp = target_disp};
    t.origin.address = (char *) origin_addr;
    t.origin.count = (size_t) origin_count;
    t.remote.count = (size_t) target_count;
    int rc = symm_typemap_get(origin_dt, &t.origin.map);
    if (MPI_SUCCESS == rc) {
        rc = symm_typemap_get(target_dt, &t.remote.map);
    }
    return MPI_SUCCESS == rc ? transfer(module, &t) : rc;
}
