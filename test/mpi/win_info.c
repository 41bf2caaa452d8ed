/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Info keys where osc/symm is the only component: what is honoured is told, what is not is not, and
 * what is wrong is an error of one class on all ranks. win_delegate.c does it with others beside.
 */
#include "symm_config.h"

#include "mpi_test.h"

#include <string.h>

#define UNKNOWN_KIND "rocm:device"

/* A new info of up to three keys; a NULL value leaves the key out. */
static MPI_Info make_info(const char *kind, const char *required, const char *asserted)
{
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    if (NULL != kind) {
        CHECK_OK(MPI_Info_set(info, SYMM_INFO_MEMORY_KIND, kind));
    }
    if (NULL != required) {
        CHECK_OK(MPI_Info_set(info, SYMM_INFO_REQUIRED, required));
    }
    if (NULL != asserted) {
        CHECK_OK(MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", asserted));
    }
    return info;
}

/* Creates a window of 1000 bytes on the world with these keys. Returns MPI's code. */
static int create(const char *kind, const char *required, const char *asserted, mt_win_t *w)
{
    MPI_Info info = make_info(kind, required, asserted);
    w->size = 1000;
    int rc = MPI_Win_allocate(1000, 1, info, MPI_COMM_WORLD, &w->base, &w->win);
    CHECK_OK(MPI_Info_free(&info));
    if (MPI_SUCCESS == rc) {
        CHECK_OK(MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN));
    }
    return rc;
}

/* Whether get_info tells key; *value gets what it tells. */
static bool told(MPI_Win win, const char *key, char value[MPI_MAX_INFO_VAL + 1])
{
    MPI_Info info;
    int found = 0;
    value[0] = '\0';
    if (CHECK_OK(MPI_Win_get_info(win, &info))) {
        CHECK_OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
        CHECK_OK(MPI_Info_free(&info));
    }
    return 0 != found;
}

static void check_told(MPI_Win win, const char *key, const char *expected)
{
    char value[MPI_MAX_INFO_VAL + 1];
    CHECK_MSG(told(win, key, value), "get_info does not tell %s", key);
    CHECK_MSG(0 == strcmp(expected, value), "get_info tells %s=%s, not %s", key, value, expected);
}

static void check_not_told(MPI_Win win, const char *key)
{
    char value[MPI_MAX_INFO_VAL + 1];
    CHECK_MSG(!told(win, key, value), "get_info tells %s=%s", key, value);
}

/* The world still communicates, and the next window is made. */
static void check_world_works(void)
{
    int one = 1;
    int sum = 0;
    mt_win_t w;
    CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(mt_size, sum);
    if (mt_allocate(100, 1, MPI_COMM_WORLD, &w)) {
        mt_win_free(&w);
    }
}

/* The window cannot be what was asked for: it is ordinary, of host memory, and says nothing. */
static void check_ordinary(const char *kind, const char *required, const char *asserted)
{
    mt_win_t w;
    if (!CHECK_OK(create(kind, required, asserted, &w))) {
        return;
    }
    check_not_told(w.win, SYMM_INFO_MEMORY_KIND);
    check_not_told(w.win, SYMM_INFO_REQUIRED);
    memset(w.base, mt_rank, w.size); /* a program that did not get GPU memory stores to it */
    CHECK_OK(MPI_Win_fence(0, w.win));
    CHECK_OK(MPI_Put("x", 1, MPI_CHAR, (mt_rank + 1) % mt_size, 5, 1, MPI_CHAR, w.win));
    CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
    CHECK_INT('x', w.base[5]);
    CHECK_OK(MPI_Win_free(&w.win));
}

/* Creation fails on all ranks with one error class, and harms nothing. */
static void check_refused(const char *kind, const char *required, const char *asserted)
{
    mt_win_t w = {.win = MPI_WIN_NULL};
    mt_resources_t before = mt_resources();
    int rc = create(kind, required, asserted, &w);
    CHECK_MSG(MPI_SUCCESS != rc, "the window was made all the same");
    CHECK_SAME(mt_class(rc));
    if (MPI_SUCCESS == rc) {
        CHECK_OK(MPI_Win_free(&w.win));
    }
    CHECK_RESOURCES(&before, 4);
    check_world_works();
}

/* ---- honoured ---- */

