/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Gives programs window memory where they ask for memory. Preloaded, it makes one symmetric window
 * on MPI_COMM_WORLD in MPI_Init, and takes from there what MPI_Alloc_mem and, when the program
 * itself calls them, malloc and its kin return; until MPI_Finalize, which tells how many of the
 * collectives were served. Memory from before and what the window has no room for is ordinary.
 *
 * NOTE bookkeeping. Blocks have powers of two of units. What is known of them is kept outside the
 * window, so that programs may write behind their blocks as they may with malloc. */
#define _GNU_SOURCE
#include <mpi.h>

#include "mpi_symm.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNIT         ((size_t) 64) /* bytes, and what blocks are aligned to */
#define UNITS        ((size_t) 1 << 21)
#define WINDOW_BYTES (UNITS * UNIT)
#define CLASSES      22

#define EXPORT __attribute__((visibility("default")))

/* glibc's own, which are there before anything can be looked up. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *ptr, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *ptr);

static struct {
    pthread_mutex_t lock;
    bool open;
    char *base;             /* NULL before MPI_Init */
    size_t used;            /* units, from the base on */
    uint8_t *classes;       /* [UNITS] of the block that begins there: it has 1 << class units */
    uint32_t *links;        /* [UNITS] to the next free block of its class */
    uint32_t free[CLASSES]; /* first free block of each class, 0 for none: block 0 is kept */
    unsigned long blocks;
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- who asks ---- */

static struct {
    const char *from, *to;
} program; /* its code */

static int find_program(struct dl_phdr_info *info, size_t size, void *data)
{
    (void) size;
    (void) data;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (PT_LOAD == segment->p_type && 0 != (segment->p_flags & PF_X)) {
            program.from = (const char *) (info->dlpi_addr + segment->p_vaddr);
            program.to = program.from + segment->p_memsz;
        }
    }
    return 1; /* the first object is the program */
}

__attribute__((constructor)) static void start(void)
{
    (void) dl_iterate_phdr(find_program, NULL); /* returns what find_program() does */
}

#define CALLED_BY_PROGRAM is_program(__builtin_return_address(0))

static bool is_program(const void *caller)
{
    return program.from <= (const char *) caller && program.to > (const char *) caller;
}

/* ---- blocks ---- */

static unsigned class_for(size_t size)
{
    unsigned class = 0;
    while (CLASSES > class && UNIT << class < size) {
        ++class;
    }
    return class;
}

/* NULL when there is no room, or no window. */
static void *take(size_t size)
{
    unsigned class = class_for(size);
    size_t at = 0;
    (void) pthread_mutex_lock(&arena.lock); /* fails only on misuse */
    if (arena.open && CLASSES > class) {
        at = arena.free[class];
        if (0 < at) {
            arena.free[class] = arena.links[at];
        } else if (UNITS - arena.used >= (size_t) 1 << class) {
            at = arena.used;
            arena.used += (size_t) 1 << class;
            arena.classes[at] = (uint8_t) class;
        }
    }
    arena.blocks += 0 < at ? 1 : 0;
    (void) pthread_mutex_unlock(&arena.lock);
    return 0 == at ? NULL : arena.base + at * UNIT;
}

static bool is_ours(const void *ptr)
{
    return NULL != arena.base && arena.base <= (const char *) ptr &&
           arena.base + WINDOW_BYTES > (const char *) ptr;
}

static size_t unit_of(const void *ptr)
{
    return (size_t) ((const char *) ptr - arena.base) / UNIT;
}

static void give(void *ptr)
{
    size_t at = unit_of(ptr);
    (void) pthread_mutex_lock(&arena.lock);
    arena.links[at] = arena.free[arena.classes[at]];
    arena.free[arena.classes[at]] = (uint32_t) at;
    (void) pthread_mutex_unlock(&arena.lock);
}

/* ---- in place of the C library's ---- */

