/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The patient half of waiting: MPI progress and yielding the core. */
#include "symm_config.h"

#include "symm_spin.h"

#include <sched.h>
#include <stddef.h>
#include <unistd.h>

/* About 10 us of pauses: longer than a barrier among ranks that are there, shorter than a time
 * slice. A rank later than that is not delayed by our making progress in between. */
#define SPIN_ROUNDS 400

/* Progress calls before the core is offered to others even though there seem to be enough. */
#define PROGRESS_ROUNDS 1000

uint32_t symm_spin_limit = SPIN_ROUNDS;

static void (*progress_fn)(void);
static bool crowded;

void symm_spin_configure(void (*progress)(void))
{
    progress_fn = progress;
}

void symm_spin_set_local_ranks(int ranks)
{
    cpu_set_t cores;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    int usable = 1;
    if (0 == sched_getaffinity(0, sizeof(cores), &cores)) {
        usable = CPU_COUNT(&cores);
    }
    /* A rank bound to a core of its own sees one usable core, however many there are. */
    crowded = ranks > online || (usable > 1 && ranks > usable);
    symm_spin_limit = crowded ? 0 : SPIN_ROUNDS;
}

void symm_spin_slow(symm_spin_t *spin)
{
    if (NULL != progress_fn) {
        progress_fn();
    }
    ++spin->rounds;
    if (crowded || NULL == progress_fn || spin->rounds > symm_spin_limit + PROGRESS_ROUNDS) {
        (void) sched_yield(); /* cannot fail on Linux */
    }
}
