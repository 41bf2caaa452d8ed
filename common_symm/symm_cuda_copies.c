/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Launches of the kernel that makes several copies. */
#include "symm_config.h"

#include "symm_cuda_queue.h"

#include <mpi.h>
#include <stddef.h>
#include <string.h>

static int launch_moves(symm_queue_t *queue, const symm_move_t *moves, uint32_t count,
                        uint32_t blocks_per_move)
{
    symm_move_params_t params;
    symm_cuda_kernel_t kernel = {SYMM_FATBIN_MOVE, SYMM_MOVE_KERNEL, &queue->device->move_kernel};
    params.count = count;
    params.blocks_per_move = blocks_per_move;
    memcpy(params.moves, moves, count * sizeof(*moves));
    size_t params_len = offsetof(symm_move_params_t, moves) + count * sizeof(*moves);
    return symm_cuda_launch(queue, &kernel, &params, params_len, count * blocks_per_move,
                            SYMM_MOVE_THREADS);
}

int symm_cuda_copy_many(symm_queue_t *queue, const symm_move_t *moves, uint32_t count,
                        uint32_t blocks_per_move)
{
    symm_cuda_scope_t scope;
    if (0 == count || SYMM_MOVE_MAX < count) {
        return 0 == count ? MPI_SUCCESS : MPI_ERR_UNSUPPORTED_OPERATION;
    }
    int rc = symm_cuda_queue_begin(queue, &scope);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    rc = launch_moves(queue, moves, count, blocks_per_move);
    symm_cuda_queue_end(queue, &scope);
    return rc;
}
