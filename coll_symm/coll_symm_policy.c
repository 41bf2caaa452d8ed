/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What users want of collectives: MCA parameters for the process, info keys of like names for a
 * communicator. Ranks that were told different things go by the parameters; see have_one_policy().
 */
#include "symm_config.h"

#include "coll_symm.h"

#include "symm_log.h"
#include "symm_options.h"
#include "symm_reduce_params.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#define DEFAULT_SPREAD_MIN    ((size_t) 4 << 20)
#define DEFAULT_SCRATCH_BYTES ((size_t) 64 << 20)
#define DEFAULT_STAGE_BYTES   ((size_t) 128 << 20)

/* Of crossover sizes that are the tuning table's to say; and how info keys say that. */
#define BY_TABLE   SIZE_MAX
#define SIZE_TABLE "table"

#define TABLE_BYTES 65536 /* most of a tuning file */

static const mca_base_var_enum_value_t algorithms[] = {
    {COLL_SYMM_AUTO, "auto"},
    {COLL_SYMM_LOW_LATENCY, "low_latency"},
    {COLL_SYMM_ONE_SHOT, "one_shot"},
    {COLL_SYMM_TWO_SHOT, "two_shot"},
    {COLL_SYMM_COPY_ENGINE, "copy_engine"},
    {COLL_SYMM_KERNEL, "kernel"},
    {COLL_SYMM_NEXT, "next"},
    {0, NULL},
};

/* ---- parameters ---- */

static void register_var(const char *name, const char *help, mca_base_var_type_t type,
                         mca_base_var_info_lvl_t level, void *value)
{
    (void) mca_base_component_var_register(&mca_coll_symm_component.super.collm_version, name, help,
                                           type, NULL, 0, 0, level, MCA_BASE_VAR_SCOPE_READONLY,
                                           value);
}

static void register_algorithm(void)
{
    mca_base_var_enum_t *choices = NULL;
    mca_coll_symm_component.algorithm = COLL_SYMM_AUTO;
    /* Without the enumerator their numbers are still accepted. */
    (void) mca_base_var_enum_create("coll_symm_algorithms", algorithms, &choices);
    (void) mca_base_component_var_register(
        &mca_coll_symm_component.super.collm_version, "algorithm",
        "Algorithm of collectives on symmetric windows, used where it can serve the call: auto; of "
        "reductions low_latency, one_shot, two_shot or copy_engine, a two-shot that leaves most of "
        "a GPU to others; of data movements low_latency, copy_engine or kernel; next hands all to "
        "the next component (the same on all ranks; also an info key "
        "of communicators; default: auto)",
        MCA_BASE_VAR_TYPE_INT, choices, 0, 0, OPAL_INFO_LVL_5, MCA_BASE_VAR_SCOPE_READONLY,
        &mca_coll_symm_component.algorithm);
    if (NULL != choices) {
        OBJ_RELEASE(choices);
    }
}

