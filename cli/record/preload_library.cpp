// SPDX-License-Identifier: Apache-2.0
#include "record/preload_library.h"

#include <filesystem>
#include <unistd.h>
#include <vector>

#include <tributary/client.h>

#include "common/failure.h"

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

std::string not_covered(const std::string &file) {
    trib_uncovered why = trib_program_uncovered(file.c_str());
    return why ? file + " (" + trib_uncovered_name(why) + ")" : "";
}

} // namespace cli
