/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The batches of a queue: moves that are gathered in mapped host memory until one kernel does them
 * all (kernels/symm_batch.h).
 *
 * NOTE slots. A queue has a few slots used in turn, each with a table of pieces and an area for
 * data. Ordinary host memory, which the GPU does not reach, goes through that area: packed into it
 * when a put is gathered, taken out of it when a get is complete. So it is also the bounded ring
 * through which large transfers flow: while the GPU works on one slot, this host fills or empties
 * others. One slot is open; whoever launches it opens the next, and waits for that to be free only
 * when something is gathered again.
 *
 * All functions are for callers that hold the queue's lock. */
#ifndef SYMM_CUDA_BATCH_H
#define SYMM_CUDA_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symm_cuda_queue.h"
#include "symm_rows.h"

/* Bytes of data that a slot holds. */
#define SYMM_CUDA_BATCH_DATA ((size_t) 512 << 10)

/* Makes sure that the open slot takes one more move with len bytes of data (at most 64 KiB; 0 when
 * both ends are within the GPU's reach), launching it and opening the next one if need be.
 * *room_p gets the bytes of data that it takes, at least len. */
int symm_cuda_batch_room(symm_queue_t *queue, size_t len, size_t *room_p);

/* Gathers a move both ends of which are within the GPU's reach, at addresses of this process. As
 * for the others below, room has been made. */
void symm_cuda_batch_rows(symm_queue_t *queue, const symm_rows_t *rows);

/* Gathers a move from ordinary host memory, whose bytes are taken at once. */
void symm_cuda_batch_put(symm_queue_t *queue, const symm_rows_t *rows);

/* The same for one run of bytes, at least 1 and at most 64 KiB, making room by itself. */
int symm_cuda_batch_put_run(symm_queue_t *queue, void *dst, const void *src, size_t len);

/* Gathers a move to ordinary host memory, which is written when the batch is complete. Returns
 * MPI_SUCCESS or MPI_ERR_NO_MEM. */
int symm_cuda_batch_get(symm_queue_t *queue, const symm_rows_t *rows);

/* Whether something is gathered, or a launch was promised. */
bool symm_cuda_batch_pending(const symm_queue_t *queue);

/* Makes sure that there is a launch to come, also when nothing is gathered: as a mark behind the
 * work that is on the main lane. */
int symm_cuda_batch_promise(symm_queue_t *queue);

/* Launches what is gathered or promised; nothing otherwise. The caller has entered the context. */
int symm_cuda_batch_launch(symm_queue_t *queue);

/* Ends the batches whose launches are done, up to the given one: hands over what was got, unless
 * rc is a failure. */
void symm_cuda_batch_finish(symm_queue_t *queue, uint32_t done, int rc);

/* Frees everything. Teardown; nothing is under way. */
void symm_cuda_batch_destroy(symm_queue_t *queue);

#endif
