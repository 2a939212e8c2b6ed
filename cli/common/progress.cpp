// SPDX-License-Identifier: Apache-2.0
#include "common/progress.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "common/table.h"

namespace cli {

namespace {
constexpr double QUIET_SECONDS = 2.0, INTERVAL_SECONDS = 0.1;
constexpr unsigned BAR_COLUMNS = 24;

std::string minutes(double seconds) {
    auto whole = static_cast<unsigned long>(seconds + 0.5);
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}
} // namespace

Progress::Progress(std::string what)
    : what_(std::move(what)), begin_(Clock::now()), drawn_(begin_), terminal_(isatty(STDERR_FILENO) != 0) {
}

Progress::~Progress() {
    if (visible_) {
        std::fputs("\r\033[K", stderr);
        std::fflush(stderr);
    }
}

void Progress::show(uint64_t done_bytes, uint64_t total_bytes) {
    if (!terminal_ || total_bytes == 0)
        return;
    Clock::time_point now = Clock::now();
    double elapsed = std::chrono::duration<double>(now - begin_).count();
    if (elapsed < QUIET_SECONDS || std::chrono::duration<double>(now - drawn_).count() < INTERVAL_SECONDS)
        return;
    drawn_ = now;
    visible_ = true;
    double share = std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
    std::string left = share > 0.01 ? minutes(elapsed * (1 - share) / share) + " left" : "";
    auto filled = static_cast<size_t>(share * BAR_COLUMNS);
    fmt::print(stderr, "\r\033[K{} [{:<{}}] {:3.0f} % of {} {}", what_, std::string(filled, '='), BAR_COLUMNS,
               share * 100, size_text(static_cast<double>(total_bytes)), left);
    std::fflush(stderr);
}

} // namespace cli
