/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Plans: which path a collective takes, as a pure function of the descriptors that all ranks have
 * shown each other, so that all ranks choose alike. Nothing here talks to anyone. */
#ifndef COLL_SYMM_PLAN_H
#define COLL_SYMM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_symm.h"
#include "symm_control.h"
#include "symm_types.h"

/* X(enumerator, name): the collectives that are served here; 0 is a slot that was never written. A
 * new one gets a line here, mca_coll_symm_<name>() and a row in coll_symm_plan.c's table. */
#define COLL_SYMM_LIST(X)                                                                          \
    X(COLL_SYMM_ALLREDUCE, allreduce)                                                              \
    X(COLL_SYMM_ALLGATHER, allgather)                                                              \
    X(COLL_SYMM_ALLGATHERV, allgatherv)                                                            \
    X(COLL_SYMM_ALLTOALL, alltoall)                                                                \
    X(COLL_SYMM_ALLTOALLV, alltoallv)                                                              \
    X(COLL_SYMM_ALLTOALLW, alltoallw)                                                              \
    X(COLL_SYMM_BARRIER, barrier)                                                                  \
    X(COLL_SYMM_BCAST, bcast)                                                                      \
    X(COLL_SYMM_EXSCAN, exscan)                                                                    \
    X(COLL_SYMM_GATHER, gather)                                                                    \
    X(COLL_SYMM_GATHERV, gatherv)                                                                  \
    X(COLL_SYMM_REDUCE, reduce)                                                                    \
    X(COLL_SYMM_REDUCE_SCATTER, reduce_scatter)                                                    \
    X(COLL_SYMM_REDUCE_SCATTER_BLOCK, reduce_scatter_block)                                        \
    X(COLL_SYMM_SCAN, scan)                                                                        \
    X(COLL_SYMM_SCATTER, scatter)                                                                  \
    X(COLL_SYMM_SCATTERV, scatterv)

/* X(enumerator, name): their nonblocking forms. */
#define COLL_SYMM_NONBLOCKING_LIST(X)                                                              \
    X(COLL_SYMM_ALLGATHER, iallgather)                                                             \
    X(COLL_SYMM_ALLGATHERV, iallgatherv)                                                           \
    X(COLL_SYMM_ALLREDUCE, iallreduce)                                                             \
    X(COLL_SYMM_ALLTOALL, ialltoall)                                                               \
    X(COLL_SYMM_ALLTOALLV, ialltoallv)                                                             \
    X(COLL_SYMM_ALLTOALLW, ialltoallw)                                                             \
    X(COLL_SYMM_BARRIER, ibarrier)                                                                 \
    X(COLL_SYMM_BCAST, ibcast)                                                                     \
    X(COLL_SYMM_EXSCAN, iexscan)                                                                   \
    X(COLL_SYMM_GATHER, igather)                                                                   \
    X(COLL_SYMM_GATHERV, igatherv)                                                                 \
    X(COLL_SYMM_REDUCE, ireduce)                                                                   \
    X(COLL_SYMM_REDUCE_SCATTER, ireduce_scatter)                                                   \
    X(COLL_SYMM_REDUCE_SCATTER_BLOCK, ireduce_scatter_block)                                       \
    X(COLL_SYMM_SCAN, iscan)                                                                       \
    X(COLL_SYMM_SCATTER, iscatter)                                                                 \
    X(COLL_SYMM_SCATTERV, iscatterv)

