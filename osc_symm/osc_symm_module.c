/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The module of a window: its making and end, and what MPI asks about its memory. */
#include "symm_config.h"

#include "osc_symm.h"
#include "osc_symm_request.h"

#include <stdatomic.h>
#include <stdlib.h>

static const ompi_osc_base_module_t module_table = {
    .osc_win_shared_query = ompi_osc_symm_shared_query,
    .osc_win_attach = ompi_osc_symm_attach,
    .osc_win_detach = ompi_osc_symm_detach,
    .osc_free = ompi_osc_symm_free,
    .osc_put = ompi_osc_symm_put,
    .osc_get = ompi_osc_symm_get,
    .osc_accumulate = ompi_osc_symm_accumulate,
    .osc_get_accumulate = ompi_osc_symm_get_accumulate,
    .osc_fetch_and_op = ompi_osc_symm_fetch_and_op,
    .osc_compare_and_swap = ompi_osc_symm_compare_and_swap,
    .osc_raccumulate = ompi_osc_symm_raccumulate,
    .osc_rget_accumulate = ompi_osc_symm_rget_accumulate,
    .osc_rput = ompi_osc_symm_rput,
    .osc_rget = ompi_osc_symm_rget,
    .osc_fence = ompi_osc_symm_fence,
    .osc_start = ompi_osc_symm_start,
    .osc_complete = ompi_osc_symm_complete,
    .osc_post = ompi_osc_symm_post,
    .osc_wait = ompi_osc_symm_wait,
    .osc_test = ompi_osc_symm_test,
    .osc_lock = ompi_osc_symm_lock,
    .osc_unlock = ompi_osc_symm_unlock,
    .osc_lock_all = ompi_osc_symm_lock_all,
    .osc_unlock_all = ompi_osc_symm_unlock_all,
    .osc_sync = ompi_osc_symm_sync,
    .osc_flush = ompi_osc_symm_flush,
    .osc_flush_all = ompi_osc_symm_flush_all,
    /* Completion at the target comes at no extra cost, so local completion is the same thing. */
    .osc_flush_local = ompi_osc_symm_flush,
    .osc_flush_local_all = ompi_osc_symm_flush_all,
};

/* Puts what operations need of each rank into one place; ompi_osc_symm_own_connect() says what is
 * different with memory of the program's own. NULL when memory is short. */
static osc_symm_target_t *describe_targets(const symm_window_t *window)
{
    bool locked = !symm_link_has_atomics(symm_mapping_link(window->mapping));
    osc_symm_target_t *targets = calloc((size_t) window->size, sizeof(*targets));
    for (int r = 0; NULL != targets && r < window->size; ++r) {
        targets[r] = (osc_symm_target_t){.base = symm_window_base(window, r),
                                         .size = window->parts[r].size,
                                         .disp_unit = window->parts[r].disp_unit,
                                         .reach = OSC_SYMM_REACH_MAPPED,
                                         .kind = window->kind,
                                         .locked = locked};
    }
    return targets;
}

int ompi_osc_symm_module_create(ompi_win_t *win, symm_window_t *window,
                                const osc_symm_decision_t *decision)
{
    ompi_osc_symm_module_t *module = calloc(1, sizeof(*module));
    if (NULL == module) {
        return MPI_ERR_NO_MEM;
    }
    module->super = module_table;
    (void) symm_pointer_kind_ask(module); /* learns whether there is a driver, before it counts */
    module->win = win;
    module->window = window;
    module->noncontig = decision->noncontig;
    module->dynamic = MPI_WIN_FLAVOR_DYNAMIC == win->w_flavor;
    OBJ_CONSTRUCT(&module->lock, opal_mutex_t);
    module->ops = window->mapping->ops;
    module->on_host = !window->own_memory && SYMM_KIND_SYSTEM == module->ops->kind;
    module->queue = window->mapping->queue;
    module->device = window->mapping->device;
    module->targets = describe_targets(window);
    module->held = calloc((size_t) window->size, sizeof(*module->held));
    module->start_ranks = calloc((size_t) window->size, sizeof(*module->start_ranks));
    win->w_osc_module = &module->super;
    if (NULL == module->targets || NULL == module->held || NULL == module->start_ranks ||
        OMPI_SUCCESS != ompi_osc_symm_info_publish(win, decision)) {
        ompi_osc_symm_module_destroy(win);
        return MPI_ERR_NO_MEM;
    }
    return MPI_SUCCESS;
}

void ompi_osc_symm_module_destroy(ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    if (NULL == module) {
        return;
    }
    ompi_osc_symm_drive_end(module);
    ompi_osc_symm_own_disconnect(module);
    OBJ_DESTRUCT(&module->lock);
    free(module->targets);
    free(module->held);
    free(module->start_ranks);
    free(module);
    win->w_osc_module = NULL;
}

int ompi_osc_symm_free(ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    symm_window_t *window = module->window;
    (void) ompi_osc_symm_complete_operations(module); /* has logged a failure; teardown goes on */
    ompi_osc_symm_drive_end(module);
    /* An epoch that is open is the program's fault, and shall be nobody else's. */
    ompi_osc_symm_release_locks(module);
    window->mapping->spoiled = module->started || module->posted;
    if (NULL != module->own) {
        /* Others may need us until they come here, and nobody needs us afterwards. */
        symm_window_control_barrier(window->mapping->control, window->rank, window->size,
                                    &window->mapping->barrier_round);
        ompi_osc_symm_own_disconnect(module);
    }
    symm_window_free(window); /* waits for all ranks, as MPI-4.0, 12.2.5 demands */
    ompi_osc_symm_module_destroy(win);
    return OMPI_SUCCESS;
}

int ompi_osc_symm_shared_query(ompi_win_t *win, int rank, size_t *size, int *disp_unit,
                               void *baseptr)
{
    const symm_window_t *window = ompi_osc_symm_module_of(win)->window;
    int asked = rank;
    if (window->own_memory) {
        return MPI_ERR_RMA_FLAVOR; /* MPI-4.0, 12.2.3: of memory that MPI allocated */
    }
    if (MPI_PROC_NULL == rank) { /* MPI-4.0, 12.2.3: the lowest rank with memory */
        asked = 0;
        while (asked < window->size && 0 == window->parts[asked].size) {
            ++asked;
        }
    }
    bool found = asked < window->size;
    *size = found ? window->parts[asked].size : 0;
    *disp_unit = found ? window->parts[asked].disp_unit : 0;
    *(void **) baseptr = found ? symm_window_address(window, asked) : NULL;
    return OMPI_SUCCESS;
}
