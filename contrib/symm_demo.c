/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Symmetric memory in a standard MPI program: a window of GPU memory where there are GPUs, of host
 * memory elsewhere, filled with MPI_Put, used by MPI_Allreduce and MPI_Allgather, read with
 * MPI_Get. Only the plan texts and the kind of the window need mpi_symm.h; the rest is MPI. Run it
 * as
 *
 *     mpirun -np 2 --mca osc symm symm_demo */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_symm.h"

#define BYTES_MIN ((size_t) 8)
#define BYTES_MAX ((size_t) 64 << 20) /* of a result */
#define OUTPUT_AT BYTES_MAX           /* bytes from the start of the window: an input comes first */
#define FACTOR    8
#define CALLS_MAX 21

typedef enum collective { ALLREDUCE, ALLGATHER } collective_t;

typedef struct demo {
    int rank, size;
    MPI_Win window;
    char *memory; /* where this rank's part of it lies: on the GPU or in host memory */
    float *host;  /* as large as an output; to fill from and to read to */
    unsigned long long checked, wrong;
} demo_t;

/* Whether this rank sees a GPU. Asks the driver, if there is one, and needs no CUDA to be built. */
static int sees_gpu(void)
{
    int count = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (NULL == driver) {
        return 0;
    }
    int (*init)(unsigned) = (int (*)(unsigned)) dlsym(driver, "cuInit");
    int (*get_count)(int *) = (int (*)(int *)) dlsym(driver, "cuDeviceGetCount");
    return NULL != init && NULL != get_count && 0 == init(0) && 0 == get_count(&count) && 0 < count;
}

static int on_all_ranks(int mine)
{
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return mine;
}

/* Allocates the window in memory of that kind. With "symm_required" there is an error, the same on
 * all ranks, rather than an ordinary window when it cannot be had. Returns an error class. */
static int allocate(demo_t *demo, const char *kind)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "symm_memory_kind", kind);
    MPI_Info_set(info, "symm_required", "true");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    size_t output = BYTES_MAX + (size_t) demo->size * sizeof(float);
    int rc = MPI_Win_allocate((MPI_Aint) (BYTES_MAX + output), 1, info, MPI_COMM_WORLD,
                              &demo->memory, &demo->window);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Info_free(&info);
    return rc;
}

/* Gets the window and tells what it is. Returns 0 when there is no symmetric window. */
static int open_window(demo_t *demo)
{
    symm_window_info_t info;
    int gpus = on_all_ranks(sees_gpu());
    int rc = gpus ? allocate(demo, "cuda:device") : MPI_ERR_OTHER;
    const char *why = MPI_SUCCESS == rc ? "since every rank sees a GPU"
                      : gpus            ? "since the GPUs could not be used, see above"
                                        : "since not every rank sees a GPU";
    if (MPI_SUCCESS != rc) {
        rc = allocate(demo, "system");
    }
    /* Without osc/symm MPI ignores the info keys: ask whether the window is ours. */
    int symmetric = MPI_SUCCESS == rc && MPI_SUCCESS == symm_window_query(demo->window, &info);
    if (symmetric && 0 == demo->rank) {
        printf("ranks: %d; symmetric window of %s memory (%s), %s\n", demo->size,
               SYMM_KIND_SYSTEM == info.kind ? "host" : "GPU", symm_kind_name(info.kind), why);
    } else if (0 == demo->rank) {
        fprintf(stderr, "no symmetric window; use --mca osc symm, and let "
                        "OMPI_MCA_mca_base_component_path name the folder of the plug-ins\n");
    }
    return symmetric;
}

/* Copies host memory into this rank's part of the window, at bytes from its start. The same call
 * would reach the other ranks. */
static void fill(const demo_t *demo, size_t at, const void *host, size_t bytes)
{
    MPI_Put(host, (int) bytes, MPI_BYTE, demo->rank, (MPI_Aint) at, (int) bytes, MPI_BYTE,
            demo->window);
    MPI_Win_flush(demo->rank, demo->window);
}

static void read_back(const demo_t *demo, size_t at, void *host, size_t bytes)
{
    MPI_Get(host, (int) bytes, MPI_BYTE, demo->rank, (MPI_Aint) at, (int) bytes, MPI_BYTE,
            demo->window);
    MPI_Win_flush(demo->rank, demo->window);
}

/* Element i of rank's input: whole numbers, whose sums are exact. */
static float input(int rank, size_t i)
{
    return (float) ((i * 7 + (size_t) rank * 13) % 1021);
}

/* Element i of the result, computed without any communication; count elements are an input. */
static float expected(const demo_t *demo, collective_t collective, size_t count, size_t i)
{
    float sum = 0;
    if (ALLGATHER == collective) {
        return input((int) (i / count), i % count);
    }
    for (int r = 0; r < demo->size; ++r) {
        sum += input(r, i);
    }
    return sum;
}