/* X(enumerator, name): their persistent forms. */
#define COLL_SYMM_PERSISTENT_LIST(X)                                                               \
    X(COLL_SYMM_ALLGATHER, allgather_init)                                                         \
    X(COLL_SYMM_ALLGATHERV, allgatherv_init)                                                       \
    X(COLL_SYMM_ALLREDUCE, allreduce_init)                                                         \
    X(COLL_SYMM_ALLTOALL, alltoall_init)                                                           \
    X(COLL_SYMM_ALLTOALLV, alltoallv_init)                                                         \
    X(COLL_SYMM_ALLTOALLW, alltoallw_init)                                                         \
    X(COLL_SYMM_BARRIER, barrier_init)                                                             \
    X(COLL_SYMM_BCAST, bcast_init)                                                                 \
    X(COLL_SYMM_EXSCAN, exscan_init)                                                               \
    X(COLL_SYMM_GATHER, gather_init)                                                               \
    X(COLL_SYMM_GATHERV, gatherv_init)                                                             \
    X(COLL_SYMM_REDUCE, reduce_init)                                                               \
    X(COLL_SYMM_REDUCE_SCATTER, reduce_scatter_init)                                               \
    X(COLL_SYMM_REDUCE_SCATTER_BLOCK, reduce_scatter_block_init)                                   \
    X(COLL_SYMM_SCAN, scan_init)                                                                   \
    X(COLL_SYMM_SCATTER, scatter_init)                                                             \
    X(COLL_SYMM_SCATTERV, scatterv_init)

/* X(enumerator, name): those that no plan serves, but whose GPU buffers are staged. */
#define COLL_SYMM_NEIGHBOR_LIST(X)                                                                 \
    X(COLL_SYMM_NONE, neighbor_allgather)                                                          \
    X(COLL_SYMM_NONE, neighbor_allgatherv)                                                         \
    X(COLL_SYMM_NONE, neighbor_alltoall)                                                           \
    X(COLL_SYMM_NONE, neighbor_alltoallv)                                                          \
    X(COLL_SYMM_NONE, neighbor_alltoallw)                                                          \
    X(COLL_SYMM_NONE, ineighbor_allgather)                                                         \
    X(COLL_SYMM_NONE, ineighbor_allgatherv)                                                        \
    X(COLL_SYMM_NONE, ineighbor_alltoall)                                                          \
    X(COLL_SYMM_NONE, ineighbor_alltoallv)                                                         \
    X(COLL_SYMM_NONE, ineighbor_alltoallw)

#define COLL_SYMM_ENUMERATOR(enumerator, name) enumerator,
typedef enum coll_symm_collective {
    COLL_SYMM_NONE,
    COLL_SYMM_LIST(COLL_SYMM_ENUMERATOR) COLL_SYMM_COLLECTIVES
} coll_symm_collective_t;
#undef COLL_SYMM_ENUMERATOR

/* Which part of a rank's buffer belongs to another rank. */
typedef enum coll_symm_shape {
    COLL_SYMM_SAME,   /* the whole buffer, whoever it is */
    COLL_SYMM_BLOCKS, /* equal blocks in rank order */
    COLL_SYMM_ROWS,   /* as the rank's row of blocks says (symm_control.h) */
} coll_symm_shape_t;

/* Whose buffers take part, and so who needs to wait for whom (see COLL_SYMM_EAGER). */
typedef enum coll_symm_rooted {
    COLL_SYMM_ALL_RANKS,
    COLL_SYMM_FROM_ROOT, /* inputs: the root's alone; the others need the root */
    COLL_SYMM_TO_ROOT,   /* outputs: the root's alone; the root needs the others */
} coll_symm_rooted_t;

/* Of which ranks' inputs a reduction's result is. */
typedef enum coll_symm_prefix {
    COLL_SYMM_WHOLE,     /* of all */
    COLL_SYMM_INCLUSIVE, /* of those up to the rank that gets it */
    COLL_SYMM_EXCLUSIVE, /* of those before it */
} coll_symm_prefix_t;

/* What is always so of a collective. */
typedef struct coll_symm_traits {
    const char *name;
    bool reduces;                 /* its elements are combined: op and dtype count */
    bool rows;                    /* counts per rank: bytes may differ between ranks */
    bool swaps;                   /* in place, outputs are inputs that are for others */
    coll_symm_shape_t send, recv; /* of data movements; recv of reductions, too */
    coll_symm_prefix_t prefix;    /* of reductions */
    coll_symm_rooted_t rooted;
} coll_symm_traits_t;

