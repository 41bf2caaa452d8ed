/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Contiguous put and get: from and to memory of every kind, of all sizes and alignments, within
 * every kind of epoch, between every two ranks and with oneself. Bytes around what is moved must
 * stay. */
#include "symm_config.h"

#include "mpi_test.h"

#include <string.h>

/* Every rank's part of the window: one area that others access, one that it moves from and to. */
#define AREA        ((size_t) 9 << 20)
#define LARGEST     ((size_t) 8 << 20)
#define WINDOW_SIZE (2 * AREA)

static mt_win_t window;
static mt_win_t other_window; /* of host memory */
static uint64_t round_number;

/* ---- epochs ---- */

typedef enum epoch {
    FENCE,
    LOCK_SHARED,
    LOCK_EXCLUSIVE,
    LOCK_ALL,
    FLUSH,
    FLUSH_ALL,
    FLUSH_LOCAL,
    FLUSH_LOCAL_ALL,
    POST_START,
    EPOCH_COUNT,
} epoch_t;

static const char *const epoch_names[EPOCH_COUNT] = {
    "fence",     "shared lock", "exclusive lock",  "lock_all",  "flush",
    "flush_all", "flush_local", "flush_local_all", "post/start"};

static MPI_Group group_of(int rank)
{
    MPI_Group world, one;
    CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    CHECK_OK(MPI_Group_incl(world, 1, &rank, &one));
    CHECK_OK(MPI_Group_free(&world));
    return one;
}

static void open_exposure(int origin, int target)
{
    MPI_Group origins = group_of(origin);
    MPI_Group targets = group_of(target);
    CHECK_OK(MPI_Win_post(origins, 0, window.win));
    CHECK_OK(MPI_Win_start(targets, 0, window.win));
    CHECK_OK(MPI_Group_free(&origins));
    CHECK_OK(MPI_Group_free(&targets));
}

/* Opens an epoch to access target; origin is the rank that accesses us. */
static void open_epoch(epoch_t epoch, int origin, int target)
{
    switch (epoch) {
    case FENCE:
        CHECK_OK(MPI_Win_fence(0, window.win));
        break;
    case LOCK_SHARED:
        CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window.win));
        break;
    case LOCK_EXCLUSIVE:
        CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.win));
        break;
    case POST_START:
        open_exposure(origin, target);
        break;
    default:
        CHECK_OK(MPI_Win_lock_all(0, window.win));
        break;
    }
}

/* Completes the operations on the origin's side, for those epochs that can before they end. */
static void flush_epoch(epoch_t epoch, int target)
{
    switch (epoch) {
    case FLUSH:
        CHECK_OK(MPI_Win_flush(target, window.win));
        break;
    case FLUSH_ALL:
        CHECK_OK(MPI_Win_flush_all(window.win));
        break;
    case FLUSH_LOCAL:
        CHECK_OK(MPI_Win_flush_local(target, window.win));
        break;
    case FLUSH_LOCAL_ALL:
        CHECK_OK(MPI_Win_flush_local_all(window.win));
        break;
    default:
        break;
    }
}

static bool flushes(epoch_t epoch)
{
    return FLUSH <= epoch && FLUSH_LOCAL_ALL >= epoch;
}

static void close_epoch(epoch_t epoch, int target)
{
    switch (epoch) {
    case FENCE:
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
        break;
    case LOCK_SHARED:
    case LOCK_EXCLUSIVE:
        CHECK_OK(MPI_Win_unlock(target, window.win));
        break;
    case POST_START:
        CHECK_OK(MPI_Win_complete(window.win));
        CHECK_OK(MPI_Win_wait(window.win));
        break;
    default:
        CHECK_OK(MPI_Win_unlock_all(window.win));
        break;
    }
}

/* ---- where the origin's buffer is ---- */

