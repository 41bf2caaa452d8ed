/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The rounds, and the table of what came of them. What fails and how, the programs know. */
#include "symm_config.h"

#include "fault_loop.h"

#include <dlfcn.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS_MAX     2000
#define FUNCTIONS_MAX  64
#define COUNTS_MAX     16
#define MAPPINGS_SLACK 24

/* What a round may take; at twice as much the program is ended. */
#define ROUND_SECONDS 20
#define RANKS_MAX     8
#define NAME_MAX_LEN  64

/* Where things are in each rank's memory; room for RANKS_MAX ranks. */
#define SMALL       ((size_t) 1024) /* bytes: one-shot, and a rank's part of the all-gather */
#define LARGE       ((size_t) 16384)
#define PUT_BYTES   ((size_t) 1000)
#define AT_INPUT    ((size_t) 0)
#define AT_ONE_SHOT (AT_INPUT + LARGE)
#define AT_TWO_SHOT (AT_ONE_SHOT + SMALL)
#define AT_GATHER   (AT_TWO_SHOT + LARGE)
#define AT_STAGED   (AT_GATHER + RANKS_MAX * SMALL)
#define AT_ROUNDS   (AT_STAGED + SMALL)
#define AT_TYPED    (AT_ROUNDS + RANKS_MAX * SMALL)
#define AT_AGAIN    (AT_TYPED + 2 * RANKS_MAX * SMALL)
#define AT_BCAST    (AT_AGAIN + LARGE)
#define AT_PUT      (AT_BCAST + LARGE)
#define WIN_BYTES   (AT_PUT + 1024)

typedef enum step {
    STEP_CREATE,
    STEP_PUT,
    STEP_GET,
    STEP_ONE_SHOT,
    STEP_TWO_SHOT,
    STEP_GATHER,
    STEP_STAGED,
    STEP_ROUNDS,
    STEP_TYPED,
    STEP_INIT,
    STEP_START,
    STEP_FREE,
    STEP_COUNT,
} step_t;

static const char *const step_names[STEP_COUNT] = {
    "creation",       "put",        "get",         "one-shot",
    "two-shot",       "all-gather", "staged call", "call in rounds",
    "call with gaps", "init",       "start",       "free"};

typedef enum outcome { REFUSED, COLLECTIVE, ORIGIN, UNNOTICED, OUTCOME_COUNT } outcome_t;

/* What the table tells of a function. */
typedef struct row {
    char name[NAME_MAX_LEN];
    int rounds;
    int outcomes[OUTCOME_COUNT];
} row_t;

/* A program's own operation, which no kernel knows. */
static MPI_Op programs_sum = MPI_OP_NULL;

/* A number, and as much room behind it. */
static MPI_Datatype every_second = MPI_DATATYPE_NULL;

static row_t table[FUNCTIONS_MAX];
static int row_count;

/* A round under way. */
typedef struct round {
    const fault_series_t *series;
    MPI_Comm comm;
    int victim;
    int number;
    MPI_Win win;
    char *base;
    int right; /* neighbours */
    int left;
    int classes[STEP_COUNT]; /* of this rank */
    int all[RANKS_MAX][STEP_COUNT];
    unsigned char put[PUT_BYTES];
    unsigned char got[PUT_BYTES];
} round_t;

bool fault_long(void)
{
    const char *value = getenv("SYMM_FAULT_LONG");
    return NULL != value && 0 == strcmp("1", value);
}

bool fault_source_find(void *library, const char *prefix, fault_source_t *source_p)
{
    char name[NAME_MAX_LEN];
    const struct {
        const char *end;
        void *slot;
    } functions[] = {
        {"arm", &source_p->arm}, {"fired", &source_p->fired}, {"hold", &source_p->hold}};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i) {
        (void) snprintf(name, sizeof(name), "%s_%s", prefix, functions[i].end);
        void *function = dlsym(library, name);
        if (!CHECK_MSG(NULL != function, "no %s", name)) {
            return false;
        }
        memcpy(functions[i].slot, &function, sizeof(function));
    }
    return true;
}

/* ---- one round's calls ---- */

static void add(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    const int32_t *from = in;
    int32_t *to = inout;
    (void) datatype;
    for (int i = 0; i < *count; ++i) {
        to[i] += from[i];
    }
}

