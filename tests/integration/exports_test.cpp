// SPDX-License-Identifier: Apache-2.0
// What a library that goes into other people's processes shows them: the calls that it stands in front of, its
// interface, and nothing of the client or the engine that a program or another library could bind to.
#include "support/catch.hpp"

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "support/process.hpp"

namespace {

using namespace trib_test;

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

} // namespace

TEST_CASE("an adapter exports the calls that it stands in front of and its interface, nothing else") {
    const std::map<std::string, std::string> interfaces = {EXPORTS_INTERFACES};
    const std::set<std::string> calls = interposed();
    REQUIRE(calls.count("pwrite64") == 1);
    REQUIRE(interfaces.size() >= 2);
    for (const auto &[library, interface] : interfaces) {
        INFO(library);
        unsigned of_interface = 0;
        const std::set<std::string> names = exported(library);
        for (const std::string &name : names) {
            INFO(name);
            const bool is_interface = std::regex_match(name, std::regex(interface));
            CHECK((is_interface || calls.count(name) == 1 || name.rfind("io_uring_submit", 0) == 0));
            of_interface += is_interface;
        }
        for (const char *name : {"write", "pwrite64", "vfork", "io_submit", "io_uring_submit", "close"})
            CHECK(names.count(name) == 1);
        CHECK(of_interface > 0);
    }
}
