/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * MPI_Accumulate, MPI_Get_accumulate and their request-based forms: operations, datatypes, shapes,
 * sizes and memory of every kind, in order and from all ranks at once. What must come out is
 * computed with MPI_Reduce_local. */
#include "symm_config.h"

#include "mpi_test.h"
#include "mpi_test_values.h"

#include <stdlib.h>
#include <string.h>

#define AREA      ((size_t) 4 << 20)
#define COUNT_MAX 64
#define VALUE_MAX 32
#define BYTES_MAX (COUNT_MAX * VALUE_MAX)

/* Every rank's part: what others update, then what it has origins and results in. */
static mt_win_t window;
static mt_win_t other_window; /* of host memory */
static uint64_t round_number;

static int right(void)
{
    return (mt_rank + 1) % mt_size;
}

static int left(void)
{
    return (mt_rank + mt_size - 1) % mt_size;
}

/* GPUs have no long double. */
static bool has_type(const mt_value_type_t *type)
{
    return SYMM_KIND_SYSTEM == mt_kind ||
           (MT_FORM_LONG_DOUBLE != type->form && MT_FORM_COMPLEX_LONG_DOUBLE != type->form &&
            MT_FORM_LONG_DOUBLE_INT != type->form);
}

static mt_value_type_t type_of(MPI_Datatype datatype)
{
    mt_value_type_t type;
    for (int t = 0; mt_value_type(t, &type); ++t) {
        if (datatype == type.datatype) {
            return type;
        }
    }
    (void) mt_value_type(0, &type);
    CHECK_MSG(false, "the datatype is not in the list");
    return type;
}

/* ---- memory of origins and results ---- */

typedef enum place {
    PLACE_HOST,
    PLACE_PINNED,
    PLACE_DEVICE,
    PLACE_WINDOW, /* own memory in the same window */
    PLACE_OTHER_WINDOW,
    PLACE_COUNT,
} place_t;

static const char *const place_names[PLACE_COUNT] = {
    "host memory", "pinned memory", "device memory", "window memory", "memory of another window"};

static char *buffers[MT_MEMORY_COUNT]; /* of 2 * AREA bytes */

static bool has_place(place_t place)
{
    return PLACE_DEVICE < place || mt_has_memory((mt_memory_t) place);
}

/* AREA bytes for origins, as many behind them for results. */
static char *buffer_in(place_t place)
{
    if (PLACE_WINDOW == place) {
        return window.base + AREA;
    }
    if (PLACE_OTHER_WINDOW == place) {
        return other_window.base;
    }
    if (NULL == buffers[place]) {
        buffers[place] = mt_alloc((mt_memory_t) place, 2 * AREA);
    }
    return buffers[place];
}

/* ---- one call with elements next to each other ---- */

typedef struct update {
    const mt_value_type_t *type;
    MPI_Op op;
    const char *name;
    place_t place;
    size_t count;
    size_t target_at, origin_at;
    bool fetch;
} update_t;

static void start_update(const update_t *u, char *origin, char *result)
{
    int count = (int) u->count;
    MPI_Datatype type = u->type->datatype;
    if (u->fetch) {
        CHECK_OK(MPI_Get_accumulate(origin, count, type, result, count, type, right(),
                                    (MPI_Aint) u->target_at, count, type, u->op, window.win));
    } else {
        CHECK_OK(MPI_Accumulate(origin, count, type, right(), (MPI_Aint) u->target_at, count, type,
                                u->op, window.win));
    }
}

