/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Info values as a program may give them, and what the ranks decide on. The input: for each value
 * whether it is there, and its text up to a NUL; then the other ranks' requests. */
#include "symm_config.h"

#include "fuzz.h"
#include "osc_symm_decide.h"

#include <mpi.h>
#include <string.h>

#define RANKS_MAX 4
#define VALUE_MAX 256

static const char *take_text(fuzz_input_t *input, char text[VALUE_MAX])
{
    size_t len = 0;
    if (0 == fuzz_below(input, 4)) {
        return NULL;
    }
    for (uint8_t byte = fuzz_byte(input); 0 != byte; byte = fuzz_byte(input)) {
        if (len < VALUE_MAX - 1) {
            text[len++] = (char) byte;
        }
    }
    text[len] = '\0';
    return text;
}

static void take_own(fuzz_input_t *input, osc_symm_request_t *request)
{
    char texts[5][VALUE_MAX];
    symm_error_t error = {0};
    osc_symm_info_values_t values = {0};
    values.memory_kind = take_text(input, texts[0]);
    values.required = take_text(input, texts[1]);
    values.noncontig = take_text(input, texts[2]);
    values.asserted_kinds = take_text(input, texts[3]);
    osc_symm_read_request(&values, take_text(input, texts[4]), request, &error);
    FUZZ_CHECK(request->code == error.code);
    FUZZ_CHECK(OSC_SYMM_WANT_UNKNOWN >= request->want);
    FUZZ_CHECK(1 >= request->required && 1 >= request->noncontig);
    FUZZ_CHECK(MPI_SUCCESS == error.code || '\0' != error.text[0]);
}

static void take_other(fuzz_input_t *input, osc_symm_request_t *request)
{
    request->code = 0 == fuzz_below(input, 8) ? MPI_ERR_INFO_VALUE : MPI_SUCCESS;
    request->want = (uint8_t) fuzz_below(input, OSC_SYMM_WANT_UNKNOWN + 1);
    request->required = (uint8_t) fuzz_below(input, 2);
    request->noncontig = (uint8_t) fuzz_below(input, 2);
}

static void take_rest(fuzz_input_t *input, osc_symm_request_t *request)
{
    request->has_next = (uint8_t) fuzz_below(input, 2);
    request->memory = (uint8_t) fuzz_below(input, OSC_SYMM_MEMORY_CUDA + 1);
    request->served = (uint8_t) fuzz_below(input, 2);
    request->size = fuzz_word(input);
    request->disp_unit = (int32_t) fuzz_word(input);
    request->uid = fuzz_below(input, 2);
    request->host = fuzz_below(input, 2);
}

/* Whatever is decided is one of the three things, and falling back comes to an end. */
static void check_decision(osc_symm_decision_t decision)
{
    int steps = 0;
    FUZZ_CHECK(OSC_SYMM_FAIL >= decision.action && NULL != decision.reason);
    while (OSC_SYMM_USE == decision.action) {
        FUZZ_CHECK(4 > ++steps);
        FUZZ_CHECK(SYMM_KIND_COUNT > decision.kind);
        osc_symm_decide_after_failure(&decision, MPI_ERR_OTHER);
    }
    FUZZ_CHECK(OSC_SYMM_FAIL != decision.action || MPI_SUCCESS != decision.code);
    FUZZ_CHECK(OSC_SYMM_DELEGATE != decision.action || decision.all_have_next);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input_t input = {data, len};
    osc_symm_request_t requests[RANKS_MAX];
    osc_symm_decision_t decision, again;
    int size = 1 + (int) fuzz_below(&input, RANKS_MAX);
    memset(requests, 0, sizeof(requests));
    memset(&decision, 0, sizeof(decision));
    memset(&again, 0, sizeof(again));
    take_own(&input, &requests[0]);
    take_rest(&input, &requests[0]);
    for (int r = 1; r < size; ++r) {
        take_other(&input, &requests[r]);
        take_rest(&input, &requests[r]);
    }
    osc_symm_decide(requests, size, &decision);
    osc_symm_decide(requests, size, &again);
    FUZZ_CHECK(decision.action == again.action && decision.code == again.code &&
               decision.kind == again.kind);
    check_decision(decision);
    return 0;
}
