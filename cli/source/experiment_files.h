// SPDX-License-Identifier: Apache-2.0
// The committed experiments: where they are installed, and which of a folder's files are workloads.
#pragma once

#include <string>
#include <vector>

namespace cli {

// share/tributary/experiments beside the running program, or bench/experiments of the source tree
// that it was built from. Throws Failure when there is neither.
std::string experiment_folder();

// Files as given, and of each folder the *.ini that say what is written ([workload] or [trace]) and
// not how an engine is run, by name. Nothing given: experiment_folder(). Throws Failure for a path
// that does not exist and when no file is left.
std::vector<std::string> experiment_files(const std::vector<std::string> &given);

} // namespace cli
