/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The reduction kernels, one for each entry of SYMM_REDUCE_LIST. A launcher finds them by name in
 * the fatbin, see symm_reduce_kernel.h for names and launch shape: blocks of SYMM_REDUCE_THREADS
 * threads in one dimension, no dynamic shared memory, one parameter block passed by value. */
#include "symm_reduce.cuh"

#define SYMM_REDUCE_BOUNDS                                                                         \
    __launch_bounds__(SYMM_REDUCE_THREADS, SYMM_REDUCE_BLOCKS_PER_MULTIPROCESSOR)

/* clang-format 14 takes the attributes of a kernel for its name. */
/* clang-format off */
#define SYMM_REDUCE_KERNEL(op, name, dtype, dtype_name, ctype, atype)                              \
    extern "C" __global__ SYMM_REDUCE_BOUNDS void symm_reduce_##name##_##dtype_name(               \
        const __grid_constant__ symm_reduce_params_t p)                                            \
    {                                                                                              \
        symm_reduce_run<symm_op_##name, ctype, atype>(p);                                          \
    }
/* clang-format on */
SYMM_REDUCE_LIST(SYMM_REDUCE_KERNEL)
#undef SYMM_REDUCE_KERNEL
