/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The host twin against a scalar reference that is written here, element by element, and shares
 * nothing with the code under test. Every buffer has guard bytes around it and any alignment. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symm_reduce.h"

#define MAX_SRC     5
#define MAX_DST     4
#define MAX_OFFSET  32
#define GUARD_BYTES 64
#define GUARD       0xa5
#define POISON      0xdb

/* One call and its buffers. alias[d] is the source that dst[d] is the same memory as, or -1. */
typedef struct test_case {
    symm_op_t op;
    symm_dtype_t dtype;
    uint64_t count;
    uint32_t nsrc;
    uint32_t ndst;
    size_t src_offset[MAX_SRC];
    size_t dst_offset[MAX_DST];
    int alias[MAX_DST];
} test_case_t;

static uint64_t prng_state;

static uint64_t prng_next(void)
{
    prng_state ^= prng_state >> 12;
    prng_state ^= prng_state << 25;
    prng_state ^= prng_state >> 27;
    return prng_state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Each test starts from the same numbers, whichever tests ran before. */
static int seed_prng(void **state)
{
    (void) state;
    prng_state = UINT64_C(0x9e3779b97f4a7c15);
    return 0;
}

/* ---- the reference ---- */

static unsigned reference_size(symm_dtype_t dtype)
{
    static const unsigned sizes[SYMM_DTYPE_COUNT] = {
        [SYMM_INT8] = 1,
        [SYMM_UINT8] = 1,
        [SYMM_INT16] = 2,
        [SYMM_UINT16] = 2,
        [SYMM_INT32] = 4,
        [SYMM_UINT32] = 4,
        [SYMM_INT64] = 8,
        [SYMM_UINT64] = 8,
        [SYMM_FLOAT16] = 2,
        [SYMM_BFLOAT16] = 2,
        [SYMM_FLOAT32] = 4,
        [SYMM_FLOAT64] = 8,
        [SYMM_LONG_DOUBLE] = sizeof(long double),
        [SYMM_COMPLEX_FLOAT32] = 8,
        [SYMM_COMPLEX_FLOAT64] = 16,
        [SYMM_COMPLEX_LONG_DOUBLE] = 2 * sizeof(long double),
        [SYMM_FLOAT_INT] = 8,
        [SYMM_DOUBLE_INT] = 16,
        [SYMM_LONG_INT] = 16,
        [SYMM_INT_INT] = 8,
        [SYMM_SHORT_INT] = 8,
        [SYMM_FLOAT_FLOAT] = 8,
        [SYMM_DOUBLE_DOUBLE] = 16,
        [SYMM_LONG_DOUBLE_INT] = 2 * sizeof(long double),
    };

    return sizes[dtype];
}

/* What a pair is made of, and where its index lies. */
static const struct {
    symm_dtype_t pair, value, index;
    unsigned index_at;
} pairs[] = {
    {SYMM_FLOAT_INT, SYMM_FLOAT32, SYMM_INT32, 4},
    {SYMM_DOUBLE_INT, SYMM_FLOAT64, SYMM_INT32, 8},
    {SYMM_LONG_INT, SYMM_INT64, SYMM_INT32, 8},
    {SYMM_INT_INT, SYMM_INT32, SYMM_INT32, 4},
    {SYMM_SHORT_INT, SYMM_INT16, SYMM_INT32, 4},
    {SYMM_FLOAT_FLOAT, SYMM_FLOAT32, SYMM_FLOAT32, 4},
    {SYMM_DOUBLE_DOUBLE, SYMM_FLOAT64, SYMM_FLOAT64, 8},
    {SYMM_LONG_DOUBLE_INT, SYMM_LONG_DOUBLE, SYMM_INT32, sizeof(long double)},
};

/* The place of dtype in pairs[], -1 when it is none. */
static int pair_of(symm_dtype_t dtype)
{
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (dtype == pairs[i].pair) {
            return (int) i;
        }
    }
    return -1;
}

/* What a complex number is made of, its own type for others. */
static symm_dtype_t part_of(symm_dtype_t dtype)
{
    return SYMM_COMPLEX_FLOAT32 == dtype       ? SYMM_FLOAT32
           : SYMM_COMPLEX_FLOAT64 == dtype     ? SYMM_FLOAT64
           : SYMM_COMPLEX_LONG_DOUBLE == dtype ? SYMM_LONG_DOUBLE
                                               : dtype;
}

/* Bytes of a number that mean something: a long double of x86 has 10. */
static unsigned reference_significant(symm_dtype_t dtype)
{
    return SYMM_LONG_DOUBLE == dtype && 16 == sizeof(long double) && 64 == LDBL_MANT_DIG
               ? 10
               : reference_size(dtype);
}

/* What a reduction does with a byte of an element: write it, leave it alone, or either. */
typedef enum byte_use { WRITTEN, LEFT_ALONE, EITHER } byte_use_t;

