/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What users ask of collectives by info keys of a communicator: it is done, shown, and where ranks
 * were told different things the call is still right. */
#include "symm_config.h"

#include "mpi_test.h"

#include <stdio.h>
#include <string.h>

#define BYTES 5000

static mt_win_t window;
static uint64_t round_number;

static bool on_gpu(void)
{
    return SYMM_KIND_CUDA_DEVICE == mt_kind;
}

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;
    CHECK_OK(MPI_Info_create(&info));
    if (NULL != key) {
        CHECK_OK(MPI_Info_set(info, key, value));
    }
    return info;
}

static MPI_Comm comm_with(const char *key, const char *value)
{
    MPI_Comm comm;
    MPI_Info info = info_of(key, value);
    CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    CHECK_OK(MPI_Info_free(&info));
    return comm;
}

static void set(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info = info_of(key, value);
    CHECK_OK(MPI_Comm_set_info(comm, info));
    CHECK_OK(MPI_Info_free(&info));
}

static void check_shown(MPI_Comm comm, const char *key, const char *expected)
{
    MPI_Info info;
    char value[64] = "";
    int flag = 0;
    CHECK_OK(MPI_Comm_get_info(comm, &info));
    CHECK_OK(MPI_Info_get(info, key, sizeof(value) - 1, value, &flag));
    CHECK_MSG(flag && 0 == strcmp(expected, value), "%s is \"%s\", not \"%s\"", key, value,
              expected);
    CHECK_OK(MPI_Info_free(&info));
}

/* An all-gather in the window; family is that of the plan, "next" for none of ours. */
static void gather(MPI_Comm comm, size_t bytes, const char *family)
{
    char *recv = window.base + MT_GUARD;
    char *send = recv + (size_t) mt_size * BYTES + MT_GUARD;
    uint64_t round = ++round_number;
    mt_fill(send, bytes, mt_seed(mt_rank, round));
    mt_poison(recv, bytes * (size_t) mt_size);
    symm_stats_t before = mt_stats();
    CHECK_OK(MPI_Allgather(send, (int) bytes, MPI_BYTE, recv, (int) bytes, MPI_BYTE, comm));
    if (1 < mt_size && NULL != family) {
        CHECK(0 == strcmp("next", family) ? CHECK_PASSED(&before) : CHECK_SERVED(&before, family));
    }
    for (int r = 0; r < mt_size; ++r) {
        CHECK_PATTERN(recv + (size_t) r * bytes, bytes, mt_seed(r, round));
    }
}

static const char *by_default(void)
{
    return on_gpu() ? "copy_push_sm" : "copy_pull_host";
}

static void algorithm_of_data_movements(void)
{
    MPI_Comm comm = comm_with(NULL, NULL);
    gather(comm, BYTES, by_default());
    set(comm, "coll_symm_algorithm", "copy_engine");
    check_shown(comm, "coll_symm_algorithm", "copy_engine");
    gather(comm, BYTES, on_gpu() ? "copy_push_ce" : "copy_pull_host");
    gather(comm, 8, on_gpu() ? "copy_push_ce" : "copy_pull_host");
    set(comm, "coll_symm_algorithm", "kernel");
    gather(comm, BYTES, by_default());
    set(comm, "coll_symm_algorithm", "next");
    gather(comm, BYTES, "next");
    gather(comm, 8, "next");
    set(comm, "coll_symm_algorithm", "auto");
    gather(comm, BYTES, by_default());
    gather(comm, 8, on_gpu() ? "copy_push_sm" : "low_latency");
    CHECK_OK(MPI_Comm_free(&comm));
}

static void key_at_creation(void)
{
    MPI_Comm comm = comm_with("coll_symm_algorithm", "next");
    check_shown(comm, "coll_symm_algorithm", "next");
    gather(comm, BYTES, "next");
    CHECK_OK(MPI_Comm_free(&comm));
    comm = comm_with(NULL, NULL);
    gather(comm, BYTES, by_default());
    CHECK_OK(MPI_Comm_free(&comm));
}

