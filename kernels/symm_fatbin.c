/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Hands out the image that symm_fatbin.S embeds, or says that there is none. */
#include "symm_config.h"

#include "symm_fatbin.h"

#if SYMM_HAVE_KERNELS

extern const unsigned char symm_fatbin_begin[] __attribute__((visibility("hidden")));
extern const unsigned char symm_fatbin_end[] __attribute__((visibility("hidden")));

void symm_fatbin_get(const void **image_p, size_t *len_p)
{
    *image_p = symm_fatbin_begin;
    *len_p = (size_t) (symm_fatbin_end - symm_fatbin_begin);
}

#else

void symm_fatbin_get(const void **image_p, size_t *len_p)
{
    *image_p = NULL;
    *len_p = 0;
}

#endif
