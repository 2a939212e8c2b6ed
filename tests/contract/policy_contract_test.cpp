// SPDX-License-Identifier: Apache-2.0
// What every policy of the registry promises, whichever it is.
#include "support/events.hpp"
#include "support/policy.hpp"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

using namespace trib_test;

namespace {

std::vector<const trib_policy *> all_policies() {
    std::vector<const trib_policy *> policies;
    for (auto policy = trib_policies(); *policy; policy++)
        policies.push_back(*policy);
    return policies;
}

trib_context arbitrary_context(Random &random) {
    return arbitrary_event(random).who;
}

constexpr uint64_t CAPACITY_BYTES = 1 << 24;
constexpr uint64_t BLOCKS = CAPACITY_BYTES / TRIB_BLOCK_BYTES;

// One write below the file system, sometimes after a trim, and what the drive did for it.
uint16_t write_blocks(Policy &policy, const trib_context &who, trib_attribute_ref any, uint64_t block_clock,
                      Random &random) {
    const uint64_t lba = random.below(BLOCKS - 64);
    const bool by_page = policy.policy->needs & TRIB_NEEDS_PAGE;
    if (policy.policy->blocks.discarded && random.chance(10))
        policy.policy->blocks.discarded(policy.self, lba, 1 + random.below(64), block_clock * TRIB_BLOCK_BYTES);
    if (policy.policy->blocks.reclaimed && random.chance(10)) {
        trib_reclaim unit{};
        unit.internal = random.chance(50);
        unit.stream = uint16_t(random.below(policy.streams + 1));
        unit.closed_age = random.below(10000);
        unit.opened_age = unit.closed_age + random.below(1000);
        policy.policy->blocks.reclaimed(policy.self, &unit);
    }
    trib_placement write{};
    write.who = who;
    write.attribute = any;
    write.thread = uint32_t(random.below(40));
    write.vstream = random.chance(50) ? TRIB_STREAM_UNDECIDED : uint16_t(random.below(100));
    write.death_block = random.chance(50) ? TRIB_NEVER : block_clock + 1 + random.below(10000);
    return policy.place_block(lba, block_clock, by_page ? 1 : 1 + uint32_t(random.below(64)), write);
}

// A plausible life: signatures come and go in a small table, die at scattered ages, are placed.
// Returns all answers.
std::vector<uint16_t> live(Policy &policy, State &state, uint64_t seed, uint32_t streams) {
    Random random(seed);
    std::vector<uint16_t> answers;
    std::vector<trib_attribute_ref> refs{0};
    uint64_t clock = 0;
    for (int step = 0; step < 5000; step++) {
        const uint64_t key = 1 + random.below(60);
        const uint64_t length = 4096 * (1 + random.below(100));
        refs.push_back(state.intern(key));
        trib_attribute &row = state.row(key);
        row.written_bytes.fetch_add(length);
        row.last_write_bytes = clock;
        const trib_attribute_ref any = refs[random.below(refs.size())]; // many of them evicted
        const trib_context who = random.chance(50) ? context(key) : arbitrary_context(random);
        const bool by_block = policy.policy->needs & TRIB_NEEDS_LBA;
        const uint16_t stream =
            by_block ? write_blocks(policy, who, any, clock / TRIB_BLOCK_BYTES, random) : policy.place(who, any);
        REQUIRE(stream <= streams);
        answers.push_back(stream);
        if (policy.policy->relocate) {
            trib_relocation page{};
            page.lba = random.below(1000);
            page.clock_bytes = clock;
            page.block_clock = clock / TRIB_BLOCK_BYTES;
            page.stream = stream;
            page.victim_internal = random.chance(50);
            page.victim_class = uint16_t(random.below(policy.streams + 1));
            answers.push_back(policy.policy->relocate(policy.self, &page));
            REQUIRE(answers.back() < policy.internal_streams);
        }
        policy.died(any, random.chance(5) ? random.next() >> 8 : random.below(1 << 24) * key, stream);
        clock += length;
        trib_state_clock_advance(state.state, length);
        policy.tick(clock);
    }
    return answers;
}

} // namespace

