/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Collectives whose ranks pass different things: other windows, other offsets, memory in no window,
 * late or mismatched calls. What can be served is, what cannot goes to the next component with the
 * right result, and what is wrong is one error on all ranks and no hang. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdlib.h>
#include <string.h>

#define LATE_MS 2000

/* Elements of calls that fit a slot, and of calls that do not. */
#define FEW  50
#define MANY 20000

/* A window has room for two inputs and two outputs of MANY integers, apart from one another. */
#define ROOM  ((size_t) MANY * sizeof(int) + 1024)
#define ROOMS 4

static mt_win_t first, second;     /* windows on the world */
static MPI_Comm old_dup, old_half; /* made before any window */
static uint64_t round_number;

/* ---- sums of integers ---- */

static int number(int rank, uint64_t round, size_t i)
{
    return (int) ((round * 31 + i) % 1000) * (rank + 1) + rank;
}

static int *new_numbers(size_t count)
{
    return mt_alloc(MT_HOST, (count + 1) * sizeof(int));
}

static void fill_numbers(void *at, size_t count, int rank, uint64_t round)
{
    int *numbers = new_numbers(count);
    for (size_t i = 0; i < count; ++i) {
        numbers[i] = number(rank, round, i);
    }
    mt_write(at, numbers, count * sizeof(int));
    mt_free(MT_HOST, numbers);
}

static void check_sums(const void *at, size_t count, int ranks, uint64_t round)
{
    int *got = new_numbers(count);
    size_t wrong = count;
    mt_read(got, at, count * sizeof(int));
    for (size_t i = 0; i < count && wrong == count; ++i) {
        int sum = 0;
        for (int r = 0; r < ranks; ++r) {
            sum += number(r, round, i);
        }
        wrong = sum == got[i] ? count : i;
    }
    CHECK_MSG(wrong == count, "sum %zu of %zu is wrong", wrong, count);
    mt_free(MT_HOST, got);
}

static void check_gathered(const void *at, size_t count, int ranks, uint64_t round)
{
    int *got = new_numbers(count * (size_t) ranks);
    bool right = true;
    mt_read(got, at, count * (size_t) ranks * sizeof(int));
    for (int r = 0; r < ranks; ++r) {
        for (size_t i = 0; i < count; ++i) {
            right = right && number(r, round, i) == got[(size_t) r * count + i];
        }
    }
    CHECK_MSG(right, "what was gathered is wrong");
    mt_free(MT_HOST, got);
}

/* How a call is to be done. */
typedef enum way { SERVED, PASSED, UNSEEN, ANY_WAY } way_t;

static void check_way(way_t way, const symm_stats_t *before)
{
    symm_stats_t now = mt_stats();
    switch (way) {
    case SERVED:
        CHECK_SERVED(before, NULL);
        break;
    case PASSED:
        CHECK_PASSED(before);
        break;
    case UNSEEN: /* not even agreed on */
        CHECK_INT(before->collectives, now.collectives);
        CHECK_INT(before->collectives_passed, now.collectives_passed);
        break;
    default:
        break;
    }
    CHECK_INT(before->collectives_mismatched, now.collectives_mismatched);
}

/* One allreduce on comm, whose ranks are 0 to ranks - 1. */
static void reduce(char *send, char *recv, size_t count, MPI_Comm comm, way_t way)
{
    int rank, ranks;
    uint64_t round = ++round_number;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &ranks));
    fill_numbers(send, count, rank, round);
    mt_poison(recv, count * sizeof(int));
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allreduce(send, recv, (int) count, MPI_INT, MPI_SUM, comm));
    check_way(way, &before);
    check_sums(recv, count, ranks, round);
}

/* One allgather on comm; recv has room for count integers of every rank. */
static void gather(char *send, char *recv, size_t count, MPI_Comm comm, way_t way)
{
    int rank, ranks;
    uint64_t round = ++round_number;
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &ranks));
    fill_numbers(send, count, rank, round);
    mt_poison(recv, count * (size_t) ranks * sizeof(int));
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allgather(send, (int) count, MPI_INT, recv, (int) count, MPI_INT, comm));
    check_way(way, &before);
    check_gathered(recv, count, ranks, round);
}

static bool make_windows(void)
{
    return mt_allocate(ROOMS * ROOM, 4, MPI_COMM_WORLD, &first) &&
           mt_allocate(ROOMS * ROOM + 100, 4, MPI_COMM_WORLD, &second);
}

static char *room_of(const mt_win_t *w, int room)
{
    return w->base + (size_t) room * ROOM;
}

static bool on_gpu(void)
{
    return SYMM_KIND_CUDA_DEVICE == mt_kind;
}

/* How a large reduction is done where some rank's memory is in no window: through scratch on GPUs,
 * by the next component on the host; with one rank all are served. */
