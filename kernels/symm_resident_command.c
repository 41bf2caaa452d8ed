/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Commands for the resident kernel. */
#include "symm_resident.h"

#include <errno.h>

static void add_word(symm_resident_command_t *command, uint32_t data)
{
    command->data[command->words++] = data;
}

static void add_address(symm_resident_command_t *command, const void *address)
{
    uint64_t bits = (uintptr_t) address;
    add_word(command, (uint32_t) bits);
    add_word(command, (uint32_t) (bits >> 32));
}

/* Whether the kernel, which takes elements whole, can touch all of them. */
static int is_aligned(const symm_reduce_t *reduce, size_t size)
{
    uintptr_t any = 0;
    for (uint32_t i = 0; i < reduce->nsrc; ++i) {
        any |= (uintptr_t) reduce->src[i];
    }
    for (uint32_t i = 0; i < reduce->ndst; ++i) {
        any |= (uintptr_t) reduce->dst[i];
    }
    return 0 == any % size;
}

int symm_resident_reduce(const symm_reduce_t *reduce, symm_resident_command_t *command_p)
{
    size_t size = symm_dtype_size(reduce->dtype);
    uint64_t buffers = (uint64_t) reduce->nsrc + reduce->ndst;
    if (!symm_op_defined(reduce->op, reduce->dtype) || !symm_dtype_on_gpu(reduce->dtype) ||
        0 == reduce->count || 0 == reduce->nsrc || 0 == reduce->ndst ||
        SYMM_RESIDENT_BUFFERS_MAX < buffers ||
        SYMM_RESIDENT_BYTES_MAX / (size * reduce->nsrc) < reduce->count ||
        !is_aligned(reduce, size)) {
        return EINVAL;
    }
    command_p->words = SYMM_RESIDENT_HEADER;
    for (uint32_t i = 0; i < reduce->nsrc; ++i) {
        add_address(command_p, reduce->src[i]);
    }
    for (uint32_t i = 0; i < reduce->ndst; ++i) {
        add_address(command_p, reduce->dst[i]);
    }
    command_p->data[0] = SYMM_RESIDENT_FIRST(
        command_p->words, reduce->op, symm_op_carrier(reduce->op, reduce->dtype), reduce->nsrc);
    command_p->data[1] = SYMM_RESIDENT_SECOND(reduce->count, size, reduce->ndst);
    return 0;
}

int symm_resident_moves(const symm_move_t *moves, uint32_t count,
                        symm_resident_command_t *command_p)
{
    uint64_t bytes = 0;
    if (0 == count || SYMM_RESIDENT_MOVES_MAX < count) {
        return EINVAL;
    }
    command_p->words = SYMM_RESIDENT_HEADER;
    for (uint32_t i = 0; i < count; ++i) {
        uint64_t room = SYMM_RESIDENT_BYTES_MAX - bytes;
        if (room < moves[i].len) {
            return EINVAL;
        }
        bytes += moves[i].len;
        add_address(command_p, moves[i].dst);
        add_address(command_p, moves[i].src);
        add_word(command_p, (uint32_t) moves[i].len);
    }
    command_p->data[0] = SYMM_RESIDENT_FIRST(command_p->words, SYMM_RESIDENT_MOVE, 0, count);
    command_p->data[1] = SYMM_RESIDENT_SECOND(0, 0, 0);
    return 0;
}
