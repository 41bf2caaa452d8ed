/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Values of predefined datatypes. */
#include "symm_config.h"

#include "mpi_test_values.h"

#include <stdlib.h>
#include <string.h>

#include "mpi_test.h"

bool mt_value_type(int i, mt_value_type_t *type_p)
{
    const mt_value_type_t types[] = {
        {MPI_INT, "INT", MT_FORM_INTEGER, 0},
        {MPI_DOUBLE, "DOUBLE", MT_FORM_DOUBLE, 0},
        {MPI_SIGNED_CHAR, "SIGNED_CHAR", MT_FORM_INTEGER, 0},
        {MPI_UNSIGNED_CHAR, "UNSIGNED_CHAR", MT_FORM_INTEGER, 0},
        {MPI_SHORT, "SHORT", MT_FORM_INTEGER, 0},
        {MPI_UNSIGNED_SHORT, "UNSIGNED_SHORT", MT_FORM_INTEGER, 0},
        {MPI_UNSIGNED, "UNSIGNED", MT_FORM_INTEGER, 0},
        {MPI_LONG, "LONG", MT_FORM_INTEGER, 0},
        {MPI_UINT64_T, "UINT64_T", MT_FORM_INTEGER, 0},
        {MPI_AINT, "AINT", MT_FORM_INTEGER, 0},
        {MPI_FLOAT, "FLOAT", MT_FORM_FLOAT, 0},
        {MPI_LONG_DOUBLE, "LONG_DOUBLE", MT_FORM_LONG_DOUBLE, 0},
        {MPI_C_FLOAT_COMPLEX, "C_FLOAT_COMPLEX", MT_FORM_COMPLEX_FLOAT, 0},
        {MPI_C_DOUBLE_COMPLEX, "C_DOUBLE_COMPLEX", MT_FORM_COMPLEX_DOUBLE, 0},
        {MPI_C_LONG_DOUBLE_COMPLEX, "C_LONG_DOUBLE_COMPLEX", MT_FORM_COMPLEX_LONG_DOUBLE, 0},
        {MPI_C_BOOL, "C_BOOL", MT_FORM_LOGICAL, 0},
        {MPI_LOGICAL, "LOGICAL", MT_FORM_LOGICAL, 0},
        {MPI_BYTE, "BYTE", MT_FORM_BYTE, 0},
        {MPI_FLOAT_INT, "FLOAT_INT", MT_FORM_FLOAT_INT, 0},
        {MPI_DOUBLE_INT, "DOUBLE_INT", MT_FORM_DOUBLE_INT, 0},
        {MPI_LONG_INT, "LONG_INT", MT_FORM_LONG_INT, 0},
        {MPI_2INT, "2INT", MT_FORM_INT_INT, 0},
        {MPI_SHORT_INT, "SHORT_INT", MT_FORM_SHORT_INT, 0},
        {MPI_LONG_DOUBLE_INT, "LONG_DOUBLE_INT", MT_FORM_LONG_DOUBLE_INT, 0},
    };
    MPI_Aint lb, extent;
    if (0 > i || (int) (sizeof(types) / sizeof(types[0])) <= i) {
        return false;
    }
    *type_p = types[i];
    CHECK_OK(MPI_Type_get_extent(types[i].datatype, &lb, &extent));
    type_p->size = (size_t) extent;
    return true;
}

bool mt_value_op(int i, MPI_Op *op_p, const char **name_p)
{
    const struct {
        MPI_Op op;
        const char *name;
    } ops[] = {
        {MPI_SUM, "SUM"},         {MPI_PROD, "PROD"},     {MPI_MAX, "MAX"},
        {MPI_MIN, "MIN"},         {MPI_LAND, "LAND"},     {MPI_LOR, "LOR"},
        {MPI_LXOR, "LXOR"},       {MPI_BAND, "BAND"},     {MPI_BOR, "BOR"},
        {MPI_BXOR, "BXOR"},       {MPI_MAXLOC, "MAXLOC"}, {MPI_MINLOC, "MINLOC"},
        {MPI_REPLACE, "REPLACE"}, {MPI_NO_OP, "NO_OP"},
    };
    if (0 > i || (int) (sizeof(ops) / sizeof(ops[0])) <= i) {
        return false;
    }
    *op_p = ops[i].op;
    *name_p = ops[i].name;
    return true;
}

bool mt_value_allows(mt_form_t form, MPI_Op op)
{
    bool bitwise = MPI_BAND == op || MPI_BOR == op || MPI_BXOR == op;
    bool logical = MPI_LAND == op || MPI_LOR == op || MPI_LXOR == op;
    bool sums = MPI_SUM == op || MPI_PROD == op;
    bool extremes = MPI_MAX == op || MPI_MIN == op;
    if (MPI_REPLACE == op || MPI_NO_OP == op) {
        return true;
    }
    switch (form) {
    case MT_FORM_INTEGER:
        return bitwise || logical || sums || extremes;
    case MT_FORM_FLOAT:
    case MT_FORM_DOUBLE:
    case MT_FORM_LONG_DOUBLE:
        return sums || extremes;
    case MT_FORM_COMPLEX_FLOAT:
    case MT_FORM_COMPLEX_DOUBLE:
    case MT_FORM_COMPLEX_LONG_DOUBLE:
        return sums;
    case MT_FORM_LOGICAL:
        return logical;
    case MT_FORM_BYTE:
        return bitwise;
    default:
        return MPI_MAXLOC == op || MPI_MINLOC == op;
    }
}

