// SPDX-License-Identifier: Apache-2.0
// Files that an option names for results: a trace, or anything else that is there, is never written over. Reads only;
// no state.
#pragma once

#include <string>

namespace cli {

enum class OutputForm { json, drive_dump };

// What is at `path` may be replaced: nothing, an empty file, or what such an option wrote before. Throws Failure,
// before any work is done, that names `option` ("--json"). "" and "-" are standard output.
void check_output(const std::string &option, const std::string &path, OutputForm form);

// Whether both name one file; false for "", and where either is not there and the names differ.
bool is_same_file(const std::string &a, const std::string &b);

} // namespace cli
