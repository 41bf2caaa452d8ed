/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The bytes of the .fatbin files, found on the assembler's include path. The compiler's dependency
 * files do not see .incbin: the makefile must name the fatbins as prerequisites of this object. */
#include "symm_config.h"

#if SYMM_HAVE_KERNELS
    .macro fatbin name
    .section .rodata.symm_fatbin_\name, "a", %progbits
    .balign 64
    .globl symm_fatbin_\name\()_begin
    .hidden symm_fatbin_\name\()_begin
    .type symm_fatbin_\name\()_begin, %object
symm_fatbin_\name\()_begin:
    .incbin "symm_\name\().fatbin"
    .size symm_fatbin_\name\()_begin, . - symm_fatbin_\name\()_begin
    .globl symm_fatbin_\name\()_end
    .hidden symm_fatbin_\name\()_end
    .type symm_fatbin_\name\()_end, %object
symm_fatbin_\name\()_end:
    .byte 0
    .size symm_fatbin_\name\()_end, 1
    .endm

    fatbin atomic
    fatbin batch
    fatbin move
    fatbin reduce
    fatbin resident
#endif

/* Without this note the linker would make the stack of the whole process executable. */
    .section .note.GNU-stack, "", %progbits