static void *must_alloc(size_t len)
{
    void *memory = aligned_alloc(64, (len + 127) / 64 * 64);
    if (NULL == memory) {
        (void) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(memory, 0x5a, len);
    return memory;
}

/* Updates the right neighbour's memory; checks ours, which the left one has updated. */
static void check_update(const update_t *u)
{
    size_t len = u->count * u->type->size;
    char *host = must_alloc(4 * len + 64); /* ours, the peer's, origin, incoming */
    char *mine = host, *peers = host + len, *outgoing = host + 2 * len, *incoming = host + 3 * len;
    char *origin = buffer_in(u->place) + u->origin_at;
    char *result = buffer_in(u->place) + AREA + u->origin_at;
    char *target = window.base + u->target_at;
    uint64_t round = ++round_number;
    mt_context("%s of %zu %s at %zu, %s at %zu%s", u->name, u->count, u->type->name, u->target_at,
               place_names[u->place], u->origin_at, u->fetch ? ", fetching" : "");
    mt_values(u->type, mine, u->count, mt_seed(mt_rank, round));
    mt_values(u->type, peers, u->count, mt_seed(right(), round));
    mt_values(u->type, outgoing, u->count, mt_seed(mt_rank + 100, round));
    mt_values(u->type, incoming, u->count, mt_seed(left() + 100, round));
    mt_poison(target - MT_GUARD, len + 2 * MT_GUARD);
    mt_write(target, mine, len);
    mt_write(origin, outgoing, len);
    mt_poison(result - MT_GUARD, len + 2 * MT_GUARD);
    CHECK_OK(MPI_Win_fence(0, window.win));
    start_update(u, origin, result);
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    if (u->fetch) {
        mt_read(outgoing, result, len);
        CHECK_VALUES(u->type, peers, outgoing, u->count);
        CHECK_POISON(result - MT_GUARD, MT_GUARD);
        CHECK_POISON(result + len, MT_GUARD);
    }
    mt_values_update(u->type, u->op, mine, incoming, u->count);
    mt_read(outgoing, target, len);
    CHECK_VALUES(u->type, mine, outgoing, u->count);
    CHECK_POISON(target - MT_GUARD, MT_GUARD);
    CHECK_POISON(target + len, MT_GUARD);
    free(host);
    mt_barrier();
}

/* ---- operations, datatypes, places, sizes ---- */

static void every_op_and_type(void)
{
    static const size_t counts[] = {1, 7, 40};
    mt_value_type_t type;
    symm_stats_t before = mt_stats();
    uint64_t calls = 0;
    update_t u = {.type = &type, .place = PLACE_HOST};
    for (int t = 0; mt_value_type(t, &type); ++t) {
        for (int o = 0; mt_value_op(o, &u.op, &u.name); ++o) {
            for (int c = 0; c < 3 && has_type(&type) && mt_value_allows(type.form, u.op); ++c) {
                u.count = counts[c];
                u.target_at = 128 + (size_t) (o + c) % 2; /* aligned or not */
                u.origin_at = 192 + (size_t) c;
                u.fetch = 0 == (o + t + c) % 2 || MPI_NO_OP == u.op;
                check_update(&u);
                ++calls;
            }
        }
    }
    CHECK_INT(calls, mt_stats().accumulates - before.accumulates);
}

static void every_place(void)
{
    const MPI_Datatype datatypes[] = {MPI_INT,   MPI_DOUBLE,           MPI_UNSIGNED_CHAR,
                                      MPI_SHORT, MPI_C_DOUBLE_COMPLEX, MPI_DOUBLE_INT};
    for (int place = 0; place < PLACE_COUNT; ++place) {
        if (!has_place((place_t) place)) {
            mt_note("%s left out, there is no GPU", place_names[place]);
            continue;
        }
        for (size_t t = 0; t < sizeof(datatypes) / sizeof(datatypes[0]); ++t) {
            mt_value_type_t type = type_of(datatypes[t]);
            update_t u = {.type = &type, .place = (place_t) place};
            for (int o = 0; mt_value_op(o, &u.op, &u.name); ++o) {
                bool wanted = MPI_SUM == u.op || MPI_MAX == u.op || MPI_MAXLOC == u.op ||
                              MPI_REPLACE == u.op || MPI_NO_OP == u.op;
                for (int i = 0; i < 4 && wanted && mt_value_allows(type.form, u.op); ++i) {
                    u.count = 0 == i % 2 ? 1 : 33;
                    u.target_at = 256;
                    u.origin_at = 64 + 3 * (size_t) (i / 2);
                    u.fetch = i < 2 || MPI_NO_OP == u.op;
                    check_update(&u);
                }
            }
        }
    }
}

static void large_ones_from_every_place(void)
{
    const MPI_Datatype datatypes[] = {MPI_FLOAT, MPI_SIGNED_CHAR, MPI_C_DOUBLE_COMPLEX};
    for (int place = 0; place < PLACE_COUNT; ++place) {
        for (int t = 0; t < 3 && has_place((place_t) place); ++t) {
            mt_value_type_t type = type_of(datatypes[t]);
            size_t len = SYMM_KIND_SYSTEM == mt_kind ? (size_t) 1 << 20 : (size_t) 3 << 20;
            update_t u = {.type = &type,
                          .op = MPI_SUM,
                          .name = "SUM",
                          .place = (place_t) place,
                          .count = len / (1 == type.size ? 4 : 1) / type.size + 3,
                          .target_at = 128 + type.size,
                          .origin_at = 64 + (size_t) t,
                          .fetch = 0 == (place + t) % 2};
            check_update(&u);
        }
    }
}

/* ---- shapes ---- */

/* A datatype of ELEMENTS elements of a base, and where each of them is, in bytes. */
#define ELEMENTS 12
typedef struct shape {
    const char *name;
    MPI_Datatype handle;
    int count;
    ptrdiff_t at[ELEMENTS];
} shape_t;

#define SHAPES 6
#define SHAPE_LEN                                                                                  \
    ((ptrdiff_t) 64 * VALUE_MAX) /* bytes from SHAPE_LEN / 2 before the buffer's address */

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint extent)
{
    MPI_Datatype made;
    CHECK_OK(MPI_Type_create_resized(type, 0, extent, &made));
    CHECK_OK(MPI_Type_free(&type));
    return made;
}

