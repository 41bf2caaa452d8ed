/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Graphs of kernel nodes. */
#ifndef FAKE_GRAPH_H
#define FAKE_GRAPH_H

#include "fake_cuda.h"

/* Makes an empty graph. */
CUresult fake_graph_new(CUgraph *graph_p);

#endif