typedef struct float_int {
    float value;
    int index;
} float_int_t;
typedef struct double_int {
    double value;
    int index;
} double_int_t;
typedef struct long_int {
    long value;
    int index;
} long_int_t;
typedef struct int_int {
    int value;
    int index;
} int_int_t;
typedef struct short_int {
    short value;
    int index;
} short_int_t;
typedef struct long_double_int {
    long double value;
    int index;
} long_double_int_t;

/* One value, v of which is small; w is another small number. */
#define SET_PAIR(type)                                                                             \
    {                                                                                              \
        type *pair = at;                                                                           \
        pair->value = (__typeof__(pair->value)) v;                                                 \
        pair->index = w;                                                                           \
        break;                                                                                     \
    }
#define SET_COMPLEX(type)                                                                          \
    {                                                                                              \
        type *parts = at;                                                                          \
        parts[0] = (type) v;                                                                       \
        parts[1] = (type) w;                                                                       \
        break;                                                                                     \
    }

static void set_value(const mt_value_type_t *type, void *at, int v, int w)
{
    int64_t integer = v;
    switch (type->form) {
    case MT_FORM_FLOAT:
        *(float *) at = (float) v;
        break;
    case MT_FORM_DOUBLE:
        *(double *) at = v;
        break;
    case MT_FORM_LONG_DOUBLE:
        *(long double *) at = v;
        break;
    case MT_FORM_COMPLEX_FLOAT:
        SET_COMPLEX(float)
    case MT_FORM_COMPLEX_DOUBLE:
        SET_COMPLEX(double)
    case MT_FORM_COMPLEX_LONG_DOUBLE:
        SET_COMPLEX(long double)
    case MT_FORM_FLOAT_INT:
        SET_PAIR(float_int_t)
    case MT_FORM_DOUBLE_INT:
        SET_PAIR(double_int_t)
    case MT_FORM_LONG_INT:
        SET_PAIR(long_int_t)
    case MT_FORM_INT_INT:
        SET_PAIR(int_int_t)
    case MT_FORM_SHORT_INT:
        SET_PAIR(short_int_t)
    case MT_FORM_LONG_DOUBLE_INT:
        SET_PAIR(long_double_int_t)
    case MT_FORM_LOGICAL:
        integer = v & 1;
        memcpy(at, &integer, type->size);
        break;
    default:
        memcpy(at, &integer, type->size); /* little-endian */
        break;
    }
}

/* Open MPI's vector code lets sums of narrow unsigned integers saturate (seen in 4.1.4), so these
 * must not overflow. */
static bool is_unsigned(const mt_value_type_t *type)
{
    return 'U' == type->name[0];
}

void mt_values(const mt_value_type_t *type, void *host, size_t count, uint64_t seed)
{
    uint64_t state = seed;
    for (size_t i = 0; i < count; ++i) {
        int v = (int) (mt_random(&state) % 11) - (is_unsigned(type) ? 0 : 5);
        int w = (int) (mt_random(&state) % 7);
        set_value(type, (char *) host + i * type->size, v, w);
    }
}

void mt_values_update(const mt_value_type_t *type, MPI_Op op, void *target, const void *origin,
                      size_t count)
{
    if (MPI_REPLACE == op) {
        memcpy(target, origin, count * type->size);
    } else if (MPI_NO_OP != op && 0 < count) {
        CHECK_OK(MPI_Reduce_local(origin, target, (int) count, type->datatype, op));
    }
}

#define SAME_PAIR(type)                                                                            \
    (((const type *) a)->value == ((const type *) b)->value &&                                     \
     ((const type *) a)->index == ((const type *) b)->index)
#define SAME_COMPLEX(type)                                                                         \
    (((const type *) a)[0] == ((const type *) b)[0] &&                                             \
     ((const type *) a)[1] == ((const type *) b)[1])

static bool same_value(const mt_value_type_t *type, const void *a, const void *b)
{
    switch (type->form) {
    case MT_FORM_LONG_DOUBLE:
        return *(const long double *) a == *(const long double *) b;
    case MT_FORM_COMPLEX_LONG_DOUBLE:
        return SAME_COMPLEX(long double);
    case MT_FORM_FLOAT: /* zeros of both signs are the same */
        return *(const float *) a == *(const float *) b;
    case MT_FORM_DOUBLE:
        return *(const double *) a == *(const double *) b;
    case MT_FORM_COMPLEX_FLOAT:
        return SAME_COMPLEX(float);
    case MT_FORM_COMPLEX_DOUBLE:
        return SAME_COMPLEX(double);
    case MT_FORM_FLOAT_INT:
        return SAME_PAIR(float_int_t);
    case MT_FORM_DOUBLE_INT:
        return SAME_PAIR(double_int_t);
    case MT_FORM_LONG_INT:
        return SAME_PAIR(long_int_t);
    case MT_FORM_INT_INT:
        return SAME_PAIR(int_int_t);
    case MT_FORM_SHORT_INT:
        return SAME_PAIR(short_int_t);
    case MT_FORM_LONG_DOUBLE_INT:
        return SAME_PAIR(long_double_int_t);
    default:
        return 0 == memcmp(a, b, type->size);
    }
}

bool mt_check_values(const char *file, int line, const mt_value_type_t *type, const void *expected,
                     const void *got, size_t count)
{
    size_t i = 0;
    while (i < count && same_value(type, (const char *) expected + i * type->size,
                                   (const char *) got + i * type->size)) {
        ++i;
    }
    return mt_check(file, line, i == count, "%s value %zu of %zu differs", type->name, i, count);
}
