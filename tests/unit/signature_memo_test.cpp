// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <vector>

#include "base/breaker.h"
#include "signature/memo.h"

#include "support/catch.hpp"

namespace {

struct Memo {
    std::unique_ptr<trib_memo> memo{new trib_memo()};
    uint32_t used = 0;
    std::vector<uint64_t> stack = std::vector<uint64_t>(64);

    Memo() {
        for (size_t i = 0; i < stack.size(); i++)
            stack[i] = i * 0x0101010101010101u;
    }
    uintptr_t frame() const {
        return reinterpret_cast<uintptr_t>(stack.data());
    }
    const trib_memo_entry *find(unsigned depth) const {
        const uint64_t key = trib_memo_key(frame(), depth);
        const trib_memo_entry *entry = trib_memo_set(memo.get(), key, stack[1]);
        for (unsigned way = 0; way < TRIB_MEMO_WAYS; way++)
            if (entry[way].key == key && trib_memo_verify(memo.get(), &entry[way], frame()))
                return &entry[way];
        return nullptr;
    }
    void insert(unsigned depth, uint64_t signature, const std::vector<uint32_t> &distances) {
        trib_memo_insert(memo.get(), &used, trib_memo_key(frame(), depth), signature, distances.data(),
                         static_cast<unsigned>(distances.size()));
    }
};

} // namespace

TEST_CASE("every bit of every word of an entry is compared, and no other") {
    for (uint32_t words = 1; words <= 13; words++) {
        Memo memo;
        std::vector<uint32_t> distances;
        for (uint32_t i = 0; i < words; i++)
            distances.push_back(8 + 16 * i); // every other word
        memo.insert(words, 42, distances);
        REQUIRE(memo.find(words));
        CHECK(memo.find(words)->signature == 42);
        for (size_t at = 0; at < memo.stack.size(); at++) {
            const bool is_of_path = at % 2 == 1 && at / 2 < words;
            for (const unsigned bit : {0u, 17u, 40u, 63u}) {
                INFO(words << " words, word " << at << ", bit " << bit);
                memo.stack[at] ^= uint64_t{1} << bit;
                CHECK((memo.find(words) == nullptr) == is_of_path);
                memo.stack[at] ^= uint64_t{1} << bit;
            }
        }
        CHECK(memo.find(words));
    }
}

TEST_CASE("depths of one frame are told apart") {
    Memo memo;
    memo.insert(5, 55, {8, 24});
    memo.insert(12, 1212, {8, 24, 40});
    REQUIRE(memo.find(5));
    REQUIRE(memo.find(12));
    CHECK(memo.find(5)->signature == 55);
    CHECK(memo.find(12)->signature == 1212);
    CHECK_FALSE(memo.find(6));
}

TEST_CASE("a full set forgets its oldest entry, a full arena everything") {
    Memo memo;
    for (uint64_t path = 0; path <= TRIB_MEMO_WAYS; path++) { // one key, told apart by a word further out
        memo.stack[3] = path;
        memo.insert(7, 100 + path, {8, 24});
    }
    for (uint64_t path = 0; path <= TRIB_MEMO_WAYS; path++) {
        memo.stack[3] = path;
        CHECK((memo.find(7) != nullptr) == (path > 0));
    }
    const std::vector<uint32_t> long_path(60, 8);
    const uint32_t size = 60 + 30;
    memo.stack[3] = TRIB_MEMO_WAYS;
    while (memo.used + size <= TRIB_MEMO_ARENA_WORDS)
        memo.insert(31, 1, long_path);
    memo.insert(30, 2, long_path);
    CHECK(memo.used == size);
    CHECK_FALSE(memo.find(7));
    CHECK_FALSE(memo.find(31));
    REQUIRE(memo.find(30));
    CHECK(memo.find(30)->signature == 2);
}

TEST_CASE("a memo whose numbers lead out of it trips the breaker and begins anew") {
    const int fault = GENERATE(0, 1, 2);
    Memo memo;
    memo.insert(3, 42, {8, 24, 40});
    REQUIRE(memo.find(3));
    auto *entry = const_cast<trib_memo_entry *>(memo.find(3));
    trib_broken = 0;
    memo.insert(3, 42, {8, 24, 40});
    CHECK(trib_broken == 0);
    if (fault == 0)
        entry->first = 0x41414141;
    else if (fault == 1)
        entry->count = 0x41414141;
    else
        memo.used = 0x41414141;
    memo.insert(3, 43, {8, 24, 40});
    CHECK(trib_broken == 1u << TRIB_CHECK_MEMO);
    REQUIRE(memo.find(3));
    CHECK(memo.find(3)->signature == 43);
    CHECK(memo.used <= TRIB_MEMO_ARENA_WORDS);
    trib_broken = 0;
}
