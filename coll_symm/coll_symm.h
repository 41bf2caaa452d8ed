/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The coll component of symmetric windows: its structures and what its files share. MPI sees one
 * module per intra-communicator, which sits in front of the component chosen without us and serves
 * the calls whose buffers lie in the communicator's symmetric windows.
 *
 * NOTE one call. coll_symm_call_begin() shows the call to all ranks and reads theirs: that is the
 * arrival barrier, the agreement on the plan and the exchange of offsets in one. The plan's work is
 * done with no waiting on the GPU. coll_symm_call_end() is the second barrier, which carries each
 * rank's outcome, so that all ranks return the same error class. */
#ifndef COLL_SYMM_H
#define COLL_SYMM_H

#include "symm_ompi_compat.h"

#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"

#include "coll_symm_plan.h"
#include "symm_window.h"

typedef struct mca_coll_symm_component {
    mca_coll_base_component_t super;
    int priority;
    int verbose;
    int algorithm;              /* coll_symm_algorithm_t */
    size_t one_shot_max_system; /* bytes */
    size_t one_shot_max_cuda;   /* bytes */
} mca_coll_symm_component_t;

/* Open MPI finds the component by this name. */
SYMM_EXPORT extern mca_coll_symm_component_t mca_coll_symm_component;

/* A plan that has been told of, see coll_symm_report.c. */
typedef struct coll_symm_told {
    uint8_t collective, op, dtype, path, size_class;
} coll_symm_told_t;

#define COLL_SYMM_TOLD_MAX 128

typedef struct mca_coll_symm_module {
    mca_coll_base_module_t super;
    symm_comm_t *comm; /* a reference; live_windows 0 sends every call on */
    mca_coll_base_module_allreduce_fn_t next_allreduce;
    mca_coll_base_module_t *next_allreduce_module;
    mca_coll_base_module_allgather_fn_t next_allgather;
    mca_coll_base_module_t *next_allgather_module;
    coll_symm_policy_t policy;
    /* The window that a buffer was found in last, as long as windows_gone says that none has gone.
     */
    const symm_window_t *recent;
    uint64_t recent_gone;
    coll_symm_descriptor_t *all; /* [size] what the ranks showed in the latest call */
    const void **src;            /* [size] */
    void **dst;                  /* [size] */
    /* The latest pair of handles that was looked up, and what it means. */
    MPI_Datatype known_datatype;
    MPI_Op known_op;
    symm_dtype_t dtype;
    symm_op_t op;
    coll_symm_told_t told[COLL_SYMM_TOLD_MAX];
    int told_count;
} mca_coll_symm_module_t;

OBJ_CLASS_DECLARATION(mca_coll_symm_module_t);

/* A call under way, on the caller's stack. */
typedef struct coll_symm_call {
    mca_coll_symm_module_t *module;
    coll_symm_descriptor_t mine;
    const void *send; /* the input: sendbuf, or the part of recvbuf that is it */
    void *recv;
    uint64_t number;
    coll_symm_plan_t plan;
    uint32_t blocks;             /* of the kernel that was launched, 0 for none */
    const symm_window_t *window; /* the latest one looked up */
} coll_symm_call_t;

/* ---- coll_symm_module.c ---- */
int mca_coll_symm_init_query(bool enable_progress_threads, bool enable_mpi_threads);
mca_coll_base_module_t *mca_coll_symm_comm_query(ompi_communicator_t *comm, int *priority);

/* ---- coll_symm_datatype.c: MPI handles to what kernels know ---- */

/* Whether plans know datatype and op together; if so, the module's dtype and op are set. */
bool coll_symm_known(mca_coll_symm_module_t *module, MPI_Datatype datatype, MPI_Op op);

/* ---- coll_symm_agree.c: the steps around a plan ---- */

/* Describes where the call's buffers lie: send of send_len bytes, recv of recv_len bytes. Sets
 * places, windows, offsets and the flag for buffers that are apart. */
void coll_symm_call_place(coll_symm_call_t *call, size_t send_len, size_t recv_len);

/* Shows the call and reads the others', then chooses the plan. Waits for all ranks, driving
 * progress. The input is copied into the slot when it is flagged as payload. */
void coll_symm_call_begin(coll_symm_call_t *call);

/* Ends the plan's work: tells the others how it went here and learns how it went there. Waits for
 * all ranks. Returns MPI_SUCCESS, or the error class of the lowest rank that failed. */
int coll_symm_call_end(const coll_symm_call_t *call, int rc);

/* The same once more, for work behind the end: what a rank has staged goes back to its GPU. */
int coll_symm_call_end_again(coll_symm_call_t *call, int rc);

/* The address of rank's input or output in this process, NULL when its window is not known here. */
const void *coll_symm_call_send_of(coll_symm_call_t *call, int rank);
void *coll_symm_call_recv_of(coll_symm_call_t *call, int rank);

/* What rank pushed into its slot. */
const void *coll_symm_call_payload_of(const coll_symm_call_t *call, int rank);

/* The mapping whose device and queue serve the plan: that of the output's window if it is of the
 * plan's kind, else the input's. NULL when the window is not known here. */
symm_mapping_t *coll_symm_call_mapping(coll_symm_call_t *call);

/* ---- coll_symm_report.c ---- */

/* Notes the plan for symm_plan_query(), counts it, and logs it the first time (verbose level 10).
 */
void coll_symm_report(coll_symm_call_t *call);

/* Logs on rank 0 what did not match. */
void coll_symm_report_mismatch(const coll_symm_call_t *call);

/* ---- coll_symm_stage.c: host copies of GPU buffers for the next component ---- */

typedef struct coll_symm_stage {
    void *user;      /* the buffer that is staged, NULL when it is used as it is */
    void *memory;    /* what to free */
    void *host;      /* what to pass on */
    ptrdiff_t start; /* from user to the first byte copied */
    size_t len;
} coll_symm_stage_t;

/* Prepares buf, count elements of datatype, for a component that knows host memory only; is_device
 * tells whether it needs that. fill copies its content. Returns an MPI error class. */
int coll_symm_stage_in(coll_symm_stage_t *stage, const void *buf, size_t count,
                       MPI_Datatype datatype, bool is_device, bool fill);

/* Copies the content back. Returns an MPI error class. */
int coll_symm_stage_out(const coll_symm_stage_t *stage);

/* Frees the host copy. */
void coll_symm_stage_end(coll_symm_stage_t *stage);

/* ---- one file per collective ---- */
int mca_coll_symm_allreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                            MPI_Op op, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_allgather(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                            int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                            mca_coll_base_module_t *module);

#endif
