/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What a launcher must know about a reduction kernel beside its parameters (symm_reduce_params.h):
 * its name in the fatbin and how many blocks to launch. Pure functions; no driver is called. */
#ifndef SYMM_REDUCE_KERNEL_H
#define SYMM_REDUCE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "symm_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that hold any kernel's name and its terminating zero. */
#define SYMM_REDUCE_KERNEL_NAME_MAX 32

/* Writes the name of the kernel that serves op on dtype into buf (out, len bytes). Signed integers
 * share the unsigned kernel where the bits agree, so (SYMM_SUM, SYMM_INT32) is
 * "symm_reduce_sum_u32". Returns 0; EINVAL when op is not defined on dtype or dtype is not for
 * GPUs, ERANGE when buf is too short (buf untouched). */
int symm_reduce_kernel_name(symm_op_t op, symm_dtype_t dtype, char *buf, size_t len);

/* The number of blocks of SYMM_REDUCE_THREADS threads for a reduction of bytes_per_source bytes of
 * each source on a device of that many multiprocessors; 1 or more, also for 0 bytes. */
SYMM_EXPORT uint32_t symm_reduce_blocks(uint64_t bytes_per_source, uint32_t multiprocessors);

#ifdef __cplusplus
}
#endif

#endif
