/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What MPI calls: a module's functions, by collective. Each is in the file of its collective, or of
 * that and its kin; arguments and returned MPI error classes are those of MPI. */
#ifndef COLL_SYMM_FUNCTIONS_H
#define COLL_SYMM_FUNCTIONS_H

#include "coll_symm.h"

/* Arguments, for the steps, of collectives that take the same. */
typedef struct coll_symm_blocks_arguments {
    int scount;
    ompi_datatype_t *sdtype;
    int rcount;
    ompi_datatype_t *rdtype;
    ompi_communicator_t *comm;
} coll_symm_blocks_arguments_t;

typedef struct coll_symm_allgatherv_arguments {
    int scount;
    ompi_datatype_t *sdtype;
    const int *rcounts;
    const int *disps;
    ompi_datatype_t *rdtype;
    ompi_communicator_t *comm;
} coll_symm_allgatherv_arguments_t;

typedef struct coll_symm_rows_arguments {
    const int *scounts;
    const int *sdisps;
    ompi_datatype_t *sdtype;
    const int *rcounts;
    const int *rdisps;
    ompi_datatype_t *rdtype;
    ompi_communicator_t *comm;
} coll_symm_rows_arguments_t;

/* The functions behind MPI's, as Open MPI's coll.h declares them. */
int mca_coll_symm_allgather(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                            int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                            mca_coll_base_module_t *module);
int mca_coll_symm_allgatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                             const int *rcounts, const int *disps, ompi_datatype_t *rdtype,
                             ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_allreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                            MPI_Op op, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_alltoall(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                           int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                           mca_coll_base_module_t *module);
int mca_coll_symm_alltoallv(const void *sbuf, const int *scounts, const int *sdisps,
                            ompi_datatype_t *sdtype, void *rbuf, const int *rcounts,
                            const int *rdisps, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                            mca_coll_base_module_t *module);
int mca_coll_symm_alltoallw(const void *sbuf, const int *scounts, const int *sdisps,
                            ompi_datatype_t *const *sdtypes, void *rbuf, const int *rcounts,
                            const int *rdisps, ompi_datatype_t *const *rdtypes,
                            ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_bcast(void *buffer, int count, ompi_datatype_t *datatype, int root,
                        ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_exscan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype, MPI_Op op,
                         ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_gather(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                         int rcount, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                         mca_coll_base_module_t *module);
int mca_coll_symm_gatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                          const int *rcounts, const int *disps, ompi_datatype_t *rdtype, int root,
                          ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_reduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype, MPI_Op op,
                         int root, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_reduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
                                 ompi_datatype_t *dtype, MPI_Op op, ompi_communicator_t *comm,
                                 mca_coll_base_module_t *module);
int mca_coll_symm_reduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
                                       ompi_datatype_t *dtype, MPI_Op op, ompi_communicator_t *comm,
                                       mca_coll_base_module_t *module);
int mca_coll_symm_scan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype, MPI_Op op,
                       ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_scatter(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                          int rcount, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                          mca_coll_base_module_t *module);
int mca_coll_symm_scatterv(const void *sbuf, const int *scounts, const int *disps,
                           ompi_datatype_t *sdtype, void *rbuf, int rcount, ompi_datatype_t *rdtype,
                           int root, ompi_communicator_t *comm, mca_coll_base_module_t *module);

int mca_coll_symm_iallgather(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                             int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                             ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_iallgatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                              const int *rcounts, const int *disps, ompi_datatype_t *rdtype,
                              ompi_communicator_t *comm, ompi_request_t **request,
                              mca_coll_base_module_t *module);
int mca_coll_symm_iallreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                             MPI_Op op, ompi_communicator_t *comm, ompi_request_t **request,
                             mca_coll_base_module_t *module);
