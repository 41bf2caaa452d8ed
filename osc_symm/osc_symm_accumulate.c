/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Accumulate-class operations: what MPI asks for, cut into rows of elements. How elements are
 * updated is osc_symm_update.c's work. */
#include "symm_config.h"

#include "osc_symm_update.h"

#include "osc_symm_request.h"
#include "symm_stats.h"
#include "symm_typemap.h"

/* Elements of the program's, or of the target. */
typedef struct side {
    char *address;             /* what MPI calls the buffer's */
    const symm_typemap_t *map; /* NULL: there is no such side */
    size_t count;
} side_t;

typedef struct call {
    side_t origin, result, remote; /* remote without an address until it is located */
    int target;
    ptrdiff_t disp;
    osc_symm_updates_t updates;
} call_t;

static void count_call(size_t elements)
{
    symm_counters_t *counters = symm_counters();
    SYMM_COUNT_IN(counters, accumulates, 1);
    SYMM_COUNT_IN(counters, accumulate_elements, elements);
}

/* ---- walking over the sides together ---- */

/* A side beside the target: the piece that the two have in common, and what of it is used up. */
typedef struct stream {
    bool there;
    symm_typewalk_t walk; /* its side a is ours, side b the target's */
    symm_typepiece_t piece;
    size_t row;
    size_t used; /* bytes of the row */
} stream_t;

static void open_stream(stream_t *stream, const side_t *side, const side_t *remote)
{
    stream->there = NULL != side->map;
    if (stream->there) {
        symm_typewalk_init(&stream->walk, SYMM_VIEW_ELEMENTS, side->map, side->count, remote->map,
                           remote->count);
        stream->piece.rows = stream->row = 0;
        stream->used = 0;
    }
}

/* Makes sure that something of a piece is left. Returns false at the end. */
static bool refill(stream_t *stream)
{
    if (stream->row < stream->piece.rows) {
        return true;
    }
    stream->row = 0;
    return symm_typewalk_next(&stream->walk, SIZE_MAX, &stream->piece);
}

/* Bytes left of the row. */
static size_t left_of_row(const stream_t *stream)
{
    return stream->piece.len - stream->used;
}

static void advance(stream_t *stream, size_t len)
{
    stream->used += len;
    if (stream->used == stream->piece.len) {
        stream->used = 0;
        ++stream->row;
    }
}

static ptrdiff_t own_place(const stream_t *stream)
{
    return stream->piece.a + (ptrdiff_t) stream->row * stream->piece.a_pitch +
           (ptrdiff_t) stream->used;
}

static ptrdiff_t remote_place(const stream_t *stream)
{
    return stream->piece.b + (ptrdiff_t) stream->row * stream->piece.b_pitch +
           (ptrdiff_t) stream->used;
}

/* Whether two streams are at the beginning of pieces that are alike on the target's side. */
static bool run_alike(const stream_t *one, const stream_t *other)
{
    return 0 == one->row && 0 == other->row && 0 == one->used && 0 == other->used &&
           one->piece.len == other->piece.len && one->piece.rows == other->piece.rows &&
           (1 == one->piece.rows || one->piece.b_pitch == other->piece.b_pitch);
}

/* What the streams have in common next, in bytes: whole pieces if they are alike, otherwise a part
 * of a row. Uses it up. Returns false at the end. */
static bool next_rows(const call_t *call, stream_t *origin, stream_t *result,
                      osc_symm_rows_t *rows_p)
{
    const stream_t *leader = origin->there ? origin : result;
    if ((origin->there && !refill(origin)) || (result->there && !refill(result))) {
        return false;
    }
    bool both = origin->there && result->there;
    bool whole = both ? run_alike(origin, result) : 0 == leader->row && 0 == leader->used;
    size_t len = left_of_row(leader);
    if (both && left_of_row(result) < len) {
        len = left_of_row(result);
    }
    *rows_p =
        (osc_symm_rows_t){.target = call->remote.address + remote_place(leader),
                          .origin = origin->there ? call->origin.address + own_place(origin) : NULL,
                          .result = result->there ? call->result.address + own_place(result) : NULL,
                          .count = len / call->updates.element->size,
                          .rows = whole ? leader->piece.rows : 1,
                          .target_pitch = leader->piece.b_pitch,
                          .origin_pitch = origin->piece.a_pitch,
                          .result_pitch = result->piece.a_pitch};
    stream_t *streams[] = {origin, result};
    for (int i = 0; i < 2; ++i) {
        if (streams[i]->there && whole) {
            streams[i]->row = streams[i]->piece.rows;
        } else if (streams[i]->there) {
            advance(streams[i], len);
        }
    }
    return true;
}

