/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Waiting for another rank: spin briefly, then drive MPI progress, then give up the core. Every
 * wait of this library goes through here, so none of them can stall a peer that needs our progress.
 */
#ifndef SYMM_SPIN_H
#define SYMM_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi_symm.h"

typedef struct symm_spin {
    uint32_t rounds;
} symm_spin_t;

#define SYMM_SPIN_INIT                                                                             \
    {                                                                                              \
        0                                                                                          \
    }

/* Sets what one step of progress is (the components pass opal_progress) and how many ranks share
 * this host: with more ranks than cores a waiting rank yields at once. Not thread-safe; called once
 * per component at start. progress may be NULL (tests without MPI). */
SYMM_EXPORT void symm_spin_configure(void (*progress)(void));

/* Tells how many ranks run on this host, to compare with the cores this process may use. */
SYMM_EXPORT void symm_spin_set_local_ranks(int ranks);

/* The slow part of symm_spin_once(); call that instead. */
SYMM_EXPORT void symm_spin_slow(symm_spin_t *spin);

SYMM_EXPORT extern uint32_t symm_spin_limit;

/* Looks at the condition before the first pause. */
#define SYMM_SPIN_EAGER 16

static inline void symm_spin_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#endif
}

/* Asks for the cache line at address, to be written soon. gcc's builtin does not ask for the right
 * to write on x86, unless told that the processor is not among the oldest, which take this for
 * nothing.
 */
static inline void symm_prefetch_to_write(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *) address));
#else
    __builtin_prefetch(address, 1);
#endif
}

/* One step of waiting; call it between two looks at the awaited condition. */
static inline void symm_spin_once(symm_spin_t *spin)
{
    if (spin->rounds < symm_spin_limit) {
        /* A pause can take 50 ns: not while the answer may be a cache line's way off. */
        if (++spin->rounds > SYMM_SPIN_EAGER) {
            symm_spin_relax();
        }
    } else {
        symm_spin_slow(spin);
    }
}

#endif
