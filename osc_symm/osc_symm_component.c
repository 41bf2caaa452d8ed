/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The component: its parameters, and choosing who serves a window. The rules are in
 * osc_symm_decide.c; here they are asked and carried out. */
#include "symm_config.h"

#include "osc_symm.h"
#include "osc_symm_request.h"

#include "osc_symm_decide.h"
#include "symm_device.h"
#include "symm_library.h"
#include "symm_log.h"
#include "symm_options.h"
#include "symm_stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Above every other component, since a rank cannot know what the others were asked: ranks that do
 * not all want symmetric memory are sent on to the next component together. */
#define DEFAULT_PRIORITY 200

#define DEFAULT_MAX_ATTACHED 32768

static uint64_t host_number; /* see find_host_number() */

static void register_int(const char *name, const char *help, int *value, int level)
{
    (void) mca_base_component_var_register(&mca_osc_symm_component.super.osc_version, name, help,
                                           MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, level,
                                           MCA_BASE_VAR_SCOPE_READONLY, value);
}

static void register_window_params(void)
{
    ompi_osc_symm_component_t *component = &mca_osc_symm_component;
    const mca_base_component_t *version = &component->super.osc_version;
    component->kind = "";
    (void) mca_base_component_var_register(
        version, "kind",
        "Kind of memory for windows without the info key symm_memory_kind: cuda:device, system, or "
        "empty for none (text; per process, the same on all ranks; default: empty). Programs that "
        "load from and store to their windows cannot run with cuda:device",
        MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0, OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_READONLY,
        &component->kind);
    component->cache_bytes = symm_options.cache_bytes;
    (void) mca_base_component_var_register(version, "cache_bytes",
                                           "Most bytes of freed segments that each rank keeps per "
                                           "communicator, so that a window of the "
                                           "same shape is created in microseconds; of a window its "
                                           "largest rank counts (bytes; the same "
                                           "on all ranks; default: 268435456; 0 keeps none)",
                                           MCA_BASE_VAR_TYPE_SIZE_T, NULL, 0, 0, OPAL_INFO_LVL_5,
                                           MCA_BASE_VAR_SCOPE_READONLY, &component->cache_bytes);
    component->fabric_handles = symm_options.fabric_handles;
    (void) mca_base_component_var_register(version, "fabric_handles",
                                           "Ask the CUDA driver for memory with FABRIC handles "
                                           "first, and fall back to file descriptors "
                                           "(boolean; per process; default: true)",
                                           MCA_BASE_VAR_TYPE_BOOL, NULL, 0, 0, OPAL_INFO_LVL_7,
                                           MCA_BASE_VAR_SCOPE_READONLY, &component->fabric_handles);
}

static void register_own_memory_params(void)
{
    ompi_osc_symm_component_t *component = &mca_osc_symm_component;
    component->cma = true;
    (void) mca_base_component_var_register(
        &component->super.osc_version, "cma",
        "Use cross-memory attach for windows on ordinary host memory (MPI_Win_create and dynamic "
        "windows) where it works between all ranks; otherwise the target copies when it makes "
        "progress (boolean; per process; default: true)",
        MCA_BASE_VAR_TYPE_BOOL, NULL, 0, 0, OPAL_INFO_LVL_5, MCA_BASE_VAR_SCOPE_READONLY,
        &component->cma);
    component->max_attached = DEFAULT_MAX_ATTACHED;
    register_int("max_attached",
                 "Most regions of memory that a rank can have attached to one dynamic window, at "
                 "24 bytes of shared memory each (integer; the same on all ranks; default: 32768)",
                 &component->max_attached, OPAL_INFO_LVL_5);
}

static int component_register(void)
{
    ompi_osc_symm_component_t *component = &mca_osc_symm_component;
    component->priority = DEFAULT_PRIORITY;
    register_int(
        "priority",
        "Priority of this component for allocated windows (integer; the same on all ranks; "
        "default: 200). It must be the highest: windows that do not ask for symmetric memory "
        "are handed on to the next component",
        &component->priority, OPAL_INFO_LVL_9);
    component->verbose = 0;
    register_int("verbose",
                 "Verbosity on stderr: 0 errors and requests that were not honoured, 10 a line per "
                 "window, 30 its steps (integer; per process; default: 0)",
                 &component->verbose, OPAL_INFO_LVL_1);
    component->rendezvous_timeout_ms = (int) symm_options.rendezvous_timeout_ms;
    register_int("rendezvous_timeout",
                 "Longest wait for another rank's memory handle when a window is created "
                 "(milliseconds; per process; default: 60000)",
                 &component->rendezvous_timeout_ms, OPAL_INFO_LVL_5);
    register_window_params();
    register_own_memory_params();
    return OMPI_SUCCESS;
}

