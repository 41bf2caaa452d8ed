/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * 16-bit floats for MPI: duplicates of a 2-byte integer, known by their handles, and operations
 * that reduce them with the host twin of our kernels. The handles live until MPI ends. */
#include "symm_config.h"

#include "symm_float16.h"

#include "mpi_symm.h"
#include "symm_log.h"
#include "symm_reduce.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t create_lock = PTHREAD_MUTEX_INITIALIZER;

/* NULL, which is no handle of Open MPI, until it is made. */
static struct {
    symm_dtype_t dtype;
    const char *name;
    _Atomic MPI_Datatype handle;
} types[] = {{SYMM_FLOAT16, "symm_float16", NULL}, {SYMM_BFLOAT16, "symm_bfloat16", NULL}};
#define TYPES (sizeof(types) / sizeof(types[0]))

bool symm_float16_find_type(MPI_Datatype datatype, symm_dtype_t *dtype_p)
{
    for (size_t i = 0; NULL != datatype && i < TYPES; ++i) {
        if (datatype == atomic_load_explicit(&types[i].handle, memory_order_relaxed)) {
            *dtype_p = types[i].dtype;
            return true;
        }
    }
    return false;
}

static int create_type(MPI_Datatype *type_p, const char *name)
{
    MPI_Datatype type;
    int rc = PMPI_Type_dup(MPI_UINT16_T, &type);
    if (MPI_SUCCESS == rc) {
        (void) PMPI_Type_set_name(type, name); /* for debuggers */
        *type_p = type;
    }
    return rc;
}

static int get_type(size_t index, MPI_Datatype *type_p)
{
    if (NULL == type_p) {
        return MPI_ERR_ARG;
    }
    int rc = MPI_SUCCESS;
    (void) pthread_mutex_lock(&create_lock); /* fails only on misuse */
    MPI_Datatype type = atomic_load(&types[index].handle);
    if (NULL == type) {
        rc = create_type(&type, types[index].name);
        atomic_store(&types[index].handle, type);
    }
    (void) pthread_mutex_unlock(&create_lock);
    if (MPI_SUCCESS == rc) {
        *type_p = type;
    }
    return rc;
}

int symm_type_float16(MPI_Datatype *type_p)
{
    return get_type(0, type_p);
}

int symm_type_bfloat16(MPI_Datatype *type_p)
{
    return get_type(1, type_p);
}

/* ---- operations ---- */

/* inout = in op inout, as MPI calls it: in is the lower rank's. */
static void reduce(symm_op_t op, MPI_Op predefined, void *in, void *inout, int count,
                   MPI_Datatype datatype)
{
    symm_dtype_t dtype;
    if (!symm_float16_find_type(datatype, &dtype)) {
        if (MPI_SUCCESS != PMPI_Reduce_local(in, inout, count, datatype, predefined)) {
            symm_log(SYMM_LOG_ERROR, "%s of symm_op() on a datatype that has no such operation",
                     symm_op_name(op));
        }
        return;
    }
    const void *src[] = {in, inout};
    void *dst[] = {inout};
    symm_reduce_t reduction = {.op = op,
                               .dtype = dtype,
                               .count = (uint64_t) count,
                               .nsrc = 2,
                               .ndst = 1,
                               .src = src,
                               .dst = dst};
    (void) symm_reduce_host(&reduction); /* refuses only what is not defined */
}

#define OPERATION(name, op, predefined)                                                            \
    static void name(void *in, void *inout, int *count, MPI_Datatype *datatype)                    \
    {                                                                                              \
        reduce(op, predefined, in, inout, *count, *datatype);                                      \
    }
OPERATION(reduce_sum, SYMM_SUM, MPI_SUM)
OPERATION(reduce_prod, SYMM_PROD, MPI_PROD)
OPERATION(reduce_max, SYMM_MAX, MPI_MAX)
OPERATION(reduce_min, SYMM_MIN, MPI_MIN)
#undef OPERATION

static struct {
    symm_op_t op;
    MPI_User_function *function;
    _Atomic MPI_Op handle; /* NULL until it is made */
} ops[] = {{SYMM_SUM, reduce_sum, NULL},
           {SYMM_PROD, reduce_prod, NULL},
           {SYMM_MAX, reduce_max, NULL},
           {SYMM_MIN, reduce_min, NULL}};
#define OPS (sizeof(ops) / sizeof(ops[0]))

bool symm_float16_find_op(MPI_Op handle, symm_op_t *op_p)
{
    for (size_t i = 0; NULL != handle && i < OPS; ++i) {
        if (handle == atomic_load_explicit(&ops[i].handle, memory_order_relaxed)) {
            *op_p = ops[i].op;
            return true;
        }
    }
    return false;
}

static size_t index_of(MPI_Op op)
{
    return MPI_SUM == op ? 0 : MPI_PROD == op ? 1 : MPI_MAX == op ? 2 : MPI_MIN == op ? 3 : OPS;
}

int symm_op(MPI_Op op, MPI_Op *op_p)
{
    size_t index = index_of(op);
    if (NULL == op_p) {
        return MPI_ERR_ARG;
    }
    if (OPS == index) {
        return MPI_ERR_OP;
    }
    int rc = MPI_SUCCESS;
    (void) pthread_mutex_lock(&create_lock); /* fails only on misuse */
    MPI_Op handle = atomic_load(&ops[index].handle);
    if (NULL == handle) {
        rc = PMPI_Op_create(ops[index].function, 1, &handle);
        atomic_store(&ops[index].handle, MPI_SUCCESS == rc ? handle : NULL);
    }
    (void) pthread_mutex_unlock(&create_lock);
    if (MPI_SUCCESS == rc) {
        *op_p = handle;
    }
    return rc;
}

MPI_Op symm_float16_portable_op(MPI_Datatype datatype, MPI_Op op)
{
    symm_dtype_t dtype;
    MPI_Op portable;
    bool ours = symm_float16_find_type(datatype, &dtype);
    return ours && MPI_SUCCESS == symm_op(op, &portable) ? portable : op;
}
