/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Flattens datatypes through the public interface of MPI alone, and keeps what it made: with user's
 * datatypes as an attribute, predefined ones in a list of their own, which is short.
 *
 * NOTE locks. `making` is held while a datatype is flattened, calls of MPI included, so that two
 * threads do not attach two maps to one datatype. MPI may hold a lock of its own when it calls
 * forget(), which therefore takes `live_lock` only; nothing calls MPI while holding that. */
#include "symm_config.h"

#include "symm_typemap.h"

#include "symm_log.h"
#include "symm_typelist.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

const symm_typemap_t symm_typemap_bytes = {
    .size = 1,
    .extent = 1,
    .true_ub = 1,
    .element = MPI_BYTE,
    .element_extent = 1,
    .list[SYMM_VIEW_BYTES] = {.items = &(symm_typeitem_t){.len = 1, .count = 1}, .count = 1},
};

/* A predefined datatype and its map; never freed before the end. */
typedef struct named_map {
    struct named_map *next;
    MPI_Datatype datatype;
    symm_typemap_t map;
} named_map_t;

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static symm_typemap_t *live;
static _Atomic(named_map_t *) named;
static _Atomic int keyval = MPI_KEYVAL_INVALID;

/* The maps that a thread has used lately, as asking MPI for an attribute takes longer than moving a
 * few bytes. They are good until any map goes, which is counted: the handle of a datatype that was
 * freed may come back for another. */
#define RECENT 4

typedef struct recent {
    uint64_t generation;
    MPI_Datatype datatypes[RECENT];
    const symm_typemap_t *maps[RECENT];
} recent_t;

static _Atomic uint64_t generation = 1;
static _Thread_local recent_t recent __attribute__((tls_model("initial-exec")));

/* What a datatype was made with, and the maps of the datatypes it was made of. */
typedef struct contents {
    MPI_Datatype datatype;
    int combiner;
    int int_count, address_count, type_count;
    int *ints;
    MPI_Aint *addresses;
    MPI_Datatype *types;
    const symm_typemap_t **children;
} contents_t;

/* ---- one builder for each way of making a datatype ---- */

/* Everything that a builder works on: appends to `out` in one view. */
typedef struct build {
    const contents_t *from;
    symm_typeview_t view;
    symm_typebuilder_t *out;
} build_t;

typedef void (*build_fn_t)(const build_t *build);

static const symm_typelist_t *child_list(const build_t *build, int child)
{
    return symm_typemap_list(build->from->children[child], build->view);
}

static ptrdiff_t child_extent(const build_t *build, int child)
{
    return build->from->children[child]->extent;
}

/* Appends a block: count elements of a child next to each other. */
static void block(const build_t *build, int child, ptrdiff_t offset, int count)
{
    symm_typebuilder_repeat(build->out, child_list(build, child), offset, (size_t) count,
                            child_extent(build, child));
}

/* Appends `count` blocks of the first child, stride bytes apart. */
static void blocks(const build_t *build, int count, int block_len, ptrdiff_t stride)
{
    symm_typebuilder_t one = {0};
    symm_typebuilder_repeat(&one, child_list(build, 0), 0, (size_t) block_len,
                            child_extent(build, 0));
    symm_typebuilder_repeat(build->out, &one.list, 0, (size_t) count, stride);
    build->out->failed = build->out->failed || one.failed;
    symm_typelist_clear(&one.list);
}

static void build_same(const build_t *build)
{
    block(build, 0, 0, 1);
}

static void build_contiguous(const build_t *build)
{
    block(build, 0, 0, build->from->ints[0]);
}

static void build_vector(const build_t *build)
{
    const int *ints = build->from->ints;
    blocks(build, ints[0], ints[1], ints[2] * child_extent(build, 0));
}

static void build_hvector(const build_t *build)
{
    const int *ints = build->from->ints;
    blocks(build, ints[0], ints[1], build->from->addresses[0]);
}

static void build_indexed(const build_t *build)
{
    const int *ints = build->from->ints;
    for (int i = 0; i < ints[0]; ++i) {
        block(build, 0, ints[1 + ints[0] + i] * child_extent(build, 0), ints[1 + i]);
    }
}

