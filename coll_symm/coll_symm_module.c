/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The module of a communicator: made for every intra-communicator of two or more ranks or one, idle
 * until a symmetric window is created on it. */
#include "symm_config.h"

#include "coll_symm_functions.h"

#include "symm_log.h"
#include "symm_options.h"

#include <pthread.h>
#include <stdlib.h>

/* All enabled modules: info subscribers are told the communicator alone. */
static pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;
static mca_coll_symm_module_t *modules;

static void link_module(mca_coll_symm_module_t *module)
{
    (void) pthread_mutex_lock(&modules_lock); /* fails only on misuse */
    module->next_module = modules;
    modules = module;
    (void) pthread_mutex_unlock(&modules_lock);
}

static void unlink_module(mca_coll_symm_module_t *module)
{
    (void) pthread_mutex_lock(&modules_lock);
    mca_coll_symm_module_t **link = &modules;
    while (NULL != *link && *link != module) {
        link = &(*link)->next_module;
    }
    if (NULL != *link) {
        *link = module->next_module;
    }
    (void) pthread_mutex_unlock(&modules_lock);
}

mca_coll_symm_module_t *coll_symm_module_of(const ompi_communicator_t *comm)
{
    (void) pthread_mutex_lock(&modules_lock);
    mca_coll_symm_module_t *module = modules;
    while (NULL != module && comm != module->comm->handle) {
        module = module->next_module;
    }
    (void) pthread_mutex_unlock(&modules_lock);
    return module;
}

static void module_construct(mca_coll_symm_module_t *module)
{
    size_t from = offsetof(mca_coll_symm_module_t, next_module);
    memset((char *) module + from, 0, sizeof(*module) - from);
}

