/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The choice of plans (design, "Collectives"). Carrying them out is the work of
 * coll_symm_combine.c and coll_symm_move.c. */
#include "symm_config.h"

#include "coll_symm_plan.h"

#include <mpi.h>

#define SLICE_ALIGN 128 /* bytes: a full line of GPU memory, two of host memory */
#define PIECE_ALIGN 256 /* bytes: as well aligned as windows' data */

/* Blocks of so many bytes do not stay in caches; sharing their copying pays. */
#define SHARED_MIN (UINT64_C(1) << 20)

#define ROWS .rows = true, .send = COLL_SYMM_ROWS, .recv = COLL_SYMM_ROWS

/* By collective. */
const coll_symm_traits_t coll_symm_traits_of[COLL_SYMM_COLLECTIVES] = {
    [COLL_SYMM_NONE] = {.name = "?"},
    [COLL_SYMM_ALLREDUCE] = {.name = "allreduce", .reduces = true},
    [COLL_SYMM_ALLGATHER] = {.name = "allgather", .send = COLL_SYMM_SAME, .recv = COLL_SYMM_BLOCKS},
    [COLL_SYMM_ALLGATHERV] = {.name = "allgatherv", ROWS},
    [COLL_SYMM_ALLTOALL] = {.name = "alltoall",
                            .swaps = true,
                            .send = COLL_SYMM_BLOCKS,
                            .recv = COLL_SYMM_BLOCKS},
    [COLL_SYMM_ALLTOALLV] = {.name = "alltoallv", ROWS, .swaps = true},
    [COLL_SYMM_ALLTOALLW] = {.name = "alltoallw", ROWS, .swaps = true},
    [COLL_SYMM_BARRIER] = {.name = "barrier"},
    [COLL_SYMM_BCAST] = {.name = "bcast", .rooted = COLL_SYMM_FROM_ROOT},
    [COLL_SYMM_EXSCAN] = {.name = "exscan", .reduces = true, .prefix = COLL_SYMM_EXCLUSIVE},
    [COLL_SYMM_GATHER] = {.name = "gather", .recv = COLL_SYMM_BLOCKS, .rooted = COLL_SYMM_TO_ROOT},
    [COLL_SYMM_GATHERV] = {.name = "gatherv", ROWS, .rooted = COLL_SYMM_TO_ROOT},
    [COLL_SYMM_REDUCE] = {.name = "reduce", .reduces = true, .rooted = COLL_SYMM_TO_ROOT},
    [COLL_SYMM_REDUCE_SCATTER] = {.name = "reduce_scatter",
                                  .reduces = true,
                                  .recv = COLL_SYMM_ROWS},
    [COLL_SYMM_REDUCE_SCATTER_BLOCK] = {.name = "reduce_scatter_block",
                                        .reduces = true,
                                        .recv = COLL_SYMM_BLOCKS},
    [COLL_SYMM_SCAN] = {.name = "scan", .reduces = true, .prefix = COLL_SYMM_INCLUSIVE},
    [COLL_SYMM_SCATTER] = {.name = "scatter",
                           .send = COLL_SYMM_BLOCKS,
                           .rooted = COLL_SYMM_FROM_ROOT},
    [COLL_SYMM_SCATTERV] = {.name = "scatterv", ROWS, .rooted = COLL_SYMM_FROM_ROOT},
};

/* What the descriptors of all ranks have in common. */
typedef struct summary {
    bool supported;
    bool payload;               /* every input came in its slot */
    bool in_place;              /* of some rank */
    bool device;                /* some rank has a GPU buffer */
    bool together;              /* no rank's buffers are apart */
    bool scratch;               /* every rank has it */
    bool makes_pending_scratch; /* some rank asks for it */
    bool send_gaps, recv_gaps;  /* of some rank's datatypes */
    bool send_in;               /* every input lies in a window of `place` */
    bool recv_in;               /* every output likewise */
    bool
        recv_near; /* every output lies in such a window or in that rank's own memory of the kind */
    coll_symm_place_t place;
    symm_link_t link;                /* the worst that any rank knows of */
    coll_symm_algorithm_t algorithm; /* what all were told, otherwise auto */
} summary_t;

static bool is_window(uint8_t place)
{
    return COLL_SYMM_WINDOW_SYSTEM == place || COLL_SYMM_WINDOW_CUDA == place;
}

