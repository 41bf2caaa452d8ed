/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The compiled device code embedded in the library: fatbins of machine code for several
 * architectures plus PTX, one per .cu file, loaded through the driver at run time. */
#ifndef SYMM_FATBIN_H
#define SYMM_FATBIN_H

#include <stddef.h>

/* SYMM_FATBIN(enumerator, name): the fatbin of symm_<name>.cu. The makefile and symm_fatbin.S name
 * them too. */
#define SYMM_FATBIN_LIST(SYMM_FATBIN)                                                              \
    SYMM_FATBIN(SYMM_FATBIN_ATOMIC, atomic)                                                        \
    SYMM_FATBIN(SYMM_FATBIN_BATCH, batch)                                                          \
    SYMM_FATBIN(SYMM_FATBIN_MOVE, move)                                                            \
    SYMM_FATBIN(SYMM_FATBIN_REDUCE, reduce)                                                        \
    SYMM_FATBIN(SYMM_FATBIN_RESIDENT, resident)

#define SYMM_FATBIN_ENUM(enumerator, name) enumerator,
typedef enum symm_fatbin { SYMM_FATBIN_LIST(SYMM_FATBIN_ENUM) SYMM_FATBIN_COUNT } symm_fatbin_t;
#undef SYMM_FATBIN_ENUM

/* An image and its length in bytes. *image_p is NULL and *len_p 0 when the library was built
 * without nvcc. The image is static; never free it. */
void symm_fatbin_get(symm_fatbin_t fatbin, const void **image_p, size_t *len_p);

#endif
