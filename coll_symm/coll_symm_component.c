/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The component and its parameters. */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_library.h"

/* The module stands in front of all others; Open MPI takes at most 100. */
#define DEFAULT_PRIORITY 95

/* Measured with symm_perf, see docs/measurements.md. */
#define DEFAULT_ONE_SHOT_MAX_SYSTEM ((size_t) 16 << 10)
#define DEFAULT_ONE_SHOT_MAX_CUDA   ((size_t) 512 << 10)
#define DEFAULT_SCRATCH_BYTES       ((size_t) 64 << 20)

static const mca_base_var_enum_value_t algorithms[] = {
    {COLL_SYMM_AUTO, "auto"},
    {COLL_SYMM_LOW_LATENCY, "low_latency"},
    {COLL_SYMM_ONE_SHOT, "one_shot"},
    {COLL_SYMM_TWO_SHOT, "two_shot"},
    {0, NULL},
};

static void register_size(const char *name, const char *help, size_t *value)
{
    (void) mca_base_component_var_register(&mca_coll_symm_component.super.collm_version, name, help,
                                           MCA_BASE_VAR_TYPE_SIZE_T, NULL, 0, 0, OPAL_INFO_LVL_5,
                                           MCA_BASE_VAR_SCOPE_READONLY, value);
}

static void register_algorithm(void)
{
    mca_base_var_enum_t *choices = NULL;
    mca_coll_symm_component.algorithm = COLL_SYMM_AUTO;
    /* Without the enumerator the numbers 0 to 3 are still accepted. */
    (void) mca_base_var_enum_create("coll_symm_algorithms", algorithms, &choices);
    (void) mca_base_component_var_register(
        &mca_coll_symm_component.super.collm_version, "allreduce_algorithm",
        "Algorithm of MPI_Allreduce on symmetric windows, used where it can serve the call (auto, "
        "low_latency, one_shot or two_shot; the same on all ranks; default: auto)",
        MCA_BASE_VAR_TYPE_INT, choices, 0, 0, OPAL_INFO_LVL_5, MCA_BASE_VAR_SCOPE_READONLY,
        &mca_coll_symm_component.algorithm);
    if (NULL != choices) {
        OBJ_RELEASE(choices);
    }
}

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
    component->one_shot_max_system = DEFAULT_ONE_SHOT_MAX_SYSTEM;
    register_size("one_shot_max_system",
                  "Largest all-reduce on host memory that each rank does for itself, reading all "
                  "inputs (bytes; the same on all ranks; default: 16384)",
                  &component->one_shot_max_system);
    component->one_shot_max_cuda = DEFAULT_ONE_SHOT_MAX_CUDA;
    register_size("one_shot_max_cuda",
                  "Largest all-reduce on GPU memory that each rank does for itself, reading all "
                  "inputs (bytes; the same on all ranks; default: 524288)",
                  &component->one_shot_max_cuda);
    component->scratch_bytes = DEFAULT_SCRATCH_BYTES;
    register_size("scratch_bytes",
                  "GPU memory per rank and communicator through which collectives move what is in "
                  "no window, made when it is needed first (bytes; 0: none, such calls are staged "
                  "on the host; the same on all ranks; default: 64 MiB)",
                  &component->scratch_bytes);
    register_algorithm();
    return OMPI_SUCCESS;
}

static int component_open(void)
{
    symm_library_open();
    return OMPI_SUCCESS;
}

static int component_close(void)
{
    coll_symm_pending_finalize();
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
