/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Which machine elements the datatype and operation of an accumulate-class call are about. */
#include "symm_config.h"

#include "osc_symm_update.h"

#include "symm_datatype.h"

#include <stdatomic.h>

/* Places of the table, a power of 2 and more than there are predefined datatypes times operations.
 */
#define KNOWN_PLACES 2048

/* What was asked for so far: a look at all datatypes would cost more than a small update. Only
 * handles that live as long as MPI get in, so none is freed and used again. */
typedef struct known {
    _Atomic(MPI_Datatype) datatype; /* written last; NULL when the place is free */
    MPI_Op op;                      /* MPI_OP_NULL for compare-and-swap */
    osc_symm_element_t element;
} known_t;

static known_t known[KNOWN_PLACES];
static opal_mutex_t known_lock = OPAL_MUTEX_STATIC_INIT; /* held while an entry is added */

/* The entry of datatype and op, or the free one where they belong. */
static known_t *find_place(MPI_Datatype datatype, MPI_Op op)
{
    uint64_t key = (uint64_t) (uintptr_t) datatype ^ (uint64_t) (uintptr_t) op << 1;
    uint32_t at = (uint32_t) ((key * UINT64_C(0x9e3779b97f4a7c15)) >> 53);
    for (;; at = (at + 1) % KNOWN_PLACES) {
        /* Acquire pairs with the release that published the entry. */
        MPI_Datatype there = atomic_load_explicit(&known[at].datatype, memory_order_acquire);
        if (NULL == there || (datatype == there && op == known[at].op)) {
            return &known[at];
        }
    }
}

/* Finds out whether datatype is predefined, and how its elements lie. */
static bool measure(MPI_Datatype datatype, osc_symm_element_t *element)
{
    int integers, addresses, datatypes, combiner, size;
    MPI_Aint lb, extent, true_extent;
    if (MPI_SUCCESS !=
            PMPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner) ||
        MPI_COMBINER_NAMED != combiner || MPI_SUCCESS != PMPI_Type_size(datatype, &size) ||
        MPI_SUCCESS != PMPI_Type_get_extent(datatype, &lb, &extent) ||
        MPI_SUCCESS != PMPI_Type_get_true_extent(datatype, &lb, &true_extent) || 0 >= size) {
        return false;
    }
    element->size = (size_t) extent;
    element->span = (size_t) true_extent;
    element->gaps = size != extent;
    return true;
}

/* The element of an operation that stores or reads values as they are. */
static int find_moved(MPI_Datatype datatype, symm_atomic_op_t op, osc_symm_element_t *element_p)
{
    osc_symm_element_t element = {.op = op, .dtype = SYMM_UINT8, .datatype = datatype};
    symm_dtype_t dtype;
    if (!measure(datatype, &element)) {
        return MPI_ERR_TYPE;
    }
    /* Types that nothing but moves is defined on, as characters, go by their size. */
    bool one_value = !symm_datatype_find(datatype, &dtype) || symm_atomic_type(dtype);
    element.atomic = one_value && !element.gaps && symm_atomic_word(element.size, &element.dtype);
    *element_p = element;
    return MPI_SUCCESS;
}

static int find_combined(MPI_Datatype datatype, MPI_Op op, osc_symm_element_t *element_p)
{
    osc_symm_element_t element = {.datatype = datatype};
    symm_op_t found;
    if (!measure(datatype, &element)) {
        return MPI_ERR_TYPE;
    }
    if (!symm_datatype_find_reduction(datatype, op, &element.dtype, &found)) {
        return MPI_ERR_OP;
    }
    element.op = (symm_atomic_op_t) found;
    element.atomic = symm_atomic_type(element.dtype);
    *element_p = element;
    return MPI_SUCCESS;
}

static int find(MPI_Datatype datatype, MPI_Op op, osc_symm_element_t *element_p)
{
    if (MPI_REPLACE == op) {
        return find_moved(datatype, SYMM_ATOMIC_REPLACE, element_p);
    }
    if (MPI_NO_OP == op) {
        return find_moved(datatype, SYMM_ATOMIC_NO_OP, element_p);
    }
    if (MPI_OP_NULL == op) {
        symm_dtype_t dtype;
        int rc = find_moved(datatype, SYMM_ATOMIC_CAS, element_p);
        bool floating = symm_datatype_find(datatype, &dtype) && !symm_op_defined(SYMM_BAND, dtype);
        return MPI_SUCCESS == rc && (floating || !element_p->atomic) ? MPI_ERR_TYPE : rc;
    }
    return find_combined(datatype, op, element_p);
}

/* Finds it and remembers it. */
static int learn(MPI_Datatype datatype, MPI_Op op, const osc_symm_element_t **element_p)
{
    osc_symm_element_t element;
    int rc = find(datatype, op, &element);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    element.update = element.atomic ? symm_atomic_find(element.op, element.dtype) : NULL;
    opal_mutex_lock(&known_lock);
    known_t *place = find_place(datatype, op);
    if (NULL == atomic_load_explicit(&place->datatype, memory_order_relaxed)) {
        place->op = op;
        place->element = element;
        atomic_store_explicit(&place->datatype, datatype, memory_order_release);
    }
    opal_mutex_unlock(&known_lock);
    *element_p = &place->element;
    return MPI_SUCCESS;
}

int ompi_osc_symm_element_find(MPI_Datatype datatype, MPI_Op op,
                               const osc_symm_element_t **element_p)
{
    known_t *place = find_place(datatype, op);
    if (NULL == atomic_load_explicit(&place->datatype, memory_order_relaxed)) {
        return learn(datatype, op, element_p);
    }
    *element_p = &place->element;
    return MPI_SUCCESS;
}