static void make_shape(int which, const mt_value_type_t *base, shape_t *shape)
{
    ptrdiff_t size = (ptrdiff_t) base->size;
    int lens[] = {2, 1, 3}, places[] = {7, 0, 3};
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    switch (which) {
    case 0:
        *shape = (shape_t){.name = "plain", .count = ELEMENTS};
        CHECK_OK(MPI_Type_dup(base->datatype, &shape->handle));
        break;
    case 1:
        *shape = (shape_t){.name = "vector", .count = 1};
        CHECK_OK(MPI_Type_vector(4, 3, 5, base->datatype, &shape->handle));
        break;
    case 2:
        *shape = (shape_t){.name = "vector backwards", .count = 1};
        CHECK_OK(MPI_Type_vector(6, 2, -3, base->datatype, &shape->handle));
        break;
    case 3:
        *shape = (shape_t){.name = "indexed out of order", .count = 2};
        CHECK_OK(MPI_Type_indexed(3, lens, places, base->datatype, &inner));
        shape->handle = resized(inner, 10 * size);
        break;
    case 4:
        *shape = (shape_t){.name = "elements far apart", .count = ELEMENTS};
        CHECK_OK(MPI_Type_dup(base->datatype, &inner));
        shape->handle = resized(inner, 2 * size);
        break;
    default:
        *shape = (shape_t){.name = "nested", .count = 2};
        CHECK_OK(MPI_Type_contiguous(2, base->datatype, &inner));
        CHECK_OK(MPI_Type_vector(3, 1, 2, inner, &shape->handle));
        CHECK_OK(MPI_Type_free(&inner));
        shape->handle = resized(shape->handle, 13 * size);
        break;
    }
    CHECK_OK(MPI_Type_commit(&shape->handle));
    for (int i = 0; i < ELEMENTS; ++i) {
        static const int out_of_order[] = {7, 8, 0, 3, 4, 5};
        const ptrdiff_t units[SHAPES] = {i,
                                         i / 3 * 5 + i % 3,
                                         i / 2 * -3 + i % 2,
                                         i / 6 * 10 + out_of_order[i % 6],
                                         2 * i,
                                         i / 6 * 13 + i % 6 / 2 * 4 + i % 2};
        shape->at[i] = units[which] * size;
    }
}