extern const coll_symm_traits_t coll_symm_traits_of[COLL_SYMM_COLLECTIVES];

/* Those of COLL_SYMM_NONE for a number that no collective has. */
static inline const coll_symm_traits_t *coll_symm_traits(uint8_t collective)
{
    return &coll_symm_traits_of[collective < COLL_SYMM_COLLECTIVES ? collective : COLL_SYMM_NONE];
}

/* Where a buffer lies. */
typedef enum coll_symm_place {
    COLL_SYMM_HOST,          /* host memory outside the communicator's windows */
    COLL_SYMM_DEVICE,        /* GPU memory outside them */
    COLL_SYMM_WINDOW_SYSTEM, /* in a window of host memory */
    COLL_SYMM_WINDOW_CUDA,   /* in a window of GPU memory */
    COLL_SYMM_NOWHERE,       /* the rank has none, or no byte in it: it suits any plan */
} coll_symm_place_t;

static inline bool coll_symm_is_device(uint8_t place)
{
    return COLL_SYMM_DEVICE == place || COLL_SYMM_WINDOW_CUDA == place;
}

/* Flags of a descriptor. */
enum {
    COLL_SYMM_IN_PLACE = 1,    /* MPI_IN_PLACE: the send fields describe the input in recvbuf */
    COLL_SYMM_UNSUPPORTED = 2, /* an operation or datatype that plans do not know */
    COLL_SYMM_PAYLOAD = 4,     /* no buffer on a GPU, and the input travels in the slot, too */
    COLL_SYMM_APART = 8,       /* the buffers are not within reach of one device of this rank */
    COLL_SYMM_NO_SCRATCH = 16, /* there is none for this call to work through */
    COLL_SYMM_WANT_PENDING_SCRATCH = 32, /* nonblocking calls miss it: this one shall make it */
    COLL_SYMM_EAGER = 64,   /* the input is in the slot wherever it came from, and each rank waits
                             * for those alone that it needs: coll_symm_eager.c */
    COLL_SYMM_FAILED = 128, /* of an eager call: the slot has an error class instead (int) */
};

/* Bytes up to which inputs travel in the slots where all ranks wait for all. Of more, reading each
 * where it is takes less time. */
#define COLL_SYMM_PUSH_MAX ((size_t) 1024)

/* Algorithms that can be asked for, "auto" first. */
typedef enum coll_symm_algorithm {
    COLL_SYMM_AUTO,
    COLL_SYMM_LOW_LATENCY,
    COLL_SYMM_ONE_SHOT,
    COLL_SYMM_TWO_SHOT,
    COLL_SYMM_COPY_ENGINE, /* of data movements, and of what reductions read and write */
    COLL_SYMM_KERNEL,      /* of data movements, for small ones and for large */
    COLL_SYMM_NEXT,        /* the next component */
} coll_symm_algorithm_t;

/* What a rank shows the others of its call. Offsets count from the start of the window's range, so
 * any rank finds the buffer at its own mapping's start plus offset. */
typedef struct coll_symm_descriptor {
    uint64_t bytes : 56; /* of one rank's contribution, or of one block; with counts per rank, of
                          * the largest block that this rank gets from another */
    uint64_t policy : 8; /* a check sum of what this rank was told, see coll_symm_policy_t */
    uint64_t send_offset;
    uint64_t recv_offset;
    uint32_t send_window; /* serial number, 0 outside windows */
    uint32_t recv_window;
    uint8_t collective; /* coll_symm_collective_t */
    uint8_t op;         /* symm_op_t, reductions only */
    uint8_t dtype;      /* symm_dtype_t, reductions only */
    uint8_t flags;
    uint8_t send_place : 3; /* coll_symm_place_t */
    uint8_t send_gaps : 1;  /* of data movements: the datatype has gaps, or is out of order */
    uint8_t recv_place : 3;
    uint8_t recv_gaps : 1;
    uint8_t algorithm : 4; /* coll_symm_algorithm_t, as this rank was told */
    uint8_t link : 4;      /* symm_link_t of the communicator, as this rank knows it */
    uint16_t root;         /* 0 where there is none */
} coll_symm_descriptor_t;