static void kind_is_told_when_honoured(void)
{
    mt_win_t w;
    if (CHECK_OK(create(symm_kind_name(mt_kind), NULL, NULL, &w))) {
        CHECK_OURS(w.win);
        check_told(w.win, SYMM_INFO_MEMORY_KIND, symm_kind_name(mt_kind));
        check_not_told(w.win, SYMM_INFO_REQUIRED);
        CHECK_OK(MPI_Win_free(&w.win));
    }
}

static void required_is_told_when_honoured(void)
{
    mt_win_t w;
    if (CHECK_OK(create(symm_kind_name(mt_kind), "true", NULL, &w))) {
        CHECK_OURS(w.win);
        check_told(w.win, SYMM_INFO_MEMORY_KIND, symm_kind_name(mt_kind));
        check_told(w.win, SYMM_INFO_REQUIRED, "true");
        CHECK_OK(MPI_Win_free(&w.win));
    }
}

static void kind_among_the_asserted_is_honoured(void)
{
    static const char *const lists[] = {"mpi,system,cuda:device", "system,cuda", "cuda,system"};
    for (int i = 0; i < 3; ++i) {
        mt_win_t w;
        if (CHECK_OK(create(symm_kind_name(mt_kind), "true", lists[i], &w))) {
            CHECK_OURS(w.win);
            check_told(w.win, SYMM_INFO_MEMORY_KIND, symm_kind_name(mt_kind));
            CHECK_OK(MPI_Win_free(&w.win));
        }
    }
}

static void noncontig_is_told_when_honoured(void)
{
    mt_win_t w;
    if (mt_allocate_shared(100, 1, true, MPI_COMM_WORLD, &w)) {
        check_told(w.win, "alloc_shared_noncontig", "true");
        mt_win_free(&w);
    }
}

/* One rank that wants no gaps decides for all. */
static void noncontig_needs_all_ranks(void)
{
    mt_win_t w;
    if (mt_needs_ranks(2) && mt_allocate_shared(100, 1, 0 != mt_rank, MPI_COMM_WORLD, &w)) {
        for (int r = 0; r + 1 < mt_size; ++r) {
            CHECK(mt_peer(&w, r + 1) == mt_peer(&w, r) + 100);
        }
        mt_win_free(&w);
    }
}

static void key_of_a_live_window_cannot_be_changed(void)
{
    mt_win_t w;
    if (CHECK_OK(create(symm_kind_name(mt_kind), NULL, NULL, &w))) {
        MPI_Info info = make_info(UNKNOWN_KIND, "true", NULL);
        CHECK_OK(MPI_Win_set_info(w.win, info));
        CHECK_OK(MPI_Info_free(&info));
        CHECK_OURS(w.win);
#if OMPI_MAJOR_VERSION >= 5
        /* Open MPI 4 itself answers with what set_info was last given, whatever we say. */
        check_told(w.win, SYMM_INFO_MEMORY_KIND, symm_kind_name(mt_kind));
#endif
        CHECK_OK(MPI_Win_free(&w.win));
    }
}

/* ---- hints ---- */

static const struct {
    const char *key;
    const char *initial;
    const char *other;
} hints[] = {{"no_locks", "false", "true"},
             {"same_size", "false", "true"},
             {"same_disp_unit", "false", "true"},
             {"accumulate_ordering", "rar,raw,war,waw", "rar,waw"},
             {"accumulate_ops", "same_op_no_op", "same_op"}};
#define HINTS 5

static void hints_have_initial_values(void)
{
    mt_win_t w;
    int keys = 0;
    MPI_Info told_info;
    if (!mt_allocate(10, 1, MPI_COMM_WORLD, &w)) {
        return;
    }
    for (int i = 0; i < HINTS; ++i) {
        check_told(w.win, hints[i].key, hints[i].initial);
    }
    CHECK_OK(MPI_Win_get_info(w.win, &told_info));
    CHECK_OK(MPI_Info_get_nkeys(told_info, &keys));
    CHECK_INT(HINTS + 2, keys); /* and the two of ours that are honoured, and nothing else */
    CHECK_OK(MPI_Info_free(&told_info));
    mt_win_free(&w);
}

