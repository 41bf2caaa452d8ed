/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Dynamic windows: attaching and detaching regions, and finding them at an operation.
 *
 * NOTE GPU memory. Who first accesses it maps the whole allocation and keeps that. When its owner
 * has detached all regions in it, the others end their mappings at their next look at another piece
 * of that owner's, or with the window: detaching is a local call, which cannot wait for them. */
#include "symm_config.h"

#include "osc_symm.h"

#include "osc_symm_own.h"
#include "symm_log.h"

#include <stdlib.h>

static size_t max_attached(void)
{
    int most = mca_osc_symm_component.max_attached;
    return 0 < most ? (size_t) most : 0;
}

size_t ompi_osc_symm_dynamic_bytes(void)
{
    return ompi_osc_symm_own_gpu_pieces_bytes() + symm_regions_len(max_attached());
}

/* ---- the owner's side ---- */

/* Finds out how others can have the GPU memory of region, and what piece it is part of. Returns
 * whether they can. */
static bool describe_piece(const osc_symm_own_t *own, const symm_region_t *region,
                           osc_symm_gpu_piece_t *piece)
{
    symm_error_t error = {0};
    int no_fd;
    const void *base = (const void *) (uintptr_t) region->start;
    symm_window_place_t place = symm_window_locate(base, (size_t) region->len);
    piece->identity = place.identity;
    piece->start = region->start - place.offset;
    if (0 != place.identity) {
        return true;
    }
    if (MPI_SUCCESS != own->gpu_ops->offer(own->device, base, (size_t) region->len, false,
                                           &piece->offer, &no_fd, &error)) {
        symm_log(SYMM_LOG_INFO, "MPI_Win_attach: copying for others: %s", error.text);
        return false;
    }
    piece->start = region->start - piece->offer.offset;
    return true;
}

static osc_symm_gpu_piece_t *piece_of_tag(const ompi_osc_symm_module_t *module, int rank,
                                          uint64_t tag)
{
    osc_symm_gpu_piece_t *pieces = ompi_osc_symm_own_gpu_pieces(module, rank);
    for (int i = 0; i < OSC_SYMM_GPU_PIECES; ++i) {
        if (tag == atomic_load_explicit(&pieces[i].tag, memory_order_acquire)) {
            return &pieces[i];
        }
    }
    return NULL;
}

/* This rank's entry of a piece that has regions attached already, NULL when it has none. */
static osc_symm_gpu_piece_t *same_piece(const ompi_osc_symm_module_t *module,
                                        const osc_symm_gpu_piece_t *wanted)
{
    osc_symm_gpu_piece_t *pieces = ompi_osc_symm_own_gpu_pieces(module, module->window->rank);
    for (int i = 0; i < OSC_SYMM_GPU_PIECES; ++i) {
        if (0 != pieces[i].tag && pieces[i].start == wanted->start &&
            pieces[i].identity == wanted->identity) {
            return &pieces[i];
        }
    }
    return NULL;
}

/* Gives a region of GPU memory the tag of its piece. Under the lock. */
static int enter_piece(ompi_osc_symm_module_t *module, symm_region_t *region)
{
    osc_symm_gpu_piece_t wanted = {.tag = 0};
    if (NULL == module->own->device) {
        symm_log(SYMM_LOG_ERROR,
                 "MPI_Win_attach: the window was made for host memory; create it while all ranks "
                 "use a GPU, or with the info key %s",
                 SYMM_INFO_MEMORY_KIND);
        return MPI_ERR_RMA_ATTACH;
    }
    if (!describe_piece(module->own, region, &wanted)) {
        region->tag = OSC_SYMM_OWNERS_TAG;
        return MPI_SUCCESS;
    }
    osc_symm_gpu_piece_t *piece = same_piece(module, &wanted);
    if (NULL == piece) {
        piece = piece_of_tag(module, module->window->rank, 0);
        if (NULL == piece) {
            symm_log(SYMM_LOG_ERROR, "MPI_Win_attach: regions of more than %d pieces of GPU memory",
                     OSC_SYMM_GPU_PIECES);
            return MPI_ERR_RMA_ATTACH;
        }
        piece->start = wanted.start;
        piece->regions = 0;
        piece->identity = wanted.identity;
        piece->offer = wanted.offer;
        atomic_store_explicit(&piece->tag, ++module->own->next_tag, memory_order_release);
    }
    ++piece->regions;
    region->tag = piece->tag;
    return MPI_SUCCESS;
}

