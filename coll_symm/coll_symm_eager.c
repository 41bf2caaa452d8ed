/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Eager calls: small collectives with a root, in which ranks do not wait for those that they need
 * nothing from. The inputs travel in the slots.
 *
 * NOTE who waits. What comes from the root: the root writes its slot and returns, the others wait
 * for that slot alone. It is the root who decides, by a flag in its slot, and without that flag all
 * wait for all as in any other collective. What goes to the root: the others return at once, the
 * root waits for them. That all must decide alike, so it depends on nothing but the arguments that
 * MPI wants alike and on what the latest call has shown in which all waited for all. An input that
 * a GPU holds or that has gaps is brought into the slot by its rank, therefore.
 *
 * Who does not wait learns of no other rank's failure; arguments that do not match are an error on
 * those who find out. A rank that is far ahead waits for the slowest when it comes round to a slot
 * that one may still have to read: coll_symm_agree.c. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_copy.h"

#include <string.h>

static bool has_flag(const coll_symm_descriptor_t *d, uint8_t flag)
{
    return 0 != (d->flags & flag);
}

/* Brings the input into the slot, by way of a host copy where it is on a GPU. A reduction's stays
 * as it is in memory. */
static int pack(const coll_symm_call_t *call, void *slot)
{
    const coll_symm_elements_t *input = &call->elements[COLL_SYMM_SEND_SIDE];
    coll_symm_stages_t stages;
    int at = 0;
    if (coll_symm_traits(call->mine.collective)->reduces) {
        return symm_copy_blocking(slot, call->send, call->send_len);
    }
    int rc = coll_symm_stages_in(&stages, call);
    if (MPI_SUCCESS == rc) {
        rc = PMPI_Pack(stages.send.host, (int) input->count, (MPI_Datatype) input->type, slot,
                       SYMM_SLOT_PAYLOAD_BYTES, &at, call->module->ompi_comm);
    }
    coll_symm_stages_free(&stages);
    return rc;
}

/* Takes len bytes to the block of the output that is behind `at` bytes of data. */
static int unpack(const coll_symm_call_t *call, const char *from, size_t at, size_t len)
{
    const coll_symm_elements_t *output = &call->elements[COLL_SYMM_RECV_SIDE];
    ptrdiff_t block = (ptrdiff_t) (at / len * output->count);
    ptrdiff_t extent = output->type->super.ub - output->type->super.lb;
    coll_symm_stages_t stages;
    int used = 0;
    int rc = coll_symm_stages_in(&stages, call);
    if (MPI_SUCCESS == rc) {
        rc = PMPI_Unpack(from, (int) len, &used, (char *) stages.recv.host + block * extent,
                         (int) output->count, (MPI_Datatype) output->type, call->module->ompi_comm);
    }
    rc = MPI_SUCCESS == rc ? coll_symm_stages_out(&stages) : rc;
    coll_symm_stages_free(&stages);
    return rc;
}

void coll_symm_eager_load(coll_symm_call_t *call, void *slot)
{
    bool elsewhere = has_flag(&call->mine, COLL_SYMM_EAGER) &&
                     !has_flag(&call->mine, COLL_SYMM_PAYLOAD) && 0 < call->send_len;
    int rc = elsewhere ? pack(call, slot) : MPI_SUCCESS;
    if (MPI_SUCCESS != rc) {
        call->mine.flags |= COLL_SYMM_FAILED;
        memcpy(slot, &rc, sizeof(rc));
    }
}

int coll_symm_eager_outcome(const coll_symm_call_t *call)
{
    const symm_exchange_t *exchange = &call->module->comm->exchange;
    coll_symm_ranks_t needed = coll_symm_needed(&call->mine, exchange->rank, exchange->size);
    int failed = has_flag(&call->mine, COLL_SYMM_FAILED) ? exchange->rank : -1;
    for (int r = needed.first; 0 > failed && r < needed.end; ++r) {
        failed = has_flag(&call->work->all[r], COLL_SYMM_FAILED) ? r : -1;
    }
    int code = MPI_SUCCESS;
    if (0 <= failed) {
        memcpy(&code, coll_symm_call_payload_of(call, failed), sizeof(code));
    }
    return code;
}

int coll_symm_take(const coll_symm_call_t *call, const char *from, size_t at, size_t len)
{
    /* No rank with a GPU buffer has this flag. */
    if (!has_flag(&call->mine, COLL_SYMM_PAYLOAD)) {
        return unpack(call, from, at, len);
    }
    return coll_symm_work_copy_here(call, call->recv + at, from, len);
}
