/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Updates of global memory that fetch nothing, one function per instruction: libcu++ has only those
 * that fetch, for which a thread keeps a register and the link an answer. Relaxed, at system scope.
 */
#ifndef SYMM_ATOMIC_PTX_CUH
#define SYMM_ATOMIC_PTX_CUH

#include <cstdint>

#define SYMM_RED(name, ctype, instruction, constraint)                                             \
    __device__ __forceinline__ void symm_red_##name(ctype *at, ctype operand)                      \
    {                                                                                              \
        asm volatile("red.relaxed.sys.global." instruction " [%0], %1;"                            \
                     :                                                                             \
                     : "l"(__cvta_generic_to_global(at)), constraint(operand)                      \
                     : "memory");                                                                  \
    }
SYMM_RED(add, uint32_t, "add.u32", "r")
SYMM_RED(add, uint64_t, "add.u64", "l")
SYMM_RED(add, float, "add.f32", "f")
SYMM_RED(add, double, "add.f64", "d")
SYMM_RED(and, uint32_t, "and.b32", "r")
SYMM_RED(and, uint64_t, "and.b64", "l")
SYMM_RED(or, uint32_t, "or.b32", "r")
SYMM_RED(or, uint64_t, "or.b64", "l")
SYMM_RED(xor, uint32_t, "xor.b32", "r")
SYMM_RED(xor, uint64_t, "xor.b64", "l")
SYMM_RED(max, uint32_t, "max.u32", "r")
SYMM_RED(max, uint64_t, "max.u64", "l")
SYMM_RED(max, int32_t, "max.s32", "r")
SYMM_RED(max, int64_t, "max.s64", "l")
SYMM_RED(min, uint32_t, "min.u32", "r")
SYMM_RED(min, uint64_t, "min.u64", "l")
SYMM_RED(min, int32_t, "min.s32", "r")
SYMM_RED(min, int64_t, "min.s64", "l")
#undef SYMM_RED

#endif
