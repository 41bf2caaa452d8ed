/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Names and launch shapes of the reduction kernels. */
#include "symm_reduce_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "symm_reduce_params.h"

/* Bytes of a source that one block takes when each thread takes one pack of 16 bytes: the shortest
 * time for small reductions, which latency bounds. */
#define BLOCK_BYTES (16u * SYMM_REDUCE_THREADS)

/* Up to here 128 blocks saturate NVLink and leave a large GPU some multiprocessors; from here on
 * filling the device with two blocks each was fastest (measured on 132 multiprocessors). */
#define LARGE_BYTES  (UINT64_C(64) << 20)
#define BLOCKS_BELOW 128u

int symm_reduce_kernel_name(symm_op_t op, symm_dtype_t dtype, char *buf, size_t len)
{
    char name[SYMM_REDUCE_KERNEL_NAME_MAX];
    int name_len;

    if (!symm_op_defined(op, dtype) || !symm_dtype_on_gpu(dtype)) {
        return EINVAL;
    }
    name_len = snprintf(name, sizeof(name), "%s%s_%s", SYMM_REDUCE_KERNEL_PREFIX, symm_op_name(op),
                        symm_dtype_name(symm_op_carrier(op, dtype)));
    if (name_len < 0 || (size_t) name_len >= sizeof(name) || (size_t) name_len >= len) {
        return ERANGE;
    }
    memcpy(buf, name, (size_t) name_len + 1);
    return 0;
}

uint32_t symm_reduce_blocks(uint64_t bytes_per_source, uint32_t multiprocessors)
{
    uint32_t most = SYMM_REDUCE_BLOCKS_PER_MULTIPROCESSOR * multiprocessors;
    uint64_t blocks = bytes_per_source / BLOCK_BYTES + (0 != bytes_per_source % BLOCK_BYTES);

    if (bytes_per_source < LARGE_BYTES && most > BLOCKS_BELOW) {
        most = BLOCKS_BELOW;
    }
    if (blocks > most) {
        blocks = most;
    }
    return 0 == blocks ? 1 : (uint32_t) blocks;
}