/* A buffer that a shape lies in, and one that stands for it on the host. */
typedef struct canvas {
    char *memory;
    char host[SHAPE_LEN];
} canvas_t;

static char *origin_of(const canvas_t *canvas)
{
    return canvas->memory + SHAPE_LEN / 2;
}

static char *element_at(canvas_t *canvas, const shape_t *shape, int i)
{
    return canvas->host + SHAPE_LEN / 2 + shape->at[i];
}

static void paint(canvas_t *canvas, const shape_t *shape, const mt_value_type_t *base,
                  const char *values)
{
    memset(canvas->host, 0x5a, sizeof(canvas->host));
    for (int i = 0; i < ELEMENTS; ++i) {
        if (NULL != values) { /* only the bytes that are data */
            CHECK_OK(MPI_Sendrecv(values + (size_t) i * base->size, 1, base->datatype, 0, 0,
                                  element_at(canvas, shape, i), 1, base->datatype, 0, 0,
                                  MPI_COMM_SELF, MPI_STATUS_IGNORE));
        }
    }
    mt_write(canvas->memory, canvas->host, sizeof(canvas->host));
}

/* Checks the elements, and that all bytes around them are as they were. */
static void check_canvas(canvas_t *canvas, const shape_t *shape, const mt_value_type_t *base,
                         const char *expected)
{
    mt_read(canvas->host, canvas->memory, sizeof(canvas->host));
    for (int i = 0; i < ELEMENTS; ++i) {
        char *at = element_at(canvas, shape, i);
        CHECK_VALUES(base, expected + (size_t) i * base->size, at, 1);
        memset(at, 0x5a, base->size);
    }
    for (size_t i = 0; i < sizeof(canvas->host); ++i) {
        if (0x5a != canvas->host[i]) {
            CHECK_MSG(false, "a byte at %td was touched", (ptrdiff_t) i - SHAPE_LEN / 2);
            return;
        }
    }
}

static void check_shapes(const mt_value_type_t *base, MPI_Op op, place_t place,
                         const shape_t *origin, const shape_t *result, const shape_t *target)
{
    static canvas_t out, in, here;
    char mine[BYTES_MAX], peers[BYTES_MAX], outgoing[BYTES_MAX], incoming[BYTES_MAX];
    uint64_t round = ++round_number;
    memset(mine, 0, sizeof(mine));
    memset(peers, 0, sizeof(peers));
    memset(outgoing, 0, sizeof(outgoing));
    memset(incoming, 0, sizeof(incoming));
    out.memory = buffer_in(place);
    in.memory = buffer_in(place) + AREA;
    here.memory = window.base;
    mt_values(base, mine, ELEMENTS, mt_seed(mt_rank, round));
    mt_values(base, peers, ELEMENTS, mt_seed(right(), round));
    mt_values(base, outgoing, ELEMENTS, mt_seed(mt_rank + 100, round));
    mt_values(base, incoming, ELEMENTS, mt_seed(left() + 100, round));
    paint(&out, origin, base, outgoing);
    paint(&in, NULL != result ? result : origin, base, NULL);
    paint(&here, target, base, mine);
    CHECK_OK(MPI_Win_fence(0, window.win));
    if (NULL != result) {
        CHECK_OK(MPI_Get_accumulate(origin_of(&out), origin->count, origin->handle, origin_of(&in),
                                    result->count, result->handle, right(), SHAPE_LEN / 2,
                                    target->count, target->handle, op, window.win));
    } else {
        CHECK_OK(MPI_Accumulate(origin_of(&out), origin->count, origin->handle, right(),
                                SHAPE_LEN / 2, target->count, target->handle, op, window.win));
    }
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    if (NULL != result) {
        check_canvas(&in, result, base, peers);
    }
    mt_values_update(base, op, mine, incoming, ELEMENTS);
    check_canvas(&here, target, base, mine);
    mt_barrier();
}

