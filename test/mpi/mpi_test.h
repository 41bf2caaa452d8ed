/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What the MPI tests share: a report that all ranks agree on, checks that do not end the program,
 * memory of every kind behind one pair of copy functions, patterns, and windows that are certainly
 * ours. The same program runs on host memory and on GPUs; SYMM_TEST_KIND ("system", the default, or
 * "cuda:device") says on which. Where window memory is on a GPU no test may load or store through a
 * pointer to it: mt_write(), mt_read() and what is built on them do the work on both.
 *
 * A program reads:
 *
 *     static void one_property(void) { ... CHECK(...) ... }
 *     int main(int argc, char **argv)
 *     {
 *         mt_init(&argc, &argv, "program");
 *         MT_RUN(one_property);
 *         return mt_finish();
 *     }
 */
#ifndef MPI_TEST_H
#define MPI_TEST_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_symm.h"

/* ---- the run (mpi_test.c) ---- */

extern int mt_rank, mt_size; /* in MPI_COMM_WORLD */
extern symm_kind_t mt_kind;  /* of window memory */
extern MPI_Comm mt_comm;     /* of the harness, for messages only: a duplicate of the world */

/* Starts MPI with errors returned on MPI_COMM_WORLD and MPI_COMM_SELF; `name` is the program's.
 * Ends the program with status 77 on all ranks when the kind asked for cannot be had here. */
void mt_init(int *argc, char ***argv, const char *name);

/* The same with MPI_THREAD_MULTIPLE; skips where that is not provided. */
void mt_init_threads(int *argc, char ***argv, const char *name);

/* Sets an MCA parameter for this process; call it before mt_init(). */
void mt_set_param(const char *name, const char *value);

/* Runs one test function on all ranks and agrees on its outcome. */
void mt_run(const char *test, void (*function)(void));
#define MT_RUN(function) mt_run(#function, function)

/* Ends MPI and says PASS or FAIL. Returns the exit status, the same on all ranks. */
int mt_finish(void);

/* Ends the program at once as skipped; all ranks call it. */
void mt_skip(const char *reason) __attribute__((noreturn));

/* Prints a line on rank 0, as for a part that is left out. */
void mt_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether there are at least that many ranks; notes that the running test is left out otherwise. */
bool mt_needs_ranks(int ranks);

/* ---- checks: each returns whether it holds, counts, and goes on. The first few failures are
 * printed with place, rank and context. Any thread. ---- */

