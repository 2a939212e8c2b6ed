// SPDX-License-Identifier: Apache-2.0
// What help and usage errors look like: 80 columns, and the name that was probably meant.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace cli {

// CLI11's layout, with every line wrapped at 80 columns. For the app before its commands are added: they inherit it.
std::shared_ptr<CLI::Formatter> narrow_help();

// Of `words` the one that `typed` is nearest to, if it is near; else "".
std::string nearest(const std::string &typed, const std::vector<std::string> &words);

// A sentence for a line that CLI11 refused with `error`: what was not expected, in the order in which it was given.
std::string usage_sentence(const CLI::App &app, const CLI::ParseError &error);

} // namespace cli
