/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The resident kernel of a queue (kernels/symm_resident.h): small reductions and copies without a
 * launch.
 *
 * NOTE order. A command is done beside the queue's streams. It is given only when nothing is under
 * way on the queue, and whatever follows on the main lane waits for it on the host, which takes
 * microseconds. It has a number as a launch has, and its end is told by the same word.
 *
 * NOTE standing by. The kernel holds a multiprocessor, and whoever synchronises with the device
 * waits for it. It ends by itself when there was no command for symm_options.resident_idle_us, and
 * as long after SYMM_CUDA_RESIDENT_LIFETIME_US even when commands keep coming; the next command
 * launches it again. What this library does that synchronises with the device ends all of them
 * first. */
#ifndef SYMM_CUDA_RESIDENT_H
#define SYMM_CUDA_RESIDENT_H

#include <stdbool.h>

#include "symm_cuda_queue.h"

/* Beside the idle time, the longest that one launch stays. */
#define SYMM_CUDA_RESIDENT_LIFETIME_US 10000

/* Whether the queue's kernel is there, as far as its word tells. */
bool symm_cuda_resident_runs(const symm_queue_t *queue);

/* Looks whether the command under way is over, its word not being written: since the kernel has
 * failed, which is recorded in queue->failure. Launches the kernel anew when it has ended without
 * having seen the command. For callers that hold the queue's lock. */
bool symm_cuda_resident_lost(symm_queue_t *queue);

/* Ends the kernels of all queues of device and waits for that, before something that synchronises
 * with it. Any thread; a command of another thread that is under way launches its kernel anew.
 * Teardown. */
void symm_cuda_resident_stop_all(symm_device_t *device);

/* Ends the queue's kernel, which the next command starts again. Teardown. */
void symm_cuda_resident_end(symm_queue_t *queue);

/* Ends the device's kernels, as freeing waits for the device, and frees what is kept for the
 * queue's. Teardown. */
void symm_cuda_resident_destroy(symm_queue_t *queue);

#endif