static void build_hindexed(const build_t *build)
{
    const int *ints = build->from->ints;
    for (int i = 0; i < ints[0]; ++i) {
        block(build, 0, build->from->addresses[i], ints[1 + i]);
    }
}

static void build_indexed_block(const build_t *build)
{
    const int *ints = build->from->ints;
    for (int i = 0; i < ints[0]; ++i) {
        block(build, 0, ints[2 + i] * child_extent(build, 0), ints[1]);
    }
}

static void build_hindexed_block(const build_t *build)
{
    const int *ints = build->from->ints;
    for (int i = 0; i < ints[0]; ++i) {
        block(build, 0, build->from->addresses[i], ints[1]);
    }
}

static void build_struct(const build_t *build)
{
    const int *ints = build->from->ints;
    for (int i = 0; i < ints[0]; ++i) {
        block(build, i, build->from->addresses[i], ints[1 + i]);
    }
}

/* ---- arrays: built from the dimension that is contiguous in memory outwards ---- */

/* Which of n dimensions is the k-th from the contiguous one. */
static int dimension(int n, int k, int order)
{
    return MPI_ORDER_C == order ? n - 1 - k : k;
}

/* Replaces *list by what `outer` holds. */
static void take_over(symm_typebuilder_t *list, symm_typebuilder_t *outer)
{
    outer->failed = outer->failed || list->failed;
    symm_typelist_clear(&list->list);
    *list = *outer;
}

/* Starts with one element of the first child; ends by appending what was made at offset. */
static symm_typebuilder_t array_begin(const build_t *build)
{
    symm_typebuilder_t array = {0};
    symm_typebuilder_repeat(&array, child_list(build, 0), 0, 1, 0);
    return array;
}

static void array_end(const build_t *build, symm_typebuilder_t *array, ptrdiff_t offset)
{
    symm_typebuilder_repeat(build->out, &array->list, offset, 1, 0);
    build->out->failed = build->out->failed || array->failed;
    symm_typelist_clear(&array->list);
}

static void build_subarray(const build_t *build)
{
    int n = build->from->ints[0];
    const int *sizes = build->from->ints + 1;
    const int *subsizes = sizes + n;
    const int *starts = subsizes + n;
    ptrdiff_t stride = child_extent(build, 0);
    ptrdiff_t offset = 0;
    symm_typebuilder_t array = array_begin(build);
    for (int k = 0; k < n; ++k) {
        int d = dimension(n, k, starts[n]);
        symm_typebuilder_t outer = {0};
        symm_typebuilder_repeat(&outer, &array.list, 0, (size_t) subsizes[d], stride);
        take_over(&array, &outer);
        offset += starts[d] * stride;
        stride *= sizes[d];
    }
    array_end(build, &array, offset);
}

/* One dimension of a distributed array. */
typedef struct distribution {
    int global;       /* elements of the dimension */
    int kind;         /* MPI_DISTRIBUTE_* */
    int darg;         /* elements of a block, or MPI_DISTRIBUTE_DFLT_DARG */
    int procs;        /* in this dimension */
    int place;        /* ours among them */
    ptrdiff_t stride; /* bytes from one element to the next */
} distribution_t;

/* Elements of a block: with MPI_DISTRIBUTE_NONE, or by blocks, there is one for each process. */
static ptrdiff_t block_elements(const distribution_t *d)
{
    if (MPI_DISTRIBUTE_NONE == d->kind) {
        return d->global;
    }
    if (MPI_DISTRIBUTE_DFLT_DARG != d->darg) {
        return d->darg;
    }
    return MPI_DISTRIBUTE_CYCLIC == d->kind ? 1 : (d->global + d->procs - 1) / d->procs;
}

