/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The differences between Open MPI releases, and the few internals that the components use. Only
 * the components include this; libmpi_symm and the kernels know public MPI at most. */
#ifndef SYMM_OMPI_COMPAT_H
#define SYMM_OMPI_COMPAT_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/request/request.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/runtime/opal_progress.h"
#include "opal/util/info.h"
#include "opal/util/info_subscriber.h"
#include "opal/util/proc.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "symm_spin.h"

/* The coll framework checks the version that a component was built for. */
#if OMPI_MAJOR_VERSION >= 5
#    define SYMM_OMPI_COLL_VERSION MCA_COLL_BASE_VERSION_2_4_0
#else
#    define SYMM_OMPI_COLL_VERSION MCA_COLL_BASE_VERSION_2_0_0
#endif

/* The text type of info subscribers' callbacks. */
#if OMPI_MAJOR_VERSION >= 5
typedef const char symm_ompi_info_text_t;
#else
typedef char symm_ompi_info_text_t;
#endif

/* The head of a nonblocking collective's request. Open MPI keeps datatypes and operations alive in
 * what follows the plain request (ompi_coll_base_nbc_request_t, whose header cannot be included out
 * of tree on Debian): 32 bytes in release 4.1. Zeroed at first. */
typedef struct symm_ompi_collective_request {
    ompi_request_t super;
    void *retained[16];
} symm_ompi_collective_request_t;

/* Tells the shared library how to drive progress here and how many ranks share this host. */
static inline void symm_ompi_configure_waiting(void)
{
    symm_spin_configure(opal_progress);
    symm_spin_set_local_ranks((int) opal_process_info.num_local_peers + 1);
}

/* A number for the process behind rank, which no other process of the job has. */
static inline uint64_t symm_ompi_process_number(const ompi_communicator_t *comm, int rank)
{
    opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, rank);
    return (uint64_t) name.jobid << 32 | name.vpid;
}

/* Whether this is the process of its job on this host that tells what concerns all of them. */
static inline bool symm_ompi_first_of_host(void)
{
    return 0 == opal_process_info.my_local_rank;
}

/* Whether count elements of datatype are one gap-free run of bytes in memory order; *offset_p is
 * where it starts from the buffer's address, *len_p its bytes. */
static inline bool symm_ompi_contiguous(const ompi_datatype_t *datatype, size_t count,
                                        ptrdiff_t *offset_p, size_t *len_p)
{
    const opal_datatype_t *type = &datatype->super;
    bool gap_free = 0 != (type->flags & OPAL_DATATYPE_FLAG_CONTIGUOUS) &&
                    (1 == count || 0 != (type->flags & OPAL_DATATYPE_FLAG_NO_GAPS));
    *offset_p = type->true_lb;
    *len_p = type->size * count;
    return 0 == *len_p || gap_free;
}

/* Whether datatype is predefined and has no padding, so that any count of it is a run of bytes from
 * the buffer's address on. Of a derived datatype Open MPI's flags say too much: it takes data out
 * of memory order, and data with padding behind a block of none, for a run of bytes. */
static inline bool symm_ompi_plain(const ompi_datatype_t *datatype)
{
    const uint16_t plain =
        OPAL_DATATYPE_FLAG_PREDEFINED | OPAL_DATATYPE_FLAG_CONTIGUOUS | OPAL_DATATYPE_FLAG_NO_GAPS;
    return plain == (datatype->super.flags & plain);
}

/* Whether MPI can tell how datatype was made. Open MPI's components call collectives with some of
 * their own making, about which a question to MPI_Type_get_envelope is an error of the program. */
static inline bool symm_ompi_has_contents(const ompi_datatype_t *datatype)
{
    return ompi_datatype_is_predefined(datatype) || NULL != datatype->args;
}

/* Bytes of one element's data. */
static inline size_t symm_ompi_size(const ompi_datatype_t *datatype)
{
    return datatype->super.size;
}

/* Bytes that count elements of datatype span in memory, from *offset_p on: for copying them as a
 * whole, gaps included. */
static inline size_t symm_ompi_span(const ompi_datatype_t *datatype, size_t count,
                                    ptrdiff_t *offset_p)
{
    const opal_datatype_t *type = &datatype->super;
    ptrdiff_t extent = type->ub - type->lb;
    *offset_p = type->true_lb;
    if (0 == count) {
        return 0;
    }
    ptrdiff_t rest = (ptrdiff_t) (count - 1) * extent;
    if (0 > rest) {
        *offset_p += rest;
        rest = -rest;
    }
    return (size_t) (type->true_ub - type->true_lb + rest);
}

/* Removes key from info; no effect when it is not there. opal_info_delete() is not exported. */
static inline void symm_ompi_info_remove(opal_info_t *info, const char *key)
{
    opal_info_entry_t *entry, *next;
    OPAL_LIST_FOREACH_SAFE(entry, next, &info->super, opal_info_entry_t)
    {
#if OMPI_MAJOR_VERSION >= 5
        bool same = 0 == strcmp(entry->ie_key->string, key);
#else
        bool same = 0 == strcmp(entry->ie_key, key);
#endif
        if (same) {
            (void) opal_list_remove_item(&info->super, &entry->super);
            OBJ_RELEASE(entry);
        }
    }
}

/* Copies the value of key into value [len], cut to fit. Returns whether key is there. */
static inline bool symm_ompi_info_get(opal_info_t *info, const char *key, char *value, size_t len)
{
    int found = 0;
    if (NULL == info) {
        return false;
    }
#if OMPI_MAJOR_VERSION >= 5
    opal_cstring_t *text = NULL;
    (void) opal_info_get(info, key, &text, &found); /* found stays 0 when it fails */
    if (0 != found) {
        (void) snprintf(value, len, "%s", text->string);
        OBJ_RELEASE(text);
    }
#else
    (void) opal_info_get(info, key, (int) len - 1, value, &found);
    if (0 != found) {
        value[len - 1] = '\0';
    }
#endif
    return 0 != found;
}

#endif