/* The kind of window to work on: what touches both host and GPU memory is the GPU's work. */
static coll_symm_place_t gpu_if_any(const coll_symm_descriptor_t *all, int size)
{
    for (int r = 0; r < size; ++r) {
        if (coll_symm_descriptor_on_gpu(&all[r])) {
            return COLL_SYMM_WINDOW_CUDA;
        }
    }
    return COLL_SYMM_WINDOW_SYSTEM;
}

static bool is_in(uint8_t place, coll_symm_place_t window)
{
    return place == window || COLL_SYMM_NOWHERE == place;
}

static void include(summary_t *s, const coll_symm_descriptor_t *d)
{
    coll_symm_place_t outside =
        COLL_SYMM_WINDOW_CUDA == s->place ? COLL_SYMM_DEVICE : COLL_SYMM_HOST;
    bool recv_in = is_in(d->recv_place, s->place);
    s->supported = s->supported && 0 == (d->flags & COLL_SYMM_UNSUPPORTED);
    s->payload = s->payload && 0 != (d->flags & COLL_SYMM_PAYLOAD);
    s->in_place = s->in_place || 0 != (d->flags & COLL_SYMM_IN_PLACE);
    s->device = s->device || coll_symm_descriptor_on_gpu(d);
    s->together = s->together && 0 == (d->flags & COLL_SYMM_APART);
    s->scratch = s->scratch && 0 == (d->flags & COLL_SYMM_NO_SCRATCH);
    s->makes_pending_scratch =
        s->makes_pending_scratch || 0 != (d->flags & COLL_SYMM_WANT_PENDING_SCRATCH);
    s->send_gaps = s->send_gaps || 0 != d->send_gaps;
    s->recv_gaps = s->recv_gaps || 0 != d->recv_gaps;
    s->send_in = s->send_in && is_in(d->send_place, s->place);
    s->recv_in = s->recv_in && recv_in;
    s->recv_near = s->recv_near && (recv_in || d->recv_place == outside);
    s->link = (symm_link_t) d->link > s->link ? (symm_link_t) d->link : s->link;
    if (d->algorithm != s->algorithm) {
        s->algorithm = COLL_SYMM_AUTO;
    }
}

/* The link that the plan works over. GPUs of which no window has told are taken for the worst. */
static symm_link_t link_of(const summary_t *s)
{
    if (COLL_SYMM_WINDOW_CUDA != s->place) {
        return SYMM_LINK_HOST;
    }
    return SYMM_LINK_HOST == s->link ? SYMM_LINK_PCIE : s->link;
}

static summary_t summarize(const coll_symm_descriptor_t *all, int size)
{
    summary_t s = {.supported = true,
                   .payload = true,
                   .together = true,
                   .scratch = true,
                   .send_in = true,
                   .recv_in = true,
                   .recv_near = true,
                   .place = gpu_if_any(all, size),
                   .algorithm = (coll_symm_algorithm_t) all[0].algorithm};
    for (int r = 0; r < size; ++r) {
        include(&s, &all[r]);
    }
    s.link = link_of(&s);
    return s;
}

/* MPI_SUCCESS when both ranks make the same call; otherwise the error class of the first
 * difference. Arguments that no plan knows are left to the next component to judge. */
