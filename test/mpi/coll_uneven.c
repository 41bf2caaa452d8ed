/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The coll component is there on all ranks but the first: windows work, and no rank waits for that
 * one in an agreement it knows nothing of. Communicators without it are served. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdlib.h>
#include <string.h>

#define COUNT 3000
#define ROOM  (COUNT * sizeof(int))

/* Sums of what all ranks of comm have in the window, or in host memory where that is on a GPU,
 * which Open MPI's own components do not know. */
static void check_sums(MPI_Comm comm, const mt_win_t *w)
{
    int rank, ranks, numbers[COUNT];
    char *host = mt_alloc(MT_HOST, 2 * ROOM);
    bool served = MPI_COMM_WORLD != comm;
    char *at = served || SYMM_KIND_SYSTEM == mt_kind ? w->base : host;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &ranks));
    for (int i = 0; i < COUNT; ++i) {
        numbers[i] = i * (rank + 1);
    }
    mt_write(at, numbers, ROOM);
    mt_poison(at + ROOM, ROOM);
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allreduce(at, at + ROOM, COUNT, MPI_INT, MPI_SUM, comm));
    CHECK_INT(before.collectives + (served ? 1 : 0), mt_stats().collectives);
    mt_read(numbers, at + ROOM, ROOM);
    int wrong = 0;
    for (int i = 0; i < COUNT; ++i) {
        wrong += numbers[i] != i * ranks * (ranks + 1) / 2;
    }
    CHECK_INT(0, wrong);
    mt_free(MT_HOST, host);
}

static void window_of_all_ranks(void)
{
    mt_win_t w;
    if (mt_allocate(2 * ROOM, 4, MPI_COMM_WORLD, &w)) {
        check_sums(MPI_COMM_WORLD, &w);
        CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
        mt_win_free(&w);
    }
}

/* The window's communicator is served, and does not keep that of all ranks from its calls. */
static void window_of_the_others(void)
{
    MPI_Comm others;
    mt_win_t w, world;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0 == mt_rank ? MPI_UNDEFINED : 0, 0, &others));
    bool made = MPI_COMM_NULL != others && mt_allocate(2 * ROOM, 4, others, &w);
    if (mt_allocate(2 * ROOM, 4, MPI_COMM_WORLD, &world)) {
        for (int i = 0; i < 3; ++i) {
            if (made) {
                check_sums(others, &w);
            }
            check_sums(MPI_COMM_WORLD, &world);
        }
        mt_win_free(&world);
    }
    if (made) {
        mt_win_free(&w);
        CHECK_OK(MPI_Comm_free(&others));
    }
}

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (NULL != rank && 0 == strcmp(rank, "0")) {
        mt_set_param("coll", "^symm");
    }
    mt_init(&argc, &argv, "coll_uneven");
    if (1 == mt_size) {
        mt_skip("needs a rank with the component and one without");
    }
    MT_RUN(window_of_all_ranks);
    MT_RUN(window_of_the_others);
    return mt_finish();
}
