/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Ranks made of threads, for tests of the code behind symm_exchange_t: one process, so that what it
 * holds can be counted when all ranks are done. Include it in one source of a test, after cmocka.h.
 */
#ifndef THREAD_RANKS_H
#define THREAD_RANKS_H

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "symm_exchange.h"

#define RANKS 4

static pthread_barrier_t ranks_meeting;
static unsigned char ranks_table[RANKS * SYMM_EXCHANGE_RECORD_MAX];
static int ranks_broken = -1; /* the rank whose communicator fails */

static int ranks_gather(const symm_exchange_t *exchange, const void *send, void *recv, size_t len)
{
    memcpy(ranks_table + (size_t) exchange->rank * len, send, len);
    (void) pthread_barrier_wait(&ranks_meeting);
    memcpy(recv, ranks_table, (size_t) exchange->size * len);
    (void) pthread_barrier_wait(&ranks_meeting);
    return exchange->rank == ranks_broken ? MPI_ERR_COMM : MPI_SUCCESS;
}

static void ranks_begin(symm_exchange_t exchanges[RANKS])
{
    ranks_broken = -1;
    assert_int_equal(pthread_barrier_init(&ranks_meeting, NULL, RANKS), 0);
    for (int r = 0; r < RANKS; ++r) {
        exchanges[r] = (symm_exchange_t){
            .rank = r,
            .size = RANKS,
            .codes = calloc(RANKS, sizeof(*exchanges[r].codes)),
            .scratch = malloc(RANKS * SYMM_EXCHANGE_RECORD_MAX),
            .received = calloc(RANKS, sizeof(*exchanges[r].received)),
            .allgather = ranks_gather,
        };
    }
}

static void ranks_end(symm_exchange_t exchanges[RANKS])
{
    for (int r = 0; r < RANKS; ++r) {
        free(exchanges[r].codes);
        free(exchanges[r].scratch);
        free(exchanges[r].received);
    }
    assert_int_equal(pthread_barrier_destroy(&ranks_meeting), 0);
}

/* Runs function in a thread for each rank, on element rank of an array of elements of that size. */
static void ranks_run(void *(*function)(void *), void *array, size_t element)
{
    pthread_t threads[RANKS];
    for (int r = 0; r < RANKS; ++r) {
        void *argument = (char *) array + (size_t) r * element;
        assert_int_equal(pthread_create(&threads[r], NULL, function, argument), 0);
    }
    for (int r = 0; r < RANKS; ++r) {
        assert_int_equal(pthread_join(threads[r], NULL), 0);
    }
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (NULL != readdir(dir)) {
        ++count;
    }
    (void) closedir(dir);
    return count;
}

#endif