/* Origin, result and target of different extents have been misplaced elsewhere. */
static void every_shape_on_every_side(void)
{
    const MPI_Datatype bases[] = {MPI_INT, MPI_SHORT, MPI_UNSIGNED_CHAR, MPI_C_DOUBLE_COMPLEX,
                                  MPI_DOUBLE_INT};
    shape_t shapes[SHAPES];
    for (size_t b = 0; b < sizeof(bases) / sizeof(bases[0]); ++b) {
        mt_value_type_t base = type_of(bases[b]);
        bool pair = MT_FORM_DOUBLE_INT == base.form;
        MPI_Op op = pair ? MPI_MAXLOC : MPI_SUM;
        int every = SYMM_KIND_SYSTEM == mt_kind ? 1 : 3;
        for (int s = 0; s < SHAPES; ++s) {
            make_shape(s, &base, &shapes[s]);
        }
        for (int i = 0; i < SHAPES * SHAPES * (SHAPES + 1); i += every) {
            const shape_t *origin = &shapes[i % SHAPES];
            const shape_t *target = &shapes[i / SHAPES % SHAPES];
            int r = i / SHAPES / SHAPES;
            place_t place = (place_t) (i % PLACE_COUNT);
            mt_context("%s: origin %s, target %s, result %s", base.name, origin->name, target->name,
                       SHAPES == r ? "none" : shapes[r].name);
            check_shapes(&base, 0 == i % 5 ? MPI_REPLACE : op,
                         has_place(place) ? place : PLACE_HOST, origin,
                         SHAPES == r ? NULL : &shapes[r], target);
        }
        for (int s = 0; s < SHAPES; ++s) {
            CHECK_OK(MPI_Type_free(&shapes[s].handle));
        }
    }
}

/* Rows enough that a kernel shares them out, at the target and at the origin. */
static void matrices(void)
{
    enum { ROWS = 300, USED = 50, PITCH = 64 };
    MPI_Datatype type;
    int *host = must_alloc(ROWS * PITCH * sizeof(int));
    CHECK_OK(MPI_Type_vector(ROWS, USED, PITCH, MPI_INT, &type));
    CHECK_OK(MPI_Type_commit(&type));
    for (int dense = 0; dense < 2; ++dense) { /* whether the origin has no gaps */
        for (int i = 0; i < ROWS * PITCH; ++i) {
            host[i] = 1000 * mt_rank + i;
        }
        mt_write(window.base, host, ROWS * PITCH * sizeof(int));
        CHECK_OK(MPI_Win_fence(0, window.win));
        CHECK_OK(MPI_Accumulate(host, dense ? ROWS * USED : 1, dense ? MPI_INT : type, right(), 0,
                                1, type, MPI_SUM, window.win));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
        mt_read(host, window.base, ROWS * PITCH * sizeof(int));
        for (int i = 0; i < ROWS * PITCH; ++i) {
            int row = i / PITCH, column = i % PITCH;
            int add = 1000 * left() + (dense ? row * USED + column : i);
            if (!CHECK_INT(1000 * mt_rank + i + (column < USED ? add : 0), host[i])) {
                break;
            }
        }
        mt_barrier();
    }
    CHECK_OK(MPI_Type_free(&type));
    free(host);
}

/* ---- order ---- */

/* Operations of one origin on the same element stay in order without a flush between them; where
 * SUM was asked no REPLACE is done. */
