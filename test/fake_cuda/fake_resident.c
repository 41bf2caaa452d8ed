/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * The resident kernel: a stream's thread that polls for commands, a little late, until it has had
 * none for as long as its parameters say or is asked to end. */
#include "symm_config.h"

#include "fake_kernel.h"

#include "fake_context.h"
#include "fake_report.h"
#include "fake_space.h"
#include "fake_stream.h"
#include "symm_reduce_params.h"
#include "symm_resident.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* The kernel's life, and the words that it shares with the host. */
typedef struct life {
    const fake_run_t *run;
    const symm_resident_params_t *params;
    _Atomic uint64_t *command;
    symm_done_state_t *state;
    _Atomic uint32_t *done;
    _Atomic uint32_t *ended;
    uint32_t latest;
    uint64_t idle_end, lifetime_end;
    unsigned seed;
} life_t;

/* Data words of a command, taken out of memory. */
typedef uint32_t data_t[SYMM_RESIDENT_WORDS];

static const fake_kernel_t kernels[] = {{SYMM_RESIDENT_KERNEL, &fake_family_resident, 0, 0}};

static CUresult check_resident(const void *bytes)
{
    const symm_resident_params_t *params = bytes;
    if (NULL == params->command || NULL == params->done.flag || NULL == params->done.state ||
        NULL == params->ended || 0 == params->life || 0 == params->lifetime_ns ||
        0 != (uintptr_t) params->command % 16) {
        return fake_misuse(CUDA_ERROR_INVALID_VALUE, "a resident kernel without a word of its own");
    }
    return CUDA_SUCCESS;
}