static way_t passed_if_many(void)
{
    return on_gpu() ? SERVED : 1 < mt_size ? PASSED : ANY_WAY;
}

/* ---- different windows and offsets ---- */

static void windows_differ_between_ranks(void)
{
    const mt_win_t *mine = 0 == mt_rank % 2 ? &first : &second;
    const mt_win_t *other = 0 == mt_rank % 2 ? &second : &first;
    for (int i = 0; i < 4; ++i) {
        size_t count = 0 == i % 2 ? FEW : MANY;
        reduce(room_of(mine, 0), room_of(other, 1), count, MPI_COMM_WORLD, SERVED);
        reduce(room_of(mine, 0), room_of(mine, 1), count, MPI_COMM_WORLD, SERVED);
        gather(room_of(mine, 0), room_of(other, 1), count / (size_t) mt_size, MPI_COMM_WORLD,
               SERVED);
    }
}

static void offsets_differ_between_ranks(void)
{
    for (int i = 0; i < 6; ++i) {
        size_t count = 0 == i % 2 ? FEW : MANY;
        size_t send_at = (size_t) (mt_rank * (i + 1)) * 4;
        size_t recv_at = (size_t) ((mt_size - mt_rank) * (i + 3)) * 4;
        reduce(room_of(&first, mt_rank % 2) + send_at, room_of(&first, 2) + recv_at, count,
               MPI_COMM_WORLD, SERVED);
        gather(room_of(&first, mt_rank % 2) + send_at, room_of(&first, 2) + recv_at,
               count / (size_t) mt_size, MPI_COMM_WORLD, SERVED);
    }
}

static void windows_in_turn(void)
{
    for (int i = 0; i < 40; ++i) {
        const mt_win_t *w = 0 == i % 2 ? &first : &second;
        reduce(room_of(w, 0), room_of(w, 1), 0 == i % 3 ? FEW : MANY, MPI_COMM_WORLD, SERVED);
    }
}

#define CROWD 12

/* Windows come and go, and each rank picks its own: what it names must be found by all. */
static void any_of_many_windows(void)
{
    static mt_win_t w[CROWD];
    uint64_t state = (uint64_t) mt_rank;
    for (int i = 0; i < CROWD; ++i) {
        if (!mt_allocate(ROOMS * ROOM, 4, MPI_COMM_WORLD, &w[i])) {
            return;
        }
    }
    mt_win_free(&w[CROWD / 2]);
    for (int i = 0; i < 40; ++i) {
        const mt_win_t *from = &w[mt_random(&state) % (CROWD / 2)];
        const mt_win_t *to = &w[CROWD / 2 + 1 + mt_random(&state) % (CROWD / 2 - 1)];
        reduce(room_of(from, 0), room_of(to, 1), 2000, MPI_COMM_WORLD, SERVED);
    }
    for (int i = 0; i < CROWD; ++i) {
        if (i != CROWD / 2) {
            mt_win_free(&w[i]);
        }
    }
}

static void contiguous_shared_windows(void)
{
    mt_win_t w;
    size_t slack = 4 * (size_t) mt_rank; /* so that bases are aligned differently */
    if (mt_allocate_shared(2 * ROOM + slack, 4, false, MPI_COMM_WORLD, &w)) {
        for (int i = 0; i < 6; ++i) {
            size_t count = 0 == i % 2 ? FEW : MANY;
            reduce(w.base, w.base + ROOM, count, MPI_COMM_WORLD, SERVED);
            gather(w.base, w.base + ROOM, count / (size_t) mt_size, MPI_COMM_WORLD, SERVED);
        }
        mt_win_free(&w);
    }
}

/* Each rank's buffers lie in a peer's memory, which it knows the address of. */
static void buffers_in_a_peers_memory(void)
{
    char *peer = mt_peer(&first, (mt_rank + 1) % mt_size);
    for (int i = 0; i < 4; ++i) {
        size_t count = 0 == i % 2 ? FEW : MANY;
        reduce(peer, peer + ROOM, count, MPI_COMM_WORLD, SERVED);
        reduce(peer, room_of(&first, 2), count, MPI_COMM_WORLD, SERVED);
        gather(peer, peer + ROOM, count / (size_t) mt_size, MPI_COMM_WORLD, SERVED);
    }
    mt_barrier();
}

/* ---- memory in no window ---- */

/* In GPU memory outside any window where the windows are on a GPU, so that it can be worked on. */
static mt_memory_t near_memory(void)
{
    return on_gpu() ? MT_DEVICE : MT_HOST;
}

