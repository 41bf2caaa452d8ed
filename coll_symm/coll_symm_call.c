/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The course that every collective takes, from its description to the report. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_typemap.h"

#include <stdlib.h>

/* Whether count elements of datatype are one run of bytes in the datatype's order: *offset_p is
 * where it starts, *len_p its bytes. Open MPI's flags tell that of the predefined ones alone;
 * others that they call contiguous may be out of order. */
static bool is_run(const ompi_datatype_t *datatype, size_t count, ptrdiff_t *offset_p,
                   size_t *len_p)
{
    const symm_typemap_t *map;
    if (ompi_datatype_is_predefined(datatype)) {
        return symm_ompi_contiguous(datatype, count, offset_p, len_p);
    }
    return symm_ompi_has_contents(datatype) &&
           MPI_SUCCESS == symm_typemap_get((MPI_Datatype) datatype, &map) &&
           symm_typemap_is_run(map, count, offset_p, len_p);
}

static void set_span(coll_symm_call_t *call, coll_symm_side_t side, const char *first, size_t len)
{
    if (COLL_SYMM_SEND_SIDE == side) {
        call->send = first;
        call->send_len = len;
    } else {
        call->recv = (char *) first;
        call->recv_len = len;
    }
}

static bool describe_side(coll_symm_call_t *call, coll_symm_side_t side, const void *buf,
                          int blocks, size_t count, const ompi_datatype_t *datatype, size_t len)
{
    ptrdiff_t start;
    size_t bytes;
    size_t all = (size_t) blocks * count;
    call->elements[side] = (coll_symm_elements_t){count, datatype};
    if (symm_ompi_plain(datatype)) { /* as most are */
        set_span(call, side, buf, all * datatype->super.size);
        return datatype->super.size * count == len;
    }
    size_t span = symm_ompi_span(datatype, all, &start);
    set_span(call, side, (const char *) buf + start, span);
    if (is_run(datatype, all, &start, &bytes)) {
        return bytes == (size_t) blocks * len;
    }
    coll_symm_vector_t v = {
        .each = count, .same = 1 == blocks, .type = (ompi_datatype_t *) datatype};
    return datatype->super.size * count == len && coll_symm_typed_keep(call, side, buf, &v);
}

bool coll_symm_call_input(coll_symm_call_t *call, const void *buf, int blocks, size_t count,
                          const ompi_datatype_t *datatype, size_t len)
{
    return describe_side(call, COLL_SYMM_SEND_SIDE, buf, blocks, count, datatype, len);
}

bool coll_symm_call_output(coll_symm_call_t *call, void *buf, int blocks, size_t count,
                           const ompi_datatype_t *datatype, size_t len)
{
    return describe_side(call, COLL_SYMM_RECV_SIDE, buf, blocks, count, datatype, len);
}

/* One side of a row as it is filled in: where its blocks are, and what they span. */
typedef struct side {
    const char *start; /* of the lowest byte of all blocks */
    const char *end;
    bool gap_free; /* each block is one run */
} side_t;

const char *coll_symm_vector_block(const void *buf, const coll_symm_vector_t *v, int p)
{
    ptrdiff_t unit = NULL == v->types ? v->type->super.ub - v->type->super.lb : 1;
    ptrdiff_t at = v->same                 ? 0
                   : NULL != v->byte_disps ? v->byte_disps[p]
                   : NULL != v->disps      ? v->disps[p] * unit
                                           : p * (ptrdiff_t) v->each * unit;
    return (const char *) buf + at;
}

/* Block p of v: its first byte; *span_p gets its bytes with gaps, *len_p without. */
static const char *find_part(const void *buf, const coll_symm_vector_t *v, int p, size_t *span_p,
                             size_t *len_p)
{
    const ompi_datatype_t *type = NULL == v->types ? v->type : v->types[p];
    const char *address = coll_symm_vector_block(buf, v, p);
    ptrdiff_t start;
    *span_p = symm_ompi_span(type, (size_t) v->counts[p], &start);
    *len_p = type->super.size * (size_t) v->counts[p];
    return address + start;
}

/* What the blocks of v span, where they have any byte. A block is one run if it has no gaps: types
 * whose elements go backwards in memory are not worth a look. */
static side_t find_side(const void *buf, const coll_symm_vector_t *v, int size)
{
    side_t side = {.gap_free = true};
    for (int p = 0; p < size; ++p) {
        size_t span, len;
        const char *first = find_part(buf, v, p, &span, &len);
        const ompi_datatype_t *type = NULL == v->types ? v->type : v->types[p];
        ptrdiff_t start;
        if (0 < span) {
            side.gap_free = side.gap_free && is_run(type, (size_t) v->counts[p], &start, &len);
            side.start = NULL == side.end || first < side.start ? first : side.start;
            side.end = NULL == side.end || first + span > side.end ? first + span : side.end;
        }
    }
    return side;
}

size_t coll_symm_vector_span(const void *buf, const coll_symm_vector_t *v, int count,
                             const char **start_p)
{
    side_t side = find_side(buf, v, count);
    *start_p = side.start;
    return (size_t) (side.end - side.start);
}

bool coll_symm_call_inputs(coll_symm_call_t *call, const void *buf, const coll_symm_vector_t *v)
{
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    side_t side = find_side(buf, v, exchange->size);
    call->send = side.start;
    call->send_len = (size_t) (side.end - side.start);
    for (int p = 0; p < exchange->size; ++p) {
        size_t span, len;
        const char *first = find_part(buf, v, p, &span, &len);
        symm_block_t *block = &call->work->row[p];
        block->send_at = 0 == len ? 0 : (uint64_t) (first - side.start);
        block->send_len = len;
    }
    return SYMM_ROW_RANKS_MAX >= exchange->size &&
           (side.gap_free || coll_symm_typed_keep(call, COLL_SYMM_SEND_SIDE, buf, v));
}

