/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Modules, and running a kernel of ours by its host twin. */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "fake_cuda.h"
#include "symm_done.h"

typedef struct fake_family fake_family_t;

/* A kernel by its name in the fatbin. */
typedef struct fake_kernel {
    const char *name;
    const fake_family_t *family;
    unsigned op; /* what these mean, the family knows */
    unsigned dtype;
} fake_kernel_t;

/* A kernel launch with its parameters, copied. */
typedef struct fake_launch {
    CUfunction function;
    const fake_kernel_t *kernel;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    union {
        symm_done_t done;                                         /* first, where they tell */
        _Alignas(16) unsigned char bytes[SYMM_KERNEL_PARAMS_MAX]; /* as parameters may be */
    } params;
} fake_launch_t;

/* A kernel that is being run. */
typedef struct fake_run {
    CUcontext context;
    const fake_launch_t *launch;
} fake_run_t;

/* Kernels that take the same parameters. */
struct fake_family {
    const fake_kernel_t *kernels;
    size_t count;
    size_t params_len;
    unsigned threads; /* of a block */
    bool tells;       /* its end by a flag: the parameters begin with a symm_done_t */
    /* Refuses parameters that make no sense. */
    CUresult (*check)(const void *params);
    /* Does the kernel's work. Returns false when it touched what it may not. */
    bool (*run)(const fake_run_t *run);
    /* Instead, of a kernel that stays and tells its end by itself: its parameters do not begin with
     * a symm_done_t, and it locks the memory that it touches. */
    void (*stay)(const fake_run_t *run);
};

extern const fake_family_t fake_family_atomic;   /* fake_atomic.c */
extern const fake_family_t fake_family_batch;    /* fake_batch.c */
extern const fake_family_t fake_family_busy;     /* fake_busy.c */
extern const fake_family_t fake_family_move;     /* fake_move.c */
extern const fake_family_t fake_family_reduce;   /* fake_reduce.c */
extern const fake_family_t fake_family_resident; /* fake_resident.c */

/* The bytes of what a kernel touches, NULL when it may not, which breaks the context. */
void *fake_kernel_touch(const fake_run_t *run, const char *what, uint32_t index,
                        const void *address, size_t len, bool write);

/* Takes a node's parameters over, checking what the driver checks. */
CUresult fake_launch_read(const CUDA_KERNEL_NODE_PARAMS *node, fake_launch_t *launch_p);

/* Queues a launch to a stream of the kernel's own context. */
CUresult fake_launch_queue(const fake_launch_t *launch, CUstream stream);

/* Frees a module, taken out of the register already. */
void fake_module_free(CUmodule module);

#endif
