/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The reference of reductions. It shares nothing with the code under test and calls no MPI
 * reduction. */
#include "symm_config.h"

#include "mpi_test_reduce.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- datatypes and operations ---- */

#define TYPE(handle, group)                                                                        \
    {                                                                                              \
        handle, #handle, group, 0, 0, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL                         \
    }
#define PAIR(handle, value, index, index_at)                                                       \
    {                                                                                              \
        handle, #handle, MR_PAIR, 0, index_at, value, index                                        \
    }

static mr_type_t types[] = {
    TYPE(MPI_DATATYPE_NULL, MR_NARROW), /* filled in: symm_type_float16() */
    TYPE(MPI_DATATYPE_NULL, MR_NARROW), /* filled in: symm_type_bfloat16() */
    TYPE(MPI_FLOAT, MR_FLOATING),
    TYPE(MPI_DOUBLE, MR_FLOATING),
    TYPE(MPI_LONG_DOUBLE, MR_FLOATING),
    TYPE(MPI_SIGNED_CHAR, MR_SIGNED),
    TYPE(MPI_SHORT, MR_SIGNED),
    TYPE(MPI_INT, MR_SIGNED),
    TYPE(MPI_LONG, MR_SIGNED),
    TYPE(MPI_LONG_LONG, MR_SIGNED),
    TYPE(MPI_UNSIGNED_CHAR, MR_UNSIGNED),
    TYPE(MPI_UNSIGNED_SHORT, MR_UNSIGNED),
    TYPE(MPI_UNSIGNED, MR_UNSIGNED),
    TYPE(MPI_UNSIGNED_LONG, MR_UNSIGNED),
    TYPE(MPI_UNSIGNED_LONG_LONG, MR_UNSIGNED),
    TYPE(MPI_INT8_T, MR_SIGNED),
    TYPE(MPI_INT16_T, MR_SIGNED),
    TYPE(MPI_INT32_T, MR_SIGNED),
    TYPE(MPI_INT64_T, MR_SIGNED),
    TYPE(MPI_UINT8_T, MR_UNSIGNED),
    TYPE(MPI_UINT16_T, MR_UNSIGNED),
    TYPE(MPI_UINT32_T, MR_UNSIGNED),
    TYPE(MPI_UINT64_T, MR_UNSIGNED),
    TYPE(MPI_AINT, MR_INTEGER),
    TYPE(MPI_OFFSET, MR_INTEGER),
    TYPE(MPI_COUNT, MR_INTEGER),
    TYPE(MPI_C_BOOL, MR_LOGICAL),
    TYPE(MPI_CXX_BOOL, MR_LOGICAL),
    TYPE(MPI_BYTE, MR_BYTES),
    TYPE(MPI_C_FLOAT_COMPLEX, MR_COMPLEX),
    TYPE(MPI_C_DOUBLE_COMPLEX, MR_COMPLEX),
    TYPE(MPI_C_LONG_DOUBLE_COMPLEX, MR_COMPLEX),
    TYPE(MPI_CXX_FLOAT_COMPLEX, MR_COMPLEX),
    TYPE(MPI_CXX_DOUBLE_COMPLEX, MR_COMPLEX),
    TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX, MR_COMPLEX),
    TYPE(MPI_INTEGER, MR_INTEGER),
    TYPE(MPI_INTEGER1, MR_INTEGER),
    TYPE(MPI_INTEGER2, MR_INTEGER),
    TYPE(MPI_INTEGER4, MR_INTEGER),
    TYPE(MPI_INTEGER8, MR_INTEGER),
    TYPE(MPI_REAL, MR_FLOATING),
    TYPE(MPI_REAL4, MR_FLOATING),
    TYPE(MPI_REAL8, MR_FLOATING),
    TYPE(MPI_DOUBLE_PRECISION, MR_FLOATING),
    TYPE(MPI_COMPLEX, MR_COMPLEX),
    TYPE(MPI_COMPLEX8, MR_COMPLEX),
    TYPE(MPI_COMPLEX16, MR_COMPLEX),
    TYPE(MPI_DOUBLE_COMPLEX, MR_COMPLEX),
    TYPE(MPI_LOGICAL, MR_LOGICAL),
    PAIR(MPI_FLOAT_INT, MPI_FLOAT, MPI_INT, 4),
    PAIR(MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT, 8),
    PAIR(MPI_LONG_INT, MPI_LONG, MPI_INT, sizeof(long)),
    PAIR(MPI_2INT, MPI_INT, MPI_INT, 4),
    PAIR(MPI_SHORT_INT, MPI_SHORT, MPI_INT, 4),
    PAIR(MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT, sizeof(long double)),
    PAIR(MPI_2REAL, MPI_FLOAT, MPI_FLOAT, 4),
    PAIR(MPI_2DOUBLE_PRECISION, MPI_DOUBLE, MPI_DOUBLE, 8),
    PAIR(MPI_2INTEGER, MPI_INT, MPI_INT, 4),
};
#define TYPES (sizeof(types) / sizeof(types[0]))

