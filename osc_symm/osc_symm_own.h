/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What the files about windows on the program's own memory share.
 *
 * NOTE service area. Such a window has segments of host memory that all ranks map. A rank's holds
 * its mailbox (symm_mailbox.h) and, in a dynamic window, the table of its regions (symm_regions.h)
 * and how the GPU memory of its regions can be had. */
#ifndef OSC_SYMM_OWN_H
#define OSC_SYMM_OWN_H

#include "osc_symm.h"

#include "symm_mailbox.h"
#include "symm_regions.h"

/* Most allocations of GPU memory that a rank can have regions of attached to one window. */
#define OSC_SYMM_GPU_PIECES 1024

/* How others can have a piece of GPU memory, an allocation or a symmetric window's range, which
 * regions that are attached lie in; whole before any region with its tag is in the table. */
typedef struct osc_symm_gpu_piece {
    _Atomic uint64_t tag; /* of those regions, 0 when the entry is free */
    uint64_t start;       /* address in the owner's process */
    uint64_t regions;     /* how many there are; for the owner */
    uint64_t identity;    /* of the symmetric window, 0 when it lies in none */
    symm_offer_t offer;   /* otherwise */
} osc_symm_gpu_piece_t;

/* The tag of regions of GPU memory that only its owner reaches. */
#define OSC_SYMM_OWNERS_TAG UINT64_MAX

/* A piece of another rank's GPU memory that this rank has mapped. */
typedef struct osc_symm_found_piece osc_symm_found_piece_t;
struct osc_symm_found_piece {
    osc_symm_found_piece_t *next;
    int target;
    uint64_t tag;
    uint64_t start;         /* address in the target's process */
    char *address;          /* here */
    symm_adopted_t adopted; /* of kind SYMM_OFFER_NONE in a symmetric window */
};

struct osc_symm_own {
    ompi_osc_symm_module_t *module;
    pid_t *pids;                      /* [size] */
    bool cma;                         /* works between all ranks */
    const symm_device_ops_t *gpu_ops; /* NULL when the window can have no GPU memory */
    symm_device_t *device;            /* likewise */
    symm_queue_t *service_queue;      /* of copies for others, within progress */
    symm_queue_t *queue;              /* on it */
    symm_adopted_t *adopted;          /* [size] the others' memory; of dynamic windows nothing */
    size_t capacity;                  /* of the table of regions */
    uint64_t next_tag;                /* of pieces of GPU memory; 0 is the tag of host memory */
    osc_symm_found_piece_t *found;    /* under the module's lock */
    osc_symm_own_t *next;             /* among those served */
    bool served;
};

static inline size_t ompi_osc_symm_own_mailbox_bytes(void)
{
    return (sizeof(symm_mailbox_t) + 63) / 64 * 64;
}

/* The parts of rank's service area. */
static inline symm_mailbox_t *ompi_osc_symm_own_mailbox(const ompi_osc_symm_module_t *module,
                                                        int rank)
{
    return symm_window_base(module->window, rank);
}

static inline osc_symm_gpu_piece_t *
ompi_osc_symm_own_gpu_pieces(const ompi_osc_symm_module_t *module, int rank)
{
    char *area = symm_window_base(module->window, rank);
    return (osc_symm_gpu_piece_t *) (void *) (area + ompi_osc_symm_own_mailbox_bytes());
}

static inline size_t ompi_osc_symm_own_gpu_pieces_bytes(void)
{
    return (OSC_SYMM_GPU_PIECES * sizeof(osc_symm_gpu_piece_t) + 63) / 64 * 64;
}

static inline symm_regions_t *ompi_osc_symm_own_regions(const ompi_osc_symm_module_t *module,
                                                        int rank)
{
    char *pieces = (char *) ompi_osc_symm_own_gpu_pieces(module, rank);
    return (symm_regions_t *) (void *) (pieces + ompi_osc_symm_own_gpu_pieces_bytes());
}

/* osc_symm_dynamic.c: bytes of the service area behind the mailbox; unmaps what was found. */
size_t ompi_osc_symm_dynamic_bytes(void);
void ompi_osc_symm_dynamic_forget(ompi_osc_symm_module_t *module);

#endif