static void prepare(const demo_t *demo, size_t count, size_t results)
{
    for (size_t i = 0; i < count; ++i) {
        demo->host[i] = input(demo->rank, i);
    }
    fill(demo, 0, demo->host, count * sizeof(float));
    memset(demo->host, 0xff, results * sizeof(float)); /* no number at all */
    fill(demo, OUTPUT_AT, demo->host, results * sizeof(float));
}

static void check(demo_t *demo, collective_t collective, size_t count, size_t results)
{
    read_back(demo, OUTPUT_AT, demo->host, results * sizeof(float));
    for (size_t i = 0; i < results; ++i) {
        demo->wrong += demo->host[i] != expected(demo, collective, count, i);
    }
    demo->checked += results;
}

/* An ordinary MPI call: that the buffers lie in a symmetric window is all it takes. */
static void call(const demo_t *demo, collective_t collective, int count)
{
    char *output = demo->memory + OUTPUT_AT;
    if (ALLREDUCE == collective) {
        MPI_Allreduce(demo->memory, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else {
        MPI_Allgather(demo->memory, count, MPI_FLOAT, output, count, MPI_FLOAT, MPI_COMM_WORLD);
    }
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Seconds of a call: the median of several, after one to warm up. */
static double measure(const demo_t *demo, collective_t collective, int count, size_t bytes)
{
    double seconds[CALLS_MAX];
    int calls = bytes > (1 << 20) ? 5 : CALLS_MAX;
    call(demo, collective, count);
    for (int i = 0; i < calls; ++i) {
        double start = MPI_Wtime();
        call(demo, collective, count);
        seconds[i] = MPI_Wtime() - start;
    }
    qsort(seconds, (size_t) calls, sizeof(seconds[0]), compare);
    return seconds[calls / 2];
}

/* One line of the table: a result of about that many bytes. */
static void show(demo_t *demo, collective_t collective, size_t bytes)
{
    size_t parts = ALLGATHER == collective ? (size_t) demo->size : 1;
    size_t whole = bytes / sizeof(float) / parts;
    size_t count = 0 == whole ? 1 : whole;
    size_t results = count * parts;
    char plan[SYMM_PLAN_TEXT_MAX] = "";
    prepare(demo, count, results);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = measure(demo, collective, (int) count, bytes);
    (void) symm_plan_query(plan, sizeof(plan)); /* fails only on bad arguments */
    const char *path = strstr(plan, ": ");
    MPI_Barrier(MPI_COMM_WORLD);
    check(demo, collective, count, results);
    if (0 == demo->rank) {
        printf("%-10s %11zu %12.1f %8.2f  %s\n",
               ALLREDUCE == collective ? "allreduce" : "allgather", results * sizeof(float),
               seconds * 1e6, (double) (results * sizeof(float)) / seconds * 1e-9,
               NULL == path ? plan : path + 2);
    }
}

static void show_all(demo_t *demo, collective_t collective)
{
    for (size_t bytes = BYTES_MIN; bytes < BYTES_MAX; bytes *= FACTOR) {
        show(demo, collective, bytes);
    }
    show(demo, collective, BYTES_MAX);
}

/* Returns the exit status. */
static int demonstrate(demo_t *demo)
{
    if (0 == demo->rank) {
        printf("%-10s %11s %12s %8s  %s\n", "collective", "result (B)", "median (us)", "GB/s",
               "plan");
    }
    MPI_Win_lock_all(0, demo->window);
    show_all(demo, ALLREDUCE);
    show_all(demo, ALLGATHER);
    MPI_Win_unlock_all(demo->window);
    unsigned long long totals[2] = {demo->checked, demo->wrong};
    MPI_Allreduce(MPI_IN_PLACE, totals, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (0 == demo->rank && 0 == totals[1]) {
        printf("all %llu results correct\n", totals[0]);
    } else if (0 == demo->rank) {
        printf("%llu of %llu results WRONG\n", totals[1], totals[0]);
    }
    return 0 == totals[1] ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    demo_t demo = {.window = MPI_WIN_NULL};
    int status = EXIT_FAILURE;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &demo.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &demo.size);
    demo.host = malloc(BYTES_MAX + (size_t) demo.size * sizeof(float));
    if (!on_all_ranks(NULL != demo.host)) {
        fprintf(stderr, "not enough memory\n");
    } else if (open_window(&demo)) {
        status = demonstrate(&demo);
    }
    if (MPI_WIN_NULL != demo.window) {
        MPI_Win_free(&demo.window);
    }
    free(demo.host);
    MPI_Finalize();
    return status;
}