static void register_sizes(void)
{
    mca_coll_symm_component_t *component = &mca_coll_symm_component;
    component->one_shot_max_system = BY_TABLE;
    component->one_shot_max_cuda = BY_TABLE;
    component->copy_engine_min = BY_TABLE;
    component->kernel_max = BY_TABLE;
    component->scratch_bytes = DEFAULT_SCRATCH_BYTES;
    component->stage_bytes = DEFAULT_STAGE_BYTES;
    component->spread_min = DEFAULT_SPREAD_MIN;
    register_var("one_shot_max_system",
                 "Largest all-reduce on host memory that each rank does for itself, reading all "
                 "inputs (bytes; the same on all ranks; info key of communicators: "
                 "coll_symm_one_shot_max; default: what the tuning table says)",
                 MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_5, &component->one_shot_max_system);
    register_var("one_shot_max_cuda",
                 "Largest all-reduce on GPU memory that each rank does for itself, reading all "
                 "inputs (bytes; the same on all ranks; info key of communicators: "
                 "coll_symm_one_shot_max; default: what the tuning table says)",
                 MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_5, &component->one_shot_max_cuda);
    register_var("copy_engine_min",
                 "Smallest reduction between GPU windows whose inputs copy engines bring and whose "
                 "results they take to other ranks, so that few multiprocessors are used (bytes of "
                 "all inputs that a rank combines; per process; default: what the tuning table "
                 "says, never if nothing)",
                 MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_5, &component->copy_engine_min);
    register_var("stage_bytes",
                 "GPU memory per window through which copy engines bring the inputs of reductions, "
                 "made when it is needed first (bytes; 0: none, kernels read all inputs; per "
                 "process; default: 128 MiB)",
                 MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_5, &component->stage_bytes);
    register_var(
        "kernel_max",
        "Most bytes that a rank moves in a data movement between GPUs by a kernel; more is "
        "copied by copy engines (bytes; per process; also an info key of communicators; "
        "default: what the tuning table says)",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_5, &component->kernel_max);
    register_var(
        "spread_min",
        "Smallest broadcast to two or more GPUs of which the root sends each a slice only, "
        "for it to hand on to the others (bytes; the same on all ranks; default: 4 MiB)",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_5, &component->spread_min);
    register_var(
        "scratch_bytes",
        "GPU memory per rank and communicator through which collectives move what is in "
        "no window, made when it is needed first, and as much again for nonblocking ones; "
        "each persistent one has its own, of no more than it can use (bytes; 0: none, such "
        "calls are staged on the host; the same on all ranks; default: 64 MiB)",
        MCA_BASE_VAR_TYPE_SIZE_T, OPAL_INFO_LVL_5, &component->scratch_bytes);
}

void coll_symm_policy_register(void)
{
    mca_coll_symm_component_t *component = &mca_coll_symm_component;
    register_algorithm();
    register_sizes();
    component->enable = true;
    register_var("enable",
                 "Whether collectives of communicators are served here at all; those of a "
                 "communicator are if all its ranks say so (boolean; per process; also an info key "
                 "that communicators are made with; default: true)",
                 MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_3, &component->enable);
    component->copy_engine_only = false;
    register_var("copy_engine_only",
                 "Whether data movements between GPUs use copy engines alone and no multiprocessor "
                 "(boolean; per process; also an info key of communicators; default: false)",
                 MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_3, &component->copy_engine_only);
    component->resident = false;
    register_var("resident",
                 "Whether small collectives on GPUs go to a kernel that stays on the GPU for a "
                 "while, which saves them its launch and holds one multiprocessor; for one rank "
                 "per GPU (boolean; per process; also an info key of communicators; default: "
                 "false)",
                 MCA_BASE_VAR_TYPE_BOOL, OPAL_INFO_LVL_3, &component->resident);
    component->resident_idle = symm_options.resident_idle_us;
    register_var("resident_idle",
                 "How long that kernel stays without work; whoever waits for the whole GPU waits "
                 "as long (microseconds; per process; default: 1000)",
                 MCA_BASE_VAR_TYPE_UNSIGNED_INT, OPAL_INFO_LVL_5, &component->resident_idle);
    component->tuning_file = NULL;
    register_var("tuning_file",
                 "File with a tuning table, as symm_perf --tune writes it; a built-in table holds "
                 "where it says nothing (path; the same content on all ranks; default: none)",
                 MCA_BASE_VAR_TYPE_STRING, OPAL_INFO_LVL_4, &component->tuning_file);
    component->timeout = 0;
    register_var("timeout",
                 "Longest wait of a collective on symmetric windows for another rank; when it is "
                 "over the call ends with an error, and so does each later one of the communicator "
                 "(seconds in which the call is waited for; 0: no limit; per process; default: 0)",
                 MCA_BASE_VAR_TYPE_UNSIGNED_INT, OPAL_INFO_LVL_3, &component->timeout);
    component->max_sms = 0;
    register_var("max_sms",
                 "Most multiprocessors of a GPU that the kernel of a collective uses, unless it "
                 "gathers and scatters data with gaps (number; 0: all; per process; also an info "
                 "key of communicators; default: 0)",
                 MCA_BASE_VAR_TYPE_UNSIGNED_INT, OPAL_INFO_LVL_3, &component->max_sms);
}

