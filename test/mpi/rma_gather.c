/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Small operations that are gathered: many of them, to places next to each other and not, with
 * buffers that change at once after each call where MPI allows it, and mixed with large ones. Every
 * way to end them must end all. */
#include "symm_config.h"

#include "mpi_test.h"

#include <string.h>

/* Places for operations of up to PLACE bytes. */
#define PLACE       64
#define PLACES      5000
#define LARGE       ((size_t) 3 << 20)
#define WINDOW_SIZE (PLACES * PLACE + LARGE)

static mt_win_t window;
static uint64_t round_number;
static unsigned char origin[PLACES * PLACE];
static unsigned char large[LARGE];

typedef enum ending { END_FLUSH, END_FLUSH_LOCAL, END_UNLOCK, END_FENCE, ENDING_COUNT } ending_t;

static const char *const ending_names[] = {"flush", "flush_local", "unlock", "fence"};

static int right_of_me(void)
{
    return (mt_rank + 1) % mt_size;
}

static int left_of_me(void)
{
    return (mt_rank + mt_size - 1) % mt_size;
}

static void begin(ending_t ending)
{
    if (END_FENCE == ending) {
        CHECK_OK(MPI_Win_fence(0, window.win));
    } else {
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, right_of_me(), 0, window.win));
    }
}

static void end(ending_t ending)
{
    if (END_FENCE == ending) {
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
        return;
    }
    if (END_FLUSH == ending) {
        CHECK_OK(MPI_Win_flush(right_of_me(), window.win));
    } else if (END_FLUSH_LOCAL == ending) {
        CHECK_OK(MPI_Win_flush_local(right_of_me(), window.win));
        memset(origin, 0, sizeof(origin)); /* free to use */
    }
    CHECK_OK(MPI_Win_unlock(right_of_me(), window.win));
}

/* Which place the i-th operation goes to: `step` prime to PLACES visits all, not in order. */
static size_t place_of(int i, int step)
{
    return (size_t) ((long) i * step % PLACES) * PLACE;
}

static void put_all(ending_t ending, int len, int step)
{
    uint64_t round = ++round_number;
    mt_context("%d puts of %d bytes, every %d-th place, %s", PLACES, len, step,
               ending_names[ending]);
    mt_pattern(origin, sizeof(origin), mt_seed(mt_rank, round));
    mt_poison(window.base, WINDOW_SIZE);
    mt_barrier();
    begin(ending);
    for (int i = 0; i < PLACES; ++i) {
        size_t at = place_of(i, step);
        CHECK_OK(MPI_Put(origin + at, len, MPI_BYTE, right_of_me(), (MPI_Aint) at, len, MPI_BYTE,
                         window.win));
    }
    end(ending);
    mt_barrier();
    static unsigned char expected[PLACES * PLACE], got[PLACES * PLACE];
    mt_pattern(expected, sizeof(expected), mt_seed(left_of_me(), round));
    mt_read(got, window.base, sizeof(got));
    for (size_t at = 0; at < sizeof(got); at += PLACE) {
        static const unsigned char poison[PLACE] = {[0 ... PLACE - 1] = 0xa5};
        if (!CHECK_MSG(0 == memcmp(expected + at, got + at, (size_t) len), "data at %zu", at) ||
            !CHECK_MSG(0 == memcmp(poison, got + at + len, (size_t) (PLACE - len)),
                       "memory behind %zu", at)) {
            break;
        }
    }
    mt_barrier();
}

static void puts_to_everywhere(void)
{
    static const int lens[] = {1, 3, 8, 16, 37, PLACE};
    for (int ending = 0; ending < ENDING_COUNT; ++ending) {
        for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); ++i) {
            put_all((ending_t) ending, lens[i], 1);
            put_all((ending_t) ending, lens[i], 1337);
        }
    }
}

