/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * cuda.h as the fake driver sees it: what cuda.h declares is what the library shows, all else is
 * hidden. Every file of the fake includes it before anything else that may include cuda.h. */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include <stddef.h>
#include <stdint.h>

/* Entry points whose declarations differ between releases of cuda.h are defined under their own
 * names, with this. */
#define FAKE_EXPORT __attribute__((visibility("default")))

#endif
