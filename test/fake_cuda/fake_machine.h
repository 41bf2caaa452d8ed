/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The machine that the fake driver pretends to run on: its GPUs and which of them reach which. Read
 * from the file that FAKE_CUDA_MACHINE names; the built-in one is two GPUs joined by NVLink.
 *
 * A "gpu" is a number of the file, alike in all processes; a CUdevice is a number among the visible
 * ones of this process (CUDA_VISIBLE_DEVICES). */
#ifndef FAKE_MACHINE_H
#define FAKE_MACHINE_H

#include <stdbool.h>

#include "fake_cuda.h"

#define FAKE_GPUS_MAX 16

typedef struct fake_gpu {
    char bus[16];  /* "0000:18:00.0" */
    char uuid[48]; /* "GPU-..." or "MIG-..." */
    char name[64];
    size_t memory; /* bytes, of which each process has all */
    size_t granularity;
    int multiprocessors;
    int vmm;
    int descriptors; /* handles that are file descriptors */
    int fabric; /* says that it has FABRIC handles; whether one may use them is another matter */
} fake_gpu_t;

/* Reads the machine, once for the process. Returns false, having said why, when the file is bad. */
bool fake_machine_load(void);

/* Visible GPUs. */
int fake_machine_count(void);

/* The gpu behind a device of this process, -1 when there is none. */
int fake_machine_gpu(CUdevice device);

/* The device of this process that is that gpu, -1 when it is not visible. */
CUdevice fake_machine_device(int gpu);

const fake_gpu_t *fake_machine_describe(int gpu);

/* Whether a can map memory of b; always true for a == b. */
bool fake_machine_peers(int a, int b);

/* Whether atomics of a on memory of b are atomic to others'; always true for a == b. */
bool fake_machine_atomics(int a, int b);

/* A number that processes have in common which see the same machine. */
uint64_t fake_machine_hash(void);

/* Takes len bytes of the gpu's memory, false when it has no more than that; and gives them back. */
bool fake_machine_take(int gpu, size_t len);
void fake_machine_give(int gpu, size_t len);
size_t fake_machine_free(int gpu);

#endif
