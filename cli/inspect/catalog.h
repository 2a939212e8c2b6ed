// SPDX-License-Identifier: Apache-2.0
// What there is to choose from: `trib policies`, `trib drive`, `trib workloads`, `trib options`,
// `trib version`. Everything comes from the registries and their option tables.
#pragma once

#include <string>
#include <vector>

namespace cli {

enum class Form { text, json, names, markdown };

void list_policies(Form form);
void list_drives(Form form);
void describe_drive(const std::string &name, const std::vector<std::string> &options,
                    bool json); // throws Failure
void list_workloads(Form form); // and the readers of public traces
void list_options(Form form);
void list_values(const std::string &key); // of a drive's option that has a list of them; throws Failure
void print_version(bool json);

} // namespace cli
