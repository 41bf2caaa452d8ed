/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Small collectives with a root, in which ranks do not wait for those that they need nothing from:
 * ranks far ahead and late, roots in turn, other collectives in between, datatypes with gaps,
 * buffers anywhere, and arguments that do not match. The windows are of host memory, with a GPU's
 * beside them in one part. */
#include "symm_config.h"

#include "mpi_test.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 16
#define SLOT      8192 /* most bytes that go eagerly */
#define AHEAD     10   /* calls that surely nobody waits in */
#define MANY      150  /* calls that a rank is ahead of another if nobody stops it */
#define TAG       7

typedef enum op { BCAST, SCATTER, GATHER, REDUCE, OPS } op_t;

static const char *const op_names[OPS] = {"bcast", "scatter", "gather", "reduce"};

typedef enum place { WINDOW, HOST, PINNED, DEVICE, PLACES } place_t;

static mt_win_t host_window, gpu_window;
static char *areas[PLACES];
static uint64_t rounds;

/* An input and an output, each with a guard on either side. */
#define AREA ((size_t) RANKS_MAX * (SLOT + 100) + 2 * MT_GUARD)

static bool has_place(place_t place)
{
    return PINNED > place || mt_has_memory(PINNED == place ? MT_PINNED : MT_DEVICE);
}

static char *input_in(place_t place)
{
    return areas[place] + MT_GUARD;
}

static char *output_in(place_t place)
{
    return areas[place] + AREA + MT_GUARD;
}

static bool is_from_root(op_t op)
{
    return BCAST == op || SCATTER == op;
}

/* ---- one call ---- */

typedef struct call {
    op_t op;
    int root;
    size_t bytes; /* of a block */
    place_t from, to;
    MPI_Datatype type; /* of which this rank has bytes / size elements; MPI_BYTE, or with gaps */
} call_t;

static int value(int rank, uint64_t round, size_t i)
{
    return (int) (round * 131 + i * 7) % 10007 * (rank + 1) + rank;
}

/* The block that goes from one rank to another. */
static void block(const call_t *c, uint64_t round, int from, int to, char *block_p)
{
    if (REDUCE == c->op) {
        for (size_t i = 0; i < c->bytes / sizeof(int); ++i) {
            int v = value(from, round, i);
            memcpy(block_p + i * sizeof(int), &v, sizeof(v));
        }
    } else {
        mt_pattern(block_p, c->bytes, mt_seed(SCATTER == c->op ? to : from, round));
    }
}

/* What rank has as its input, or gets as its output: so many bytes at data. */
static size_t expect(const call_t *c, uint64_t round, bool input, char *data)
{
    bool one = input ? SCATTER != c->op : GATHER != c->op;
    bool root = mt_rank == c->root;
    if ((input ? is_from_root(c->op) : !is_from_root(c->op)) && !root) {
        return 0;
    }
    int blocks = one ? 1 : mt_size;
    for (int b = 0; b < blocks; ++b) {
        int from = is_from_root(c->op) ? c->root : input ? mt_rank : b;
        block(c, round, from, input && !one ? b : mt_rank, data + (size_t) b * c->bytes);
    }
    if (!input && REDUCE == c->op) {
        for (size_t i = 0; i < c->bytes / sizeof(int); ++i) {
            int sum = 0;
            for (int r = 0; r < mt_size; ++r) {
                sum += value(r, round, i);
            }
            memcpy(data + i * sizeof(int), &sum, sizeof(sum));
        }
    }
    return (size_t) blocks * c->bytes;
}

static int make_call(const call_t *c, char *in, char *out)
{
    int size = 1;
    CHECK_OK(MPI_Type_size(c->type, &size));
    int count = (int) c->bytes / size;
    switch (c->op) {
    case BCAST:
        return MPI_Bcast(mt_rank == c->root ? in : out, count, c->type, c->root, MPI_COMM_WORLD);
    case SCATTER:
        return MPI_Scatter(in, count, c->type, out, count, c->type, c->root, MPI_COMM_WORLD);
    case GATHER:
        return MPI_Gather(in, count, c->type, out, count, c->type, c->root, MPI_COMM_WORLD);
    default:
        return MPI_Reduce(in, out, (int) (c->bytes / sizeof(int)), MPI_INT, MPI_SUM, c->root,
                          MPI_COMM_WORLD);
    }
}

