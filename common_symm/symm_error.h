/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * An error on its way up from the step that saw it to the rank that reports it. Collective set-up
 * must not print at once: all ranks agree on the outcome first (symm_exchange.h), then one reports.
 */
#ifndef SYMM_ERROR_H
#define SYMM_ERROR_H

#include "mpi_symm.h"

#define SYMM_ERROR_TEXT_MAX 384

/* code is an MPI error class, MPI_SUCCESS (0) when there is no error. text names the call that
 * failed, the system's or driver's own error name, and the setting to change. */
typedef struct symm_error {
    int code;
    char text[SYMM_ERROR_TEXT_MAX];
} symm_error_t;

/* Records an error unless one is recorded already: the first cause is the one to report.
 * Returns the recorded code, so that a failing step can end with `return symm_error_set(...)`. */
SYMM_EXPORT int symm_error_set(symm_error_t *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed system call: appends the name and text of errnum. */
int symm_error_set_errno(symm_error_t *error, int code, int errnum, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
