/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Where everything of a window lies in the address range that each rank reserves for it. Pure
 * arithmetic on what all ranks know, so all ranks get the same answer.
 *
 * NOTE the two shapes. G is the backend's granularity, P the bytes of a signal pad.
 *
 *   symmetric (MPI_Win_allocate, and alloc_shared_noncontig): one segment a rank, at a fixed stride
 *
 *     0            P                    stride        stride+P
 *     | pad rank 0 | data rank 0 ...    | pad rank 1  | data rank 1 ...
 *     |<---- segment of rank 0 --->|    |<---- segment of rank 1 --->|
 *
 *   contiguous (MPI_Win_allocate_shared): all pads first, then the data without gaps; each granule
 *   belongs to the rank that owns its first byte, so most memory is near the rank that asked for it
 *
 *     0     P     2P    N*P
 *     | p 0 | p 1 | ... | data rank 0 | data rank 1 | ...
 *     |<- rank 0: granules 0..k ->|<- rank 1: granules k+1.. ->| ...
 */
#ifndef SYMM_LAYOUT_H
#define SYMM_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a rank's signal pad: room for 1,024 channels of one 64-byte line each. */
#define SYMM_PAD_BYTES ((size_t) 64 * 1024)

/* Data starts at least this well aligned on every rank: a GPU's L2 sector line, a host's page of
 * adjacent-line prefetch; contiguous windows align rank 0 only, as MPI demands no gaps. */
#define SYMM_DATA_ALIGN ((size_t) 256)

typedef struct symm_span {
    size_t offset; /* bytes from the start of the range */
    size_t len;    /* bytes */
} symm_span_t;

typedef struct symm_layout {
    int size; /* ranks */
    bool contiguous;
    size_t granularity;
    size_t range_len;  /* bytes to reserve, a multiple of the granularity */
    size_t stride;     /* from one rank's data to the next; 0 when contiguous */
    size_t pad_stride; /* from one rank's pad to the next; pads start at offset 0 */
    symm_span_t *seg;  /* [size] each rank's allocation; offset and len multiples of granularity */
    symm_span_t *data; /* [size] each rank's data as asked for */
} symm_layout_t;

/* Computes the layout of `size` ranks that ask for sizes[rank] bytes each. The caller frees it with
 * symm_layout_free(). Returns MPI_SUCCESS; MPI_ERR_SIZE when the range would overflow the address
 * space (no host has more than 2^47 bytes of it); MPI_ERR_NO_MEM. *layout is zeroed on failure. */
int symm_layout_init(symm_layout_t *layout, int size, const size_t *sizes, size_t granularity,
                     bool contiguous);

void symm_layout_free(symm_layout_t *layout);

/* Whether two layouts are the same in every byte, so that one's mapping can serve the other. */
bool symm_layout_equal(const symm_layout_t *a, const symm_layout_t *b);

#endif