/* A number that ranks share only if they can pass each other descriptors by abstract socket names:
 * the same boot of the same kernel, and the same network namespace. */
static uint64_t find_host_number(void)
{
    char text[128] = "";
    FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (NULL != boot) {
        if (NULL == fgets(text, (int) sizeof(text) / 2, boot)) {
            text[0] = '\0';
        }
        (void) fclose(boot); /* opened for reading */
    }
    struct stat space = {0};
    (void) stat("/proc/self/ns/net", &space); /* zero on all ranks where there is none */
    size_t used = strlen(text);
    (void) snprintf(text + used, sizeof(text) - used, "%llu", (unsigned long long) space.st_ino);
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *c = text; '\0' != *c; ++c) {
        hash = (hash ^ (unsigned char) *c) * 1099511628211u;
    }
    return hash;
}

static int component_init(bool enable_progress_threads, bool enable_mpi_threads)
{
    (void) enable_progress_threads;
    const ompi_osc_symm_component_t *component = &mca_osc_symm_component;
    if (component->verbose > symm_log_level) {
        symm_log_level = component->verbose;
    }
    symm_options.cache_bytes = component->cache_bytes;
    symm_options.fabric_handles = component->fabric_handles;
    symm_options.threads = enable_mpi_threads;
    symm_options.local_rank = (int) opal_process_info.my_local_rank;
    symm_options.rendezvous_timeout_ms =
        0 < component->rendezvous_timeout_ms ? (unsigned) component->rendezvous_timeout_ms : 1;
    symm_ompi_configure_waiting();
    host_number = find_host_number(); /* now, as descriptors may be short later */
    symm_library_open();
    return OMPI_SUCCESS;
}

/* The only end that Open MPI tells an initialised OSC component of: close is for those declined. */
static int component_finalize(void)
{
    symm_library_close();
    return OMPI_SUCCESS;
}

/* Whether the program brings the memory. */
static bool own_memory(int flavor)
{
    return MPI_WIN_FLAVOR_CREATE == flavor || MPI_WIN_FLAVOR_DYNAMIC == flavor;
}

static int component_query(ompi_win_t *win, void **base, size_t size, int disp_unit,
                           ompi_communicator_t *comm, opal_info_t *info, int flavor)
{
    (void) win;
    (void) base;
    (void) size;
    (void) disp_unit;
    (void) info;
    if (MPI_WIN_FLAVOR_SHARED == flavor && ompi_group_have_remote_peers(comm->c_local_group)) {
        return OMPI_ERR_RMA_SHARED; /* as every component answers */
    }
    return mca_osc_symm_component.priority;
}

/* What MPI passes to a component about a window, in one piece. */
typedef struct request_context {
    ompi_win_t *win;
    void **base;
    size_t size;
    int disp_unit;
    ompi_communicator_t *comm;
    opal_info_t *info;
    int flavor;
    int *model;
    const char *what; /* the user's call, for messages */
} request_context_t;

/* The kind of the memory that the program brings. */
static osc_symm_memory_t memory_of(const request_context_t *context)
{
    if (MPI_WIN_FLAVOR_CREATE != context->flavor || 0 == context->size) {
        return OSC_SYMM_MEMORY_NONE;
    }
    return SYMM_POINTER_DEVICE == symm_pointer_kind(*context->base) ? OSC_SYMM_MEMORY_CUDA
                                                                    : OSC_SYMM_MEMORY_SYSTEM;
}

static const char *call_name(int flavor)
{
    switch (flavor) {
    case MPI_WIN_FLAVOR_ALLOCATE:
        return "MPI_Win_allocate";
    case MPI_WIN_FLAVOR_SHARED:
        return "MPI_Win_allocate_shared";
    case MPI_WIN_FLAVOR_CREATE:
        return "MPI_Win_create";
    default:
        return "MPI_Win_create_dynamic";
    }
}