static byte_use_t byte_use(symm_dtype_t dtype, unsigned byte)
{
    int pair = pair_of(dtype);
    symm_dtype_t part = part_of(dtype);
    unsigned at = byte % reference_size(part);

    if (pair >= 0 && byte >= pairs[pair].index_at) {
        return byte - pairs[pair].index_at < reference_size(pairs[pair].index) ? WRITTEN
                                                                               : LEFT_ALONE;
    }
    if (pair >= 0 && byte >= reference_size(pairs[pair].value)) {
        return LEFT_ALONE;
    }
    part = pair >= 0 ? pairs[pair].value : part;
    return at < reference_significant(part) ? WRITTEN : EITHER;
}

static bool reference_is_signed(symm_dtype_t dtype)
{
    return SYMM_INT8 == dtype || SYMM_INT16 == dtype || SYMM_INT32 == dtype || SYMM_INT64 == dtype;
}

static bool reference_less(symm_dtype_t dtype, uint64_t a, uint64_t b)
{
    /* Flipping the sign bit maps the signed order onto the unsigned one. */
    uint64_t flip = reference_is_signed(dtype) ? UINT64_C(1) << (8 * reference_size(dtype) - 1) : 0;

    return (a ^ flip) < (b ^ flip);
}

static uint64_t reference_integer(symm_op_t op, symm_dtype_t dtype, uint64_t a, uint64_t b)
{
    switch (op) {
    case SYMM_SUM:
        return a + b;
    case SYMM_PROD:
        return a * b;
    case SYMM_MAX:
        return reference_less(dtype, a, b) ? b : a;
    case SYMM_MIN:
        return reference_less(dtype, b, a) ? b : a;
    case SYMM_LAND:
        return a && b;
    case SYMM_LOR:
        return a || b;
    case SYMM_LXOR:
        return !a != !b;
    case SYMM_BAND:
        return a & b;
    case SYMM_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

#define REFERENCE_NUMBER(name, type)                                                               \
    static type name(symm_op_t op, type a, type b)                                                 \
    {                                                                                              \
        switch (op) {                                                                              \
        case SYMM_SUM:                                                                             \
            return a + b;                                                                          \
        case SYMM_PROD:                                                                            \
            return a * b;                                                                          \
        case SYMM_MAX:                                                                             \
            return a > b ? a : b;                                                                  \
        default:                                                                                   \
            return a < b ? a : b;                                                                  \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void name##_in_memory(symm_op_t op, void *result, const void *next)                     \
    {                                                                                              \
        type a, b;                                                                                 \
        memcpy(&a, result, sizeof(a));                                                             \
        memcpy(&b, next, sizeof(b));                                                               \
        a = name(op, a, b);                                                                        \
        memcpy(result, &a, sizeof(a));                                                             \
    }                                                                                              \
                                                                                                   \
    static void name##_complex(symm_op_t op, void *result, const void *next)                       \
    {                                                                                              \
        type a[2], b[2], sum[2];                                                                   \
        memcpy(a, result, sizeof(a));                                                              \
        memcpy(b, next, sizeof(b));                                                                \
        sum[0] = SYMM_SUM == op ? a[0] + b[0] : a[0] * b[0] - a[1] * b[1];                         \
        sum[1] = SYMM_SUM == op ? a[1] + b[1] : a[0] * b[1] + a[1] * b[0];                         \
        memcpy(result, sum, sizeof(sum));                                                          \
    }
REFERENCE_NUMBER(reference_float, float)
REFERENCE_NUMBER(reference_double, double)
REFERENCE_NUMBER(reference_long_double, long double)

/* -1, 0 or 1; the first bytes of a uint64_t are its low ones on a little-endian machine only, and
 * there are tests on no other. */
static int reference_order(symm_dtype_t dtype, const void *a, const void *b)
{
    uint64_t x = 0, y = 0;
    long double p, q;

    if (SYMM_FLOAT32 == dtype) {
        p = *(const float *) a;
        q = *(const float *) b;
    } else if (SYMM_FLOAT64 == dtype) {
        p = *(const double *) a;
        q = *(const double *) b;
    } else if (SYMM_LONG_DOUBLE == dtype) {
        p = *(const long double *) a;
        q = *(const long double *) b;
    } else {
        memcpy(&x, a, reference_size(dtype));
        memcpy(&y, b, reference_size(dtype));
        return reference_less(dtype, x, y) ? -1 : reference_less(dtype, y, x) ? 1 : 0;
    }
    return p < q ? -1 : p > q ? 1 : 0;
}

static void reference_pair(symm_op_t op, int pair, void *result, const void *next)
{
    unsigned at = pairs[pair].index_at;
    _Alignas(16) unsigned char a[32], b[32]; /* the buffers have any alignment */

    memcpy(a, result, reference_size(pairs[pair].pair));
    memcpy(b, next, reference_size(pairs[pair].pair));
    int order = reference_order(pairs[pair].value, a, b);
    order = SYMM_MINLOC == op ? -order : order;
    if (order < 0 || (0 == order && reference_order(pairs[pair].index, a + at, b + at) > 0)) {
        memcpy(result, next, reference_size(pairs[pair].pair));
    }
}

static void reference_combine(symm_op_t op, symm_dtype_t dtype, void *result, const void *next)
{
    uint64_t a = 0, b = 0;

    switch (dtype) {
    case SYMM_FLOAT32:
        reference_float_in_memory(op, result, next);
        return;
    case SYMM_FLOAT64:
        reference_double_in_memory(op, result, next);
        return;
    case SYMM_LONG_DOUBLE:
        reference_long_double_in_memory(op, result, next);
        return;
    case SYMM_COMPLEX_FLOAT32:
        reference_float_complex(op, result, next);
        return;
    case SYMM_COMPLEX_FLOAT64:
        reference_double_complex(op, result, next);
        return;
    case SYMM_COMPLEX_LONG_DOUBLE:
        reference_long_double_complex(op, result, next);
        return;
    default:
        break;
    }
    if (pair_of(dtype) >= 0) {
        reference_pair(op, pair_of(dtype), result, next);
        return;
    }
    memcpy(&a, result, reference_size(dtype));
    memcpy(&b, next, reference_size(dtype));
    a = reference_integer(op, dtype, a, b);
    memcpy(result, &a, reference_size(dtype));
}

/* ---- 16-bit floats, by arithmetic and not by bits ---- */

static bool reference_is_narrow(symm_dtype_t dtype)
{
    return SYMM_FLOAT16 == dtype || SYMM_BFLOAT16 == dtype;
}

/* Bits of the fraction, and the exponent of the smallest normal number. */
static int fraction_bits(symm_dtype_t dtype)
{
    return SYMM_FLOAT16 == dtype ? 10 : 7;
}

static int least_exponent(symm_dtype_t dtype)
{
    return SYMM_FLOAT16 == dtype ? -14 : -126;
}

static double narrow_value(symm_dtype_t dtype, uint16_t bits)
{
    int fraction = fraction_bits(dtype);
    int exponent = (bits & 0x7fff) >> fraction;
    int mantissa = bits & ((1 << fraction) - 1);
    double value;

    if (0x7fff >> fraction == exponent) {
        value = 0 == mantissa ? INFINITY : NAN;
    } else if (0 == exponent) {
        value = ldexp(mantissa, least_exponent(dtype) - fraction);
    } else {
        value = ldexp(mantissa + (1 << fraction), exponent - 1 + least_exponent(dtype) - fraction);
    }
    return bits & 0x8000 ? -value : value;
}

/* To nearest, ties to even, which is how nearbyint() rounds here. */
static uint16_t narrow_bits(symm_dtype_t dtype, float value)
{
    int fraction = fraction_bits(dtype);
    int exponent = 0;
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t) ((0x7fff >> fraction) << fraction);

    if (isnan(value)) {
        return 0x7fff;
    }
    if (isinf(value)) {
        return sign | infinity;
    }
    if (0 == value) {
        return sign;
    }
    (void) frexp(value, &exponent);
    exponent = exponent - 1 > least_exponent(dtype) ? exponent - 1 : least_exponent(dtype);
    /* In units of the last place; a carry into the next exponent comes out right by itself. */
    double units = nearbyint(ldexp(fabs((double) value), fraction - exponent));
    double bits = units + ldexp(exponent - least_exponent(dtype), fraction);
    return sign | (bits > infinity ? infinity : (uint16_t) bits);
}

/* ---- buffers ---- */

typedef struct buffer {
    unsigned char *base; /* a guard before the data, of GUARD_BYTES and the offset, and one after */
    unsigned char *data;
    size_t len;
} buffer_t;

static buffer_t buffer_new(size_t len, size_t offset)
{
    size_t before = GUARD_BYTES + offset;
    buffer_t buffer = {.len = len};

    /* A size that is no multiple of the alignment would be asking too much of aligned_alloc(). */
    buffer.base = aligned_alloc(64, (before + len + GUARD_BYTES + 63) / 64 * 64);
    assert_non_null(buffer.base);
    memset(buffer.base, GUARD, before + len + GUARD_BYTES);
    buffer.data = buffer.base + before;
    return buffer;
}

static void buffer_check_guards(const buffer_t *buffer)
{
    unsigned char guard[GUARD_BYTES + MAX_OFFSET];

    memset(guard, GUARD, sizeof(guard));
    assert_memory_equal(buffer->base, guard, (size_t) (buffer->data - buffer->base));
    assert_memory_equal(buffer->data + buffer->len, guard, GUARD_BYTES);
}

/* Bits of all kinds for integers, half of them zeros for logical operations; for floats, values of
 * both signs between 2^-8 and 2^8 whose sums and products round at every step; in pairs few values,
 * so that some are equal. */
static void fill_number(symm_op_t op, symm_dtype_t dtype, bool few, unsigned char *at)
{
    uint64_t bits = prng_next();
    double value = (1.0 + (double) (bits >> 12) * 0x1p-52) * (double) (1u << bits % 16) / 256.0;
    float single;
    long double extended;

    bits = few ? bits % 4 : bits;
    value = few ? (double) bits : bits & 16 ? -value : value;
    if (SYMM_FLOAT32 == dtype) {
        single = (float) value;
        memcpy(at, &single, sizeof(single));
    } else if (SYMM_FLOAT64 == dtype) {
        memcpy(at, &value, sizeof(value));
    } else if (SYMM_LONG_DOUBLE == dtype) {
        extended = value + value * 0x1p-58L;
        memcpy(at, &extended, sizeof(extended));
    } else if (reference_is_narrow(dtype)) {
        uint16_t narrow = narrow_bits(dtype, (float) value);

        memcpy(at, &narrow, sizeof(narrow));
    } else {
        if ((SYMM_LAND == op || SYMM_LOR == op || SYMM_LXOR == op) && bits >> 63) {
            bits = 0;
        } else if (SYMM_LAND == op || SYMM_LOR == op || SYMM_LXOR == op) {
            /* One bit anywhere: a test of the low byte or the low bit alone must fail. */
            bits = UINT64_C(1) << (bits % (8 * reference_size(dtype)));
        }
        memcpy(at, &bits, reference_size(dtype));
    }
}

static void fill_element(symm_op_t op, symm_dtype_t dtype, unsigned char *at)
{
    int pair = pair_of(dtype);
    symm_dtype_t part = part_of(dtype);

    if (pair >= 0) {
        for (unsigned b = 0; b < reference_size(dtype); b++) {
            at[b] = (unsigned char) prng_next(); /* gaps */
        }
        fill_number(op, pairs[pair].value, true, at);
        fill_number(op, pairs[pair].index, false, at + pairs[pair].index_at);
        return;
    }
    fill_number(op, part, false, at);
    if (part != dtype) {
        fill_number(op, part, false, at + reference_size(part));
    }
}

static buffer_t source_new(const test_case_t *c, uint32_t s)
{
    size_t size = reference_size(c->dtype);
    buffer_t buffer = buffer_new(c->count * size, c->src_offset[s]);

    for (uint64_t i = 0; i < c->count; i++) {
        fill_element(c->op, c->dtype, buffer.data + i * size);
    }
    return buffer;
}

/* 16-bit floats: combined as float, rounded once. */
static void reference_narrow(const test_case_t *c, const buffer_t *src, unsigned char *result)
{
    for (uint64_t i = 0; i < c->count; i++) {
        float sum = 0;

        for (uint32_t s = 0; s < c->nsrc; s++) {
            uint16_t bits;

            memcpy(&bits, src[s].data + 2 * i, sizeof(bits));
            float next = (float) narrow_value(c->dtype, bits);
            sum = 0 == s ? next : reference_float(c->op, sum, next);
        }
        uint16_t bits = narrow_bits(c->dtype, sum);
        memcpy(result + 2 * i, &bits, sizeof(bits));
    }
}

static void *reference_new(const test_case_t *c, const buffer_t *src)
{
    size_t size = reference_size(c->dtype);
    unsigned char *result = malloc(c->count * size + 1);

    assert_non_null(result);
    if (reference_is_narrow(c->dtype)) {
        reference_narrow(c, src, result);
        return result;
    }
    memcpy(result, src[0].data, c->count * size);
    for (uint32_t s = 1; s < c->nsrc; s++) {
        for (uint64_t i = 0; i < c->count; i++) {
            reference_combine(c->op, c->dtype, result + i * size, src[s].data + i * size);
        }
    }
    return result;
}

static void fail_case(const test_case_t *c, const char *what, uint32_t which)
{
    print_error("%s %u: %s %s count %llu nsrc %u ndst %u\n", what, which, symm_op_name(c->op),
                symm_dtype_name(c->dtype), (unsigned long long) c->count, c->nsrc, c->ndst);
    fail();
}

/* Whether a destination holds what it should, `before` being what it held (NULL: poison). */
static bool is_expected(const test_case_t *c, const buffer_t *dst, const unsigned char *expected,
                        const unsigned char *before)
{
    unsigned size = reference_size(c->dtype);

    if (0 == memcmp(dst->data, expected, dst->len) && pair_of(c->dtype) < 0) {
        return true;
    }
    for (size_t i = 0; i < dst->len; i++) {
        byte_use_t use = byte_use(c->dtype, (unsigned) (i % size));
        unsigned char alone = NULL == before ? POISON : before[i];

        if ((WRITTEN == use && dst->data[i] != expected[i]) ||
            (LEFT_ALONE == use && dst->data[i] != alone)) {
            return false;
        }
    }
    return true;
}

/* Checks what the call left in the destinations, in the sources that are none, and around them. */
static void check_buffers(const test_case_t *c, const buffer_t *src, const buffer_t *copy,
                          const buffer_t *dst, const void *expected)
{
    bool written[MAX_SRC] = {false};

    for (uint32_t d = 0; d < c->ndst; d++) {
        const unsigned char *before = c->alias[d] >= 0 ? copy[c->alias[d]].data : NULL;

        if (!is_expected(c, &dst[d], expected, before)) {
            fail_case(c, "wrong result in destination", d);
        }
        buffer_check_guards(&dst[d]);
        if (c->alias[d] >= 0) {
            written[c->alias[d]] = true;
        }
    }
    for (uint32_t s = 0; s < c->nsrc; s++) {
        if (!written[s] && 0 != memcmp(src[s].data, copy[s].data, src[s].len)) {
            fail_case(c, "changed source", s);
        }
        buffer_check_guards(&src[s]);
    }
}

static void run_case(const test_case_t *c)
{
    buffer_t src[MAX_SRC], copy[MAX_SRC], dst[MAX_DST];
    const void *src_ptr[MAX_SRC];
    void *dst_ptr[MAX_DST], *expected;
    symm_reduce_t reduce = {.op = c->op,
                            .dtype = c->dtype,
                            .count = c->count,
                            .nsrc = c->nsrc,
                            .ndst = c->ndst,
                            .src = src_ptr,
                            .dst = dst_ptr};

    for (uint32_t s = 0; s < c->nsrc; s++) {
        src[s] = source_new(c, s);
        src_ptr[s] = src[s].data;
        copy[s] = buffer_new(src[s].len, 0);
        memcpy(copy[s].data, src[s].data, src[s].len);
    }
    for (uint32_t d = 0; d < c->ndst; d++) {
        if (c->alias[d] >= 0) {
            dst[d] = src[c->alias[d]];
        } else {
            dst[d] = buffer_new(c->count * reference_size(c->dtype), c->dst_offset[d]);
            memset(dst[d].data, POISON, dst[d].len);
        }
        dst_ptr[d] = dst[d].data;
    }
    expected = reference_new(c, src);

    assert_int_equal(symm_reduce_host(&reduce), 0);
    check_buffers(c, src, copy, dst, expected);

    free(expected);
    for (uint32_t d = 0; d < c->ndst; d++) {
        if (c->alias[d] < 0) {
            free(dst[d].base);
        }
    }
    for (uint32_t s = 0; s < c->nsrc; s++) {
        free(copy[s].base);
        free(src[s].base);
    }
}

/* A case with offsets drawn at random, and no destination that is a source. */
static test_case_t case_new(int op, int dtype, uint64_t count, uint32_t nsrc, uint32_t ndst)
{
    test_case_t c = {.op = (symm_op_t) op,
                     .dtype = (symm_dtype_t) dtype,
                     .count = count,
                     .nsrc = nsrc,
                     .ndst = ndst};

    for (uint32_t s = 0; s < MAX_SRC; s++) {
        c.src_offset[s] = prng_next() % MAX_OFFSET;
    }
    for (uint32_t d = 0; d < MAX_DST; d++) {
        c.dst_offset[d] = prng_next() % MAX_OFFSET;
        c.alias[d] = -1;
    }
    return c;
}

/* ---- the tests ---- */

static void for_each_defined(void (*run)(symm_op_t op, symm_dtype_t dtype))
{
    for (int op = 0; op < SYMM_OP_COUNT; op++) {
        for (int dtype = 0; dtype < SYMM_DTYPE_COUNT; dtype++) {
            bool pair = pair_of((symm_dtype_t) dtype) >= 0;
            bool is_complex = part_of((symm_dtype_t) dtype) != (symm_dtype_t) dtype;
            bool integer = dtype <= SYMM_UINT64;
            bool locates = SYMM_MAXLOC == op || SYMM_MINLOC == op;

            if (locates ? pair
                        : !pair && (op < SYMM_MAX || (op < SYMM_LAND && !is_complex) || integer)) {
                run((symm_op_t) op, (symm_dtype_t) dtype);
            }
        }
    }
}

static void run_small_counts(symm_op_t op, symm_dtype_t dtype)
{
    static const uint64_t counts[] = {0, 1, 2, 3, 5, 16, 17, 31, 63, 64, 65, 101};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (uint32_t nsrc = 1; nsrc <= MAX_SRC; nsrc++) {
            for (uint32_t ndst = 1; ndst <= MAX_DST; ndst++) {
                test_case_t c = case_new(op, dtype, counts[i], nsrc, ndst);

                run_case(&c);
            }
        }
    }
}

static void small_counts(void **state)
{
    (void) state;
    for_each_defined(run_small_counts);
}

/* The code works in blocks and steps of a power of two bytes: stand on both sides of each. */
static void run_around_powers_of_two(symm_op_t op, symm_dtype_t dtype)
{
    uint32_t round = 0;

    for (uint64_t bytes = 64; bytes <= 16384; bytes *= 2) {
        for (int64_t beside = -1; beside <= 1; beside++) {
            uint64_t count = bytes / reference_size(dtype) + (uint64_t) beside;

            for (uint32_t nsrc = 1; nsrc <= MAX_SRC; nsrc++) {
                test_case_t c = case_new(op, dtype, count, nsrc, 1 + round++ % MAX_DST);

                run_case(&c);
            }
        }
    }
}

static void around_powers_of_two(void **state)
{
    (void) state;
    for_each_defined(run_around_powers_of_two);
}

static void run_large_count(symm_op_t op, symm_dtype_t dtype)
{
    static const uint32_t shapes[][2] = {{1, 1}, {2, 1}, {2, 2}, {3, 1}, {5, 4}};

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        test_case_t c = case_new(op, dtype, 20011, shapes[i][0], shapes[i][1]);

        run_case(&c);
    }
}

static void large_count(void **state)
{
    (void) state;
    for_each_defined(run_large_count);
}

static void every_offset(void **state)
{
    static const symm_dtype_t dtypes[] = {SYMM_UINT8,    SYMM_INT16,    SYMM_FLOAT32,
                                          SYMM_FLOAT64,  SYMM_BFLOAT16, SYMM_COMPLEX_FLOAT32,
                                          SYMM_SHORT_INT};

    (void) state;
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        for (size_t src = 0; src < MAX_OFFSET; src++) {
            for (size_t dst = 0; dst < MAX_OFFSET; dst++) {
                test_case_t c = case_new(SYMM_SHORT_INT == dtypes[i] ? SYMM_MINLOC : SYMM_SUM,
                                         dtypes[i], 307, 2 + dst % 2, 1 + src % 2);

                c.src_offset[0] = src;
                c.dst_offset[0] = dst;
                run_case(&c);
            }
        }
    }
}

