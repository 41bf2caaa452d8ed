/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The tables of MPI's predefined datatypes and operations. */
#include "symm_config.h"

#include "symm_datatype.h"

#include "symm_float16.h"

#include <limits.h>

/* The groups of MPI-4.0, 6.9.2 that decide which operations are allowed. */
typedef enum type_group {
    GROUP_SIGNED,
    GROUP_UNSIGNED,
    GROUP_FLOAT,
    GROUP_COMPLEX,
    GROUP_LOGICAL,
    GROUP_BYTE,
    GROUP_PAIR,
    GROUP_COUNT,
} type_group_t;

typedef struct entry {
    MPI_Datatype datatype;
    type_group_t group;
    symm_dtype_t pair; /* of GROUP_PAIR; the others' machine type follows from their size */
} entry_t;

static const entry_t *find_entry(MPI_Datatype datatype)
{
    static const entry_t entries[] = {
        {MPI_FLOAT, GROUP_FLOAT, 0},
        {MPI_DOUBLE, GROUP_FLOAT, 0},
        {MPI_LONG_DOUBLE, GROUP_FLOAT, 0},
        {MPI_INT, GROUP_SIGNED, 0},
        {MPI_LONG, GROUP_SIGNED, 0},
        {MPI_LONG_LONG, GROUP_SIGNED, 0},
        {MPI_SHORT, GROUP_SIGNED, 0},
        {MPI_SIGNED_CHAR, GROUP_SIGNED, 0},
        /* No number in MPI's own words, but Open MPI takes it for one. */
        {MPI_CHAR, CHAR_MIN < 0 ? GROUP_SIGNED : GROUP_UNSIGNED, 0},
        {MPI_UNSIGNED, GROUP_UNSIGNED, 0},
        {MPI_UNSIGNED_LONG, GROUP_UNSIGNED, 0},
        {MPI_UNSIGNED_LONG_LONG, GROUP_UNSIGNED, 0},
        {MPI_UNSIGNED_SHORT, GROUP_UNSIGNED, 0},
        {MPI_UNSIGNED_CHAR, GROUP_UNSIGNED, 0},
        {MPI_INT8_T, GROUP_SIGNED, 0},
        {MPI_INT16_T, GROUP_SIGNED, 0},
        {MPI_INT32_T, GROUP_SIGNED, 0},
        {MPI_INT64_T, GROUP_SIGNED, 0},
        {MPI_UINT8_T, GROUP_UNSIGNED, 0},
        {MPI_UINT16_T, GROUP_UNSIGNED, 0},
        {MPI_UINT32_T, GROUP_UNSIGNED, 0},
        {MPI_UINT64_T, GROUP_UNSIGNED, 0},
        {MPI_AINT, GROUP_SIGNED, 0},
        {MPI_OFFSET, GROUP_SIGNED, 0},
        {MPI_COUNT, GROUP_SIGNED, 0},
        {MPI_C_BOOL, GROUP_LOGICAL, 0},
        {MPI_CXX_BOOL, GROUP_LOGICAL, 0},
        {MPI_BYTE, GROUP_BYTE, 0},
        {MPI_C_COMPLEX, GROUP_COMPLEX, 0},
        {MPI_C_FLOAT_COMPLEX, GROUP_COMPLEX, 0},
        {MPI_C_DOUBLE_COMPLEX, GROUP_COMPLEX, 0},
        {MPI_C_LONG_DOUBLE_COMPLEX, GROUP_COMPLEX, 0},
        {MPI_CXX_FLOAT_COMPLEX, GROUP_COMPLEX, 0},
        {MPI_CXX_DOUBLE_COMPLEX, GROUP_COMPLEX, 0},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, GROUP_COMPLEX, 0},
        {MPI_INTEGER, GROUP_SIGNED, 0},
        {MPI_INTEGER1, GROUP_SIGNED, 0},
        {MPI_INTEGER2, GROUP_SIGNED, 0},
        {MPI_INTEGER4, GROUP_SIGNED, 0},
        {MPI_INTEGER8, GROUP_SIGNED, 0},
        {MPI_REAL, GROUP_FLOAT, 0},
        {MPI_REAL4, GROUP_FLOAT, 0},
        {MPI_REAL8, GROUP_FLOAT, 0},
        {MPI_DOUBLE_PRECISION, GROUP_FLOAT, 0},
        {MPI_COMPLEX, GROUP_COMPLEX, 0},
        {MPI_COMPLEX8, GROUP_COMPLEX, 0},
        {MPI_COMPLEX16, GROUP_COMPLEX, 0},
        {MPI_DOUBLE_COMPLEX, GROUP_COMPLEX, 0},
        {MPI_LOGICAL, GROUP_LOGICAL, 0},
        {MPI_LOGICAL1, GROUP_LOGICAL, 0},
        {MPI_LOGICAL2, GROUP_LOGICAL, 0},
        {MPI_LOGICAL4, GROUP_LOGICAL, 0},
        {MPI_LOGICAL8, GROUP_LOGICAL, 0},
        {MPI_FLOAT_INT, GROUP_PAIR, SYMM_FLOAT_INT},
        {MPI_DOUBLE_INT, GROUP_PAIR, SYMM_DOUBLE_INT},
        {MPI_LONG_INT, GROUP_PAIR, SYMM_LONG_INT},
        {MPI_2INT, GROUP_PAIR, SYMM_INT_INT},
        {MPI_SHORT_INT, GROUP_PAIR, SYMM_SHORT_INT},
        {MPI_LONG_DOUBLE_INT, GROUP_PAIR, SYMM_LONG_DOUBLE_INT},
        {MPI_2REAL, GROUP_PAIR, SYMM_FLOAT_FLOAT},
        {MPI_2DOUBLE_PRECISION, GROUP_PAIR, SYMM_DOUBLE_DOUBLE},
        {MPI_2INTEGER, GROUP_PAIR, SYMM_INT_INT},
    };
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); ++i) {
        if (entries[i].datatype == datatype) {
            return &entries[i];
        }
    }
    return NULL;
}