static void hints_are_taken_at_creation(void)
{
    for (int i = 0; i < HINTS; ++i) {
        mt_win_t w;
        MPI_Info info = make_info(symm_kind_name(mt_kind), NULL, NULL);
        CHECK_OK(MPI_Info_set(info, hints[i].key, hints[i].other));
        if (CHECK_OK(MPI_Win_allocate(10, 1, info, MPI_COMM_WORLD, &w.base, &w.win))) {
            for (int j = 0; j < HINTS; ++j) {
                check_told(w.win, hints[j].key, i == j ? hints[j].other : hints[j].initial);
            }
            CHECK_OK(MPI_Win_free(&w.win));
        }
        CHECK_OK(MPI_Info_free(&info));
    }
}

static void senseless_hints_are_not_taken(void)
{
    static const char *const values[] = {"rar,", "war,none", "rarx", "maybe", "ra"};
    for (int v = 0; v < 5; ++v) {
        mt_win_t w;
        MPI_Info info = make_info(symm_kind_name(mt_kind), NULL, NULL);
        for (int i = 0; i < HINTS; ++i) {
            if (0 != strcmp("accumulate_ops", hints[i].key)) { /* MPI itself refuses those */
                CHECK_OK(MPI_Info_set(info, hints[i].key, values[v]));
            }
        }
        mt_context("\"%s\"", values[v]);
        if (CHECK_OK(MPI_Win_allocate(10, 1, info, MPI_COMM_WORLD, &w.base, &w.win))) {
            for (int i = 0; i < HINTS; ++i) {
                check_told(w.win, hints[i].key, hints[i].initial);
            }
            CHECK_OK(MPI_Win_free(&w.win));
        }
        CHECK_OK(MPI_Info_free(&info));
    }
}

static void hints_of_a_live_window_can_be_changed(void)
{
    mt_win_t w;
    if (!mt_allocate(10, 1, MPI_COMM_WORLD, &w)) {
        return;
    }
    for (int i = 0; i < 2 * HINTS; ++i) {
        int hint = i % HINTS;
        const char *value = i < HINTS ? hints[hint].other : hints[hint].initial;
        MPI_Info info;
        CHECK_OK(MPI_Info_create(&info));
        CHECK_OK(MPI_Info_set(info, hints[hint].key, value));
        CHECK_OK(MPI_Info_set(info, "symm_nonsense", "1"));
        CHECK_OK(MPI_Win_set_info(w.win, info));
        CHECK_OK(MPI_Info_free(&info));
        check_told(w.win, hints[hint].key, value);
        check_not_told(w.win, "symm_nonsense");
    }
    mt_win_free(&w);
}

static void unknown_key_is_ignored(void)
{
    mt_win_t w;
    MPI_Info info = make_info(symm_kind_name(mt_kind), NULL, NULL);
    CHECK_OK(MPI_Info_set(info, "symm_nonsense", "1"));
    if (CHECK_OK(MPI_Win_allocate(10, 1, info, MPI_COMM_WORLD, &w.base, &w.win))) {
        CHECK_OURS(w.win);
        check_not_told(w.win, "symm_nonsense");
        CHECK_OK(MPI_Win_free(&w.win));
    }
    CHECK_OK(MPI_Info_free(&info));
}

/* ---- not honoured ---- */

static void without_key_memory_is_the_hosts(void)
{
    mt_win_t w;
    if (CHECK_OK(create(NULL, NULL, NULL, &w))) {
        symm_window_info_t info = {.kind = SYMM_KIND_COUNT};
        memset(w.base, 1, w.size);
        CHECK_OK(symm_window_query(w.win, &info));
        CHECK_INT(SYMM_KIND_SYSTEM, info.kind);
        CHECK_OK(MPI_Win_free(&w.win));
    }
}

static void memory_alloc_kinds_is_no_request(void)
{
    mt_win_t w;
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    CHECK_OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device"));
    if (CHECK_OK(MPI_Win_allocate(10, 1, info, MPI_COMM_WORLD, &w.base, &w.win))) {
        symm_window_info_t found = {.kind = SYMM_KIND_COUNT};
        CHECK_OK(symm_window_query(w.win, &found));
        CHECK_INT(SYMM_KIND_SYSTEM, found.kind);
        CHECK_OK(MPI_Win_free(&w.win));
    }
    CHECK_OK(MPI_Info_free(&info));
}

static void unknown_kind_gives_an_ordinary_window(void)
{
    check_ordinary(UNKNOWN_KIND, NULL, NULL);
    check_ordinary(UNKNOWN_KIND, "false", NULL);
    check_ordinary("cuda:device:extra", NULL, NULL);
    check_ordinary("SYSTEM ", NULL, NULL);
}

