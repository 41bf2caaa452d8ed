/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Asks hwloc which GPUs are near this process's cores. */
#include "symm_config.h"

#include "symm_topology.h"

#include <stdlib.h>

#if SYMM_HAVE_HWLOC
#    include <hwloc.h>
#endif

int symm_topology_spread(const bool *near, int count, int local_rank)
{
    int candidates = 0;
    for (int i = 0; i < count; ++i) {
        candidates += near[i] ? 1 : 0;
    }
    if (0 == candidates) {
        return local_rank % count;
    }
    int skip = local_rank % candidates;
    for (int i = 0; i < count; ++i) {
        if (near[i] && 0 == skip--) {
            return i;
        }
    }
    return 0; /* not reached: skip is below the number of near devices */
}

#if SYMM_HAVE_HWLOC
/* Marks the devices whose cores include some of ours; marks none when we may run on all cores. */
static void mark_near(hwloc_topology_t topology, const char *const *bus_ids, int count, bool *near)
{
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (NULL == bound) {
        return;
    }
    hwloc_const_cpuset_t all = hwloc_topology_get_topology_cpuset(topology);
    bool know = 0 == hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS);
    for (int i = 0; know && !hwloc_bitmap_isincluded(all, bound) && i < count; ++i) {
        hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, bus_ids[i]);
        if (NULL != device) {
            hwloc_obj_t cores = hwloc_get_non_io_ancestor_obj(topology, device);
            near[i] = NULL != cores && hwloc_bitmap_intersects(cores->cpuset, bound);
        }
    }
    hwloc_bitmap_free(bound);
}

static void find_near(const char *const *bus_ids, int count, bool *near)
{
    hwloc_topology_t topology;
    if (0 != hwloc_topology_init(&topology)) {
        return;
    }
    if (0 == hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) &&
        0 == hwloc_topology_load(topology)) {
        mark_near(topology, bus_ids, count, near);
    }
    hwloc_topology_destroy(topology);
}
#else
static void find_near(const char *const *bus_ids, int count, bool *near)
{
    (void) bus_ids;
    (void) count;
    (void) near;
}
#endif

int symm_topology_choose(const char *const *bus_ids, int count, int local_rank)
{
    bool *near = calloc((size_t) count, sizeof(*near));
    if (NULL == near) {
        return local_rank % count;
    }
    find_near(bus_ids, count, near);
    int chosen = symm_topology_spread(near, count, local_rank);
    free(near);
    return chosen;
}
