/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What this process holds of the system, to see leaks. */
#include "symm_config.h"

#include "mpi_test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long count_descriptors(void)
{
    long count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (!CHECK(NULL != dir)) {
        return -1;
    }
    while (NULL != readdir(dir)) {
        ++count;
    }
    (void) closedir(dir);
    return count;
}

/* Counts the lines of the maps file, and those of memory that our library shares. */
static void count_mappings(mt_resources_t *resources)
{
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!CHECK(NULL != maps)) {
        return;
    }
    while (NULL != fgets(line, sizeof(line), maps)) {
        ++resources->maps;
        unsigned long start, end;
        if (NULL != strstr(line, "memfd:mpi_symm") && 2 == sscanf(line, "%lx-%lx", &start, &end)) {
            ++resources->symm_maps;
            resources->symm_bytes += end - start;
        }
    }
    (void) fclose(maps);
}

static long resident_kib(void)
{
    long pages = -1;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (CHECK(NULL != statm)) {
        CHECK(1 == fscanf(statm, "%*s %ld", &pages));
        (void) fclose(statm);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

mt_resources_t mt_resources(void)
{
    mt_resources_t resources = {.fds = count_descriptors(),
                                .resident_kib = resident_kib(),
                                .bytes_mapped = mt_stats().bytes_mapped};
    count_mappings(&resources);
    return resources;
}

bool mt_check_resources(const char *file, int line, const mt_resources_t *before, long slack)
{
    mt_resources_t now = mt_resources();
    bool fds = mt_check_int(file, line, "open descriptors", before->fds, now.fds);
    bool ours = mt_check_int(file, line, "our mappings", before->symm_maps, now.symm_maps);
    bool maps = mt_check(file, line, now.maps <= before->maps + slack,
                         "mappings grew from %ld to %ld", before->maps, now.maps);
    bool bytes = mt_check_int(file, line, "bytes_mapped", (long long) before->bytes_mapped,
                              (long long) now.bytes_mapped);
    return fds && ours && maps && bytes;
}
