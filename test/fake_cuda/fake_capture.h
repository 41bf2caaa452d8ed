/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Stream capture, as far as it forbids calls: what is captured is not kept. */
#ifndef FAKE_CAPTURE_H
#define FAKE_CAPTURE_H

#include <stdbool.h>

#include "fake_cuda.h"

/* Whether this thread may make calls that an unfinished capture forbids. */
bool fake_capture_allows(void);

#endif