int mca_coll_symm_ialltoall(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                            int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                            ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_ialltoallv(const void *sbuf, const int *scounts, const int *sdisps,
                             ompi_datatype_t *sdtype, void *rbuf, const int *rcounts,
                             const int *rdisps, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                             ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_ialltoallw(const void *sbuf, const int *scounts, const int *sdisps,
                             ompi_datatype_t *const *sdtypes, void *rbuf, const int *rcounts,
                             const int *rdisps, ompi_datatype_t *const *rdtypes,
                             ompi_communicator_t *comm, ompi_request_t **request,
                             mca_coll_base_module_t *module);
int mca_coll_symm_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                           mca_coll_base_module_t *module);
int mca_coll_symm_ibcast(void *buffer, int count, ompi_datatype_t *datatype, int root,
                         ompi_communicator_t *comm, ompi_request_t **request,
                         mca_coll_base_module_t *module);
int mca_coll_symm_iexscan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                          MPI_Op op, ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *module);
int mca_coll_symm_igather(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                          int rcount, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                          ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_igatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                           const int *rcounts, const int *disps, ompi_datatype_t *rdtype, int root,
                           ompi_communicator_t *comm, ompi_request_t **request,
                           mca_coll_base_module_t *module);
int mca_coll_symm_ireduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                          MPI_Op op, int root, ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *module);
int mca_coll_symm_ireduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
                                  ompi_datatype_t *dtype, MPI_Op op, ompi_communicator_t *comm,
                                  ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_ireduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
                                        ompi_datatype_t *dtype, MPI_Op op,
                                        ompi_communicator_t *comm, ompi_request_t **request,
                                        mca_coll_base_module_t *module);
int mca_coll_symm_iscan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype, MPI_Op op,
                        ompi_communicator_t *comm, ompi_request_t **request,
                        mca_coll_base_module_t *module);