typedef enum place {
    PLACE_HOST,
    PLACE_PINNED,
    PLACE_DEVICE,
    PLACE_WINDOW,       /* the same window, own memory */
    PLACE_PEER,         /* the same window, the right neighbour's memory */
    PLACE_OTHER_WINDOW, /* a window of host memory */
    PLACE_COUNT,
} place_t;

static const char *const place_names[PLACE_COUNT] = {
    "host memory",       "pinned memory",          "device memory",
    "own window memory", "a peer's window memory", "another window"};

/* Plain buffers by mt_memory_t, made once. */
static char *buffers[MT_MEMORY_COUNT];

static bool has_place(place_t place)
{
    return PLACE_WINDOW <= place || mt_has_memory((mt_memory_t) place);
}

/* A buffer of AREA bytes for this rank alone. */
static char *buffer_in(place_t place)
{
    switch (place) {
    case PLACE_WINDOW:
        return window.base + AREA;
    case PLACE_PEER:
        return mt_peer(&window, (mt_rank + 1) % mt_size) + AREA;
    case PLACE_OTHER_WINDOW:
        return other_window.base;
    default:
        if (NULL == buffers[place]) {
            buffers[place] = mt_alloc((mt_memory_t) place, AREA);
        }
        return buffers[place];
    }
}

/* ---- one transfer a rank, all at once ---- */

typedef struct transfer {
    place_t place;
    epoch_t epoch;
    int shift; /* the target is that many ranks further */
    size_t len;
    size_t target_at; /* bytes, at least MT_GUARD */
    size_t origin_at;
} transfer_t;

static void say(const char *what, const transfer_t *t)
{
    mt_context("%s of %zu bytes, %s at %zu, rank + %d at %zu, %s", what, t->len,
               place_names[t->place], t->origin_at, t->shift, t->target_at, epoch_names[t->epoch]);
}

static void poison_around(char *at, size_t len)
{
    mt_poison(at - MT_GUARD, len + 2 * MT_GUARD);
}

static void check_around(const char *at, size_t len)
{
    CHECK_POISON(at - MT_GUARD, MT_GUARD);
    CHECK_POISON(at + len, MT_GUARD);
}

static void put_once(const transfer_t *t)
{
    int target = (mt_rank + t->shift) % mt_size;
    int origin = (mt_rank + mt_size - t->shift) % mt_size;
    char *from = buffer_in(t->place) + t->origin_at;
    char *mine = window.base + t->target_at;
    uint64_t round = ++round_number;
    say("put", t);
    poison_around(mine, t->len);
    mt_fill(from, t->len, mt_seed(mt_rank, round));
    mt_barrier();
    open_epoch(t->epoch, origin, target);
    CHECK_OK(MPI_Put(from, (int) t->len, MPI_BYTE, target, (MPI_Aint) t->target_at, (int) t->len,
                     MPI_BYTE, window.win));
    flush_epoch(t->epoch, target);
    if (flushes(t->epoch)) {
        mt_poison(from, t->len); /* the buffer may be used again, whatever its data is up to */
    }
    close_epoch(t->epoch, target);
    mt_barrier();
    CHECK_PATTERN(mine, t->len, mt_seed(origin, round));
    check_around(mine, t->len);
    if (!flushes(t->epoch)) {
        CHECK_PATTERN(from, t->len, mt_seed(mt_rank, round));
    }
    mt_barrier();
}

static void get_once(const transfer_t *t)
{
    int target = (mt_rank + t->shift) % mt_size;
    int origin = (mt_rank + mt_size - t->shift) % mt_size;
    char *to = buffer_in(t->place) + t->origin_at;
    char *mine = window.base + t->target_at;
    uint64_t round = ++round_number;
    say("get", t);
    poison_around(to, t->len);
    mt_fill(mine, t->len, mt_seed(mt_rank, round));
    mt_barrier();
    open_epoch(t->epoch, origin, target);
    CHECK_OK(MPI_Get(to, (int) t->len, MPI_BYTE, target, (MPI_Aint) t->target_at, (int) t->len,
                     MPI_BYTE, window.win));
    flush_epoch(t->epoch, target);
    if (flushes(t->epoch)) {
        CHECK_PATTERN(to, t->len, mt_seed(target, round));
    }
    close_epoch(t->epoch, target);
    CHECK_PATTERN(to, t->len, mt_seed(target, round));
    check_around(to, t->len);
    CHECK_PATTERN(mine, t->len, mt_seed(mt_rank, round));
    mt_barrier();
}

