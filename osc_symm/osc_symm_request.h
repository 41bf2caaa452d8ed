/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Requests of operations (MPI_Rput, MPI_Rget, MPI_Raccumulate, MPI_Rget_accumulate), and driving
 * what windows on GPUs have under way whenever MPI makes progress. */
#ifndef OSC_SYMM_REQUEST_H
#define OSC_SYMM_REQUEST_H

#include "symm_ompi_compat.h"

#include "ompi/request/request.h"

#include "osc_symm_target.h"

/* Gives the request that is complete once everything is that this rank has started on the window so
 * far: the data of gets is then in place, the origin buffers of puts may be used again. Call it
 * after the operation has been started; it may have been one to MPI_PROC_NULL, or of no data. The
 * request needs no flush: waiting for it drives the window's work. Any thread.
 * Returns MPI_SUCCESS, or MPI_ERR_NO_MEM or the class of a failure on the device; then *request_p
 * is not written. */
int ompi_osc_symm_request_start(ompi_osc_symm_module_t *module, ompi_request_t **request_p);

/* Has MPI's progress drive the window's work from now on, where that does not happen at once: start
 * what was gathered, complete requests. Without it requests are complete when they are made. */
void ompi_osc_symm_drive_begin(ompi_osc_symm_module_t *module);

/* Ends that; all operations are complete, and requests that are left become so. No effect when it
 * was not begun. */
void ompi_osc_symm_drive_end(ompi_osc_symm_module_t *module);

#endif
