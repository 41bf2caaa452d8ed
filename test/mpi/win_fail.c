/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Creations that fail on one rank only: all ranks get one error class, nothing is left behind, and
 * the communicator goes on. The failures are real ones, made by lowering that rank's limits. */
#include "symm_config.h"

#include "mpi_test.h"

#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Most descriptors that creating a window can need at once, and some more. */
#define SPARE_MAX 24

static void put_ring(MPI_Comm comm, const mt_win_t *w)
{
    int rank, size;
    unsigned char got = 0;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
    unsigned char sent = (unsigned char) (10 + rank);
    CHECK_OK(MPI_Win_fence(0, w->win));
    CHECK_OK(MPI_Put(&sent, 1, MPI_BYTE, (rank + 1) % size, 0, 1, MPI_BYTE, w->win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    mt_read(&got, w->base, 1);
    CHECK_INT(10 + (rank + size - 1) % size, got);
}

/* The communicator still serves, and the next window is made. */
static void check_goes_on(MPI_Comm comm)
{
    int one = 1;
    int sum = 0;
    mt_win_t w;
    CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_INT(mt_size, sum);
    if (mt_allocate(5000, 1, comm, &w)) {
        put_ring(comm, &w);
        mt_win_free(&w);
    }
}

static rlim_t lower_limit(int resource, rlim_t value, struct rlimit *saved)
{
    struct rlimit limit;
    CHECK(0 == getrlimit(resource, saved));
    limit = *saved;
    limit.rlim_cur = value < saved->rlim_max ? value : saved->rlim_max;
    CHECK(0 == setrlimit(resource, &limit));
    return limit.rlim_cur;
}

/* Creates a window on a new communicator while `resource` of rank `victim` is limited to value.
 * Returns whether it failed, which is the same on all ranks. */
static bool fails_with_limit(int victim, int resource, rlim_t value, size_t size, bool shared)
{
    mt_resources_t before = mt_resources();
    symm_stats_t stats = mt_stats();
    struct rlimit saved;
    MPI_Comm comm;
    mt_win_t w = {.win = MPI_WIN_NULL};
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Info info = mt_info();
    if (victim == mt_rank) {
        (void) lower_limit(resource, value, &saved);
    }
    int rc = shared ? MPI_Win_allocate_shared((MPI_Aint) size, 1, info, comm, &w.base, &w.win)
                    : MPI_Win_allocate((MPI_Aint) size, 1, info, comm, &w.base, &w.win);
    if (victim == mt_rank) {
        CHECK(0 == setrlimit(resource, &saved));
    }
    CHECK_OK(MPI_Info_free(&info));
    CHECK_SAME(mt_class(rc));
    if (MPI_SUCCESS == rc) {
        put_ring(comm, &w);
        CHECK_OK(MPI_Win_free(&w.win));
    } else {
        CHECK(MPI_WIN_NULL == w.win);
        CHECK_INT(stats.windows_failed + 1, mt_stats().windows_failed);
    }
    check_goes_on(comm);
    CHECK_OK(MPI_Comm_free(&comm));
    CHECK_RESOURCES(&before, 8);
    return MPI_SUCCESS != rc;
}

static rlim_t lowest_free_descriptor(void)
{
    int fd = dup(STDIN_FILENO);
    CHECK(0 <= fd);
    (void) close(fd);
    return 0 <= fd ? (rlim_t) fd : 0;
}

/* With one more descriptor each time, so that each step that needs one fails once. */
static void fail_for_want_of_descriptors(bool shared)
{
    for (int victim = 0; victim < mt_size; ++victim) {
        int failed = 0;
        bool fails = true;
        for (int spare = 0; fails && spare < SPARE_MAX; ++spare) {
            mt_context("rank %d has %d descriptors left", victim, spare);
            fails = fails_with_limit(victim, RLIMIT_NOFILE,
                                     lowest_free_descriptor() + (rlim_t) spare, 10000, shared);
            failed += fails ? 1 : 0;
        }
        CHECK_MSG(0 < failed, "no creation failed");
        CHECK_MSG(failed < SPARE_MAX, "no creation succeeded");
    }
}

static void descriptors_run_out_at_every_step(void)
{
    fail_for_want_of_descriptors(false);
}

static void descriptors_run_out_at_every_step_of_shared(void)
{
    fail_for_want_of_descriptors(true);
}

static rlim_t address_space_in_use(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (CHECK(NULL != statm)) {
        CHECK(1 == fscanf(statm, "%lu", &pages));
        (void) fclose(statm);
    }
    return (rlim_t) pages * (rlim_t) sysconf(_SC_PAGESIZE);
}

static void address_space_runs_out(void)
{
#ifdef __SANITIZE_ADDRESS__
    mt_note("left out, the sanitizer itself needs addresses");
    return;
#endif
    if (SYMM_KIND_SYSTEM != mt_kind) {
        mt_note("left out, the CUDA driver itself needs addresses");
        return;
    }
    static const rlim_t spare[] = {(rlim_t) 1 << 20, (rlim_t) 8 << 20, (rlim_t) 30 << 20};
    for (int victim = 0; victim < mt_size; ++victim) {
        for (int i = 0; i < 3; ++i) {
            mt_context("rank %d has %lu bytes of addresses left", victim, (unsigned long) spare[i]);
            CHECK(fails_with_limit(victim, RLIMIT_AS, address_space_in_use() + spare[i],
                                   (size_t) 32 << 20, false));
        }
    }
}

/* Growing a file over the limit raises a signal, which must not end the program. */
static void file_size_is_limited(void)
{
    for (int victim = 0; victim < mt_size; ++victim) {
        mt_context("rank %d", victim);
        bool failed = fails_with_limit(victim, RLIMIT_FSIZE, 16, 100000, false);
        /* On a GPU only the control block is a file, and only its owner makes it. */
        CHECK(failed || SYMM_KIND_SYSTEM != mt_kind);
        (void) fails_with_limit(victim, RLIMIT_FSIZE, 16, 100000, true);
    }
}

static void size_is_beyond_the_address_space(void)
{
    static const MPI_Aint sizes[] = {(MPI_Aint) 1 << 47, LONG_MAX};
    for (int i = 0; i < 2; ++i) {
        for (int shared = 0; shared < 2; ++shared) {
            mt_resources_t before = mt_resources();
            char *base;
            MPI_Win win = MPI_WIN_NULL;
            MPI_Info info = mt_info();
            MPI_Aint mine = mt_rank == mt_size - 1 ? sizes[i] : 100;
            int rc = shared ? MPI_Win_allocate_shared(mine, 1, info, MPI_COMM_WORLD, &base, &win)
                            : MPI_Win_allocate(mine, 1, info, MPI_COMM_WORLD, &base, &win);
            CHECK(MPI_SUCCESS != rc);
            CHECK_SAME(mt_class(rc));
            CHECK_OK(MPI_Info_free(&info));
            CHECK_RESOURCES(&before, 4);
            check_goes_on(MPI_COMM_WORLD);
        }
    }
}

/* A failure among live windows harms none of them. */
static void live_windows_survive(void)
{
    mt_win_t w;
    if (!mt_allocate(3000, 1, MPI_COMM_WORLD, &w)) {
        return;
    }
    mt_fill(w.base, w.size, mt_seed(mt_rank, 1));
    mt_barrier();
    CHECK(fails_with_limit(mt_size - 1, RLIMIT_NOFILE, lowest_free_descriptor(), 10000, false));
    for (int r = 0; r < mt_size; ++r) {
        CHECK_PATTERN(mt_peer(&w, r), w.size, mt_seed(r, 1));
    }
    mt_barrier();
    put_ring(MPI_COMM_WORLD, &w);
    mt_win_free(&w);
}

int main(int argc, char **argv)
{
    mt_set_param("osc_symm_cache_bytes", "0"); /* a window from the cache needs nothing */
    mt_init(&argc, &argv, "win_fail");
    check_goes_on(MPI_COMM_WORLD); /* what is made once is made before anything is counted */
    MT_RUN(descriptors_run_out_at_every_step);
    MT_RUN(descriptors_run_out_at_every_step_of_shared);
    MT_RUN(address_space_runs_out);
    MT_RUN(file_size_is_limited);
    MT_RUN(size_is_beyond_the_address_space);
    MT_RUN(live_windows_survive);
    return mt_finish();
}
