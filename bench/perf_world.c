/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See perf_world.h. All MPI errors here are fatal, as MPI has it by default. */
#include "symm_config.h"

#include "perf_world.h"

#include <stdarg.h>
#include <stdio.h>

perf_world_t perf_world = {.comm = MPI_COMM_NULL, .size = 1};

void perf_world_open(void)
{
    MPI_Comm host;
    MPI_Comm_dup(MPI_COMM_WORLD, &perf_world.comm);
    MPI_Comm_rank(perf_world.comm, &perf_world.rank);
    MPI_Comm_size(perf_world.comm, &perf_world.size);
    MPI_Comm_split_type(perf_world.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &perf_world.local_rank);
    MPI_Comm_free(&host);
}

void perf_world_close(void)
{
    MPI_Comm_free(&perf_world.comm);
}

MPI_Comm perf_duplicate(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Comm made;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    MPI_Comm_dup_with_info(comm, info, &made);
    MPI_Info_free(&info);
    return made;
}

void perf_barrier(void)
{
    MPI_Barrier(perf_world.comm);
}

bool perf_agree(bool mine, char *reason)
{
    int lowest = mine ? perf_world.size : perf_world.rank;
    MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, perf_world.comm);
    if (perf_world.size == lowest) {
        return true;
    }
    MPI_Bcast(reason, PERF_TEXT_MAX, MPI_CHAR, lowest, perf_world.comm);
    return false;
}

double perf_max(double mine)
{
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, perf_world.comm);
    return mine;
}

unsigned long long perf_sum(unsigned long long mine)
{
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, perf_world.comm);
    return mine;
}

void perf_fatal(const char *format, ...)
{
    va_list args;
    char text[PERF_TEXT_MAX];
    va_start(args, format);
    (void) vsnprintf(text, sizeof(text), format, args); /* cut when too long */
    va_end(args);
    fprintf(stderr, "symm_perf: rank %d: %s\n", perf_world.rank, text);
    MPI_Abort(MPI_COMM_WORLD, 2);
    __builtin_unreachable();
}

void perf_text(char *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void) vsnprintf(text, PERF_TEXT_MAX, format, args); /* cut when too long */
    va_end(args);
}

bool perf_refuse(char *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void) vsnprintf(text, PERF_TEXT_MAX, format, args); /* cut when too long */
    va_end(args);
    return false;
}
