/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * What fuzzers share. Each fuzz_NAME.c defines LLVMFuzzerTestOneInput(); it is run by libFuzzer in
 * a tree configured with --enable-fuzz, and by fuzz_main.c elsewhere. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Ends the program, which is what fuzzers take for a finding. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The input, taken byte by byte; zeros behind its end. */
typedef struct fuzz_input {
    const uint8_t *data;
    size_t len;
} fuzz_input_t;

static inline uint8_t fuzz_byte(fuzz_input_t *input)
{
    if (0 == input->len) {
        return 0;
    }
    --input->len;
    return *input->data++;
}

/* A number below limit, which is at most 65536. */
static inline unsigned fuzz_below(fuzz_input_t *input, unsigned limit)
{
    unsigned high = 256 < limit ? fuzz_byte(input) : 0u;
    return (high << 8 | fuzz_byte(input)) % limit;
}

static inline uint64_t fuzz_word(fuzz_input_t *input)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) {
        word = word << 8 | fuzz_byte(input);
    }
    return word;
}

#endif