static void only_some_ranks_pass_window_memory(void)
{
    mt_memory_t memory = near_memory();
    char *outside = mt_alloc(memory, 2 * ROOM);
    for (int from = 0; from < mt_size; ++from) {
        bool in = mt_rank == from;
        char *send = in ? room_of(&first, 0) : outside;
        char *recv = in ? room_of(&first, 1) : outside + ROOM;
        mt_context("rank %d's are in the window", from);
        reduce(send, recv, MANY, MPI_COMM_WORLD, passed_if_many());
        reduce(send, recv, FEW, MPI_COMM_WORLD, SERVED);
        gather(send, recv, MANY / (size_t) mt_size, MPI_COMM_WORLD, ANY_WAY);
        gather(send, recv, FEW, MPI_COMM_WORLD, ANY_WAY);
        send = in ? outside : room_of(&first, 0);
        recv = in ? outside + ROOM : room_of(&first, 1);
        mt_context("rank %d's are not in the window", from);
        reduce(send, recv, MANY, MPI_COMM_WORLD, passed_if_many());
    }
    mt_free(memory, outside);
}

static void one_end_in_the_window(void)
{
    mt_memory_t memory = near_memory();
    char *outside = mt_alloc(memory, 2 * ROOM);
    reduce(room_of(&first, 0), outside, MANY, MPI_COMM_WORLD, SERVED);
    reduce(outside, room_of(&first, 1), MANY, MPI_COMM_WORLD, passed_if_many());
    gather(room_of(&first, 0), outside, MANY / (size_t) mt_size, MPI_COMM_WORLD, SERVED);
    gather(outside, room_of(&first, 1), MANY / (size_t) mt_size, MPI_COMM_WORLD, SERVED);
    if (0 == mt_rank) { /* and now each rank as it likes */
        reduce(room_of(&first, 0), outside, MANY, MPI_COMM_WORLD, ANY_WAY);
        gather(room_of(&first, 0), outside, 1000, MPI_COMM_WORLD, ANY_WAY);
    } else {
        reduce(outside, room_of(&first, 1), MANY, MPI_COMM_WORLD, ANY_WAY);
        gather(outside, room_of(&first, 1), 1000, MPI_COMM_WORLD, ANY_WAY);
    }
    mt_free(memory, outside);
}

static void all_outside_the_window(void)
{
    char *outside = mt_alloc(MT_HOST, 2 * ROOM);
    reduce(outside, outside + ROOM, MANY, MPI_COMM_WORLD, PASSED);
    reduce(outside, outside + ROOM, FEW, MPI_COMM_WORLD, SERVED); /* in the slots */
    gather(outside, outside + ROOM, MANY / (size_t) mt_size, MPI_COMM_WORLD, PASSED);
    mt_free(MT_HOST, outside);
}

/* Memory of every kind, another one on every rank and at both ends. */
static void host_and_device_memory_mixed(void)
{
    if (!mt_all(mt_has_memory(MT_DEVICE))) {
        mt_note("left out, there is no GPU");
        return;
    }
    char *buffers[4] = {mt_alloc(MT_HOST, 2 * ROOM), mt_alloc(MT_PINNED, 2 * ROOM),
                        mt_alloc(MT_DEVICE, 2 * ROOM), room_of(&first, 0)};
    for (int i = 0; i < 16; ++i) {
        char *send = buffers[(i + mt_rank) % 4];
        char *recv = buffers[(i / 4 + 2 * mt_rank) % 4] + ROOM;
        mt_context("combination %d", i);
        reduce(send, recv, MANY, MPI_COMM_WORLD, ANY_WAY);
        reduce(send, recv, FEW, MPI_COMM_WORLD, ANY_WAY);
        gather(send, recv, MANY / (size_t) mt_size, MPI_COMM_WORLD, ANY_WAY);
        gather(send, recv, FEW, MPI_COMM_WORLD, ANY_WAY);
    }
    for (int m = 0; m < MT_MEMORY_COUNT; ++m) {
        mt_free((mt_memory_t) m, buffers[m]);
    }
}

/* ---- time ---- */

static void late_rank_is_waited_for(void)
{
    for (int i = 0; i < 2 && 1 < mt_size; ++i) {
        if (mt_rank == (0 == i ? mt_size - 1 : 0)) {
            mt_sleep_ms(LATE_MS / 2);
        }
        reduce(room_of(&first, 0), room_of(&first, 1), 0 == i ? MANY : FEW, MPI_COMM_WORLD, SERVED);
        gather(room_of(&first, 0), room_of(&first, 1), FEW, MPI_COMM_WORLD, SERVED);
    }
}

#define MESSAGE_BYTES (8 << 20)

/* Rank 0 sends a message, too long to go without its receiver's help, to a rank that waits in the
 * collective; rank 0 comes to the collective only when it has been sent. */
