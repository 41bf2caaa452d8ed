/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Records errors; reporting them is the work of whoever agreed on the outcome. */
#include "symm_config.h"

#include "symm_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int symm_error_set(symm_error_t *error, int code, const char *format, ...)
{
    if (0 == error->code) {
        error->code = code;
        va_list args;
        va_start(args, format);
        (void) vsnprintf(error->text, sizeof(error->text), format, args); /* cut when too long */
        va_end(args);
    }
    return error->code;
}

int symm_error_set_errno(symm_error_t *error, int code, int errnum, const char *format, ...)
{
    if (0 != error->code) {
        return error->code;
    }
    char what[SYMM_ERROR_TEXT_MAX / 2];
    char reason[128];
    va_list args;
    va_start(args, format);
    (void) vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    /* glibc's strerror_r may answer with a static string instead of filling the buffer. */
    const char *text = strerror_r(errnum, reason, sizeof(reason));
    return symm_error_set(error, code, "%s: %s (errno %d)", what, text, errnum);
}
