/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The kernels of atomic updates, one for each entry of SYMM_ATOMIC_LIST. A launcher finds them by
 * name in the fatbin, see symm_atomic_params.h for names and launch shape: blocks of
 * SYMM_ATOMIC_THREADS threads in one dimension, no dynamic shared memory, one parameter block
 * passed by value. */
#include "symm_atomic.cuh"

#define SYMM_ATOMIC_BOUNDS                                                                         \
    __launch_bounds__(SYMM_ATOMIC_THREADS, SYMM_ATOMIC_BLOCKS_PER_MULTIPROCESSOR)

/* clang-format 14 takes the attributes of a kernel for its name. */
/* clang-format off */
#define SYMM_ATOMIC_KERNEL(op, name, dtype, dtype_name, ctype, atype)                              \
    extern "C" __global__ SYMM_ATOMIC_BOUNDS void symm_atomic_##name##_##dtype_name(               \
        const __grid_constant__ symm_atomic_params_t p)                                            \
    {                                                                                              \
        symm_atomic_run<symm_update_##name, ctype, atype>(p);                                      \
    }
/* clang-format on */
SYMM_ATOMIC_LIST(SYMM_ATOMIC_KERNEL)
#undef SYMM_ATOMIC_KERNEL