static void waiting_moves_messages(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    char *message = calloc(1, MESSAGE_BYTES);
    MPI_Request request = MPI_REQUEST_NULL;
    if (mt_rank == mt_size - 1) {
        CHECK_OK(MPI_Irecv(message, MESSAGE_BYTES, MPI_CHAR, 0, 3, mt_comm, &request));
    }
    mt_barrier();
    if (0 == mt_rank) {
        mt_sleep_ms(100); /* so that the others wait already */
        CHECK_OK(MPI_Send(message, MESSAGE_BYTES, MPI_CHAR, mt_size - 1, 3, mt_comm));
    }
    reduce(room_of(&first, 0), room_of(&first, 1), MANY, MPI_COMM_WORLD, SERVED);
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free(message);
}

/* ---- calls that do not match ---- */

/* What differs on the last rank. */
typedef enum difference { COUNT, TYPE, OP, COLLECTIVE, BLOCK, DIFFERENCES } difference_t;

static int call_with(difference_t difference, char *send, char *recv, int count)
{
    bool differs = mt_rank == mt_size - 1;
    if (BLOCK == difference) {
        int block = differs ? count + 1 : count;
        return MPI_Allgather(send, block, MPI_INT, recv, block, MPI_INT, MPI_COMM_WORLD);
    }
    if (COLLECTIVE == difference) { /* of bytes: in nothing else do the two differ */
        return differs
                   ? MPI_Allgather(send, count, MPI_INT8_T, recv, count, MPI_INT8_T, MPI_COMM_WORLD)
                   : MPI_Allreduce(send, recv, count, MPI_INT8_T, MPI_SUM, MPI_COMM_WORLD);
    }
    return MPI_Allreduce(send, recv, COUNT == difference && differs ? count + 1 : count,
                         TYPE == difference && differs ? MPI_FLOAT : MPI_INT,
                         OP == difference && differs ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
}

static void check_mismatch(difference_t difference, char *send, char *recv, int count)
{
    size_t recv_len = (size_t) (count + 1) * (size_t) mt_size * sizeof(int);
    fill_numbers(send, (size_t) count + 1, mt_rank, 1);
    mt_poison(recv, recv_len);
    symm_stats_t before = mt_stats();
    int rc = call_with(difference, send, recv, count);
    CHECK_MSG(MPI_SUCCESS != rc, "a call that does not match was taken");
    CHECK_SAME(mt_class(rc));
    CHECK_INT(before.collectives_mismatched + 1, mt_stats().collectives_mismatched);
    CHECK_POISON(recv, recv_len);
}

static void mismatch_is_one_error_on_all_ranks(void)
{
    static const char *const names[DIFFERENCES] = {"count", "type", "operation", "collective",
                                                   "block of an allgather"};
    if (!mt_needs_ranks(2)) {
        return;
    }
    for (int d = 0; d < DIFFERENCES; ++d) {
        for (int few = 0; few < 2; ++few) {
            int count = few ? FEW : MANY / mt_size - 1;
            mt_context("%s, count %d", names[d], count);
            check_mismatch((difference_t) d, room_of(&first, 0), room_of(&first, 1), count);
            reduce(room_of(&first, 0), room_of(&first, 1), MANY, MPI_COMM_WORLD, SERVED);
        }
    }
}

static void mismatch_outside_windows_is_an_error_too(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    char *outside = mt_alloc(MT_HOST, 2 * ROOM);
    check_mismatch(COUNT, outside, outside + ROOM, MANY / mt_size - 1);
    check_mismatch(OP, outside, outside + ROOM, FEW);
    reduce(outside, outside + ROOM, MANY, MPI_COMM_WORLD, PASSED);
    mt_free(MT_HOST, outside);
}

/* ---- several communicators ---- */

static void two_communicators_in_turn(void)
{
    MPI_Comm dup;
    mt_win_t w;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    if (mt_allocate(ROOMS * ROOM, 4, dup, &w)) {
        for (int i = 0; i < 20; ++i) {
            size_t count = 0 == i % 3 ? FEW : MANY;
            reduce(room_of(&first, 0), room_of(&first, 1), count, MPI_COMM_WORLD, SERVED);
            reduce(room_of(&w, 0), room_of(&w, 1), count, dup, SERVED);
            gather(room_of(&w, 0), room_of(&w, 1), FEW, dup, SERVED);
        }
        mt_win_free(&w);
    }
    CHECK_OK(MPI_Comm_free(&dup));
}

static void windows_on_halves_of_the_world(void)
{
    MPI_Comm half;
    mt_win_t w;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, -mt_rank, &half)); /* in reverse */
    if (mt_allocate(ROOMS * ROOM, 4, half, &w)) {
        for (int i = 0; i < 6; ++i) {
            size_t count = 0 == i % 2 ? FEW : MANY;
            reduce(room_of(&w, 0), room_of(&w, 1), count, half, SERVED);
            reduce(room_of(&first, 0), room_of(&first, 1), count, MPI_COMM_WORLD, SERVED);
            gather(room_of(&w, 0), room_of(&w, 1), count / (size_t) mt_size, half, SERVED);
        }
        mt_win_free(&w);
    }
    CHECK_OK(MPI_Comm_free(&half));
}