_Static_assert(sizeof(coll_symm_descriptor_t) <= SYMM_SLOT_DESCRIPTOR_BYTES, "fits its slot");

typedef enum coll_symm_path {
    COLL_SYMM_MISMATCH,      /* the ranks' arguments do not belong together: an error on all */
    COLL_SYMM_PASS,          /* to the next component, device buffers staged */
    COLL_SYMM_PUSH_SLOT,     /* inputs came in the slots: each rank reads them there */
    COLL_SYMM_EAGER_SLOT,    /* likewise, without waiting for ranks whose input is not needed */
    COLL_SYMM_LOCAL,         /* one rank: a copy */
    COLL_SYMM_ONE_SHOT_PATH, /* each rank reads all inputs and writes its own output */
    COLL_SYMM_TWO_SHOT_PATH, /* each rank reduces a slice of all and writes it to all */
    COLL_SYMM_COPY_PUSH,     /* each rank writes its contribution to all */
    COLL_SYMM_COPY_PULL,     /* each rank reads all contributions */
    COLL_SYMM_COPY_SHARED,   /* rooted, on the host: of each block both ends copy a part */
    COLL_SYMM_COPY_SPREAD,   /* broadcast: the root writes a slice to each, who writes it to all */
    COLL_SYMM_COPY_SCRATCH,  /* as push, through scratch where an output is in no window */
    COLL_SYMM_ONE_SHOT_SCRATCH_PATH, /* each rank copies its input into scratch and reads all */
    COLL_SYMM_PATHS
} coll_symm_path_t;

typedef struct coll_symm_plan {
    coll_symm_path_t path;
    coll_symm_place_t place;    /* of the windows that the path works on */
    symm_link_t link;           /* that it works over; SYMM_LINK_HOST on the host */
    int code;                   /* COLL_SYMM_MISMATCH: the MPI error class */
    bool stage;                 /* COLL_SYMM_PASS: some rank has GPU buffers */
    bool gaps;                  /* of some rank's datatypes */
    bool misses_scratch;        /* another path would be chosen if there were scratch */
    bool makes_pending_scratch; /* some rank asks for it */
    /* How this rank does its part; its own affair: */
    bool kernel; /* a kernel does its copies */
    bool staged; /* copy engines bring what it combines */
} coll_symm_plan_t;

/* What the choice depends on beside the descriptors; alike on all ranks, but for the last ones. */
typedef struct coll_symm_policy {
    /* By the link: bytes up to which one-shot beats two-shot. */
    uint64_t one_shot_max[SYMM_LINK_COUNT];
    int gpu_max_ranks;      /* of one kernel */
    uint64_t scratch_bytes; /* of GPU memory per rank, 0 for none */
    uint64_t spread_min;    /* bytes from which a broadcast to several GPUs is spread */
    coll_symm_algorithm_t algorithm;
    /* What each rank may decide by itself: */
    bool copy_engine_only;        /* data movements use no multiprocessor */
    uint32_t max_multiprocessors; /* that kernels use, at least 1 */
    bool resident;                /* small work goes to a kernel that stays on the GPU */
    /* By the link: bytes up to which a kernel copies sooner than copy engines; bytes of a
     * reduction's inputs from which copy engines bring them sooner than a kernel reads them. */
    uint64_t kernel_max[SYMM_LINK_COUNT];
    uint64_t copy_engine_min[SYMM_LINK_COUNT];
    uint64_t stage_bytes; /* of GPU memory for that, per window; 0 for none */
} coll_symm_policy_t;