static const struct {
    MPI_Op handle;
    const char *name;
} ops[MR_OP_COUNT] = {
    [MR_SUM] = {MPI_SUM, "sum"},          [MR_PROD] = {MPI_PROD, "prod"},
    [MR_MAX] = {MPI_MAX, "max"},          [MR_MIN] = {MPI_MIN, "min"},
    [MR_LAND] = {MPI_LAND, "land"},       [MR_LOR] = {MPI_LOR, "lor"},
    [MR_LXOR] = {MPI_LXOR, "lxor"},       [MR_BAND] = {MPI_BAND, "band"},
    [MR_BOR] = {MPI_BOR, "bor"},          [MR_BXOR] = {MPI_BXOR, "bxor"},
    [MR_MAXLOC] = {MPI_MAXLOC, "maxloc"}, [MR_MINLOC] = {MPI_MINLOC, "minloc"},
};

/* 0 for a datatype that this Open MPI was built without. */
static size_t extent_of(MPI_Datatype handle)
{
    MPI_Aint lb, extent = 0;
    if (MPI_DATATYPE_NULL == handle || MPI_SUCCESS != MPI_Type_get_extent(handle, &lb, &extent) ||
        0 > extent) {
        return 0;
    }
    return (size_t) extent;
}

size_t mr_types(const mr_type_t **types_p)
{
    *types_p = types;
    if (MPI_DATATYPE_NULL != types[0].handle) {
        return TYPES;
    }
    CHECK_OK(symm_type_float16(&types[0].handle));
    CHECK_OK(symm_type_bfloat16(&types[1].handle));
    types[0].name = "float16";
    types[1].name = "bfloat16";
    for (size_t t = 0; t < TYPES; ++t) {
        types[t].size = extent_of(types[t].handle);
    }
    return TYPES;
}

const mr_type_t *mr_type(MPI_Datatype handle)
{
    const mr_type_t *type;
    (void) mr_types(&type);
    while (handle != type->handle) {
        ++type;
    }
    return type;
}

const char *mr_op_name(mr_op_t op)
{
    return ops[op].name;
}

bool mr_defined(const mr_type_t *type, mr_op_t op)
{
    bool logical = MR_LAND <= op && MR_LXOR >= op;
    bool bitwise = MR_BAND <= op && MR_BXOR >= op;
    bool locates = MR_MAXLOC <= op;
    switch (type->group) {
    case MR_FLOATING:
    case MR_NARROW:
        return MR_MIN >= op;
    case MR_COMPLEX:
        return MR_PROD >= op;
    case MR_INTEGER:
        return !logical && !locates;
    case MR_LOGICAL:
        return logical;
    case MR_BYTES:
        return bitwise;
    case MR_PAIR:
        return locates;
    default:
        return !locates;
    }
}

MPI_Op mr_op(const mr_type_t *type, mr_op_t op)
{
    MPI_Op handle = ops[op].handle;
    if (MR_NARROW == type->group) {
        CHECK_OK(symm_op(ops[op].handle, &handle));
    }
    return handle;
}

/* ---- numbers ---- */

static bool is_floating(const mr_type_t *type)
{
    return MR_FLOATING == type->group || MR_NARROW == type->group;
}

/* Half of a complex number, the number itself of others. */
static mr_type_t part_of(const mr_type_t *type)
{
    mr_type_t part = *type;
    if (MR_COMPLEX == type->group) {
        part.group = MR_FLOATING;
        part.size = type->size / 2;
    }
    return part;
}

bool mr_served(const mr_type_t *type)
{
    mr_type_t part = part_of(MR_PAIR == type->group ? mr_type(type->value) : type);
    return SYMM_KIND_SYSTEM == mt_kind || MR_FLOATING != part.group || 8 >= part.size;
}

/* 16-bit floats of numbers that they hold exactly: sign, exponent and fraction by arithmetic. */
static uint16_t narrow(const mr_type_t *type, double value)
{
    int fraction = 0 == strcmp("float16", type->name) ? 10 : 7;
    int bias = 10 == fraction ? 15 : 127;
    int exponent;
    double mantissa = frexp(fabs(value), &exponent); /* in [0.5, 1) */
    if (0 == value) {
        return 0;
    }
    int bits = (exponent - 1 + bias) << fraction;
    bits += (int) ((2 * mantissa - 1) * (1 << fraction));
    return (uint16_t) (bits | (0 > value ? 0x8000 : 0));
}