/* The machine type of a group with that many bytes, SYMM_DTYPE_COUNT when there is none. MPI's
 * pairs have an extent that ours must equal: a compiler may have wider Fortran integers. */
static symm_dtype_t sized_dtype(const entry_t *entry, size_t bytes)
{
    static const symm_dtype_t dtypes[GROUP_PAIR][3] = {
        [GROUP_FLOAT] = {SYMM_FLOAT32, SYMM_FLOAT64, SYMM_LONG_DOUBLE},
        [GROUP_COMPLEX] = {SYMM_COMPLEX_FLOAT32, SYMM_COMPLEX_FLOAT64, SYMM_COMPLEX_LONG_DOUBLE},
    };
    static const symm_dtype_t integers[2][4] = {
        {SYMM_UINT8, SYMM_UINT16, SYMM_UINT32, SYMM_UINT64},
        {SYMM_INT8, SYMM_INT16, SYMM_INT32, SYMM_INT64},
    };
    bool is_float = GROUP_FLOAT == entry->group || GROUP_COMPLEX == entry->group;
    const symm_dtype_t *row =
        is_float ? dtypes[entry->group] : integers[GROUP_SIGNED == entry->group ? 1 : 0];
    for (int i = 0; i < (is_float ? 3 : 4); ++i) {
        if (symm_dtype_size(row[i]) == bytes) {
            return row[i];
        }
    }
    return SYMM_DTYPE_COUNT;
}

static bool find_dtype(const entry_t *entry, symm_dtype_t *dtype_p)
{
    MPI_Aint lb, extent;
    if (MPI_SUCCESS != PMPI_Type_get_extent(entry->datatype, &lb, &extent) || 0 >= extent) {
        return false; /* this MPI was built without it */
    }
    symm_dtype_t dtype =
        GROUP_PAIR == entry->group ? entry->pair : sized_dtype(entry, (size_t) extent);
    if (symm_dtype_size(dtype) != (size_t) extent) {
        return false;
    }
    *dtype_p = dtype;
    return true;
}

static bool find_op(MPI_Op handle, symm_op_t *op_p)
{
    const struct {
        MPI_Op handle;
        symm_op_t op;
    } ops[] = {
        {MPI_SUM, SYMM_SUM},   {MPI_PROD, SYMM_PROD},     {MPI_MAX, SYMM_MAX},
        {MPI_MIN, SYMM_MIN},   {MPI_LAND, SYMM_LAND},     {MPI_LOR, SYMM_LOR},
        {MPI_LXOR, SYMM_LXOR}, {MPI_BAND, SYMM_BAND},     {MPI_BOR, SYMM_BOR},
        {MPI_BXOR, SYMM_BXOR}, {MPI_MAXLOC, SYMM_MAXLOC}, {MPI_MINLOC, SYMM_MINLOC},
    };
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); ++i) {
        if (ops[i].handle == handle) {
            *op_p = ops[i].op;
            return true;
        }
    }
    return symm_float16_find_op(handle, op_p);
}

/* Whether MPI allows op on the group, beyond what symm_op_defined() knows of machine types. */
static bool group_allows(type_group_t group, symm_op_t op)
{
    bool logical = SYMM_LAND == op || SYMM_LOR == op || SYMM_LXOR == op;
    bool bitwise = SYMM_BAND == op || SYMM_BOR == op || SYMM_BXOR == op;
    return GROUP_LOGICAL == group ? logical : GROUP_BYTE == group ? bitwise : true;
}

bool symm_datatype_find(MPI_Datatype datatype, symm_dtype_t *dtype_p)
{
    const entry_t *entry = find_entry(datatype);
    return NULL == entry ? symm_float16_find_type(datatype, dtype_p) : find_dtype(entry, dtype_p);
}

bool symm_datatype_find_reduction(MPI_Datatype datatype, MPI_Op op, symm_dtype_t *dtype_p,
                                  symm_op_t *op_p)
{
    const entry_t *entry = find_entry(datatype);
    symm_dtype_t dtype;
    symm_op_t found;
    if (!symm_datatype_find(datatype, &dtype) || !find_op(op, &found) ||
        !symm_op_defined(found, dtype) || (NULL != entry && !group_allows(entry->group, found))) {
        return false;
    }
    *dtype_p = dtype;
    *op_p = found;
    return true;
}
