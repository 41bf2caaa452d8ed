/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Lines on stderr, counts, and the account at the process's end. */
#include "symm_config.h"

#include "fake_report.h"

#include "fake_context.h"
#include "fake_entry.h"
#include "fake_object.h"
#include "fake_space.h"
#include "fake_vmm.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long misuses;
static atomic_long leaks;
static pid_t owner; /* the process that loaded us; a fork's exit is not the end of it */

long fake_env_number(const char *name, long fallback)
{
    const char *value = getenv(name);
    char *end = NULL;
    long number = NULL == value ? 0 : strtol(value, &end, 0);
    return NULL == value || end == value || '\0' != *end ? fallback : number;
}

/* One write for the line, so that those of several ranks do not mix. */
static void write_line(const char *head, const char *format, va_list args)
{
    char line[1024];
    int used = snprintf(line, sizeof(line), "[%d] fake_cuda: %s", (int) getpid(), head);
    int body = vsnprintf(line + used, sizeof(line) - 1 - (size_t) used, format, args);
    if (0 > body) {
        return;
    }
    size_t len = strlen(line);
    line[len++] = '\n';
    (void) !write(STDERR_FILENO, line, len); /* nowhere to report a failed report */
}

CUresult fake_misuse(CUresult result, const char *format, ...)
{
    char head[96];
    (void) snprintf(head, sizeof(head), "misuse: %s: ", fake_entry_name());
    va_list args;
    va_start(args, format);
    write_line(head, format, args);
    va_end(args);
    atomic_fetch_add(&misuses, 1);
    return result;
}

void fake_leak(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line("leak: ", format, args);
    va_end(args);
    atomic_fetch_add(&leaks, 1);
}

void fake_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line("", format, args);
    va_end(args);
}

long fake_cuda_count(const char *what)
{
    const struct {
        const char *word;
        long number;
    } counts[] = {
        {"handles", fake_vmm_handles()},
        {"mappings", fake_space_count_mappings()},
        {"reservations", fake_space_count(FAKE_RESERVATION)},
        {"device allocations", fake_space_count(FAKE_DEVICE)},
        {"pinned allocations", fake_space_count(FAKE_PINNED)},
        {"primary references", fake_context_references()},
        {"misuses", atomic_load(&misuses)},
        {"calls", (long) fake_entry_count()},
    };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); ++i) {
        if (0 == strcmp(what, counts[i].word)) {
            return counts[i].number;
        }
    }
    for (fake_kind_t kind = 0; kind < FAKE_KIND_COUNT; ++kind) {
        if (0 == strcmp(what, fake_kind_name(kind))) {
            return fake_object_count(kind, NULL);
        }
    }
    return -1;
}

/* In a broken context nothing can be freed, on a GPU neither. */
static void report_leaks(void)
{
    if (fake_context_any_fault()) {
        return;
    }
    for (fake_kind_t kind = 0; kind < FAKE_KIND_COUNT; ++kind) {
        long left = fake_object_leaks(kind, NULL);
        if (0 < left) {
            fake_leak("%ld %s at exit", left, fake_kind_name(kind));
        }
    }
    if (0 < fake_vmm_handles()) {
        fake_leak("%ld handles of physical memory at exit", fake_vmm_handles());
    }
    fake_space_report();
}

__attribute__((constructor)) static void remember_owner(void)
{
    owner = getpid();
}

/* Runs behind all that the program does at exit, as the library is never closed. */
__attribute__((destructor)) static void end_report(void)
{
    if (getpid() != owner || !fake_entry_is_initialised()) {
        return;
    }
    report_leaks();
    long bad = atomic_load(&misuses) + atomic_load(&leaks);
    if (0 < bad || 0 != fake_env_number("FAKE_CUDA_SUMMARY", 0)) {
        fake_note("summary: %lu calls, %ld misuses, %ld leaks", fake_entry_count(),
                  atomic_load(&misuses), atomic_load(&leaks));
    }
    if (0 < bad && 0 != fake_env_number("FAKE_CUDA_STRICT", 1)) {
        (void) fflush(NULL); /* what it cannot write is lost without us too */
        _exit(FAKE_EXIT_STATUS);
    }
}