/* One destination is each source in turn, and the other destinations are not. */
static void run_in_place(symm_op_t op, symm_dtype_t dtype)
{
    for (uint32_t nsrc = 1; nsrc <= MAX_SRC; nsrc++) {
        for (uint32_t d = 0; d < MAX_DST; d++) {
            for (uint32_t s = 0; s < nsrc; s++) {
                test_case_t c = case_new(op, dtype, 1111, nsrc, 1 + (d + s) % MAX_DST);

                c.alias[d % c.ndst] = (int) s;
                run_case(&c);
            }
        }
    }
}

static void in_place(void **state)
{
    (void) state;
    for_each_defined(run_in_place);
}

/* The two-shot all-reduce: every source is a destination, in this order or the reverse. */
static void all_in_place(void **state)
{
    (void) state;
    for (uint32_t ranks = 1; ranks <= MAX_DST; ranks++) {
        for (int reverse = 0; reverse < 2; reverse++) {
            test_case_t c = case_new(SYMM_SUM, SYMM_FLOAT32, 5003, ranks, ranks);

            for (uint32_t d = 0; d < ranks; d++) {
                c.alias[d] = (int) (reverse ? ranks - 1 - d : d);
            }
            run_case(&c);
        }
    }
}

/* Reduces single elements of any type; the values are the caller's. */
static void reduce_one(symm_op_t op, symm_dtype_t dtype, uint32_t nsrc, const void *const *src,
                       void *result)
{
    void *dst[] = {result};
    symm_reduce_t reduce = {
        .op = op, .dtype = dtype, .count = 1, .nsrc = nsrc, .ndst = 1, .src = src, .dst = dst};

    assert_int_equal(symm_reduce_host(&reduce), 0);
}