static void operations_of_one_origin_stay_in_order(void)
{
    enum { LONG = 1000, TIMES = 20 };
    static int values[TIMES][LONG], sums[LONG], old[TIMES][3][LONG];
    static const size_t counts[] = {1, 8, LONG};
    for (int c = 0; c < 3; ++c) {
        int count = (int) counts[c];
        int after[LONG];
        mt_context("%d elements", count);
        mt_poison(window.base, sizeof(after));
        CHECK_OK(MPI_Win_fence(0, window.win));
        for (int t = 0; t < TIMES; ++t) {
            for (int i = 0; i < count; ++i) {
                values[t][i] = 100 * t + i + mt_rank;
                sums[i] = 7;
            }
            CHECK_OK(MPI_Accumulate(values[t], count, MPI_INT, right(), 0, count, MPI_INT,
                                    MPI_REPLACE, window.win));
            CHECK_OK(MPI_Get_accumulate(NULL, 0, MPI_INT, old[t][0], count, MPI_INT, right(), 0,
                                        count, MPI_INT, MPI_NO_OP, window.win));
            CHECK_OK(MPI_Get_accumulate(sums, count, MPI_INT, old[t][1], count, MPI_INT, right(), 0,
                                        count, MPI_INT, MPI_SUM, window.win));
            CHECK_OK(MPI_Accumulate(sums, count, MPI_INT, right(), 0, count, MPI_INT, MPI_SUM,
                                    window.win));
            CHECK_OK(MPI_Fetch_and_op(NULL, old[t][2], MPI_INT, right(), 0, MPI_NO_OP, window.win));
        }
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
        for (int t = 0; t < TIMES; ++t) {
            CHECK_INT(values[t][0], old[t][0][0]);
            CHECK_INT(values[t][count - 1], old[t][1][count - 1]);
            CHECK_INT(values[t][0] + 14, old[t][2][0]);
        }
        mt_read(after, window.base, (size_t) count * sizeof(int));
        CHECK_INT(100 * (TIMES - 1) + left() + 14, after[0]);
        CHECK_INT(100 * (TIMES - 1) + count - 1 + left() + 14, after[count - 1]);
        mt_barrier();
    }
}

/* ---- all ranks at once ---- */

static void add_from_all_ranks(MPI_Win win, char *base)
{
    enum { MANY = 500, TIMES = 10 };
    static int64_t ones[MANY], sums[MANY], old[MANY];
    for (int i = 0; i < MANY; ++i) {
        ones[i] = 1;
        sums[i] = 0;
    }
    mt_write(base, sums, sizeof(sums));
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, win));
    for (int t = 0; t < TIMES; ++t) {
        for (int target = 0; target < mt_size; ++target) {
            MPI_Aint at = 8 * (MPI_Aint) (13 * t + mt_rank);
            CHECK_OK(MPI_Accumulate(ones, MANY, MPI_INT64_T, target, 0, MANY, MPI_INT64_T, MPI_SUM,
                                    win));
            CHECK_OK(
                MPI_Accumulate(ones, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, MPI_SUM, win));
            CHECK_OK(MPI_Get_accumulate(ones, 3, MPI_INT64_T, old, 3, MPI_INT64_T, target, at, 3,
                                        MPI_INT64_T, MPI_SUM, win));
        }
    }
    CHECK_OK(MPI_Win_unlock_all(win));
    mt_barrier();
    mt_read(sums, base, sizeof(sums));
    for (int t = 0; t < TIMES; ++t) {
        for (int r = 0; r < mt_size; ++r) {
            sums[13 * t + r] -= 2;
            sums[13 * t + r + 1] -= 1;
            sums[13 * t + r + 2] -= 1;
        }
    }
    for (int i = 0; i < MANY; ++i) {
        if (!CHECK_INT(TIMES * mt_size, sums[i])) {
            break;
        }
    }
    mt_barrier();
}

static void sums_of_all_ranks_are_exact(void)
{
    add_from_all_ranks(window.win, window.base);
}