/* Appends our part of one dimension: every procs-th block, the last one perhaps cut. */
static void distribute(const distribution_t *d, const symm_typelist_t *inner,
                       symm_typebuilder_t *out)
{
    ptrdiff_t len = block_elements(d);
    ptrdiff_t first = d->place * len;
    ptrdiff_t cycle = d->procs * len;
    ptrdiff_t left = d->global - first; /* from our first block to the end */
    ptrdiff_t whole = 0 >= left ? 0 : left / cycle + (left % cycle >= len ? 1 : 0);
    ptrdiff_t rest = 0 >= left ? 0 : left - whole * cycle;
    symm_typebuilder_t one = {0};
    symm_typebuilder_repeat(&one, inner, 0, (size_t) len, d->stride);
    symm_typebuilder_repeat(out, &one.list, first * d->stride, (size_t) whole, cycle * d->stride);
    if (0 < rest) {
        symm_typebuilder_repeat(out, inner, (first + whole * cycle) * d->stride, (size_t) rest,
                                d->stride);
    }
    out->failed = out->failed || one.failed;
    symm_typelist_clear(&one.list);
}

static void build_darray(const build_t *build)
{
    const int *ints = build->from->ints; /* processes, our rank, dimensions, then arrays of n */
    int n = ints[2];
    const int *global = ints + 3;
    const int *procs = global + 3 * n;
    int *places = calloc((size_t) n + 1, sizeof(*places));
    if (NULL == places) {
        build->out->failed = true;
        return;
    }
    for (int d = n - 1, rank = ints[1]; d >= 0; rank /= procs[d], --d) {
        places[d] = rank % procs[d]; /* ranks count in C order, whatever the array's order */
    }
    ptrdiff_t stride = child_extent(build, 0);
    symm_typebuilder_t array = array_begin(build);
    for (int k = 0; k < n; ++k) {
        int d = dimension(n, k, procs[n]);
        distribution_t part = {global[d], global[n + d], global[2 * n + d],
                               procs[d],  places[d],     stride};
        symm_typebuilder_t outer = {0};
        distribute(&part, &array.list, &outer);
        take_over(&array, &outer);
        stride *= global[d];
    }
    free(places);
    array_end(build, &array, 0);
}

static build_fn_t find_build(int combiner)
{
    static const struct {
        int combiner;
        build_fn_t build;
    } builds[] = {
        {MPI_COMBINER_DUP, build_same},
        {MPI_COMBINER_RESIZED, build_same},
        {MPI_COMBINER_CONTIGUOUS, build_contiguous},
        {MPI_COMBINER_VECTOR, build_vector},
        {MPI_COMBINER_HVECTOR, build_hvector},
        {MPI_COMBINER_INDEXED, build_indexed},
        {MPI_COMBINER_HINDEXED, build_hindexed},
        {MPI_COMBINER_INDEXED_BLOCK, build_indexed_block},
        {MPI_COMBINER_HINDEXED_BLOCK, build_hindexed_block},
        {MPI_COMBINER_STRUCT, build_struct},
        {MPI_COMBINER_SUBARRAY, build_subarray},
        {MPI_COMBINER_DARRAY, build_darray},
    };
    for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); ++i) {
        if (combiner == builds[i].combiner) {
            return builds[i].build;
        }
    }
    return NULL;
}

/* ---- predefined datatypes ---- */

static bool is_float_kind(int combiner)
{
    return MPI_COMBINER_F90_REAL == combiner || MPI_COMBINER_F90_COMPLEX == combiner;
}

/* Predefined, as far as the standard goes: by name, or by the precision asked for. */
static bool is_predefined(int combiner)
{
    return MPI_COMBINER_NAMED == combiner || MPI_COMBINER_F90_INTEGER == combiner ||
           is_float_kind(combiner);
}

/* The C type of a Fortran type by precision; the datatype itself when C has none. */
static MPI_Datatype element_of(MPI_Datatype datatype, int combiner, size_t size)
{
    static const struct {
        int combiner;
        size_t size;
        MPI_Datatype element;
    } same[] = {
        {MPI_COMBINER_F90_INTEGER, 1, MPI_INT8_T},
        {MPI_COMBINER_F90_INTEGER, 2, MPI_INT16_T},
        {MPI_COMBINER_F90_INTEGER, 4, MPI_INT32_T},
        {MPI_COMBINER_F90_INTEGER, 8, MPI_INT64_T},
        {MPI_COMBINER_F90_REAL, 4, MPI_FLOAT},
        {MPI_COMBINER_F90_REAL, 8, MPI_DOUBLE},
        {MPI_COMBINER_F90_COMPLEX, 8, MPI_C_FLOAT_COMPLEX},
        {MPI_COMBINER_F90_COMPLEX, 16, MPI_C_DOUBLE_COMPLEX},
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); ++i) {
        if (combiner == same[i].combiner && size == same[i].size) {
            return same[i].element;
        }
    }
    return datatype;
}

