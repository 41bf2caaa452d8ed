/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Ranks that do not come to a collective, or do not go on with it: with coll_symm_timeout the
 * others get an error, and so does the rank that comes when they have gone. Each case has a
 * communicator of its own, which is broken then; other communicators are not. */
#include "symm_config.h"

#include "mpi_test.h"

#include <mpi-ext.h>
#include <stdatomic.h>
#include <stdlib.h>

#if MPI_VERSION >= 4
#    define allreduce_init MPI_Allreduce_init
#else
#    define allreduce_init MPIX_Allreduce_init
#endif

#define TIMEOUT 2 /* seconds */
#define SMALL   20
#define LARGE   30000
#define ROOM    ((size_t) LARGE * sizeof(int) * 16)
#define TAG     5

static mt_win_t world_window;
static MPI_Win flag_window;
static _Atomic int *flag; /* of the last rank: how many have given up on it; host memory */

/* ---- the calls ---- */

typedef struct place {
    MPI_Comm comm;
    mt_win_t window;
} place_t;

typedef int call_fn_t(const place_t *place);

static int *input_of(const place_t *place)
{
    return (int *) (void *) place->window.base;
}

static int *output_of(const place_t *place)
{
    return (int *) (void *) (place->window.base + ROOM);
}

static int small_allreduce(const place_t *place)
{
    return MPI_Allreduce(input_of(place), output_of(place), SMALL, MPI_INT, MPI_SUM, place->comm);
}

static int large_allreduce(const place_t *place)
{
    return MPI_Allreduce(input_of(place), output_of(place), LARGE, MPI_INT, MPI_SUM, place->comm);
}

static int reduce_scatter_in_place(const place_t *place)
{
    return MPI_Reduce_scatter_block(MPI_IN_PLACE, output_of(place), LARGE / mt_size, MPI_INT,
                                    MPI_SUM, place->comm);
}

static int broadcast(const place_t *place)
{
    return MPI_Bcast(output_of(place), LARGE, MPI_INT, mt_size - 1, place->comm);
}

/* For whose root alone the others wait, which is the late one. */
static int small_broadcast(const place_t *place)
{
    return MPI_Bcast(output_of(place), SMALL, MPI_INT, mt_size - 1, place->comm);
}

static int all_to_all_v(const place_t *place)
{
    int counts[16], places[16];
    for (int r = 0; r < mt_size; ++r) {
        counts[r] = SMALL;
        places[r] = r * SMALL;
    }
    return MPI_Alltoallv(input_of(place), counts, places, MPI_INT, output_of(place), counts, places,
                         MPI_INT, place->comm);
}

static int barrier(const place_t *place)
{
    return MPI_Barrier(place->comm);
}

static int nonblocking_allgather(const place_t *place)
{
    MPI_Request request;
    int rc = MPI_Iallgather(input_of(place), LARGE / mt_size, MPI_INT, output_of(place),
                            LARGE / mt_size, MPI_INT, place->comm, &request);
    return MPI_SUCCESS == rc ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

/* More in flight than the ring has places. */
static int many_in_flight(const place_t *place)
{
    enum { FLIGHTS = 20 };
    MPI_Request requests[FLIGHTS];
    int rc = MPI_SUCCESS;
    for (int i = 0; i < FLIGHTS; ++i) {
        CHECK_OK(MPI_Iallreduce(input_of(place) + i, output_of(place) + i * SMALL, SMALL, MPI_INT,
                                MPI_SUM, place->comm, &requests[i]));
    }
    for (int i = 0; i < FLIGHTS; ++i) {
        int ended = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        CHECK(0 == i || mt_class(ended) == mt_class(rc));
        rc = ended;
    }
    return rc;
}

static call_fn_t *const calls[] = {
    small_allreduce, large_allreduce, reduce_scatter_in_place, broadcast,      small_broadcast,
    all_to_all_v,    barrier,         nonblocking_allgather,   many_in_flight, small_allreduce};
static const char *const names[] = {"a small allreduce",
                                    "a large allreduce",
                                    "reduce_scatter_block",
                                    "bcast",
                                    "a small bcast",
                                    "alltoallv",
                                    "barrier",
                                    "iallgather",
                                    "many in flight"};
#define CALLS (sizeof(names) / sizeof(names[0]))

/* ---- places ---- */

static bool is_late(void)
{
    return mt_size - 1 == mt_rank;
}

static bool make_place(place_t *place)
{
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &place->comm));
    return mt_allocate(2 * ROOM, 4, place->comm, &place->window);
}

