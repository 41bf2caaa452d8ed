/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Physical memory of GPUs: a memfd with a note behind its bytes that says whose it is. Handles and
 * mappings hold it; it goes with the last of them, as the driver's does. */
#ifndef FAKE_PHYSICAL_H
#define FAKE_PHYSICAL_H

#include <stdbool.h>

#include "fake_cuda.h"

typedef struct fake_physical {
    int fd;
    size_t len;
    int gpu;
    unsigned long long types; /* of handles that it may be exported as */
    bool charged;             /* counts as this process's use of the gpu's memory */
    int handles;
    int mappings;
} fake_physical_t;

/* Makes memory with one handle, filled with junk. */
CUresult fake_physical_create(int gpu, size_t len, unsigned long long types,
                              fake_physical_t **physical_p);

/* Takes memory that another process (or this one) made; the descriptor stays the caller's. */
CUresult fake_physical_import(int fd, fake_physical_t **physical_p);

/* Count a handle or a mapping more, or drop one. */
void fake_physical_hold_handle(fake_physical_t *physical);
void fake_physical_hold_mapping(fake_physical_t *physical);
void fake_physical_drop_handle(fake_physical_t *physical);
void fake_physical_drop_mapping(fake_physical_t *physical);

/* The bytes of a FABRIC handle, and a new descriptor for the memory that one names. */
void fake_physical_name(const fake_physical_t *physical, CUmemFabricHandle *handle_p);
CUresult fake_physical_open(const CUmemFabricHandle *handle, int *fd_p);

/* Fills memory that nobody has written with junk, so that nobody counts on zeros. */
void fake_physical_spoil(void *bytes, size_t len);

#endif