/* One call and all that it may have changed. */
static void check_call(const call_t *c)
{
    static char expected[AREA];
    uint64_t round = ++rounds;
    char *in = input_in(c->from), *out = output_in(c->to);
    mt_context("%s of %zu bytes, root %d, call %d", op_names[c->op], c->bytes, c->root,
               (int) round);
    mt_poison(out - MT_GUARD, AREA);
    size_t len = expect(c, round, true, expected);
    mt_write(in, expected, len);
    CHECK_OK(make_call(c, in, out));
    len = BCAST == c->op && mt_rank == c->root ? 0 : expect(c, round, false, expected);
    char *got = mt_alloc(MT_HOST, AREA);
    mt_read(got, out, len);
    CHECK_MSG(0 == memcmp(got, expected, len), "a wrong result");
    mt_free(MT_HOST, got);
    CHECK_POISON(out - MT_GUARD, MT_GUARD);
    CHECK_POISON(out + len, AREA - 2 * MT_GUARD - len);
}

static call_t call_of(op_t op, int root, size_t bytes)
{
    return (call_t){.op = op,
                    .root = root,
                    .bytes = REDUCE == op ? bytes / sizeof(int) * sizeof(int) : bytes,
                    .from = WINDOW,
                    .to = WINDOW,
                    .type = MPI_BYTE};
}

/* A call that all wait in: it shows that all were told the same. */
static void allreduce(void)
{
    int one = 1, sum = 0;
    CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(mt_size, sum);
}

/* ---- who waits ---- */

static void ranks_that_need_nothing_do_not_wait(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    for (int op = 0; op < OPS; ++op) {
        allreduce();
        /* Those who need nothing make their calls; only then do the others begin theirs. */
        int root = mt_size - 1, token = 0;
        call_t c = call_of((op_t) op, root, 24);
        bool first = is_from_root((op_t) op) == (mt_rank == root);
        for (int r = 0; r < mt_size && !first; ++r) {
            if (is_from_root((op_t) op) == (r == root)) {
                CHECK_OK(MPI_Recv(&token, 1, MPI_INT, r, TAG, mt_comm, MPI_STATUS_IGNORE));
            }
        }
        symm_stats_t before = mt_stats();
        check_call(&c);
        CHECK_SERVED(&before, "eager_push");
        for (int i = 1; i < AHEAD; ++i) {
            check_call(&c);
        }
        for (int r = 0; r < mt_size && first; ++r) {
            if (is_from_root((op_t) op) != (r == root)) {
                CHECK_OK(MPI_Send(&token, 1, MPI_INT, r, TAG, mt_comm));
            }
        }
    }
}

/* Whoever is ahead must not write over what a late rank has yet to read. */
static void ranks_far_ahead(void)
{
    for (int op = 0; op < OPS; ++op) {
        for (int late = 0; late < mt_size; ++late) {
            allreduce();
            if (mt_rank == late) {
                mt_sleep_ms(100);
            }
            for (int i = 0; i < MANY; ++i) {
                call_t c = call_of((op_t) op, 0, (size_t) (i * 8 % SLOT));
                check_call(&c);
            }
        }
    }
}

/* A rank of its own is late now and then. */
static void dawdle(uint64_t *state)
{
    if (0 == mt_random(state) % 40) {
        mt_sleep_ms(1);
    }
}

static void roots_in_turn(void)
{
    uint64_t alike = 1, own = (uint64_t) mt_rank + 2;
    for (int i = 0; i < 3 * MANY; ++i) {
        call_t c = call_of((op_t) (mt_random(&alike) % OPS), i % mt_size,
                           (size_t) (mt_random(&alike) % (SLOT + 100)));
        c.from = 0 == mt_random(&own) % 2 ? WINDOW : HOST;
        c.to = 0 == mt_random(&own) % 2 ? WINDOW : HOST;
        dawdle(&own);
        check_call(&c);
    }
}

static void every_size(void)
{
    for (size_t bytes = 0; bytes < SLOT + 9; bytes += bytes < 140 ? 1 : 509) {
        for (int op = 0; op < OPS; ++op) {
            call_t c = call_of((op_t) op, (int) bytes % mt_size, bytes);
            check_call(&c);
        }
    }
}

/* ---- among other calls ---- */

