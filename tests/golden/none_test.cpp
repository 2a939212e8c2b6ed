// SPDX-License-Identifier: Apache-2.0
#include "support/policy.hpp"

using namespace trib_test;

TEST_CASE("none: everything in S0, whatever is known") {
    State state;
    Policy none("none", state, 8);
    REQUIRE(none.code == 0);
    state.intern(1);
    state.row(1).stream = 5;
    REQUIRE(none.place(1) == 0);
    REQUIRE(none.place(context(1, TRIB_FILE_WAL, TRIB_HINT_SHORT)) == 0);
    REQUIRE(none.place(context(1, TRIB_FILE_SST, TRIB_HINT_EXTREME, 4)) == 0);
}