/* The first error of two. */
static int first(int rc, int next)
{
    return MPI_SUCCESS != rc ? rc : next;
}

static int32_t input(int rank, size_t i, int number)
{
    return (int32_t) (i % 1000) + 17 * rank + number;
}

static void fill_input(const round_t *r)
{
    int32_t values[LARGE / sizeof(int32_t)];
    for (size_t i = 0; i < LARGE / sizeof(int32_t); ++i) {
        values[i] = input(mt_rank, i, r->number);
    }
    mt_write(r->base + AT_INPUT, values, sizeof(values));
    mt_poison(r->base + AT_ONE_SHOT, WIN_BYTES - AT_ONE_SHOT);
    mt_write(r->base + AT_ROUNDS, values, RANKS_MAX * SMALL);
}

static void create(round_t *r)
{
    MPI_Info info = mt_info();
    CHECK_OK(MPI_Info_set(info, SYMM_INFO_REQUIRED, r->series->fallback ? "false" : "true"));
    r->win = MPI_WIN_NULL;
    r->classes[STEP_CREATE] =
        MPI_Win_allocate((MPI_Aint) WIN_BYTES, 1, info, r->comm, &r->base, &r->win);
    CHECK_OK(MPI_Info_free(&info));
}

static int put(round_t *r)
{
    int rc = MPI_Win_fence(0, r->win);
    rc = first(rc, MPI_Put(r->put, (int) PUT_BYTES, MPI_BYTE, r->right, (MPI_Aint) AT_PUT,
                           (int) PUT_BYTES, MPI_BYTE, r->win));
    return first(rc, MPI_Win_fence(MPI_MODE_NOSUCCEED, r->win));
}

static int get(round_t *r)
{
    int rc = MPI_Win_lock(MPI_LOCK_SHARED, r->left, 0, r->win);
    rc = first(rc, MPI_Get(r->got, (int) PUT_BYTES, MPI_BYTE, r->left, (MPI_Aint) AT_INPUT,
                           (int) PUT_BYTES, MPI_BYTE, r->win));
    rc = first(rc, MPI_Win_flush(r->left, r->win));
    return first(rc, MPI_Win_unlock(r->left, r->win));
}

/* In place: each rank reads, and goes on when all have. Not the nonblocking form, which asks the
 * driver any number of times. */
static int scatter_sums(const round_t *r)
{
    return MPI_Reduce_scatter_block(MPI_IN_PLACE, r->base + AT_ROUNDS,
                                    (int) (SMALL / sizeof(int32_t)), MPI_INT32_T, MPI_SUM, r->comm);
}

/* Into every second number. */
static int gather_into_gaps(const round_t *r)
{
    int count = (int) (SMALL / sizeof(int32_t));
    return MPI_Allgather(r->base + AT_INPUT, count, MPI_INT32_T, r->base + AT_TYPED, count,
                         every_second, r->comm);
}

/* ---- persistent calls: an all-reduce, by kernels, and a broadcast, by copies. The latter is not
 * started: asking for the end of copies takes calls without end. ---- */

#define PERSISTENT 2

#if MPI_VERSION >= 4
#    define HAS_PERSISTENT 1
#    define INIT(name)     MPI_##name##_init
#else
#    define HAS_PERSISTENT OMPI_HAVE_MPI_EXT_PCOLLREQ
#    define INIT(name)     MPIX_##name##_init
#endif

#if HAS_PERSISTENT
static int init(round_t *r, MPI_Request requests[PERSISTENT])
{
    char *bcast = r->base + (0 == mt_rank ? AT_INPUT : AT_BCAST);
    int rc =
        INIT(Allreduce)(r->base + AT_INPUT, r->base + AT_AGAIN, (int) (LARGE / sizeof(int32_t)),
                        MPI_INT32_T, MPI_SUM, r->comm, MPI_INFO_NULL, &requests[0]);
    return first(
        rc, INIT(Bcast)(bcast, (int) LARGE, MPI_BYTE, 0, r->comm, MPI_INFO_NULL, &requests[1]));
}
#else
static int init(round_t *r, MPI_Request requests[PERSISTENT])
{
    (void) r;
    (void) requests;
    return MPI_SUCCESS;
}
#endif

