/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Heap, stack and static data of the program. */
#include "symm_config.h"

#include "symm_program_memory.h"

#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* From the first to the last byte of the program's own segments. */
static uintptr_t static_begin, static_end;
static uintptr_t heap_begin;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Where the calling thread's stack ends; 0 before it was asked for. */
static _Thread_local uintptr_t stack_end __attribute__((tls_model("initial-exec")));

/* The first object that the loader tells of is the program. */
static int find_static(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void) size, (void) unused;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
        if (PT_LOAD == segment->p_type) {
            static_begin = 0 == static_end || begin < static_begin ? begin : static_begin;
            static_end =
                static_end < begin + segment->p_memsz ? begin + segment->p_memsz : static_end;
        }
    }
    return 1;
}

/* Where the kernel says that the heap begins; where it ends now if there is none. */
static uintptr_t find_heap(void)
{
    char line[512];
    unsigned long begin;
    uintptr_t found = (uintptr_t) sbrk(0);
    FILE *maps = fopen("/proc/self/maps", "re");
    while (NULL != maps && NULL != fgets(line, sizeof(line), maps)) {
        if (NULL != strstr(line, "[heap]") && 1 == sscanf(line, "%lx-", &begin)) {
            found = begin;
            break;
        }
    }
    if (NULL != maps) {
        (void) fclose(maps);
    }
    return found;
}

static void look(void)
{
    (void) dl_iterate_phdr(find_static, NULL);
    heap_begin = find_heap();
}

/* 1 when it cannot be found, below which nothing is. */
static uintptr_t find_stack_end(void)
{
    pthread_attr_t attributes;
    void *base = NULL;
    size_t len = 0;
    if (0 != pthread_getattr_np(pthread_self(), &attributes)) {
        return 1;
    }
    int failed = pthread_attr_getstack(&attributes, &base, &len);
    (void) pthread_attr_destroy(&attributes);
    return 0 == failed ? (uintptr_t) base + len : 1;
}

bool symm_program_memory(const void *ptr)
{
    uintptr_t address = (uintptr_t) ptr;
    if (0 == stack_end) {
        (void) pthread_once(&once, look); /* cannot fail with a valid control */
        stack_end = find_stack_end();
    }
    /* Of the stack, what is in use: from this function's frame on. */
    return (address >= heap_begin && address < (uintptr_t) sbrk(0)) ||
           (address >= (uintptr_t) __builtin_frame_address(0) && address < stack_end) ||
           (address >= static_begin && address < static_end);
}
