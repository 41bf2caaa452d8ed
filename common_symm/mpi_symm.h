/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Public interface of symmetric windows: what a window is, where its peers' memory lies, and what
 * the plug-ins have done so far. Programs need none of it to use symmetric memory - the info key
 * `symm_memory_kind` of MPI_Win_allocate is enough - but kernels and tests do. Link with
 * -lmpi_symm.
 *
 * All functions are local, may be called by any thread between MPI_Init and MPI_Finalize, and
 * return MPI_SUCCESS or an MPI error class; no error handler is invoked. */
#ifndef MPI_SYMM_H
#define MPI_SYMM_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library hides all other symbols. */
#ifndef SYMM_EXPORT
#    define SYMM_EXPORT __attribute__((visibility("default")))
#endif

/* Info keys of MPI_Win_allocate and MPI_Win_allocate_shared. */
#define SYMM_INFO_MEMORY_KIND "symm_memory_kind" /* "cuda:device" or "system" */
#define SYMM_INFO_REQUIRED    "symm_required" /* "true": an error rather than an ordinary window */

/* Where a window's memory lives; the names are those of the info key's values. */
typedef enum symm_kind { SYMM_KIND_SYSTEM, SYMM_KIND_CUDA_DEVICE, SYMM_KIND_COUNT } symm_kind_t;

/* What joins a rank's device to the memory of a window's ranks, the best first: nothing, as it is
 * host memory; nothing, as all of it is on the rank's own GPU; a link over which GPUs have atomics
 * on each other's memory, as NVLink; one without, as PCIe, or what the driver does not tell. */
typedef enum symm_link {
    SYMM_LINK_HOST,
    SYMM_LINK_SAME_GPU,
    SYMM_LINK_NVLINK,
    SYMM_LINK_PCIE,
    SYMM_LINK_COUNT
} symm_link_t;

/* What symm_window_query() tells of a symmetric window. The addresses are valid in this process
 * until MPI_Win_free; they are device addresses when kind is SYMM_KIND_CUDA_DEVICE. */
typedef struct symm_window_info {
    symm_kind_t kind;
    symm_link_t link;  /* the worst between any two ranks; SYMM_LINK_HOST of windows on memory of
                        * the program's own (MPI_Win_create) */
    int rank;          /* of the caller in the window's group */
    int size;          /* ranks of the window's group */
    uint32_t serial;   /* the window's number, alike on all ranks; none of their others has it */
    void *base;        /* the caller's own memory: the base that MPI_Win_allocate returned */
    size_t size_bytes; /* the caller's own size, as asked for */
    size_t stride;     /* peer address = base + (peer - rank) * stride; 0 when memory is contiguous
                        * over the ranks (MPI_Win_allocate_shared): use MPI_Win_shared_query there;
                        * 0, too, for memory of the program's own (MPI_Win_create) */
} symm_window_info_t;

/* Describes win, a window created with symmetric memory.
 * Returns MPI_SUCCESS; MPI_ERR_WIN when win is not a live symmetric window; MPI_ERR_ARG when info_p
 * is NULL. *info_p is written on success only. */
SYMM_EXPORT int symm_window_query(MPI_Win win, symm_window_info_t *info_p);

/* Finds the symmetric window whose memory holds all of [ptr, ptr + len), the caller's or a peer's,
 * in O(log n) of the live windows. len may be 0.
 * Returns MPI_SUCCESS; MPI_ERR_BASE when there is none; MPI_ERR_ARG when win_p is NULL. */
SYMM_EXPORT int symm_pointer_query(const void *ptr, size_t len, MPI_Win *win_p);

/* 16-bit floats: IEEE binary16 and bfloat16 as MPI datatypes of 2 bytes, and the operations on
 * them. They move as any datatype does. MPI lets a program's own operations, not MPI_SUM itself,
 * work on datatypes that it does not know, so reductions take what symm_op() gives:
 *
 *     symm_type_bfloat16(&type);
 *     symm_op(MPI_SUM, &sum);
 *     MPI_Allreduce(MPI_IN_PLACE, x, count, type, sum, comm);
 *
 * Reductions on symmetric memory then add up as float and round once; elsewhere Open MPI's own
 * components call the operation, which rounds each time. MPI_Accumulate and its kin take MPI_SUM,
 * MPI_PROD, MPI_MAX and MPI_MIN on these types. */