static int start(MPI_Request *request)
{
    int rc = MPI_Start(request);
    return first(rc, MPI_Wait(request, MPI_STATUS_IGNORE));
}

/* Makes requests, starts the first one twice, and frees them. Open MPI has freed one that ended in
 * an error. */
static void use_again(round_t *r)
{
    MPI_Request requests[PERSISTENT] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    r->classes[STEP_INIT] = init(r, requests);
    for (int i = 0; i < 2 && MPI_REQUEST_NULL != requests[0]; ++i) {
        r->classes[STEP_START] = first(r->classes[STEP_START], start(&requests[0]));
    }
    for (int i = 0; i < PERSISTENT; ++i) {
        if (MPI_REQUEST_NULL != requests[i]) {
            CHECK_OK(MPI_Request_free(&requests[i]));
        }
    }
}

static void use(round_t *r)
{
    char *base = r->base;
    r->classes[STEP_PUT] = put(r);
    r->classes[STEP_GET] = get(r);
    r->classes[STEP_ONE_SHOT] =
        MPI_Allreduce(base + AT_INPUT, base + AT_ONE_SHOT, (int) (SMALL / sizeof(int32_t)),
                      MPI_INT32_T, MPI_SUM, r->comm);
    r->classes[STEP_TWO_SHOT] =
        MPI_Allreduce(base + AT_INPUT, base + AT_TWO_SHOT, (int) (LARGE / sizeof(int32_t)),
                      MPI_INT32_T, MPI_SUM, r->comm);
    r->classes[STEP_STAGED] =
        MPI_Allreduce(base + AT_INPUT, base + AT_STAGED, (int) (SMALL / sizeof(int32_t)),
                      MPI_INT32_T, programs_sum, r->comm);
    r->classes[STEP_ROUNDS] = scatter_sums(r);
    r->classes[STEP_TYPED] = gather_into_gaps(r);
    use_again(r);
    /* Last, so that no later call gives its copies time. */
    r->classes[STEP_GATHER] = MPI_Allgather(base + AT_INPUT, (int) SMALL, MPI_BYTE,
                                            base + AT_GATHER, (int) SMALL, MPI_BYTE, r->comm);
}

/* ---- what came of it ---- */

static void gather(round_t *r)
{
    for (int s = 0; s < STEP_COUNT; ++s) {
        r->classes[s] = mt_class(r->classes[s]);
    }
    CHECK_OK(MPI_Allgather(r->classes, STEP_COUNT, MPI_INT, r->all, STEP_COUNT, MPI_INT, mt_comm));
}

static bool all_succeeded(const round_t *r, step_t step)
{
    for (int rank = 0; rank < mt_size; ++rank) {
        if (MPI_SUCCESS != r->all[rank][step]) {
            return false;
        }
    }
    return true;
}

static bool is_one_sided(step_t step)
{
    return STEP_PUT == step || STEP_GET == step;
}

/* A collective call ends alike everywhere; a one-sided one fails at its origin alone. */
static void check_classes(const round_t *r)
{
    for (int s = 0; s < STEP_COUNT; ++s) {
        for (int rank = 0; rank < mt_size; ++rank) {
            int class = r->all[rank][s];
            if (is_one_sided((step_t) s)) {
                CHECK_MSG(rank == r->victim || MPI_SUCCESS == class,
                          "%s: class %d on rank %d, which has no part in it", step_names[s], class,
                          rank);
            } else {
                CHECK_MSG(class == r->all[0][s], "%s: class %d on rank %d, but %d on rank 0",
                          step_names[s], class, rank, r->all[0][s]);
            }
        }
    }
}

/* Sums of the ranks' elements from `from` on. */
static void check_sums(const char *at, size_t from, size_t len, int number)
{
    int32_t got[LARGE / sizeof(int32_t)];
    size_t bad = 0;
    mt_read(got, at, len);
    for (size_t i = 0; i < len / sizeof(int32_t); ++i) {
        int32_t sum = 0;
        for (int rank = 0; rank < mt_size; ++rank) {
            sum += input(rank, from + i, number);
        }
        bad += sum != got[i] ? 1 : 0;
    }
    CHECK_MSG(0 == bad, "%zu wrong sums", bad);
}