static void both(const transfer_t *t)
{
    put_once(t);
    get_once(t);
}

/* ---- the tests ---- */

static const size_t small_sizes[] = {0, 1, 7, 8, 4095, 4096};
static const size_t large_sizes[] = {((size_t) 1 << 20) + 3, LARGEST};
#define SMALL_SIZES (sizeof(small_sizes) / sizeof(small_sizes[0]))

static void every_epoch_to_every_rank(void)
{
    for (int epoch = 0; epoch < EPOCH_COUNT; ++epoch) {
        for (int shift = 0; shift < mt_size; ++shift) {
            for (size_t i = 0; i < SMALL_SIZES; i += 2 >= mt_size ? 1 : 2) {
                transfer_t t = {.place = PLACE_HOST,
                                .epoch = (epoch_t) epoch,
                                .shift = shift,
                                .len = small_sizes[i],
                                .target_at = MT_GUARD + (size_t) (3 * epoch),
                                .origin_at = MT_GUARD + (size_t) shift};
                both(&t);
            }
        }
    }
}

/* Offsets of origin and target, the same or not modulo any vector's size. */
static const size_t offsets[][2] = {{0, 0}, {1, 0}, {0, 1}, {5, 5}, {13, 4}, {4096, 8}};
#define OFFSETS (sizeof(offsets) / sizeof(offsets[0]))

static void every_place_size_and_offset(void)
{
    for (int place = 0; place < PLACE_COUNT; ++place) {
        if (!has_place((place_t) place)) {
            mt_note("%s left out, there is no GPU", place_names[place]);
            continue;
        }
        for (size_t i = 0; i < SMALL_SIZES; ++i) {
            for (size_t j = 0; j < OFFSETS; j += 2 >= mt_size ? 1 : 3) {
                transfer_t t = {.place = (place_t) place,
                                .epoch = 0 == j % 2 ? LOCK_ALL : FLUSH,
                                .shift = (int) (1 + j) % mt_size,
                                .len = small_sizes[i],
                                .target_at = MT_GUARD + offsets[j][0],
                                .origin_at = MT_GUARD + offsets[j][1]};
                both(&t);
            }
        }
    }
}

static void large_ones_from_every_place(void)
{
    for (int place = 0; place < PLACE_COUNT; ++place) {
        for (int i = 0; i < 2 && has_place((place_t) place); ++i) {
            transfer_t t = {.place = (place_t) place,
                            .epoch = 0 == i ? LOCK_SHARED : FENCE,
                            .shift = 1 % mt_size,
                            .len = large_sizes[i],
                            .target_at = MT_GUARD + (size_t) place,
                            .origin_at = MT_GUARD + 3};
            both(&t);
        }
    }
}

/* Puts to all ranks, each into a part of its own, in one epoch; then gets of all of them. */
static void many_operations_in_one_epoch(void)
{
    size_t part = 1000;
    uint64_t round = ++round_number;
    char *from = buffer_in(PLACE_HOST);
    char *to = from + AREA / 2;
    mt_poison(window.base, part * (size_t) mt_size);
    mt_fill(from, part, mt_seed(mt_rank, round));
    CHECK_OK(MPI_Win_fence(0, window.win));
    for (int r = 0; r < mt_size; ++r) {
        CHECK_OK(MPI_Put(from, (int) part, MPI_BYTE, r, (MPI_Aint) part * mt_rank, (int) part,
                         MPI_BYTE, window.win));
    }
    CHECK_OK(MPI_Win_fence(0, window.win));
    for (int r = 0; r < mt_size; ++r) {
        for (int owner = 0; owner < mt_size; ++owner) {
            size_t at = part * (size_t) (r * mt_size + owner);
            CHECK_OK(MPI_Get(to + at, (int) part, MPI_BYTE, r, (MPI_Aint) part * owner, (int) part,
                             MPI_BYTE, window.win));
        }
    }
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    for (int i = 0; i < mt_size * mt_size; ++i) {
        CHECK_PATTERN(to + part * (size_t) i, part, mt_seed(i % mt_size, round));
    }
}