static void sum_in_rank_order(void **state)
{
    const float big = 1e30f, minus_big = -1e30f, one = 1.0f;
    const void *const cancels_first[] = {&big, &minus_big, &one};
    const void *const cancels_last[] = {&big, &one, &minus_big};
    const void *const cancels_late[] = {&one, &big, &minus_big};
    float result = NAN;

    (void) state;
    reduce_one(SYMM_SUM, SYMM_FLOAT32, 3, cancels_first, &result);
    assert_true(1.0f == result);
    reduce_one(SYMM_SUM, SYMM_FLOAT32, 3, cancels_last, &result);
    assert_true(0.0f == result);
    reduce_one(SYMM_SUM, SYMM_FLOAT32, 3, cancels_late, &result);
    assert_true(0.0f == result);
}

/* MAX is a > b ? a : b and MIN a < b ? a : b: the later rank's value wins when neither is more. */
static void max_min_of_nan_and_zeros(void **state)
{
    const double nan = NAN, one = 1.0, plus = 0.0, minus = -0.0;
    const void *const nan_first[] = {&nan, &one}, *const nan_last[] = {&one, &nan};
    const void *const plus_first[] = {&plus, &minus}, *const minus_first[] = {&minus, &plus};
    double result;

    (void) state;
    for (int op = SYMM_MAX; op <= SYMM_MIN; op++) {
        reduce_one((symm_op_t) op, SYMM_FLOAT64, 2, nan_first, &result);
        assert_true(1.0 == result);
        reduce_one((symm_op_t) op, SYMM_FLOAT64, 2, nan_last, &result);
        assert_true(isnan(result));
        reduce_one((symm_op_t) op, SYMM_FLOAT64, 2, plus_first, &result);
        assert_true(0.0 == result && signbit(result));
        reduce_one((symm_op_t) op, SYMM_FLOAT64, 2, minus_first, &result);
        assert_true(0.0 == result && !signbit(result));
    }
}

