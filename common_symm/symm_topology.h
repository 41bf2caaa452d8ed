/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Which GPU a rank should use when the program has not chosen one: the nearest to its cores. */
#ifndef SYMM_TOPOLOGY_H
#define SYMM_TOPOLOGY_H

#include <stdbool.h>

/* Index of the device to use among count devices with these PCI bus ids ("0000:65:00.0"): one that
 * hangs off the cores this process is bound to, spread by local_rank; spread over all of them when
 * the process is not bound, none is near, or the library was built without hwloc. */
int symm_topology_choose(const char *const *bus_ids, int count, int local_rank);

/* The pure part: the device for local_rank among those marked near, or among all when none is. */
int symm_topology_spread(const bool *near, int count, int local_rank);

#endif
