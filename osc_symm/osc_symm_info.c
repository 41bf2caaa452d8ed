/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Info keys of windows: reading them at creation, and letting MPI_Win_get_info tell which of ours
 * are honoured. What the values mean is osc_symm_decide.c's work. */
#include "symm_config.h"

#include "osc_symm.h"

#define KEY_NONCONTIG "alloc_shared_noncontig"
#define KEY_ASSERTED  "mpi_assert_memory_alloc_kinds"

void ompi_osc_symm_info_read(opal_info_t *info, const char *default_kind,
                             osc_symm_request_t *request_p, symm_error_t *error)
{
    static const char *const keys[] = {SYMM_INFO_MEMORY_KIND, SYMM_INFO_REQUIRED, KEY_NONCONTIG,
                                       KEY_ASSERTED};
    char texts[4][MPI_MAX_INFO_VAL + 1];
    const char *values[4];
    for (int i = 0; i < 4; ++i) {
        values[i] = symm_ompi_info_get(info, keys[i], texts[i], sizeof(texts[i])) ? texts[i] : NULL;
    }
    osc_symm_info_values_t known = {.memory_kind = values[0],
                                    .required = values[1],
                                    .noncontig = values[2],
                                    .asserted_kinds = values[3]};
    osc_symm_read_request(&known, default_kind, request_p, error);
}

static const ompi_osc_symm_module_t *module_of_object(opal_infosubscriber_t *object)
{
    return ompi_osc_symm_module_of((const ompi_win_t *) object);
}

static bool is_bool(const char *value)
{
    return 0 == strcmp(value, "true") || 0 == strcmp(value, "false");
}

static bool is_ops(const char *value)
{
    return 0 == strcmp(value, "same_op") || 0 == strcmp(value, "same_op_no_op");
}

/* Whether value is "none" or names, with commas between, what shall be in order. */
static bool is_ordering(const char *value)
{
    static const char *const words[] = {"rar", "raw", "war", "waw"};
    if (0 == strcmp(value, "none")) {
        return true;
    }
    for (;; value += 4) {
        bool known = false;
        for (int i = 0; i < 4; ++i) {
            known = known || 0 == strncmp(value, words[i], 3);
        }
        if (!known || (',' != value[3] && '\0' != value[3])) {
            return false;
        }
        if ('\0' == value[3]) {
            return true;
        }
    }
}

static const struct {
    const char *key;
    const char *initial;
    bool (*is_valid)(const char *value);
} hints[OSC_SYMM_HINT_COUNT] = {
    [OSC_SYMM_HINT_NO_LOCKS] = {"no_locks", "false", is_bool},
    [OSC_SYMM_HINT_SAME_SIZE] = {"same_size", "false", is_bool},
    [OSC_SYMM_HINT_SAME_DISP_UNIT] = {"same_disp_unit", "false", is_bool},
    [OSC_SYMM_HINT_ACCUMULATE_ORDERING] = {"accumulate_ordering", "rar,raw,war,waw", is_ordering},
    [OSC_SYMM_HINT_ACCUMULATE_OPS] = {"accumulate_ops", "same_op_no_op", is_ops},
};

/* Takes over a valid value that fits; leaves the one in force otherwise. */
static void take_hint(ompi_osc_symm_module_t *module, int hint, const char *value)
{
    if (strlen(value) < OSC_SYMM_HINT_TEXT_MAX && hints[hint].is_valid(value)) {
        memmove(module->hints[hint], value, strlen(value) + 1); /* it may be the same text */
    }
}

/* Reads the hints that the program gave when it created the window. */
static void read_hints(ompi_win_t *win)
{
    char value[MPI_MAX_INFO_VAL + 1];
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    for (int i = 0; i < OSC_SYMM_HINT_COUNT; ++i) {
        strcpy(module->hints[i], hints[i].initial);
        if (symm_ompi_info_get(win->super.s_info, hints[i].key, value, sizeof(value))) {
            take_hint(module, i, value);
        }
    }
}

/* The callbacks answer with the value in force; only hints can be changed on a live window. */

static symm_ompi_info_text_t *answer_hint(opal_infosubscriber_t *object, symm_ompi_info_text_t *key,
                                          symm_ompi_info_text_t *value)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of((const ompi_win_t *) object);
    int hint = 0;
    while (0 != strcmp(hints[hint].key, key)) {
        ++hint; /* we subscribe with these keys alone */
    }
    if (NULL != value) {
        take_hint(module, hint, value);
    }
    return module->hints[hint];
}

static symm_ompi_info_text_t *answer_kind(opal_infosubscriber_t *object, symm_ompi_info_text_t *key,
                                          symm_ompi_info_text_t *value)
{
    (void) key;
    (void) value;
    const symm_mapping_t *mapping = module_of_object(object)->window->mapping;
    return (symm_ompi_info_text_t *) symm_kind_name(mapping->ops->kind);
}

static symm_ompi_info_text_t *answer_required(opal_infosubscriber_t *object,
                                              symm_ompi_info_text_t *key,
                                              symm_ompi_info_text_t *value)
{
    (void) object;
    (void) key;
    (void) value;
    return (symm_ompi_info_text_t *) "true";
}

static symm_ompi_info_text_t *answer_noncontig(opal_infosubscriber_t *object,
                                               symm_ompi_info_text_t *key,
                                               symm_ompi_info_text_t *value)
{
    (void) key;
    (void) value;
    return (symm_ompi_info_text_t *) (module_of_object(object)->noncontig ? "true" : "false");
}

/* Puts key into the window's info with the value that answer gives. The value passed here is the
 * one that MPI_Win_get_info shows; the callback's serves MPI_Win_set_info. */
static int subscribe(ompi_win_t *win, const char *key, opal_key_interest_callback_t *answer)
{
    symm_ompi_info_text_t *name = (symm_ompi_info_text_t *) key;
    return opal_infosubscribe_subscribe(&win->super, name, answer(&win->super, name, NULL), answer);
}

int ompi_osc_symm_info_publish(ompi_win_t *win, const osc_symm_decision_t *decision)
{
    bool honoured = decision->asked && '\0' == decision->reason[0];
    int rc = OMPI_SUCCESS;
    read_hints(win);
    /* The window starts with a copy of the user's info, whatever of it is honoured. */
    if (NULL != win->super.s_info) {
        OBJ_RELEASE(win->super.s_info);
    }
    win->super.s_info = OBJ_NEW(opal_info_t);
    if (honoured) {
        rc = subscribe(win, SYMM_INFO_MEMORY_KIND, answer_kind);
    }
    if (OMPI_SUCCESS == rc && honoured && decision->required) {
        rc = subscribe(win, SYMM_INFO_REQUIRED, answer_required);
    }
    if (OMPI_SUCCESS == rc && MPI_WIN_FLAVOR_SHARED == win->w_flavor) {
        rc = subscribe(win, KEY_NONCONTIG, answer_noncontig);
    }
    for (int i = 0; OMPI_SUCCESS == rc && i < OSC_SYMM_HINT_COUNT; ++i) {
        rc = subscribe(win, hints[i].key, answer_hint);
    }
    return rc;
}

void ompi_osc_symm_info_clear(ompi_win_t *win)
{
    if (NULL != win->super.s_info) {
        symm_ompi_info_remove(win->super.s_info, SYMM_INFO_MEMORY_KIND);
        symm_ompi_info_remove(win->super.s_info, SYMM_INFO_REQUIRED);
    }
}
