/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Atomic updates of host memory, and which updates there are. The host twin of the kernels. */
#include "symm_atomic.h"

#include <errno.h>
#include <string.h>

#include "symm_atomic_ops.h"

/* The word that holds the bits of an element. */
typedef uint8_t word_uint8_t __attribute__((may_alias));
typedef uint16_t word_uint16_t __attribute__((may_alias));
typedef uint32_t word_uint32_t __attribute__((may_alias));
typedef uint64_t word_uint64_t __attribute__((may_alias));
typedef word_uint8_t word_int8_t;
typedef word_uint16_t word_int16_t;
typedef word_uint32_t word_int32_t;
typedef word_uint64_t word_int64_t;
typedef word_uint32_t word_float;
typedef word_uint64_t word_double;

/* Compares operations of both enums. */
#define IS(op, other) ((symm_atomic_op_t) (op) == (symm_atomic_op_t) (other))

#define IS_FLOAT(dtype) (SYMM_FLOAT32 == (dtype) || SYMM_FLOAT64 == (dtype))

/* fetch_<op>_<dtype>() updates one element and returns its old bits. `op` and `dtype` are
 * constants, so that of the branches one is left. A value that stays as it is need not be stored.
 */
#define DEFINE_FETCH_COMBINE(op, name, dtype, dtype_name, ctype, atype)                            \
    static inline word_##ctype fetch_##name##_##dtype_name(                                        \
        word_##ctype *at, word_##ctype operand_bits, word_##ctype compare)                         \
    {                                                                                              \
        (void) compare;                                                                            \
        if (IS(op, SYMM_SUM) && !IS_FLOAT(dtype)) {                                                \
            return __atomic_fetch_add(at, operand_bits, __ATOMIC_RELAXED);                         \
        } else if (IS(op, SYMM_BAND)) {                                                            \
            return __atomic_fetch_and(at, operand_bits, __ATOMIC_RELAXED);                         \
        } else if (IS(op, SYMM_BOR)) {                                                             \
            return __atomic_fetch_or(at, operand_bits, __ATOMIC_RELAXED);                          \
        } else if (IS(op, SYMM_BXOR)) {                                                            \
            return __atomic_fetch_xor(at, operand_bits, __ATOMIC_RELAXED);                         \
        }                                                                                          \
        word_##ctype old = __atomic_load_n(at, __ATOMIC_RELAXED);                                  \
        word_##ctype wanted;                                                                       \
        ctype operand, value;                                                                      \
        memcpy(&operand, &operand_bits, sizeof(operand));                                          \
        do {                                                                                       \
            memcpy(&value, &old, sizeof(value));                                                   \
            value = (ctype) SYMM_COMBINE_##name((atype) value, (atype) operand);                   \
            memcpy(&wanted, &value, sizeof(wanted));                                               \
        } while (wanted != old &&                                                                  \
                 !__atomic_compare_exchange_n(at, &old, wanted, true, __ATOMIC_RELAXED,            \
                                              __ATOMIC_RELAXED));                                  \
        return old;                                                                                \
    }
SYMM_ATOMIC_COMBINE_LIST(DEFINE_FETCH_COMBINE)
#undef DEFINE_FETCH_COMBINE

#define DEFINE_FETCH_MOVE(op, name, dtype, dtype_name, ctype, atype)                               \
    static inline word_##ctype fetch_##name##_##dtype_name(word_##ctype *at, word_##ctype operand, \
                                                           word_##ctype compare)                   \
    {                                                                                              \
        if (IS(op, SYMM_ATOMIC_REPLACE)) {                                                         \
            return __atomic_exchange_n(at, operand, __ATOMIC_RELAXED);                             \
        } else if (IS(op, SYMM_ATOMIC_NO_OP)) {                                                    \
            return __atomic_load_n(at, __ATOMIC_RELAXED);                                          \
        }                                                                                          \
        (void) __atomic_compare_exchange_n(at, &compare, operand, false, __ATOMIC_RELAXED,         \
                                           __ATOMIC_RELAXED);                                      \
        return compare; /* which now holds the old value, whatever came of it */                   \
    }
