/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * A small driver for fuzzers where there is no libFuzzer: the seeds as they are, then changes of
 * them for a while.
 *
 *     fuzz_NAME                      seeds of $SYMM_FUZZ_CORPUS/NAME, for SYMM_FUZZ_SECONDS [2],
 *                                    changed as SYMM_FUZZ_SEED [1] says
 *     fuzz_NAME FILE...              these inputs, once each
 *
 * The input that ends the program is left in the file crash-NAME. */
#include "symm_config.h"

#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INPUT_MAX 4096
#define SEEDS_MAX 64

typedef struct text {
    uint8_t bytes[INPUT_MAX];
    size_t len;
} text_t;

static text_t seeds[SEEDS_MAX];
static int seed_count;
static text_t current;
static char crash_file[256];
static uint64_t state;

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(void)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(size_t limit)
{
    return (size_t) (next_random() % limit);
}

/* Keeps the input; only calls that a signal handler may make. */
static void keep_input(int number)
{
    int fd = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (0 <= fd) {
        (void) !write(fd, current.bytes, current.len); /* nowhere to tell */
        (void) close(fd);
    }
    (void) signal(number, SIG_DFL);
    (void) raise(number);
}

static void read_file(const char *path, text_t *text)
{
    FILE *file = fopen(path, "re");
    if (NULL == file) {
        perror(path);
        exit(1);
    }
    text->len = fread(text->bytes, 1, sizeof(text->bytes), file);
    (void) fclose(file);
}

static void read_corpus(const char *name)
{
    char path[1024];
    const char *corpus = getenv("SYMM_FUZZ_CORPUS");
    (void) snprintf(path, sizeof(path), "%s/%s", NULL == corpus ? "corpus" : corpus, name);
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (NULL != dir && seed_count < SEEDS_MAX && NULL != (entry = readdir(dir))) {
        char file[2048];
        if ('.' != entry->d_name[0]) {
            (void) snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
            read_file(file, &seeds[seed_count++]);
        }
    }
    if (NULL != dir) {
        (void) closedir(dir);
    }
}

static void run_current(void)
{
    /* A copy of its own size, so that a sanitizer sees what is read behind it. */
    uint8_t *exact = malloc(0 < current.len ? current.len : 1);
    if (NULL == exact) {
        exit(1);
    }
    memcpy(exact, current.bytes, current.len);
    (void) LLVMFuzzerTestOneInput(exact, current.len);
    free(exact);
}

/* One change of the current input. */
static void change(void)
{
    size_t at = below(current.len + 1);
    switch (below(6)) {
    case 0: /* a bit */
        if (at < current.len) {
            current.bytes[at] ^= (uint8_t) (1u << below(8));
        }
        break;
    case 1: /* a byte */
        if (at < current.len) {
            current.bytes[at] = (uint8_t) next_random();
        }
        break;
    case 2: /* a byte that is likely to matter */
        if (at < current.len) {
            static const uint8_t bytes[] = {0, 1, 0x7f, 0x80, 0xff, ':', ','};
            current.bytes[at] = bytes[below(sizeof(bytes))];
        }
        break;
    case 3: /* shorter */
        current.len = at;
        break;
    case 4: /* longer */
        for (size_t n = 1 + below(16); 0 < n && current.len < INPUT_MAX; --n) {
            current.bytes[current.len++] = (uint8_t) next_random();
        }
        break;
    default: /* the end of another seed */
        if (0 < seed_count) {
            const text_t *other = &seeds[below((size_t) seed_count)];
            size_t len = at < other->len ? other->len - at : 0;
            memcpy(current.bytes + at, other->bytes + other->len - len, len);
            current.len = at + len;
        }
        break;
    }
}

static double now(void)
{
    struct timespec t;
    (void) clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static double number_of(const char *name, double fallback)
{
    const char *value = getenv(name);
    return NULL == value ? fallback : strtod(value, NULL);
}

static long run_changes(void)
{
    long runs = 0;
    double end = now() + number_of("SYMM_FUZZ_SECONDS", 2);
    state = (uint64_t) number_of("SYMM_FUZZ_SEED", 1);
    for (; now() < end; ++runs) {
        current.len = 0;
        if (0 < seed_count) {
            current = seeds[below((size_t) seed_count)];
        }
        for (size_t n = 1 + below(8); 0 < n; --n) {
            change();
        }
        run_current();
    }
    return runs;
}

int main(int argc, char **argv)
{
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    const char *slash = strrchr(argv[0], '/');
    const char *name = NULL == slash ? argv[0] : slash + 1;
    name += 0 == strncmp(name, "fuzz_", strlen("fuzz_")) ? strlen("fuzz_") : 0;
    (void) snprintf(crash_file, sizeof(crash_file), "crash-%s", name);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); ++i) {
        (void) signal(signals[i], keep_input);
    }
    for (int i = 1; i < argc; ++i) {
        read_file(argv[i], &current);
        run_current();
    }
    if (1 < argc) {
        return 0;
    }
    read_corpus(name);
    for (int i = 0; i < seed_count; ++i) {
        current = seeds[i];
        run_current();
    }
    long runs = run_changes();
    printf("PASS: %s: %d seeds, %ld changes of them\n", name, seed_count, runs);
    return 0 < seed_count && 0 < runs ? 0 : 1;
}