/* A pair of a value and an int; where its second part lies tells whether there is padding. */
typedef struct pair_shape {
    size_t first_len;
    size_t second_at;
} pair_shape_t;

#define PAIR_SHAPE(type)                                                                           \
    (pair_shape_t)                                                                                 \
    {                                                                                              \
        sizeof(type), offsetof(                                                                    \
                          struct {                                                                 \
                              type value;                                                          \
                              int index;                                                           \
                          },                                                                       \
                          index)                                                                   \
    }

/* Whether datatype is a pair that may have padding. */
static bool find_pair(MPI_Datatype datatype, pair_shape_t *shape_p)
{
    if (MPI_DOUBLE_INT == datatype) {
        *shape_p = PAIR_SHAPE(double);
    } else if (MPI_LONG_INT == datatype) {
        *shape_p = PAIR_SHAPE(long);
    } else if (MPI_SHORT_INT == datatype) {
        *shape_p = PAIR_SHAPE(short);
    } else if (MPI_LONG_DOUBLE_INT == datatype) {
        *shape_p = PAIR_SHAPE(long double);
    } else {
        return false;
    }
    return true;
}

static void build_predefined(symm_typemap_t *map, MPI_Datatype datatype, symm_typeview_t view,
                             symm_typebuilder_t *out)
{
    pair_shape_t pair;
    if (SYMM_VIEW_ELEMENTS == view) {
        symm_typebuilder_piece(out, 0, (size_t) map->extent);
    } else if (find_pair(datatype, &pair)) {
        symm_typebuilder_piece(out, 0, pair.first_len);
        symm_typebuilder_piece(out, (ptrdiff_t) pair.second_at, sizeof(int));
    } else {
        symm_typebuilder_piece(out, map->true_lb, map->size);
    }
}

static void describe_predefined(symm_typemap_t *map, MPI_Datatype datatype, int combiner)
{
    if (0 < map->size) { /* the bound markers of MPI-1 have none */
        map->element = element_of(datatype, combiner, map->size);
        map->element_extent = (size_t) map->extent;
        map->padded = (size_t) map->extent != map->size;
    }
}

/* ---- flattening ---- */

static int read_bounds(MPI_Datatype datatype, symm_typemap_t *map)
{
    MPI_Count size, lb, extent, true_lb, true_extent;
    if (MPI_SUCCESS != PMPI_Type_size_x(datatype, &size) ||
        MPI_SUCCESS != PMPI_Type_get_extent_x(datatype, &lb, &extent) ||
        MPI_SUCCESS != PMPI_Type_get_true_extent_x(datatype, &true_lb, &true_extent) || 0 > size) {
        return MPI_ERR_TYPE;
    }
    map->size = (size_t) size;
    map->extent = (ptrdiff_t) extent;
    map->true_lb = 0 < size ? (ptrdiff_t) true_lb : 0;
    map->true_ub = 0 < size ? (ptrdiff_t) (true_lb + true_extent) : 0;
    return MPI_SUCCESS;
}

/* The datatype that all data of the children is of. */
static void unite_elements(const contents_t *from, symm_typemap_t *map)
{
    bool mixed = false;
    for (int i = 0; i < from->type_count; ++i) {
        const symm_typemap_t *child = from->children[i];
        if (0 == child->size) {
            continue;
        }
        if (MPI_DATATYPE_NULL == map->element) {
            map->element = child->element;
            map->element_extent = child->element_extent;
            map->padded = child->padded;
        }
        mixed = mixed || MPI_DATATYPE_NULL == child->element || map->element != child->element;
        map->padded = map->padded || child->padded;
    }
    if (mixed) {
        map->element = MPI_DATATYPE_NULL;
        map->element_extent = 0;
        map->padded = false;
    }
}