static uint64_t nanoseconds(void)
{
    struct timespec t;
    (void) clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail with this clock */
    return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

static void *address_in(const uint32_t *data)
{
    return (void *) (uintptr_t) ((uint64_t) data[1] << 32 | data[0]);
}

/* Has a kernel's twin do it, with its checks. */
static bool run_as(const life_t *life, const fake_kernel_t *kernel, const void *params, size_t len,
                   unsigned blocks)
{
    fake_launch_t launch = {.kernel = kernel, .grid = {blocks, 1, 1}};
    fake_run_t run = {life->run->context, &launch};
    memcpy(&launch.params, params, len);
    return CUDA_SUCCESS == kernel->family->check(params) && kernel->family->run(&run);
}

static bool do_reduce(const life_t *life, const uint32_t *data)
{
    uint32_t nsrc = SYMM_RESIDENT_GET_SOURCES(data[0]);
    uint32_t ndst = SYMM_RESIDENT_GET_NDST(data[1]);
    const uint32_t *address = data + SYMM_RESIDENT_HEADER;
    symm_reduce_params_t params = {
        .count = SYMM_RESIDENT_GET_COUNT(data[1]), .nsrc = nsrc, .ndst = ndst};
    fake_kernel_t kernel = {"symm_resident", &fake_family_reduce, SYMM_RESIDENT_GET_OP(data[0]),
                            SYMM_RESIDENT_GET_DTYPE(data[0])};
    for (uint32_t i = 0; i < nsrc; ++i) {
        params.src[i] = address_in(address + 2 * (size_t) i);
    }
    for (uint32_t i = 0; i < ndst; ++i) {
        params.dst[i] = address_in(address + 2 * (size_t) (nsrc + i));
    }
    if (symm_dtype_size((symm_dtype_t) kernel.dtype) != SYMM_RESIDENT_GET_SIZE(data[1])) {
        (void) fake_misuse(CUDA_SUCCESS, "a command with elements of %u bytes",
                           SYMM_RESIDENT_GET_SIZE(data[1]));
    }
    return run_as(life, &kernel, &params, sizeof(params), 1);
}

static bool do_moves(const life_t *life, const uint32_t *data)
{
    symm_move_params_t params = {.count = SYMM_RESIDENT_GET_SOURCES(data[0]), .blocks_per_move = 1};
    fake_kernel_t kernel = {"symm_resident", &fake_family_move, 0, 0};
    for (uint32_t i = 0; i < params.count; ++i) {
        const uint32_t *at = data + SYMM_RESIDENT_HEADER + SYMM_RESIDENT_MOVE_WORDS * (size_t) i;
        params.moves[i] = (symm_move_t){address_in(at), address_in(at + 2), at[4]};
    }
    return run_as(life, &kernel, &params, sizeof(params), params.count);
}

/* Whether memory holds a whole command that is not done; takes it if so. */
static bool see_command(const life_t *life, data_t data, uint32_t *number_p)
{
    uint64_t first = atomic_load_explicit(&life->command[0], memory_order_acquire);
    uint32_t number = SYMM_RESIDENT_GET_NUMBER(first);
    uint32_t words = SYMM_RESIDENT_GET_WORDS(SYMM_RESIDENT_GET_DATA(first));
    for (uint32_t i = 0; i < words; ++i) {
        uint64_t word = atomic_load_explicit(&life->command[i], memory_order_acquire);
        data[i] = SYMM_RESIDENT_GET_DATA(word);
        if (number != SYMM_RESIDENT_GET_NUMBER(word)) {
            return false;
        }
    }
    *number_p = number;
    return number != life->latest;
}

static bool is_asked_to_end(const life_t *life)
{
    return life->params->life ==
           SYMM_RESIDENT_GET_DATA(atomic_load(&life->command[SYMM_RESIDENT_END]));
}

/* Finds the words again, as memory may have come and gone since the last look. */
static bool find_words(life_t *life)
{
    const symm_resident_params_t *p = life->params;
    life->command = fake_kernel_touch(life->run, "command", 0, p->command,
                                      SYMM_RESIDENT_WORDS * sizeof(uint64_t), false);
    life->state =
        fake_kernel_touch(life->run, "counters", 0, p->done.state, sizeof(*life->state), true);
    life->done = fake_kernel_touch(life->run, "done word", 0, p->done.flag, sizeof(uint32_t), true);
    life->ended = fake_kernel_touch(life->run, "end word", 0, p->ended, sizeof(uint32_t), true);
    return NULL != life->command && NULL != life->state && NULL != life->done &&
           NULL != life->ended;
}

/* Looks once, doing what it finds; memory does not change meanwhile. Returns whether the kernel
 * goes on. */
static bool look(life_t *life)
{
    data_t data;
    uint32_t number;
    if (!find_words(life)) {
        return false;
    }
    if (see_command(life, data, &number)) {
        bool moves = SYMM_RESIDENT_MOVE == SYMM_RESIDENT_GET_OP(data[0]);
        if (!(moves ? do_moves(life, data) : do_reduce(life, data))) {
            return false;
        }
        if (0 != life->state->blocks) {
            (void) fake_misuse(CUDA_SUCCESS, "a resident kernel's command while another kernel of "
                                             "its queue runs");
        }
        life->latest = number;
        life->state->launches = number;
        life->idle_end = nanoseconds() + life->params->idle_ns;
        atomic_store_explicit(life->done, number, memory_order_release);
        return true;
    }
    uint64_t now = nanoseconds();
    if (!is_asked_to_end(life) && now < life->idle_end && now < life->lifetime_end) {
        return true;
    }
    atomic_store_explicit(life->ended, life->params->life, memory_order_release);
    return false;
}

static void stay(const fake_run_t *run)
{
    const symm_resident_params_t *params = (const symm_resident_params_t *) &run->launch->params;
    uint64_t now = nanoseconds();
    life_t life = {.run = run,
                   .params = params,
                   .latest = params->latest,
                   .idle_end = now + params->idle_ns,
                   .lifetime_end = now + params->lifetime_ns,
                   .seed = params->life};
    bool goes_on = true;
    while (goes_on && CUDA_SUCCESS == fake_context_sticky(run->context)) {
        fake_space_read();
        goes_on = look(&life);
        fake_space_unlock();
        fake_delay(&life.seed);
    }
}

const fake_family_t fake_family_resident = {
    .kernels = kernels,
    .count = sizeof(kernels) / sizeof(kernels[0]),
    .params_len = sizeof(symm_resident_params_t),
    .threads = SYMM_RESIDENT_THREADS,
    .check = check_resident,
    .stay = stay,
};