/* Counts per rank have two rows of blocks in turn, not as many as there are slots. */
static void all_to_all_v(uint64_t round)
{
    int counts[RANKS_MAX], disps[RANKS_MAX], in[RANKS_MAX], out[RANKS_MAX];
    for (int r = 0; r < mt_size; ++r) {
        counts[r] = (mt_rank + r + (int) round) % 3 == 0 ? 0 : 1;
        disps[r] = r;
        in[r] = value(mt_rank, round, (size_t) r);
        out[r] = -1;
    }
    CHECK_OK(
        MPI_Alltoallv(in, counts, disps, MPI_INT, out, counts, disps, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < mt_size; ++r) {
        CHECK_INT(0 == counts[r] ? -1 : value(r, round, (size_t) mt_rank), out[r]);
    }
}

static void scatter_v(uint64_t round, int root)
{
    int counts[RANKS_MAX], disps[RANKS_MAX], in[RANKS_MAX], out = -1;
    for (int r = 0; r < mt_size; ++r) {
        counts[r] = 1;
        disps[r] = mt_size - 1 - r;
        in[disps[r]] = value(root, round, (size_t) r);
    }
    CHECK_OK(MPI_Scatterv(in, counts, disps, MPI_INT, &out, 1, MPI_INT, root, MPI_COMM_WORLD));
    CHECK_INT(value(root, round, (size_t) mt_rank), out);
}

static void among_other_collectives(void)
{
    uint64_t alike = 11, own = (uint64_t) mt_rank + 12;
    for (int i = 0; i < 3 * MANY; ++i) {
        int root = (int) (mt_random(&alike) % (uint64_t) mt_size);
        call_t c = call_of((op_t) (mt_random(&alike) % OPS), root, 40);
        dawdle(&own);
        switch (mt_random(&alike) % 12) {
        case 0:
            allreduce();
            break;
        case 1:
            all_to_all_v((uint64_t) i);
            break;
        case 2:
            scatter_v((uint64_t) i, root);
            break;
        case 3:
            CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
            break;
        default:
            check_call(&c);
        }
    }
}

static void among_nonblocking_calls(void)
{
    enum { CALLS = 5 };
    MPI_Request requests[CALLS];
    int sums[CALLS], ones[CALLS];
    uint64_t own = (uint64_t) mt_rank + 21;
    for (int i = 0; i < MANY; ++i) {
        ones[i % CALLS] = i;
        CHECK_OK(MPI_Iallreduce(&ones[i % CALLS], &sums[i % CALLS], 1, MPI_INT, MPI_SUM,
                                MPI_COMM_WORLD, &requests[i % CALLS]));
        dawdle(&own);
        call_t c = call_of((op_t) (i % OPS), i / 3 % mt_size, 20);
        check_call(&c);
        if (CALLS - 1 == i % CALLS) {
            CHECK_OK(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE));
            for (int k = 0; k < CALLS; ++k) {
                CHECK_INT((i - CALLS + 1 + k) * mt_size, sums[k]);
            }
        }
    }
}

static bool allocate(const char *kind, mt_win_t *w)
{
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, SYMM_INFO_MEMORY_KIND, kind));
    CHECK_OK(MPI_Info_set(info, "symm_required", "true"));
    bool made = CHECK_OK(
        MPI_Win_allocate((MPI_Aint) (2 * AREA), 1, info, MPI_COMM_WORLD, &w->base, &w->win));
    CHECK_OK(MPI_Info_free(&info));
    return made;
}

static void windows_come_and_go(void)
{
    for (int i = 0; i < 20; ++i) {
        mt_win_t w;
        call_t c = call_of((op_t) (i % OPS), i % mt_size, 100);
        check_call(&c);
        if (!allocate("system", &w)) {
            return;
        }
        check_call(&c);
        check_call(&c);
        CHECK_OK(MPI_Win_free(&w.win));
        check_call(&c);
    }
}

/* ---- buffers that take more than a copy ---- */

static void datatypes_with_gaps(void)
{
    MPI_Datatype gaps;
    CHECK_OK(MPI_Type_vector(4, 3, 5, MPI_BYTE, &gaps));
    CHECK_OK(MPI_Type_commit(&gaps));
    const size_t size = 12, extent = 18;
    static char data[AREA], expected[AREA];
    for (int op = BCAST; op <= GATHER; ++op) {
        for (int with = 0; with < 1 << (mt_size < 3 ? mt_size : 3); ++with) {
            bool mine = 0 != (with >> (mt_rank % 3) & 1);
            size_t elements = (size_t) with + 1;
            call_t c = call_of((op_t) op, with % mt_size, elements * size);
            uint64_t round = ++rounds;
            char *in = input_in(WINDOW), *out = output_in(HOST);
            mt_context("%s, root %d, gaps on ranks %x", op_names[op], c.root, (unsigned) with);
            c.type = mine ? gaps : MPI_BYTE;
            memset(in, 0x55, AREA - MT_GUARD);
            memset(out, 0x66, AREA - MT_GUARD);
            size_t len = expect(&c, round, true, data);
            for (size_t i = 0; i < len; ++i) {
                size_t in_element = i % size;
                in[mine ? i / size * extent + in_element / 3 * 5 + in_element % 3 : i] = data[i];
            }
            CHECK_OK(make_call(&c, in, out));
            len = BCAST == op && mt_rank == c.root ? 0 : expect(&c, round, false, data);
            memset(expected, 0x66, sizeof(expected));
            for (size_t i = 0; i < len; ++i) {
                size_t in_element = i % size;
                expected[mine ? i / size * extent + in_element / 3 * 5 + in_element % 3 : i] =
                    data[i];
            }
            CHECK_MSG(0 == memcmp(out, expected, AREA - MT_GUARD), "a wrong result");
        }
    }
    CHECK_OK(MPI_Type_free(&gaps));
}