static void integers_wrap(void **state)
{
    const int32_t i32_max = INT32_MAX, i32_two = 2;
    const uint16_t u16_max = UINT16_MAX;
    const void *const i32[] = {&i32_max, &i32_two}, *const u16[] = {&u16_max, &u16_max};
    int32_t i32_result;
    uint16_t u16_result;

    (void) state;
    reduce_one(SYMM_SUM, SYMM_INT32, 2, i32, &i32_result);
    assert_int_equal(i32_result, INT32_MIN + 1);
    reduce_one(SYMM_PROD, SYMM_INT32, 2, i32, &i32_result);
    assert_int_equal(i32_result, -2);
    /* As int, to which uint16_t is promoted, this product overflows. */
    reduce_one(SYMM_PROD, SYMM_UINT16, 2, u16, &u16_result);
    assert_int_equal(u16_result, 1);
}

static void logical_of_one_source_is_unchanged(void **state)
{
    const int32_t seven = 7;
    const void *const src[] = {&seven, &seven};
    int32_t result = 0;

    (void) state;
    for (int op = SYMM_LAND; op <= SYMM_LXOR; op++) {
        reduce_one((symm_op_t) op, SYMM_INT32, 1, src, &result);
        assert_int_equal(result, 7);
    }
    reduce_one(SYMM_LAND, SYMM_INT32, 2, src, &result);
    assert_int_equal(result, 1);
}