/* Duplicates, subsets and other orders of a window's ranks use it, made before it or after. */
static void use_first_window_on(MPI_Comm comm, char *outside)
{
    int ranks;
    CHECK_OK(MPI_Comm_size(comm, &ranks));
    for (int i = 0; i < 4; ++i) {
        size_t count = 0 == i % 2 ? FEW : MANY;
        reduce(room_of(&first, 0), room_of(&first, 1), count, comm, SERVED);
        gather(room_of(&first, 0) + 8 * mt_rank, room_of(&first, 1), count / (size_t) ranks, comm,
               SERVED);
    }
    reduce(outside, outside + ROOM, MANY, comm, 1 < ranks ? PASSED : ANY_WAY);
    reduce(outside, outside + ROOM, FEW, comm, SERVED);
    gather(outside, outside + ROOM, 100, comm, SERVED);
}

static void communicators_inside_a_window_use_it(void)
{
    MPI_Comm dup, half, reversed;
    char *outside = mt_alloc(MT_HOST, 2 * ROOM);
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, 0, &half));
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -mt_rank, &reversed));
    MPI_Comm comms[] = {dup, half, reversed, MPI_COMM_SELF, old_dup, old_half};
    for (int i = 0; i < 6; ++i) {
        mt_context("communicator %d", i);
        use_first_window_on(comms[i], outside);
    }
    CHECK_OK(MPI_Comm_free(&dup));
    CHECK_OK(MPI_Comm_free(&half));
    CHECK_OK(MPI_Comm_free(&reversed));
    mt_free(MT_HOST, outside);
}

/* A communicator with a rank that is not in the window is none of our business. */
static void communicator_outside_the_window_is_left_alone(void)
{
    MPI_Comm half;
    mt_win_t w;
    char *outside = mt_alloc(MT_HOST, 2 * ROOM);
    mt_win_free(&first);
    mt_win_free(&second);
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, 0, &half));
    if (mt_allocate(ROOMS * ROOM, 4, half, &w)) {
        way_t way = 1 < mt_size ? UNSEEN : ANY_WAY;
        reduce(outside, outside + ROOM, MANY, MPI_COMM_WORLD, way);
        gather(outside, outside + ROOM, 100, old_dup, way);
        if (!on_gpu()) { /* window memory is host memory to all others */
            reduce(room_of(&w, 0), room_of(&w, 1), MANY, MPI_COMM_WORLD, way);
        }
        reduce(room_of(&w, 0), room_of(&w, 1), MANY, half, SERVED);
        mt_win_free(&w);
    }
    CHECK_OK(MPI_Comm_free(&half));
    mt_free(MT_HOST, outside);
    make_windows();
}

/* The communicator has a window, but the buffers lie in that of one with the same ranks. */
static void buffers_in_another_communicators_window(void)
{
    MPI_Comm dup;
    mt_win_t w;
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    if (mt_allocate(4 * ROOM, 4, dup, &w)) {
        reduce(room_of(&first, 0), room_of(&first, 1), MANY, dup, SERVED);
        reduce(room_of(&w, 0), room_of(&first, 1), MANY, dup, SERVED);
        gather(room_of(&first, 0), room_of(&w, 1), MANY / (size_t) mt_size, dup, SERVED);
        gather(room_of(&first, 0), room_of(&w, 1), MANY / (size_t) mt_size, old_dup, SERVED);
        reduce(room_of(&first, 0), room_of(&first, 1), FEW, dup, SERVED);
        mt_win_free(&w);
    }
    CHECK_OK(MPI_Comm_free(&dup));
}

/* A window on memory of another one's: collectives find the one that the memory is of. */
static void window_over_a_window(void)
{
    MPI_Win over;
    CHECK_OK(MPI_Win_create(room_of(&first, 1), (MPI_Aint) ROOM, 4, MPI_INFO_NULL, MPI_COMM_WORLD,
                            &over));
    for (int i = 0; i < 4; ++i) {
        size_t count = 0 == i % 2 ? FEW : MANY;
        reduce(room_of(&first, 0), room_of(&first, 1), count, MPI_COMM_WORLD, SERVED);
        reduce(room_of(&first, 1), room_of(&second, 1), count, old_dup, SERVED);
        gather(room_of(&first, 0), room_of(&first, 1), count / (size_t) mt_size, MPI_COMM_WORLD,
               SERVED);
    }
    CHECK_OK(MPI_Win_free(&over));
    reduce(room_of(&first, 0), room_of(&first, 1), MANY, MPI_COMM_WORLD, SERVED);
}

