/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Which machine type and operation an MPI datatype and MPI_Op stand for (MPI-4.0, 6.9.2). Handles
 * are compared, so no internal header is needed. */
#include "symm_config.h"

#include "coll_symm.h"

/* The groups of MPI-4.0, 6.9.2 that decide which operations are allowed. */
typedef enum type_group {
    GROUP_SIGNED,
    GROUP_UNSIGNED,
    GROUP_FLOAT,
    GROUP_LOGICAL,
    GROUP_BYTE
} type_group_t;

static bool find_group(MPI_Datatype datatype, type_group_t *group_p)
{
    const struct {
        MPI_Datatype datatype;
        type_group_t group;
    } types[] = {
        {MPI_FLOAT, GROUP_FLOAT},
        {MPI_DOUBLE, GROUP_FLOAT},
        {MPI_INT, GROUP_SIGNED},
        {MPI_LONG, GROUP_SIGNED},
        {MPI_LONG_LONG, GROUP_SIGNED},
        {MPI_SHORT, GROUP_SIGNED},
        {MPI_SIGNED_CHAR, GROUP_SIGNED},
        {MPI_UNSIGNED, GROUP_UNSIGNED},
        {MPI_UNSIGNED_LONG, GROUP_UNSIGNED},
        {MPI_UNSIGNED_LONG_LONG, GROUP_UNSIGNED},
        {MPI_UNSIGNED_SHORT, GROUP_UNSIGNED},
        {MPI_UNSIGNED_CHAR, GROUP_UNSIGNED},
        {MPI_INT8_T, GROUP_SIGNED},
        {MPI_INT16_T, GROUP_SIGNED},
        {MPI_INT32_T, GROUP_SIGNED},
        {MPI_INT64_T, GROUP_SIGNED},
        {MPI_UINT8_T, GROUP_UNSIGNED},
        {MPI_UINT16_T, GROUP_UNSIGNED},
        {MPI_UINT32_T, GROUP_UNSIGNED},
        {MPI_UINT64_T, GROUP_UNSIGNED},
        {MPI_AINT, GROUP_SIGNED},
        {MPI_OFFSET, GROUP_SIGNED},
        {MPI_COUNT, GROUP_SIGNED},
        {MPI_C_BOOL, GROUP_LOGICAL},
        {MPI_CXX_BOOL, GROUP_LOGICAL},
        {MPI_BYTE, GROUP_BYTE},
        {MPI_INTEGER, GROUP_SIGNED},
        {MPI_INTEGER1, GROUP_SIGNED},
        {MPI_INTEGER2, GROUP_SIGNED},
        {MPI_INTEGER4, GROUP_SIGNED},
        {MPI_INTEGER8, GROUP_SIGNED},
        {MPI_REAL, GROUP_FLOAT},
        {MPI_REAL4, GROUP_FLOAT},
        {MPI_REAL8, GROUP_FLOAT},
        {MPI_DOUBLE_PRECISION, GROUP_FLOAT},
        {MPI_LOGICAL, GROUP_LOGICAL},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
        if (types[i].datatype == datatype) {
            *group_p = types[i].group;
            return true;
        }
    }
    return false;
}

/* The machine type of a group with that many bytes. Returns whether there is one. */
static bool find_dtype(type_group_t group, int bytes, symm_dtype_t *dtype_p)
{
    bool is_signed = GROUP_SIGNED == group;
    switch (bytes) {
    case 1:
        *dtype_p = is_signed ? SYMM_INT8 : SYMM_UINT8;
        return GROUP_FLOAT != group;
    case 2:
        *dtype_p = is_signed ? SYMM_INT16 : SYMM_UINT16;
        return GROUP_FLOAT != group;
    case 4:
        *dtype_p = GROUP_FLOAT == group ? SYMM_FLOAT32 : is_signed ? SYMM_INT32 : SYMM_UINT32;
        return true;
    case 8:
        *dtype_p = GROUP_FLOAT == group ? SYMM_FLOAT64 : is_signed ? SYMM_INT64 : SYMM_UINT64;
        return true;
    default:
        return false;
    }
}

static bool find_op(MPI_Op op, symm_op_t *op_p)
{
    const struct {
        MPI_Op handle;
        symm_op_t op;
    } ops[] = {
        {MPI_SUM, SYMM_SUM},   {MPI_PROD, SYMM_PROD}, {MPI_MAX, SYMM_MAX},   {MPI_MIN, SYMM_MIN},
        {MPI_LAND, SYMM_LAND}, {MPI_LOR, SYMM_LOR},   {MPI_LXOR, SYMM_LXOR}, {MPI_BAND, SYMM_BAND},
        {MPI_BOR, SYMM_BOR},   {MPI_BXOR, SYMM_BXOR},
    };
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); ++i) {
        if (ops[i].handle == op) {
            *op_p = ops[i].op;
            return true;
        }
    }
    return false;
}

/* Whether MPI allows op on the group, beyond what symm_op_defined() knows of machine types. */
static bool group_allows(type_group_t group, symm_op_t op)
{
    bool logical = SYMM_LAND == op || SYMM_LOR == op || SYMM_LXOR == op;
    bool bitwise = SYMM_BAND == op || SYMM_BOR == op || SYMM_BXOR == op;
    return GROUP_LOGICAL == group ? logical : GROUP_BYTE == group ? bitwise : true;
}

static bool look_up(MPI_Datatype datatype, MPI_Op op, symm_dtype_t *dtype_p, symm_op_t *op_p)
{
    type_group_t group;
    int bytes;
    return find_group(datatype, &group) && MPI_SUCCESS == PMPI_Type_size(datatype, &bytes) &&
           find_dtype(group, bytes, dtype_p) && find_op(op, op_p) && group_allows(group, *op_p) &&
           symm_op_defined(*op_p, *dtype_p);
}

bool coll_symm_known(mca_coll_symm_module_t *module, MPI_Datatype datatype, MPI_Op op)
{
    if (datatype == module->known_datatype && op == module->known_op) {
        return true;
    }
    symm_dtype_t found_dtype;
    symm_op_t found_op;
    if (!look_up(datatype, op, &found_dtype, &found_op)) {
        return false;
    }
    /* Only predefined handles get here, and these are never freed and used again. */
    module->known_datatype = datatype;
    module->known_op = op;
    module->dtype = found_dtype;
    module->op = found_op;
    return true;
}
