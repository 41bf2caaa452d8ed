/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The list of the atomic updates that must exist, for the host and the kernels alike. What the
 * operations compute is symm_reduce_ops.h's knowledge. */
#ifndef SYMM_ATOMIC_OPS_H
#define SYMM_ATOMIC_OPS_H

#include "symm_atomic.h"
#include "symm_reduce_ops.h"

/* SYMM_ATOMIC(op, op name, dtype, dtype name, element type, arithmetic type), as in
 * SYMM_REDUCE_LIST: the operations that combine. */
#define SYMM_ATOMIC_COMBINE_LIST(SYMM_ATOMIC)                                                      \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_SUM, sum)                                               \
    SYMM_REDUCE_FLOAT(SYMM_ATOMIC, SYMM_SUM, sum)                                                  \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_PROD, prod)                                             \
    SYMM_REDUCE_FLOAT(SYMM_ATOMIC, SYMM_PROD, prod)                                                \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_MAX, max)                                               \
    SYMM_REDUCE_SIGNED(SYMM_ATOMIC, SYMM_MAX, max)                                                 \
    SYMM_REDUCE_FLOAT(SYMM_ATOMIC, SYMM_MAX, max)                                                  \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_MIN, min)                                               \
    SYMM_REDUCE_SIGNED(SYMM_ATOMIC, SYMM_MIN, min)                                                 \
    SYMM_REDUCE_FLOAT(SYMM_ATOMIC, SYMM_MIN, min)                                                  \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_LAND, land)                                             \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_LOR, lor)                                               \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_LXOR, lxor)                                             \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_BAND, band)                                             \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_BOR, bor)                                               \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_BXOR, bxor)

/* The others, which know bits alone. */
#define SYMM_ATOMIC_MOVE_LIST(SYMM_ATOMIC)                                                         \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_ATOMIC_REPLACE, replace)                                \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_ATOMIC_NO_OP, no_op)                                    \
    SYMM_REDUCE_UNSIGNED(SYMM_ATOMIC, SYMM_ATOMIC_CAS, cas)

#define SYMM_ATOMIC_LIST(SYMM_ATOMIC)                                                              \
    SYMM_ATOMIC_COMBINE_LIST(SYMM_ATOMIC)                                                          \
    SYMM_ATOMIC_MOVE_LIST(SYMM_ATOMIC)

#endif
