/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Reads the machine and CUDA_VISIBLE_DEVICES. A line of the file is one of
 *
 *     gpu bus=0000:18:00.0 [uuid=..] [name=..] [memory=16G] [granularity=2M] [multiprocessors=8]
 *         [vmm=1] [descriptors=1] [fabric=1]            (all on one line)
 *     peers all | none                                   every GPU reaches every other, or none
 *     peer 0 1                                           these two reach each other
 *     atomics none                                       no GPU has atomics on another's memory
 *     enumerate 1                                        a process sees so many GPUs at most, as
 *                                                        with MIG
 *     # a comment
 */
#include "symm_config.h"

#include "fake_machine.h"

#include "fake_report.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512
#define BLANKS     " \t\r\n"

/* What is built in: two GPUs joined by NVLink. The same as machines/two-nvlink. */
static const char two_gpus[] = "gpu bus=0000:18:00.0\n"
                               "gpu bus=0000:2a:00.0\n"
                               "peers all\n";

static struct {
    bool good;
    int count;
    int enumerate;
    fake_gpu_t gpus[FAKE_GPUS_MAX];
    bool peers[FAKE_GPUS_MAX][FAKE_GPUS_MAX];
    bool no_atomics;
    int visible_count;
    int visible[FAKE_GPUS_MAX];
    uint64_t hash;
} machine;

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t memory_used[FAKE_GPUS_MAX];

/* ---- the file ---- */

/* A size with an optional K, M or G. */
static bool read_size(const char *text, size_t *size_p)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    int shift = 0;
    switch (*end) {
    case 'K':
        shift = 10;
        break;
    case 'M':
        shift = 20;
        break;
    case 'G':
        shift = 30;
        break;
    default:
        --end;
        break;
    }
    *size_p = (size_t) number << shift;
    return 0 == errno && end >= text && '\0' == end[1];
}

static bool read_text(const char *text, char *to, size_t room)
{
    return (int) room > snprintf(to, room, "%s", text);
}

static bool read_int(const char *text, int *number_p)
{
    char *end;
    long number = strtol(text, &end, 10);
    *number_p = (int) number;
    return end != text && '\0' == *end && 0 <= number && number < 1 << 20;
}

/* One key=value of a gpu. */
static bool read_property(char *word, fake_gpu_t *gpu)
{
    char *value = strchr(word, '=');
    if (NULL == value) {
        return false;
    }
    *value++ = '\0';
    if (0 == strcmp(word, "bus")) {
        return read_text(value, gpu->bus, sizeof(gpu->bus));
    }
    if (0 == strcmp(word, "uuid")) {
        return read_text(value, gpu->uuid, sizeof(gpu->uuid));
    }
    if (0 == strcmp(word, "name")) {
        return read_text(value, gpu->name, sizeof(gpu->name));
    }
    if (0 == strcmp(word, "memory")) {
        return read_size(value, &gpu->memory);
    }
    if (0 == strcmp(word, "granularity")) {
        return read_size(value, &gpu->granularity);
    }
    const struct {
        const char *word;
        int *number_p;
    } numbers[] = {
        {"multiprocessors", &gpu->multiprocessors},
        {"vmm", &gpu->vmm},
        {"descriptors", &gpu->descriptors},
        {"fabric", &gpu->fabric},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i) {
        if (0 == strcmp(word, numbers[i].word)) {
            return read_int(value, numbers[i].number_p);
        }
    }
    return false;
}

static bool read_gpu(char **rest_p)
{
    if (FAKE_GPUS_MAX == machine.count) {
        return false;
    }
    fake_gpu_t *gpu = &machine.gpus[machine.count];
    *gpu = (fake_gpu_t){.name = "Fake GPU",
                        .memory = (size_t) 16 << 30,
                        .granularity = (size_t) 2 << 20,
                        .multiprocessors = 8,
                        .vmm = 1,
                        .descriptors = 1,
                        .fabric = 1};
    (void) snprintf(gpu->bus, sizeof(gpu->bus), "0000:%02x:00.0", 16 + machine.count);
    (void) snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-fa4e0000-0000-0000-0000-%012x",
                    machine.count);
    for (char *word = strtok_r(NULL, BLANKS, rest_p); NULL != word;
         word = strtok_r(NULL, BLANKS, rest_p)) {
        if (!read_property(word, gpu)) {
            return false;
        }
    }
    for (char *c = gpu->name; '\0' != *c; ++c) {
        *c = '_' == *c ? ' ' : *c;
    }
    ++machine.count;
    return true;
}

static bool read_peers(const char *word)
{
    bool all = NULL != word && 0 == strcmp(word, "all");
    for (int a = 0; a < FAKE_GPUS_MAX; ++a) {
        for (int b = 0; b < FAKE_GPUS_MAX; ++b) {
            machine.peers[a][b] = all;
        }
    }
    return all || (NULL != word && 0 == strcmp(word, "none"));
}

static bool read_peer(const char *first, const char *second)
{
    int a, b;
    if (NULL == first || NULL == second || !read_int(first, &a) || !read_int(second, &b) ||
        a >= FAKE_GPUS_MAX || b >= FAKE_GPUS_MAX) {
        return false;
    }
    machine.peers[a][b] = true;
    machine.peers[b][a] = true;
    return true;
}

