/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The component and its parameters. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_library.h"

/* The module stands in front of all others; Open MPI takes at most 100. */
#define DEFAULT_PRIORITY 95

static int component_register(void)
{
    mca_coll_symm_component_t *component = &mca_coll_symm_component;
    const mca_base_component_t *version = &component->super.collm_version;
    component->priority = DEFAULT_PRIORITY;
    (void) mca_base_component_var_register(
        version, "priority",
        "Priority of this component (integer, at most 100; default: 95). It must be the highest, "
        "since it hands what it does not serve to the component below it",
        MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, OPAL_INFO_LVL_9, MCA_BASE_VAR_SCOPE_READONLY,
        &component->priority);
    component->verbose = 0;
    (void) mca_base_component_var_register(version, "verbose",
                                           "Verbosity on stderr: 0 errors, 10 a line for each new "
                                           "plan (integer; per process; default: "
                                           "0)",
                                           MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, OPAL_INFO_LVL_1,
                                           MCA_BASE_VAR_SCOPE_READONLY, &component->verbose);
    coll_symm_policy_register();
    return OMPI_SUCCESS;
}

static int component_open(void)
{
    symm_library_open();
    return OMPI_SUCCESS;
}

static int component_close(void)
{
    coll_symm_progress_finalize();
    symm_library_close();
    return OMPI_SUCCESS;
}

mca_coll_symm_component_t mca_coll_symm_component = {
    .super =
        {
            .collm_version =
                {
                    SYMM_OMPI_COLL_VERSION,
                    .mca_component_name = "symm",
                    MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                                          OMPI_RELEASE_VERSION),
                    .mca_open_component = component_open,
                    .mca_close_component = component_close,
                    .mca_register_component_params = component_register,
                },
            .collm_data = {MCA_BASE_METADATA_PARAM_NONE},
            .collm_init_query = mca_coll_symm_init_query,
            .collm_comm_query = mca_coll_symm_comm_query,
        },
};
