// SPDX-License-Identifier: Apache-2.0
// Who may include whom (docs/architecture.md). The rooms of core meet only in the flow; adapters see public headers.
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

// A library's folder, and rooms that the files of a room may include, besides their own, those of the libraries below
// it that `base` stands for, and the public headers. Files beside the rooms of the engine are the flow, which joins
// them.
const std::map<std::string, std::map<std::string, Rooms>> kAllowed = {
    {"core/client", {{"base", {}}, {"signature", {}}, {"ring", {}}, {"producer", {"ring"}}, {"patch", {}}}},
    {"core/engine",
     {{"log", {}},
      {"symbol", {"signature"}},
      {"state", {}},
      {"lifetime", {"state"}},
      {"cluster", {}},
      {"policy", {"state", "lifetime", "cluster", "flash"}}, // flash: miniature simulations, decision 8
      {"drive", {"volume", "flash"}},
      {"volume", {}},
      {"flash", {}},
      {"trace", {}},
      {"recorder", {"ring", "producer"}}}},
    {"lab", {{"rivals", {"cluster"}}, {"workload", {}}, {"import", {}}, {"wrap", {"state"}}}},
};
const Rooms kEverywhere = {"base", "log"};

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

TEST_CASE("rooms include only what the architecture lets them") {
    unsigned checked = 0;
    for (const auto &[folder, rooms] : kAllowed) {
        const fs::path root = fs::path(TRIB_SOURCE_DIR) / folder;
        for (const auto &entry : fs::recursive_directory_iterator(root)) {
            if (!entry.is_regular_file() || !IsSource(entry.path()))
                continue;
            const fs::path relative = fs::relative(entry.path(), root);
            if (relative.has_parent_path() == false)
                continue; // the flow
            const std::string room = relative.begin()->string();
            INFO(folder << "/" << relative.string());
            REQUIRE(rooms.count(room) == 1);
            for (const std::string &include : QuotedIncludes(entry.path())) {
                const size_t slash = include.find('/');
                INFO("includes " << include);
                if (slash == std::string::npos) { // a neighbour, not the flow
                    CHECK(fs::exists(entry.path().parent_path() / include));
                    continue;
                }
                const std::string target = include.substr(0, slash);
                CHECK((target == room || kEverywhere.count(target) == 1 || rooms.at(room).count(target) == 1));
                CHECK_FALSE((folder == "core/client" && target == "log"));
                checked++;
            }
        }
    }
    CHECK(checked > 20);
}

TEST_CASE("rooms of the tool build on one another in one direction") {
    const std::map<std::string, Rooms> rooms = {{"common", {}},
                                                {"record", {"common"}},
                                                {"source", {"common"}},
                                                {"compare", {"common", "source"}},
                                                {"inspect", {"common", "source", "compare"}},
                                                {"lab", {"common", "source", "compare"}}};
    std::set<std::string> found;
    const fs::path root = fs::path(TRIB_SOURCE_DIR) / "cli";
    for (const auto &entry : fs::recursive_directory_iterator(root)) {
        const fs::path relative = fs::relative(entry.path(), root);
        if (!entry.is_regular_file() || !IsSource(entry.path()) || !relative.has_parent_path())
            continue;
        const std::string room = relative.begin()->string();
        INFO(relative.string());
        REQUIRE(rooms.count(room) == 1);
        found.insert(room);
        for (const std::string &include : QuotedIncludes(entry.path())) {
            const std::string target = include.substr(0, include.find('/'));
            INFO("includes " << include);
            CHECK((rooms.count(target) == 0 || target == room || rooms.at(room).count(target) == 1));
        }
    }
    CHECK(found.size() == rooms.size());
}

TEST_CASE("no folder has more files than a newcomer can take in") {
    std::map<std::string, unsigned> files;
    for (const char *top : {"core", "lab", "cli", "preload", "jni", "mysql-buffer-hook", "rocksdb-env"})
        for (const auto &entry : fs::recursive_directory_iterator(fs::path(TRIB_SOURCE_DIR) / top))
            if (entry.is_regular_file() && IsSource(entry.path()))
                files[entry.path().parent_path().string()]++;
    CHECK(files.size() > 30);
    for (const auto &[folder, count] : files) {
        INFO(folder << " has " << count << " files");
        CHECK(count <= 23);
    }
}

TEST_CASE("adapters, the tool and benchmarks see no insides") {
    // cli, bench and tests may also use trace, the two registries (and what those headers show), and the pure functions
    // that the tool measures and reproduces (clustering, FIOS's selection) or shares (what was mistyped).
    const std::map<std::string, Rooms> outside = {
        {"cli",
         {"trace/trace.h", "workload/workload.h", "import/import.h", "cluster/cluster.h", "rivals/fios/fios_select.h",
          "rivals/rivals.h", "ring/message.h", "wrap/trial.h", "base/options.h", "base/nearest.h", "recorder/address.h",
          "pipeline_options.h"}},
        // Adapters are linked with the client, hidden: its base and patching rooms are theirs, too ("room/": all of
        // it).
        {"rocksdb-env", {"base/line.h", "base/switched.h"}},
        {"preload", {"base/", "patch/", "producer/aside.h"}},
        {"mysql-buffer-hook", {"base/", "patch/", "signature/elf_image.h", "signature/own_stack.h"}},
        {"jni", {"base/", "patch/objects.h"}},
    };
    for (const auto &[folder, allowed] : outside) {
        const fs::path root = fs::path(TRIB_SOURCE_DIR) / folder;
        for (const auto &entry : fs::recursive_directory_iterator(root)) {
            if (!entry.is_regular_file() || !IsSource(entry.path()))
                continue;
            for (const std::string &include : QuotedIncludes(entry.path())) {
                bool is_inside = false;
                for (const auto &library : kAllowed)
                    is_inside = is_inside || fs::exists(fs::path(TRIB_SOURCE_DIR) / library.first / include);
                if (!is_inside || fs::exists(entry.path().parent_path() / include))
                    continue;
                INFO(entry.path().string() << " includes " << include);
                CHECK(allowed.count(include) + allowed.count(include.substr(0, include.find('/') + 1)) == 1);
            }
        }
    }
}