static void expect_refused(int op, int dtype, uint32_t nsrc, uint32_t ndst)
{
    const uint64_t value[] = {1, 2, 3, 4};
    uint64_t result[] = {5, 6, 7, 8};
    const void *const src[] = {value, value + 2};
    void *const dst[] = {result, result + 2};
    symm_reduce_t reduce = {.op = (symm_op_t) op,
                            .dtype = (symm_dtype_t) dtype,
                            .count = 2,
                            .nsrc = nsrc,
                            .ndst = ndst,
                            .src = src,
                            .dst = dst};

    assert_int_equal(symm_reduce_host(&reduce), EINVAL);
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(result[i], 5 + i);
    }
}

/* ---- 16-bit floats ---- */

/* The reduction of one source is that source, bit by bit, but for NaNs, which become one. */
static void narrow_identity(void **state)
{
    static const symm_dtype_t dtypes[] = {SYMM_FLOAT16, SYMM_BFLOAT16};
    static uint16_t in[1 << 16], out[1 << 16];
    const void *const src[] = {in};
    void *const dst[] = {out};

    (void) state;
    for (int i = 0; i < 2; i++) {
        symm_reduce_t reduce = {SYMM_MAX, dtypes[i], 1 << 16, 1, 1, src, dst};

        for (uint32_t bits = 0; bits < 1 << 16; bits++) {
            in[bits] = (uint16_t) bits;
        }
        assert_int_equal(symm_reduce_host(&reduce), 0);
        for (uint32_t bits = 0; bits < 1 << 16; bits++) {
            bool nan = isnan(narrow_value(dtypes[i], (uint16_t) bits));

            assert_int_equal(out[bits], nan ? 0x7fff : bits);
        }
    }
}

