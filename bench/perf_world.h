/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The ranks of the run: a communicator of our own without symmetric windows, and the little that
 * the ranks tell each other outside measurements. */
#ifndef PERF_WORLD_H
#define PERF_WORLD_H

#include <mpi.h>
#include <stdbool.h>

/* Bytes of a note or a reason, its NUL included. */
#define PERF_TEXT_MAX 256

typedef struct perf_world {
    MPI_Comm comm;
    int rank;
    int size;
    int local_rank; /* among the ranks of this host */
} perf_world_t;

/* Set by perf_world_open(), read only afterwards. */
extern perf_world_t perf_world;

/* Collective; MPI is initialised. */
void perf_world_open(void);
void perf_world_close(void);

/* A duplicate of comm with one info key, to be freed. Collective on comm. */
MPI_Comm perf_duplicate(MPI_Comm comm, const char *key, const char *value);

/* Waits for all ranks. */
void perf_barrier(void);

/* Whether mine is true on all ranks; if not, reason [PERF_TEXT_MAX] becomes, on all ranks, that of
 * the lowest rank where it is false. Collective. */
bool perf_agree(bool mine, char *reason);

/* The largest mine, and the sum of all. Collective. */
double perf_max(double mine);
unsigned long long perf_sum(unsigned long long mine);

/* Prints the message with the rank before it and ends the job with an error. For failures in the
 * middle, where the other ranks may wait for this one. */
_Noreturn void perf_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Both write the message into text [PERF_TEXT_MAX], cut when too long. The second returns false,
 * for "return perf_refuse(reason, ...)". */
void perf_text(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool perf_refuse(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
