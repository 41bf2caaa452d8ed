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
    coll_symm_policy_t policy = {.one_shot_max = {1, 2, 3, 4},
                                 .copy_engine_min = {5, 6, 7, 8},
                                 .kernel_max = {9, 10, 11, 12}};
    coll_symm_tuning_apply(&tuning, ranks, &policy);
    return policy;
}

static void every_setting(void **state)
{
    (void) state;
    read_good("host 2 one_shot_max 100\nnvlink 2 one_shot_max 102\npcie 2 one_shot_max 103\n"
              "same_gpu 2 copy_engine_min 105\nnvlink 2 copy_engine_min 106\n"
              "same_gpu 2 kernel_max 109\npcie 2 kernel_max 111");
    coll_symm_policy_t policy = apply(2);
    const coll_symm_policy_t expected = {.one_shot_max = {100, 2, 102, 103},
                                         .copy_engine_min = {5, 105, 106, 8},
                                         .kernel_max = {9, 109, 11, 111}};
    assert_memory_equal(policy.one_shot_max, expected.one_shot_max, sizeof(policy.one_shot_max));
    assert_memory_equal(policy.copy_engine_min, expected.copy_engine_min,
                        sizeof(policy.copy_engine_min));
    assert_memory_equal(policy.kernel_max, expected.kernel_max, sizeof(policy.kernel_max));
}

static void lines_hold_for_more_ranks_too(void **state)
{
    (void) state;
    read_good("nvlink 8 one_shot_max 800\nnvlink 3 one_shot_max 300\n");
    assert_int_equal(apply(2).one_shot_max[SYMM_LINK_NVLINK], 3); /* no line: as it was */
    assert_int_equal(apply(3).one_shot_max[SYMM_LINK_NVLINK], 300);
    assert_int_equal(apply(7).one_shot_max[SYMM_LINK_NVLINK], 300);
    assert_int_equal(apply(8).one_shot_max[SYMM_LINK_NVLINK], 800);
    assert_int_equal(apply(1000).one_shot_max[SYMM_LINK_NVLINK], 800);
    assert_int_equal(apply(8).one_shot_max[SYMM_LINK_PCIE], 4);
}

static void blanks_and_comments(void **state)
{
    (void) state;
    read_good("");
    assert_int_equal(tuning.count, 0);
    read_good("\n\n# host 2 one_shot_max x\n  \t \r\n");
    assert_int_equal(tuning.count, 0);
    read_good("\t host   2\tone_shot_max 18446744073709551615 # all\r\n#end");
    assert_int_equal(tuning.count, 1);
    assert_true(UINT64_MAX == apply(2).one_shot_max[0]);
}

static void built_in_is_good(void **state)
{
    (void) state;
    read_good(coll_symm_tuning_built_in());
    coll_symm_policy_t policy = {0};
    coll_symm_tuning_apply(&tuning, 2, &policy);
    assert_true(0 < policy.one_shot_max[SYMM_LINK_HOST]);
    for (symm_link_t link = SYMM_LINK_HOST + 1; link < SYMM_LINK_COUNT; ++link) {
        assert_true(0 < policy.one_shot_max[link] && 0 < policy.kernel_max[link]);
    }
}

static void wrong_lines(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"host", "line 1: fewer of four words: link, ranks, setting, bytes"},
        {"host 2 one_shot_max", "line 1: fewer of four words: link, ranks, setting, bytes"},
        {"host 2 one_shot_max 1 2", "line 1: more of four words: link, ranks, setting, bytes"},
        {"\n\nsystem 2 one_shot_max 1",
         "line 3: \"system\" is none of host, same_gpu, nvlink and pcie"},
        {"? 2 one_shot_max 1", "line 1: \"?\" is none of host, same_gpu, nvlink and pcie"},
        {"host 2 copy_engine_min 1", "line 1: \"copy_engine_min\" is no setting of host"},
        {"host 0 one_shot_max 1", "line 1: \"0\" is no number of ranks"},
        {"host -2 one_shot_max 1", "line 1: \"-2\" is no number of ranks"},
        {"host 2x one_shot_max 1", "line 1: \"2x\" is no number of ranks"},
        {"host 99999999999 one_shot_max 1", "line 1: \"99999999999\" is no number of ranks"},
        {"host 2 two_shot_max 1", "line 1: \"two_shot_max\" is no setting of host"},
        {"host 2 kernel_max 1", "line 1: \"kernel_max\" is no setting of host"},
        {"host 2 one_shot_max 1K", "line 1: one_shot_max: \"1K\" is no number of bytes"},
        {"host 2 one_shot_max -1", "line 1: one_shot_max: \"-1\" is no number of bytes"},
        {"host 2 one_shot_max 18446744073709551616",
         "line 1: one_shot_max: \"18446744073709551616\" is no number of bytes"},
        {"host 2 one_shot_max 1\nhost 2 one_shot_max 1",
         "line 2: one_shot_max is set twice for host and 2 ranks"},
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
        len += (size_t) snprintf(text + len, sizeof(text) - len, "host %d one_shot_max 1\n", i);
    }
    read_good(text);
    (void) snprintf(text + len, sizeof(text) - len, "host 1000 one_shot_max 1\n");
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
