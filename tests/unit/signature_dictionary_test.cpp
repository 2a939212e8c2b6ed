// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include <sys/mman.h>

#include "signature/dictionary.h"

#include "support/catch.hpp"

namespace {

struct Dictionary : trib_dictionary {
    explicit Dictionary(uint32_t most) {
        REQUIRE(trib_dictionary_open(this, most) == 0);
    }
    ~Dictionary() { // a process keeps its own
        munmap(slot, slots * sizeof *slot);
        munmap(static_cast<void *>(frame), frames_max * sizeof *frame);
    }
    std::vector<uint64_t> find(uint64_t signature) const {
        std::vector<uint64_t> frames(TRIB_SIGNATURE_DEPTH_MAX);
        frames.resize(trib_dictionary_find(this, signature, frames.data(), TRIB_SIGNATURE_DEPTH_MAX));
        return frames;
    }
};

} // namespace

TEST_CASE("what was added is found, other signatures are not") {
    Dictionary dictionary(100);
    const std::vector<uint64_t> frames = {1, 2, (uint64_t{7} << 48) | 3};
    CHECK(dictionary.find(42).empty());
    CHECK(trib_dictionary_add(&dictionary, 42, frames.data(), 3));
    CHECK(dictionary.find(42) == frames);
    CHECK(dictionary.find(43).empty());
    CHECK(dictionary.find(0).empty());
    const uint64_t other = 9;
    CHECK(trib_dictionary_add(&dictionary, 42, &other, 1));
    CHECK(dictionary.find(42) == frames); // the first one stays
    CHECK(dictionary.signatures == 1);
    uint64_t first = 0;
    CHECK(trib_dictionary_find(&dictionary, 42, &first, 1) == 3);
    CHECK(first == 1);
}

TEST_CASE("signatures that share a slot are told apart") {
    Dictionary dictionary(64);
    for (uint64_t i = 1; i <= 64; i++) {
        const uint64_t signature = i * dictionary.slots; // the low bits of all are 0
        REQUIRE(trib_dictionary_add(&dictionary, signature, &i, 1));
    }
    for (uint64_t i = 1; i <= 64; i++)
        CHECK(dictionary.find(i * dictionary.slots) == std::vector<uint64_t>{i});
}

TEST_CASE("a full dictionary drops and counts") {
    Dictionary dictionary(10);
    const uint64_t frame = 5;
    for (uint64_t i = 1; i <= 25; i++)
        CHECK(trib_dictionary_add(&dictionary, i, &frame, 1) == (i <= 10));
    CHECK(dictionary.dropped == 15);
    CHECK(dictionary.signatures == 10);
    CHECK(dictionary.find(10).size() == 1);
    CHECK(dictionary.find(11).empty());
    CHECK(trib_dictionary_add(&dictionary, 10, &frame, 1)); // still there
}

TEST_CASE("a dictionary full of frames drops and counts") {
    Dictionary dictionary(10);
    const std::vector<uint64_t> frames(32, 1);
    for (uint64_t i = 1; i <= 10; i++)
        CHECK(trib_dictionary_add(&dictionary, i, frames.data(), 32) == (i <= 5)); // 16 on average fit
    CHECK(dictionary.signatures == 5);
    CHECK(dictionary.dropped == 5);
}

TEST_CASE("a trimmed dictionary finds what it has, and takes no more") {
    Dictionary dictionary(1000); // 16 frames each: 31 pages
    const std::vector<uint64_t> frames(32, 1);
    for (uint64_t i = 1; i <= 20; i++) // 640 frames: one page and a quarter
        REQUIRE(trib_dictionary_add(&dictionary, i, frames.data(), 32));
    const auto page = [&](unsigned number) {
        unsigned char state;
        return mincore(reinterpret_cast<char *>(dictionary.frame) + 4096 * number, 4096, &state) == 0;
    };
    REQUIRE(page(2));
    trib_dictionary_trim(&dictionary);
    CHECK(page(1));
    CHECK_FALSE(page(2)); // nothing is mapped there
    CHECK(dictionary.find(20).size() == 32);
    CHECK_FALSE(trib_dictionary_add(&dictionary, 21, frames.data(), 1));
    CHECK(dictionary.find(21).empty());
    CHECK(dictionary.dropped == 1);
}

TEST_CASE("sizes out of range are refused") {
    struct trib_dictionary dictionary;
    CHECK(trib_dictionary_open(&dictionary, 0) == -EINVAL);
    CHECK(trib_dictionary_open(&dictionary, (1u << 20) + 1) == -EINVAL);
}

TEST_CASE("threads add the same and different signatures") {
    Dictionary dictionary(4000);
    std::vector<std::thread> threads;
    std::atomic<unsigned> wrong{0};
    for (unsigned t = 0; t < 4; t++)
        threads.emplace_back([&dictionary, &wrong, t] {
            for (uint64_t i = 1; i <= 500; i++) {
                const uint64_t shared = i * 0x9E3779B97F4A7C15ull, own = shared ^ (t + 1);
                trib_dictionary_add(&dictionary, shared, &i, 1);
                trib_dictionary_add(&dictionary, own, &i, 1);
                uint64_t frame = i;
                if (trib_dictionary_find(&dictionary, shared, &frame, 1))
                    wrong += frame != i;
            }
        });
    for (auto &thread : threads)
        thread.join();
    CHECK(wrong == 0);
    CHECK(dictionary.signatures == 2500);
    for (uint64_t i = 1; i <= 500; i++)
        CHECK(dictionary.find(i * 0x9E3779B97F4A7C15ull) == std::vector<uint64_t>{i});
}
