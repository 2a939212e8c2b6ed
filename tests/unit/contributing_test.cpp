// SPDX-License-Identifier: Apache-2.0
// CONTRIBUTING.md says which file to edit: every path is there, and what is listed is listed in that file alone. And
// what the other pages name is there.
#include "support/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <glob.h>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

using Cells = std::vector<std::string>;

std::vector<Cells> Table() {
    std::vector<Cells> rows;
    std::ifstream in(TRIB_SOURCE_DIR "/CONTRIBUTING.md");
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("| ", 0) != 0)
            continue;
        Cells cells;
        for (size_t at = 2, end; (end = line.find(" |", at)) != std::string::npos; at = end + 3)
            cells.push_back(line.substr(at, end - at));
        rows.push_back(cells);
    }
    return rows;
}

// `a/b.c` in backquotes; not commands or options. NAME and ROOM stand for any: then the folder must be there.
std::vector<std::string> PathsOf(const std::string &cell) {
    static const std::regex quoted("`([A-Za-z][-A-Za-z0-9_./]*/[-A-Za-z0-9_./]*)`");
    std::vector<std::string> paths;
    for (auto at = std::sregex_iterator(cell.begin(), cell.end(), quoted); at != std::sregex_iterator(); ++at) {
        std::string path = (*at)[1];
        const size_t any = std::min(path.find("NAME"), path.find("ROOM"));
        paths.push_back(any == std::string::npos ? path : path.substr(0, any));
    }
    return paths;
}

std::string TextOf(const fs::path &path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
}

// Without blocks of commands, which have files of their own.
std::string ProseOf(const fs::path &page) {
    std::ifstream in(page);
    std::string text;
    bool is_block = false;
    for (std::string line; std::getline(in, line);) {
        const bool is_fence = line.rfind("```", 0) == 0;
        is_block = is_block != is_fence;
        text += is_block || is_fence ? "\n" : line + "\n";
    }
    return text;
}

std::vector<fs::path> Pages() {
    const fs::path root = TRIB_SOURCE_DIR;
    std::vector<fs::path> pages = {root / "README.md", root / "CONTRIBUTING.md"};
    for (const char *folder : {"docs", "bench"})
        for (const auto &entry : fs::recursive_directory_iterator(root / folder))
            if (entry.path().extension() == ".md")
                pages.push_back(entry.path());
    return pages;
}

bool IsThere(const std::string &pattern) {
    glob_t found;
    const bool is_there = glob(pattern.c_str(), GLOB_BRACE, nullptr, &found) == 0;
    globfree(&found);
    return is_there;
}

// What each list looks like where it is made, and where the table says it is.
struct List {
    const char *row;     // of the table
    const char *pattern; // of the definition
    std::set<std::string> files;
};
const std::vector<List> kLists = {
    {"a policy",
     R"(const struct trib_policy \*(const )?\w+\[[A-Z_+ 1]*\] = \{)",
     {"core/engine/policy/registry.c", "lab/rivals/pack.c"}},
    {"a drive", R"(const struct trib_drive \*const \w+\[\] = \{)", {"core/engine/drive/registry.c"}},
    {"a destination of survivors (`gc=`)", R"(trib_gc_rules\[[A-Z_]*\] = \{)", {"core/engine/flash/rules.c"}},
    {"a victim rule (`victim=`)", R"(trib_victim_rules\[[A-Z_]*\] = \{)", {"core/engine/flash/rules.c"}},
    {"a kind of file", R"(static const struct rule rules\[\] = \{)", {"core/client/base/kinds.c"}},
    {"an option of every pipeline", R"(trib_option_spec trib_pipeline_options\[\] = \{)", {"core/engine/assembly.c"}},
    {"a counter of the status", R"(static const struct field fields\[\] = \{)", {"core/engine/status.c"}},
    {"a message between program and daemon", R"(TRIB_REQUEST_JOIN = )", {"core/client/ring/message.h"}},
    {"an event of the JVM that is listened to", R"(static const jvmtiEvent events\[\] = \{)", {"jni/src/life.c"}},
    {"a server whose front ends are hooked",
     R"(== TRIB_SERVER_MYSQL \? &trib_front_mysql)",
     {"mysql-buffer-hook/src/server/front.c"}},
    {"a generator of work", R"(const struct trib_workload_kind \*const \w+\[\] = \{)", {"lab/workload/registry.c"}},
    {"a reader of public traces", R"(const struct trib_import_format \*const \w+\[\] = \{)", {"lab/import/registry.c"}},
};

} // namespace