SYMM_ATOMIC_MOVE_LIST(DEFINE_FETCH_MOVE)
#undef DEFINE_FETCH_MOVE

/* The loops over elements. Operands that are not there are zero and not looked at. */
#define DEFINE_UPDATE(op, name, dtype, dtype_name, ctype, atype)                                   \
    static void update_##name##_##dtype_name(const symm_atomic_t *atomic)                          \
    {                                                                                              \
        word_##ctype *target = atomic->target;                                                     \
        word_##ctype operand = 0;                                                                  \
        word_##ctype compare = 0;                                                                  \
        for (uint64_t i = 0; i < atomic->count; i++) {                                             \
            size_t at = i * sizeof(ctype);                                                         \
            if (!IS(op, SYMM_ATOMIC_NO_OP)) {                                                      \
                memcpy(&operand, (const char *) atomic->origin + at, sizeof(operand));             \
            }                                                                                      \
            if (IS(op, SYMM_ATOMIC_CAS)) {                                                         \
                memcpy(&compare, (const char *) atomic->compare + at, sizeof(compare));            \
            }                                                                                      \
            word_##ctype old = fetch_##name##_##dtype_name(&target[i], operand, compare);          \
            if (NULL != atomic->result) {                                                          \
                memcpy((char *) atomic->result + at, &old, sizeof(old));                           \
            }                                                                                      \
        }                                                                                          \
    }
SYMM_ATOMIC_LIST(DEFINE_UPDATE)
#undef DEFINE_UPDATE

#define UPDATE_ENTRY(op, name, dtype, dtype_name, ctype, atype)                                    \
    [op][dtype] = update_##name##_##dtype_name,
static symm_atomic_fn_t *const update_table[SYMM_ATOMIC_OP_COUNT][SYMM_DTYPE_COUNT] = {
    SYMM_ATOMIC_LIST(UPDATE_ENTRY)};
#undef UPDATE_ENTRY

symm_atomic_fn_t *symm_atomic_find(symm_atomic_op_t op, symm_dtype_t dtype)
{
    if (SYMM_ATOMIC_OP_COUNT <= op || (unsigned) SYMM_DTYPE_COUNT <= (unsigned) dtype) {
        return NULL;
    }
    symm_dtype_t carrier = SYMM_OP_COUNT > op ? symm_op_carrier((symm_op_t) op, dtype) : dtype;
    return update_table[op][carrier];
}

bool symm_atomic_defined(symm_atomic_op_t op, symm_dtype_t dtype)
{
    return NULL != symm_atomic_find(op, dtype);
}

bool symm_atomic_type(symm_dtype_t dtype)
{
    return symm_atomic_defined(SYMM_SUM, dtype);
}

bool symm_atomic_word(size_t bytes, symm_dtype_t *dtype_p)
{
    switch (bytes) {
    case 1:
        *dtype_p = SYMM_UINT8;
        return true;
    case 2:
        *dtype_p = SYMM_UINT16;
        return true;
    case 4:
        *dtype_p = SYMM_UINT32;
        return true;
    case 8:
        *dtype_p = SYMM_UINT64;
        return true;
    default:
        return false;
    }
}

int symm_atomic_host(const symm_atomic_t *atomic)
{
    symm_atomic_fn_t *update = symm_atomic_find(atomic->op, atomic->dtype);
    if (NULL == update) {
        return EINVAL;
    }
    symm_atomic_t row = *atomic;
    for (uint64_t left = atomic->rows; 0 < left; left--) {
        update(&row);
        row.target = (char *) row.target + atomic->target_pitch;
        row.origin = (const char *) row.origin + atomic->origin_pitch;
        if (NULL != row.result) {
            row.result = (char *) row.result + atomic->result_pitch;
        }
    }
    return 0;
}

const char *symm_atomic_op_name(symm_atomic_op_t op)
{
    switch (op) {
    case SYMM_ATOMIC_REPLACE:
        return "replace";
    case SYMM_ATOMIC_NO_OP:
        return "no_op";
    case SYMM_ATOMIC_CAS:
        return "cas";
    default:
        return SYMM_OP_COUNT > op ? symm_op_name((symm_op_t) op) : "?";
    }
}