static void free_place(place_t *place)
{
    mt_win_free(&place->window);
    CHECK_OK(MPI_Comm_free(&place->comm));
}

/* Sums of integers in the window of the world, which nothing here may break. */
static void check_world(void)
{
    int mine[SMALL], got[SMALL];
    for (int i = 0; i < SMALL; ++i) {
        mine[i] = i + mt_rank;
    }
    mt_write(world_window.base, mine, sizeof(mine));
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allreduce(world_window.base, world_window.base + ROOM, SMALL, MPI_INT, MPI_SUM,
                           MPI_COMM_WORLD));
    CHECK_SERVED(&before, NULL);
    mt_read(got, world_window.base + ROOM, sizeof(got));
    for (int i = 0; i < SMALL; ++i) {
        CHECK_INT(i * mt_size + mt_size * (mt_size - 1) / 2, got[i]);
    }
}

/* ---- the tests ---- */

/* The late rank comes when all the others have told it, in messages, that they have gone. */
static void wait_for_the_others(void)
{
    for (int r = 0; r < mt_size - 1; ++r) {
        CHECK_OK(MPI_Recv(NULL, 0, MPI_INT, r, TAG, mt_comm, MPI_STATUS_IGNORE));
    }
}

static void check_late(const place_t *place, call_fn_t *call)
{
    symm_stats_t before = mt_stats();
    double start = MPI_Wtime();
    if (is_late()) {
        wait_for_the_others();
        CHECK_CLASS(MPI_ERR_OTHER, call(place));
    } else {
        CHECK_CLASS(MPI_ERR_OTHER, call(place));
        CHECK(0.9 * TIMEOUT < MPI_Wtime() - start);
        CHECK_OK(MPI_Send(NULL, 0, MPI_INT, mt_size - 1, TAG, mt_comm));
    }
    symm_stats_t after = mt_stats();
    CHECK_INT(before.collectives, after.collectives);
    CHECK_INT(before.kernels, after.kernels); /* nothing was begun on a GPU */
}

/* Later calls are errors at once: each rank in turn makes one that no other makes. */
static void check_broken(const place_t *place, call_fn_t *call)
{
    for (int r = 0; r < mt_size; ++r) {
        mt_barrier();
        double start = MPI_Wtime();
        if (r == mt_rank) {
            CHECK_CLASS(MPI_ERR_OTHER, call(place));
            CHECK(TIMEOUT > MPI_Wtime() - start);
        }
    }
}

static void late_rank_is_given_up(void)
{
    place_t place;
    if (!mt_needs_ranks(2)) {
        return;
    }
    for (size_t i = 0; i < CALLS && make_place(&place); ++i) {
        mt_context("%s", names[i]);
        CHECK_OK(calls[i](&place));
        mt_barrier();
        check_late(&place, calls[i]);
        check_broken(&place, calls[i]);
        check_broken(&place, calls[i + 1]);
        check_world();
        free_place(&place);
    }
}

/* The last rank starts a call and makes no progress until the others have done their part of it and
 * given up. */
