// SPDX-License-Identifier: Apache-2.0
// A trace, a training and two dictionaries of FIOS without a policy around them.
#pragma once
#include "support/catch.hpp"

#include <string>
#include <vector>

#include "rivals/fios/fios_train.h"

namespace trib_test {

inline trib_fios_rules fios_rules(uint32_t features, int matrix = TRIB_FIOS_BINARY, uint32_t streams = 16) {
    trib_fios_rules rules{};
    rules.matrix = matrix;
    rules.features = features;
    rules.streams = streams;
    for (double &weight : rules.weights)
        weight = 1;
    rules.limits = {0.5, 50, 20, 64, 100};
    rules.gb_per_day = 1000;
    return rules;
}

class Fios {
  public:
    // Watches `length` blocks of a drive of `chunks` chunks of `chunk_blocks` blocks.
    Fios(const trib_fios_rules &rules, uint32_t chunks, uint64_t length, uint32_t chunk_blocks = 8)
        : chunk_blocks_(chunk_blocks) {
        REQUIRE(trib_fios_trace_open(&trace, chunks * chunk_blocks, chunk_blocks) == 0);
        REQUIRE(trib_fios_dictionary_open(&now, chunks) == 0);
        REQUIRE(trib_fios_dictionary_open(&next, chunks) == 0);
        REQUIRE(trib_fios_training_open(&training, &rules) == 0);
        trib_fios_trace_begin(&trace, 0, length, 0);
    }
    ~Fios() {
        trib_fios_training_close(training);
        trib_fios_dictionary_close(&next);
        trib_fios_dictionary_close(&now);
        trib_fios_trace_close(&trace);
    }
    Fios(const Fios &) = delete;
    Fios &operator=(const Fios &) = delete;

    // One request.
    void write(uint64_t lba, uint32_t blocks = 1) {
        trib_placement page{};
        page.offset_bytes = lba * TRIB_BLOCK_BYTES;
        page.clock_bytes = clock * TRIB_BLOCK_BYTES;
        for (uint32_t i = 0; i < blocks; i++) {
            page.lba = lba + i;
            page.block_clock = clock++;
            trib_fios_trace_write(&trace, &page);
        }
    }
    // A request in a chunk: its first block.
    void touch(uint32_t chunk) {
        write(uint64_t{chunk} * chunk_blocks_);
    }
    void discard(uint64_t lba, uint64_t blocks) {
        trib_fios_trace_discard(&trace, lba, blocks, clock);
    }

    // Trains; returns the stream of every chunk.
    std::vector<int> train(uint32_t chunks_per_step = 3) {
        trib_fios_training_begin(training, &trace, &now, &next);
        steps = 1;
        while (!trib_fios_training_step(training, chunks_per_step))
            REQUIRE(++steps < 100000);
        REQUIRE_FALSE(trib_fios_training_step(training, chunks_per_step)); // there is nothing left
        std::vector<int> streams;
        for (uint32_t chunk = 0; chunk < next.chunks; chunk++) {
            streams.push_back(trib_fios_base_stream(&next, chunk));
            REQUIRE(trib_fios_dictionary_find(&next, chunk) == streams.back());
        }
        return streams;
    }
    const trib_fios_result &result() const {
        return *trib_fios_training_result(training);
    }

    trib_fios_trace trace{};
    trib_fios_dictionary now{}, next{};
    trib_fios_training *training = nullptr;
    uint64_t clock = 0;
    uint32_t steps = 0;

  private:
    uint32_t chunk_blocks_;
};

} // namespace trib_test