/* Within one epoch a flush separates operations on the same bytes. */
static void flush_orders_operations(void)
{
    int target = (mt_rank + 1) % mt_size;
    char *from = buffer_in(PLACE_HOST);
    char *to = from + AREA / 2;
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    for (int i = 0; i < 50; ++i) {
        uint64_t seed = mt_seed(mt_rank, ++round_number);
        size_t len = 0 == i % 2 ? 24 : 20000;
        mt_context("round %d", i);
        mt_fill(from, len, seed);
        CHECK_OK(MPI_Put(from, (int) len, MPI_BYTE, target, 0, (int) len, MPI_BYTE, window.win));
        CHECK_OK(MPI_Win_flush(target, window.win));
        CHECK_OK(MPI_Get(to, (int) len, MPI_BYTE, target, 0, (int) len, MPI_BYTE, window.win));
        CHECK_OK(MPI_Win_flush_local(target, window.win));
        CHECK_PATTERN(to, len, seed);
    }
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
}

/* After a flush the target sees the data as soon as it is told by a message. */
static void flushed_data_is_there_when_a_message_says_so(void)
{
    int right = (mt_rank + 1) % mt_size;
    int left = (mt_rank + mt_size - 1) % mt_size;
    char *from = buffer_in(PLACE_HOST);
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    for (int i = 0; i < 50; ++i) {
        uint64_t round = ++round_number;
        size_t len = 0 == i % 2 ? 8 : 100000;
        mt_context("round %d", i);
        mt_fill(from, len, mt_seed(mt_rank, round));
        CHECK_OK(MPI_Put(from, (int) len, MPI_BYTE, right, 0, (int) len, MPI_BYTE, window.win));
        CHECK_OK(0 == i % 3 ? MPI_Win_flush_all(window.win) : MPI_Win_flush(right, window.win));
        CHECK_OK(MPI_Sendrecv(NULL, 0, MPI_BYTE, right, 0, NULL, 0, MPI_BYTE, left, 0, mt_comm,
                              MPI_STATUS_IGNORE));
        CHECK_OK(MPI_Win_sync(window.win));
        CHECK_PATTERN(window.base, len, mt_seed(left, round));
        mt_barrier(); /* the next put must not come while the target still looks */
    }
    CHECK_OK(MPI_Win_unlock_all(window.win));
}

/* ---- datatypes and units ---- */

/* Moves data out as `count` of `type`, whose bytes are `len` from `start` on, and in as bytes, and
 * the other way round. */