static uint32_t all_if_none(uint64_t max_sms)
{
    return 0 == max_sms || UINT32_MAX < max_sms ? UINT32_MAX : (uint32_t) max_sms;
}

/* ---- the tuning table ---- */

/* The file as text, for the caller to free; NULL, with message [len], when there is none. */
static char *read_file(const char *path, char *message, size_t len)
{
    FILE *file = fopen(path, "r");
    char *text = NULL == file ? NULL : calloc(1, TABLE_BYTES + 1);
    if (NULL == text) {
        (void) snprintf(message, len, "%s", strerror(errno));
    } else if (TABLE_BYTES == fread(text, 1, TABLE_BYTES, file) || 0 != ferror(file)) {
        (void) snprintf(message, len, "it cannot be read, or has %d bytes or more", TABLE_BYTES);
        free(text);
        text = NULL;
    }
    if (NULL != file) {
        (void) fclose(file); /* it was only read */
    }
    return text;
}

/* Reads the built-in table, and the one that is asked for. One process of the host tells. */
static void load_tuning(void)
{
    mca_coll_symm_component_t *component = &mca_coll_symm_component;
    const char *path = component->tuning_file;
    char message[160] = "";
    bool given = NULL != path && '\0' != *path;
    char *text = given ? read_file(path, message, sizeof(message)) : NULL;
    bool good =
        NULL != text && coll_symm_tuning_read(text, &component->tuning, message, sizeof(message));
    free(text);
    if (given && !good && symm_ompi_first_of_host()) {
        symm_log(SYMM_LOG_ERROR, "coll_symm_tuning_file %s: %s; the built-in table is used", path,
                 message);
    }
    if (!good) {
        component->tuning.count = 0;
    }
    (void) coll_symm_tuning_read(coll_symm_tuning_built_in(), &component->built_in_tuning, message,
                                 sizeof(message)); /* a unit test reads it, too */
}

/* Of all links between GPUs. */
static void set_gpu_sizes(uint64_t sizes[SYMM_LINK_COUNT], uint64_t size)
{
    for (symm_link_t link = SYMM_LINK_HOST + 1; link < SYMM_LINK_COUNT; ++link) {
        sizes[link] = size;
    }
}

/* What parameters say stands before what the table says. */
static void take_parameters(coll_symm_policy_t *policy)
{
    const mca_coll_symm_component_t *component = &mca_coll_symm_component;
    const struct {
        size_t value;
        uint64_t *targets;
    } of_gpus[] = {
        {component->one_shot_max_cuda, policy->one_shot_max},
        {component->copy_engine_min, policy->copy_engine_min},
        {component->kernel_max, policy->kernel_max},
    };
    if (BY_TABLE != component->one_shot_max_system) {
        policy->one_shot_max[SYMM_LINK_HOST] = component->one_shot_max_system;
    }
    for (size_t i = 0; i < sizeof(of_gpus) / sizeof(of_gpus[0]); ++i) {
        if (BY_TABLE != of_gpus[i].value) {
            set_gpu_sizes(of_gpus[i].targets, of_gpus[i].value);
        }
    }
}

/* Sets the sizes for so many ranks: what the tables say, the one that is asked for before the
 * built-in one, and before both what parameters say. */
static void set_sizes(int ranks, coll_symm_policy_t *policy)
{
    const mca_coll_symm_component_t *component = &mca_coll_symm_component;
    coll_symm_tuning_apply(&component->built_in_tuning, ranks, policy);
    coll_symm_tuning_apply(&component->tuning, ranks, policy);
    take_parameters(policy);
}

void coll_symm_policy_init(void)
{
    mca_coll_symm_component_t *component = &mca_coll_symm_component;
    component->policy = (coll_symm_policy_t){
        .gpu_max_ranks = SYMM_REDUCE_MAX_RANKS,
        .scratch_bytes = component->scratch_bytes,
        .stage_bytes = component->stage_bytes,
        .spread_min = component->spread_min,
        .algorithm = (coll_symm_algorithm_t) component->algorithm,
        .copy_engine_only = component->copy_engine_only,
        .max_multiprocessors = all_if_none(component->max_sms),
        .resident = component->resident,
    };
    symm_options.resident_idle_us = component->resident_idle;
    set_gpu_sizes(component->policy.copy_engine_min, UINT64_MAX);
    load_tuning();
    set_sizes(2, &component->policy);
}

