// SPDX-License-Identifier: Apache-2.0
#include "common/output_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include "common/failure.h"

namespace cli {

namespace {

constexpr size_t HEAD_BYTES = 256;

[[noreturn]] void fail(const std::string &option, const std::string &path, const std::string &why) {
    throw Failure(EXIT_USAGE, option + ": '" + path + "' " + why);
}

void check_folder(const std::string &option, const std::string &path) {
    std::string folder = std::filesystem::path(path).parent_path().string();
    if (folder.empty())
        folder = ".";
    if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
        throw Failure(EXIT_RUNTIME, option + ": cannot write '" + path + "': " + std::strerror(errno));
}

std::string head_of(const std::string &option, const std::string &path) {
    char bytes[HEAD_BYTES];
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    const int error = errno;
    if (fd >= 0)
        close(fd);
    if (got < 0)
        fail(option, path,
             std::string("is there and cannot be read (") + std::strerror(error) +
                 "): move it away, or name another file");
    return {bytes, static_cast<size_t>(got)};
}

bool has_form(const std::string &head, OutputForm form) {
    if (head.empty())
        return true;
    if (form == OutputForm::drive_dump)
        return head[0] == '{' && head.find("\"tributary-drive-dump\"") != std::string::npos;
    return head[0] == '{' || head[0] == '[';
}

} // namespace

void check_output(const std::string &option, const std::string &path, OutputForm form) {
    struct stat status = {};
    if (path.empty() || path == "-")
        return;
    if (stat(path.c_str(), &status) != 0) {
        if (errno == ENOENT)
            return check_folder(option, path);
        throw Failure(EXIT_RUNTIME, option + ": cannot write '" + path + "': " + std::strerror(errno));
    }
    if (S_ISDIR(status.st_mode))
        fail(option, path, "is a folder: name a file");
    if (!S_ISREG(status.st_mode))
        return;                 // a pipe or device holds nothing
    check_folder(option, path); // it is replaced there
    if (!has_form(head_of(option, path), form))
        fail(option, path,
             form == OutputForm::json ? "is there and is no JSON: move it away, or name another file"
                                      : "is there and is no dump of a drive: move it away, or name another file");
}

bool is_same_file(const std::string &a, const std::string &b) {
    struct stat one = {}, other = {};
    if (a.empty() || b.empty())
        return false;
    if (stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0)
        return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    return std::filesystem::absolute(a).lexically_normal() == std::filesystem::absolute(b).lexically_normal();
}

} // namespace cli