/* The sum of numbers of all magnitudes, which rounds up, down, to even, to infinity and to
 * denormals: with 2 sources, whose sum as float is exact or rounded itself. */
static void narrow_rounding(void **state)
{
    static const symm_dtype_t dtypes[] = {SYMM_FLOAT16, SYMM_BFLOAT16};
    static uint16_t a[1 << 16], b[1 << 16], out[1 << 16];
    const void *const src[] = {a, b};
    void *const dst[] = {out};

    (void) state;
    for (int i = 0; i < 2; i++) {
        for (uint32_t op = SYMM_SUM; op <= SYMM_PROD; op++) {
            symm_reduce_t reduce = {(symm_op_t) op, dtypes[i], 1 << 16, 2, 1, src, dst};

            for (uint32_t k = 0; k < 1 << 16; k++) {
                uint64_t random = prng_next();

                a[k] = (uint16_t) k;
                /* Half of them near in magnitude, where the sum rounds at the last place. */
                b[k] = (uint16_t) (random & 1 ? random >> 16 : k - 0x800 + (random >> 16) % 0x1000);
            }
            assert_int_equal(symm_reduce_host(&reduce), 0);
            for (uint32_t k = 0; k < 1 << 16; k++) {
                float x = (float) narrow_value(dtypes[i], a[k]);
                float y = (float) narrow_value(dtypes[i], b[k]);

                assert_int_equal(out[k],
                                 narrow_bits(dtypes[i], reference_float((symm_op_t) op, x, y)));
            }
        }
    }
}