/* ---- info keys ---- */

static bool read_algorithm(const char *text, coll_symm_policy_t *policy)
{
    for (const mca_base_var_enum_value_t *a = algorithms; NULL != a->string; ++a) {
        if (0 == strcmp(text, a->string)) {
            policy->algorithm = (coll_symm_algorithm_t) a->value;
            return true;
        }
    }
    return false;
}

static bool read_bool(const char *text, bool *value_p)
{
    bool yes = 0 == strcmp(text, "true");
    if (!yes && 0 != strcmp(text, "false")) {
        return false;
    }
    *value_p = yes;
    return true;
}

static bool read_copy_engine_only(const char *text, coll_symm_policy_t *policy)
{
    return read_bool(text, &policy->copy_engine_only);
}

static bool read_resident(const char *text, coll_symm_policy_t *policy)
{
    return read_bool(text, &policy->resident);
}

static bool read_number(const char *text, uint64_t *number_p)
{
    char *end;
    errno = 0;
    uint64_t number = strtoumax(text, &end, 10);
    if ('0' > *text || '9' < *text || '\0' != *end || 0 != errno) {
        return false;
    }
    *number_p = number;
    return true;
}

static bool read_max_sms(const char *text, coll_symm_policy_t *policy)
{
    uint64_t number;
    bool valid = read_number(text, &number);
    policy->max_multiprocessors = valid ? all_if_none(number) : policy->max_multiprocessors;
    return valid;
}

/* A number of bytes, or "table", which gives BY_TABLE. */
static bool read_size(const char *text, uint64_t *size_p)
{
    if (0 == strcmp(text, SIZE_TABLE)) {
        *size_p = BY_TABLE;
        return true;
    }
    return read_number(text, size_p);
}

/* "BYTES" for windows of either kind, or "BYTES,BYTES" for those on host and on GPU memory: Open
 * MPI's keys are too short for the parameters' names. */
static bool read_one_shot_max(const char *text, coll_symm_policy_t *policy)
{
    char first[COLL_SYMM_VALUE_MAX];
    uint64_t host, gpu;
    size_t len = strcspn(text, ",");
    (void) snprintf(first, sizeof(first), "%.*s", (int) len, text); /* cut, it is no number */
    bool valid = len < sizeof(first) && read_size(first, &host) &&
                 read_size(',' == text[len] ? text + len + 1 : text, &gpu);
    if (valid && BY_TABLE != host) {
        policy->one_shot_max[SYMM_LINK_HOST] = host;
    }
    if (valid && BY_TABLE != gpu) {
        set_gpu_sizes(policy->one_shot_max, gpu);
    }
    return valid;
}

static bool read_kernel_max(const char *text, coll_symm_policy_t *policy)
{
    uint64_t size;
    bool valid = read_size(text, &size);
    if (valid && BY_TABLE != size) {
        set_gpu_sizes(policy->kernel_max, size);
    }
    return valid;
}

/* The keys, with the readers of their values, which change nothing when a value is none. */
static const struct {
    const char *key;
    bool (*read)(const char *text, coll_symm_policy_t *policy);
} keys[COLL_SYMM_KEYS] = {
    {"coll_symm_algorithm", read_algorithm},
    {"coll_symm_copy_engine_only", read_copy_engine_only},
    {"coll_symm_max_sms", read_max_sms},
    {"coll_symm_one_shot_max", read_one_shot_max},
    {"coll_symm_kernel_max", read_kernel_max},
    {"coll_symm_resident", read_resident},
};

static const char *algorithm_name(coll_symm_algorithm_t algorithm)
{
    const mca_base_var_enum_value_t *a = algorithms;
    while (NULL != a->string && algorithm != (coll_symm_algorithm_t) a->value) {
        ++a;
    }
    return NULL == a->string ? "auto" : a->string;
}