static void check_type(MPI_Datatype type, int count, size_t start, size_t len)
{
    int target = (mt_rank + 1) % mt_size;
    int origin = (mt_rank + mt_size - 1) % mt_size;
    char *buffer = buffer_in(PLACE_HOST) + MT_GUARD;
    char *mine = window.base + MT_GUARD;
    MPI_Aint disp = MT_GUARD;
    uint64_t round = ++round_number;
    poison_around(mine, start + len);
    poison_around(buffer, start + len);
    mt_fill(buffer + start, len, mt_seed(mt_rank, round));
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Put(buffer, count, type, target, disp + (MPI_Aint) start, (int) len, MPI_BYTE,
                     window.win));
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_PATTERN(mine + start, len, mt_seed(origin, round));
    CHECK_POISON(mine - MT_GUARD, MT_GUARD + start);
    CHECK_POISON(mine + start + len, MT_GUARD);
    poison_around(buffer, start + len);
    CHECK_OK(MPI_Get(buffer + start, (int) len, MPI_BYTE, target, disp, count, type, window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    CHECK_PATTERN(buffer + start, len, mt_seed(mt_rank, round));
    check_around(buffer + start, len);
    mt_barrier();
}

static void basic_types(void)
{
    check_type(MPI_INT, 25, 0, 100);
    check_type(MPI_DOUBLE, 25, 0, 200);
    check_type(MPI_C_DOUBLE_COMPLEX, 3, 0, 48);
    check_type(MPI_CHAR, 5, 0, 5);
}

static void contiguous_derived_types(void)
{
    MPI_Datatype triple, nested, shifted, vector;
    int one = 1;
    MPI_Aint far_away = 12;
    CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &triple));
    CHECK_OK(MPI_Type_contiguous(4, triple, &nested));
    CHECK_OK(MPI_Type_create_hindexed(1, &one, &far_away, MPI_DOUBLE, &shifted));
    CHECK_OK(MPI_Type_vector(5, 2, 2, MPI_SHORT, &vector)); /* blocks that touch */
    MPI_Datatype *types[] = {&triple, &nested, &shifted, &vector};
    for (int i = 0; i < 4; ++i) {
        CHECK_OK(MPI_Type_commit(types[i]));
    }
    check_type(triple, 7, 0, 84);
    check_type(nested, 2, 0, 96);
    check_type(shifted, 1, 12, 8);
    check_type(vector, 3, 0, 60);
    for (int i = 0; i < 4; ++i) {
        CHECK_OK(MPI_Type_free(types[i]));
    }
}

