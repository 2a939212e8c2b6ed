// SPDX-License-Identifier: Apache-2.0
// A folder of a test's own, gone at its end, and what its files hold.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace trib_test {

class Folder {
  public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "tributary-XXXXXX").string();
        if (!mkdtemp(name.data()))
            throw std::runtime_error("mkdtemp failed");
        path_ = name;
    }
    ~Folder() {
        std::filesystem::remove_all(path_);
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    std::string file(const std::string &name) const {
        return (path_ / name).string();
    }
    std::string operator/(const std::string &name) const {
        return file(name);
    }
    static size_t files_in(const std::filesystem::path &path) {
        return static_cast<size_t>(
            std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
    }
    size_t files() const {
        return files_in(path_);
    }

  private:
    std::filesystem::path path_;
};

inline std::string read_file(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

} // namespace trib_test
