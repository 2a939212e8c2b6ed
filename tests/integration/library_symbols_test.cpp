// SPDX-License-Identifier: Apache-2.0
// What libtributary is made of: nothing of the laboratory, and it exports the public headers' functions only.
#include "support/catch.hpp"
#include "support/process.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

using trib_test::run;

namespace {

namespace fs = std::filesystem;

// Names that nm prints in the given letters ("TDBR...": defined, in capitals if global).
std::set<std::string> symbols(const std::vector<std::string> &flags, const std::string &file,
                              const std::string &letters) {
    std::vector<std::string> command = {TRIB_NM};
    command.insert(command.end(), flags.begin(), flags.end());
    command.push_back(file);
    const auto nm = run(command);
    INFO(nm.err);
    REQUIRE(nm.code == 0);
    std::set<std::string> names;
    std::istringstream lines(nm.out);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string address, letter, name;
        if (words >> address >> letter >> name && letter.size() == 1 && letters.find(letter) != std::string::npos)
            names.insert(name.substr(0, name.find('@')));
    }
    return names;
}

const std::string kDefined = "TDBRVW";

std::string public_headers() {
    std::string text;
    for (const auto &entry : fs::directory_iterator(TRIB_SOURCE_DIR "/core/include/tributary")) {
        std::ifstream in(entry.path());
        text += std::string(std::istreambuf_iterator<char>(in), {});
    }
    return text;
}

} // namespace

TEST_CASE("libtributary has no symbol of the laboratory, linked or exported") {
    const auto lab = symbols({}, TRIB_LAB_ARCHIVE, kDefined);
    CHECK(lab.count("trib_rivals") == 1);
    CHECK(lab.count("trib_workload_open") == 1);
    CHECK(lab.count("trib_import_formats") == 1);
    CHECK(lab.count("trib_trial_open") == 1);
    for (const std::string &file : {std::string(TRIB_LIBRARY), std::string(TRIB_ENGINE_ARCHIVE)}) {
        const auto linked = symbols({}, file, kDefined + "tdbrvw"); // hidden ones are local in the shared library
        CHECK(linked.size() > 100);
        for (const std::string &name : linked) {
            INFO(file << ": " << name);
            CHECK(lab.count(name) == 0);
        }
    }
}

TEST_CASE("libtributary exports functions of the public headers, and nothing else") {
    const std::string headers = public_headers();
    const auto exported = symbols({"-D"}, TRIB_LIBRARY, kDefined);
    CHECK(exported.count("trib_pipeline_open") == 1);
    CHECK(exported.count("trib_policy_pack_load") == 1);
    for (const std::string &name : exported) {
        if (name == "trib_log") // for the rivals, which warn
            continue;
        INFO(name);
        CHECK(name.rfind("trib_", 0) == 0);
        CHECK(headers.find(name + "(") != std::string::npos);
    }
}

TEST_CASE("what runs in other programs is small, and nothing of the engine or the laboratory") {
    const auto client = symbols({}, TRIB_CLIENT_ARCHIVE, kDefined);
    CHECK(client.count("trib_client_submit") == 1);
    CHECK(client.count("trib_signature_capture") == 1);
    for (const std::string &archive : {std::string(TRIB_ENGINE_ARCHIVE), std::string(TRIB_LAB_ARCHIVE)}) {
        const auto others = symbols({}, archive, kDefined), wanted = symbols({}, TRIB_CLIENT_ARCHIVE, "U");
        CHECK(others.size() > 100);
        for (const std::string &name : others) {
            INFO(archive << ": " << name);
            CHECK(client.count(name) == 0);
            CHECK(wanted.count(name) == 0);
        }
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__OPTIMIZE__)
TEST_CASE("the client's text has 150 KB at most") {
    const auto size = run({TRIB_SIZE, "-t", TRIB_CLIENT_ARCHIVE});
    REQUIRE(size.code == 0);
    const size_t totals = size.out.rfind('\n', size.out.size() - 2) + 1;
    const long text_bytes = std::stol(size.out.substr(totals)); // "text data bss dec hex (TOTALS)"
    CHECK(size.out.find("(TOTALS)", totals) != std::string::npos);
    CHECK(text_bytes > 10000);
    CHECK(text_bytes <= 150000);
}
#endif

TEST_CASE("trib exports what packs call, and nothing of the laboratory") {
    const auto lab = symbols({}, TRIB_LAB_ARCHIVE, kDefined),
               exported = symbols({"-D"}, TRIB_BINARY_DIR "/cli/trib", "T");
    for (const char *name : {"trib_options_take", "trib_fail", "trib_state_clock", "trib_state_next",
                             "trib_attribute_read", "trib_attribute_sample", "trib_attribute_lifetime",
                             "trib_attribute_stream", "trib_attribute_place", "trib_log"}) {
        INFO(name);
        CHECK(exported.count(name) == 1);
    }
    for (const std::string &name : exported) {
        INFO(name);
        CHECK(lab.count(name) == 0);
    }
}
