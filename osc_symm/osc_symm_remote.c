/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Carrying bytes between this process and memory of a target that is not mapped, and the lock that
 * updates of such memory need. */
#include "symm_config.h"

#include "osc_symm.h"

#include "osc_symm_own.h"
#include "symm_cma.h"
#include "symm_copy.h"
#include "symm_iov.h"
#include "symm_mailbox.h"

#include <stdlib.h>

/* Bytes that go through a buffer on the host at a time, where this side's memory is on a GPU. */
#define BOUNCE_BYTES ((size_t) 1 << 20)

/* Pieces of the target's memory in that buffer. */
#define BOUNCE_PIECES 64

/* Between host memory of this process and the target's. */
static int carry(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place, bool write,
                 const struct iovec *local, size_t local_count, const struct iovec *remote,
                 size_t remote_count)
{
    if (OSC_SYMM_REACH_CMA == place->reach) {
        return symm_cma_transfer(module->own->pids[place->target], write, local, local_count,
                                 remote, remote_count);
    }
    return symm_mailbox_transfer(ompi_osc_symm_own_mailbox(module, place->target), write, local,
                                 local_count, remote, remote_count);
}

/* Copies the next len bytes between the pieces under the cursor, of any memory, and a buffer. */
static int copy_pieces(symm_iov_cursor_t *here, bool write, char *buffer, size_t len)
{
    struct iovec piece;
    size_t part;
    int rc = MPI_SUCCESS;
    while (MPI_SUCCESS == rc && 0 < len && 0 < symm_iov_peek(here, &piece, 1, len, &part)) {
        rc = symm_copy_blocking(write ? buffer : piece.iov_base, write ? piece.iov_base : buffer,
                                part);
        symm_iov_advance(here, part);
        buffer += part;
        len -= part;
    }
    return rc;
}

/* The same as carry() for memory of this process on a GPU, through a buffer on the host. */
static int carry_bounced(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place,
                         bool write, const struct iovec *local, size_t local_count,
                         const struct iovec *remote, size_t remote_count)
{
    symm_iov_cursor_t here = SYMM_IOV_CURSOR(local, local_count);
    symm_iov_cursor_t there = SYMM_IOV_CURSOR(remote, remote_count);
    struct iovec next[BOUNCE_PIECES];
    size_t len;
    int rc = MPI_SUCCESS;
    char *buffer = malloc(BOUNCE_BYTES);
    if (NULL == buffer) {
        return MPI_ERR_NO_MEM;
    }
    for (size_t count = symm_iov_peek(&there, next, BOUNCE_PIECES, BOUNCE_BYTES, &len);
         MPI_SUCCESS == rc && 0 < count;
         count = symm_iov_peek(&there, next, BOUNCE_PIECES, BOUNCE_BYTES, &len)) {
        struct iovec bounce = {buffer, len};
        rc = write ? copy_pieces(&here, true, buffer, len) : MPI_SUCCESS;
        if (MPI_SUCCESS == rc) {
            rc = carry(module, place, write, &bounce, 1, next, count);
        }
        if (MPI_SUCCESS == rc && !write) {
            rc = copy_pieces(&here, false, buffer, len);
        }
        symm_iov_advance(&there, len);
    }
    free(buffer);
    return rc;
}

static int transfer(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place, bool write,
                    const struct iovec *local, size_t local_count, const struct iovec *remote,
                    size_t remote_count)
{
    /* All pieces are of one buffer of the program's, hence of one kind of memory. */
    bool device = 0 < local_count && SYMM_POINTER_DEVICE == symm_pointer_kind(local[0].iov_base);
    return device ? carry_bounced(module, place, write, local, local_count, remote, remote_count)
                  : carry(module, place, write, local, local_count, remote, remote_count);
}

int ompi_osc_symm_remote_write(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place,
                               const struct iovec *local, size_t local_count,
                               const struct iovec *remote, size_t remote_count)
{
    return transfer(module, place, true, local, local_count, remote, remote_count);
}

int ompi_osc_symm_remote_read(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place,
                              const struct iovec *local, size_t local_count,
                              const struct iovec *remote, size_t remote_count)
{
    return transfer(module, place, false, local, local_count, remote, remote_count);
}
