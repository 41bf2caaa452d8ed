/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The rules of window selection (design, "A window's life"). Carrying them out is the component's
 * work. */
#include "symm_config.h"

#include "osc_symm_decide.h"

#include <mpi.h>
#include <string.h>
#include <strings.h>

static bool is_one_of(const char *value, const char *const *words)
{
    for (; NULL != *words; ++words) {
        if (0 == strcasecmp(value, *words)) {
            return true;
        }
    }
    return false;
}

/* Reads a boolean info value (MPI-4.0, 10.1: "true" and "false"; the usual spellings as well).
 * Returns whether it is one; NULL is false. */
static bool read_bool(const char *value, uint8_t *flag_p)
{
    static const char *const yes[] = {"true", "yes", "1", "on", NULL};
    static const char *const no[] = {"false", "no", "0", "off", NULL};
    *flag_p = NULL != value && is_one_of(value, yes);
    return NULL == value || 0 != *flag_p || is_one_of(value, no);
}

static osc_symm_want_t read_kind(const char *value)
{
    if (NULL == value || '\0' == *value) {
        return OSC_SYMM_WANT_NOTHING;
    }
    if (0 == strcmp(value, "system")) {
        return OSC_SYMM_WANT_SYSTEM;
    }
    return 0 == strcmp(value, "cuda:device") ? OSC_SYMM_WANT_CUDA : OSC_SYMM_WANT_UNKNOWN;
}

/* Whether the comma-separated list names kind or the part of it before the colon ("cuda" allows
 * "cuda:device"). */
static bool list_names(const char *list, const char *kind)
{
    size_t family = strcspn(kind, ":");
    while ('\0' != *list) {
        list += strspn(list, ", ");
        size_t len = strcspn(list, ", ");
        bool whole = len == strlen(kind) && 0 == strncmp(list, kind, len);
        bool part = len == family && 0 == strncmp(list, kind, len);
        if (whole || part) {
            return true;
        }
        list += len;
    }
    return false;
}

void osc_symm_read_request(const osc_symm_info_values_t *values, const char *default_kind,
                           osc_symm_request_t *request_p, symm_error_t *error)
{
    const char *kind = NULL != values->memory_kind ? values->memory_kind : default_kind;
    request_p->want = (uint8_t) read_kind(kind);
    /* A program that promises not to use a kind of memory must not be given any of it. */
    if (OSC_SYMM_WANT_CUDA == request_p->want && NULL != values->asserted_kinds &&
        !list_names(values->asserted_kinds, kind)) {
        request_p->want = OSC_SYMM_WANT_NOTHING;
    }
    if (!read_bool(values->required, &request_p->required)) {
        (void) symm_error_set(error, MPI_ERR_INFO_VALUE,
                              "info key symm_required has the value \"%.64s\"; use true or false",
                              values->required);
    }
    if (!read_bool(values->noncontig, &request_p->noncontig)) {
        request_p->noncontig = 0; /* a standard hint: what we do not understand we do not honour */
    }
    request_p->code = error->code;
}

/* The window is not what was asked for: an ordinary one, unless somebody insists. */
static void settle_for_less(osc_symm_decision_t *decision, int code, const char *reason)
{
    bool ours = (decision->any_cuda || decision->served) && decision->same_host;
    decision->reason = reason;
    if (!decision->required && decision->all_have_next && !ours) {
        decision->action = OSC_SYMM_DELEGATE;
    } else if (!decision->required && decision->same_host) {
        decision->action = OSC_SYMM_USE;
        decision->kind = decision->any_cuda ? SYMM_KIND_CUDA_DEVICE : SYMM_KIND_SYSTEM;
    } else {
        decision->action = OSC_SYMM_FAIL;
        decision->code = code;
        if ('\0' == reason[0]) {
            decision->reason = "no other component serves the window, and the ranks are on several "
                               "hosts; name one more, as in --mca osc symm,rdma";
        }
    }
}