/* Every stride-th number is one of what a rank gave. */
static void check_gathered(const char *at, size_t stride, int number)
{
    int32_t got[2 * SMALL / sizeof(int32_t)];
    for (int rank = 0; rank < mt_size; ++rank) {
        size_t bad = 0;
        mt_read(got, at + (size_t) rank * stride * SMALL, stride * SMALL);
        for (size_t i = 0; i < SMALL / sizeof(int32_t); ++i) {
            bad += input(rank, i, number) != got[i * stride] ? 1 : 0;
        }
        CHECK_MSG(0 == bad, "%zu wrong elements of rank %d", bad, rank);
    }
}

/* What succeeded on all ranks has its results. The latest call first, since reading waits for what
 * it may have left under way. */
static void check_data(const round_t *r)
{
    if (all_succeeded(r, STEP_GATHER)) {
        check_gathered(r->base + AT_GATHER, 1, r->number);
    }
    if (all_succeeded(r, STEP_PUT)) {
        CHECK_PATTERN(r->base + AT_PUT, PUT_BYTES, mt_seed(r->left, (uint64_t) r->number));
    }
    if (MPI_SUCCESS == r->classes[STEP_GET]) {
        int32_t value;
        for (size_t i = 0; i < PUT_BYTES / sizeof(value); ++i) {
            memcpy(&value, r->got + i * sizeof(value), sizeof(value));
            CHECK(input(r->left, i, r->number) == value);
        }
    }
    if (all_succeeded(r, STEP_ONE_SHOT)) {
        check_sums(r->base + AT_ONE_SHOT, 0, SMALL, r->number);
    }
    if (all_succeeded(r, STEP_TWO_SHOT)) {
        check_sums(r->base + AT_TWO_SHOT, 0, LARGE, r->number);
    }
    if (all_succeeded(r, STEP_STAGED)) {
        check_sums(r->base + AT_STAGED, 0, SMALL, r->number);
    }
    if (all_succeeded(r, STEP_ROUNDS)) {
        check_sums(r->base + AT_ROUNDS, (size_t) mt_rank * SMALL / sizeof(int32_t), SMALL,
                   r->number);
    }
    if (all_succeeded(r, STEP_TYPED)) {
        check_gathered(r->base + AT_TYPED, 2, r->number);
    }
    if (HAS_PERSISTENT && all_succeeded(r, STEP_INIT) && all_succeeded(r, STEP_START)) {
        check_sums(r->base + AT_AGAIN, 0, LARGE, r->number);
    }
}

