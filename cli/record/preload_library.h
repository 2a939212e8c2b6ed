// SPDX-License-Identifier: Apache-2.0
// Which library goes into a command's processes, and can it? Reads files only.
#pragma once

#include <string>

namespace cli {

// `given`, or libtributary-preload.so beside this program as built or installed. Throws Failure.
std::string find_preload(const std::string &given);

// "path (why)" if the command in this file will tell nothing (tributary/client.h), or "". Only of the command
// itself: what it starts, its processes say.
std::string not_covered(const std::string &file);

} // namespace cli
