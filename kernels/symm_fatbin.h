/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The compiled device code embedded in the library: a fatbin of machine code for several
 * architectures plus PTX, loaded through the driver at run time. */
#ifndef SYMM_FATBIN_H
#define SYMM_FATBIN_H

#include <stddef.h>

/* The image and its length in bytes. *image_p is NULL and *len_p 0 when the library was built
 * without nvcc. The image is static; never free it. */
void symm_fatbin_get(const void **image_p, size_t *len_p);

#endif
