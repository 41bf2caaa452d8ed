/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Names, sizes and the op x type matrix. What the operations compute is symm_reduce_ops.h's work.
 */
#include "symm_types.h"

#include <stdint.h>

#include "symm_elements.h"

/* Enumerators that fall outside the lists come from a caller's cast: compare as unsigned, so that
 * a negative value is out of range too, whatever type the compiler gives the enum. */
#define SYMM_DTYPE_VALID(dtype) ((unsigned) (dtype) < (unsigned) SYMM_DTYPE_COUNT)
#define SYMM_OP_VALID(op)       ((unsigned) (op) < (unsigned) SYMM_OP_COUNT)

size_t symm_dtype_size(symm_dtype_t dtype)
{
#define DTYPE_SIZE(enumerator, name, ctype, class) [enumerator] = sizeof(ctype),
    static const unsigned char sizes[SYMM_DTYPE_COUNT] = {SYMM_DTYPE_LIST(DTYPE_SIZE)};
#undef DTYPE_SIZE

    return SYMM_DTYPE_VALID(dtype) ? sizes[dtype] : 0;
}

const char *symm_dtype_name(symm_dtype_t dtype)
{
#define DTYPE_NAME(enumerator, name, ctype, class) [enumerator] = #name,
    static const char *const names[SYMM_DTYPE_COUNT] = {SYMM_DTYPE_LIST(DTYPE_NAME)};
#undef DTYPE_NAME

    return SYMM_DTYPE_VALID(dtype) ? names[dtype] : "?";
}

const char *symm_op_name(symm_op_t op)
{
#define OP_NAME(enumerator, name) [enumerator] = #name,
    static const char *const names[SYMM_OP_COUNT] = {SYMM_OP_LIST(OP_NAME)};
#undef OP_NAME

    return SYMM_OP_VALID(op) ? names[op] : "?";
}

symm_class_t symm_dtype_class(symm_dtype_t dtype)
{
#define DTYPE_CLASS(enumerator, name, ctype, class) [enumerator] = (class),
    static const unsigned char classes[SYMM_DTYPE_COUNT] = {SYMM_DTYPE_LIST(DTYPE_CLASS)};
#undef DTYPE_CLASS

    return SYMM_DTYPE_VALID(dtype) ? (symm_class_t) classes[dtype] : SYMM_CLASS_NONE;
}

bool symm_dtype_has_gaps(symm_dtype_t dtype)
{
    switch (dtype) {
    case SYMM_DOUBLE_INT:
    case SYMM_LONG_INT:
    case SYMM_SHORT_INT:
    case SYMM_LONG_DOUBLE_INT:
        return true;
    default:
        return false;
    }
}

bool symm_dtype_on_gpu(symm_dtype_t dtype)
{
    return SYMM_DTYPE_VALID(dtype) && SYMM_LONG_DOUBLE != dtype &&
           SYMM_COMPLEX_LONG_DOUBLE != dtype && SYMM_LONG_DOUBLE_INT != dtype;
}

bool symm_op_defined(symm_op_t op, symm_dtype_t dtype)
{
    bool arithmetic = SYMM_SUM == op || SYMM_PROD == op;
    bool order = SYMM_MAX == op || SYMM_MIN == op;
    bool locates = SYMM_MAXLOC == op || SYMM_MINLOC == op;

    if (!SYMM_OP_VALID(op)) {
        return false;
    }
    switch (symm_dtype_class(dtype)) {
    case SYMM_CLASS_INTEGER:
        return !locates;
    case SYMM_CLASS_FLOAT:
        return arithmetic || order;
    case SYMM_CLASS_COMPLEX:
        return arithmetic;
    case SYMM_CLASS_PAIR:
        return locates;
    default:
        return false;
    }
}

symm_dtype_t symm_op_carrier(symm_op_t op, symm_dtype_t dtype)
{
    if (SYMM_MAX == op || SYMM_MIN == op) {
        return dtype;
    }
    switch (dtype) {
    case SYMM_INT8:
        return SYMM_UINT8;
    case SYMM_INT16:
        return SYMM_UINT16;
    case SYMM_INT32:
        return SYMM_UINT32;
    case SYMM_INT64:
        return SYMM_UINT64;
    default:
        return dtype;
    }
}
