/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The compiled kernel of perf_busy.cu, found on the assembler's include path; the makefile must
 * name the file as a prerequisite of this object. */
    .section .rodata.perf_busy_image, "a", %progbits
    .balign 64
    .globl perf_busy_image
    .hidden perf_busy_image
    .type perf_busy_image, %object
perf_busy_image:
    .incbin "perf_busy.fatbin"
    .size perf_busy_image, . - perf_busy_image

/* Without this note the linker would make the stack of the whole process executable. */
    .section .note.GNU-stack, "", %progbits
