/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The fault loop: rounds of window creation, put, get, all-reduces, all-gather and free, in each of
 * which one call of one rank fails, the first call in the first round, the second in the second,
 * until a round passes without a failure; and that on each rank. Asserted of each round: every
 * collective call returns the same error class on all ranks, what succeeded has right results, it
 * takes a bounded time, nothing leaks, and the next window on the same communicator works. */
#ifndef FAULT_LOOP_H
#define FAULT_LOOP_H

#include <stdbool.h>

#include "mpi_test.h"

/* A library in this process that makes calls fail, by rules as in fault_rules.h. */
typedef struct fault_source {
    int (*arm)(const char *rules); /* returns 0 when they make no sense */
    const char *(*fired)(void);
    void (*hold)(int on);
} fault_source_t;

/* Finds PREFIX_arm, PREFIX_fired and PREFIX_hold in library, as of dlopen. Fails the test and
 * returns false when they are not there. */
bool fault_source_find(void *library, const char *prefix, fault_source_t *source_p);

/* One walk through all calls. */
typedef struct fault_series {
    const char *name;
    const fault_source_t *source;
    const char *function; /* whose calls fail, "any" */
    const char *action;   /* and how */
    bool fallback;        /* an ordinary window will do, so creation must not fail */
    bool fresh;           /* a new communicator each time */
    bool once;            /* leave the next window out, and take the last rank only */
    bool harmless;        /* the action must go unnoticed */
    int most;             /* calls to fail, of a function called as often as time passes; 0: all */
    void (*begin)(void);  /* around a round, uncounted; may be NULL */
    void (*end)(void);
    void (*enter)(void); /* around the calls of a round that are the product's; may be NULL */
    void (*leave)(void);
    /* What there is now beside mt_resources(), to be the same after each round; may be NULL. */
    int (*count)(long *numbers, const char **names, int max);
} fault_series_t;

/* Runs the series on all ranks. Collective over the world. */
void fault_run(const fault_series_t *series);

/* Prints, on rank 0, how often each function was made to fail and what came of it. Fails the test
 * when there were fewer than `least` functions. */
void fault_print_table(int least);

/* Whether all is to be run and not the short choice (SYMM_FAULT_LONG=1). */
bool fault_long(void);

#endif