static void rank_without_progress_is_given_up(void)
{
    place_t place;
    MPI_Request request;
    if (!mt_needs_ranks(2) || !make_place(&place)) {
        return;
    }
    atomic_store(flag, 0);
    CHECK_OK(large_allreduce(&place));
    if (!is_late()) {
        CHECK_OK(MPI_Recv(NULL, 0, MPI_INT, mt_size - 1, TAG, mt_comm, MPI_STATUS_IGNORE));
    } else {
        CHECK_OK(MPI_Iallreduce(input_of(&place), output_of(&place), LARGE, MPI_INT, MPI_SUM,
                                place.comm, &request));
        for (int r = 0; r < mt_size - 1; ++r) {
            CHECK_OK(MPI_Send(NULL, 0, MPI_INT, r, TAG, mt_comm));
        }
        while (mt_size - 1 > atomic_load(flag)) {
            mt_sleep_ms(20);
        }
    }
    if (!is_late()) {
        CHECK_OK(MPI_Iallreduce(input_of(&place), output_of(&place), LARGE, MPI_INT, MPI_SUM,
                                place.comm, &request));
    }
    CHECK_CLASS(MPI_ERR_OTHER, MPI_Wait(&request, MPI_STATUS_IGNORE));
    atomic_fetch_add(flag, 1);
    check_broken(&place, large_allreduce);
    check_world();
    free_place(&place);
}

/* All have made the request; the last rank starts it when the others have given up. */
static void late_start_is_given_up(void)
{
    place_t place;
    MPI_Request request;
    if (!mt_needs_ranks(2) || !make_place(&place)) {
        return;
    }
    CHECK_OK(allreduce_init(input_of(&place), output_of(&place), LARGE, MPI_INT, MPI_SUM,
                            place.comm, MPI_INFO_NULL, &request));
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (is_late()) {
        wait_for_the_others();
    }
    CHECK_OK(MPI_Start(&request));
    CHECK_CLASS(MPI_ERR_OTHER, MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (!is_late()) {
        CHECK_OK(MPI_Send(NULL, 0, MPI_INT, mt_size - 1, TAG, mt_comm));
    }
    if (MPI_REQUEST_NULL != request) { /* Open MPI frees it, for the error */
        CHECK_OK(MPI_Request_free(&request));
    }
    check_broken(&place, large_allreduce);
    free_place(&place);
}

/* Rank 0 computes for longer than it would wait, and the others come after that. */
static void own_computing_does_not_count(void)
{
    place_t place;
    MPI_Request request;
    if (!make_place(&place)) {
        return;
    }
    mt_sleep_ms(0 == mt_rank ? 0 : TIMEOUT * 1000 + 300);
    CHECK_OK(MPI_Iallreduce(input_of(&place), output_of(&place), LARGE, MPI_INT, MPI_SUM,
                            place.comm, &request));
    mt_sleep_ms(0 == mt_rank ? TIMEOUT * 1000 : 0);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(small_allreduce(&place));
    free_place(&place);
}

static void late_rank_in_time_is_waited_for(void)
{
    place_t place;
    for (size_t i = 0; i < CALLS && make_place(&place); ++i) {
        mt_context("%s", names[i]);
        if (is_late()) {
            mt_sleep_ms(100);
        }
        CHECK_OK(calls[i](&place));
        free_place(&place);
    }
}

static bool make_windows(void)
{
    MPI_Info info;
    void *mine;
    MPI_Aint size;
    int unit;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, SYMM_INFO_MEMORY_KIND, "system"));
    bool made =
        CHECK_OK(MPI_Win_allocate(sizeof(*flag), 1, info, MPI_COMM_WORLD, &mine, &flag_window));
    CHECK_OK(MPI_Info_free(&info));
    if (mt_all(made)) {
        CHECK_OK(MPI_Win_shared_query(flag_window, mt_size - 1, &size, &unit, &flag));
    }
    return mt_all(made) && mt_allocate(2 * ROOM, 4, MPI_COMM_WORLD, &world_window);
}

int main(int argc, char **argv)
{
    mt_set_param("coll_symm_timeout", "2");
    mt_init(&argc, &argv, "coll_late");
    if (make_windows()) {
        MT_RUN(late_rank_is_given_up);
        MT_RUN(rank_without_progress_is_given_up);
        MT_RUN(late_start_is_given_up);
        MT_RUN(own_computing_does_not_count);
        MT_RUN(late_rank_in_time_is_waited_for);
        mt_win_free(&world_window);
        CHECK_OK(MPI_Win_free(&flag_window));
    }
    return mt_finish();
}
