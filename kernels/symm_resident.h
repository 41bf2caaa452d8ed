/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The resident kernel: one block that stays on a GPU and does small reductions and copies as
 * commands come, sparing each the launch. What host and kernel pass is laid out alike for both.
 *
 * NOTE commands. A command lies in SYMM_RESIDENT_WORDS words of mapped host memory, which one warp
 * reads at once, again and again. Each word has 32 bits of data below the command's number. So a
 * word tells by itself whether it is of the command that its first word tells of: reading a command
 * takes one trip over the bus, where a bell to be read first would take two. A number that differs
 * from that of the latest command done is a command to do.
 *
 * NOTE the end. The kernel ends when it has seen no command for a while, when it has been there for
 * a while, and when the last word asks for it. It writes the number of its life to a word of host
 * memory then, its last access, and looks at no command any more. So a host that has given a
 * command and finds that word written, and the command's number not yet told, knows for certain
 * that nobody has seen the command, and launches the kernel anew. */
#ifndef SYMM_RESIDENT_H
#define SYMM_RESIDENT_H

#include <stdint.h>

#include "symm_move.h"
#include "symm_reduce.h"
#include "symm_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kernel's name in the fatbin, and its one block's threads. */
#define SYMM_RESIDENT_KERNEL  "symm_resident"
#define SYMM_RESIDENT_THREADS 512

/* Words that a warp of 32 reads at once, two a thread. The last is no part of a command: the number
 * of a life that is to end. */
#define SYMM_RESIDENT_WORDS 64
#define SYMM_RESIDENT_END   (SYMM_RESIDENT_WORDS - 1)

/* Most bytes of a command: of all sources of a reduction, of all copies. */
#define SYMM_RESIDENT_BYTES_MAX 32768

/* The data of a command: two words of numbers, then for a reduction the addresses of its sources
 * and destinations, two words each, the lower half first; for copies each one's destination, source
 * and length. The first word has the number of words and what to do: an operation and a type, or
 * SYMM_RESIDENT_MOVE and no type. The second has a reduction's count of elements, the bytes of one,
 * and the number of destinations. */
#define SYMM_RESIDENT_HEADER      2
#define SYMM_RESIDENT_MOVE        SYMM_OP_COUNT
#define SYMM_RESIDENT_BUFFERS_MAX ((SYMM_RESIDENT_END - SYMM_RESIDENT_HEADER) / 2)
#define SYMM_RESIDENT_MOVE_WORDS  5
#define SYMM_RESIDENT_MOVES_MAX                                                                    \
    ((SYMM_RESIDENT_END - SYMM_RESIDENT_HEADER) / SYMM_RESIDENT_MOVE_WORDS)

/* The fields of the first two words; sources are the sources or the copies. */
#define SYMM_RESIDENT_FIRST(words, op, dtype, sources)                                             \
    ((uint32_t) (words) | (uint32_t) (op) << 8 | (uint32_t) (dtype) << 16 |                        \
     (uint32_t) (sources) << 24)
#define SYMM_RESIDENT_GET_WORDS(first)   ((first) &0xff)
#define SYMM_RESIDENT_GET_OP(first)      ((first) >> 8 & 0xff)
#define SYMM_RESIDENT_GET_DTYPE(first)   ((first) >> 16 & 0xff)
#define SYMM_RESIDENT_GET_SOURCES(first) ((first) >> 24)

#define SYMM_RESIDENT_SECOND(count, size, ndst)                                                    \
    ((uint32_t) (count) | (uint32_t) (size) << 16 | (uint32_t) (ndst) << 24)
#define SYMM_RESIDENT_GET_COUNT(second) ((second) &0xffff)
#define SYMM_RESIDENT_GET_SIZE(second)  ((second) >> 16 & 0xff)
#define SYMM_RESIDENT_GET_NDST(second)  ((second) >> 24)

/* A word as it lies in memory. */
#define SYMM_RESIDENT_WORD(data, number) ((uint64_t) (number) << 32 | (uint32_t) (data))
#define SYMM_RESIDENT_GET_NUMBER(word)   ((uint32_t) ((word) >> 32))
#define SYMM_RESIDENT_GET_DATA(word)     ((uint32_t) (word))

typedef struct symm_resident_params {
    symm_done_t done;     /* gets the number of each command that is done, as if a launch had it */
    uint64_t *command;    /* [SYMM_RESIDENT_WORDS] mapped host memory, 16-byte aligned */
    uint32_t *ended;      /* likewise; gets life when the kernel ends */
    uint32_t life;        /* number of this launch */
    uint32_t latest;      /* number of the latest command that is done */
    uint64_t idle_ns;     /* ends after so long without a command, */
    uint64_t lifetime_ns; /* and after so long in any case */
} symm_resident_params_t;

/* A command's data, without its number. */
typedef struct symm_resident_command {
    uint32_t words;
    uint32_t data[SYMM_RESIDENT_END];
} symm_resident_command_t;

/* Make the command of a reduction, or of count copies. Return 0, or EINVAL when it is none for the
 * resident kernel: nothing to do, too large, too many buffers, not for GPUs, or not aligned to its
 * elements. */
SYMM_EXPORT int symm_resident_reduce(const symm_reduce_t *reduce,
                                     symm_resident_command_t *command_p);
SYMM_EXPORT int symm_resident_moves(const symm_move_t *moves, uint32_t count,
                                    symm_resident_command_t *command_p);

#ifdef __cplusplus
}
#endif

#endif
