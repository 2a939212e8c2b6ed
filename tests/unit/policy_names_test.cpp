// SPDX-License-Identifier: Apache-2.0
// No file but a policy's own knows it by name: what others need to know of it is in its table (tributary/policy.h).
#include "support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <tributary/policy.h>

namespace fs = std::filesystem;

namespace {

// An experiment names what it judges, as its .ini file would; presets are named after the papers whose drives they are.
bool MayName(const fs::path &relative, const std::string &name) {
    const std::string path = relative.string();
    const bool is_policy = path.rfind("core/engine/policy/", 0) == 0 || path.rfind("lab/rivals/", 0) == 0;
    const bool is_experiment = path.rfind("cli/lab/reproduce", 0) == 0;
    const bool is_preset = path.rfind("core/engine/drive/presets.", 0) == 0 && (name == "vstream" || name == "dstream");
    return is_policy || is_experiment || is_preset;
}

// In code, not in a comment: a string that is the name, or begins with it as options do, or sets the option.
// "tributary" alone is also the project's name, in paths and of threads.
bool Names(const std::string &line, const std::string &name) {
    const size_t comment = std::min(line.find("//"), line.find("/*"));
    const std::string code = line.substr(0, comment);
    if (code.rfind(" *", 0) == 0 || code.find("#define TRIB_POLICY_") != std::string::npos)
        return false;
    const bool alone = name != "tributary" && name != "none" && code.find("\"" + name + "\"") != std::string::npos;
    const size_t options = code.find("\"" + name + ",");
    const bool begins = options != std::string::npos && code.compare(options + name.size() + 2, 1, " ") != 0;
    return alone || begins || code.find("policy=" + name) != std::string::npos;
}

} // namespace

TEST_CASE("no file but its own knows a policy by name") {
    const std::set<std::string> endings = {".c", ".h", ".cc", ".cpp", ".hpp"};
    unsigned files = 0, found = 0;
    for (const char *folder : {"core", "lab", "cli", "preload", "jni", "mysql-buffer-hook", "rocksdb-env"})
        for (const auto &entry : fs::recursive_directory_iterator(fs::path(TRIB_SOURCE_DIR) / folder)) {
            if (!entry.is_regular_file() || !endings.count(entry.path().extension().string()))
                continue;
            files++;
            const fs::path relative = fs::relative(entry.path(), TRIB_SOURCE_DIR);
            std::ifstream in(entry.path());
            unsigned number = 0;
            for (std::string line; std::getline(in, line);) {
                number++;
                for (auto policy = trib_policies(); *policy; policy++) {
                    if (!Names(line, (*policy)->name))
                        continue;
                    found++;
                    INFO(relative.string() << ":" << number << " names " << (*policy)->name);
                    CHECK(MayName(relative, (*policy)->name));
                }
            }
        }
    CHECK(files > 200);
    CHECK(found > 14); // at least each policy in its own file: the search does find names
}

TEST_CASE("what a policy needs with options comes on top of what it always needs") {
    const trib_policy *vstream = trib_policy_find("vstream", nullptr);
    REQUIRE(vstream);
    REQUIRE(vstream->needs != 0);
    for (const char *options : {"", "source=host", "source=hint", "source=kind", "source=signature"}) {
        const uint32_t needs = trib_policy_needs(vstream, options);
        CAPTURE(options, needs);
        CHECK((needs & vstream->needs) == vstream->needs);
    }
    CHECK(trib_policy_needs(vstream, "source=host") & TRIB_NEEDS_VSTREAM);
    CHECK_FALSE(trib_policy_needs(vstream, "source=hint") & TRIB_NEEDS_VSTREAM);
    CHECK(trib_policy_needs(vstream, "source=hint") & TRIB_NEEDS_HINT);
}
