/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * One-line messages on stderr, each written whole, with host and process id in front. */
#ifndef SYMM_LOG_H
#define SYMM_LOG_H

#include "mpi_symm.h"

/* Verbosity, as of Open MPI's *_verbose parameters. */
enum {
    SYMM_LOG_ERROR = 0,  /* always shown */
    SYMM_LOG_WARN = 1,   /* a request that could not be honoured */
    SYMM_LOG_INFO = 10,  /* one line for each window and each new plan */
    SYMM_LOG_DEBUG = 30, /* probes, steps of a window's creation */
};

/* Messages up to this level are shown; SYMM_LOG_WARN at first. Components raise it, never lower it.
 */
SYMM_EXPORT extern int symm_log_level;

/* Writes one line when level is shown. Longer lines are cut at 1 KiB. Any thread. */
SYMM_EXPORT void symm_log(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
