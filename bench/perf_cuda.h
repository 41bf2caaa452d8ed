/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * This rank's GPU, through the CUDA driver opened at run time: building needs no CUDA. After
 * opening, a failing call ends the job. */
#ifndef PERF_CUDA_H
#define PERF_CUDA_H

#include <stdbool.h>
#include <stddef.h>

/* A function of the driver by its versioned name, and where its address goes. */
typedef struct perf_cuda_symbol {
    const char *symbol;
    void **slot;
} perf_cuda_symbol_t;

/* For files that call the driver themselves. Finds functions [count]; returns false with the cause
 * in reason [PERF_TEXT_MAX] when there is no driver or it lacks one. */
bool perf_cuda_find(const perf_cuda_symbol_t *wanted, size_t count, char *reason);

/* What becomes of a CUresult: false with the cause in reason [PERF_TEXT_MAX], or the job's end. */
bool perf_cuda_succeeded(int result, const char *call, char *reason);
void perf_cuda_must(int result, const char *call);

/* Makes GPU (local_rank modulo the number of GPUs) current in its primary context and creates a
 * non-blocking stream. Returns false with the cause in reason [PERF_TEXT_MAX] when there is none.
 */
bool perf_cuda_open(int local_rank, char *reason);

/* Does nothing when nothing is open. */
void perf_cuda_close(void);

/* Whether it is open on this rank. */
bool perf_cuda_ready(void);

/* "NVIDIA H200, device 0 of 2, driver for CUDA 13.0". */
const char *perf_cuda_text(void);

/* cuMemcpyAsync on the stream. Any of the two may be host memory. */
void perf_cuda_start_copy(void *dst, const void *src, size_t len);

/* cuMemcpyAsync on the stream, then cuStreamSynchronize. Any of the two may be host memory. */
void perf_cuda_copy(void *dst, const void *src, size_t len);

/* Waits for the stream. */
void perf_cuda_synchronize(void);

/* Whether all work on the stream is done. */
bool perf_cuda_idle(void);

/* Of the GPU. */
int perf_cuda_multiprocessors(void);

/* The stream, a CUstream. */
void *perf_cuda_stream(void);

/* GPU memory; NULL when there is not enough, with the cause in reason [PERF_TEXT_MAX]. */
void *perf_cuda_allocate(size_t len, char *reason);
void perf_cuda_free(void *memory);

#endif