/* To merge it Open MPI calls collectives of its parts, with datatypes that are nobody's. */
static void intercommunicator_is_left_alone(void)
{
    MPI_Comm half, inter, merged;
    int mine = mt_rank + 1, sum = 0, expected = 0;
    if (!mt_needs_ranks(2)) {
        return;
    }
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, 0, &half));
    CHECK_OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mt_rank % 2, 5, &inter));
    for (int r = 1 - mt_rank % 2; r < mt_size; r += 2) {
        expected += r + 1;
    }
    CHECK_OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK_INT(expected, sum);
    CHECK_OK(MPI_Intercomm_merge(inter, mt_rank % 2, &merged));
    reduce(room_of(&first, 0), room_of(&first, 1), MANY, merged, SERVED);
    CHECK_OK(MPI_Comm_free(&merged));
    CHECK_OK(MPI_Comm_free(&inter));
    CHECK_OK(MPI_Comm_free(&half));
}

/* ---- what no plan knows, and types that few know ---- */

static void add_or_keep(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *len; ++i) { /* associative, and not commutative: the last that is not 0 */
        int *to = (int *) inout + i;
        *to = 0 != *to ? *to : ((int *) in)[i];
    }
}

static void user_operations(void)
{
    MPI_Op op;
    size_t count = 300;
    CHECK_OK(MPI_Op_create(add_or_keep, 0, &op));
    for (int i = 0; i < 3; ++i) {
        int *got = new_numbers(count);
        uint64_t round = ++round_number;
        fill_numbers(room_of(&first, 0), count, mt_rank, round);
        symm_stats_t before = mt_stats();
        CHECK_OK(MPI_Allreduce(room_of(&first, 0), room_of(&first, 1), (int) count, MPI_INT, op,
                               MPI_COMM_WORLD));
        CHECK_PASSED(&before);
        mt_read(got, room_of(&first, 1), count * sizeof(int));
        bool right = true;
        for (size_t k = 0; k < count; ++k) {
            int last = mt_size - 1;
            while (0 < last && 0 == number(last, round, k)) {
                --last;
            }
            right = right && number(last, round, k) == got[k];
        }
        CHECK_MSG(right, "the result is wrong");
        mt_free(MT_HOST, got);
    }
    CHECK_OK(MPI_Op_free(&op));
}

/* Pairs of a value and where it is, on all ranks another one. */
static void predefined_pairs(void)
{
    struct pair {
        int value, where;
    } mine[100], got[100];
    for (int i = 0; i < 100; ++i) {
        mine[i] = (struct pair){(i * 7 + mt_rank * 13) % 50, mt_rank};
    }
    mt_write(room_of(&first, 0), mine, sizeof(mine));
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allreduce(room_of(&first, 0), room_of(&first, 1), 100, MPI_2INT, MPI_MINLOC,
                           MPI_COMM_WORLD));
    CHECK_SERVED(&before, NULL);
    mt_read(got, room_of(&first, 1), sizeof(got));
    for (int i = 0; i < 100; ++i) {
        struct pair best = {i * 7 % 50, 0};
        for (int r = 1; r < mt_size; ++r) {
            int value = (i * 7 + r * 13) % 50;
            best = value < best.value ? (struct pair){value, r} : best;
        }
        CHECK(best.value == got[i].value && best.where == got[i].where);
    }
}

static void other_floating_types(void)
{
    double complex_numbers[60];
    long double long_numbers[30];
    for (int i = 0; i < 60; ++i) {
        complex_numbers[i] = i + mt_rank;
        long_numbers[i / 2] = i / 2 + mt_rank;
    }
    int ranks_sum = mt_size * (mt_size - 1) / 2;
    mt_write(room_of(&first, 0), complex_numbers, sizeof(complex_numbers));
    mt_write(room_of(&first, 2), long_numbers, sizeof(long_numbers));
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allreduce(room_of(&first, 0), room_of(&first, 1), 30, MPI_C_DOUBLE_COMPLEX,
                           MPI_SUM, MPI_COMM_WORLD));
    CHECK_SERVED(&before, NULL);
    before = mt_stats();
    CHECK_OK(MPI_Allreduce(room_of(&first, 2), room_of(&first, 3), 30, MPI_LONG_DOUBLE, MPI_SUM,
                           MPI_COMM_WORLD));
    if (SYMM_KIND_SYSTEM == mt_kind) {
        CHECK_SERVED(&before, NULL);
    } else {
        CHECK_PASSED(&before); /* GPUs have no such type */
    }
    mt_read(complex_numbers, room_of(&first, 1), sizeof(complex_numbers));
    mt_read(long_numbers, room_of(&first, 3), sizeof(long_numbers));
    for (int i = 0; i < 60; ++i) {
        CHECK(complex_numbers[i] == i * mt_size + ranks_sum);
        CHECK(long_numbers[i / 2] == i / 2 * mt_size + ranks_sum);
    }
}