static void write_size(char *text, size_t len, size_t size)
{
    if (BY_TABLE == size) {
        (void) snprintf(text, len, SIZE_TABLE);
    } else {
        (void) snprintf(text, len, "%zu", size);
    }
}

/* Writes the values that hold without keys, in the order of the keys. */
static void write_values(char values[COLL_SYMM_KEYS][COLL_SYMM_VALUE_MAX])
{
    const mca_coll_symm_component_t *c = &mca_coll_symm_component;
    char host[COLL_SYMM_VALUE_MAX / 2], gpu[COLL_SYMM_VALUE_MAX / 2];
    write_size(host, sizeof(host), c->one_shot_max_system);
    write_size(gpu, sizeof(gpu), c->one_shot_max_cuda);
    (void) snprintf(values[0], COLL_SYMM_VALUE_MAX, "%s", algorithm_name(c->policy.algorithm));
    (void) snprintf(values[1], COLL_SYMM_VALUE_MAX, "%s", c->copy_engine_only ? "true" : "false");
    (void) snprintf(values[2], COLL_SYMM_VALUE_MAX, "%u", c->max_sms);
    (void) snprintf(values[3], COLL_SYMM_VALUE_MAX, "%s,%s", host, gpu);
    write_size(values[4], COLL_SYMM_VALUE_MAX, c->kernel_max);
    (void) snprintf(values[5], COLL_SYMM_VALUE_MAX, "%s", c->resident ? "true" : "false");
}

/* Makes the policy what parameters and tables say, and the values before them. */
static void make_policy(mca_coll_symm_module_t *module)
{
    module->policy = mca_coll_symm_component.policy;
    set_sizes(module->comm->exchange.size, &module->policy);
    for (int k = 0; k < COLL_SYMM_KEYS; ++k) {
        (void) keys[k].read(module->values[k], &module->policy); /* it was read before */
    }
    module->policy_sum = coll_symm_policy_sum(&module->policy);
    module->one_policy = false; /* until a call shows that it is */
}

/* Takes a value over; one that is wrong is told of and leaves things as they are. Returns whether
 * it was taken. */
static bool take_value(mca_coll_symm_module_t *module, int key, const char *value)
{
    coll_symm_policy_t probe = module->policy;
    if (!keys[key].read(value, &probe)) {
        symm_log(SYMM_LOG_WARN, "info key %s of a communicator: \"%s\" is not a value of it",
                 keys[key].key, value);
        return false;
    }
    (void) snprintf(module->values[key], sizeof(module->values[key]), "%s", value);
    return true;
}

/* MPI_Comm_set_info. Answers with what MPI_Comm_get_info shall show. */
static symm_ompi_info_text_t *answer_key(opal_infosubscriber_t *object, symm_ompi_info_text_t *key,
                                         symm_ompi_info_text_t *value)
{
    mca_coll_symm_module_t *module = coll_symm_module_of((ompi_communicator_t *) object);
    int k = 0;
    while (0 != strcmp(keys[k].key, key)) {
        ++k; /* we subscribe with these keys alone */
    }
    if (NULL == module) {
        return NULL; /* another component serves the communicator */
    }
    if (NULL != value && take_value(module, k, value)) { /* if not, the answer tells */
        make_policy(module);
    }
    return module->values[k];
}

void coll_symm_policy_attach(mca_coll_symm_module_t *module, ompi_communicator_t *comm)
{
    char value[COLL_SYMM_VALUE_MAX];
    if (NULL == comm->super.s_info) {
        comm->super.s_info = OBJ_NEW(opal_info_t);
    }
    write_values(module->values);
    for (int k = 0; k < COLL_SYMM_KEYS; ++k) {
        if (symm_ompi_info_get(comm->super.s_info, keys[k].key, value, sizeof(value)) &&
            !take_value(module, k, value)) {
            symm_ompi_info_remove(comm->super.s_info, keys[k].key);
        }
        (void) opal_infosubscribe_subscribe(&comm->super, (symm_ompi_info_text_t *) keys[k].key,
                                            module->values[k], answer_key);
    }
    make_policy(module);
}
