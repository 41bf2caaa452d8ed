/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The operations that symmetric windows do not have yet: each ends in an MPI error through the
 * window's handler, with one line that says so. */
#include "symm_config.h"

#include "osc_symm.h"
#include "symm_log.h"

#include <stdatomic.h>

int ompi_osc_symm_unsupported(const char *call, const char *what)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&told)) {
        symm_log(SYMM_LOG_ERROR, "%s: osc/symm does not support %s", call, what);
    }
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

static int accumulate(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                      int target, ptrdiff_t target_disp, int target_count,
                      ompi_datatype_t *target_dt, MPI_Op op, ompi_win_t *win)
{
    (void) origin_addr, (void) origin_count, (void) origin_dt, (void) target, (void) target_disp;
    (void) target_count, (void) target_dt, (void) op, (void) win;
    return ompi_osc_symm_unsupported("MPI_Accumulate", "accumulate operations yet");
}

static int get_accumulate(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                          void *result_addr, int result_count, ompi_datatype_t *result_dt,
                          int target, ptrdiff_t target_disp, int target_count,
                          ompi_datatype_t *target_dt, MPI_Op op, ompi_win_t *win)
{
    (void) origin_addr, (void) origin_count, (void) origin_dt, (void) result_addr;
    (void) result_count, (void) result_dt, (void) target, (void) target_disp, (void) target_count;
    (void) target_dt, (void) op, (void) win;
    return ompi_osc_symm_unsupported("MPI_Get_accumulate", "accumulate operations yet");
}

static int fetch_and_op(const void *origin_addr, void *result_addr, ompi_datatype_t *dt, int target,
                        ptrdiff_t target_disp, MPI_Op op, ompi_win_t *win)
{
    (void) origin_addr, (void) result_addr, (void) dt, (void) target, (void) target_disp;
    (void) op, (void) win;
    return ompi_osc_symm_unsupported("MPI_Fetch_and_op", "accumulate operations yet");
}

static int compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                            ompi_datatype_t *dt, int target, ptrdiff_t target_disp, ompi_win_t *win)
{
    (void) origin_addr, (void) compare_addr, (void) result_addr, (void) dt, (void) target;
    (void) target_disp, (void) win;
    return ompi_osc_symm_unsupported("MPI_Compare_and_swap", "accumulate operations yet");
}

static int raccumulate(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                       int target, ptrdiff_t target_disp, int target_count,
                       ompi_datatype_t *target_dt, MPI_Op op, ompi_win_t *win,
                       ompi_request_t **request)
{
    (void) origin_addr, (void) origin_count, (void) origin_dt, (void) target, (void) target_disp;
    (void) target_count, (void) target_dt, (void) op, (void) win, (void) request;
    return ompi_osc_symm_unsupported("MPI_Raccumulate", "request-based operations yet");
}

static int rget_accumulate(const void *origin_addr, int origin_count, ompi_datatype_t *origin_dt,
                           void *result_addr, int result_count, ompi_datatype_t *result_dt,
                           int target, ptrdiff_t target_disp, int target_count,
                           ompi_datatype_t *target_dt, MPI_Op op, ompi_win_t *win,
                           ompi_request_t **request)
{
    (void) origin_addr, (void) origin_count, (void) origin_dt, (void) result_addr;
    (void) result_count, (void) result_dt, (void) target, (void) target_disp, (void) target_count;
    (void) target_dt, (void) op, (void) win, (void) request;
    return ompi_osc_symm_unsupported("MPI_Rget_accumulate", "request-based operations yet");
}

void ompi_osc_symm_fill_unsupported(ompi_osc_base_module_t *table)
{
    table->osc_accumulate = accumulate;
    table->osc_get_accumulate = get_accumulate;
    table->osc_fetch_and_op = fetch_and_op;
    table->osc_compare_and_swap = compare_and_swap;
    table->osc_raccumulate = raccumulate;
    table->osc_rget_accumulate = rget_accumulate;
}