static void sums_are_exact_without_order_too(void)
{
    MPI_Info info = mt_info();
    MPI_Win win;
    char *base, value[MPI_MAX_INFO_VAL];
    int found;
    CHECK_OK(MPI_Info_set(info, "accumulate_ordering", "none"));
    if (CHECK_OK(MPI_Win_allocate(8192, 1, info, MPI_COMM_WORLD, &base, &win))) {
        CHECK_OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        CHECK_OK(MPI_Info_free(&info));
        CHECK_OK(MPI_Win_get_info(win, &info));
        CHECK_OK(MPI_Info_get(info, "accumulate_ordering", MPI_MAX_INFO_VAL - 1, value, &found));
        CHECK(found && 0 == strcmp("none", value));
        add_from_all_ranks(win, base);
        CHECK_OK(MPI_Win_free(&win));
    }
    CHECK_OK(MPI_Info_free(&info));
}

/* Small ones go together: a thousand are a few launches at most. */
static void small_ones_are_gathered(void)
{
    enum { MANY = 1000 };
    static int64_t values[MANY], after[MANY];
    for (int i = 0; i < MANY; ++i) {
        values[i] = i + mt_rank;
        after[i] = 1;
    }
    mt_write(window.base, after, sizeof(after));
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    symm_stats_t before = mt_stats();
    for (int i = 0; i < MANY; ++i) {
        CHECK_OK(MPI_Accumulate(&values[i], 1, MPI_INT64_T, right(), 8 * i, 1, MPI_INT64_T, MPI_SUM,
                                window.win));
    }
    CHECK_OK(MPI_Win_flush(right(), window.win));
    uint64_t launches = mt_stats().kernels - before.kernels;
    CHECK_MSG(3 >= launches, "%llu launches", (unsigned long long) launches);
    CHECK(SYMM_KIND_SYSTEM == mt_kind || 0 < launches);
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
    mt_read(after, window.base, sizeof(after));
    for (int i = 0; i < MANY; ++i) {
        if (!CHECK_INT(1 + i + left(), after[i])) {
            break;
        }
    }
    mt_barrier();
}

/* ---- requests ---- */

/* What is fetched is there when the request is complete, without a flush. */
static void requests_complete_their_operations(void)
{
    long values[4] = {1, 2, 3, 4}, old[4] = {0}, zeros[4] = {0};
    MPI_Request requests[2];
    mt_write(window.base, zeros, sizeof(zeros));
    mt_barrier();
    CHECK_OK(MPI_Win_lock_all(0, window.win));
    CHECK_OK(MPI_Raccumulate(values, 4, MPI_LONG, right(), 0, 4, MPI_LONG, MPI_SUM, window.win,
                             &requests[0]));
    CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    memset(values, 0, sizeof(values));
    values[0] = 10;
    CHECK_OK(MPI_Rget_accumulate(values, 4, MPI_LONG, old, 4, MPI_LONG, right(), 0, 4, MPI_LONG,
                                 MPI_SUM, window.win, &requests[0]));
    CHECK_OK(MPI_Raccumulate(NULL, 0, MPI_LONG, MPI_PROC_NULL, 0, 0, MPI_LONG, MPI_SUM, window.win,
                             &requests[1]));
    CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 4; ++i) {
        CHECK_INT(i + 1, old[i]);
    }
    CHECK_OK(MPI_Win_unlock_all(window.win));
    mt_barrier();
    mt_read(old, window.base, sizeof(old));
    CHECK_INT(11, old[0]);
    CHECK_INT(4, old[3]);
    mt_barrier();
}

/* ---- nothing, and nonsense ---- */