static void copy_engines_alone(void)
{
    MPI_Comm comm = comm_with("coll_symm_copy_engine_only", "true");
    gather(comm, BYTES, on_gpu() ? "copy_push_ce" : "copy_pull_host");
    set(comm, "coll_symm_copy_engine_only", "false");
    gather(comm, BYTES, by_default());
    set(comm, "coll_symm_kernel_max", "100");
    gather(comm, BYTES, on_gpu() ? "copy_push_ce" : "copy_pull_host");
    CHECK_OK(MPI_Comm_free(&comm));
}

/* The plan's text ends with blocks x threads where there is a kernel. */
static void number_of_multiprocessors(void)
{
    char plan[SYMM_PLAN_TEXT_MAX] = "";
    unsigned blocks = 0;
    MPI_Comm comm = comm_with("coll_symm_max_sms", "1");
    gather(comm, BYTES, by_default());
    CHECK_OK(symm_plan_query(plan, sizeof(plan)));
    const char *shape = strrchr(plan, ' ');
    if (on_gpu() && 1 < mt_size && CHECK(NULL != shape)) {
        CHECK_MSG(1 == sscanf(shape, " %ux", &blocks) && (unsigned) mt_size >= blocks,
                  "too many blocks in \"%s\"", plan);
    }
    CHECK_OK(MPI_Comm_free(&comm));
}

/* "table" takes back what was said before. */
static void sizes_by_the_table(void)
{
    MPI_Comm comm = comm_with("coll_symm_kernel_max", "100");
    set(comm, "coll_symm_one_shot_max", "7,table");
    check_shown(comm, "coll_symm_one_shot_max", "7,table");
    gather(comm, BYTES, on_gpu() ? "copy_push_ce" : "copy_pull_host");
    set(comm, "coll_symm_kernel_max", "table");
    check_shown(comm, "coll_symm_kernel_max", "table");
    gather(comm, BYTES, by_default());
    CHECK_OK(MPI_Comm_free(&comm));
}

static void values_that_are_none(void)
{
    static const char *const keys[] = {"coll_symm_algorithm",  "coll_symm_copy_engine_only",
                                       "coll_symm_max_sms",    "coll_symm_one_shot_max",
                                       "coll_symm_kernel_max", "coll_symm_resident"};
    MPI_Comm comm = comm_with("coll_symm_kernel_max", "lots");
    for (int i = 0; i < 6; ++i) {
        set(comm, keys[i], "-1");
        set(comm, keys[i], "12a");
        gather(comm, BYTES, by_default());
    }
    CHECK_OK(MPI_Comm_free(&comm));
}

static void ranks_that_were_told_different_things(void)
{
    static const char *const values[] = {"next", "copy_engine", "auto", "one_shot"};
    MPI_Comm comm = comm_with(NULL, NULL);
    for (int i = 0; i < 4; ++i) {
        set(comm, "coll_symm_algorithm", values[(mt_rank + i) % 4]);
        gather(comm, BYTES, NULL);
        gather(comm, 8, NULL);
        set(comm, "coll_symm_one_shot_max", 0 == (mt_rank + i) % 2 ? "0" : "1000000");
        double one = 1 + mt_rank, sum = 0;
        CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm));
        CHECK(sum == mt_size * (mt_size + 1) / 2);
    }
    CHECK_OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    mt_init(&argc, &argv, "coll_policy");
    if (mt_allocate((size_t) (mt_size + 2) * (BYTES + MT_GUARD), 1, MPI_COMM_WORLD, &window)) {
        MT_RUN(algorithm_of_data_movements);
        MT_RUN(key_at_creation);
        MT_RUN(copy_engines_alone);
        MT_RUN(sizes_by_the_table);
        MT_RUN(number_of_multiprocessors);
        MT_RUN(values_that_are_none);
        MT_RUN(ranks_that_were_told_different_things);
        mt_win_free(&window);
    }
    return mt_finish();
}