int mca_coll_symm_iscatter(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                           int rcount, ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                           ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_iscatterv(const void *sbuf, const int *scounts, const int *disps,
                            ompi_datatype_t *sdtype, void *rbuf, int rcount,
                            ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                            ompi_request_t **request, mca_coll_base_module_t *module);

/* Neighbourhood collectives, staged alone. */
int mca_coll_symm_neighbor_allgather(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                     void *rbuf, int rcount, ompi_datatype_t *rdtype,
                                     ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_ineighbor_allgather(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                      void *rbuf, int rcount, ompi_datatype_t *rdtype,
                                      ompi_communicator_t *comm, ompi_request_t **request,
                                      mca_coll_base_module_t *module);
int mca_coll_symm_neighbor_allgatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                      void *rbuf, const int *rcounts, const int *disps,
                                      ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                      mca_coll_base_module_t *module);
int mca_coll_symm_ineighbor_allgatherv(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                       void *rbuf, const int *rcounts, const int *disps,
                                       ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                       ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_neighbor_alltoall(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                    void *rbuf, int rcount, ompi_datatype_t *rdtype,
                                    ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_ineighbor_alltoall(const void *sbuf, int scount, ompi_datatype_t *sdtype,
                                     void *rbuf, int rcount, ompi_datatype_t *rdtype,
                                     ompi_communicator_t *comm, ompi_request_t **request,
                                     mca_coll_base_module_t *module);
int mca_coll_symm_neighbor_alltoallv(const void *sbuf, const int *scounts, const int *sdisps,
                                     ompi_datatype_t *sdtype, void *rbuf, const int *rcounts,
                                     const int *rdisps, ompi_datatype_t *rdtype,
                                     ompi_communicator_t *comm, mca_coll_base_module_t *module);
int mca_coll_symm_ineighbor_alltoallv(const void *sbuf, const int *scounts, const int *sdisps,
                                      ompi_datatype_t *sdtype, void *rbuf, const int *rcounts,
                                      const int *rdisps, ompi_datatype_t *rdtype,
                                      ompi_communicator_t *comm, ompi_request_t **request,
                                      mca_coll_base_module_t *module);
int mca_coll_symm_neighbor_alltoallw(const void *sbuf, const int *scounts, const MPI_Aint *sdisps,
                                     ompi_datatype_t *const *sdtypes, void *rbuf,
                                     const int *rcounts, const MPI_Aint *rdisps,
                                     ompi_datatype_t *const *rdtypes, ompi_communicator_t *comm,
                                     mca_coll_base_module_t *module);
int mca_coll_symm_ineighbor_alltoallw(const void *sbuf, const int *scounts, const MPI_Aint *sdisps,
                                      ompi_datatype_t *const *sdtypes, void *rbuf,
                                      const int *rcounts, const MPI_Aint *rdisps,
                                      ompi_datatype_t *const *rdtypes, ompi_communicator_t *comm,
                                      ompi_request_t **request, mca_coll_base_module_t *module);

/* Persistent. */
int mca_coll_symm_allgather_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                                 int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                 ompi_info_t *info, ompi_request_t **request,
                                 mca_coll_base_module_t *module);
int mca_coll_symm_allgatherv_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                                  const int *rcounts, const int *disps, ompi_datatype_t *rdtype,
                                  ompi_communicator_t *comm, ompi_info_t *info,
                                  ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_allreduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                                 MPI_Op op, ompi_communicator_t *comm, ompi_info_t *info,
                                 ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_alltoall_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                                int rcount, ompi_datatype_t *rdtype, ompi_communicator_t *comm,
                                ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module);
int mca_coll_symm_alltoallv_init(const void *sbuf, const int *scounts, const int *sdisps,
                                 ompi_datatype_t *sdtype, void *rbuf, const int *rcounts,
                                 const int *rdisps, ompi_datatype_t *rdtype,
                                 ompi_communicator_t *comm, ompi_info_t *info,
                                 ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_alltoallw_init(const void *sbuf, const int *scounts, const int *sdisps,
                                 ompi_datatype_t *const *sdtypes, void *rbuf, const int *rcounts,
                                 const int *rdisps, ompi_datatype_t *const *rdtypes,
                                 ompi_communicator_t *comm, ompi_info_t *info,
                                 ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_barrier_init(ompi_communicator_t *comm, ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_bcast_init(void *buffer, int count, ompi_datatype_t *datatype, int root,
                             ompi_communicator_t *comm, ompi_info_t *info, ompi_request_t **request,
                             mca_coll_base_module_t *module);
int mca_coll_symm_exscan_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                              MPI_Op op, ompi_communicator_t *comm, ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_gather_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                              int rcount, ompi_datatype_t *rdtype, int root,
                              ompi_communicator_t *comm, ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_gatherv_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                               const int *rcounts, const int *disps, ompi_datatype_t *rdtype,
                               int root, ompi_communicator_t *comm, ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_reduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                              MPI_Op op, int root, ompi_communicator_t *comm, ompi_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_reduce_scatter_init(const void *sbuf, void *rbuf, const int *rcounts,
                                      ompi_datatype_t *dtype, MPI_Op op, ompi_communicator_t *comm,
                                      ompi_info_t *info, ompi_request_t **request,
                                      mca_coll_base_module_t *module);
int mca_coll_symm_reduce_scatter_block_init(const void *sbuf, void *rbuf, int rcount,
                                            ompi_datatype_t *dtype, MPI_Op op,
                                            ompi_communicator_t *comm, ompi_info_t *info,
                                            ompi_request_t **request,
                                            mca_coll_base_module_t *module);
int mca_coll_symm_scan_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *dtype,
                            MPI_Op op, ompi_communicator_t *comm, ompi_info_t *info,
                            ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_scatter_init(const void *sbuf, int scount, ompi_datatype_t *sdtype, void *rbuf,
                               int rcount, ompi_datatype_t *rdtype, int root,
                               ompi_communicator_t *comm, ompi_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module);
int mca_coll_symm_scatterv_init(const void *sbuf, const int *scounts, const int *disps,
                                ompi_datatype_t *sdtype, void *rbuf, int rcount,
                                ompi_datatype_t *rdtype, int root, ompi_communicator_t *comm,
                                ompi_info_t *info, ompi_request_t **request,
                                mca_coll_base_module_t *module);

#endif