static void different_kinds_give_an_ordinary_window(void)
{
    if (mt_needs_ranks(2)) {
        check_ordinary(0 == mt_rank ? symm_kind_name(mt_kind) : UNKNOWN_KIND, NULL, NULL);
        check_ordinary(0 == mt_rank ? "system" : "cuda:device", NULL, NULL);
        check_ordinary(mt_rank == mt_size - 1 ? "system" : "cuda:device", NULL, NULL);
    }
}

static void key_on_some_ranks_gives_an_ordinary_window(void)
{
    if (mt_needs_ranks(2)) {
        check_ordinary(0 == mt_rank ? symm_kind_name(mt_kind) : NULL, NULL, NULL);
        check_ordinary(0 == mt_rank ? NULL : symm_kind_name(mt_kind), NULL, NULL);
    }
}

static void kind_not_among_the_asserted_is_not_given(void)
{
    check_ordinary("cuda:device", NULL, "system");
    check_ordinary("cuda:device", NULL, "mpi,system,cuda:host");
}

/* ---- refused ---- */

static void required_unknown_kind_is_refused(void)
{
    check_refused(UNKNOWN_KIND, "true", NULL);
}

static void required_without_kind_is_refused(void)
{
    check_refused(NULL, "true", NULL);
}

static void required_on_one_rank_binds_all(void)
{
    if (mt_needs_ranks(2)) {
        const char *insists = mt_rank == mt_size - 1 ? "true" : NULL;
        check_refused(UNKNOWN_KIND, insists, NULL);
        check_refused(0 == mt_rank ? symm_kind_name(mt_kind) : NULL, insists, NULL);
    }
}

static void required_kind_not_asserted_is_refused(void)
{
    check_refused("cuda:device", "true", "system");
}

static void malformed_required_is_refused(void)
{
    const char *kind = symm_kind_name(mt_kind);
    check_refused(kind, "maybe", NULL);
    check_refused(kind, mt_rank == mt_size - 1 ? "maybe" : "true", NULL);
    check_refused(kind, 0 == mt_rank ? "2" : NULL, NULL);
    check_refused(NULL, 0 == mt_rank ? "truetrue" : NULL, NULL);
}

/* Where there is no GPU, or on a run for one where there is. */
static void gpu_memory_is_given_or_refused_on_all(void)
{
    mt_win_t w = {.win = MPI_WIN_NULL};
    bool has = mt_all(mt_has_memory(MT_DEVICE));
    if (!has) {
        check_refused("cuda:device", "true", NULL);
        check_ordinary("cuda:device", NULL, NULL);
        return;
    }
    int rc = create("cuda:device", "true", NULL, &w);
    CHECK_SAME(mt_class(rc));
    if (CHECK_OK(rc)) {
        check_told(w.win, SYMM_INFO_MEMORY_KIND, "cuda:device");
        CHECK_OK(MPI_Win_free(&w.win));
    }
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "win_info");
    MT_RUN(kind_is_told_when_honoured);
    MT_RUN(required_is_told_when_honoured);
    MT_RUN(kind_among_the_asserted_is_honoured);
    MT_RUN(noncontig_is_told_when_honoured);
    MT_RUN(noncontig_needs_all_ranks);
    MT_RUN(key_of_a_live_window_cannot_be_changed);
    MT_RUN(hints_have_initial_values);
    MT_RUN(hints_are_taken_at_creation);
    MT_RUN(senseless_hints_are_not_taken);
    MT_RUN(hints_of_a_live_window_can_be_changed);
    MT_RUN(unknown_key_is_ignored);
    MT_RUN(without_key_memory_is_the_hosts);
    MT_RUN(memory_alloc_kinds_is_no_request);
    MT_RUN(unknown_kind_gives_an_ordinary_window);
    MT_RUN(different_kinds_give_an_ordinary_window);
    MT_RUN(key_on_some_ranks_gives_an_ordinary_window);
    MT_RUN(kind_not_among_the_asserted_is_not_given);
    MT_RUN(required_unknown_kind_is_refused);
    MT_RUN(required_without_kind_is_refused);
    MT_RUN(required_on_one_rank_binds_all);
    MT_RUN(required_kind_not_asserted_is_refused);
    MT_RUN(malformed_required_is_refused);
    MT_RUN(gpu_memory_is_given_or_refused_on_all);
    return mt_finish();
}