static double widen(const mr_type_t *type, uint16_t bits)
{
    int fraction = 0 == strcmp("float16", type->name) ? 10 : 7;
    int bias = 10 == fraction ? 15 : 127;
    int exponent = (bits & 0x7fff) >> fraction;
    double mantissa = 1 + (bits & ((1 << fraction) - 1)) / (double) (1 << fraction);
    double value = 0 == exponent ? 0 : ldexp(mantissa, exponent - bias);
    return 0 != (bits & 0x8000) ? -value : value;
}

static long double load_number(const mr_type_t *type, const void *at)
{
    union {
        uint16_t bits;
        float f;
        double d;
        long double ld;
    } number;
    memcpy(&number, at, type->size < sizeof(number) ? type->size : sizeof(number));
    switch (type->size) {
    case 2:
        return widen(type, number.bits);
    case 4:
        return number.f;
    case 8:
        return number.d;
    default:
        return number.ld;
    }
}

static void store_number(const mr_type_t *type, void *at, long double value)
{
    uint16_t bits;
    float f = (float) value;
    double d = (double) value;
    switch (type->size) {
    case 2:
        bits = narrow(type, d);
        memcpy(at, &bits, sizeof(bits));
        break;
    case 4:
        memcpy(at, &f, sizeof(f));
        break;
    case 8:
        memcpy(at, &d, sizeof(d));
        break;
    default:
        memcpy(at, &value, sizeof(value));
    }
}

static uint64_t load_bits(const void *at, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, at, size); /* little-endian, as all hosts with such GPUs are */
    return bits;
}

static int64_t as_signed(uint64_t bits, size_t size)
{
    unsigned shift = 64 - 8 * (unsigned) size;
    return (int64_t) (bits << shift) >> shift;
}

/* ---- the operations ---- */

