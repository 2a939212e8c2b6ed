// SPDX-License-Identifier: Apache-2.0
// Who gets a number for what a process names, and who shares the last.
#include "support/catch.hpp"

#include <memory>
#include <unistd.h>

#include "recorder/numbers.h"

TEST_CASE("a user gets half of the numbers, root all but those without a name, and a key its own for ever") {
    auto numbers = std::make_unique<trib_numbers>();
    const uid_t hostile = geteuid() + 1, other = geteuid() + 2;
    for (uint64_t key = 1; key <= 3000; key++)
        REQUIRE(trib_numbers_add(numbers.get(), key << 32, hostile) ==
                (key <= TRIB_NUMBERS_OF_USER ? key - 1 : TRIB_NUMBERS_UNKNOWN));
    CHECK_FALSE(trib_numbers_has_room(numbers.get(), hostile));
    CHECK(trib_numbers_add(numbers.get(), 5, other) == TRIB_NUMBERS_OF_USER);
    for (uint64_t key = 10000; key < 20000; key++)
        trib_numbers_add(numbers.get(), key, 0);
    CHECK(numbers->count == TRIB_NUMBERS - 2);
    CHECK_FALSE(trib_numbers_has_room(numbers.get(), 0));
    CHECK(trib_numbers_find(numbers.get(), 10000) == TRIB_NUMBERS_OF_USER + 1);
    CHECK(trib_numbers_find(numbers.get(), 5) == TRIB_NUMBERS_OF_USER);
    CHECK(trib_numbers_add(numbers.get(), 7ull << 32, hostile) == 6);
    CHECK(trib_numbers_find(numbers.get(), 19999) == TRIB_NUMBERS_UNKNOWN);
}

TEST_CASE("users beyond the rows share one") {
    auto numbers = std::make_unique<trib_numbers>();
    for (uint64_t key = 0; key < 3 * TRIB_NUMBERS_USERS; key++)
        CHECK(trib_numbers_add(numbers.get(), key + 1, geteuid() + 1 + key) == key);
    CHECK(numbers->user_count == TRIB_NUMBERS_USERS);
    CHECK(numbers->of_user[TRIB_NUMBERS_USERS - 1] == 2 * TRIB_NUMBERS_USERS + 1);
}
