// SPDX-License-Identifier: Apache-2.0
// Flags that several commands share. Each fills what it is given while the line is read.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

namespace cli {

// --json alone means standard output, --json=FILE a file, which is looked at before anything is done.
CLI::Option *add_json_option(CLI::App *command, std::optional<std::string> &json);

// --policy-pack FILE: loaded as soon as it is read, so that the rest of the line may name its policies.
void add_policy_packs(CLI::App *command);

} // namespace cli