/* Whether anything follows. */
static bool at_end(const stream_t *stream)
{
    return stream->row >= stream->piece.rows &&
           (0 == stream->walk.a.count || 0 == stream->walk.b.count);
}

/* Locates rows in a window of regions and applies them one by one. */
static int apply_located(call_t *call, const osc_symm_rows_t *rows, bool apply)
{
    osc_symm_updates_t *updates = &call->updates;
    int rc = MPI_SUCCESS;
    for (uint64_t r = 0; MPI_SUCCESS == rc && r < rows->rows; ++r) {
        ptrdiff_t n = (ptrdiff_t) r;
        osc_symm_rows_t row = *rows;
        row.rows = 1;
        rc = ompi_osc_symm_locate(
            updates->module, call->target, call->disp,
            rows->target - (char *) NULL + n * rows->target_pitch,
            (rows->count - 1) * updates->element->size + updates->element->span, &updates->place);
        row.target = updates->place.address;
        if (NULL != row.origin) {
            row.origin += n * rows->origin_pitch;
        }
        if (NULL != row.result) {
            row.result += n * rows->result_pitch;
        }
        if (MPI_SUCCESS == rc && apply) {
            rc = ompi_osc_symm_updates_apply(updates, &row, false);
        }
    }
    return rc;
}

typedef enum pass { PASS_APPLY, PASS_LOCATE, PASS_APPLY_LOCATED } pass_t;

static int walk(call_t *call, pass_t pass)
{
    stream_t origin = {0}, result = {0};
    osc_symm_rows_t rows;
    int rc = MPI_SUCCESS;
    open_stream(&origin, &call->origin, &call->remote);
    open_stream(&result, &call->result, &call->remote);
    while (MPI_SUCCESS == rc && next_rows(call, &origin, &result, &rows)) {
        rc = PASS_APPLY == pass
                 ? ompi_osc_symm_updates_apply(&call->updates, &rows,
                                               at_end(origin.there ? &origin : &result))
                 : apply_located(call, &rows, PASS_APPLY_LOCATED == pass);
    }
    return rc;
}

/* ---- calls with any datatypes ---- */

/* A place in the data of a side, for finding out what memory it is. */
static const void *some_place(const side_t *side)
{
    ptrdiff_t begin, end;
    bool there = NULL != side->map && symm_typemap_bounds(side->map, side->count, &begin, &end);
    return there ? side->address + begin : NULL;
}

/* Checks that a side has the same elements as the target. */
static int check_side(const side_t *side, const side_t *remote)
{
    if (NULL == side->map) {
        return MPI_SUCCESS;
    }
    if (side->map->size * side->count != remote->map->size * remote->count) {
        return MPI_ERR_TRUNCATE;
    }
    return side->map->element == remote->map->element || 0 == side->map->size * side->count
               ? MPI_SUCCESS
               : MPI_ERR_TYPE;
}

static int apply_call(call_t *call, pass_t pass, size_t elements)
{
    count_call(elements);
    ompi_osc_symm_updates_begin(&call->updates, some_place(&call->origin),
                                some_place(&call->result));
    return ompi_osc_symm_updates_end(&call->updates, walk(call, pass));
}

static int locate_and_apply(call_t *call)
{
    osc_symm_updates_t *updates = &call->updates;
    size_t bytes = call->remote.map->size * call->remote.count;
    ptrdiff_t begin, end;
    if (!symm_typemap_bounds(call->remote.map, call->remote.count, &begin, &end)) {
        return MPI_ERR_RMA_RANGE;
    }
    int rc = ompi_osc_symm_locate(updates->module, call->target, call->disp, begin,
                                  (size_t) (end - begin), &updates->place);
    bool nothing = 0 == bytes || (NULL == call->origin.map && NULL == call->result.map);
    if (MPI_SUCCESS == rc && !nothing) {
        call->remote.address = updates->place.address - begin;
        return apply_call(call, PASS_APPLY, bytes / updates->element->size);
    }
    if (MPI_ERR_RMA_RANGE == rc && updates->module->dynamic && !nothing) {
        rc = walk(call, PASS_LOCATE); /* first of all, whether every row is there */
        return MPI_SUCCESS == rc
                   ? apply_call(call, PASS_APPLY_LOCATED, bytes / updates->element->size)
                   : rc;
    }
    return rc;
}