/* 1 + 2^-9 five times rounds to 5 if each step does, as the last place of 4 is 2^-8. */
static void narrow_rounds_once(void **state)
{
    uint16_t value = narrow_bits(SYMM_FLOAT16, 1.0f + 0x1p-9f);
    const void *const src[] = {&value, &value, &value, &value, &value};
    uint16_t result;

    (void) state;
    reduce_one(SYMM_SUM, SYMM_FLOAT16, 5, src, &result);
    assert_int_equal(result, narrow_bits(SYMM_FLOAT16, 5.0f + 5 * 0x1p-9f));
}

/* ---- pairs ---- */

static void pairs_of_equal_values_and_nan(void **state)
{
    struct {
        double value;
        int32_t index;
    } low = {2.0, 3}, high = {2.0, 7}, nan = {NAN, 1}, result;
    const void *const low_first[] = {&low, &high}, *const high_first[] = {&high, &low};
    const void *const nan_first[] = {&nan, &low}, *const nan_last[] = {&low, &nan};

    (void) state;
    for (int op = SYMM_MAXLOC; op <= SYMM_MINLOC; op++) {
        reduce_one((symm_op_t) op, SYMM_DOUBLE_INT, 2, low_first, &result);
        assert_int_equal(result.index, 3);
        reduce_one((symm_op_t) op, SYMM_DOUBLE_INT, 2, high_first, &result);
        assert_int_equal(result.index, 3);
        reduce_one((symm_op_t) op, SYMM_DOUBLE_INT, 2, nan_first, &result);
        assert_int_equal(result.index, 3);
        reduce_one((symm_op_t) op, SYMM_DOUBLE_INT, 2, nan_last, &result);
        assert_int_equal(result.index, 1);
    }
}

static void undefined_is_refused(void **state)
{
    (void) state;
    for (int op = SYMM_LAND; op < SYMM_OP_COUNT; op++) {
        for (uint32_t nsrc = 1; nsrc <= 2; nsrc++) {
            expect_refused(op, SYMM_FLOAT32, nsrc, 1);
            expect_refused(op, SYMM_FLOAT64, nsrc, 2);
            expect_refused(op, SYMM_FLOAT16, nsrc, 1);
            expect_refused(op, SYMM_LONG_DOUBLE, nsrc, 1);
        }
    }
    expect_refused(SYMM_MAX, SYMM_COMPLEX_FLOAT32, 2, 1);
    expect_refused(SYMM_SUM, SYMM_INT_INT, 2, 1);
    expect_refused(SYMM_MAXLOC, SYMM_INT32, 2, 1);
    expect_refused(SYMM_OP_COUNT, SYMM_INT32, 2, 1);
    expect_refused(-1, SYMM_INT32, 2, 1);
    expect_refused(SYMM_SUM, SYMM_DTYPE_COUNT, 2, 1);
    expect_refused(SYMM_SUM, -1, 2, 1);
}

static void no_source_or_destination_is_refused(void **state)
{
    (void) state;
    expect_refused(SYMM_SUM, SYMM_INT32, 0, 1);
    expect_refused(SYMM_SUM, SYMM_INT32, 1, 0);
    expect_refused(SYMM_SUM, SYMM_INT32, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(small_counts, seed_prng),
        cmocka_unit_test_setup(around_powers_of_two, seed_prng),
        cmocka_unit_test_setup(large_count, seed_prng),
        cmocka_unit_test_setup(every_offset, seed_prng),
        cmocka_unit_test_setup(in_place, seed_prng),
        cmocka_unit_test_setup(all_in_place, seed_prng),
        cmocka_unit_test(sum_in_rank_order),
        cmocka_unit_test(max_min_of_nan_and_zeros),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(logical_of_one_source_is_unchanged),
        cmocka_unit_test(narrow_identity),
        cmocka_unit_test_setup(narrow_rounding, seed_prng),
        cmocka_unit_test(narrow_rounds_once),
        cmocka_unit_test(pairs_of_equal_values_and_nan),
        cmocka_unit_test(undefined_is_refused),
        cmocka_unit_test(no_source_or_destination_is_refused),
    };

    return cmocka_run_group_tests_name("reduce_host", tests, NULL, NULL);
}
