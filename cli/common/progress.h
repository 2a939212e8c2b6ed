// SPDX-License-Identifier: Apache-2.0
// One line on standard error for work that lasts: share done, bytes, time left. Silent when
// standard error is not a terminal and during the first two seconds. Only the thread that owns it
// draws; the others advance counters.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace cli {

class Progress {
  public:
    explicit Progress(std::string what);
    ~Progress();
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    // Cheap enough for every thousand events; draws at most ten times a second.
    void show(uint64_t done_bytes, uint64_t total_bytes);

  private:
    using Clock = std::chrono::steady_clock;
    std::string what_;
    Clock::time_point begin_, drawn_;
    bool terminal_, visible_ = false;
};

} // namespace cli
