/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Writes log lines. Which level a message deserves is the caller's decision. */
#include "symm_config.h"

#include "symm_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

int symm_log_level = SYMM_LOG_WARN;

void symm_log(int level, const char *format, ...)
{
    if (level > symm_log_level) {
        return;
    }
    char line[LINE_MAX_BYTES];
    char host[64] = "?";
    (void) gethostname(host, sizeof(host) - 1); /* the "?" stays when it fails */
    int used = snprintf(line, sizeof(line) - 1, "[%s:%d] symm: ", host, (int) getpid());
    va_list args;
    va_start(args, format);
    int body = vsnprintf(line + used, sizeof(line) - 1 - (size_t) used, format, args);
    va_end(args);
    if (0 > body) {
        return;
    }
    size_t len = strlen(line);
    line[len++] = '\n';
    (void) !write(STDERR_FILENO, line, len); /* nowhere to report a failed report */
}