static void in_place(void)
{
    for (int root = 0; root < mt_size; ++root) {
        bool mine = mt_rank == root;
        int own = value(mt_rank, 5, 0), sum = own, all[RANKS_MAX], expected = 0;
        for (int r = 0; r < mt_size; ++r) {
            all[r] = r == mt_rank ? own : -1;
            expected += value(r, 5, 0);
        }
        CHECK_OK(MPI_Reduce(mine ? MPI_IN_PLACE : &own, &sum, 1, MPI_INT, MPI_SUM, root,
                            MPI_COMM_WORLD));
        CHECK_INT(mine ? expected : own, sum);
        CHECK_OK(MPI_Gather(mine ? MPI_IN_PLACE : &own, 1, MPI_INT, all, 1, MPI_INT, root,
                            MPI_COMM_WORLD));
        for (int r = 0; r < mt_size; ++r) {
            CHECK_INT(mine || r == mt_rank ? value(r, 5, 0) : -1, all[r]);
        }
        CHECK_OK(MPI_Scatter(all, 1, MPI_INT, mine ? MPI_IN_PLACE : &sum, 1, MPI_INT, root,
                             MPI_COMM_WORLD));
        CHECK_INT(mine ? expected : own, sum);
    }
}

/* Each rank's buffers somewhere else. */
static void from_anywhere_to_anywhere(void)
{
    uint64_t own = (uint64_t) mt_rank + 31;
    for (int i = 0; i < MANY; ++i) {
        call_t c = call_of((op_t) (i % OPS), i / 4 % mt_size, (size_t) (i % 7 * 20));
        do {
            c.from = (place_t) (mt_random(&own) % PLACES);
            c.to = (place_t) (mt_random(&own) % PLACES);
        } while (!has_place(c.from) || !has_place(c.to));
        check_call(&c);
    }
}

/* Then what goes to the root waits for all, as kernels do that better. */
static void beside_a_gpu_window(void)
{
    if (!mt_all(mt_has_memory(MT_DEVICE))) {
        mt_note("left out, there is no GPU");
        return;
    }
    if (allocate("cuda:device", &gpu_window)) {
        from_anywhere_to_anywhere();
        roots_in_turn();
        CHECK_OK(MPI_Win_free(&gpu_window.win));
    }
}

/* ---- what is wrong, and what differs ---- */

/* Those who need the others' find out. */
static void arguments_that_do_not_match(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    char *in = input_in(WINDOW), *out = output_in(WINDOW);
    for (int op = 0; op < OPS; ++op) {
        allreduce();
        int root = 0, other = mt_size - 1;
        call_t c = call_of((op_t) op, root, mt_rank == other ? 20 : 24);
        bool finds_out = mt_rank == (is_from_root((op_t) op) ? other : root);
        mt_poison(out, 64);
        symm_stats_t before = mt_stats();
        CHECK_INT(finds_out ? MPI_ERR_TRUNCATE : MPI_SUCCESS, mt_class(make_call(&c, in, out)));
        CHECK_INT(finds_out ? 1 : 0,
                  mt_stats().collectives_mismatched - before.collectives_mismatched);
        if (finds_out) {
            CHECK_POISON(out, 64);
        }
        /* The other rank takes somebody else for the root, who thinks otherwise. */
        c = call_of((op_t) op, mt_rank == other ? other : root, 24);
        finds_out = mt_rank == root && !is_from_root((op_t) op);
        if (2 == mt_size) {
            finds_out = finds_out || (mt_rank == other && !is_from_root((op_t) op));
            CHECK_INT(finds_out ? MPI_ERR_ROOT : MPI_SUCCESS, mt_class(make_call(&c, in, out)));
        }
        check_call(&(call_t){(op_t) op, root, 24, WINDOW, WINDOW, MPI_BYTE});
    }
}

