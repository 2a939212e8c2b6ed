// SPDX-License-Identifier: Apache-2.0
#include "record/address.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

#include "common/failure.h"
#include "recorder/address.h"

namespace cli {

namespace {

bool has_runtime_variable() {
    const char *runtime = std::getenv("XDG_RUNTIME_DIR"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    return geteuid() != 0 && runtime && runtime[0] == '/';
}

// In a sticky /tmp nobody can remove what another user made there.
std::string folder_advice(const std::string &folder) {
    if (has_runtime_variable())
        return "it is from XDG_RUNTIME_DIR: set that to a folder of this user, or unset it";
    struct stat status = {};
    const bool is_ours = lstat(folder.c_str(), &status) == 0 && status.st_uid == geteuid();
    return geteuid() == 0 || is_ours ? "remove it, or name the socket with --address"
                                     : "set XDG_RUNTIME_DIR to a folder of this user, also for the programs that join, "
                                       "or name the socket with --address";
}

void make_folder(const std::string &folder) {
    struct stat status = {};
    if (mkdir(folder.c_str(), geteuid() == 0 ? 0755 : 0700) != 0 && errno != EEXIST)
        throw Failure(EXIT_RUNTIME, folder + ": " + std::strerror(errno) +
                                        (has_runtime_variable() ? "; " + folder_advice(folder) : ""));
    bool is_ours = lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
                   !(status.st_mode & (S_IWGRP | S_IWOTH));
    if (!is_ours)
        throw Failure(EXIT_RUNTIME,
                      folder + ": not a folder of this user that nobody else may write; " + folder_advice(folder));
}

} // namespace

std::string daemon_folder() {
    const char *runtime = std::getenv("XDG_RUNTIME_DIR"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    if (geteuid() == 0)
        return TRIB_ADDRESS_FOLDER;
    if (runtime && runtime[0] == '/')
        return std::string(runtime) + "/tributary";
    return fmt::format("/tmp/tributary-{}", geteuid());
}

std::string daemon_address(const std::string &name, bool make) {
    if (!name.empty() && name[0] == '/')
        return name;
    const bool has_slash = name.find('/') != std::string::npos;
    const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (name.empty() || name[0] == '.' || name.find_first_not_of(letters) != std::string::npos)
        throw Failure(EXIT_USAGE, "'" + name + "' is no name for a daemon: letters, digits, '-', '_' and '.'" +
                                      (has_slash ? "; a socket's path begins with '/'" : ""));
    if (make)
        make_folder(daemon_folder());
    return daemon_folder() + "/" + name + ".sock";
}

std::string daemon_name(const std::string &address) {
    std::string name(address.size() + 1, '\0');
    trib_address_name(name.data(), name.size(), address.c_str(), daemon_folder().c_str());
    name.resize(std::strlen(name.c_str()));
    return name;
}

std::string fresh_address() {
    std::random_device random;
    uint64_t unique = static_cast<uint64_t>(random()) << 32 | random();
    return fmt::format("/tmp/tributary-{}-{:016x}.sock", getpid(), unique);
}

} // namespace cli
