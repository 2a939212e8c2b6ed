// SPDX-License-Identifier: Apache-2.0
// A policy opened on a fresh anonymous state, for golden and contract tests. One thread.
#pragma once
#include "support/catch.hpp"

#include <algorithm>
#include <string>

#include <tributary/policy.h>

#include "base/options.h"
#include "lifetime/extents.h"
#include "state/state.h"

namespace trib_test {

inline trib_context context(uint64_t signature, uint8_t kind = TRIB_FILE_UNKNOWN, uint8_t hint = TRIB_HINT_NOT_SET,
                            int8_t level = TRIB_LEVEL_UNKNOWN) {
    trib_context who{};
    who.signature = signature;
    who.file_kind = kind;
    who.write_hint = hint;
    who.level = level;
    who.io_activity = TRIB_ACTIVITY_UNKNOWN;
    return who;
}

class State {
  public:
    explicit State(uint32_t attributes = 64) {
        trib_state_config config{};
        config.attributes = attributes;
        config.runs = 1024;
        trib_error error{};
        REQUIRE(trib_state_open(&state, &config, &error) == 0);
    }
    ~State() {
        trib_state_close(state);
    }
    State(const State &) = delete;

    trib_attribute_ref intern(uint64_t key) {
        const trib_context who = context(key);
        return trib_state_intern(state, key, &who);
    }
    trib_attribute &row(uint64_t key) {
        trib_attribute *found = trib_state_attribute(state, trib_state_find(state, key));
        REQUIRE(found);
        return *found;
    }
    trib_state *state = nullptr;
};

// Options that are wrong give code != 0 and a sentence, like a pipeline's.
class Policy {
  public:
    Policy(const trib_policy *which, State &on, uint32_t granted, const std::string &text = "",
           uint64_t capacity_bytes = 100 << 20)
        : policy(which), state(on), streams(granted), internal_streams(std::max(granted + 1, 4u)) {
        trib_error error{};
        trib_options *options = nullptr;
        REQUIRE(trib_options_open(&options, text.c_str(), &error) == 0);
        trib_policy_env env{};
        env.policy = policy;
        env.state = on.state;
        env.streams = granted;
        env.capacity_bytes = capacity_bytes;
        env.blocks = capacity_bytes / TRIB_BLOCK_BYTES;
        env.reclaim_unit_bytes = 1 << 20;
        env.spare_blocks = env.blocks / 10;
        env.internal_streams = internal_streams;
        code = policy->open(&self, &env, options, &error);
        if (!code && trib_options_finish(options, &error)) {
            policy->close(self);
            code = -EINVAL;
        }
        sentence = error.text;
        trib_options_close(options);
    }
    Policy(const char *name, State &on, uint32_t granted, const std::string &text = "",
           uint64_t capacity_bytes = 100 << 20)
        : Policy(trib_policy_find(name, nullptr), on, granted, text, capacity_bytes) {
    }
    ~Policy() {
        if (!code)
            policy->close(self);
    }
    Policy(const Policy &) = delete;

    uint16_t place(const trib_context &who, trib_attribute_ref attribute = 0) const {
        trib_placement write{};
        write.who = who;
        write.attribute = attribute;
        write.file = 1;
        write.length_bytes = 4096;
        write.lba = policy->needs & TRIB_NEEDS_LBA ? 0 : TRIB_LBA_UNKNOWN;
        write.vstream = TRIB_STREAM_UNDECIDED;
        write.death_block = TRIB_NEVER;
        return policy->place(self, &write);
    }
    // A write of `blocks` at `lba`, for policies by address; the caller may set more in `write`.
    uint16_t place_block(uint64_t lba, uint64_t block_clock, uint32_t blocks = 1, trib_placement write = {}) const {
        write.lba = lba;
        write.length_bytes = uint64_t{blocks} * TRIB_BLOCK_BYTES;
        write.block_clock = block_clock;
        write.clock_bytes = block_clock * TRIB_BLOCK_BYTES;
        if (write.death_block == 0)
            write.death_block = TRIB_NEVER;
        return policy->place(self, &write);
    }
    // Stream of the signature with this key in the state's table.
    uint16_t place(uint64_t key) const {
        return place(context(key), trib_state_find(state.state, key));
    }

    void died(trib_attribute_ref attribute, uint64_t age_bytes, uint16_t stream = 0) const {
        trib_death death{};
        death.attribute = attribute;
        death.file = 1;
        death.length_bytes = 4096;
        death.age_bytes = age_bytes;
        death.stream = stream;
        death.cause = TRIB_CAUSE_UNLINK;
        if (policy->died)
            policy->died(self, &death);
    }
    void learn(uint64_t key, uint64_t age_bytes, int times) {
        const trib_attribute_ref ref = state.intern(key);
        for (int i = 0; i < times; i++)
            died(ref, age_bytes);
    }
    void discard(uint64_t lba, uint64_t blocks, uint64_t clock_bytes) const {
        if (policy->blocks.discarded)
            policy->blocks.discarded(self, lba, blocks, clock_bytes);
    }
    void tick(uint64_t clock_bytes) const {
        if (policy->tick)
            policy->tick(self, clock_bytes);
    }
    uint32_t reclusterings() const {
        return policy->reclusterings ? policy->reclusterings(self) : 0;
    }

    const trib_policy *policy;
    State &state;
    uint32_t streams;
    uint32_t internal_streams; // as many as gc=class needs
    void *self = nullptr;
    int code;
    std::string sentence;
};

} // namespace trib_test