static void get_all(int len, int step)
{
    uint64_t round = ++round_number;
    mt_context("%d gets of %d bytes, every %d-th place", PLACES, len, step);
    mt_fill(window.base, PLACES * PLACE, mt_seed(mt_rank, round));
    memset(origin, 0xee, sizeof(origin));
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    for (int i = 0; i < PLACES; ++i) {
        size_t at = place_of(i, step);
        CHECK_OK(MPI_Get(origin + at, len, MPI_BYTE, right_of_me(), (MPI_Aint) at, len, MPI_BYTE,
                         window.win));
    }
    CHECK_OK(MPI_Win_flush_local_all(window.win));
    static unsigned char expected[PLACES * PLACE];
    mt_pattern(expected, sizeof(expected), mt_seed(right_of_me(), round));
    for (size_t at = 0; at < sizeof(origin); at += PLACE) {
        if (!CHECK_MSG(0 == memcmp(expected + at, origin + at, (size_t) len) &&
                           (PLACE == len || 0xee == origin[at + (size_t) len]),
                       "data at %zu", at)) {
            break;
        }
    }
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
}

static void gets_from_everywhere(void)
{
    get_all(8, 1);
    get_all(8, 1337);
    get_all(PLACE, 1);
    get_all(13, 1337);
}

/* A flush ends large and small ones, whatever the order in which they were started. */
static void large_ones_between(void)
{
    uint64_t round = ++round_number;
    mt_pattern(origin, sizeof(origin), mt_seed(mt_rank, round));
    mt_pattern(large, sizeof(large), mt_seed(mt_rank, round + 1));
    mt_poison(window.base, WINDOW_SIZE);
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    for (int i = 0; i < 30; ++i) {
        size_t part = LARGE / 30;
        size_t at = (size_t) i * PLACE;
        MPI_Aint large_at = (MPI_Aint) (PLACES * PLACE + (size_t) i * part);
        CHECK_OK(MPI_Put(origin + at, PLACE, MPI_BYTE, right_of_me(), (MPI_Aint) at, PLACE,
                         MPI_BYTE, window.win));
        CHECK_OK(MPI_Put(large + (size_t) i * part, (int) part, MPI_BYTE, right_of_me(), large_at,
                         (int) part, MPI_BYTE, window.win));
    }
    CHECK_OK(MPI_Win_flush_all(window.win));
    mt_barrier();
    CHECK_PATTERN(window.base, 30 * PLACE, mt_seed(left_of_me(), round));
    CHECK_PATTERN(window.base + PLACES * PLACE, LARGE / 30 * 30, mt_seed(left_of_me(), round + 1));
    CHECK_OK(MPI_Win_unlock_all(window.win));
    round_number += 2;
    mt_barrier();
}

/* A thousand of each are one launch on a GPU, none on the host. */
static void thousands_are_one_launch(void)
{
    enum { COUNT = 1000 };
    static int64_t values[COUNT];
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_OK(MPI_Win_flush_all(window.win));
    for (int get = 0; get < 2; ++get) {
        symm_stats_t before = mt_stats();
        for (int i = 0; i < COUNT; ++i) {
            MPI_Aint at = PLACE * (COUNT - i);
            CHECK_OK(get ? MPI_Get(&values[i], 1, MPI_INT64_T, right_of_me(), at, 1, MPI_INT64_T,
                                   window.win)
                         : MPI_Put(&values[i], 1, MPI_INT64_T, right_of_me(), at, 1, MPI_INT64_T,
                                   window.win));
        }
        CHECK_OK(MPI_Win_flush(right_of_me(), window.win));
        CHECK_INT(SYMM_KIND_CUDA_DEVICE == mt_kind ? 1 : 0, mt_stats().kernels - before.kernels);
    }
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
}

/* Nothing but MPI's progress is needed for what was put to arrive. */
static void progress_alone(void)
{
    uint64_t value = mt_seed(mt_rank, ++round_number),
             expected = mt_seed(left_of_me(), round_number);
    uint64_t got = 0;
    int flag;
    mt_poison(window.base, sizeof(got));
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_OK(MPI_Put(&value, 1, MPI_UINT64_T, right_of_me(), 0, 1, MPI_UINT64_T, window.win));
    for (int i = 0; i < 2000 && expected != got; ++i) {
        CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, 0, mt_comm, &flag, MPI_STATUS_IGNORE));
        mt_sleep_ms(1);
        mt_read(&got, window.base, sizeof(got));
    }
    CHECK(expected == got);
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "rma_gather");
    if (mt_allocate(WINDOW_SIZE, 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(puts_to_everywhere);
        MT_RUN(gets_from_everywhere);
        MT_RUN(large_ones_between);
        MT_RUN(thousands_are_one_launch);
        MT_RUN(progress_alone);
        mt_win_free(&window);
    }
    return mt_finish();
}
