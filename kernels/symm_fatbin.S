/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The bytes of symm_reduce.fatbin, found on the assembler's include path. The compiler's dependency
 * files do not see .incbin: the makefile must name the fatbin as a prerequisite of this object. */
#include "symm_config.h"

#if SYMM_HAVE_KERNELS
    .section .rodata.symm_fatbin, "a", %progbits
    .balign 64
    .globl symm_fatbin_begin
    .hidden symm_fatbin_begin
    .type symm_fatbin_begin, %object
symm_fatbin_begin:
    .incbin "symm_reduce.fatbin"
    .size symm_fatbin_begin, . - symm_fatbin_begin
    .globl symm_fatbin_end
    .hidden symm_fatbin_end
    .type symm_fatbin_end, %object
symm_fatbin_end:
    .byte 0
    .size symm_fatbin_end, 1
#endif

/* Without this note the linker would make the stack of the whole process executable. */
    .section .note.GNU-stack, "", %progbits