/* Puts together what the requests have in common. *same_want_p tells whether all want the same.
 * Returns the first rank's MPI error class for a malformed value. */
static int summarize(const osc_symm_request_t *requests, int size, osc_symm_decision_t *decision_p,
                     bool *same_want_p)
{
    int code = MPI_SUCCESS;
    *same_want_p = true;
    *decision_p = (osc_symm_decision_t){
        .reason = "", .noncontig = true, .all_have_next = true, .same_host = true};
    for (int r = 0; r < size; ++r) {
        const osc_symm_request_t *request = &requests[r];
        *same_want_p = *same_want_p && request->want == requests[0].want;
        decision_p->asked = decision_p->asked || OSC_SYMM_WANT_NOTHING != request->want;
        decision_p->required = decision_p->required || 0 != request->required;
        decision_p->noncontig = decision_p->noncontig && 0 != request->noncontig;
        decision_p->all_have_next = decision_p->all_have_next && 0 != request->has_next;
        decision_p->same_host = decision_p->same_host && request->host == requests[0].host &&
                                request->uid == requests[0].uid;
        decision_p->served = decision_p->served || 0 != request->served;
        decision_p->any_system =
            decision_p->any_system || OSC_SYMM_MEMORY_SYSTEM == request->memory;
        decision_p->any_cuda = decision_p->any_cuda || OSC_SYMM_MEMORY_CUDA == request->memory;
        code = MPI_SUCCESS == code ? request->code : code;
    }
    return code;
}

/* Whether memory that the ranks bring is of another kind than the one they name. */
static bool other_memory(const osc_symm_decision_t *decision, osc_symm_want_t want)
{
    return OSC_SYMM_WANT_CUDA == want ? decision->any_system : decision->any_cuda;
}

void osc_symm_decide(const osc_symm_request_t *requests, int size, osc_symm_decision_t *decision_p)
{
    bool same_want;
    osc_symm_want_t want = (osc_symm_want_t) requests[0].want;
    int code = summarize(requests, size, decision_p, &same_want);
    if (MPI_SUCCESS != code) {
        decision_p->action = OSC_SYMM_FAIL;
        decision_p->code = code;
        decision_p->reason = "an info value is malformed";
    } else if (!same_want) {
        settle_for_less(
            decision_p, MPI_ERR_INFO_VALUE,
            "the ranks ask for different kinds of memory; give symm_memory_kind the same "
            "value on all ranks");
    } else if (OSC_SYMM_WANT_UNKNOWN == want) {
        settle_for_less(decision_p, MPI_ERR_INFO_VALUE,
                        "the value of symm_memory_kind is not known; use cuda:device or system");
    } else if (OSC_SYMM_WANT_NOTHING == want) {
        settle_for_less(decision_p, MPI_ERR_INFO_VALUE,
                        decision_p->required ? "symm_required is set, symm_memory_kind is not"
                                             : "");
    } else if (!decision_p->same_host) {
        settle_for_less(
            decision_p, MPI_ERR_UNSUPPORTED_OPERATION,
            "the ranks are on several hosts, or of several users; use a communicator of "
            "MPI_Comm_split_type(MPI_COMM_TYPE_SHARED)");
    } else if (other_memory(decision_p, want)) {
        settle_for_less(decision_p, MPI_ERR_INFO_VALUE,
                        "the memory of a rank is not of the kind that symm_memory_kind names");
    } else {
        decision_p->action = OSC_SYMM_USE;
        decision_p->kind = OSC_SYMM_WANT_CUDA == want ? SYMM_KIND_CUDA_DEVICE : SYMM_KIND_SYSTEM;
    }
}

void osc_symm_decide_after_failure(osc_symm_decision_t *decision, int code)
{
    symm_kind_t failed = decision->kind;
    settle_for_less(decision, code, "symmetric memory could not be had");
    if (OSC_SYMM_USE == decision->action && decision->kind == failed) {
        decision->action = OSC_SYMM_FAIL; /* there is nothing less to settle for */
        decision->code = code;
    }
}
