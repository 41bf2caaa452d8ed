/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A tuning table from a file decides between plans; a wrong one changes nothing
 * (coll_tuning_wrong); parameters stand before it. Each rank has a file of its own with the same
 * content. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef NAME
#    define NAME  "coll_tuning"
#    define TABLE "system 2 one_shot_max 5000\ncuda:device 2 one_shot_max 5000 # small\n"
#    define TAKEN true
#endif

#define SMALL                                                                                      \
    1200 /* floats: below the table's limit and the default one, and above a slot's room */
#define LARGE 2000 /* between the two */

static mt_win_t window;

static void check_plan(int count, const char *family)
{
    symm_stats_t before = mt_stats();
    mt_context("%d floats", count);
    mt_poison(window.base, 8192);
    CHECK_OK(
        MPI_Allreduce(window.base, window.base + 8192, count, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD));
    CHECK_SERVED(&before, family);
}

static void the_table_decides(void)
{
    if (!mt_needs_ranks(2)) {
        return;
    }
    check_plan(SMALL, "one_shot");
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
    mt_init(&argc, &argv, NAME);
    if (mt_allocate(16384, 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(the_table_decides);
        mt_win_free(&window);
    }
    (void) unlink(path);
    free(path);
    return mt_finish();
}
