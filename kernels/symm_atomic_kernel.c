/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Names and launch shapes of the kernels of atomic updates. */
#include "symm_atomic_params.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int symm_atomic_kernel_name(symm_atomic_op_t op, symm_dtype_t dtype, char *buf, size_t len)
{
    char name[SYMM_ATOMIC_KERNEL_NAME_MAX];

    if (!symm_atomic_defined(op, dtype)) {
        return EINVAL;
    }
    if (op < SYMM_OP_COUNT) {
        dtype = symm_op_carrier((symm_op_t) op, dtype);
    }
    int name_len = snprintf(name, sizeof(name), "%s%s_%s", SYMM_ATOMIC_KERNEL_PREFIX,
                            symm_atomic_op_name(op), symm_dtype_name(dtype));
    if (name_len < 0 || (size_t) name_len >= sizeof(name) || (size_t) name_len >= len) {
        return ERANGE;
    }
    memcpy(buf, name, (size_t) name_len + 1);
    return 0;
}

uint32_t symm_atomic_blocks(uint64_t piece_count, uint64_t elements, uint32_t multiprocessors)
{
    uint32_t most = SYMM_ATOMIC_BLOCKS_PER_MULTIPROCESSOR * multiprocessors;
    uint64_t threads = 1 == piece_count ? elements : SYMM_ATOMIC_WARP * piece_count;
    uint64_t blocks = threads / SYMM_ATOMIC_THREADS + (0 != threads % SYMM_ATOMIC_THREADS);

    if (blocks > most) {
        blocks = most;
    }
    return 0 == blocks ? 1 : (uint32_t) blocks;
}
