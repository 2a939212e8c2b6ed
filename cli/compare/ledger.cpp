// SPDX-License-Identifier: Apache-2.0
#include "compare/ledger.h"

#include <algorithm>

namespace cli {

// Bounds the memory of a run over a hostile trace; what is beyond it shares the row of key 0.
static constexpr size_t SIGNATURES_MAX = 16384;

Ledger::Ledger(trib_trial *trial, uint32_t stream_last, uint64_t blocks) : stream_last_(stream_last), blocks_(blocks) {
    trib_observer observer = {};
    observer.arg = this;
    observer.wrote = [](void *arg, const trib_write_report *w) { static_cast<Ledger *>(arg)->wrote(*w); };
    observer.died = [](void *arg, const trib_death_report *d) { static_cast<Ledger *>(arg)->died(*d); };
    if (blocks) {
        observer.block_wrote = [](void *arg, uint64_t lba, uint64_t count, uint16_t number) {
            static_cast<Ledger *>(arg)->block_wrote(lba, count, number);
        };
        observer.block_discarded = [](void *arg, uint64_t lba, uint64_t count) {
            auto *self = static_cast<Ledger *>(arg);
            for (uint64_t i = 0; i < count; i++)
                self->block_died(self->blocks_.at(lba + i));
        };
    }
    trib_trial_observe(trial, &observer);
}

std::vector<uint64_t> Ledger::take_window() {
    std::vector<uint64_t> window(window_.size());
    window.swap(window_);
    return window;
}

StreamTally &Ledger::stream(uint16_t number) {
    if (number >= streams_.size())
        streams_.resize(size_t{number} + 1);
    return streams_[number];
}

SignatureTally &Ledger::signature(uint64_t key, const trib_context &who) {
    auto found = signatures_.find(key);
    if (found != signatures_.end())
        return found->second;
    if (signatures_.size() >= SIGNATURES_MAX)
        return signatures_[0];
    SignatureTally &row = signatures_[key];
    row.key = key;
    row.who = who;
    return row;
}

void Ledger::went(uint16_t number, uint64_t bytes) {
    stream(number).written_bytes += bytes;
    if (number >= window_.size())
        window_.resize(size_t{number} + 1);
    window_[number] += bytes;
}

void Ledger::wrote(const trib_write_report &write) {
    uint16_t number = shown_stream(write.stream);
    SignatureTally &row = signature(write.key, write.who);
    row.written_bytes += write.length_bytes;
    row.stream = number;
    if (blocks_.empty())
        went(number, write.length_bytes);
}

void Ledger::died(const trib_death_report &death) {
    auto add = [&](Tally &tally) {
        tally.died_bytes += death.length_bytes;
        tally.lifetimes.add(death.age_bytes, death.length_bytes);
    };
    add(signature(death.key, death.who));
    if (blocks_.empty())
        add(stream(shown_stream(death.stream)));
}

void Ledger::block_wrote(uint64_t lba, uint64_t count, uint16_t number) {
    number = shown_stream(number);
    went(number, count * TRIB_BLOCK_BYTES);
    for (uint64_t i = 0; i < count; i++) {
        Block &block = blocks_.at(lba + i);
        block_died(block);
        block.written = ++block_clock_;
        block.stream = number;
    }
}

void Ledger::block_died(Block &block) {
    if (!block.written)
        return;
    StreamTally &tally = stream(block.stream);
    tally.died_bytes += TRIB_BLOCK_BYTES;
    tally.lifetimes.add(uint64_t{block_clock_ - block.written + 1} * TRIB_BLOCK_BYTES, TRIB_BLOCK_BYTES);
    block.written = 0;
}

void Ledger::visit_live(const trib_death_report &live) {
    signature(live.key, live.who).live_bytes += live.length_bytes;
    if (blocks_.empty())
        stream(shown_stream(live.stream)).live_bytes += live.length_bytes;
}

void Ledger::finish(trib_pipeline *pipeline, RunResult &result) {
    trib_pipeline_visit_live(
        pipeline, [](void *arg, const trib_death_report *live) { static_cast<Ledger *>(arg)->visit_live(*live); },
        this);
    for (const Block &block : blocks_)
        if (block.written)
            stream(block.stream).live_bytes += TRIB_BLOCK_BYTES;
    for (size_t i = 0; i < streams_.size(); i++) {
        streams_[i].stream = static_cast<uint16_t>(i);
        if (streams_[i].written_bytes)
            result.streams.push_back(std::move(streams_[i]));
    }
    for (auto &row : signatures_)
        result.signatures.push_back(std::move(row.second));
    std::sort(result.signatures.begin(), result.signatures.end(), [](const auto &a, const auto &b) {
        return a.written_bytes != b.written_bytes ? a.written_bytes > b.written_bytes : a.key < b.key;
    });
}

} // namespace cli