static uint64_t combine_integers(const mr_type_t *type, mr_op_t op, uint64_t a, uint64_t b)
{
    bool is_signed = MR_SIGNED == type->group || MR_INTEGER == type->group;
    bool less = is_signed ? as_signed(a, type->size) < as_signed(b, type->size) : a < b;
    switch (op) {
    case MR_SUM:
        return a + b;
    case MR_PROD:
        return a * b;
    case MR_MAX:
        return less ? b : a;
    case MR_MIN:
        return less ? a : b;
    case MR_LAND:
        return 0 != a && 0 != b;
    case MR_LOR:
        return 0 != a || 0 != b;
    case MR_LXOR:
        return (0 != a) != (0 != b);
    case MR_BAND:
        return a & b;
    case MR_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

static long double combine_numbers(mr_op_t op, long double a, long double b)
{
    switch (op) {
    case MR_SUM:
        return a + b;
    case MR_PROD:
        return a * b;
    case MR_MAX:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
}

static void combine_complex(const mr_type_t *type, mr_op_t op, unsigned char *into,
                            const unsigned char *from)
{
    mr_type_t part = part_of(type);
    long double a = load_number(&part, into);
    long double b = load_number(&part, into + part.size);
    long double c = load_number(&part, from);
    long double d = load_number(&part, from + part.size);
    store_number(&part, into, MR_SUM == op ? a + c : a * c - b * d);
    store_number(&part, into + part.size, MR_SUM == op ? b + d : a * d + b * c);
}

/* -1, 0 or 1 as a is less, equal or more. */
static int compare(const mr_type_t *type, const void *a, const void *b)
{
    if (is_floating(type)) {
        long double x = load_number(type, a);
        long double y = load_number(type, b);
        return x < y ? -1 : x > y ? 1 : 0;
    }
    int64_t x = as_signed(load_bits(a, type->size), type->size);
    int64_t y = as_signed(load_bits(b, type->size), type->size);
    return x < y ? -1 : x > y ? 1 : 0;
}

static void combine_pairs(const mr_type_t *type, mr_op_t op, unsigned char *into,
                          const unsigned char *from)
{
    int order = compare(mr_type(type->value), into, from);
    order = MR_MINLOC == op ? -order : order;
    if (0 == order) {
        order = -compare(mr_type(type->index), into + type->index_at, from + type->index_at);
    }
    if (0 > order) {
        memcpy(into, from, type->size);
    }
}

static void combine_one(const mr_type_t *type, mr_op_t op, unsigned char *into,
                        const unsigned char *from)
{
    if (MR_PAIR == type->group) {
        combine_pairs(type, op, into, from);
    } else if (MR_COMPLEX == type->group) {
        combine_complex(type, op, into, from);
    } else if (is_floating(type)) {
        store_number(type, into,
                     combine_numbers(op, load_number(type, into), load_number(type, from)));
    } else {
        uint64_t bits =
            combine_integers(type, op, load_bits(into, type->size), load_bits(from, type->size));
        memcpy(into, &bits, type->size);
    }
}

/* ---- inputs and results ---- */

/* A number that is exact in every floating type, and whose sums and products are too. */
static double exact_number(mr_op_t op, uint64_t random)
{
    static const double factors[] = {1, 2, -1, 0.5, -2, 1, -0.5, 1};
    return MR_PROD == op ? factors[random % 8] : ((double) (random % 65) - 32) / 4;
}

static uint64_t integer_bits(mr_group_t group, mr_op_t op, uint64_t random)
{
    bool logical = MR_LAND <= op && MR_LXOR >= op;
    if (MR_LOGICAL == group) {
        return random % 2;
    }
    if (logical && 0 == random % 3) {
        return 0; /* among random bits there are no zeros */
    }
    return random;
}

static void make_number(const mr_type_t *type, mr_op_t op, uint64_t random, unsigned char *to)
{
    if (is_floating(type)) {
        store_number(type, to, exact_number(op, random));
    } else {
        uint64_t bits = integer_bits(type->group, op, random);
        memcpy(to, &bits, type->size);
    }
}

static void make_element(const mr_type_t *type, mr_op_t op, uint64_t random, unsigned char *to)
{
    if (MR_PAIR == type->group) { /* few values, so that some are equal */
        make_number(mr_type(type->value), MR_PROD, random, to);
        if (!is_floating(mr_type(type->value))) {
            uint64_t few = random % 4;
            memcpy(to, &few, mr_type(type->value)->size);
        }
        make_number(mr_type(type->index), MR_SUM, random >> 8, to + type->index_at);
    } else if (MR_COMPLEX == type->group) {
        mr_type_t part = part_of(type);
        make_number(&part, op, random, to);
        make_number(&part, op, random >> 8, to + part.size);
    } else {
        make_number(type, op, random, to);
    }
}

void mr_input(const mr_type_t *type, mr_op_t op, int rank, uint64_t round, void *to, size_t count)
{
    uint64_t state = mt_seed(rank, round);
    memset(to, 0, count * type->size);
    for (size_t i = 0; i < count; ++i) {
        make_element(type, op, mt_random(&state) >> 3, (unsigned char *) to + i * type->size);
    }
}

void mr_result(const mr_type_t *type, mr_op_t op, int ranks, uint64_t round, void *to,
               void *scratch, size_t count)
{
    mr_input(type, op, 0, round, to, count);
    for (int r = 1; r < ranks; ++r) {
        mr_input(type, op, r, round, scratch, count);
        for (size_t i = 0; i < count; ++i) {
            combine_one(type, op, (unsigned char *) to + i * type->size,
                        (unsigned char *) scratch + i * type->size);
        }
    }
}

/* ---- comparing ---- */

/* Bytes of a number that mean something: a long double of x86 has 10. */
static size_t significant(const mr_type_t *type)
{
    bool extended = MR_FLOATING == type->group && 16 == type->size && 64 == LDBL_MANT_DIG;
    return extended ? 10 : type->size;
}

static bool same_element(const mr_type_t *type, const unsigned char *a, const unsigned char *b)
{
    if (MR_PAIR == type->group) {
        const mr_type_t *index = mr_type(type->index);
        return same_element(mr_type(type->value), a, b) &&
               same_element(index, a + type->index_at, b + type->index_at);
    }
    if (MR_COMPLEX == type->group) {
        mr_type_t part = part_of(type);
        return same_element(&part, a, b) && same_element(&part, a + part.size, b + part.size);
    }
    if (is_floating(type) && 0 == load_number(type, a)) {
        return 0 == load_number(type, b); /* of either sign */
    }
    return 0 == memcmp(a, b, significant(type));
}

bool mr_check(const char *file, int line, const mr_type_t *type, const void *expected,
              const void *got, size_t count)
{
    const unsigned char *a = expected;
    const unsigned char *b = got;
    size_t at = 0;
    while (at < count && same_element(type, a + at * type->size, b + at * type->size)) {
        ++at;
    }
    return mt_check(file, line, at == count, "element %zu of %zu is wrong", at, count);
}