static bool read_line(char *line)
{
    char *rest;
    char *word = strtok_r(line, BLANKS, &rest);
    if (NULL == word || '#' == *word) {
        return true;
    }
    if (0 == strcmp(word, "gpu")) {
        return read_gpu(&rest);
    }
    char *first = strtok_r(NULL, BLANKS, &rest);
    char *second = strtok_r(NULL, BLANKS, &rest);
    if (0 == strcmp(word, "peers")) {
        return read_peers(first);
    }
    if (0 == strcmp(word, "peer")) {
        return read_peer(first, second);
    }
    if (0 == strcmp(word, "atomics")) {
        machine.no_atomics = NULL != first && 0 == strcmp(first, "none");
        return machine.no_atomics;
    }
    return 0 == strcmp(word, "enumerate") && NULL != first && read_int(first, &machine.enumerate);
}

static void add_to_hash(const char *line)
{
    for (const char *c = line; '\0' != *c; ++c) {
        machine.hash = (machine.hash ^ (unsigned char) *c) * 1099511628211u; /* FNV-1a */
    }
}

static bool read_stream(FILE *file, const char *name)
{
    char line[LINE_BYTES];
    machine.hash = 14695981039346656037u;
    machine.enumerate = FAKE_GPUS_MAX;
    for (int number = 1; NULL != fgets(line, sizeof(line), file); ++number) {
        add_to_hash(line);
        if (!read_line(line)) {
            (void) fake_misuse(CUDA_SUCCESS, "%s, line %d makes no sense", name, number);
            return false;
        }
    }
    return true;
}

static bool read_machine(void)
{
    const char *name = getenv("FAKE_CUDA_MACHINE");
    FILE *file =
        NULL == name ? fmemopen((void *) two_gpus, sizeof(two_gpus) - 1, "r") : fopen(name, "re");
    if (NULL == file) {
        (void) fake_misuse(CUDA_SUCCESS, "cannot read FAKE_CUDA_MACHINE=%s: %s", name,
                           strerror(errno));
        return false;
    }
    bool good = read_stream(file, NULL == name ? "the built-in machine" : name);
    (void) fclose(file); /* opened for reading */
    return good;
}

/* ---- CUDA_VISIBLE_DEVICES ---- */

/* The gpu that a word of the variable names, by number or by the start of its UUID; -1 if none. */
static int named_gpu(const char *word)
{
    int number;
    if (read_int(word, &number)) {
        return number < machine.count ? number : -1;
    }
    for (int i = 0; 3 < strlen(word) && i < machine.count; ++i) {
        if (0 == strncmp(word, machine.gpus[i].uuid, strlen(word))) {
            return i;
        }
    }
    return -1;
}

static bool is_visible(int gpu)
{
    return 0 <= fake_machine_device(gpu);
}

/* As the driver does it: the order of the list, up to the first word that names no GPU. */
static void read_visible(const char *list)
{
    char copy[LINE_BYTES];
    char *rest;
    (void) snprintf(copy, sizeof(copy), "%s", list);
    for (char *word = strtok_r(copy, ", ", &rest); NULL != word;
         word = strtok_r(NULL, ", ", &rest)) {
        int gpu = named_gpu(word);
        if (0 > gpu || is_visible(gpu)) {
            return;
        }
        machine.visible[machine.visible_count++] = gpu;
    }
}

static void load(void)
{
    machine.good = read_machine();
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    if (NULL != list) {
        read_visible(list);
    } else {
        for (int i = 0; i < machine.count; ++i) {
            machine.visible[machine.visible_count++] = i;
        }
    }
    if (machine.visible_count > machine.enumerate) {
        machine.visible_count = machine.enumerate;
    }
}

/* ---- questions ---- */

bool fake_machine_load(void)
{
    (void) pthread_once(&load_once, load); /* cannot fail with a valid control */
    return machine.good;
}

int fake_machine_count(void)
{
    return machine.visible_count;
}

int fake_machine_gpu(CUdevice device)
{
    return 0 <= device && device < machine.visible_count ? machine.visible[device] : -1;
}

CUdevice fake_machine_device(int gpu)
{
    for (int i = 0; i < machine.visible_count; ++i) {
        if (gpu == machine.visible[i]) {
            return i;
        }
    }
    return -1;
}

const fake_gpu_t *fake_machine_describe(int gpu)
{
    return &machine.gpus[gpu];
}

bool fake_machine_peers(int a, int b)
{
    return a == b || machine.peers[a][b];
}

bool fake_machine_atomics(int a, int b)
{
    return a == b || (machine.peers[a][b] && !machine.no_atomics);
}

uint64_t fake_machine_hash(void)
{
    return machine.hash;
}

bool fake_machine_take(int gpu, size_t len)
{
    (void) pthread_mutex_lock(&memory_lock); /* fails only on misuse */
    bool fits = len <= machine.gpus[gpu].memory - memory_used[gpu];
    memory_used[gpu] += fits ? len : 0;
    (void) pthread_mutex_unlock(&memory_lock);
    return fits;
}

void fake_machine_give(int gpu, size_t len)
{
    (void) pthread_mutex_lock(&memory_lock);
    memory_used[gpu] -= len;
    (void) pthread_mutex_unlock(&memory_lock);
}

size_t fake_machine_free(int gpu)
{
    (void) pthread_mutex_lock(&memory_lock);
    size_t left = machine.gpus[gpu].memory - memory_used[gpu];
    (void) pthread_mutex_unlock(&memory_lock);
    return left;
}