static void displacement_counts_in_the_targets_units(void)
{
    mt_win_t w;
    static const int units[] = {1, 8, 3};
    if (!mt_allocate(1000, units[mt_rank % 3], MPI_COMM_WORLD, &w)) {
        return;
    }
    int target = (mt_rank + 1) % mt_size;
    int origin = (mt_rank + mt_size - 1) % mt_size;
    int at = 5 * units[mt_rank % 3];
    uint64_t round = ++round_number;
    unsigned char data[16];
    mt_poison(w.base, w.size);
    mt_pattern(data, sizeof(data), mt_seed(mt_rank, round));
    CHECK_OK(MPI_Win_fence(0, w.win));
    CHECK_OK(MPI_Put(data, 16, MPI_BYTE, target, 5, 16, MPI_BYTE, w.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
    CHECK_POISON(w.base, (size_t) at);
    CHECK_PATTERN(w.base + at, 16, mt_seed(origin, round));
    CHECK_POISON(w.base + at + 16, w.size - (size_t) at - 16);
    mt_win_free(&w);
}

/* Ends exactly where the window does, of unequal windows, contiguous ones too. */
static void last_byte_of_every_rank(void)
{
    for (int shared = 0; shared < 2; ++shared) {
        mt_win_t w;
        size_t size = 100 + 10 * (size_t) mt_rank;
        bool made = shared ? mt_allocate_shared(size, 1, false, MPI_COMM_WORLD, &w)
                           : mt_allocate(size, 1, MPI_COMM_WORLD, &w);
        if (!made) {
            return;
        }
        int target = (mt_rank + 1) % mt_size;
        int origin = (mt_rank + mt_size - 1) % mt_size;
        uint64_t round = ++round_number;
        unsigned char data[60];
        mt_poison(w.base, size);
        mt_pattern(data, sizeof(data), mt_seed(mt_rank, round));
        CHECK_OK(MPI_Win_fence(0, w.win));
        CHECK_OK(MPI_Put(data, 60, MPI_BYTE, target, 40 + 10 * target, 60, MPI_BYTE, w.win));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
        CHECK_POISON(w.base, size - 60);
        CHECK_PATTERN(w.base + size - 60, 60, mt_seed(origin, round));
        mt_win_free(&w);
    }
}

/* Distances that do not fit 32 bits. On the host the memory might not be there. */
static void displacement_beyond_four_gib(void)
{
    if (SYMM_KIND_CUDA_DEVICE != mt_kind || 4 < mt_size) {
        mt_note("left out, for GPU memory and up to 4 ranks only");
        return;
    }
    mt_win_t w;
    size_t size = ((size_t) 5 << 30) + 4096;
    if (!mt_allocate(size, 1, MPI_COMM_WORLD, &w)) {
        return;
    }
    int target = (mt_rank + 1) % mt_size;
    int origin = (mt_rank + mt_size - 1) % mt_size;
    uint64_t round = ++round_number;
    size_t at = (size_t) 5 << 30;
    unsigned char data[100];
    mt_poison(w.base, 4096);
    mt_poison(w.base + ((size_t) 1 << 30), 4096); /* where 32 bits would end up */
    mt_poison(w.base + at, 4096);
    mt_pattern(data, sizeof(data), mt_seed(mt_rank, round));
    CHECK_OK(MPI_Win_fence(0, w.win));
    CHECK_OK(MPI_Put(data, 100, MPI_BYTE, target, (MPI_Aint) at, 100, MPI_BYTE, w.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
    CHECK_POISON(w.base, 4096);
    CHECK_POISON(w.base + ((size_t) 1 << 30), 4096);
    CHECK_PATTERN(w.base + at, 100, mt_seed(origin, round));
    CHECK_POISON(w.base + at + 100, 3996);
    mt_win_free(&w);
}

static void counters_tell_of_operations(void)
{
    char *buffer = buffer_in(PLACE_HOST);
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Put(buffer, 30, MPI_BYTE, mt_rank, 0, 30, MPI_BYTE, window.win));
    CHECK_OK(MPI_Put(buffer, 5, MPI_INT, mt_rank, 100, 5, MPI_INT, window.win));
    CHECK_OK(MPI_Get(buffer, 7, MPI_BYTE, mt_rank, 0, 7, MPI_BYTE, window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    symm_stats_t after = mt_stats();
    CHECK_INT(2, after.puts - before.puts);
    CHECK_INT(50, after.put_bytes - before.put_bytes);
    CHECK_INT(1, after.gets - before.gets);
    CHECK_INT(7, after.get_bytes - before.get_bytes);
}

static bool make_windows(void)
{
    MPI_Info info;
    if (!mt_allocate(WINDOW_SIZE, 1, MPI_COMM_WORLD, &window)) {
        return false;
    }
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, SYMM_INFO_MEMORY_KIND, "system"));
    bool made = CHECK_OK(MPI_Win_allocate((MPI_Aint) AREA, 1, info, MPI_COMM_WORLD,
                                          &other_window.base, &other_window.win));
    CHECK_OK(MPI_Info_free(&info));
    return made;
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "rma_putget");
    if (make_windows()) {
        MT_RUN(every_epoch_to_every_rank);
        MT_RUN(every_place_size_and_offset);
        MT_RUN(large_ones_from_every_place);
        MT_RUN(many_operations_in_one_epoch);
        MT_RUN(flush_orders_operations);
        MT_RUN(flushed_data_is_there_when_a_message_says_so);
        MT_RUN(basic_types);
        MT_RUN(contiguous_derived_types);
        MT_RUN(displacement_counts_in_the_targets_units);
        MT_RUN(last_byte_of_every_rank);
        MT_RUN(displacement_beyond_four_gib);
        MT_RUN(counters_tell_of_operations);
        mt_win_free(&window);
        mt_win_free(&other_window);
    }
    for (int m = 0; m < MT_MEMORY_COUNT; ++m) {
        if (NULL != buffers[m]) {
            mt_free((mt_memory_t) m, buffers[m]);
        }
    }
    return mt_finish();
}
