/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * See coll_symm_tuning.h. */
#include "symm_config.h"

#include "coll_symm_tuning.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS      4
#define WORD_BYTES 64
#define BLANKS     " \t\r"

/* host and nvlink: measured on two H200 joined by 18 NVLinks, and on host memory; see
 * docs/measurements.md. same_gpu and pcie are estimates, not measured: those of same_gpu are
 * NVLink's, but that copy engines have nothing to do in reductions; PCIe is slower by far, so that
 * what the data take outweighs what a step takes at smaller sizes. */
static const char built_in[] = "host 2 one_shot_max 16384\n"
                               "same_gpu 2 one_shot_max 524288\n"
                               "same_gpu 2 kernel_max 33554432\n"
                               "nvlink 2 one_shot_max 524288\n"
                               "nvlink 2 copy_engine_min 67108864\n"
                               "nvlink 2 kernel_max 33554432\n"
                               "pcie 2 one_shot_max 65536\n"
                               "pcie 2 kernel_max 262144\n";

const char *coll_symm_tuning_built_in(void)
{
    return built_in;
}

static const struct {
    const char *name;
    bool of_host;
} settings[] = {
    [COLL_SYMM_ONE_SHOT_MAX] = {"one_shot_max", true},
    [COLL_SYMM_COPY_ENGINE_MIN] = {"copy_engine_min", false},
    [COLL_SYMM_KERNEL_MAX] = {"kernel_max", false},
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* A table that is being read. */
typedef struct reader {
    int number; /* of the line */
    char words[WORDS + 1][WORD_BYTES];
    int count; /* of words, one too many at most */
    char *message;
    size_t len;
} reader_t;

static bool complain(reader_t *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool complain(reader_t *reader, const char *format, ...)
{
    int written = snprintf(reader->message, reader->len, "line %d: ", reader->number);
    va_list args;
    va_start(args, format);
    if (0 <= written && (size_t) written < reader->len) {
        (void) vsnprintf(reader->message + written, reader->len - (size_t) written, format, args);
    }
    va_end(args);
    return false;
}

/* Takes the words of the line that is len bytes of text; long words are cut, and unknown then. */
static void split(reader_t *reader, const char *text, size_t len)
{
    const char *end = memchr(text, '#', len);
    end = NULL == end ? text + len : end;
    reader->count = 0;
    while (text < end && reader->count <= WORDS) {
        text += strspn(text, BLANKS);
        size_t word = strcspn(text, BLANKS "\n#");
        if (text >= end || 0 == word) {
            return;
        }
        (void) snprintf(reader->words[reader->count++], WORD_BYTES, "%.*s", (int) word, text);
        text += word;
    }
}

static bool read_number(const char *word, uint64_t most, uint64_t *number_p)
{
    char *end;
    errno = 0;
    uintmax_t number = strtoumax(word, &end, 10);
    if ('0' > *word || '9' < *word || '\0' != *end || 0 != errno || number > most) {
        return false;
    }
    *number_p = number;
    return true;
}

static bool read_link(reader_t *reader, symm_link_t *link_p)
{
    for (symm_link_t link = SYMM_LINK_HOST; link < SYMM_LINK_COUNT; ++link) {
        if (0 == strcmp(reader->words[0], symm_link_name(link))) {
            *link_p = link;
            return true;
        }
    }
    return complain(reader, "\"%s\" is none of host, same_gpu, nvlink and pcie", reader->words[0]);
}

static bool read_ranks(reader_t *reader, int *ranks_p)
{
    uint64_t ranks;
    if (!read_number(reader->words[1], INT_MAX, &ranks) || 0 == ranks) {
        return complain(reader, "\"%s\" is no number of ranks", reader->words[1]);
    }
    *ranks_p = (int) ranks;
    return true;
}

static bool read_setting(reader_t *reader, symm_link_t link, coll_symm_setting_t *setting_p)
{
    for (size_t s = 0; s < SETTINGS; ++s) {
        if (0 == strcmp(reader->words[2], settings[s].name) &&
            (SYMM_LINK_HOST != link || settings[s].of_host)) {
            *setting_p = (coll_symm_setting_t) s;
            return true;
        }
    }
    return complain(reader, "\"%s\" is no setting of %s", reader->words[2], reader->words[0]);
}

static bool is_there(const coll_symm_tuning_t *tuning, const coll_symm_tuning_line_t *line)
{
    for (int i = 0; i < tuning->count; ++i) {
        const coll_symm_tuning_line_t *other = &tuning->lines[i];
        if (other->link == line->link && other->ranks == line->ranks &&
            other->setting == line->setting) {
            return true;
        }
    }
    return false;
}

static bool read_line(reader_t *reader, coll_symm_tuning_t *tuning)
{
    coll_symm_tuning_line_t line;
    if (WORDS != reader->count) {
        return complain(reader, "%s of four words: link, ranks, setting, bytes",
                        WORDS > reader->count ? "fewer" : "more");
    }
    if (!read_link(reader, &line.link) || !read_ranks(reader, &line.ranks) ||
        !read_setting(reader, line.link, &line.setting)) {
        return false;
    }
    if (!read_number(reader->words[3], UINT64_MAX, &line.bytes)) {
        return complain(reader, "%s: \"%s\" is no number of bytes", reader->words[2],
                        reader->words[3]);
    }
    if (is_there(tuning, &line)) {
        return complain(reader, "%s is set twice for %s and %d ranks", reader->words[2],
                        reader->words[0], line.ranks);
    }
    if (COLL_SYMM_TUNING_MAX == tuning->count) {
        return complain(reader, "more than %d settings", COLL_SYMM_TUNING_MAX);
    }
    tuning->lines[tuning->count++] = line;
    return true;
}

bool coll_symm_tuning_read(const char *text, coll_symm_tuning_t *tuning_p, char *message,
                           size_t len)
{
    reader_t reader = {.message = message, .len = len};
    coll_symm_tuning_t tuning = {.count = 0};
    while ('\0' != *text) {
        size_t line = strcspn(text, "\n");
        ++reader.number;
        split(&reader, text, line);
        if (0 < reader.count && !read_line(&reader, &tuning)) {
            return false;
        }
        text += line + ('\n' == text[line] ? 1 : 0);
    }
    *tuning_p = tuning;
    return true;
}

/* The line for so many ranks: that of the most ranks that are not more. NULL when there is none. */
static const coll_symm_tuning_line_t *find_line(const coll_symm_tuning_t *tuning, symm_link_t link,
                                                int ranks, coll_symm_setting_t setting)
{
    const coll_symm_tuning_line_t *best = NULL;
    for (int i = 0; i < tuning->count; ++i) {
        const coll_symm_tuning_line_t *line = &tuning->lines[i];
        if (line->link == link && line->setting == setting && line->ranks <= ranks &&
            (NULL == best || line->ranks > best->ranks)) {
            best = line;
        }
    }
    return best;
}

void coll_symm_tuning_apply(const coll_symm_tuning_t *tuning, int ranks, coll_symm_policy_t *policy)
{
    uint64_t *const targets[SETTINGS] = {
        [COLL_SYMM_ONE_SHOT_MAX] = policy->one_shot_max,
        [COLL_SYMM_COPY_ENGINE_MIN] = policy->copy_engine_min,
        [COLL_SYMM_KERNEL_MAX] = policy->kernel_max,
    };
    for (size_t s = 0; s < SETTINGS; ++s) {
        for (symm_link_t link = SYMM_LINK_HOST; link < SYMM_LINK_COUNT; ++link) {
            const coll_symm_tuning_line_t *line =
                find_line(tuning, link, ranks, (coll_symm_setting_t) s);
            if (NULL != line) {
                targets[s][link] = line->bytes;
            }
        }
    }
}