/* A side of count elements of datatype at address. */
static int describe_side(side_t *side, const void *address, int count, ompi_datatype_t *datatype)
{
    side->address = (char *) address;
    side->count = (size_t) count;
    return symm_typemap_get(datatype, &side->map);
}

static int call_typed(call_t *call, MPI_Op op)
{
    int rc = check_side(&call->origin, &call->remote);
    if (MPI_SUCCESS == rc) {
        rc = check_side(&call->result, &call->remote);
    }
    if (MPI_SUCCESS == rc && 0 < call->remote.map->size * call->remote.count) {
        rc =
            MPI_DATATYPE_NULL == call->remote.map->element
                ? MPI_ERR_TYPE /* MPI-4.0, 12.3.4: of one predefined datatype */
                : ompi_osc_symm_element_find(call->remote.map->element, op, &call->updates.element);
    }
    return MPI_SUCCESS == rc ? locate_and_apply(call) : rc;
}

/* ---- calls with predefined datatypes ---- */

/* An update of `count` elements next to each other on all sides. */
static int update_plain(ompi_osc_symm_module_t *module, const void *origin, void *result, int count,
                        ompi_datatype_t *datatype, int target, ptrdiff_t disp, MPI_Op op)
{
    const osc_symm_element_t *element;
    osc_symm_place_t place;
    size_t elements = (size_t) count;
    if (0 == elements) { /* whatever the operation: there is none */
        return ompi_osc_symm_locate(module, target, disp, 0, 0, &place);
    }
    int rc = ompi_osc_symm_element_find(datatype, op, &element);
    if (MPI_SUCCESS == rc) {
        rc = ompi_osc_symm_locate(module, target, disp, 0,
                                  (elements - 1) * element->size + element->span, &place);
    }
    bool moves = MPI_NO_OP != op;
    if (MPI_SUCCESS != rc || (!moves && NULL == result)) {
        return rc;
    }
    count_call(elements);
    return ompi_osc_symm_update_run(module, element, &place, moves ? origin : NULL, result,
                                    elements);
}

/* ---- what MPI calls ---- */

/* What the two operations take; result_dt is NULL for the one without a result. */
typedef struct arguments {
    const void *origin_addr;
    int origin_count;
    ompi_datatype_t *origin_dt;
    void *result_addr;
    int result_count;
    ompi_datatype_t *result_dt;
    int target;
    ptrdiff_t disp;
    int target_count;
    ompi_datatype_t *target_dt;
    MPI_Op op;
} arguments_t;

static int accumulate_typed(ompi_osc_symm_module_t *module, const arguments_t *a)
{
    call_t call = {.target = a->target, .disp = a->disp, .updates = {.module = module}};
    int rc = describe_side(&call.remote, NULL, a->target_count, a->target_dt);
    if (MPI_SUCCESS == rc && MPI_NO_OP != a->op) {
        rc = describe_side(&call.origin, a->origin_addr, a->origin_count, a->origin_dt);
    }
    if (MPI_SUCCESS == rc && NULL != a->result_dt) {
        rc = describe_side(&call.result, a->result_addr, a->result_count, a->result_dt);
    }
    return MPI_SUCCESS == rc ? call_typed(&call, a->op) : rc;
}

/* Whether all sides are as many elements of one predefined datatype, next to each other. Nothing of
 * the origin means anything with MPI_NO_OP. */
static inline bool is_plain(const arguments_t *a)
{
    return symm_ompi_plain(a->target_dt) &&
           (MPI_NO_OP == a->op ||
            (a->origin_dt == a->target_dt && a->origin_count == a->target_count)) &&
           (NULL == a->result_dt ||
            (a->result_dt == a->target_dt && a->result_count == a->target_count));
}