static int finish_list(symm_typebuilder_t *builder, symm_typelist_t *list_p)
{
    if (builder->failed) {
        symm_typelist_clear(&builder->list);
        return MPI_ERR_NO_MEM;
    }
    *list_p = builder->list;
    return MPI_SUCCESS;
}

static int build_list(const contents_t *from, symm_typemap_t *map, symm_typeview_t view)
{
    symm_typebuilder_t builder = {0};
    build_t build = {from, view, &builder};
    if (is_predefined(from->combiner)) {
        build_predefined(map, from->datatype, view, &builder);
    } else {
        find_build(from->combiner)(&build);
    }
    return finish_list(&builder, &map->list[view]);
}

static void clear_lists(symm_typemap_t *map)
{
    for (int view = 0; view < SYMM_VIEW_COUNT; ++view) {
        symm_typelist_clear(&map->list[view]);
    }
}

/* Fills in *map, whose lists are freed by the caller also after a failure. */
static int flatten(const contents_t *from, symm_typemap_t *map)
{
    int rc = read_bounds(from->datatype, map);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    map->element = MPI_DATATYPE_NULL;
    if (is_predefined(from->combiner)) {
        describe_predefined(map, from->datatype, from->combiner);
    } else {
        unite_elements(from, map);
    }
    rc = build_list(from, map, SYMM_VIEW_BYTES);
    /* What we shall touch decides on what may be touched: Open MPI 4.1 has other bounds for vectors
     * whose stride is -1 byte. */
    if (MPI_SUCCESS == rc &&
        !symm_typelist_bounds(&map->list[SYMM_VIEW_BYTES], &map->true_lb, &map->true_ub)) {
        rc = MPI_ERR_TYPE;
    }
    return MPI_SUCCESS == rc && map->padded ? build_list(from, map, SYMM_VIEW_ELEMENTS) : rc;
}

/* ---- reading a datatype's contents ---- */

static int make_map(MPI_Datatype datatype, const symm_typemap_t **map_p);

static int read_combiner(MPI_Datatype datatype, contents_t *contents)
{
    *contents = (contents_t){.datatype = datatype};
    if (MPI_SUCCESS != PMPI_Type_get_envelope(datatype, &contents->int_count,
                                              &contents->address_count, &contents->type_count,
                                              &contents->combiner)) {
        return MPI_ERR_TYPE;
    }
    bool known = is_predefined(contents->combiner) || NULL != find_build(contents->combiner);
    return known ? MPI_SUCCESS : MPI_ERR_TYPE;
}

/* Gives back a datatype that MPI_Type_get_contents handed out. */
static void drop_type(MPI_Datatype *datatype)
{
    contents_t contents;
    if (MPI_SUCCESS == read_combiner(*datatype, &contents) && !is_predefined(contents.combiner)) {
        (void) PMPI_Type_free(datatype); /* the parent still holds it */
    }
}

