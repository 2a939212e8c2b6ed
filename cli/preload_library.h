// SPDX-License-Identifier: Apache-2.0
// Which library goes into a command's processes, and can it? Reads files only.
#pragma once

#include <string>

namespace cli {

// `given`, or libtributary-preload.so beside this program as built or installed. Throws Failure.
std::string find_preload(const std::string &given);

// Why the loader will not put a library into this command ("statically linked", "setuid"), or "".
// Only of the command itself: what it starts is not known before.
std::string not_covered(const std::string &command);

} // namespace cli
