/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A tuning table from a file decides between plans, by the link between the ranks
 * (coll_tuning_pcie: where GPUs have no atomics on each other's memory); a wrong one changes
 * nothing (coll_tuning_wrong). Each rank has a file of its own with the same content. */
#include "symm_config.h"

#include "mpi_test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef LINK
#    define LINK SYMM_LINK_NVLINK
#endif

#ifndef NAME
#    define NAME "coll_tuning"
#    define TABLE                                                                                  \
        "host 2 one_shot_max 5000\nsame_gpu 2 one_shot_max 5000\nnvlink 2 one_shot_max 5000\n"     \
        "pcie 2 one_shot_max 9000 # more\n"
#    define TAKEN true
#endif

/* Floats: below the table's limits and the built-in ones, and above a slot's room; between the
 * table's limits; above both, and below the built-in ones. */
#define SMALL  1200
#define MIDDLE 2000
#define LARGE  2500

#define ROOM 16384 /* bytes */

static mt_win_t window;

static symm_link_t link_of_window(void)
{
    symm_window_info_t info = {.link = SYMM_LINK_COUNT};
    CHECK_OK(symm_window_query(window.win, &info));
    return info.link;
}

/* Whether the fake driver says what GPUs there are: two, joined by NVLink. */
static bool fake_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return SYMM_KIND_SYSTEM != mt_kind && NULL != driver &&
           NULL != dlsym(driver, "fake_cuda_count");
}

static void the_link_is_known(void)
{
    symm_link_t link = link_of_window();
    if (SYMM_KIND_SYSTEM == mt_kind) {
        CHECK_INT(SYMM_LINK_HOST, link);
    } else if (fake_driver() && 1 < mt_size) {
        CHECK_INT(LINK, link);
    } else {
        CHECK(SYMM_LINK_HOST < link && SYMM_LINK_COUNT > link);
    }
    CHECK_MSG(0 != strcmp("?", symm_link_name(link)), "link %d has no name", (int) link);
}

static void check_plan(int count, const char *family)
{
    symm_stats_t before = mt_stats();
    mt_context("%d floats", count);
    mt_poison(window.base, ROOM);
    CHECK_OK(
        MPI_Allreduce(window.base, window.base + ROOM, count, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD));
    CHECK_SERVED(&before, family);
}

static void the_table_decides(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    bool pcie = SYMM_LINK_PCIE == link_of_window();
    check_plan(SMALL, "one_shot");
    check_plan(MIDDLE, TAKEN && !pcie ? "two_shot" : "one_shot");
    check_plan(LARGE, TAKEN ? "two_shot" : "one_shot");
}

/* The file's name, to be removed and freed. */
static char *write_table(void)
{
    char *path = NULL;
    if (0 > asprintf(&path, "/tmp/symm_tuning.XXXXXX")) {
        return NULL;
    }
    int fd = mkstemp(path);
    FILE *file = 0 > fd ? NULL : fdopen(fd, "w");
    if (NULL != file) {
        (void) fputs(TABLE, file);
        (void) fclose(file);
    }
    return path;
}

int main(int argc, char **argv)
{
    char *path = write_table();
    mt_set_param("coll_symm_tuning_file", path);
#ifdef MACHINE
    (void) setenv("FAKE_CUDA_MACHINE", MACHINE, 1);
#endif
    mt_init(&argc, &argv, NAME);
#ifdef MACHINE
    if (!fake_driver()) {
        mt_skip("it is for the fake driver");
    }
#endif
    if (mt_allocate((size_t) (2 * ROOM), 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(the_link_is_known);
        MT_RUN(the_table_decides);
        mt_win_free(&window);
    }
    (void) unlink(path);
    free(path);
    return mt_finish();
}
