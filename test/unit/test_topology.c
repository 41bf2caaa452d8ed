/* SPDX-License-Identifier: BSD-3-Clause      Copyright (c) 2026 The symm authors
 * Which GPU a rank gets: near ones in turn, and all in turn when none is near. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symm_topology.h"

static void near_devices_in_turn(void **state)
{
    static const struct {
        bool near[4];
        int chosen[8]; /* by local rank */
    } expected[] = {
        {{false, false, false, false}, {0, 1, 2, 3, 0, 1, 2, 3}},
        {{true, true, true, true}, {0, 1, 2, 3, 0, 1, 2, 3}},
        {{true, false, false, false}, {0, 0, 0, 0, 0, 0, 0, 0}},
        {{false, false, false, true}, {3, 3, 3, 3, 3, 3, 3, 3}},
        {{false, true, true, false}, {1, 2, 1, 2, 1, 2, 1, 2}},
        {{true, false, true, true}, {0, 2, 3, 0, 2, 3, 0, 2}},
    };
    (void) state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); ++i) {
        for (int rank = 0; rank < 8; ++rank) {
            assert_int_equal(symm_topology_spread(expected[i].near, 4, rank),
                             expected[i].chosen[rank]);
        }
    }
}

static void one_device(void **state)
{
    static const bool near[2][1] = {{false}, {true}};
    (void) state;
    for (int rank = 0; rank < 20; ++rank) {
        assert_int_equal(symm_topology_spread(near[rank % 2], 1, rank), 0);
    }
}

/* Devices that this machine certainly has not got are near to nobody. */
static void unknown_devices_are_spread(void **state)
{
    static const char *const ids[] = {"fffe:ff:1f.6", "fffe:ff:1f.7", ""};
    (void) state;
    for (int rank = 0; rank < 9; ++rank) {
        assert_int_equal(symm_topology_choose(ids, 3, rank), rank % 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_devices_in_turn),
        cmocka_unit_test(one_device),
        cmocka_unit_test(unknown_devices_are_spread),
    };
    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