static inline int accumulate(const arguments_t *a, const ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (MPI_PROC_NULL == a->target) {
        return OMPI_SUCCESS;
    }
    if (!ompi_osc_symm_may_access(module, a->target)) {
        return MPI_ERR_RMA_SYNC;
    }
    return is_plain(a) ? update_plain(module, a->origin_addr, a->result_addr, a->target_count,
                                      a->target_dt, a->target, a->disp, a->op)
                       : accumulate_typed(module, a);
}

int ompi_osc_symm_accumulate(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                             int target, ptrdiff_t target_disp, int target_count,
                             ompi_datatype_t *target_dt, MPI_Op op, ompi_win_t *win)
{
    arguments_t a = {origin_addr, origin_count, origin_dt,    NULL,      0, NULL,
                     target,      target_disp,  target_count, target_dt, op};
    return accumulate(&a, win);
}

int ompi_osc_symm_get_accumulate(const void *origin_addr, int origin_count,
                                 ompi_datatype_t *origin_dt, void *result_addr, int result_count,
                                 ompi_datatype_t *result_dt, int target, ptrdiff_t target_disp,
                                 int target_count, ompi_datatype_t *target_dt, MPI_Op op,
                                 ompi_win_t *win)
{
    arguments_t a = {origin_addr,  origin_count, origin_dt, result_addr,
                     result_count, result_dt,    target,    target_disp,
                     target_count, target_dt,    op};
    return accumulate(&a, win);
}

int ompi_osc_symm_raccumulate(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                              int target, ptrdiff_t target_disp, int target_count,
                              ompi_datatype_t *target_dt, MPI_Op op, ompi_win_t *win,
                              ompi_request_t **request_p)
{
    int rc = ompi_osc_symm_accumulate(origin_addr, origin_count, origin_dt, target, target_disp,
                                      target_count, target_dt, op, win);
    return OMPI_SUCCESS == rc ? ompi_osc_symm_request_start(ompi_osc_symm_module_of(win), request_p)
                              : rc;
}

int ompi_osc_symm_rget_accumulate(const void *origin_addr, int origin_count,
                                  ompi_datatype_t *origin_dt, void *result_addr, int result_count,
                                  ompi_datatype_t *result_dt, int target, ptrdiff_t target_disp,
                                  int target_count, ompi_datatype_t *target_dt, MPI_Op op,
                                  ompi_win_t *win, ompi_request_t **request_p)
{
    int rc = ompi_osc_symm_get_accumulate(origin_addr, origin_count, origin_dt, result_addr,
                                          result_count, result_dt, target, target_disp,
                                          target_count, target_dt, op, win);
    return OMPI_SUCCESS == rc ? ompi_osc_symm_request_start(ompi_osc_symm_module_of(win), request_p)
                              : rc;
}

int ompi_osc_symm_fetch_and_op(const void *origin_addr, void *result_addr, ompi_datatype_t *dt,
                               int target, ptrdiff_t target_disp, MPI_Op op, ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (MPI_PROC_NULL == target) {
        return OMPI_SUCCESS;
    }
    if (!ompi_osc_symm_may_access(module, target)) {
        return MPI_ERR_RMA_SYNC;
    }
    if (MPI_OP_NULL == op) {
        return MPI_ERR_OP;
    }
    return update_plain(module, origin_addr, result_addr, 1, dt, target, target_disp, op);
}

int ompi_osc_symm_compare_and_swap(const void *origin_addr, const void *compare_addr,
                                   void *result_addr, ompi_datatype_t *dt, int target,
                                   ptrdiff_t target_disp, ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    const osc_symm_element_t *element;
    osc_symm_place_t place;
    if (MPI_PROC_NULL == target) {
        return OMPI_SUCCESS;
    }
    if (!ompi_osc_symm_may_access(module, target)) {
        return MPI_ERR_RMA_SYNC;
    }
    int rc = ompi_osc_symm_element_find(dt, MPI_OP_NULL, &element);
    if (MPI_SUCCESS == rc) {
        rc = ompi_osc_symm_locate(module, target, target_disp, 0, element->span, &place);
    }
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    count_call(1);
    return ompi_osc_symm_update_cas(module, element, &place, origin_addr, compare_addr,
                                    result_addr);
}