static int compare(const coll_symm_descriptor_t *a, const coll_symm_descriptor_t *b, bool supported)
{
    const coll_symm_traits_t *t = coll_symm_traits(a->collective);
    if (a->collective != b->collective) {
        return MPI_ERR_OTHER;
    }
    if (a->root != b->root) {
        return MPI_ERR_ROOT;
    }
    if (supported && a->dtype != b->dtype) {
        return MPI_ERR_TYPE;
    }
    if (supported && a->op != b->op) {
        return MPI_ERR_OP;
    }
    if (supported && !t->rows && a->bytes != b->bytes) {
        return MPI_ERR_TRUNCATE;
    }
    return 0 == ((a->flags ^ b->flags) & COLL_SYMM_EAGER) ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static int compare_all(const coll_symm_descriptor_t *all, int size, bool supported)
{
    int code = MPI_SUCCESS;
    for (int r = 1; MPI_SUCCESS == code && r < size; ++r) {
        code = compare(&all[0], &all[r], supported);
    }
    return code;
}

/* The error class of the first difference between rank's call and those that it needs, of *other_p.
 */
static int compare_needed(const coll_symm_descriptor_t *all, int size, int rank, int *other_p)
{
    coll_symm_ranks_t needed = coll_symm_needed(&all[rank], rank, size);
    int code = MPI_SUCCESS;
    for (int r = needed.first; MPI_SUCCESS == code && r < needed.end; ++r) {
        code = compare(&all[rank], &all[r], true);
        *other_p = r;
    }
    return code;
}

int coll_symm_plan_mismatch(const coll_symm_descriptor_t *all, int size, int rank)
{
    int other = 0;
    (void) compare_needed(all, size, rank, &other);
    return other;
}

bool coll_symm_plan_is_eager(const coll_symm_descriptor_t *mine, int rank,
                             const coll_symm_policy_t *policy, bool known, bool gpu_windows)
{
    const coll_symm_traits_t *t = coll_symm_traits(mine->collective);
    if (t->rows ||
        (COLL_SYMM_AUTO != policy->algorithm && COLL_SYMM_LOW_LATENCY != policy->algorithm)) {
        return false;
    }
    if (COLL_SYMM_FROM_ROOT == t->rooted) {
        return rank == (int) mine->root && 0 != (mine->flags & COLL_SYMM_PAYLOAD);
    }
    return COLL_SYMM_TO_ROOT == t->rooted && !gpu_windows && (known || !t->reduces) &&
           mine->bytes <= SYMM_SLOT_PAYLOAD_BYTES;
}

void coll_symm_plan_choose_eager(const coll_symm_descriptor_t *all, int size, int rank,
                                 coll_symm_plan_t *plan_p)
{
    int other;
    *plan_p = (coll_symm_plan_t){.path = COLL_SYMM_EAGER_SLOT, .place = COLL_SYMM_WINDOW_SYSTEM};
    plan_p->code = compare_needed(all, size, rank, &other);
    if (MPI_SUCCESS != plan_p->code) {
        plan_p->path = COLL_SYMM_MISMATCH;
    }
}

size_t coll_symm_scratch_area(uint64_t len)
{
    return (size_t) (len / 3 / PIECE_ALIGN * PIECE_ALIGN);
}

size_t coll_symm_scratch_part(uint64_t len, int parts)
{
    return coll_symm_scratch_area(len) / (size_t) parts / PIECE_ALIGN * PIECE_ALIGN;
}

/* What serves a reduction on GPUs that no path without scratch does. */
static coll_symm_path_t choose_scratch(const summary_t *s, int size,
                                       const coll_symm_policy_t *policy)
{
    bool may = COLL_SYMM_WINDOW_CUDA == s->place && size <= policy->gpu_max_ranks &&
               0 < coll_symm_scratch_part(policy->scratch_bytes, size);
    return may ? COLL_SYMM_ONE_SHOT_SCRATCH_PATH : COLL_SYMM_PASS;
}

static coll_symm_path_t choose_reduction(const summary_t *s, const coll_symm_descriptor_t *first,
                                         int size, const coll_symm_policy_t *policy)
{
    const coll_symm_traits_t *t = coll_symm_traits(first->collective);
    bool gpu = COLL_SYMM_WINDOW_CUDA == s->place;
    bool fits = s->send_in && s->together && (!gpu || size <= policy->gpu_max_ranks);
    /* In place, one-shot would overwrite inputs that others still read. The root's nobody reads. */
    bool overwrites = s->in_place && COLL_SYMM_TO_ROOT != t->rooted;
    bool one_shot = fits && s->recv_near && !overwrites;
    /* A scattered result has no need of two-shot but in place. */
    bool two_shot = fits && s->recv_in && (COLL_SYMM_SAME == t->recv || overwrites);
    bool want_payload = COLL_SYMM_AUTO == s->algorithm || COLL_SYMM_LOW_LATENCY == s->algorithm;
    if (s->payload && (want_payload || !(one_shot || two_shot))) {
        return COLL_SYMM_PUSH_SLOT;
    }
    if (one_shot && two_shot) {
        bool small = first->bytes <= policy->one_shot_max[s->link];
        bool want_two =
            COLL_SYMM_TWO_SHOT == s->algorithm || (gpu && COLL_SYMM_COPY_ENGINE == s->algorithm);
        bool prefer_one = COLL_SYMM_ONE_SHOT == s->algorithm || (small && !want_two);
        return prefer_one ? COLL_SYMM_ONE_SHOT_PATH : COLL_SYMM_TWO_SHOT_PATH;
    }
    if (one_shot) {
        return COLL_SYMM_ONE_SHOT_PATH;
    }
    return two_shot ? COLL_SYMM_TWO_SHOT_PATH : choose_scratch(s, size, policy);
}

/* Whether the output is an input, too, that others may not have had when theirs arrives. */
static bool overwrites_input(const coll_symm_descriptor_t *d)
{
    return 0 != (d->flags & COLL_SYMM_IN_PLACE) && coll_symm_traits(d->collective)->swaps;
}

size_t coll_symm_scratch_piece(uint64_t scratch_bytes, int size)
{
    uint64_t parts = 2 * (uint64_t) (1 < size ? size - 1 : 1);
    return (size_t) (scratch_bytes / parts / PIECE_ALIGN * PIECE_ALIGN);
}

bool coll_symm_lands_in_scratch(const coll_symm_descriptor_t *d)
{
    return overwrites_input(d) || 0 != d->recv_gaps || !is_in(d->recv_place, COLL_SYMM_WINDOW_CUDA);
}

static uint64_t add_up(uint64_t sum, const uint64_t *parts, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        sum = (sum ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing */
        sum ^= sum >> 32;
    }
    return sum;
}

uint8_t coll_symm_policy_sum(const coll_symm_policy_t *policy)
{
    const uint64_t others[] = {policy->scratch_bytes, policy->spread_min,
                               (uint64_t) policy->algorithm};
    uint64_t sum = 0;
    sum = add_up(sum, policy->one_shot_max, SYMM_LINK_COUNT);
    sum = add_up(sum, others, sizeof(others) / sizeof(others[0]));
    return (uint8_t) (sum >> 24);
}

static coll_symm_path_t choose_move(const summary_t *s, const coll_symm_descriptor_t *first,
                                    int size, const coll_symm_policy_t *policy)
{
    bool gpu = COLL_SYMM_WINDOW_CUDA == s->place;
    bool direct = !overwrites_input(first);
    /* A rank knows the gaps of its own buffers alone. */
    bool push = direct && s->recv_in && !s->recv_gaps;
    bool pull = direct && s->send_in && !s->send_gaps;
    bool by_choice = COLL_SYMM_COPY_ENGINE == s->algorithm || COLL_SYMM_KERNEL == s->algorithm;
    if (s->payload && !(by_choice && s->together && (push || pull))) {
        return COLL_SYMM_PUSH_SLOT;
    }
    if (!s->together) {
        return COLL_SYMM_PASS;
    }
    /* Copy engines write to a peer faster than they read from it; a host core the other way round.
     */
    if (push && (gpu || !pull)) {
        /* Alone, the root would send each byte once to every rank. */
        bool spread = COLL_SYMM_BCAST == first->collective && gpu && 2 < size &&
                      policy->spread_min <= first->bytes && !s->send_gaps;
        return spread ? COLL_SYMM_COPY_SPREAD : COLL_SYMM_COPY_PUSH;
    }
    if (pull) {
        /* One core moves fewer bytes than memory does: the root works, too, and not alone. */
        bool shared = push && SHARED_MIN <= first->bytes &&
                      !coll_symm_traits(first->collective)->rows &&
                      COLL_SYMM_ALL_RANKS != coll_symm_traits(first->collective)->rooted;
        return shared ? COLL_SYMM_COPY_SHARED : COLL_SYMM_COPY_PULL;
    }
    bool scratch = gpu && 0 < coll_symm_scratch_piece(policy->scratch_bytes, size);
    return scratch ? COLL_SYMM_COPY_SCRATCH : COLL_SYMM_PASS;
}

/* Whether any buffer is in a window or on a GPU. */
static bool uses_windows(const coll_symm_descriptor_t *d)
{
    return coll_symm_descriptor_on_gpu(d) || is_window(d->send_place) || is_window(d->recv_place);
}

/* What serves a call that plans know. */
static coll_symm_path_t choose(const summary_t *s, const coll_symm_descriptor_t *first, int size,
                               const coll_symm_policy_t *policy)
{
    return coll_symm_traits(first->collective)->reduces ? choose_reduction(s, first, size, policy)
                                                        : choose_move(s, first, size, policy);
}

/* The same, without scratch where there is none. */
static void choose_path(const summary_t *s, const coll_symm_descriptor_t *first, int size,
                        const coll_symm_policy_t *policy, coll_symm_plan_t *plan)
{
    plan->path = choose(s, first, size, policy);
    if (coll_symm_path_uses_scratch(plan->path) && !s->scratch) {
        coll_symm_policy_t without = *policy;
        without.scratch_bytes = 0;
        plan->path = choose(s, first, size, &without);
        plan->misses_scratch = true;
    }
}

void coll_symm_plan_choose(const coll_symm_descriptor_t *all, int size,
                           const coll_symm_policy_t *policy, coll_symm_plan_t *plan_p)
{
    summary_t s = summarize(all, size);
    *plan_p = (coll_symm_plan_t){.path = COLL_SYMM_PASS,
                                 .place = s.place,
                                 .link = s.link,
                                 .stage = s.device,
                                 .gaps = s.send_gaps || s.recv_gaps,
                                 .makes_pending_scratch = s.makes_pending_scratch};
    plan_p->code = compare_all(all, size, s.supported);
    if (MPI_SUCCESS != plan_p->code) {
        plan_p->path = COLL_SYMM_MISMATCH;
    } else if (!s.supported || COLL_SYMM_NEXT == s.algorithm) {
        plan_p->path = COLL_SYMM_PASS;
    } else if (1 == size && uses_windows(&all[0])) {
        plan_p->path = COLL_SYMM_LOCAL;
    } else {
        choose_path(&s, &all[0], size, policy, plan_p);
    }
}

void coll_symm_slice(uint64_t count, size_t element_bytes, int size, int rank, uint64_t *first_p,
                     uint64_t *count_p)
{
    uint64_t unit = SLICE_ALIGN / element_bytes;
    uint64_t units = (count + unit - 1) / unit;
    uint64_t per_rank = (units + (uint64_t) size - 1) / (uint64_t) size * unit;
    uint64_t first = per_rank * (uint64_t) rank;
    if (first >= count) {
        *first_p = count;
        *count_p = 0;
        return;
    }
    *first_p = first;
    *count_p = count - first < per_rank ? count - first : per_rank;
}

const char *coll_symm_plan_name(const coll_symm_plan_t *plan)
{
    bool gpu = COLL_SYMM_WINDOW_CUDA == plan->place;
    switch (plan->path) {
    case COLL_SYMM_MISMATCH:
        return "mismatch";
    case COLL_SYMM_PASS:
        return plan->stage ? "next_staged" : "next";
    case COLL_SYMM_PUSH_SLOT:
        return "low_latency_push";
    case COLL_SYMM_EAGER_SLOT:
        return "eager_push";
    case COLL_SYMM_LOCAL:
        return "local_copy";
    case COLL_SYMM_ONE_SHOT_PATH:
        return plan->staged ? "one_shot_ce" : gpu ? "one_shot_sm" : "one_shot_host";
    case COLL_SYMM_TWO_SHOT_PATH:
        return plan->staged ? "two_shot_ce" : gpu ? "two_shot_sm" : "two_shot_host";
    case COLL_SYMM_ONE_SHOT_SCRATCH_PATH:
        return "one_shot_scratch_sm";
    case COLL_SYMM_COPY_PUSH:
        return plan->gaps     ? "copy_push_typed"
               : plan->kernel ? "copy_push_sm"
               : gpu          ? "copy_push_ce"
                              : "copy_push_host";
    case COLL_SYMM_COPY_SHARED:
        return "copy_shared_host";
    case COLL_SYMM_COPY_PULL:
        return plan->gaps     ? "copy_pull_typed"
               : plan->kernel ? "copy_pull_sm"
               : gpu          ? "copy_pull_ce"
                              : "copy_pull_host";
    case COLL_SYMM_COPY_SPREAD:
        return plan->kernel ? "copy_spread_sm" : "copy_spread_ce";
    case COLL_SYMM_COPY_SCRATCH:
        return plan->gaps     ? "copy_scratch_typed"
               : plan->kernel ? "copy_scratch_sm"
                              : "copy_scratch_ce";
    case COLL_SYMM_PATHS:
        break;
    }
    return "?";
}