static void nothing_is_done_for_nothing(void)
{
    int value = 5, old = 6;
    MPI_Datatype empty;
    mt_poison(window.base, 256);
    CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &empty));
    CHECK_OK(MPI_Type_commit(&empty));
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_OK(MPI_Accumulate(NULL, 0, MPI_INT, right(), 0, 0, MPI_INT, MPI_SUM, window.win));
    CHECK_OK(MPI_Get_accumulate(NULL, 0, MPI_INT, NULL, 0, MPI_INT, right(), 4, 0, MPI_INT, MPI_SUM,
                                window.win));
    CHECK_OK(MPI_Accumulate(NULL, 3, empty, right(), 0, 3, empty, MPI_REPLACE, window.win));
    CHECK_OK(MPI_Accumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, window.win));
    CHECK_OK(MPI_Get_accumulate(NULL, 0, MPI_INT, &old, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT,
                                MPI_NO_OP, window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    CHECK_INT(6, old);
    CHECK_POISON(window.base, 256);
    CHECK_OK(MPI_Type_free(&empty));
}

static void bad_calls_are_refused(void)
{
    int values[4] = {1, 2, 3, 4}, old[4] = {0};
    MPI_Aint end = (MPI_Aint) window.size;
    MPI_Datatype wide, pair;
    MPI_Datatype parts[] = {MPI_INT, MPI_FLOAT};
    int lens[] = {1, 1};
    MPI_Aint places[] = {0, 4};
    CHECK_OK(MPI_Type_vector(2, 1, 100, MPI_INT, &wide));
    CHECK_OK(MPI_Type_commit(&wide));
    CHECK_OK(MPI_Type_create_struct(2, lens, places, parts, &pair));
    CHECK_OK(MPI_Type_commit(&pair));
    mt_poison(window.base, 256);
    mt_poison(window.base + window.size - 1024, 1024);
    CHECK_OK(MPI_Win_fence(0, window.win));
    CHECK_CLASS(MPI_ERR_RMA_RANGE, MPI_Accumulate(values, 4, MPI_INT, right(), end - 12, 4, MPI_INT,
                                                  MPI_SUM, window.win));
    CHECK_CLASS(MPI_ERR_RMA_RANGE, MPI_Accumulate(values, 2, MPI_INT, right(), end - 400, 1, wide,
                                                  MPI_SUM, window.win));
    CHECK_CLASS(MPI_ERR_TRUNCATE,
                MPI_Accumulate(values, 4, MPI_INT, right(), 0, 3, MPI_INT, MPI_SUM, window.win));
    CHECK_CLASS(MPI_ERR_TRUNCATE, MPI_Get_accumulate(values, 4, MPI_INT, old, 2, MPI_INT, right(),
                                                     0, 4, MPI_INT, MPI_SUM, window.win));
    CHECK_CLASS(MPI_ERR_TYPE,
                MPI_Accumulate(values, 1, pair, right(), 0, 1, pair, MPI_REPLACE, window.win));
    CHECK_CLASS(MPI_ERR_TYPE, MPI_Accumulate(values, 1, MPI_INT, right(), 0, 1, MPI_FLOAT,
                                             MPI_REPLACE, window.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win));
    CHECK_POISON(window.base, 256);
    CHECK_POISON(window.base + window.size - 1024, 1024);
    CHECK_OK(MPI_Type_free(&wide));
    CHECK_OK(MPI_Type_free(&pair));
}

static bool make_windows(void)
{
    MPI_Info info;
    if (!mt_allocate(3 * AREA, 1, MPI_COMM_WORLD, &window)) {
        return false;
    }
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, SYMM_INFO_MEMORY_KIND, "system"));
    bool made = CHECK_OK(MPI_Win_allocate((MPI_Aint) (2 * AREA), 1, info, MPI_COMM_WORLD,
                                          &other_window.base, &other_window.win));
    CHECK_OK(MPI_Info_free(&info));
    return made;
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "rma_accumulate");
    if (make_windows()) {
        MT_RUN(every_op_and_type);
        MT_RUN(every_place);
        MT_RUN(large_ones_from_every_place);
        MT_RUN(every_shape_on_every_side);
        MT_RUN(matrices);
        MT_RUN(operations_of_one_origin_stay_in_order);
        MT_RUN(sums_of_all_ranks_are_exact);
        MT_RUN(sums_are_exact_without_order_too);
        MT_RUN(small_ones_are_gathered);
        MT_RUN(requests_complete_their_operations);
        MT_RUN(nothing_is_done_for_nothing);
        MT_RUN(bad_calls_are_refused);
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