TEST_CASE("every path of the table is there") {
    unsigned paths = 0;
    for (const Cells &cells : Table())
        for (const std::string &cell : cells)
            for (const std::string &path : PathsOf(cell)) {
                INFO(path);
                CHECK(fs::exists(fs::path(TRIB_SOURCE_DIR) / path));
                paths++;
            }
    CHECK(paths > 40);
}

TEST_CASE("the files that a page names and links to are there") {
    // `folder/file` of this tree, not of an installation or of another program; up to what stands for anything.
    static const std::regex quoted("`([a-z][-a-z]*/[-A-Za-z0-9_./*{},]*)[^`\n]*`"),
        link("\\]\\(([^)#:\n]+)[^)\n:]*\\)");
    static const std::set<std::string> folders = {
        "bench",     "cli",     "cmake",       "core",    "docs", "jni", "lab", "mysql-buffer-hook",
        "packaging", "preload", "rocksdb-env", "scripts", "tests"};
    unsigned paths = 0, links = 0;
    for (const fs::path &page : Pages()) {
        const std::string text = ProseOf(page);
        for (auto at = std::sregex_iterator(text.begin(), text.end(), quoted); at != std::sregex_iterator(); ++at) {
            const std::string path = (*at)[1];
            if (folders.count(path.substr(0, path.find('/'))) == 0)
                continue;
            INFO(page << ": " << path);
            const size_t any = std::min({path.find("NAME"), path.find("ROOM"), path.find("...")});
            CHECK(IsThere(TRIB_SOURCE_DIR "/" + path.substr(0, any)));
            paths++;
        }
        for (auto at = std::sregex_iterator(text.begin(), text.end(), link); at != std::sregex_iterator(); ++at) {
            INFO(page << ": " << (*at)[1]);
            CHECK(fs::exists(page.parent_path() / std::string((*at)[1])));
            links++;
        }
    }
    CHECK(paths > 150);
    CHECK(links > 50);
}

TEST_CASE("each list is made in the file that the table names, and nowhere else") {
    const std::vector<Cells> table = Table();
    for (const List &list : kLists) {
        const auto row =
            std::find_if(table.begin(), table.end(), [&](const Cells &cells) { return cells[0] == list.row; });
        INFO(list.row);
        REQUIRE(row != table.end());
        REQUIRE(row->size() >= 3);
        const std::vector<std::string> named = PathsOf((*row)[2]);
        REQUIRE(named.size() == 1);
        CHECK(list.files.count(named[0]) == 1);
        const std::regex pattern(list.pattern);
        bool is_there = false;
        for (const char *folder : {"core", "lab", "cli", "preload", "jni", "mysql-buffer-hook", "rocksdb-env"})
            for (const auto &entry : fs::recursive_directory_iterator(fs::path(TRIB_SOURCE_DIR) / folder)) {
                const std::string ending = entry.path().extension().string();
                if (!entry.is_regular_file() || (ending != ".c" && ending != ".h" && ending != ".cpp"))
                    continue;
                if (!std::regex_search(TextOf(entry.path()), pattern))
                    continue;
                const std::string path = fs::relative(entry.path(), TRIB_SOURCE_DIR).string();
                INFO(path);
                CHECK(list.files.count(path) == 1);
                is_there = is_there || path == named[0];
            }
        CHECK(is_there);
    }
}
