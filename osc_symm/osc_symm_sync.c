/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Active target synchronisation: fence, and post/start/complete/wait (MPI-4.0, 12.5.1 and 12.5.2),
 * on counters in the window's control block. */
#include "symm_config.h"

#include "osc_symm.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Whether an access epoch of another kind than fence is open. */
static bool other_access_open(const ompi_osc_symm_module_t *module)
{
    return module->lock_all || 0 < module->held_count || module->started;
}

int ompi_osc_symm_fence(int assertion, ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    symm_window_t *window = module->window;
    symm_mapping_t *mapping = window->mapping;
    if (other_access_open(module) || module->posted) {
        return MPI_ERR_RMA_SYNC;
    }
    int rc = ompi_osc_symm_complete_operations(module);
    symm_window_control_barrier(mapping->control, window->rank, window->size,
                                &mapping->barrier_round);
    module->fence_open = 0 == (assertion & MPI_MODE_NOSUCCEED);
    return rc;
}

/* Writes the ranks, in the window's group, of the members of group into ranks [size of window]. */
static int group_to_ranks(ompi_group_t *group, ompi_win_t *win, int *ranks, int *count_p)
{
    int count = ompi_group_size(group);
    int *members = calloc((size_t) count + 1, sizeof(*members));
    if (NULL == members) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < count; ++i) {
        members[i] = i;
    }
    int rc = PMPI_Group_translate_ranks(group, count, members, win->w_group, ranks);
    free(members);
    for (int i = 0; MPI_SUCCESS == rc && i < count; ++i) {
        rc = MPI_UNDEFINED == ranks[i] ? MPI_ERR_GROUP : MPI_SUCCESS;
    }
    *count_p = count;
    return rc;
}

/* Waits until target has posted one more exposure epoch to us than we have started. */
static void await_post(const symm_window_t *window, int target)
{
    symm_mapping_t *mapping = window->mapping;
    const _Atomic uint32_t *posts =
        symm_window_control_post(mapping->control, window->size, window->rank, target);
    uint32_t next = ++mapping->posts_taken[target];
    symm_spin_t spin = SYMM_SPIN_INIT;
    /* Acquire pairs with the release in post: the target's stores before it are visible. */
    while (0 > (int32_t) (atomic_load_explicit(posts, memory_order_acquire) - next)) {
        symm_spin_once(&spin);
    }
}

int ompi_osc_symm_start(ompi_group_t *group, int assertion, ompi_win_t *win)
{
    (void) assertion; /* with MPI_MODE_NOCHECK the posts are there, and the wait is over at once */
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (other_access_open(module)) {
        return MPI_ERR_RMA_SYNC;
    }
    if (ompi_group_size(group) > module->window->size) {
        return MPI_ERR_GROUP;
    }
    int rc = group_to_ranks(group, win, module->start_ranks, &module->start_count);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    for (int i = 0; i < module->start_count; ++i) {
        await_post(module->window, module->start_ranks[i]);
    }
    module->fence_open = false;
    module->started = true;
    return OMPI_SUCCESS;
}

int ompi_osc_symm_complete(ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (!module->started) {
        return MPI_ERR_RMA_SYNC;
    }
    int rc = ompi_osc_symm_complete_operations(module);
    symm_window_control_t *control = module->window->mapping->control;
    for (int i = 0; i < module->start_count; ++i) {
        /* Release: whoever counts us sees what we wrote into its memory. */
        atomic_fetch_add_explicit(&control->peers[module->start_ranks[i]].completions, 1,
                                  memory_order_release);
    }
    module->started = false;
    module->start_count = 0;
    return rc;
}

int ompi_osc_symm_post(ompi_group_t *group, int assertion, ompi_win_t *win)
{
    (void) assertion; /* nothing to leave out: a post is one store per origin */
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    const symm_window_t *window = module->window;
    if (module->posted) {
        return MPI_ERR_RMA_SYNC;
    }
    int count = ompi_group_size(group);
    int *ranks = calloc((size_t) count + 1, sizeof(*ranks));
    if (NULL == ranks) {
        return MPI_ERR_NO_MEM;
    }
    int rc = group_to_ranks(group, win, ranks, &count);
    for (int i = 0; MPI_SUCCESS == rc && i < count; ++i) {
        _Atomic uint32_t *posts = symm_window_control_post(window->mapping->control, window->size,
                                                           ranks[i], window->rank);
        /* Release: an origin that sees the post sees our stores to the window before it. */
        atomic_fetch_add_explicit(posts, 1, memory_order_release);
    }
    free(ranks);
    if (MPI_SUCCESS == rc) {
        module->posted = true;
        module->post_count = count;
        module->fence_open = false;
    }
    return rc;
}

/* Whether all origins of the exposure epoch have completed; if so, ends it. */
static bool try_end_exposure(ompi_osc_symm_module_t *module)
{
    const symm_window_t *window = module->window;
    symm_mapping_t *mapping = window->mapping;
    const _Atomic uint32_t *completions = &mapping->control->peers[window->rank].completions;
    uint32_t wanted = mapping->completions_taken + (uint32_t) module->post_count;
    /* Acquire pairs with the release in complete: the origins' writes are visible. */
    if (0 > (int32_t) (atomic_load_explicit(completions, memory_order_acquire) - wanted)) {
        return false;
    }
    mapping->completions_taken = wanted;
    module->posted = false;
    return true;
}

int ompi_osc_symm_wait(ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (!module->posted) {
        return MPI_ERR_RMA_SYNC;
    }
    symm_spin_t spin = SYMM_SPIN_INIT;
    while (!try_end_exposure(module)) {
        symm_spin_once(&spin);
    }
    return OMPI_SUCCESS;
}

int ompi_osc_symm_test(ompi_win_t *win, int *flag)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (!module->posted) {
        return MPI_ERR_RMA_SYNC;
    }
    opal_progress();
    *flag = try_end_exposure(module) ? 1 : 0;
    return OMPI_SUCCESS;
}