static int allocate_contents(contents_t *contents)
{
    contents->ints = calloc((size_t) contents->int_count + 1, sizeof(*contents->ints));
    contents->addresses =
        calloc((size_t) contents->address_count + 1, sizeof(*contents->addresses));
    contents->types = calloc((size_t) contents->type_count + 1, sizeof(*contents->types));
    contents->children = calloc((size_t) contents->type_count + 1, sizeof(*contents->children));
    bool all = NULL != contents->ints && NULL != contents->addresses && NULL != contents->types &&
               NULL != contents->children;
    return all ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static void free_contents(contents_t *contents)
{
    free(contents->ints);
    free(contents->addresses);
    free(contents->types);
    free(contents->children);
}

/* Flattens what the contents were read from; the children first. */
static int flatten_contents(contents_t *contents, symm_typemap_t *map)
{
    if (MPI_SUCCESS != PMPI_Type_get_contents(contents->datatype, contents->int_count,
                                              contents->address_count, contents->type_count,
                                              contents->ints, contents->addresses,
                                              contents->types)) {
        return MPI_ERR_TYPE;
    }
    int rc = MPI_SUCCESS;
    for (int i = 0; MPI_SUCCESS == rc && i < contents->type_count; ++i) {
        rc = make_map(contents->types[i], &contents->children[i]);
    }
    if (MPI_SUCCESS == rc) {
        rc = flatten(contents, map);
    }
    for (int i = 0; i < contents->type_count; ++i) {
        drop_type(&contents->types[i]);
    }
    return rc;
}

static int flatten_derived(contents_t *contents, symm_typemap_t *map)
{
    int rc = allocate_contents(contents);
    if (MPI_SUCCESS == rc) {
        rc = flatten_contents(contents, map);
    }
    free_contents(contents);
    return rc;
}

/* ---- keeping maps ---- */

static void link_map(symm_typemap_t *map)
{
    (void) pthread_mutex_lock(&live_lock); /* fails only on misuse */
    map->prev = NULL;
    map->next = live;
    if (NULL != live) {
        live->prev = map;
    }
    live = map;
    (void) pthread_mutex_unlock(&live_lock);
}

static void unlink_map(symm_typemap_t *map)
{
    (void) pthread_mutex_lock(&live_lock); /* fails only on misuse */
    if (NULL != map->prev) {
        map->prev->next = map->next;
    } else {
        live = map->next;
    }
    if (NULL != map->next) {
        map->next->prev = map->prev;
    }
    (void) pthread_mutex_unlock(&live_lock);
}

static void free_map(symm_typemap_t *map)
{
    clear_lists(map);
    free(map);
}

/* MPI calls this when the datatype goes. */
static int forget(MPI_Datatype datatype, int key, void *value, void *extra)
{
    (void) datatype, (void) key, (void) extra;
    atomic_fetch_add(&generation, 1);
    unlink_map(value);
    free_map(value);
    return MPI_SUCCESS;
}

static const symm_typemap_t *find_named(MPI_Datatype datatype)
{
    named_map_t *entry = atomic_load_explicit(&named, memory_order_acquire);
    while (NULL != entry && datatype != entry->datatype) {
        entry = entry->next;
    }
    return NULL == entry ? NULL : &entry->map;
}

static const symm_typemap_t *find_attached(MPI_Datatype datatype)
{
    void *value = NULL;
    int found = 0;
    int key = atomic_load(&keyval);
    if (MPI_KEYVAL_INVALID == key ||
        MPI_SUCCESS != PMPI_Type_get_attr(datatype, key, &value, &found)) {
        return NULL;
    }
    return 0 != found ? value : NULL;
}

static const symm_typemap_t *find_map(MPI_Datatype datatype)
{
    const symm_typemap_t *map = find_attached(datatype);
    return NULL == map ? find_named(datatype) : map;
}

/* Adds a predefined datatype to the list. The caller holds `making`. */
static int make_named(const contents_t *contents, const symm_typemap_t **map_p)
{
    named_map_t *entry = calloc(1, sizeof(*entry));
    int rc = NULL == entry ? MPI_ERR_NO_MEM : flatten(contents, &entry->map);
    if (MPI_SUCCESS != rc) {
        if (NULL != entry) {
            clear_lists(&entry->map);
        }
        free(entry);
        return rc;
    }
    entry->datatype = contents->datatype;
    entry->next = atomic_load(&named);
    atomic_store_explicit(&named, entry, memory_order_release);
    *map_p = &entry->map;
    return MPI_SUCCESS;
}

/* Attaches a map to its datatype, which owns it from then on. The caller holds `making`. */
static int attach(MPI_Datatype datatype, symm_typemap_t *map)
{
    int key = atomic_load(&keyval);
    if (MPI_KEYVAL_INVALID == key) {
        if (MPI_SUCCESS != PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &key, NULL)) {
            return MPI_ERR_NO_MEM;
        }
        atomic_store(&keyval, key);
    }
    link_map(map);
    if (MPI_SUCCESS != PMPI_Type_set_attr(datatype, key, map)) {
        unlink_map(map);
        return MPI_ERR_NO_MEM;
    }
    return MPI_SUCCESS;
}