EXPORT void *malloc(size_t size)
{
    void *block = CALLED_BY_PROGRAM ? take(size) : NULL;
    return NULL == block ? __libc_malloc(size) : block;
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    bool fits = !__builtin_mul_overflow(count, size, &bytes);
    void *block = fits && CALLED_BY_PROGRAM ? take(bytes) : NULL;
    return NULL == block ? __libc_calloc(count, size) : memset(block, 0, bytes);
}

EXPORT void free(void *ptr)
{
    if (is_ours(ptr)) {
        give(ptr);
    } else {
        __libc_free(ptr);
    }
}

EXPORT void *realloc(void *ptr, size_t size)
{
    if (!is_ours(ptr)) {
        return NULL == ptr && CALLED_BY_PROGRAM ? malloc(size) : __libc_realloc(ptr, size);
    }
    size_t room = UNIT << arena.classes[unit_of(ptr)];
    if (size <= room) {
        return ptr;
    }
    void *block = take(size);
    block = NULL == block ? __libc_malloc(size) : block;
    if (NULL != block) {
        memcpy(block, ptr, room);
        give(ptr);
    }
    return block;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    void *block = UNIT >= alignment && CALLED_BY_PROGRAM ? take(size) : NULL;
    return NULL == block ? __libc_memalign(alignment, size) : block;
}

EXPORT int posix_memalign(void **ptr_p, size_t alignment, size_t size)
{
    void *block = UNIT >= alignment && CALLED_BY_PROGRAM ? take(size) : NULL;
    block = NULL == block ? __libc_memalign(alignment, size) : block;
    if (NULL == block) {
        return ENOMEM;
    }
    *ptr_p = block;
    return 0;
}

/* ---- in place of MPI's ---- */

EXPORT int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *base_p)
{
    void *block = 0 > size ? NULL : take((size_t) size);
    if (NULL == block) {
        return PMPI_Alloc_mem(size, info, base_p);
    }
    *(void **) base_p = block;
    return MPI_SUCCESS;
}

EXPORT int MPI_Free_mem(void *base)
{
    if (!is_ours(base)) {
        return PMPI_Free_mem(base);
    }
    give(base);
    return MPI_SUCCESS;
}

/* Ends the program when there is no window: the run would show nothing. */
static void make_window(void)
{
    MPI_Info info;
    MPI_Win window; /* which MPI_Finalize ends */
    arena.classes = __libc_calloc(UNITS, sizeof(*arena.classes));
    arena.links = __libc_calloc(UNITS, sizeof(*arena.links));
    int rc = PMPI_Info_create(&info);
    if (MPI_SUCCESS == rc) {
        (void) PMPI_Info_set(info, SYMM_INFO_MEMORY_KIND, "system");
        (void) PMPI_Info_set(info, SYMM_INFO_REQUIRED, "true");
        rc = PMPI_Win_allocate((MPI_Aint) WINDOW_BYTES, 1, info, MPI_COMM_WORLD, &arena.base,
                               &window);
        (void) PMPI_Info_free(&info);
    }
    if (MPI_SUCCESS != rc || NULL == arena.classes || NULL == arena.links) {
        (void) fprintf(stderr, "window_memory: no window\n");
        (void) PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    arena.used = 1;
    arena.open = true;
}

EXPORT int MPI_Init(int *argc, char ***argv)
{
    int rc = PMPI_Init(argc, argv);
    if (MPI_SUCCESS == rc) {
        make_window();
    }
    return rc;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int rc = PMPI_Init_thread(argc, argv, required, provided);
    if (MPI_SUCCESS == rc) {
        make_window();
    }
    return rc;
}

EXPORT int MPI_Finalize(void)
{
    symm_stats_t stats;
    int rank;
    (void) PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    (void) symm_stats_query(&stats);
    (void) fprintf(stderr,
                   "window_memory: rank %d: %lu blocks, %llu collectives served, %llu in windows, "
                   "%llu passed\n",
                   rank, arena.blocks, (unsigned long long) stats.collectives,
                   (unsigned long long) stats.collectives_in_windows,
                   (unsigned long long) stats.collectives_passed);
    arena.open = false;
    return PMPI_Finalize();
}
