// SPDX-License-Identifier: Apache-2.0
#include "inspect/inspect.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "common/failure.h"

namespace cli {

namespace {
// The first bytes of a state file (docs/formats/state.md). Anything else goes to the trace reader,
// whose refusals say what is wrong.
constexpr char STATE_MAGIC[] = "TRIBSTAT";
constexpr size_t MAGIC_BYTES = 8;

bool is_state(const std::string &path) {
    char magic[MAGIC_BYTES] = {};
    std::ifstream in(path, std::ios::binary);
    in.read(magic, sizeof magic);
    return in.gcount() == sizeof magic && std::memcmp(magic, STATE_MAGIC, sizeof magic) == 0;
}
} // namespace

void inspect(const InspectOptions &options) {
    if (is_state(options.file))
        inspect_state(options);
    else
        inspect_trace(options);
}

} // namespace cli
