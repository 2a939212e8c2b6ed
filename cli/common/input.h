// SPDX-License-Identifier: Apache-2.0
// A file to read, decompressed on the way if its name ends in .gz or .zst. One owner.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace cli {

class Input {
  public:
    // Throws Failure: not there, a pipe, a directory.
    explicit Input(const std::string &path);
    ~Input();
    Input(const Input &) = delete;
    Input &operator=(const Input &) = delete;

    FILE *stream() const { // plain bytes, front to back
        return stream_;
    }
    uint64_t position_bytes() const; // in the file as it lies there
    uint64_t size_bytes() const {
        return size_bytes_;
    }

    struct Codec; // of a compressed file

  private:
    std::unique_ptr<Codec> codec_;
    FILE *stream_ = nullptr;
    uint64_t size_bytes_ = 0;
};

// A path whose bytes are plain: the given one, or of an anonymous file in memory that holds the
// decompressed content and lives as long as this object. For readers that take paths.
class PlainPath {
  public:
    explicit PlainPath(const std::string &path); // throws Failure
    ~PlainPath();
    PlainPath(const PlainPath &) = delete;
    PlainPath &operator=(const PlainPath &) = delete;
    const std::string &path() const {
        return path_;
    }

  private:
    std::string path_;
    int descriptor_ = -1;
};

bool is_compressed(const std::string &path); // by its name

} // namespace cli
