/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The addresses that the driver has given out, and what lies behind them.
 *
 * NOTE two views. The address that the program sees of memory on a GPU is one of pages without any
 * access, so that a load or store by the host ends in a fault as it does on a machine with a GPU.
 * The bytes are at another address, the shadow, that only the fake's copies and kernels use:
 *
 *     base     | no access .......................................|
 *     shadow   | memfd of segment 0 | memfd of segment 1 | nothing |
 *
 * A reservation has one shadow of its whole length, so that a kernel's operand may go from one
 * mapping to the next. */
#ifndef FAKE_SPACE_H
#define FAKE_SPACE_H

#include <stdbool.h>

#include "fake_cuda.h"
#include "fake_machine.h"

typedef enum fake_range_kind {
    FAKE_RESERVATION, /* cuMemAddressReserve */
    FAKE_DEVICE,      /* cuMemAlloc */
    FAKE_PINNED,      /* cuMemHostAlloc */
    FAKE_IPC,         /* cuIpcOpenMemHandle */
} fake_range_kind_t;

struct fake_physical;

/* Physical memory mapped into a reservation. */
typedef struct fake_mapping {
    struct fake_mapping *next; /* by rising offset */
    size_t offset;
    size_t len;
    struct fake_physical *physical;
    int gpu;                             /* where it resides */
    unsigned char access[FAKE_GPUS_MAX]; /* CUmemAccess_flags of each gpu */
} fake_mapping_t;

typedef struct fake_range {
    struct fake_range *next;
    fake_range_kind_t kind;
    uintptr_t base;
    size_t len;        /* as asked for */
    size_t mapped_len; /* whole pages */
    char *shadow;
    CUcontext context;              /* of all but reservations */
    struct fake_physical *physical; /* of FAKE_DEVICE and FAKE_IPC: a handle's hold on it */
    fake_mapping_t *mappings;
} fake_range_t;

/* Who touches memory, and how. */
typedef struct fake_access {
    int gpu;
    bool kernel; /* and not a copy */
    bool write;
} fake_access_t;

typedef enum fake_place {
    FAKE_PLACE_PAGEABLE, /* memory that the driver does not know */
    FAKE_PLACE_PINNED,
    FAKE_PLACE_DEVICE,
    FAKE_PLACE_OUTSIDE, /* goes beyond a piece of allocated memory */
    FAKE_PLACE_FAULT,   /* not mapped, or not for that gpu */
} fake_place_t;

/* Work holds the read lock while it touches shadows; whoever adds and removes holds the write lock.
 */
void fake_space_read(void);
void fake_space_write(void);
void fake_space_unlock(void);

/* Makes a range: addresses and shadow. `align` is a power of two or 0. The memory of a reservation
 * has no bytes yet. Takes the write lock itself. Returns NULL when the host has no memory. */
fake_range_t *fake_space_create(fake_range_kind_t kind, size_t len, size_t align,
                                CUcontext context);

/* Makes a range of FAKE_DEVICE or FAKE_IPC, taking over a handle's hold on its memory, also when it
 * fails. */
fake_range_t *fake_space_create_of(fake_range_kind_t kind, struct fake_physical *physical,
                                   CUcontext context);

/* Takes a range out and gives its addresses back. The caller holds the write lock. */
void fake_space_destroy(fake_range_t *range);

/* The range that holds the address, NULL when there is none; of any kind. Under a lock. */
fake_range_t *fake_space_find(uintptr_t address);

/* The mapping of a reservation that holds the offset, NULL when there is none. Under a lock. */
fake_mapping_t *fake_space_mapping(const fake_range_t *range, size_t offset);

/* Where [address, address + len) is and whether it may be touched so; *bytes_p is where the bytes
 * are, *why_p what is wrong, if so. Under a lock. */
fake_place_t fake_space_resolve(uintptr_t address, size_t len, const fake_access_t *access,
                                char **bytes_p, const char **why_p);

/* How many ranges there are of that kind, and mappings. */
long fake_space_count(fake_range_kind_t kind);
long fake_space_count_mappings(void);

/* A range of that kind and context, NULL when there is none. Under a lock. */
fake_range_t *fake_space_any(fake_range_kind_t kind, CUcontext context);

/* Tells each range that is left as a leak. */
void fake_space_report(void);

#endif
