/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Tuning tables as somebody may write them. The input: the number of ranks, then the text. */
#include "symm_config.h"

#include "coll_symm_tuning.h"
#include "fuzz.h"

#include <string.h>

#define MESSAGE_MAX 200

/* A line that was read says something that lines can say. */
static void check_line(const coll_symm_tuning_line_t *line)
{
    FUZZ_CHECK(0 < line->ranks);
    FUZZ_CHECK(COLL_SYMM_KERNEL_MAX >= line->setting);
    FUZZ_CHECK(SYMM_LINK_COUNT > line->link);
    FUZZ_CHECK(SYMM_LINK_HOST != line->link || COLL_SYMM_ONE_SHOT_MAX == line->setting);
}

static void check_table(const coll_symm_tuning_t *tuning, int ranks)
{
    coll_symm_policy_t once, twice;
    FUZZ_CHECK(0 <= tuning->count && COLL_SYMM_TUNING_MAX >= tuning->count);
    for (int i = 0; i < tuning->count; ++i) {
        check_line(&tuning->lines[i]);
    }
    memset(&once, 0, sizeof(once));
    memset(&twice, 0, sizeof(twice));
    coll_symm_tuning_apply(tuning, ranks, &once);
    coll_symm_tuning_apply(tuning, ranks, &twice);
    coll_symm_tuning_apply(tuning, ranks, &twice);
    FUZZ_CHECK(0 == memcmp(&once, &twice, sizeof(once)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    fuzz_input_t input = {data, len};
    coll_symm_tuning_t tuning, untouched;
    char message[MESSAGE_MAX] = "";
    int ranks = 1 + (int) fuzz_below(&input, 64);
    char *text = malloc(input.len + 1);
    FUZZ_CHECK(NULL != text);
    memcpy(text, input.data, input.len);
    text[input.len] = '\0';
    memset(&tuning, 0x5a, sizeof(tuning));
    untouched = tuning;
    if (coll_symm_tuning_read(text, &tuning, message, sizeof(message))) {
        check_table(&tuning, ranks);
    } else {
        FUZZ_CHECK(0 == memcmp(&tuning, &untouched, sizeof(tuning)));
        FUZZ_CHECK('\0' != message[0] && NULL != memchr(message, '\0', sizeof(message)));
    }
    free(text);
    return 0;
}