static void add_with_gaps(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    for (int i = 0; i < *len; ++i) { /* each element is two integers, the second one a gap */
        ((int *) inout)[2 * i] += ((int *) in)[2 * i];
    }
}

/* Of each pair of integers one counts, and the other one must stay. */
static void derived_types_with_gaps(void)
{
    MPI_Datatype padded;
    MPI_Op op;
    int mine[200], got[200];
    CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 8, &padded));
    CHECK_OK(MPI_Type_commit(&padded));
    CHECK_OK(MPI_Op_create(add_with_gaps, 1, &op));
    for (int i = 0; i < 200; ++i) {
        mine[i] = 0 == i % 2 ? number(mt_rank, 5, (size_t) i) : -7;
        got[i] = -9;
    }
    mt_write(room_of(&first, 0), mine, sizeof(mine));
    mt_write(room_of(&first, 1), got, sizeof(got));
    symm_stats_t before = mt_stats();
    CHECK_OK(
        MPI_Allreduce(room_of(&first, 0), room_of(&first, 1), 100, padded, op, MPI_COMM_WORLD));
    CHECK_PASSED(&before);
    mt_read(got, room_of(&first, 1), sizeof(got));
    for (int i = 0; i < 200; i += 2) {
        int sum = 0;
        for (int r = 0; r < mt_size; ++r) {
            sum += number(r, 5, (size_t) i);
        }
        CHECK_INT(sum, got[i]);
    }
    CHECK_OK(MPI_Op_free(&op));
    CHECK_OK(MPI_Type_free(&padded));
}

/* A datatype without gaps whose pieces are not in memory order. */
static void gather_swapped(void)
{
    enum { COUNT_EACH = 40 };
    const int lengths[] = {1, 1}, places[] = {1, 0};
    MPI_Datatype swapped;
    size_t total = COUNT_EACH * (size_t) mt_size;
    int *got = new_numbers(total);
    CHECK_OK(MPI_Type_indexed(2, lengths, places, MPI_INT, &swapped));
    CHECK_OK(MPI_Type_commit(&swapped));
    fill_numbers(room_of(&first, 0), COUNT_EACH, mt_rank, 7);
    CHECK_OK(MPI_Allgather(room_of(&first, 0), COUNT_EACH / 2, swapped, room_of(&first, 1),
                           COUNT_EACH, MPI_INT, MPI_COMM_WORLD));
    mt_read(got, room_of(&first, 1), total * sizeof(int));
    for (size_t i = 0; i < total; ++i) {
        CHECK_INT(number((int) (i / COUNT_EACH), 7, i % COUNT_EACH ^ 1), got[i]);
    }
    CHECK_OK(MPI_Type_free(&swapped));
    mt_free(MT_HOST, got);
}

static void gather_into_gaps(void)
{
    MPI_Datatype padded;
    enum { COUNT_EACH = 40 };
    size_t total = COUNT_EACH * (size_t) mt_size;
    int *got = new_numbers(2 * total);
    CHECK_OK(MPI_Type_create_resized(MPI_INT, 0, 8, &padded));
    CHECK_OK(MPI_Type_commit(&padded));
    for (size_t i = 0; i < 2 * total; ++i) {
        got[i] = -9;
    }
    mt_write(room_of(&first, 1), got, 2 * total * sizeof(int));
    fill_numbers(room_of(&first, 0), COUNT_EACH, mt_rank, 6);
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allgather(room_of(&first, 0), COUNT_EACH, MPI_INT, room_of(&first, 1), COUNT_EACH,
                           padded, MPI_COMM_WORLD));
    bool gpu = SYMM_KIND_CUDA_DEVICE == mt_kind;
    CHECK_SERVED(&before, 1 == mt_size ? "local_copy"
                          : gpu        ? "copy_pull_typed"
                                       : "low_latency_push");
    mt_read(got, room_of(&first, 1), 2 * total * sizeof(int));
    for (size_t i = 0; i < total; ++i) {
        CHECK_INT(number((int) (i / COUNT_EACH), 6, i % COUNT_EACH), got[2 * i]);
        CHECK_INT(-9, got[2 * i + 1]);
    }
    CHECK_OK(MPI_Type_free(&padded));
    mt_free(MT_HOST, got);
}

/* ---- no collective of ours, and nothing to do ---- */

/* A communicator that is made with coll_symm_enable=false. */
static void ruled_out(void)
{
    MPI_Comm plain;
    MPI_Info info;
    int sum = 0;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "coll_symm_enable", "false"));
    CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &plain));
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allreduce(&mt_rank, &sum, 1, MPI_INT, MPI_SUM, plain));
    CHECK_INT(mt_size * (mt_size - 1) / 2, sum);
    symm_stats_t after = mt_stats();
    CHECK_INT(before.collectives, after.collectives);
    CHECK_INT(before.collectives_passed, after.collectives_passed);
    CHECK_OK(MPI_Comm_free(&plain));
    CHECK_OK(MPI_Info_free(&info));
}