bool coll_symm_call_outputs(coll_symm_call_t *call, void *buf, const coll_symm_vector_t *v)
{
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    side_t side = find_side(buf, v, exchange->size);
    uint64_t largest = 0;
    call->recv = (char *) side.start;
    call->recv_len = (size_t) (side.end - side.start);
    for (int p = 0; p < exchange->size; ++p) {
        size_t span, len;
        const char *first = find_part(buf, v, p, &span, &len);
        symm_block_t *block = &call->work->row[p];
        block->recv_at = 0 == len ? 0 : (uint64_t) (first - side.start);
        block->recv_len = len;
        largest = p != exchange->rank && len > largest ? len : largest;
    }
    call->mine.bytes = largest;
    return SYMM_ROW_RANKS_MAX >= exchange->size &&
           (side.gap_free || coll_symm_typed_keep(call, COLL_SYMM_RECV_SIDE, buf, v));
}

void coll_symm_call_one_input(coll_symm_call_t *call, size_t len)
{
    for (int p = 0; p < call->module->comm->exchange.size; ++p) {
        call->work->row[p].send_at = 0;
        call->work->row[p].send_len = len;
    }
}

void coll_symm_call_one_output(coll_symm_call_t *call, size_t len)
{
    for (int p = 0; p < call->module->comm->exchange.size; ++p) {
        call->work->row[p].recv_at = 0;
        call->work->row[p].recv_len = len;
    }
    call->mine.bytes = len;
}

/* Makes the scratch that the plan needs, or chooses again without where it cannot be had; makes
 * that of nonblocking calls where they miss it. On all ranks alike. */
static void provide_scratch(coll_symm_call_t *call)
{
    symm_comm_t *comm = call->module->comm;
    size_t bytes = (size_t) call->module->policy.scratch_bytes;
    if (coll_symm_path_uses_scratch(call->plan.path) &&
        MPI_SUCCESS != symm_comm_make_scratch(comm, SYMM_SCRATCH_BLOCKING, bytes,
                                              "the scratch of collectives")) {
        call->mine.flags |= COLL_SYMM_NO_SCRATCH;
        coll_symm_call_choose(call);
    }
    if (call->plan.makes_pending_scratch) { /* a failure tells of itself; they do without */
        (void) symm_comm_make_scratch(comm, SYMM_SCRATCH_PENDING, bytes,
                                      "the scratch of nonblocking collectives");
    }
}

/* All rounds of the plan, in step with the others whatever fails here. */
static int do_rounds(coll_symm_call_t *call)
{
    int rc = call->steps->carry_out(call);
    while (call->round < call->last_round) {
        rc = coll_symm_call_step(call, rc);
        ++call->round;
        rc = MPI_SUCCESS == rc ? call->steps->carry_out(call) : rc;
    }
    return coll_symm_call_is_alone(call) ? rc : coll_symm_call_end(call, rc);
}

static int carry_out(coll_symm_call_t *call)
{
    if (COLL_SYMM_MISMATCH == call->plan.path) {
        coll_symm_report_mismatch(call);
        return call->plan.code;
    }
    int rc = COLL_SYMM_EAGER_SLOT == call->plan.path ? coll_symm_eager_outcome(call) : MPI_SUCCESS;
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    return COLL_SYMM_PASS == call->plan.path ? coll_symm_pass_on(call, true) : do_rounds(call);
}

/* Agreement, plan, report; the next component where there is nothing to agree on, and where the
 * plan says so. */
static int run(coll_symm_call_t *call)
{
    bool agreed = COLL_SYMM_NONE != call->mine.collective && coll_symm_call_open(call->module);
    coll_symm_call_place(call);
    if (!agreed) {
        return coll_symm_pass_on(call, false);
    }
    int rc = coll_symm_call_begin(call);
    if (MPI_SUCCESS == rc) {
        provide_scratch(call);
        rc = carry_out(call);
        coll_symm_report(call);
    }
    return rc;
}

/* Empties what is filled in from the description on, part by part: a string instruction for all of
 * it takes longer than a small call's other work, and wide stores longer to be read back. */
static void empty(coll_symm_call_t *call)
{
    call->send = NULL;
    call->send_len = 0;
    call->recv = NULL;
    call->recv_len = 0;
    call->elements[COLL_SYMM_SEND_SIDE] = (coll_symm_elements_t){0};
    call->elements[COLL_SYMM_RECV_SIDE] = (coll_symm_elements_t){0};
    call->share = (coll_symm_share_t){0};
    call->mine = (coll_symm_descriptor_t){0};
    call->number = 0;
    call->plan = (coll_symm_plan_t){0};
    call->round = 0;
    call->last_round = 0;
    call->blocks = 0;
    call->resident = false;
    call->window = NULL;
    call->pending = NULL;
    call->mode = COLL_SYMM_BLOCKING;
    call->tasks = NULL;
    call->places = NULL;
    call->scratch = NULL;
}

int coll_symm_call_serve(mca_coll_symm_module_t *module, const coll_symm_steps_t *steps,
                         const void *arguments, const void *sbuf, void *rbuf)
{
    coll_symm_call_t call;
    call.module = module;
    call.steps = steps;
    call.arguments = arguments;
    call.sbuf = sbuf;
    call.rbuf = rbuf;
    if (coll_symm_asleep(module)) {
        return steps->next(&call, sbuf, rbuf); /* looks at no more than that */
    }
    empty(&call);
    call.work = &module->work;
    steps->describe(&call);
    return run(&call);
}