bool mt_check(const char *file, int line, bool holds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool mt_check_int(const char *file, int line, const char *what, long long expected, long long got);
/* An MPI return code of the class `expected`. */
bool mt_check_class(const char *file, int line, const char *call, int expected, int code);

#define CHECK(condition)          mt_check(__FILE__, __LINE__, (condition), "%s", #condition)
#define CHECK_MSG(condition, ...) mt_check(__FILE__, __LINE__, (condition), __VA_ARGS__)
#define CHECK_INT(expected, got)                                                                   \
    mt_check_int(__FILE__, __LINE__, #got, (long long) (expected), (long long) (got))
#define CHECK_OK(call)              mt_check_class(__FILE__, __LINE__, #call, MPI_SUCCESS, (call))
#define CHECK_CLASS(expected, call) mt_check_class(__FILE__, __LINE__, #call, (expected), (call))

/* Says what the thread is at, for failures to come: "put of 8 bytes to rank 1". */
void mt_context(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether `mine` holds on all ranks of mt_comm: to leave a test together. Collective. */
bool mt_all(bool mine);

/* Whether a check has failed, on any rank, in the test that runs. Collective. */
bool mt_failed(void);

/* Checks that value is the same on all ranks of mt_comm. Collective. */
bool mt_check_same(const char *file, int line, const char *what, long long value);
#define CHECK_SAME(value) mt_check_same(__FILE__, __LINE__, #value, (long long) (value))

/* MPI's class of an error code. */
int mt_class(int code);

/* A barrier on mt_comm. */
void mt_barrier(void);

void mt_sleep_ms(unsigned ms);

/* Pseudo-random numbers; *state is the seed at first. Alike on all ranks for the same seed. */
uint64_t mt_random(uint64_t *state);

/* ---- memory (mpi_test_memory.c) ---- */

typedef enum mt_memory {
    MT_HOST,   /* malloc */
    MT_PINNED, /* cuMemHostAlloc */
    MT_DEVICE, /* cuMemAlloc */
    MT_MEMORY_COUNT,
} mt_memory_t;

const char *mt_memory_name(mt_memory_t memory);

/* Whether this machine has that kind of memory, whatever the windows' kind. Loads the driver. */
bool mt_has_memory(mt_memory_t memory);

/* For mt_init(): NULL when windows of this kind can be made here, else why not. */
const char *mt_memory_missing(symm_kind_t kind);

/* Gives a new thread the GPU of this rank. */
void mt_enter_thread(void);

void *mt_alloc(mt_memory_t memory, size_t len);
void mt_free(mt_memory_t memory, void *ptr);

/* GPU memory of virtual memory management, of len bytes rounded up to *whole_p; with a handle that
 * can be passed to other processes, or without. Only where there is MT_DEVICE. */
void *mt_vmm_alloc(size_t len, bool shareable, size_t *whole_p);
void mt_vmm_free(void *ptr, size_t whole);

/* Copy between ordinary host memory and any memory, done when they return. */
void mt_write(void *dst, const void *host, size_t len);
void mt_read(void *host, const void *src, size_t len);

/* Bytes that depend on the seed and on their place. A seed made of owner and round makes data that
 * nobody else wrote at any other time. */
uint64_t mt_seed(int owner, uint64_t round);
void mt_pattern(void *host, size_t len, uint64_t seed);
void mt_fill(void *dst, size_t len, uint64_t seed);
void mt_poison(void *dst, size_t len);

/* Check that len bytes at src, any memory, are the pattern or the poison; the first byte that
 * differs is told. */
bool mt_check_pattern(const char *file, int line, const void *src, size_t len, uint64_t seed);
bool mt_check_poison(const char *file, int line, const void *src, size_t len);
#define CHECK_PATTERN(src, len, seed) mt_check_pattern(__FILE__, __LINE__, (src), (len), (seed))
#define CHECK_POISON(src, len)        mt_check_poison(__FILE__, __LINE__, (src), (len))

/* Bytes of poison that tests keep on either side of what is written. */
#define MT_GUARD ((size_t) 64)

/* ---- windows and collectives that are certainly ours (mpi_test.c) ---- */

typedef struct mt_win {
    MPI_Win win;
    char *base;
    size_t size; /* bytes, as asked for */
    int disp_unit;
} mt_win_t;

/* A new info with the kind of this run, which is required. The caller frees it. */
MPI_Info mt_info(void);

/* Create a window of mt_kind with errors returned, and check that our component made it. Collective
 * over comm. Return false, on all ranks, when there is no window. */
bool mt_allocate(size_t size, int disp_unit, MPI_Comm comm, mt_win_t *w_p);
bool mt_allocate_shared(size_t size, int disp_unit, bool noncontig, MPI_Comm comm, mt_win_t *w_p);

void mt_win_free(mt_win_t *w);

/* Checks that win is a live window of mt_kind made by our component. */
bool mt_check_ours(const char *file, int line, MPI_Win win);
#define CHECK_OURS(win) mt_check_ours(__FILE__, __LINE__, (win))

/* The address of rank's memory in this process; checks that there is one. */
char *mt_peer(const mt_win_t *w, int rank);

symm_stats_t mt_stats(void);

/* Check how the one collective since *before was done: served on symmetric memory by a plan whose
 * name begins with `family` (any when NULL), or passed to the next component. */
bool mt_check_served(const char *file, int line, const symm_stats_t *before, const char *family);
bool mt_check_passed(const char *file, int line, const symm_stats_t *before);
#define CHECK_SERVED(before, family) mt_check_served(__FILE__, __LINE__, (before), (family))
#define CHECK_PASSED(before)         mt_check_passed(__FILE__, __LINE__, (before))

/* Has nonblocking calls on MPI_COMM_WORLD find scratch: one that misses it goes by way of the host,
 * and the blocking call behind it makes it. Checks that it is so. There must be MT_DEVICE, a window
 * on the communicator and more than one rank, and no such call before. */
void mt_provide_scratch(void);

/* ---- what this process holds (mpi_test_resources.c) ---- */

typedef struct mt_resources {
    long fds;              /* open descriptors */
    long maps;             /* mappings */
    long symm_maps;        /* mappings of our shared memory */
    uint64_t symm_bytes;   /* and their bytes */
    long resident_kib;     /* resident set */
    uint64_t bytes_mapped; /* by our own count */
} mt_resources_t;

mt_resources_t mt_resources(void);

/* Checks that nothing leaked since *before: descriptors, our mappings and our count are the same,
 * and other mappings, which malloc makes too, grew by `slack` at most. */
bool mt_check_resources(const char *file, int line, const mt_resources_t *before, long slack);
#define CHECK_RESOURCES(before, slack) mt_check_resources(__FILE__, __LINE__, (before), (slack))

#endif
