/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The choice of plans: any descriptors that ranks could show each other. The input: the policy,
 * then a descriptor per rank. */
#include "symm_config.h"

#include "coll_symm_plan.h"
#include "fuzz.h"

#include <mpi.h>
#include <string.h>

#define RANKS_MAX 6

static void take_descriptor(fuzz_input_t *input, const coll_symm_descriptor_t *first,
                            coll_symm_descriptor_t *d)
{
    bool alike = 0 != fuzz_below(input, 4); /* most of the time the ranks make the same call */
    memset(d, 0, sizeof(*d));
    if (NULL != first && alike) {
        *d = *first;
    } else {
        d->bytes = fuzz_word(input) >> (8 + fuzz_below(input, 56));
        d->collective = (uint8_t) (1 + fuzz_below(input, COLL_SYMM_COLLECTIVES - 1));
        d->op = (uint8_t) fuzz_below(input, SYMM_OP_COUNT);
        d->dtype = (uint8_t) fuzz_below(input, SYMM_DTYPE_COUNT);
        d->algorithm = (uint8_t) fuzz_below(input, COLL_SYMM_TWO_SHOT + 1);
        d->root = (uint16_t) fuzz_below(input, RANKS_MAX);
        d->policy = fuzz_below(input, 2);
    }
    d->flags = (uint8_t) fuzz_below(input, 16);
    d->link = (uint8_t) (fuzz_below(input, SYMM_LINK_COUNT) & 15);
    d->send_place = (uint8_t) (fuzz_below(input, COLL_SYMM_NOWHERE + 1) & 15);
    d->recv_place = (uint8_t) (fuzz_below(input, COLL_SYMM_NOWHERE + 1) & 15);
    d->send_window = fuzz_below(input, 3);
    d->recv_window = fuzz_below(input, 3);
    d->send_offset = fuzz_below(input, 65536);
    d->recv_offset = fuzz_below(input, 65536);
}

static bool on_windows(const coll_symm_plan_t *plan)
{
    return COLL_SYMM_WINDOW_SYSTEM == plan->place || COLL_SYMM_WINDOW_CUDA == plan->place;
}

static void check_plan(const coll_symm_plan_t *plan, const coll_symm_descriptor_t *all, int size)
{
    FUZZ_CHECK(COLL_SYMM_PATHS > plan->path);
    FUZZ_CHECK((COLL_SYMM_MISMATCH == plan->path) == (MPI_SUCCESS != plan->code));
    FUZZ_CHECK(NULL != coll_symm_plan_name(plan));
    if (COLL_SYMM_MISMATCH == plan->path) {
        int other = coll_symm_plan_mismatch(all, size, 0);
        FUZZ_CHECK(0 < other && other < size);
    }
    if (COLL_SYMM_ONE_SHOT_PATH == plan->path || COLL_SYMM_TWO_SHOT_PATH == plan->path) {
        FUZZ_CHECK(on_windows(plan));
    }
}

/* The slices of all ranks are all elements, each once. */
static void check_slices(fuzz_input_t *input)
{
    uint64_t count = fuzz_word(input) >> (4 + fuzz_below(input, 60));
    size_t element = (size_t) 1 << fuzz_below(input, 5);
    int size = 1 + (int) fuzz_below(input, 64);
    uint64_t next = 0;
    for (int r = 0; r < size; ++r) {
        uint64_t first, mine;
        coll_symm_slice(count, element, size, r, &first, &mine);
        FUZZ_CHECK(first == next && mine <= count - first);
        next = first + mine;
    }
    FUZZ_CHECK(next == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input_t input = {data, len};
    coll_symm_descriptor_t all[RANKS_MAX];
    coll_symm_plan_t plan, again;
    int size = 1 + (int) fuzz_below(&input, RANKS_MAX);
    coll_symm_policy_t policy = {
        .gpu_max_ranks = 1 + (int) fuzz_below(&input, RANKS_MAX),
        .scratch_bytes = fuzz_below(&input, 65536),
        .algorithm = (coll_symm_algorithm_t) fuzz_below(&input, COLL_SYMM_TWO_SHOT + 1),
        .max_multiprocessors = 1 + fuzz_below(&input, 200),
    };
    for (int link = 0; link < SYMM_LINK_COUNT; ++link) {
        policy.one_shot_max[link] = fuzz_below(&input, 65536);
        policy.copy_engine_min[link] = fuzz_below(&input, 65536);
        policy.kernel_max[link] = fuzz_below(&input, 65536);
    }
    for (int r = 0; r < size; ++r) {
        take_descriptor(&input, 0 == r ? NULL : &all[0], &all[r]);
    }
    memset(&plan, 0, sizeof(plan));
    memset(&again, 0, sizeof(again));
    coll_symm_plan_choose(all, size, &policy, &plan);
    coll_symm_plan_choose(all, size, &policy, &again);
    FUZZ_CHECK(plan.path == again.path && plan.place == again.place && plan.code == again.code &&
               plan.stage == again.stage && plan.link == again.link);
    FUZZ_CHECK((SYMM_LINK_HOST == plan.link) == (COLL_SYMM_WINDOW_CUDA != plan.place));
    check_plan(&plan, all, size);
    check_slices(&input);
    return 0;
}
