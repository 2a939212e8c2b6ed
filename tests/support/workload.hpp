// SPDX-License-Identifier: Apache-2.0
// A workload as tests look at it: opened from a text, every event checked on the way for what all
// workloads promise.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "workload/workload.h"

namespace trib_test {

class Workload {
  public:
    Workload(const std::string &name, const std::string &options) {
        trib_error error = {};
        int rc = trib_workload_open(&workload_, name.c_str(), options.c_str(), &error);
        INFO(error.text);
        REQUIRE(rc == 0);
        trib_workload_describe(workload_, &description_);
    }
    ~Workload() {
        trib_workload_close(workload_);
    }
    Workload(const Workload &) = delete;
    Workload &operator=(const Workload &) = delete;

    bool next() {
        int rc = trib_workload_next(workload_, &event_);
        REQUIRE(rc >= 0);
        if (rc == 1)
            check();
        return rc == 1;
    }
    const trib_event &event() const {
        return event_;
    }
    const trib_workload_description &description() const {
        return description_;
    }
    uint64_t live_bytes_peak() const {
        return live_peak_;
    }
    uint64_t written_bytes() const {
        return clock_;
    }

  private:
    // No assertion where all is well: there are millions of events.
    void check() {
        bool sound = event_.clock_bytes == clock_;
        if (event_.kind == TRIB_EVENT_WRITE) {
            sound = sound && event_.length_bytes && event_.length_bytes % TRIB_BLOCK_BYTES == 0 &&
                    event_.offset_bytes % TRIB_BLOCK_BYTES == 0 && !dead_.count(event_.file) && event_.who.signature;
            clock_ += event_.length_bytes;
            uint64_t &end = ends_[event_.file];
            uint64_t reached = event_.offset_bytes + event_.length_bytes;
            if (reached > end) {
                live_ += reached - end;
                end = reached;
            }
            live_peak_ = std::max(live_peak_, live_);
        } else {
            auto found = ends_.find(event_.file);
            sound = sound && event_.kind == TRIB_EVENT_DEATH && event_.file && found != ends_.end();
            if (found != ends_.end()) {
                live_ -= found->second;
                ends_.erase(found);
            }
            dead_.insert(event_.file);
        }
        if (sound)
            return;
        FAIL("event " << int(event_.kind) << " of file " << event_.file << ": " << event_.length_bytes << " bytes at "
                      << event_.offset_bytes);
    }

    trib_workload *workload_ = nullptr;
    trib_workload_description description_ = {};
    trib_event event_ = {};
    std::map<uint64_t, uint64_t> ends_;
    std::set<uint64_t> dead_;
    uint64_t clock_ = 0, live_ = 0, live_peak_ = 0;
};

inline std::string open_failure(const std::string &name, const std::string &options) {
    trib_workload *workload = nullptr;
    trib_error error = {};
    REQUIRE(trib_workload_open(&workload, name.c_str(), options.c_str(), &error) == -EINVAL);
    REQUIRE(workload == nullptr);
    return error.text;
}

} // namespace trib_test
