/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Stream capture, as far as it forbids calls: what is captured is not kept, and work that is given
 * to a captured stream is done. */
#ifndef FAKE_CAPTURE_H
#define FAKE_CAPTURE_H

#include <stdbool.h>

#include "fake_cuda.h"

/* Whether no unfinished capture forbids the call that this thread makes; those that do are broken
 * by it. */
bool fake_capture_survives(void);

#endif