/* The component that would serve the window without us, NULL when there is none. */
static ompi_osc_base_component_t *next_component(const request_context_t *context)
{
    ompi_osc_base_component_t *best = NULL;
    int best_priority = -1;
    mca_base_component_list_item_t *item;
    OPAL_LIST_FOREACH(item, &ompi_osc_base_framework.framework_components,
                      mca_base_component_list_item_t)
    {
        ompi_osc_base_component_t *component = (ompi_osc_base_component_t *) item->cli_component;
        /* The monitoring component picks the best of the others itself: us, without end. */
        if (component == &mca_osc_symm_component.super ||
            0 == strcmp(component->osc_version.mca_component_name, "monitoring")) {
            continue;
        }
        int priority =
            component->osc_query(context->win, context->base, context->size, context->disp_unit,
                                 context->comm, context->info, context->flavor);
        if (priority > best_priority) {
            best = component;
            best_priority = priority;
        }
    }
    return best;
}

static int delegate(const request_context_t *context, const ompi_osc_base_component_t *next)
{
    ompi_osc_symm_info_clear(context->win);
    SYMM_COUNT(windows_delegated, 1);
    symm_log(SYMM_LOG_INFO, "window handed to osc/%s", next->osc_version.mca_component_name);
    return next->osc_select(context->win, context->base, context->size, context->disp_unit,
                            context->comm, context->info, context->flavor, context->model);
}

_Static_assert(sizeof(osc_symm_request_t) <= SYMM_EXCHANGE_RECORD_MAX, "does not fit the scratch");

/* Learns what all ranks ask for and decides; parts [size] gets their sizes, unless it is NULL for
 * want of memory. Collective. */
static int decide_agreed(const request_context_t *context, const symm_exchange_t *exchange,
                         bool has_next, symm_window_part_t *parts, osc_symm_decision_t *decision_p)
{
    symm_error_t error = {0};
    osc_symm_request_t mine = {
        .size = context->size,
        .disp_unit = context->disp_unit,
        .has_next = has_next,
        .memory = (uint8_t) memory_of(context),
        .uid = (uint32_t) geteuid(),
        .host = host_number,
    };
    if (NULL == parts) {
        (void) symm_error_set(&error, MPI_ERR_NO_MEM, "no memory for %d sizes", exchange->size);
    }
    /* The parameter names the memory to allocate; of memory that is there it says who serves it. */
    const char *kind = mca_osc_symm_component.kind;
    bool own = own_memory(context->flavor);
    mine.served = own && NULL != kind && '\0' != kind[0];
    ompi_osc_symm_info_read(context->info, own ? NULL : kind, &mine, &error);
    osc_symm_request_t *requests = exchange->scratch;
    int rc = symm_gather(exchange, &mine, requests, sizeof(mine), context->what);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    osc_symm_decide(requests, exchange->size, decision_p);
    for (int r = 0; r < exchange->size; ++r) {
        exchange->codes[r] = requests[r].code;
        if (NULL != parts) {
            parts[r] = (symm_window_part_t){(size_t) requests[r].size, requests[r].disp_unit};
        }
    }
    return symm_agree_gathered(exchange, &error, context->what);
}

/* Gives a window that all ranks have made its module, and reaches what memory the program has. */
static int equip(const request_context_t *context, const symm_exchange_t *exchange,
                 symm_window_t *window, const osc_symm_decision_t *decision)
{
    symm_error_t error = {0};
    int rc = ompi_osc_symm_module_create(context->win, window, decision);
    if (MPI_SUCCESS != rc) {
        (void) symm_error_set(&error, rc, "no memory for the window's epochs");
    }
    rc = symm_agree(exchange, &error, context->what);
    if (MPI_SUCCESS == rc && own_memory(context->flavor)) {
        rc = ompi_osc_symm_own_connect(ompi_osc_symm_module_of(context->win), exchange,
                                       context->what);
    }
    return rc;
}

