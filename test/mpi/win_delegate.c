/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Windows where Open MPI's own components stand beside osc/symm: those that do not all want
 * symmetric memory go to them, untouched and with none of our keys; those that do are ours. */
#include "symm_config.h"

#include "mpi_test.h"

#include <string.h>

static int allocate(const char *kind, const char *required, bool shared, mt_win_t *w)
{
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    if (NULL != kind) {
        CHECK_OK(MPI_Info_set(info, SYMM_INFO_MEMORY_KIND, kind));
    }
    if (NULL != required) {
        CHECK_OK(MPI_Info_set(info, SYMM_INFO_REQUIRED, required));
    }
    w->size = 1000;
    int rc = shared ? MPI_Win_allocate_shared(1000, 1, info, MPI_COMM_WORLD, &w->base, &w->win)
                    : MPI_Win_allocate(1000, 1, info, MPI_COMM_WORLD, &w->base, &w->win);
    CHECK_OK(MPI_Info_free(&info));
    if (MPI_SUCCESS == rc) {
        CHECK_OK(MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN));
    }
    return rc;
}

static void check_not_told(MPI_Win win)
{
    static const char *const keys[] = {SYMM_INFO_MEMORY_KIND, SYMM_INFO_REQUIRED};
    for (int i = 0; i < 2; ++i) {
        char value[MPI_MAX_INFO_VAL + 1] = "";
        int found = 0;
        MPI_Info info;
        if (CHECK_OK(MPI_Win_get_info(win, &info))) {
            CHECK_OK(MPI_Info_get(info, keys[i], MPI_MAX_INFO_VAL, value, &found));
            CHECK_MSG(!found, "get_info tells %s=%s", keys[i], value);
            CHECK_OK(MPI_Info_free(&info));
        }
    }
}

static void check_works(MPI_Win win, const char *base)
{
    CHECK_OK(MPI_Win_fence(0, win));
    CHECK_OK(MPI_Put("y", 1, MPI_CHAR, (mt_rank + 1) % mt_size, 7, 1, MPI_CHAR, win));
    CHECK_OK(MPI_Win_fence(0, win));
    CHECK_INT('y', base[7]);
}

/* Each rank's own wish, which taken together must make a window of another component. */
static void check_delegated(const char *kind, bool shared)
{
    mt_win_t w;
    symm_window_info_t info;
    symm_stats_t before = mt_stats();
    mt_context("%s", shared ? "shared" : "allocated");
    if (!CHECK_OK(allocate(kind, NULL, shared, &w))) {
        return;
    }
    symm_stats_t after = mt_stats();
    CHECK_INT(before.windows_delegated + 1, after.windows_delegated);
    CHECK_INT(before.windows_created, after.windows_created);
    CHECK_INT(MPI_ERR_WIN, symm_window_query(w.win, &info));
    check_not_told(w.win);
    check_works(w.win, w.base);
    CHECK_OK(MPI_Win_free(&w.win));
    CHECK_INT(after.windows_freed, mt_stats().windows_freed);
}

static void window_without_key_is_delegated(void)
{
    check_delegated(NULL, false);
    check_delegated(NULL, true);
}

static void window_with_unknown_kind_is_delegated(void)
{
    check_delegated("rocm:device", false);
    check_delegated("rocm:device", true);
}

static void ranks_that_disagree_are_delegated(void)
{
    if (mt_needs_ranks(2)) {
        check_delegated(0 == mt_rank ? "system" : NULL, false);
        check_delegated(0 == mt_rank ? NULL : "system", true);
        check_delegated(0 == mt_rank ? "system" : "cuda:device", false);
    }
}

static void gpu_window_without_gpu_is_delegated(void)
{
    if (mt_all(!mt_has_memory(MT_DEVICE))) {
        check_delegated("cuda:device", false);
    } else {
        mt_note("left out, there is a GPU");
    }
}

static void window_with_key_is_ours(void)
{
    mt_win_t w;
    symm_stats_t before = mt_stats();
    if (mt_allocate(1000, 1, MPI_COMM_WORLD, &w)) {
        CHECK_INT(before.windows_delegated, mt_stats().windows_delegated);
        CHECK_INT(before.windows_created + 1, mt_stats().windows_created);
        mt_win_free(&w);
    }
}

static void required_is_never_delegated(void)
{
    mt_win_t w = {.win = MPI_WIN_NULL};
    symm_stats_t before = mt_stats();
    int rc = allocate("rocm:device", "true", false, &w);
    CHECK(MPI_SUCCESS != rc);
    CHECK_SAME(mt_class(rc));
    if (1 < mt_size) {
        const char *insists = mt_rank == mt_size - 1 ? "true" : NULL;
        rc = allocate(0 == mt_rank ? "system" : "rocm:device", insists, false, &w);
        CHECK(MPI_SUCCESS != rc);
        CHECK_SAME(mt_class(rc));
    }
    CHECK_INT(before.windows_delegated, mt_stats().windows_delegated);
}

