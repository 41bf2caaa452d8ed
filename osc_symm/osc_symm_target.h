/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Where operations go: the memory of each target, and ways to reach it.
 *
 * Memory that this process has mapped (all of an allocated window, and of the program's own memory
 * what can be shared) is reached by loads, stores, copies and kernels: the origin takes
 * osc_symm_place_t.address and goes on. Other memory is reached through
 * ompi_osc_symm_remote_write() and ompi_osc_symm_remote_read() alone, which are done when they
 * return: by cross-memory attach, or by the target's own hand when it makes progress. All origins
 * reach a place alike, the target itself excepted, whose own memory is always mapped.
 *
 * NOTE atomicity. Memory that not all ranks have mapped knows no atomics that all of them could
 * use. Where osc_symm_place_t.locked is set, every accumulate-class operation, the target's own
 * included, is done with the target's update gate closed (symm_control.h): read, combine, write.
 * Where it is not set, the atomics of the memory are the one domain. Which it is depends on the
 * place alone, so all origins agree. */
#ifndef OSC_SYMM_TARGET_H
#define OSC_SYMM_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "mpi_symm.h"

typedef enum osc_symm_reach {
    OSC_SYMM_REACH_MAPPED, /* its address is good in this process */
    OSC_SYMM_REACH_CMA,    /* host memory of another process, by cross-memory attach */
    OSC_SYMM_REACH_OWNER,  /* memory that only the target reaches, when it makes progress */
} osc_symm_reach_t;

/* A rank's memory and how it counts; the whole of it is reached alike. In a dynamic window the
 * regions attached say what there is; base is 0, size the whole address space. */
typedef struct osc_symm_target {
    char *base;  /* address in this process when mapped, otherwise in the target's */
    size_t size; /* bytes */
    ptrdiff_t disp_unit;
    osc_symm_reach_t reach;
    symm_kind_t kind;
    bool locked;
} osc_symm_target_t;

/* A run of bytes in a target's memory. */
typedef struct osc_symm_place {
    char *address; /* in this process when mapped, otherwise in the target's */
    int target;
    osc_symm_reach_t reach;
    symm_kind_t kind; /* GPU memory is for copies and kernels, never for loads and stores */
    bool locked;      /* accumulate-class operations need the closed gate */
} osc_symm_place_t;

typedef struct ompi_osc_symm_module ompi_osc_symm_module_t;

/* Whether a mapped place is memory of the kind that the window's operations run on. It is not where
 * one rank's own host memory is in a window with GPU memory. */
static inline bool ompi_osc_symm_place_is_known(const ompi_osc_symm_module_t *module,
                                                const osc_symm_place_t *place);

/* Finds [disp units + offset, that + len) of target's memory in a window of any flavour. A type
 * that has pieces is located as a whole, from its true lower bound over its true extent; only in a
 * dynamic window may its pieces lie in several regions, so that where the whole is refused each
 * piece is located by itself. len may be 0, which finds a place for nothing anywhere inside or at
 * the end. Returns MPI_SUCCESS, or MPI_ERR_RMA_RANGE when the target has no such memory; another
 * class, with the cause logged, when its memory cannot be mapped. Any thread. */
static inline int ompi_osc_symm_locate(ompi_osc_symm_module_t *module, int target, ptrdiff_t disp,
                                       ptrdiff_t offset, size_t len, osc_symm_place_t *place_p);

/* Copies between pieces of memory of this process, of any kind, and pieces of target's memory
 * around place, whose bytes are the same in number; place is not mapped, and the addresses of
 * `remote` are counted like place->address. Done when they return; drive progress. Any thread.
 * Return MPI_SUCCESS, or an MPI error class with the cause logged. */
int ompi_osc_symm_remote_write(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place,
                               const struct iovec *local, size_t local_count,
                               const struct iovec *remote, size_t remote_count);
int ompi_osc_symm_remote_read(const ompi_osc_symm_module_t *module, const osc_symm_place_t *place,
                              const struct iovec *local, size_t local_count,
                              const struct iovec *remote, size_t remote_count);

#endif
