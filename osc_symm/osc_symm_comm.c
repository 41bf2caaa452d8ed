/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Put and get: the origin copies through the mapping, the target does nothing. When an epoch is
 * open is osc_symm_sync.c's and osc_symm_lock.c's knowledge, kept in the module. */
#include "symm_config.h"

#include "osc_symm.h"
#include "osc_symm_request.h"

#include "symm_copy.h"
#include "symm_device.h"
#include "symm_stats.h"
#include "symm_typemap.h"

/* The small functions of the path of every put and get: calls between them would cost as much as an
 * 8-byte copy. */
#define FAST_PATH static inline __attribute__((always_inline))

/* Data of one side that is a run of bytes. */
typedef struct run {
    ptrdiff_t offset; /* from the buffer's address */
    size_t len;
} run_t;

static bool find_derived_run(ompi_datatype_t *datatype, int count, run_t *run_p)
{
    const symm_typemap_t *map;
    return MPI_SUCCESS == symm_typemap_get(datatype, &map) &&
           symm_typemap_is_run(map, (size_t) count, &run_p->offset, &run_p->len);
}

/* Whether count elements are one run of bytes. */
FAST_PATH bool find_run(ompi_datatype_t *datatype, int count, run_t *run_p)
{
    if (!symm_ompi_plain(datatype)) {
        return find_derived_run(datatype, count, run_p);
    }
    *run_p = (run_t){0, symm_ompi_size(datatype) * (size_t) count};
    return true;
}

/* One transfer of a run of bytes between the origin's memory and the target's window. */
typedef struct transfer {
    char *origin;
    osc_symm_place_t place;
    size_t len;
} transfer_t;

/* Starts the copy where the target's memory is mapped. */
FAST_PATH int start_copy(bool put, const ompi_osc_symm_module_t *module, const transfer_t *t)
{
    void *dst = put ? t->place.address : t->origin;
    const void *src = put ? t->origin : t->place.address;
    if (ompi_osc_symm_is_foreign(module, &t->place, t->origin)) {
        return symm_copy_blocking(dst, src, t->len);
    }
    return module->ops->transfer(module->queue, dst, src, t->len,
                                 ompi_osc_symm_known(put, module, t->origin));
}

/* The copy where the target's memory is not mapped. */
static int carry(bool put, const ompi_osc_symm_module_t *module, const transfer_t *t)
{
    struct iovec local = {t->origin, t->len};
    struct iovec remote = {t->place.address, t->len};
    return put ? ompi_osc_symm_remote_write(module, &t->place, &local, 1, &remote, 1)
               : ompi_osc_symm_remote_read(module, &t->place, &local, 1, &remote, 1);
}

FAST_PATH void count_transfer(bool put, size_t len)
{
    symm_counters_t *counters = symm_counters();
    if (put) {
        SYMM_COUNT_IN(counters, puts, 1);
        SYMM_COUNT_IN(counters, put_bytes, len);
    } else {
        SYMM_COUNT_IN(counters, gets, 1);
        SYMM_COUNT_IN(counters, get_bytes, len);
    }
}

/* Bytes up to which a copy on the host is made here, without a call into the backend. */
#define COPY_HERE 16384

/* The straight way where all targets are mapped host memory, for runs from offset 0. */
FAST_PATH int transfer_on_host(bool put, const ompi_osc_symm_module_t *module, char *origin,
                               size_t len, int target, ptrdiff_t disp)
{
    const osc_symm_target_t *memory = &module->targets[target];
    ptrdiff_t start;
    if (__builtin_mul_overflow(disp, memory->disp_unit, &start) || 0 > start ||
        (size_t) start > memory->size || len > memory->size - (size_t) start) {
        return MPI_ERR_RMA_RANGE;
    }
    if (0 == len) {
        return MPI_SUCCESS;
    }
    void *dst = put ? memory->base + start : origin;
    const void *src = put ? origin : memory->base + start;
    count_transfer(put, len);
    if (SYMM_POINTER_DEVICE == symm_pointer_kind(origin)) {
        return symm_copy_blocking(dst, src, len);
    }
    if (COPY_HERE < len) {
        return module->ops->transfer(module->queue, dst, src, len, SYMM_KNOWN_NEITHER);
    }
    memcpy(dst, src, len);
    return MPI_SUCCESS;
}

/* A put or a get; put is a constant wherever this is called. */
FAST_PATH int transfer(bool put, const void *origin_addr, int origin_count,
                       ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                       int target_count, ompi_datatype_t *target_dt, const ompi_win_t *win)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    transfer_t t;
    run_t here, there;
    if (MPI_PROC_NULL == target) {
        return OMPI_SUCCESS;
    }
    if (!ompi_osc_symm_may_access(module, target)) {
        return MPI_ERR_RMA_SYNC;
    }
    if (!find_run(origin_dt, origin_count, &here) || !find_run(target_dt, target_count, &there)) {
        return ompi_osc_symm_transfer_typed(put, origin_addr, origin_count, origin_dt, target,
                                            target_disp, target_count, target_dt, module);
    }
    if (here.len != there.len) {
        return MPI_ERR_TRUNCATE;
    }
    if (module->on_host && 0 == here.offset && 0 == there.offset) {
        return transfer_on_host(put, module, (char *) origin_addr, here.len, target, target_disp);
    }
    t.origin = (char *) origin_addr + here.offset;
    t.len = here.len;
    int rc = ompi_osc_symm_locate(module, target, target_disp, there.offset, there.len, &t.place);
    if (MPI_SUCCESS != rc || 0 == t.len) {
        return rc;
    }
    count_transfer(put, t.len);
    if (OSC_SYMM_REACH_MAPPED != t.place.reach) {
        return carry(put, module, &t);
    }
    return start_copy(put, module, &t);
}

int ompi_osc_symm_put(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                      int target, ptrdiff_t target_disp, int target_count,
                      ompi_datatype_t *target_dt, ompi_win_t *win)
{
    return transfer(true, origin_addr, origin_count, origin_dt, target, target_disp, target_count,
                    target_dt, win);
}

int ompi_osc_symm_get(void *origin_addr, int origin_count, ompi_datatype_t *origin_dt, int target,
                      ptrdiff_t target_disp, int target_count, ompi_datatype_t *target_dt,
                      ompi_win_t *win)
{
    return transfer(false, origin_addr, origin_count, origin_dt, target, target_disp, target_count,
                    target_dt, win);
}

int ompi_osc_symm_rput(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                       int target, ptrdiff_t target_disp, int target_count,
                       ompi_datatype_t *target_dt, ompi_win_t *win, ompi_request_t **request_p)
{
    int rc = ompi_osc_symm_put(origin_addr, origin_count, origin_dt, target, target_disp,
                               target_count, target_dt, win);
    return OMPI_SUCCESS == rc ? ompi_osc_symm_request_start(ompi_osc_symm_module_of(win), request_p)
                              : rc;
}

int ompi_osc_symm_rget(void *origin_addr, int origin_count, ompi_datatype_t *origin_dt, int target,
                       ptrdiff_t target_disp, int target_count, ompi_datatype_t *target_dt,
                       ompi_win_t *win, ompi_request_t **request_p)
{
    int rc = ompi_osc_symm_get(origin_addr, origin_count, origin_dt, target, target_disp,
                               target_count, target_dt, win);
    return OMPI_SUCCESS == rc ? ompi_osc_symm_request_start(ompi_osc_symm_module_of(win), request_p)
                              : rc;
}