TEST_CASE("the registry has distinct names, each found by name, and lists them when asked for another") {
    trib_error error{};
    REQUIRE(all_policies().size() >= 4);
    for (auto policy : all_policies()) {
        REQUIRE(trib_policy_find(policy->name, &error) == policy);
        REQUIRE(strlen(policy->summary) > 0);
        REQUIRE(strlen(policy->summary) <= 60);
        REQUIRE(policy->options != nullptr);
        REQUIRE(policy->open != nullptr);
        REQUIRE(policy->close != nullptr);
        REQUIRE(policy->place != nullptr);
        for (auto spec = policy->options; spec->key; spec++)
            REQUIRE(strlen(spec->help) > 0);
    }
    REQUIRE(trib_policy_find("no-such-policy", &error) == nullptr);
    for (auto policy : all_policies())
        REQUIRE(std::string(error.text).find(policy->name) != std::string::npos);
}

TEST_CASE("an unknown key is an error that names the valid ones, an unknown value one that names "
          "the choices") {
    auto policy = GENERATE(from_range(all_policies()));
    CAPTURE(policy->name);
    State state;
    Policy bad(policy, state, 8, "no_such_key=1");
    REQUIRE(bad.code == -EINVAL);
    for (auto spec = policy->options; spec->key; spec++) {
        REQUIRE(bad.sentence.find(spec->key) != std::string::npos);
        if (spec->type != TRIB_OPTION_ENUM)
            continue;
        Policy value(policy, state, 8, std::string(spec->key) + "=nonsense");
        REQUIRE(value.code == -EINVAL);
        REQUIRE(value.sentence.find(spec->choices) != std::string::npos);
    }
}

TEST_CASE("a stream is one that the drive has, whatever is asked; a life is repeatable") {
    auto policy = GENERATE(from_range(all_policies()));
    const uint32_t streams = GENERATE(0, 1, 3, 8, 63);
    CAPTURE(policy->name, streams);
    std::vector<uint16_t> first;
    for (int run = 0; run < 2; run++) {
        State state(16);
        Policy p(policy, state, streams, "", CAPACITY_BYTES);
        REQUIRE(p.code == 0);
        const auto answers = live(p, state, 7, streams);
        if (run)
            REQUIRE(answers == first);
        first = answers;
    }
}

TEST_CASE("every choice of every option lives") {
    auto policy = GENERATE(from_range(all_policies()));
    for (auto spec = policy->options; spec->key; spec++) {
        if (spec->type != TRIB_OPTION_ENUM && spec->type != TRIB_OPTION_BOOL)
            continue;
        std::string choices = spec->type == TRIB_OPTION_BOOL ? "on|off" : spec->choices;
        for (size_t begin = 0; begin <= choices.size();) {
            const size_t end = std::min(choices.find('|', begin), choices.size());
            const std::string text = std::string(spec->key) + "=" + choices.substr(begin, end - begin);
            begin = end + 1;
            CAPTURE(policy->name, text);
            State state(16);
            Policy p(policy, state, 4, text, CAPACITY_BYTES);
            REQUIRE(p.code == 0);
            live(p, state, 3, 4);
        }
    }
}

TEST_CASE("an unknown signature gives S0, unless the context or the address decides") {
    auto policy = GENERATE(from_range(all_policies()));
    CAPTURE(policy->name);
    if (policy->needs & TRIB_NEEDS_LBA)
        return;
    State state;
    Policy p(policy, state, 8);
    REQUIRE(p.place(context(12345)) == 0); // nothing is known of it, and it says nothing of itself
    if (policy->needs & TRIB_NEEDS_SIGNATURE)
        REQUIRE(p.place(context(12345, TRIB_FILE_WAL, TRIB_HINT_SHORT, 0)) == 0);
}

TEST_CASE("place may run on any thread while the rest runs on its own") {
    auto policy = GENERATE(from_range(all_policies()));
    CAPTURE(policy->name);
    if (policy->needs & TRIB_NEEDS_LBA)
        return; // its place runs on the maintenance thread
    State state(64);
    Policy p(policy, state, 4, "", 1 << 20);
    std::vector<trib_attribute_ref> refs;
    for (uint64_t key = 1; key <= 40; key++)
        refs.push_back(state.intern(key));
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> bad{0}, placed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&, t] {
            for (size_t i = size_t(t); !stop; i++) {
                const uint64_t key = 1 + i % refs.size();
                bad += p.place(context(key), refs[key - 1]) > 4;
                placed++;
            }
        });
    Random random(9);
    uint64_t clock = 0;
    for (int step = 0; step < 20000 || placed < 1000; step++) {
        trib_state_lock(state.state);
        p.died(refs[random.below(refs.size())], random.below(1 << 26));
        clock += 4096;
        p.tick(clock);
        trib_state_unlock(state.state);
    }
    stop = true;
    for (auto &thread : threads)
        thread.join();
    REQUIRE(bad == 0);
}
