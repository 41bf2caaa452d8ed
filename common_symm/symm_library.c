/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Counts the components that use the library. */
#include "symm_config.h"

#include "symm_library.h"

#include "symm_copy.h"
#include "symm_device.h"
#include "symm_typemap.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic int users;

void symm_library_open(void)
{
    atomic_fetch_add(&users, 1);
}

void symm_library_close(void)
{
    if (1 < atomic_fetch_sub(&users, 1)) {
        return;
    }
    symm_copy_finalize();
    symm_typemap_finalize();
    for (int kind = 0; kind < SYMM_KIND_COUNT; ++kind) {
        const symm_device_ops_t *ops = symm_device_ops((symm_kind_t) kind);
        if (NULL != ops) {
            ops->finalize();
        }
    }
}
