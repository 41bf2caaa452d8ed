/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Both sides of a mailbox. */
#include "symm_config.h"

#include "symm_mailbox.h"
#include "symm_iov.h"
#include "symm_spin.h"

#include <mpi.h>

enum { SLOT_FREE, SLOT_CLAIMED, SLOT_ASKED, SLOT_SERVED };

/* Waits until a slot is free and takes it. */
static symm_mailbox_slot_t *claim(symm_mailbox_t *mailbox)
{
    symm_spin_t spin = SYMM_SPIN_INIT;
    for (;;) {
        for (int i = 0; i < SYMM_MAILBOX_SLOTS; ++i) {
            uint32_t expected = SLOT_FREE;
            /* Acquire pairs with the release of whoever used the slot before. */
            if (atomic_compare_exchange_strong_explicit(&mailbox->slots[i].state, &expected,
                                                        SLOT_CLAIMED, memory_order_acquire,
                                                        memory_order_relaxed)) {
                return &mailbox->slots[i];
            }
        }
        symm_spin_once(&spin);
    }
}

/* Hands the slot to the owner and waits for it to come back. */
static int ask(symm_mailbox_t *mailbox, symm_mailbox_slot_t *slot)
{
    /* Release: the owner that sees it sees the request. */
    atomic_store_explicit(&slot->state, SLOT_ASKED, memory_order_release);
    atomic_fetch_add_explicit(&mailbox->asked, 1, memory_order_release);
    symm_spin_t spin = SYMM_SPIN_INIT;
    while (SLOT_SERVED != atomic_load_explicit(&slot->state, memory_order_acquire)) {
        symm_spin_once(&spin);
    }
    return slot->code;
}

/* Names in slot the next pieces of the owner's memory, as many as fit. Returns their bytes. */
static size_t name_pieces(symm_mailbox_slot_t *slot, symm_iov_cursor_t *there)
{
    struct iovec next[SYMM_MAILBOX_PIECES];
    size_t len;
    size_t count = symm_iov_peek(there, next, SYMM_MAILBOX_PIECES, SYMM_MAILBOX_BYTES, &len);
    for (size_t i = 0; i < count; ++i) {
        slot->pieces[i] = (symm_mailbox_piece_t){(uintptr_t) next[i].iov_base, next[i].iov_len};
    }
    slot->count = (uint32_t) count;
    symm_iov_advance(there, len);
    return len;
}

int symm_mailbox_transfer(symm_mailbox_t *mailbox, bool write, const struct iovec *local,
                          size_t local_count, const struct iovec *remote, size_t remote_count)
{
    symm_iov_cursor_t here = SYMM_IOV_CURSOR(local, local_count);
    symm_iov_cursor_t there = SYMM_IOV_CURSOR(remote, remote_count);
    symm_mailbox_slot_t *slot = claim(mailbox);
    int rc = MPI_SUCCESS;
    slot->write = write;
    for (size_t len = name_pieces(slot, &there); MPI_SUCCESS == rc && 0 < len;
         len = name_pieces(slot, &there)) {
        if (write) {
            symm_iov_copy_out(&here, slot->data, len);
        }
        rc = ask(mailbox, slot);
        if (MPI_SUCCESS == rc && !write) {
            symm_iov_copy_in(&here, slot->data, len);
        }
    }
    atomic_store_explicit(&slot->state, SLOT_FREE, memory_order_release);
    return rc;
}

static void serve_slot(symm_mailbox_slot_t *slot, symm_mailbox_copy_fn_t copy, void *context)
{
    unsigned char *data = slot->data;
    int rc = MPI_SUCCESS;
    for (uint32_t i = 0; MPI_SUCCESS == rc && i < slot->count; ++i) {
        void *address = (void *) (uintptr_t) slot->pieces[i].address;
        size_t len = (size_t) slot->pieces[i].len;
        rc = copy(context, 0 != slot->write ? address : data, 0 != slot->write ? data : address,
                  len);
        data += len;
    }
    slot->code = rc;
    atomic_store_explicit(&slot->state, SLOT_SERVED, memory_order_release);
}

int symm_mailbox_serve(symm_mailbox_t *mailbox, symm_mailbox_copy_fn_t copy, void *context)
{
    int served = 0;
    if (0 == atomic_load_explicit(&mailbox->asked, memory_order_acquire) ||
        0 != atomic_exchange_explicit(&mailbox->serving, 1, memory_order_acquire)) {
        return 0;
    }
    for (int i = 0; i < SYMM_MAILBOX_SLOTS; ++i) {
        symm_mailbox_slot_t *slot = &mailbox->slots[i];
        if (SLOT_ASKED == atomic_load_explicit(&slot->state, memory_order_acquire)) {
            serve_slot(slot, copy, context);
            ++served;
        }
    }
    atomic_fetch_sub_explicit(&mailbox->asked, (uint32_t) served, memory_order_relaxed);
    atomic_store_explicit(&mailbox->serving, 0, memory_order_release);
    return served;
}
