// SPDX-License-Identifier: Apache-2.0
// What went into each stream and came from each call path, and how long it lived. Policies above
// the file system are followed by the flow's writes and deaths; those that decide by block address
// by the blocks that reach the drive, because above it their streams do not exist yet. One owner.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "compare/run.h"
#include "wrap/trial.h"

namespace cli {

class Ledger {
  public:
    // Observes the trial. stream_last: the highest stream that the drive has; blocks: of a drive
    // whose policy decides by block, else 0.
    Ledger(trib_trial *trial, uint32_t stream_last, uint64_t blocks);
    Ledger(const Ledger &) = delete;
    Ledger &operator=(const Ledger &) = delete;

    std::vector<uint64_t> take_window(); // bytes per stream since the last call
    void finish(trib_pipeline *pipeline, RunResult &result);

  private:
    struct Block {
        uint32_t written = 0; // blocks written before it, plus one; 0: holds nothing
        uint16_t stream = 0;
    };

    // What the drive has no stream for ends in its stream 0.
    uint16_t shown_stream(uint16_t number) const {
        return number <= stream_last_ ? number : uint16_t{0};
    }
    StreamTally &stream(uint16_t number);
    SignatureTally &signature(uint64_t key, const trib_context &who);
    void went(uint16_t number, uint64_t bytes);
    void wrote(const trib_write_report &write);
    void died(const trib_death_report &death);
    void block_wrote(uint64_t lba, uint64_t blocks, uint16_t number);
    void block_died(Block &block);
    void visit_live(const trib_death_report &live);

    uint32_t stream_last_;
    std::vector<StreamTally> streams_;
    std::unordered_map<uint64_t, SignatureTally> signatures_;
    std::vector<uint64_t> window_;
    std::vector<Block> blocks_; // by address; empty unless blocks decide
    uint32_t block_clock_ = 0;  // wraps after 16 TiB; ages do not, below that
};

} // namespace cli
