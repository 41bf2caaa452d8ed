/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What libcu++ has no name for, one function per instruction. */
#ifndef SYMM_RESIDENT_PTX_CUH
#define SYMM_RESIDENT_PTX_CUH

#include <cstdint>

/* Loads two words at once, each with acquire at system scope: what happened before the host's
 * release of either word is visible behind it. The words may be of different ages. */
__device__ __forceinline__ ulonglong2 symm_load_acquire_pair(const uint64_t *at)
{
    unsigned long long first, second;

    asm volatile("ld.acquire.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(first), "=l"(second)
                 : "l"(__cvta_generic_to_global(at))
                 : "memory");
    return {first, second};
}

/* Nanoseconds since some time; steps of a microsecond on many GPUs. */
__device__ __forceinline__ uint64_t symm_nanoseconds()
{
    unsigned long long now;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)::"memory");
    return now;
}

#endif
