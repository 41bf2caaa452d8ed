/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Hands out the images that symm_fatbin.S embeds, or says that there are none. */
#include "symm_config.h"

#include "symm_fatbin.h"

#if SYMM_HAVE_KERNELS

#    define DECLARE(enumerator, name)                                                              \
        extern const unsigned char symm_fatbin_##name##_begin[]                                    \
            __attribute__((visibility("hidden")));                                                 \
        extern const unsigned char symm_fatbin_##name##_end[] __attribute__((visibility("hidde"    \
                                                                                        "n")));
SYMM_FATBIN_LIST(DECLARE)
#    undef DECLARE

void symm_fatbin_get(symm_fatbin_t fatbin, const void **image_p, size_t *len_p)
{
#    define IMAGE(enumerator, name)                                                                \
        [enumerator] = {symm_fatbin_##name##_begin, symm_fatbin_##name##_end},
    static const struct {
        const unsigned char *begin;
        const unsigned char *end;
    } images[SYMM_FATBIN_COUNT] = {SYMM_FATBIN_LIST(IMAGE)};
#    undef IMAGE

    *image_p = images[fatbin].begin;
    *len_p = (size_t) (images[fatbin].end - images[fatbin].begin);
}

#else

void symm_fatbin_get(symm_fatbin_t fatbin, const void **image_p, size_t *len_p)
{
    (void) fatbin;
    *image_p = NULL;
    *len_p = 0;
}

#endif