static int make_derived(contents_t *contents, const symm_typemap_t **map_p)
{
    symm_typemap_t *map = calloc(1, sizeof(*map));
    if (NULL == map) {
        return MPI_ERR_NO_MEM;
    }
    int rc = flatten_derived(contents, map);
    if (MPI_SUCCESS == rc) {
        rc = attach(contents->datatype, map);
    }
    if (MPI_SUCCESS != rc) {
        free_map(map);
        return rc;
    }
    *map_p = map;
    return MPI_SUCCESS;
}

/* The map of datatype, made unless it is there. The caller holds `making`. */
static int make_map(MPI_Datatype datatype, const symm_typemap_t **map_p)
{
    contents_t contents;
    *map_p = find_map(datatype);
    if (NULL != *map_p) {
        return MPI_SUCCESS;
    }
    int rc = read_combiner(datatype, &contents);
    if (MPI_SUCCESS != rc) {
        return rc;
    }
    return is_predefined(contents.combiner) ? make_named(&contents, map_p)
                                            : make_derived(&contents, map_p);
}

static size_t recent_place(MPI_Datatype datatype)
{
    return ((uintptr_t) datatype >> 6) % RECENT;
}

/* What the thread remembers of datatype, NULL for nothing. */
static const symm_typemap_t *recall(MPI_Datatype datatype)
{
    size_t place = recent_place(datatype);
    uint64_t now = atomic_load_explicit(&generation, memory_order_acquire);
    return now == recent.generation && datatype == recent.datatypes[place] ? recent.maps[place]
                                                                           : NULL;
}

static void remember(MPI_Datatype datatype, const symm_typemap_t *map)
{
    size_t place = recent_place(datatype);
    uint64_t now = atomic_load_explicit(&generation, memory_order_acquire);
    if (now != recent.generation) {
        recent = (recent_t){.generation = now};
    }
    recent.datatypes[place] = datatype;
    recent.maps[place] = map;
}

int symm_typemap_get(MPI_Datatype datatype, const symm_typemap_t **map_p)
{
    const symm_typemap_t *map = recall(datatype);
    if (NULL != map) {
        *map_p = map;
        return MPI_SUCCESS;
    }
    map = find_map(datatype);
    int rc = MPI_SUCCESS;
    if (NULL == map) {
        (void) pthread_mutex_lock(&making); /* fails only on misuse */
        rc = make_map(datatype, &map);
        (void) pthread_mutex_unlock(&making);
    }
    if (MPI_SUCCESS == rc) {
        remember(datatype, map);
        *map_p = map;
    } else {
        symm_log(SYMM_LOG_ERROR, "a datatype cannot be flattened: %s",
                 MPI_ERR_NO_MEM == rc ? "no memory" : "unknown kind");
    }
    return rc;
}

void symm_typemap_finalize(void)
{
    atomic_fetch_add(&generation, 1);
    while (NULL != live) {
        symm_typemap_t *map = live;
        live = map->next;
        free_map(map);
    }
    named_map_t *entry = atomic_exchange(&named, NULL);
    while (NULL != entry) {
        named_map_t *next = entry->next;
        clear_lists(&entry->map);
        free(entry);
        entry = next;
    }
    /* MPI is past the point where it would take the key back. */
    atomic_store(&keyval, MPI_KEYVAL_INVALID);
}

bool symm_typemap_bounds(const symm_typemap_t *map, size_t count, ptrdiff_t *begin_p,
                         ptrdiff_t *end_p)
{
    ptrdiff_t last = 0; /* where the last element is */
    *begin_p = 0;
    *end_p = 0;
    if (0 == count || 0 == map->size) {
        return true;
    }
    if (__builtin_mul_overflow(map->extent, count - 1, &last)) {
        return false;
    }
    return !__builtin_add_overflow(map->true_lb, 0 > last ? last : 0, begin_p) &&
           !__builtin_add_overflow(map->true_ub, 0 < last ? last : 0, end_p);
}
