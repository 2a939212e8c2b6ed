// SPDX-License-Identifier: Apache-2.0
// What a library that goes into other people's processes shows them: the calls that it stands in front of, its
// interface, and nothing of the client or the engine that a program or another library could bind to; and that it
// brings no library along.
#include "support/catch.hpp"

#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "support/process.hpp"
#include "support/skip.hpp"

namespace {

using namespace trib_test;

enum class Kind { hooks, plugin, silent }; // stands in front of calls; has an interface only; exports nothing

struct Library {
    std::string file;
    Kind kind;
    std::string interface, needed; // what it may export besides, and load
};
const std::vector<Library> kLibraries = {EXPORTS_INTERFACES};

// The template's names, without the wildcards.
std::set<std::string> interposed() {
    const std::string text = read_file(EXPORTS_TEMPLATE);
    const std::string names = text.substr(text.find("global:") + 7, text.find("local:") - text.find("global:") - 7);
    std::set<std::string> found;
    std::stringstream words(names);
    for (std::string word; words >> word;)
        found.insert(word.substr(0, word.find(';')));
    return found;
}

std::set<std::string> exported(const std::string &library) {
    const Outcome outcome = run({"nm", "-D", "--defined-only", library});
    REQUIRE(outcome.code == 0);
    std::set<std::string> found;
    std::stringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
        found.insert(line.substr(line.rfind(' ') + 1));
    return found;
}

std::vector<std::string> needed_by(const std::string &library) {
    const Outcome outcome = run({"readelf", "-Wd", library});
    REQUIRE(outcome.code == 0);
    std::vector<std::string> found;
    std::stringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
        if (line.find("(NEEDED)") != std::string::npos)
            found.push_back(line.substr(line.find('[') + 1, line.rfind(']') - line.find('[') - 1));
    return found;
}

} // namespace

TEST_CASE("an adapter exports the calls that it stands in front of and its interface, nothing else") {
    const std::set<std::string> calls = interposed();
    REQUIRE(calls.count("pwrite64") == 1);
    REQUIRE(kLibraries.size() >= 2);
    for (const Library &library : kLibraries) {
        INFO(library.file);
        unsigned of_interface = 0;
        const std::set<std::string> names = exported(library.file);
        for (const std::string &name : names) {
            INFO(name);
            const bool is_interface = std::regex_match(name, std::regex(library.interface));
            const bool is_call = calls.count(name) == 1 || name.rfind("io_uring_submit", 0) == 0;
            CHECK((is_interface || (is_call && library.kind == Kind::hooks)));
            of_interface += is_interface;
        }
        for (const char *name : {"write", "pwrite64", "vfork", "io_submit", "io_uring_submit", "close"})
            CHECK(names.count(name) == (library.kind == Kind::hooks));
        CHECK((of_interface > 0) == (library.kind != Kind::silent));
    }
}

TEST_CASE("an adapter loads nothing but libc, and a C++ plugin the runtime of its C++ host") {
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
    return skip("a sanitizer brings its own libraries");
#endif
    for (const Library &library : kLibraries) {
        INFO(library.file);
        const std::vector<std::string> needed = needed_by(library.file);
        CHECK_FALSE(needed.empty()); // libc at least: what readelf prints has been understood
        for (const std::string &name : needed) {
            INFO(name);
            CHECK(std::regex_match(name, std::regex(library.needed)));
        }
    }
}
