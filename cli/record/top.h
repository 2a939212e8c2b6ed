// SPDX-License-Identifier: Apache-2.0
// `trib top`: what a daemon's status says, as tables: call paths, streams, processes. The screen (top_screen.cpp) draws
// the same lines that --once prints.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/json.h"

namespace cli {

enum class TopOrder { bytes, lifetime, stream };

struct TopOptions {
    std::string name = "default";
    bool once = false;
    double interval_seconds = 2;
};

// Names of code addresses, looked up once each.
class Symbols {
  public:
    // "function" or "module+0x12"; of a call path: "inner < outer < ...".
    std::string name_of(const Json &frame);
    std::string path_of(const Json &row);

  private:
    std::map<std::pair<std::string, uint64_t>, std::string> names_;
};

// At most `rows` of each table (0: all), lines of at most `width` columns of printable ASCII.
struct TopPage {
    TopOrder order = TopOrder::bytes;
    unsigned width = 80;
    size_t rows = 0;
};
std::vector<std::string> top_lines(const Json &status, const std::string &address, const TopPage &page,
                                   Symbols &symbols);

Json top_status(const std::string &address); // throws Failure: nobody answers

int top(const TopOptions &options);
int top_screen(const std::string &address, double interval_seconds); // until q

} // namespace cli
