// SPDX-License-Identifier: Apache-2.0
// State files of tests: a folder that goes away with the test, whole-file reads and writes, opening
// with defaults. The offsets are those of docs/formats/state.md.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "state/state.h"
#include "support/folder.hpp"

namespace state_file {

constexpr size_t kVersionOffset = 8, kByteOrderOffset = 16, kAttributesOffset = 32, kChecksumOffset = 88;
constexpr size_t kRetiredOffset = 20, kLockOffset = 128, kClockOffset = 192, kRowsUsedOffset = 280, kRowsOffset = 4096;

using trib_test::Folder;

inline std::string read_all(const std::string &path) {
    return trib_test::read_file(path);
}

inline void write_all(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    ::chmod(path.c_str(), 0600); // whatever the umask: a file that others may write is refused
}

inline int open(trib_state **out, const std::string &path, trib_error *error = nullptr, uint32_t attributes = 16,
                uint32_t runs = 1000) {
    trib_state_config config = {path.c_str(), attributes, runs};
    return trib_state_open(out, &config, error);
}

} // namespace state_file