/* A window whose ranks disagree on whether it exists cannot be gone on with. */
static void check_creation(round_t *r)
{
    int classes[RANKS_MAX];
    int mine = mt_class(r->classes[STEP_CREATE]);
    CHECK_OK(MPI_Allgather(&mine, 1, MPI_INT, classes, 1, MPI_INT, mt_comm));
    for (int rank = 0; rank < mt_size; ++rank) {
        if ((MPI_SUCCESS == classes[rank]) != (MPI_SUCCESS == mine)) {
            CHECK_MSG(false, "creation: class %d here, but %d on rank %d", mine, classes[rank],
                      rank);
            (void) fflush(stdout);
            (void) MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    CHECK_MSG(MPI_SUCCESS == mine || !r->series->fallback,
              "creation: class %d, although an "
              "ordinary window would do",
              mine);
}

/* ---- a round ---- */

static void call(void (*function)(void))
{
    if (NULL != function) {
        function();
    }
}

/* Calls of the product, which alone are counted. */
static void counted(round_t *r, void (*calls)(round_t *r))
{
    call(r->series->enter);
    mt_barrier();
    r->series->source->hold(0);
    calls(r);
    r->series->source->hold(1);
    call(r->series->leave);
}

static void free_window(round_t *r)
{
    r->classes[STEP_FREE] = MPI_Win_free(&r->win);
}

static void run_calls(round_t *r)
{
    counted(r, create);
    check_creation(r);
    if (MPI_SUCCESS != r->classes[STEP_CREATE]) {
        CHECK(MPI_WIN_NULL == r->win);
        gather(r);
        return;
    }
    CHECK_OK(MPI_Win_set_errhandler(r->win, MPI_ERRORS_RETURN));
    fill_input(r);
    counted(r, use);
    gather(r);
    check_data(r);
    counted(r, free_window);
    gather(r);
}

/* Whether the round's failure came, on all ranks alike; its function's name in name. */
static bool learn_fired(const round_t *r, char name[NAME_MAX_LEN])
{
    memset(name, 0, NAME_MAX_LEN);
    if (mt_rank == r->victim) {
        (void) snprintf(name, NAME_MAX_LEN, "%s", r->series->source->fired());
    }
    CHECK_OK(MPI_Bcast(name, NAME_MAX_LEN, MPI_CHAR, r->victim, mt_comm));
    return '\0' != name[0];
}

static void init_round(const fault_series_t *series, MPI_Comm comm, int victim, int number,
                       round_t *r)
{
    memset(r, 0, sizeof(*r));
    r->series = series;
    r->comm = comm;
    r->victim = victim;
    r->number = number;
    r->right = (mt_rank + 1) % mt_size;
    r->left = (mt_rank + mt_size - 1) % mt_size;
    mt_pattern(r->put, PUT_BYTES, mt_seed(mt_rank, (uint64_t) number));
    mt_context("%s, call %d of rank %d", series->name, number, victim);
}

/* Ends a round that hangs. */
static void end_hang(int signal)
{
    static const char text[] = "FAIL: fault_loop.c: the round hangs\n";
    (void) signal;
    (void) !write(STDOUT_FILENO, text, sizeof(text) - 1); /* nothing else may be called here */
    _exit(1);
}

/* The calls of a round while the victim's rule is armed, or nobody's when the victim is -1. */
static void run_round(round_t *r)
{
    char rule[128];
    const fault_series_t *series = r->series;
    const char *seconds = getenv("SYMM_FAULT_SECONDS");
    double limit = NULL == seconds ? ROUND_SECONDS : strtod(seconds, NULL);
    (void) snprintf(rule, sizeof(rule), "%s@%d=%s", series->function, r->number, series->action);
    series->source->hold(1);
    call(series->begin);
    CHECK(0 != series->source->arm(mt_rank == r->victim ? rule : ""));
    double start = MPI_Wtime();
    (void) alarm((unsigned) (2 * limit));
    run_calls(r);
    (void) alarm(0);
    double took = MPI_Wtime() - start;
    CHECK_MSG(limit > took, "the round took %.1f s", took);
    call(series->end);
    series->source->hold(0);
}

/* ---- the table ---- */

static row_t *row_of(const char *name)
{
    int i = 0;
    while (i < row_count && 0 != strcmp(table[i].name, name)) {
        ++i;
    }
    if (i == row_count && row_count < FUNCTIONS_MAX) {
        (void) snprintf(table[row_count++].name, NAME_MAX_LEN, "%s", name);
    }
    return &table[i < FUNCTIONS_MAX ? i : FUNCTIONS_MAX - 1];
}

static outcome_t outcome_of(const round_t *r)
{
    if (!all_succeeded(r, STEP_CREATE)) {
        return REFUSED;
    }
    outcome_t outcome = UNNOTICED;
    for (int s = STEP_PUT; s < STEP_COUNT; ++s) {
        if (!all_succeeded(r, (step_t) s)) {
            outcome = is_one_sided((step_t) s) && UNNOTICED == outcome ? ORIGIN : COLLECTIVE;
        }
    }
    return outcome;
}

static void enter_in_table(const round_t *r, const char *name)
{
    row_t *row = row_of(name);
    ++row->rounds;
    ++row->outcomes[outcome_of(r)];
}

void fault_print_table(int least)
{
    int rounds = 0;
    if (0 == mt_rank) {
        printf("| call that fails | rounds | creation refused on all | collective failed on all | "
               "failed at its origin | no error |\n");
        for (int i = 0; i < row_count; ++i) {
            const row_t *row = &table[i];
            printf("| `%s` | %d | %d | %d | %d | %d |\n", row->name, row->rounds,
                   row->outcomes[REFUSED], row->outcomes[COLLECTIVE], row->outcomes[ORIGIN],
                   row->outcomes[UNNOTICED]);
            rounds += row->rounds;
        }
        printf("%d rounds, %d functions, %d ranks\n", rounds, row_count, mt_size);
    }
    CHECK_MSG(least <= row_count, "only %d functions were made to fail", row_count);
}

/* ---- a series ---- */

typedef struct holdings {
    mt_resources_t resources;
    long numbers[COUNTS_MAX];
    const char *names[COUNTS_MAX];
    int count;
} holdings_t;

static void take_stock(const fault_series_t *series, holdings_t *now)
{
    now->resources = mt_resources();
    now->count = NULL == series->count ? 0 : series->count(now->numbers, now->names, COUNTS_MAX);
}

/* Checks that nothing is left. */
static void check_holdings(const fault_series_t *series, const holdings_t *before)
{
    holdings_t now;
    CHECK_RESOURCES(&before->resources, MAPPINGS_SLACK);
    take_stock(series, &now);
    for (int i = 0; i < now.count; ++i) {
        CHECK_MSG(before->numbers[i] == now.numbers[i], "%ld %s, %ld before", now.numbers[i],
                  now.names[i], before->numbers[i]);
    }
}

/* A round without a failure. */
static void check_goes_on(const fault_series_t *series, MPI_Comm comm, int number)
{
    round_t r;
    init_round(series, comm, -1, number, &r);
    run_round(&r);
    mt_context("%s, the window after call %d", series->name, number);
    for (int s = 0; s < STEP_COUNT; ++s) {
        CHECK_MSG(all_succeeded(&r, (step_t) s), "%s", step_names[s]);
    }
}

/* One round with its consequences. Returns whether a failure came. */
static bool fail_one(const fault_series_t *series, MPI_Comm comm, int victim, int number,
                     const holdings_t *before)
{
    char name[NAME_MAX_LEN];
    round_t r;
    if (series->fresh) {
        CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    }
    init_round(series, comm, victim, number, &r);
    run_round(&r);
    bool came = learn_fired(&r, name);
    CHECK(0 != series->source->arm(""));
    if (came) {
        mt_context("%s, call %d of rank %d (%s)", series->name, number, victim, name);
        enter_in_table(&r, name);
        CHECK_MSG(!series->harmless || UNNOTICED == outcome_of(&r), "it was noticed");
    } else {
        CHECK_MSG(UNNOTICED == outcome_of(&r), "an error without a failure");
    }
    check_classes(&r);
    if (!series->once) {
        check_goes_on(series, comm, number);
    }
    if (series->fresh) {
        CHECK_OK(MPI_Comm_free(&comm));
    }
    if (!series->once) {
        check_holdings(series, before);
    }
    return !mt_failed() && came; /* what comes after a failure would tell little */
}

void fault_run(const fault_series_t *series)
{
    holdings_t before;
    MPI_Comm comm;
    if (!CHECK(mt_size <= RANKS_MAX)) {
        return;
    }
    (void) signal(SIGALRM, end_hang);
    CHECK_OK(MPI_Op_create(add, 1, &programs_sum));
    CHECK_OK(
        MPI_Type_create_resized(MPI_INT32_T, 0, 2 * (MPI_Aint) sizeof(int32_t), &every_second));
    CHECK_OK(MPI_Type_commit(&every_second));
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    if (!series->once) {
        check_goes_on(series, comm, 0); /* what is made once is made before anything is counted */
    }
    if (series->fresh) {
        CHECK_OK(MPI_Comm_free(&comm));
    }
    take_stock(series, &before);
    for (int victim = series->once ? mt_size - 1 : 0; victim < mt_size; ++victim) {
        int most = 0 < series->most ? series->most : ROUNDS_MAX;
        int number = 1;
        while (number <= most && fail_one(series, comm, victim, number, &before)) {
            ++number;
        }
        if (mt_failed()) {
            break;
        }
        CHECK_MSG(1 < number && number <= ROUNDS_MAX, "%d calls of rank %d failed", number - 1,
                  victim);
    }
    if (!series->fresh) {
        CHECK_OK(MPI_Comm_free(&comm));
    }
    CHECK_OK(MPI_Op_free(&programs_sum));
    CHECK_OK(MPI_Type_free(&every_second));
}