static void other_flavours_go_to_other_components(void)
{
    static char memory[100];
    symm_window_info_t info;
    MPI_Win win;
    symm_stats_t before = mt_stats();
    if (CHECK_OK(MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win))) {
        CHECK_INT(MPI_ERR_WIN, symm_window_query(win, &info));
        check_works(win, memory);
        CHECK_OK(MPI_Win_free(&win));
    }
    if (CHECK_OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win))) {
        CHECK_INT(MPI_ERR_WIN, symm_window_query(win, &info));
        CHECK_OK(MPI_Win_free(&win));
    }
    CHECK_INT(before.windows_created, mt_stats().windows_created);
}

static void check_own(const char *kind, const char *required, bool dynamic, mt_memory_t memory,
                      bool ours)
{
    symm_stats_t before = mt_stats();
    MPI_Win win = MPI_WIN_NULL;
    MPI_Info info;
    char *base = mt_alloc(memory, 100);
    CHECK_OK(MPI_Info_create(&info));
    if (NULL != kind) {
        CHECK_OK(MPI_Info_set(info, SYMM_INFO_MEMORY_KIND, kind));
    }
    if (NULL != required) {
        CHECK_OK(MPI_Info_set(info, SYMM_INFO_REQUIRED, required));
    }
    int rc = dynamic ? MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win)
                     : MPI_Win_create(base, 100, 1, info, MPI_COMM_WORLD, &win);
    mt_context("%s of %s memory, kind %s", dynamic ? "dynamic" : "created", mt_memory_name(memory),
               NULL == kind ? "none" : kind);
    if (CHECK_OK(rc)) {
        CHECK_INT(before.windows_created + (ours ? 1 : 0), mt_stats().windows_created);
        if (!ours || NULL == kind) {
            check_not_told(win);
        }
        CHECK_OK(MPI_Win_free(&win));
    }
    CHECK_OK(MPI_Info_free(&info));
    mt_free(memory, base);
}

/* Memory of the program's own is ours to serve where the program says so, or where it is a GPU's.
 */
static void own_memory_is_ours_when_asked(void)
{
    check_own(NULL, NULL, false, MT_HOST, false);
    check_own(NULL, NULL, true, MT_HOST, false);
    check_own("system", NULL, false, MT_HOST, true);
    check_own("system", "true", false, MT_HOST, true);
    check_own("system", NULL, true, MT_HOST, true);
    check_own("cuda:device", NULL, false, MT_HOST, false);
    if (mt_all(mt_has_memory(MT_DEVICE))) {
        check_own(NULL, NULL, false, MT_DEVICE, true);
        check_own("cuda:device", "true", false, MT_DEVICE, true);
        check_own("cuda:device", "true", true, MT_DEVICE, true);
    }
}

/* A window of theirs gives collectives on it no reason to stop at us. */
static void delegated_window_leaves_collectives_alone(void)
{
    mt_win_t w;
    int sum = 0;
    if (CHECK_OK(allocate(NULL, NULL, false, &w))) {
        symm_stats_t before = mt_stats();
        int *mine = (int *) (void *) w.base;
        *mine = mt_rank + 1;
        CHECK_OK(MPI_Allreduce(mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK_INT(mt_size * (mt_size + 1) / 2, sum);
        symm_stats_t after = mt_stats();
        CHECK_INT(before.collectives, after.collectives);
        CHECK_INT(before.collectives_passed, after.collectives_passed);
        CHECK_OK(MPI_Win_free(&w.win));
    }
}

static void ours_and_theirs_side_by_side(void)
{
    mt_win_t ours, theirs;
    unsigned char byte = 0;
    if (!mt_allocate(100, 1, MPI_COMM_WORLD, &ours)) {
        return;
    }
    if (CHECK_OK(allocate(NULL, NULL, false, &theirs))) {
        check_works(theirs.win, theirs.base);
        CHECK_OK(MPI_Win_fence(0, ours.win));
        CHECK_OK(MPI_Put("z", 1, MPI_CHAR, (mt_rank + 1) % mt_size, 9, 1, MPI_CHAR, ours.win));
        CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, ours.win));
        mt_read(&byte, ours.base + 9, 1);
        CHECK_INT('z', byte);
        CHECK_OK(MPI_Win_free(&theirs.win));
    }
    mt_win_free(&ours);
}

int main(int argc, char **argv)
{
    mt_set_param("osc", "symm,sm,rdma,pt2pt");
    mt_init(&argc, &argv, "win_delegate");
    MT_RUN(window_without_key_is_delegated);
    MT_RUN(window_with_unknown_kind_is_delegated);
    MT_RUN(ranks_that_disagree_are_delegated);
    MT_RUN(gpu_window_without_gpu_is_delegated);
    MT_RUN(window_with_key_is_ours);
    MT_RUN(required_is_never_delegated);
    MT_RUN(other_flavours_go_to_other_components);
    MT_RUN(own_memory_is_ours_when_asked);
    MT_RUN(delegated_window_leaves_collectives_alone);
    MT_RUN(ours_and_theirs_side_by_side);
    return mt_finish();
}
