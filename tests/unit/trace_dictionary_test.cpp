// SPDX-License-Identifier: Apache-2.0
// The bounded dictionary against a std::map, through eviction and removal.
#include "support/catch.hpp"

#include <map>
#include <set>

#include "support/events.hpp"

extern "C" {
#include "trace/dictionary.h"
}

using trib_test::Random;

namespace {

struct Dictionary : trib_trace_dictionary {
    explicit Dictionary(uint32_t slots) {
        REQUIRE(trib_trace_dictionary_init(this, slots) == 0);
    }
    ~Dictionary() {
        trib_trace_dictionary_free(this);
    }
};

trib_trace_dictionary_key key(uint64_t value) {
    return {value, ~value};
}

} // namespace

TEST_CASE("slots are numbered upwards and reused when removed") {
    Dictionary dictionary(8);
    for (uint64_t i = 0; i < 8; i++)
        REQUIRE(trib_trace_dictionary_add(&dictionary, key(i)) == i);
    trib_trace_dictionary_remove(&dictionary, key(3));
    trib_trace_dictionary_remove(&dictionary, key(5));
    trib_trace_dictionary_remove(&dictionary, key(99));
    REQUIRE(trib_trace_dictionary_find(&dictionary, key(3)) == TRIB_TRACE_DICTIONARY_NONE);
    REQUIRE(trib_trace_dictionary_add(&dictionary, key(100)) == 5);
    REQUIRE(trib_trace_dictionary_add(&dictionary, key(101)) == 3);
    REQUIRE(trib_trace_dictionary_find(&dictionary, key(4)) == 4);
    trib_trace_dictionary_clear(&dictionary);
    REQUIRE(trib_trace_dictionary_find(&dictionary, key(4)) == TRIB_TRACE_DICTIONARY_NONE);
    REQUIRE(trib_trace_dictionary_add(&dictionary, key(4)) == 0);
}

TEST_CASE("a full dictionary gives up what was not used lately") {
    Dictionary dictionary(4);
    for (uint64_t i = 0; i < 4; i++)
        trib_trace_dictionary_add(&dictionary, key(i));
    REQUIRE(trib_trace_dictionary_add(&dictionary, key(4)) == 0); // all were new: the hand goes round once
    REQUIRE(trib_trace_dictionary_find(&dictionary, key(1)) == 1);
    REQUIRE(trib_trace_dictionary_add(&dictionary, key(5)) == 2); // 1 gets its second chance
    REQUIRE(trib_trace_dictionary_find(&dictionary, key(1)) == 1);
    REQUIRE(trib_trace_dictionary_find(&dictionary, key(2)) == TRIB_TRACE_DICTIONARY_NONE);
    REQUIRE(trib_trace_dictionary_find(&dictionary, key(0)) == TRIB_TRACE_DICTIONARY_NONE);
}

TEST_CASE("random use agrees with a map") {
    for (uint32_t slots : {1u, 2u, 16u, 256u}) {
        Dictionary dictionary(slots);
        std::map<uint64_t, uint32_t> model;
        Random random(slots);
        for (int step = 0; step < 50000; step++) {
            const uint64_t value = random.below(3 * slots);
            const uint32_t found = trib_trace_dictionary_find(&dictionary, key(value));
            const auto known = model.find(value);
            if (found != (known == model.end() ? TRIB_TRACE_DICTIONARY_NONE : known->second))
                FAIL("find disagrees at step " << step);
            if (random.chance(30)) {
                trib_trace_dictionary_remove(&dictionary, key(value));
                model.erase(value);
            } else if (known == model.end()) {
                const uint32_t slot = trib_trace_dictionary_add(&dictionary, key(value));
                if (slot >= slots)
                    FAIL("slot out of range");
                for (auto it = model.begin(); it != model.end();) // whoever had the slot is gone
                    it = it->second == slot ? model.erase(it) : std::next(it);
                model[value] = slot;
            }
        }
    }
}
