// SPDX-License-Identifier: Apache-2.0
// Who may include whom (docs/architecture.md). The rooms of core meet only in the flow; doors see public headers.
#include "support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace fs = std::filesystem;

namespace {

using Rooms = std::set<std::string>;

// Rooms that the files of a room may include, besides their own, base and the public headers.
const std::map<std::string, Rooms> kAllowed = {
    {"base", {}},
    {"signature", {}},
    {"state", {}},
    {"lifetime", {"state"}},
    {"cluster", {}},
    {"policy", {"state", "lifetime", "cluster", "flash"}}, // flash: rehearsals, decision 8
    {"drive", {"volume", "flash"}},
    {"volume", {}},
    {"flash", {}},
    {"trace", {}},
    {"session", {}},
    {"workload", {}},
    {"import", {}},
};

std::set<std::string> QuotedIncludes(const fs::path &file) {
    static const std::regex pattern("^\\s*#\\s*include\\s*\"([^\"]+)\"");
    std::set<std::string> found;
    std::ifstream in(file);
    std::smatch match;
    for (std::string line; std::getline(in, line);)
        if (std::regex_search(line, match, pattern))
            found.insert(match[1]);
    return found;
}

bool IsSource(const fs::path &path) {
    static const Rooms endings = {".c", ".h", ".cc", ".cpp", ".hpp"};
    return endings.count(path.extension().string()) > 0;
}

} // namespace

TEST_CASE("rooms of core include only what the architecture lets them") {
    const fs::path src = fs::path(TRIB_SOURCE_DIR) / "core" / "src";
    unsigned checked = 0;
    for (const auto &entry : fs::recursive_directory_iterator(src)) {
        if (!entry.is_regular_file() || !IsSource(entry.path()))
            continue;
        const fs::path relative = fs::relative(entry.path(), src);
        if (relative.has_parent_path() == false)
            continue; // the flow joins the rooms
        const std::string room = relative.begin()->string();
        REQUIRE(kAllowed.count(room) == 1);
        for (const std::string &include : QuotedIncludes(entry.path())) {
            const size_t slash = include.find('/');
            INFO(relative.string() << " includes " << include);
            if (slash == std::string::npos) { // a neighbour, not the flow
                CHECK(fs::exists(entry.path().parent_path() / include));
                continue;
            }
            const std::string target = include.substr(0, slash);
            CHECK((target == room || target == "base" || kAllowed.at(room).count(target) == 1));
            checked++;
        }
    }
    CHECK(checked > 20);
}

TEST_CASE("doors, the tool and benchmarks see no insides") {
    // cli, bench and tests may also use trace, the two registries (and what those headers show), and the pure functions
    // that the tool measures and reproduces: clustering, FIOS's selection.
    const std::map<std::string, Rooms> outside = {
        {"cli",
         {"trace/trace.h", "policy/policy.h", "drive/drive.h", "workload/workload.h", "import/import.h",
          "cluster/cluster.h", "policy/fios_select.h",
          "base/options.h", "pipeline_options.h"}},
        {"rocksdb-env", {}},
        {"preload", {}},
        {"mysql-buffer-hook", {}},
        {"jni", {}},
    };
    for (const auto &[folder, allowed] : outside) {
        const fs::path root = fs::path(TRIB_SOURCE_DIR) / folder;
        for (const auto &entry : fs::recursive_directory_iterator(root)) {
            if (!entry.is_regular_file() || !IsSource(entry.path()))
                continue;
            for (const std::string &include : QuotedIncludes(entry.path())) {
                const fs::path core = fs::path(TRIB_SOURCE_DIR) / "core" / "src" / include;
                if (!fs::exists(core) || fs::exists(entry.path().parent_path() / include))
                    continue;
                INFO(entry.path().string() << " includes " << include);
                CHECK(allowed.count(include) == 1);
            }
        }
    }
}
