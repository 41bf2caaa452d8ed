/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A program whose last rank is killed, as by kill -9, at the phase that the first argument names:
 *
 *     none                     nowhere: the program ends well
 *     creation, put, lock, collective, free    before or amid it, while the others are in it or
 *                              wait for what the rank will never do
 *     NAME@N=kill              in the N-th call of that function: of the driver, or of the system
 *
 * run_death.sh looks at what becomes of the others. */
#include "symm_config.h"

#include "fault_calls.h"
#include "fault_loop.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 65536
#define INTS  4096

static const char *phase = "none";

/* Ends the last rank when the program is at that phase. */
static void die_at(const char *now)
{
    mt_barrier(); /* nobody is behind; not a part of what is tested */
    if (0 == strcmp(phase, now) && mt_rank == mt_size - 1) {
        (void) raise(SIGKILL);
    }
}

/* Lets the rule kill the last rank; driver functions begin with cu. */
static void arm(const char *rule)
{
    fault_source_t source = {fault_calls_arm, fault_calls_fired, fault_calls_hold};
    if (0 == strncmp("cu", rule, 2) &&
        !fault_source_find(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "fake_cuda", &source)) {
        return;
    }
    CHECK(0 != source.arm(mt_rank == mt_size - 1 ? rule : ""));
}

static void epochs(const mt_win_t *w)
{
    char byte = 1;
    int last = mt_size - 1;
    CHECK_OK(MPI_Win_fence(0, w->win));
    CHECK_OK(MPI_Put(&byte, 1, MPI_BYTE, (mt_rank + 1) % mt_size, 0, 1, MPI_BYTE, w->win));
    die_at("put");
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    if (mt_rank == last) {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
    }
    die_at("lock"); /* and the others wait for the lock that nobody will give back */
    if (mt_rank == last) {
        CHECK_OK(MPI_Win_unlock(0, w->win));
    } else {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
        CHECK_OK(MPI_Win_unlock(0, w->win));
    }
}

static void collectives(const mt_win_t *w)
{
    mt_fill(w->base, BYTES, 1);
    die_at("collective");
    CHECK_OK(MPI_Allreduce(w->base, w->base + BYTES / 2, INTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_OK(MPI_Allgather(w->base, 1024, MPI_BYTE, w->base + BYTES / 2, 1024, MPI_BYTE,
                           MPI_COMM_WORLD));
}

static void life(void)
{
    mt_win_t w;
    die_at("creation");
    if (mt_allocate(BYTES, 1, MPI_COMM_WORLD, &w)) {
        epochs(&w);
        collectives(&w);
        die_at("free");
        mt_win_free(&w);
    }
}

int main(int argc, char **argv)
{
    mt_set_param("osc_symm_cache_bytes", "0"); /* so that the window is unmapped when it is freed */
    mt_init(&argc, &argv, "fault_death");
    if (1 < argc) {
        phase = argv[1];
    }
    if (NULL != strchr(phase, '@')) {
        arm(phase);
    }
    MT_RUN(life);
    return mt_finish();
}