/* A number that differs, most likely, where two ranks' policies would choose differently. */
uint8_t coll_symm_policy_sum(const coll_symm_policy_t *policy);

/* Chooses the path for what all ranks [size] have shown. */
void coll_symm_plan_choose(const coll_symm_descriptor_t *all, int size,
                           const coll_symm_policy_t *policy, coll_symm_plan_t *plan_p);

/* The lowest rank whose call differs from rank's, of those that rank needs; when there is one. */
int coll_symm_plan_mismatch(const coll_symm_descriptor_t *all, int size, int rank);

/* Ranks [first, end). */
typedef struct coll_symm_ranks {
    int first, end;
} coll_symm_ranks_t;

/* Those of size ranks whose slots rank needs, which shows *mine: of an eager call not all. */
static inline coll_symm_ranks_t coll_symm_needed(const coll_symm_descriptor_t *mine, int rank,
                                                 int size)
{
    if (0 == (mine->flags & COLL_SYMM_EAGER)) {
        return (coll_symm_ranks_t){0, size};
    }
    if (COLL_SYMM_FROM_ROOT == coll_symm_traits(mine->collective)->rooted) {
        return (coll_symm_ranks_t){mine->root, mine->root + 1};
    }
    return (coll_symm_ranks_t){0, rank == (int) mine->root ? size : 0};
}

/* Whether rank's call is eager as far as rank can tell: what goes to the root is so on all ranks or
 * none, as far as their arguments match; what comes from the root is so if the root says so, and
 * this is false on the others. `known` tells whether op and dtype are, gpu_windows whether the
 * communicator sees windows on GPUs, whose kernels do better. */
bool coll_symm_plan_is_eager(const coll_symm_descriptor_t *mine, int rank,
                             const coll_symm_policy_t *policy, bool known, bool gpu_windows);

/* Chooses the path of an eager call, for what those have shown that rank needs. */
void coll_symm_plan_choose_eager(const coll_symm_descriptor_t *all, int size, int rank,
                                 coll_symm_plan_t *plan_p);

/* The part [*first_p, *first_p + *count_p) of count elements that rank reduces in two-shot: slices
 * are whole multiples of 128 bytes but the last, so that aligned buffers have aligned slices. */
void coll_symm_slice(uint64_t count, size_t element_bytes, int size, int rank, uint64_t *first_p,
                     uint64_t *count_p);

/* "two_shot_sm", "copy_push_ce", "next_staged"...; static. */
const char *coll_symm_plan_name(const coll_symm_plan_t *plan);

/* Whether some rank's buffers are in GPU memory, windows included. */
static inline bool coll_symm_descriptor_on_gpu(const coll_symm_descriptor_t *d)
{
    return coll_symm_is_device(d->send_place) || coll_symm_is_device(d->recv_place);
}

/* Bytes of the part that a half of a rank's scratch has for each other rank, 0 when that is too
 * little to work with: pieces of that size travel through it. */
size_t coll_symm_scratch_piece(uint64_t scratch_bytes, int size);

/* Of a scratch of len bytes that reductions use: bytes of each of its two halves and of the area
 * behind them, and of each of `parts` parts of these; multiples of 256, 0 when it is too little. */
size_t coll_symm_scratch_area(uint64_t len);
size_t coll_symm_scratch_part(uint64_t len, int parts);

/* Whether the path works through scratch. */
static inline bool coll_symm_path_uses_scratch(coll_symm_path_t path)
{
    return COLL_SYMM_ONE_SHOT_SCRATCH_PATH == path || COLL_SYMM_COPY_SCRATCH == path;
}

/* Where the blocks for a rank that shows d land in COLL_SYMM_COPY_SCRATCH: in its scratch, or else
 * in its output at once. */
bool coll_symm_lands_in_scratch(const coll_symm_descriptor_t *d);

#endif