static void leave_piece(const ompi_osc_symm_module_t *module, uint64_t tag)
{
    osc_symm_gpu_piece_t *piece = 0 == tag ? NULL : piece_of_tag(module, module->window->rank, tag);
    if (NULL != piece && 0 == --piece->regions) {
        atomic_store_explicit(&piece->tag, 0, memory_order_release);
    }
}

/* Under the lock. */
static int attach(ompi_osc_symm_module_t *module, symm_region_t *region)
{
    int rc = MPI_SUCCESS;
    if (0 < region->len &&
        SYMM_POINTER_DEVICE == symm_pointer_kind((const void *) (uintptr_t) region->start)) {
        rc = enter_piece(module, region);
    }
    if (MPI_SUCCESS == rc) {
        rc = symm_regions_add(ompi_osc_symm_own_regions(module, module->window->rank),
                              module->own->capacity, region);
    }
    if (MPI_SUCCESS != rc) {
        leave_piece(module, region->tag);
    }
    return rc;
}

int ompi_osc_symm_attach(ompi_win_t *win, void *base, size_t len)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    symm_region_t region = {.start = (uintptr_t) base, .len = len};
    if (!module->dynamic) {
        return MPI_ERR_RMA_FLAVOR;
    }
    if (len > PTRDIFF_MAX || (uintptr_t) base + len < (uintptr_t) base) {
        return MPI_ERR_SIZE;
    }
    OPAL_THREAD_LOCK(&module->lock);
    int rc = attach(module, &region);
    OPAL_THREAD_UNLOCK(&module->lock);
    return rc;
}

int ompi_osc_symm_detach(ompi_win_t *win, const void *base)
{
    ompi_osc_symm_module_t *module = ompi_osc_symm_module_of(win);
    symm_region_t region;
    if (!module->dynamic) {
        return MPI_ERR_RMA_FLAVOR;
    }
    OPAL_THREAD_LOCK(&module->lock);
    bool found =
        symm_regions_remove(ompi_osc_symm_own_regions(module, module->window->rank), base, &region);
    if (found) {
        leave_piece(module, region.tag);
    }
    OPAL_THREAD_UNLOCK(&module->lock);
    return found ? MPI_SUCCESS : MPI_ERR_ARG;
}

/* ---- the origin's side ---- */

static void forget(const osc_symm_own_t *own, osc_symm_found_piece_t *found)
{
    if (SYMM_OFFER_NONE != found->adopted.kind) {
        own->gpu_ops->abandon(own->device, &found->adopted);
    }
    free(found);
}

void ompi_osc_symm_dynamic_forget(ompi_osc_symm_module_t *module)
{
    osc_symm_own_t *own = module->own;
    while (NULL != own->found) {
        osc_symm_found_piece_t *found = own->found;
        own->found = found->next;
        forget(own, found);
    }
}

/* Ends the mappings of pieces that target has detached. Nothing may be under way on them, as the
 * program must not detach what is still accessed. Under the lock. */
static void forget_detached(ompi_osc_symm_module_t *module, int target)
{
    osc_symm_found_piece_t **link = &module->own->found;
    while (NULL != *link) {
        osc_symm_found_piece_t *found = *link;
        if (found->target == target && NULL == piece_of_tag(module, target, found->tag)) {
            *link = found->next;
            forget(module->own, found);
        } else {
            link = &found->next;
        }
    }
}

