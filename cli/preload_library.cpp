// SPDX-License-Identifier: Apache-2.0
#include "preload_library.h"

#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

#include "failure.h"

namespace cli {

namespace fs = std::filesystem;

std::string find_preload(const std::string &given) {
    std::vector<fs::path> candidates;
    std::error_code ignored;
    if (!given.empty()) {
        candidates.push_back(fs::absolute(given));
    } else {
        fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path();
        for (const char *place : {"../preload", TRIB_LIBDIR_FROM_BINDIR})
            candidates.push_back((folder / place / "libtributary-preload.so").lexically_normal());
    }
    std::string sought;
    for (const fs::path &candidate : candidates) {
        std::string path = candidate.string();
        if (access(path.c_str(), R_OK) == 0 && path.find_first_of(" :") == std::string::npos)
            return path;
        sought += (sought.empty() ? "" : ", ") + path;
    }
    throw Failure(EXIT_RUNTIME, "libtributary-preload.so is not at " + sought +
                                    " (or its path has a space or colon); build or install it, "
                                    "or name it with --preload");
}

namespace {

std::string resolved(const std::string &command) {
    if (command.find('/') != std::string::npos)
        return command;
    const char *path = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    std::istringstream folders(path ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::string file = (folder.empty() ? "." : folder) + "/" + command;
        if (access(file.c_str(), X_OK) == 0)
            return file;
    }
    return "";
}

bool is_static(const std::string &file) {
    std::ifstream in(file, std::ios::binary);
    Elf64_Ehdr header = {};
    in.read(reinterpret_cast<char *>(&header), sizeof header);
    if (!in || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
        return false; // a script: its interpreter is another matter
    in.seekg(static_cast<std::streamoff>(header.e_phoff));
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment = {};
        in.read(reinterpret_cast<char *>(&segment), sizeof segment);
        if (!in || segment.p_type == PT_INTERP)
            return false;
    }
    return true;
}

} // namespace

std::string not_covered(const std::string &command) {
    std::string file = resolved(command);
    struct stat status = {};
    if (file.empty() || stat(file.c_str(), &status) != 0)
        return "";
    if ((status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
        (status.st_mode & S_ISGID && status.st_gid != getegid()))
        return file + " is setuid or setgid";
    if (geteuid() != 0 && getxattr(file.c_str(), "security.capability", nullptr, 0) > 0)
        return file + " has file capabilities";
    return is_static(file) ? file + " is statically linked" : "";
}

} // namespace cli