/* A rank that cannot get its input from a GPU says so in its slot. */
static void input_that_cannot_be_had(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*arm)(const char *rules) = NULL;
    void *function = NULL == library ? NULL : dlsym(library, "fake_cuda_arm");
    if (!mt_all(NULL != function)) {
        mt_note("left out, it takes the fake CUDA driver");
        return;
    }
    memcpy(&arm, &function, sizeof(arm));
    for (int op = GATHER; op <= REDUCE && 1 < mt_size; ++op) {
        call_t c = call_of((op_t) op, 0, 24);
        bool fails = mt_rank == mt_size - 1;
        allreduce();
        CHECK(0 != arm(fails ? "cuMemcpyAsync@1=999" : ""));
        int rc = mt_class(make_call(&c, input_in(DEVICE), output_in(WINDOW)));
        CHECK(0 != arm(""));
        CHECK_MSG((0 == mt_rank || fails) == (MPI_SUCCESS != rc), "the outcome is %d", rc);
        c.from = DEVICE;
        check_call(&c);
    }
}

/* Too much for a slot on one rank alone: it waits for all, who do not all wait. */
static void one_rank_with_too_much(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    for (int op = GATHER; op <= REDUCE; ++op) {
        allreduce();
        call_t c = call_of((op_t) op, 0, 1 == mt_rank ? 2 * SLOT : 24);
        bool finds_out = 2 > mt_rank;
        CHECK_INT(finds_out ? MPI_ERR_TRUNCATE : MPI_SUCCESS,
                  mt_class(make_call(&c, input_in(WINDOW), output_in(WINDOW))));
    }
    allreduce();
}

/* Nobody leaves early where the ranks were told different things, from the first such call on. */
static void ranks_that_were_told_different_things(void)
{
    MPI_Info info;
    for (int differ = 1; differ >= 0; --differ) {
        CHECK_OK(MPI_Info_create(&info));
        CHECK_OK(MPI_Info_set(info, "coll_symm_algorithm",
                              0 == mt_rank && 0 != differ ? "next" : "auto"));
        CHECK_OK(MPI_Comm_set_info(MPI_COMM_WORLD, info));
        CHECK_OK(MPI_Info_free(&info));
        for (int i = 0; i < 4 * OPS && 1 < mt_size; ++i) {
            symm_stats_t before = mt_stats();
            call_t c = call_of((op_t) (i % OPS), i % mt_size, 16);
            check_call(&c);
            CHECK_SERVED(&before, 0 == differ && 0 < i ? "eager_push" : "low_latency_push");
        }
    }
}

static bool set_up(void)
{
    if (!allocate("system", &host_window)) {
        return false;
    }
    areas[WINDOW] = host_window.base;
    areas[HOST] = mt_alloc(MT_HOST, 2 * AREA);
    areas[PINNED] = has_place(PINNED) ? mt_alloc(MT_PINNED, 2 * AREA) : NULL;
    areas[DEVICE] = has_place(DEVICE) ? mt_alloc(MT_DEVICE, 2 * AREA) : NULL;
    return true;
}

static void tear_down(void)
{
    mt_free(MT_HOST, areas[HOST]);
    if (has_place(PINNED)) {
        mt_free(MT_PINNED, areas[PINNED]);
    }
    if (has_place(DEVICE)) {
        mt_free(MT_DEVICE, areas[DEVICE]);
    }
    CHECK_OK(MPI_Win_free(&host_window.win));
}

int main(int argc, char **argv)
{
    mt_set_param("coll_symm_timeout", "60"); /* an error at last where it should not have waited */
    mt_init(&argc, &argv, "coll_eager");
    if (set_up()) {
        MT_RUN(ranks_that_need_nothing_do_not_wait);
        MT_RUN(ranks_far_ahead);
        MT_RUN(roots_in_turn);
        MT_RUN(every_size);
        MT_RUN(among_other_collectives);
        MT_RUN(among_nonblocking_calls);
        MT_RUN(windows_come_and_go);
        MT_RUN(datatypes_with_gaps);
        MT_RUN(in_place);
        MT_RUN(from_anywhere_to_anywhere);
        MT_RUN(beside_a_gpu_window);
        MT_RUN(arguments_that_do_not_match);
        MT_RUN(input_that_cannot_be_had);
        MT_RUN(one_rank_with_too_much);
        MT_RUN(ranks_that_were_told_different_things);
        tear_down();
    }
    return mt_finish();
}