/* Maps a piece of target's GPU memory. */
static int map_piece(ompi_osc_symm_module_t *module, osc_symm_found_piece_t *found)
{
    symm_error_t error = {0};
    const osc_symm_own_t *own = module->own;
    const osc_symm_gpu_piece_t *piece = piece_of_tag(module, found->target, found->tag);
    if (NULL == piece || NULL == own->device) {
        return MPI_ERR_RMA_RANGE; /* detached a moment ago */
    }
    symm_window_place_t place = {.identity = piece->identity};
    found->start = piece->start;
    found->address = symm_window_resolve(&place);
    if (NULL == found->address && 0 != piece->identity) {
        (void) symm_error_set(&error, MPI_ERR_UNSUPPORTED_OPERATION,
                              "it lies in a symmetric window that this rank does not have");
    } else if (NULL == found->address &&
               MPI_SUCCESS ==
                   own->gpu_ops->adopt(own->device, &piece->offer, -1, &found->adopted, &error)) {
        found->address = found->adopted.base;
    }
    if (MPI_SUCCESS != error.code) {
        symm_log(SYMM_LOG_ERROR, "GPU memory that rank %d has attached: %s", found->target,
                 error.text);
    }
    return error.code;
}

/* Finds target's piece of that tag among those mapped, or maps it. Under the lock. */
static int find_piece(ompi_osc_symm_module_t *module, int target, uint64_t tag,
                      const osc_symm_found_piece_t **found_p)
{
    osc_symm_own_t *own = module->own;
    for (const osc_symm_found_piece_t *f = own->found; NULL != f; f = f->next) {
        if (f->target == target && f->tag == tag) {
            *found_p = f;
            return MPI_SUCCESS;
        }
    }
    forget_detached(module, target);
    osc_symm_found_piece_t *found = calloc(1, sizeof(*found));
    if (NULL == found) {
        return MPI_ERR_NO_MEM;
    }
    found->target = target;
    found->tag = tag;
    int rc = map_piece(module, found);
    if (MPI_SUCCESS != rc) {
        free(found);
        return rc;
    }
    found->next = own->found;
    own->found = found;
    *found_p = found;
    return MPI_SUCCESS;
}

/* The place at address start of target's GPU memory, in the piece of that tag. Not all ranks need
 * have atomics on each other's memory that is yet to be attached, so updates take turns. */
static int locate_on_gpu(ompi_osc_symm_module_t *module, int target, uint64_t start, uint64_t tag,
                         osc_symm_place_t *place_p)
{
    const osc_symm_found_piece_t *found = NULL;
    int rc = MPI_SUCCESS;
    bool mapped = target == module->window->rank || OSC_SYMM_OWNERS_TAG != tag;
    *place_p = (osc_symm_place_t){(char *) (uintptr_t) start, target,
                                  mapped ? OSC_SYMM_REACH_MAPPED : OSC_SYMM_REACH_OWNER,
                                  SYMM_KIND_CUDA_DEVICE, module->targets[target].locked};
    if (mapped && target != module->window->rank) {
        OPAL_THREAD_LOCK(&module->lock);
        rc = find_piece(module, target, tag, &found);
        if (MPI_SUCCESS == rc) {
            place_p->address = found->address + (start - found->start);
        }
        OPAL_THREAD_UNLOCK(&module->lock);
    }
    return rc;
}

int ompi_osc_symm_locate_region(ompi_osc_symm_module_t *module, int target, ptrdiff_t disp,
                                ptrdiff_t offset, size_t len, osc_symm_place_t *place_p)
{
    const osc_symm_target_t *memory = &module->targets[target];
    uint64_t start = (uint64_t) disp + (uint64_t) offset; /* an address, which may look negative */
    symm_region_t region = {0};
    if (0 < len &&
        !symm_regions_find(ompi_osc_symm_own_regions(module, target), start, len, &region)) {
        return MPI_ERR_RMA_RANGE;
    }
    if (0 != region.tag) {
        return locate_on_gpu(module, target, start, region.tag, place_p);
    }
    *place_p = (osc_symm_place_t){(char *) (uintptr_t) start, target, memory->reach, memory->kind,
                                  memory->locked};
    return MPI_SUCCESS;
}