static int create_window(const request_context_t *context, symm_comm_t *comm,
                         const symm_window_part_t *parts, const osc_symm_decision_t *decision)
{
    symm_window_t *window;
    bool own = own_memory(context->flavor);
    symm_window_request_t request = {
        .handle = context->win,
        .kind = decision->kind,
        .contiguous = MPI_WIN_FLAVOR_SHARED == context->flavor && !decision->noncontig,
        .parts = parts,
        .service_bytes = own ? ompi_osc_symm_own_service_bytes(context->flavor) : 0,
        .base = own && NULL != context->base ? *context->base : NULL,
        .what = context->what,
    };
    int rc = symm_window_create(comm, &request, &window);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = equip(context, &comm->exchange, window, decision);
    if (MPI_SUCCESS != rc) {
        ompi_osc_symm_module_destroy(context->win);
        symm_window_free(window);
        return rc;
    }
    ompi_osc_symm_drive_begin(ompi_osc_symm_module_of(context->win));
    if (!own) {
        *context->base = window->base;
    }
    *context->model = MPI_WIN_UNIFIED;
    return MPI_SUCCESS;
}

/* Says on one rank that the window is not what was asked for. */
static void report(const request_context_t *context, const osc_symm_decision_t *decision, int rank)
{
    if (0 != rank || '\0' == decision->reason[0]) {
        return;
    }
    if (OSC_SYMM_FAIL == decision->action) {
        symm_log(SYMM_LOG_ERROR, "%s: %s", context->what, decision->reason);
    } else {
        symm_log(SYMM_LOG_WARN, "%s: %s; the window is an ordinary one", context->what,
                 decision->reason);
    }
}

/* Carries out the decision, falling back where the rules allow it. Collective. */
static int carry_out(const request_context_t *context, symm_comm_t *comm,
                     const ompi_osc_base_component_t *next, const symm_window_part_t *parts,
                     osc_symm_decision_t *decision)
{
    report(context, decision, comm->exchange.rank);
    while (OSC_SYMM_USE == decision->action) {
        int rc = create_window(context, comm, parts, decision);
        if (MPI_SUCCESS == rc) {
            return MPI_SUCCESS;
        }
        osc_symm_decide_after_failure(decision, rc);
        if (OSC_SYMM_FAIL != decision->action) { /* the cause of a failure has been told */
            report(context, decision, comm->exchange.rank);
        }
    }
    return OSC_SYMM_DELEGATE == decision->action ? delegate(context, next) : decision->code;
}

/* Decides with all ranks of comm and acts. Collective. */
static int select_agreed(const request_context_t *context, symm_comm_t *comm)
{
    ompi_osc_base_component_t *next = next_component(context);
    symm_window_part_t *parts = calloc((size_t) comm->exchange.size, sizeof(*parts));
    osc_symm_decision_t decision;
    int rc = decide_agreed(context, &comm->exchange, NULL != next, parts, &decision);
    if (MPI_SUCCESS == rc) {
        rc = carry_out(context, comm, next, parts, &decision);
    }
    free(parts);
    return rc;
}

static int component_select(ompi_win_t *win, void **base, size_t size, int disp_unit,
                            ompi_communicator_t *comm, opal_info_t *info, int flavor, int *model)
{
    symm_comm_t *state = symm_comm_acquire(comm, ompi_comm_rank(comm), ompi_comm_size(comm));
    if (NULL == state) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    request_context_t context = {.win = win,
                                 .base = base,
                                 .size = size,
                                 .disp_unit = disp_unit,
                                 .comm = comm,
                                 .info = info,
                                 .flavor = flavor,
                                 .model = model,
                                 .what = call_name(flavor)};
    int rc = select_agreed(&context, state);
    SYMM_COUNT(windows_failed, OMPI_SUCCESS == rc ? 0 : 1);
    symm_comm_release(state);
    return rc;
}

ompi_osc_symm_component_t mca_osc_symm_component = {
    .super =
        {
            .osc_version =
                {
                    OMPI_OSC_BASE_VERSION_3_0_0,
                    .mca_component_name = "symm",
                    MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                                          OMPI_RELEASE_VERSION),
                    .mca_register_component_params = component_register,
                },
            .osc_data = {MCA_BASE_METADATA_PARAM_NONE},
            .osc_init = component_init,
            .osc_query = component_query,
            .osc_select = component_select,
            .osc_finalize = component_finalize,
        },
};