/* Give the datatype, committed, the same each time; it belongs to the library: do not free it.
 * Return MPI_SUCCESS, MPI_ERR_ARG when type_p is NULL, or what MPI returned. */
SYMM_EXPORT int symm_type_float16(MPI_Datatype *type_p);
SYMM_EXPORT int symm_type_bfloat16(MPI_Datatype *type_p);

/* Gives the operation that does on the 16-bit floats what op (MPI_SUM, MPI_PROD, MPI_MAX or
 * MPI_MIN) does on MPI's own datatypes, and on these the same as op. It is commutative, the same
 * handle each time, and belongs to the library: do not free it. Returns MPI_SUCCESS, MPI_ERR_ARG
 * when op_p is NULL, MPI_ERR_OP for other operations, or what MPI returned. */
SYMM_EXPORT int symm_op(MPI_Op op, MPI_Op *op_p);

/* SYMM_COUNTER(field, description): counts of this process since MPI_Init. */
#define SYMM_COUNTER_LIST(SYMM_COUNTER)                                                            \
    SYMM_COUNTER(windows_created, "symmetric windows created")                                     \
    SYMM_COUNTER(windows_freed, "symmetric windows freed")                                         \
    SYMM_COUNTER(windows_from_cache, "windows that took over cached segments")                     \
    SYMM_COUNTER(windows_delegated, "windows handed to another OSC component")                     \
    SYMM_COUNTER(windows_failed, "window creations that ended in an error")                        \
    SYMM_COUNTER(bytes_mapped, "bytes of own segments mapped now, cache included")                 \
    SYMM_COUNTER(puts, "put operations")                                                           \
    SYMM_COUNTER(put_bytes, "bytes put")                                                           \
    SYMM_COUNTER(gets, "get operations")                                                           \
    SYMM_COUNTER(get_bytes, "bytes got")                                                           \
    SYMM_COUNTER(accumulates, "accumulate operations of all kinds")                                \
    SYMM_COUNTER(accumulate_elements, "elements that these were about")                            \
    SYMM_COUNTER(kernels, "kernels launched on GPUs")                                              \
    SYMM_COUNTER(kernels_again, "of these, with all parameters as in an earlier launch")           \
    SYMM_COUNTER(resident_launches, "launches of resident kernels")                                \
    SYMM_COUNTER(resident_commands, "small pieces of work that these did")                         \
    SYMM_COUNTER(collectives, "collectives served on symmetric memory")                            \
    SYMM_COUNTER(collectives_in_windows,                                                           \
                 "of these, done in windows that this rank's buffers are in")                      \
    SYMM_COUNTER(collectives_passed, "agreed collectives passed to the next component")            \
    SYMM_COUNTER(collectives_staged, "passed collectives whose device buffers were staged")        \
    SYMM_COUNTER(collectives_mismatched, "collectives whose arguments differed between ranks")     \
    SYMM_COUNTER(persistent_replayed,                                                              \
                 "starts of persistent collectives that replayed prepared work")                   \
    SYMM_COUNTER(persistent_staged, "starts of persistent collectives passed on with host copies")

#define SYMM_COUNTER_FIELD(field, description) uint64_t field;
typedef struct symm_stats {
    SYMM_COUNTER_LIST(SYMM_COUNTER_FIELD)
} symm_stats_t;
#undef SYMM_COUNTER_FIELD

/* Copies the counters. Returns MPI_SUCCESS, or MPI_ERR_ARG when stats_p is NULL. */
SYMM_EXPORT int symm_stats_query(symm_stats_t *stats_p);

/* Bytes that hold the longest plan text, its NUL included. */
#define SYMM_PLAN_TEXT_MAX 128

/* Writes how the calling thread's latest collective on a communicator
 * with symmetric windows was done, in the form
 * "allreduce 2097152 B f32 sum: two_shot_sm 2 ranks 64x512", which ends with "resident" where the
 * work was a resident kernel's; "none" before the first. At most
 * len bytes are written, the NUL included.
 * Returns MPI_SUCCESS, or MPI_ERR_ARG when text is NULL or len 0. */
SYMM_EXPORT int symm_plan_query(char *text, size_t len);

/* "system", "cuda:device"; "?" when out of range. Static. */
SYMM_EXPORT const char *symm_kind_name(symm_kind_t kind);

/* "host", "same_gpu", "nvlink", "pcie"; "?" when out of range. Static. */
SYMM_EXPORT const char *symm_link_name(symm_link_t link);

#ifdef __cplusplus
}
#endif

#endif
