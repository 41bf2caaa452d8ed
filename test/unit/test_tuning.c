/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Tuning tables: what lines mean, for how many ranks they hold, and that each kind of wrong line is
 * refused with a message that names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "coll_symm_tuning.h"

static coll_symm_tuning_t tuning;

static void read_good(const char *text)
{
    char message[160] = "";
    bool good = coll_symm_tuning_read(text, &tuning, message, sizeof(message));
    assert_string_equal(message, "");
    assert_true(good);
}

static coll_symm_policy_t apply(int ranks)
{
    coll_symm_policy_t policy = {.one_shot_max = {1, 2}, .copy_engine_min = 3, .kernel_max = 4};
    coll_symm_tuning_apply(&tuning, ranks, &policy);
    return policy;
}

static void every_setting(void **state)
{
    (void) state;
    read_good("system 2 one_shot_max 10\ncuda:device 2 one_shot_max 20\n"
              "cuda:device 2 copy_engine_min 30\ncuda:device 2 kernel_max 40");
    coll_symm_policy_t policy = apply(2);
    assert_int_equal(policy.one_shot_max[0], 10);
    assert_int_equal(policy.one_shot_max[1], 20);
    assert_int_equal(policy.copy_engine_min, 30);
    assert_int_equal(policy.kernel_max, 40);
}

static void lines_hold_for_more_ranks_too(void **state)
{
    (void) state;
    read_good("system 8 one_shot_max 800\nsystem 3 one_shot_max 300\n");
    assert_int_equal(apply(2).one_shot_max[0], 1); /* no line: as it was */
    assert_int_equal(apply(3).one_shot_max[0], 300);
    assert_int_equal(apply(7).one_shot_max[0], 300);
    assert_int_equal(apply(8).one_shot_max[0], 800);
    assert_int_equal(apply(1000).one_shot_max[0], 800);
    assert_int_equal(apply(8).one_shot_max[1], 2);
}

static void blanks_and_comments(void **state)
{
    (void) state;
    read_good("");
    assert_int_equal(tuning.count, 0);
    read_good("\n\n# system 2 one_shot_max x\n  \t \r\n");
    assert_int_equal(tuning.count, 0);
    read_good("\t system   2\tone_shot_max 18446744073709551615 # all\r\n#end");
    assert_int_equal(tuning.count, 1);
    assert_true(UINT64_MAX == apply(2).one_shot_max[0]);
}

static void built_in_is_good(void **state)
{
    (void) state;
    read_good(coll_symm_tuning_built_in());
    assert_true(0 < tuning.count);
}

static void wrong_lines(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"system", "line 1: fewer of four words: kind, ranks, setting, bytes"},
        {"system 2 one_shot_max", "line 1: fewer of four words: kind, ranks, setting, bytes"},
        {"system 2 one_shot_max 1 2", "line 1: more of four words: kind, ranks, setting, bytes"},
        {"\n\nnvlink 2 one_shot_max 1", "line 3: \"nvlink\" is neither system nor cuda:device"},
        {"system 0 one_shot_max 1", "line 1: \"0\" is no number of ranks"},
        {"system -2 one_shot_max 1", "line 1: \"-2\" is no number of ranks"},
        {"system 2x one_shot_max 1", "line 1: \"2x\" is no number of ranks"},
        {"system 99999999999 one_shot_max 1", "line 1: \"99999999999\" is no number of ranks"},
        {"system 2 two_shot_max 1", "line 1: \"two_shot_max\" is no setting of system"},
        {"system 2 kernel_max 1", "line 1: \"kernel_max\" is no setting of system"},
        {"system 2 one_shot_max 1K", "line 1: one_shot_max: \"1K\" is no number of bytes"},
        {"system 2 one_shot_max -1", "line 1: one_shot_max: \"-1\" is no number of bytes"},
        {"system 2 one_shot_max 18446744073709551616",
         "line 1: one_shot_max: \"18446744073709551616\" is no number of bytes"},
        {"system 2 one_shot_max 1\nsystem 2 one_shot_max 1",
         "line 2: one_shot_max is set twice for system and 2 ranks"},
    };
    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        char message[160] = "";
        coll_symm_tuning_t before;
        memset(&tuning, 0x5a, sizeof(tuning));
        before = tuning;
        assert_false(coll_symm_tuning_read(cases[i].text, &tuning, message, sizeof(message)));
        assert_string_equal(message, cases[i].message);
        assert_memory_equal(&before, &tuning, sizeof(tuning));
    }
}

static void too_many_lines(void **state)
{
    char text[COLL_SYMM_TUNING_MAX * 40], message[160] = "", short_message[8] = "";
    size_t len = 0;
    (void) state;
    for (int i = 1; i <= COLL_SYMM_TUNING_MAX; ++i) {
        len += (size_t) snprintf(text + len, sizeof(text) - len, "system %d one_shot_max 1\n", i);
    }
    read_good(text);
    (void) snprintf(text + len, sizeof(text) - len, "system 1000 one_shot_max 1\n");
    assert_false(coll_symm_tuning_read(text, &tuning, message, sizeof(message)));
    assert_string_equal(message, "line 129: more than 128 settings");
    assert_false(coll_symm_tuning_read(text, &tuning, short_message, sizeof(short_message)));
    assert_string_equal(short_message, "line 12");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting),    cmocka_unit_test(lines_hold_for_more_ranks_too),
        cmocka_unit_test(built_in_is_good), cmocka_unit_test(blanks_and_comments),
        cmocka_unit_test(wrong_lines),      cmocka_unit_test(too_many_lines),
    };
    return cmocka_run_group_tests_name("tuning", tests, NULL, NULL);
}