static void module_destruct(mca_coll_symm_module_t *module)
{
    unlink_module(module);
    coll_symm_persistent_detach(module);
    if (NULL != module->comm) {
        symm_comm_detach(module->comm); /* the communicator is going */
        symm_comm_release(module->comm);
    }
#define RELEASE_NEXT(enumerator, name)                                                             \
    if (NULL != module->next.name##_module) {                                                      \
        OBJ_RELEASE(module->next.name##_module);                                                   \
    }
    COLL_SYMM_LIST(RELEASE_NEXT)
    COLL_SYMM_NONBLOCKING_LIST(RELEASE_NEXT)
    COLL_SYMM_NEIGHBOR_LIST(RELEASE_NEXT)
    COLL_SYMM_PERSISTENT_LIST(RELEASE_NEXT)
#undef RELEASE_NEXT
    coll_symm_work_free(&module->work);
}

OBJ_CLASS_INSTANCE(mca_coll_symm_module_t, mca_coll_base_module_t, module_construct,
                   module_destruct);

int mca_coll_symm_init_query(bool enable_progress_threads, bool enable_mpi_threads)
{
    (void) enable_progress_threads;
    symm_options.share_windows = !enable_mpi_threads;
    if (mca_coll_symm_component.verbose > symm_log_level) {
        symm_log_level = mca_coll_symm_component.verbose;
    }
    coll_symm_policy_init();
    symm_ompi_configure_waiting();
    return OMPI_SUCCESS;
}

/* Whether there is somebody below for every collective. */
static bool is_complete(const mca_coll_base_comm_coll_t *below)
{
#define HAS_NEXT(enumerator, name) &&NULL != below->coll_##name##_module
    return true COLL_SYMM_LIST(HAS_NEXT) COLL_SYMM_NONBLOCKING_LIST(HAS_NEXT);
#undef HAS_NEXT
}

/* Puts the module in front of whoever serves the communicator without it. */
static int module_enable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    mca_coll_symm_module_t *module = (mca_coll_symm_module_t *) base;
    const mca_coll_base_comm_coll_t *below = comm->c_coll;
    if (!is_complete(below)) {
        symm_log(SYMM_LOG_WARN,
                 "coll/symm has no component below it to hand other calls to; it "
                 "stays off on this communicator. Do not give it alone to --mca coll");
        return OMPI_ERR_NOT_FOUND;
    }
#define TAKE_NEXT(enumerator, function)                                                            \
    module->next.function = below->coll_##function;                                                \
    module->next.function##_module = below->coll_##function##_module;                              \
    OBJ_RETAIN(module->next.function##_module);
    COLL_SYMM_LIST(TAKE_NEXT)
    COLL_SYMM_NONBLOCKING_LIST(TAKE_NEXT)
#define TAKE_IF_ANY(enumerator, function)                                                          \
    if (NULL != below->coll_##function##_module) {                                                 \
        TAKE_NEXT(enumerator, function)                                                            \
    } else {                                                                                       \
        module->super.coll_##function = NULL;                                                      \
    }
    COLL_SYMM_NEIGHBOR_LIST(TAKE_IF_ANY) /* only communicators with a topology need them */
    COLL_SYMM_PERSISTENT_LIST(TAKE_IF_ANY)
#undef TAKE_IF_ANY
#undef TAKE_NEXT
    link_module(module);
    coll_symm_policy_attach(module, comm);
    return OMPI_SUCCESS;
}

/* Numbers that tell the communicator's processes apart, NULL when memory is short. The caller frees
 * them. */
static uint64_t *list_members(ompi_communicator_t *comm, size_t size)
{
    uint64_t *members = malloc(size * sizeof(*members));
    for (size_t r = 0; NULL != members && r < size; ++r) {
        members[r] = symm_ompi_process_number(comm, (int) r);
    }
    return members;
}

static symm_comm_t *make_comm(ompi_communicator_t *comm, size_t size)
{
    uint64_t *members = list_members(comm, size);
    symm_comm_t *made =
        NULL == members ? NULL
                        : symm_comm_create_shared(comm, ompi_comm_rank(comm), (int) size, members);
    free(members);
    return made;
}

static int allocate(mca_coll_symm_module_t *module, ompi_communicator_t *comm)
{
    size_t size = (size_t) ompi_comm_size(comm);
    module->comm = make_comm(comm, size);
    int rc = coll_symm_work_create(&module->work, (int) size);
    bool whole = NULL != module->comm && MPI_SUCCESS == rc;
    return whole ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

/* Whether the program has ruled this component out for the communicator. Another rank may not know
 * of that: there has to be a module, which tells it once there is a window. */
static bool is_ruled_out(const ompi_communicator_t *comm)
{
    char value[8];
    return symm_ompi_info_get(comm->super.s_info, "coll_symm_enable", value, sizeof(value))
               ? 0 == strcmp(value, "false")
               : !mca_coll_symm_component.enable;
}

mca_coll_base_module_t *mca_coll_symm_comm_query(ompi_communicator_t *comm, int *priority)
{
    if (OMPI_COMM_IS_INTER(comm) || ompi_group_have_remote_peers(comm->c_local_group)) {
        return NULL; /* no symmetric window can be made on it */
    }
    mca_coll_symm_module_t *module = OBJ_NEW(mca_coll_symm_module_t);
    if (NULL == module) {
        return NULL;
    }
    if (OMPI_SUCCESS != allocate(module, comm)) {
        OBJ_RELEASE(module);
        return NULL;
    }
    module->ompi_comm = comm;
    module->comm->ruled_out = is_ruled_out(comm);
    module->super.coll_module_enable = module_enable;
#define SERVE(enumerator, name) module->super.coll_##name = mca_coll_symm_##name;
    COLL_SYMM_LIST(SERVE)
    COLL_SYMM_NONBLOCKING_LIST(SERVE)
    COLL_SYMM_NEIGHBOR_LIST(SERVE)
    COLL_SYMM_PERSISTENT_LIST(SERVE)
#undef SERVE
    *priority = mca_coll_symm_component.priority;
    return &module->super;
}