/* The same on some of its ranks alone, which the others cannot know before there is a window. */
static void ruled_out_on_some_ranks(void)
{
    char *outside = mt_alloc(MT_HOST, 2 * ROOM);
    for (int who = 0; who < 2; ++who) { /* the last rank, or all others */
        MPI_Comm uneven;
        MPI_Info info;
        mt_win_t own;
        bool enabled = 1 == mt_size || (mt_size - 1 == mt_rank) == (1 == who);
        way_t way = 1 == mt_size ? ANY_WAY : UNSEEN;
        CHECK_OK(MPI_Info_create(&info));
        CHECK_OK(MPI_Info_set(info, "coll_symm_enable", enabled ? "true" : "false"));
        CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &uneven));
        reduce(outside, outside + ROOM, MANY, uneven, way);
        gather(outside, outside + ROOM, FEW, uneven, way);
        if (mt_allocate(ROOMS * ROOM, 4, uneven, &own)) {
            if (!on_gpu()) { /* other components know no GPU memory */
                reduce(room_of(&own, 0), room_of(&first, 1), MANY, uneven, way);
            }
            reduce(room_of(&first, 0), room_of(&first, 1), MANY, MPI_COMM_WORLD, SERVED);
            mt_win_free(&own);
        }
        reduce(outside, outside + ROOM, FEW, uneven, way);
        CHECK_OK(MPI_Comm_free(&uneven));
        CHECK_OK(MPI_Info_free(&info));
    }
    mt_free(MT_HOST, outside);
}

static void nothing_to_do(void)
{
    CHECK_OK(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_OK(MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD));
    reduce(room_of(&first, 0), room_of(&first, 1), FEW, MPI_COMM_WORLD, SERVED);
}

/* Both windows are freed, the second one last. */
static void collectives_after_the_window_is_freed(void)
{
    char *outside = mt_alloc(MT_HOST, 2 * ROOM);
    mt_win_free(&first);
    reduce(room_of(&second, 0), room_of(&second, 1), MANY, MPI_COMM_WORLD, SERVED);
    mt_win_free(&second);
    reduce(outside, outside + ROOM, MANY, MPI_COMM_WORLD, UNSEEN);
    reduce(outside, outside + ROOM, FEW, MPI_COMM_WORLD, UNSEEN);
    gather(outside, outside + ROOM, FEW, MPI_COMM_WORLD, UNSEEN);
    if (mt_allocate(ROOMS * ROOM, 4, MPI_COMM_WORLD, &first)) {
        reduce(room_of(&first, 0), room_of(&first, 1), MANY, MPI_COMM_WORLD, SERVED);
        mt_win_free(&first);
    }
    mt_free(MT_HOST, outside);
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "coll_agree");
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &old_dup));
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mt_rank % 2, 0, &old_half));
    if (make_windows()) {
        MT_RUN(windows_differ_between_ranks);
        MT_RUN(offsets_differ_between_ranks);
        MT_RUN(windows_in_turn);
        MT_RUN(any_of_many_windows);
        MT_RUN(contiguous_shared_windows);
        MT_RUN(buffers_in_a_peers_memory);
        MT_RUN(only_some_ranks_pass_window_memory);
        MT_RUN(one_end_in_the_window);
        MT_RUN(all_outside_the_window);
        MT_RUN(host_and_device_memory_mixed);
        MT_RUN(late_rank_is_waited_for);
        MT_RUN(waiting_moves_messages);
        MT_RUN(mismatch_is_one_error_on_all_ranks);
        MT_RUN(mismatch_outside_windows_is_an_error_too);
        MT_RUN(two_communicators_in_turn);
        MT_RUN(windows_on_halves_of_the_world);
        MT_RUN(communicators_inside_a_window_use_it);
        MT_RUN(communicator_outside_the_window_is_left_alone);
        MT_RUN(buffers_in_another_communicators_window);
        MT_RUN(window_over_a_window);
        MT_RUN(intercommunicator_is_left_alone);
        MT_RUN(user_operations);
        MT_RUN(predefined_pairs);
        MT_RUN(other_floating_types);
        MT_RUN(derived_types_with_gaps);
        MT_RUN(gather_into_gaps);
        MT_RUN(gather_swapped);
        MT_RUN(ruled_out);
        MT_RUN(ruled_out_on_some_ranks);
        MT_RUN(nothing_to_do);
        MT_RUN(collectives_after_the_window_is_freed);
    }
    CHECK_OK(MPI_Comm_free(&old_dup));
    CHECK_OK(MPI_Comm_free(&old_half));
    return mt_finish();
}
