// SPDX-License-Identifier: Apache-2.0
// A thousand random programs leave the same files, exit statuses and descriptor tables with and without the library.
// For one that does not: its seed, and the smallest number of its calls that still differ.
#include "hazard.hpp"

#include <cstdlib>
#include <sstream>

#include <unistd.h>

using namespace trib_hazard;

namespace {

constexpr int kBatch = 25, kLength = 40, kShown = 3;

Result run_batch(Way way, long first, int count, int length) {
    Folder traces;
    const std::vector<std::string> numbers = {std::to_string(first), std::to_string(count), std::to_string(length)};
    Command command{{program("random"), "batch"}, 200};
    command.arguments.insert(command.arguments.end(), numbers.begin(), numbers.end());
    way = way_of(way);
    if (way == Way::Preloaded) { // each program for itself, as servers are
        command.environment = {"HAZARD_PRELOAD=" + library(), "HAZARD_TRACE=" + (traces / "trace")};
        return run_once(Way::Plain, command);
    }
    return run_once(way, command);
}

// The differing files of each seed, and its status; names are "seed/file".
std::map<long, std::string> differing(const Result &plain, const Result &hooked) {
    std::map<long, std::string> found;
    std::map<std::string, std::string> all = plain.files;
    all.insert(hooked.files.begin(), hooked.files.end());
    const auto what = [](const Result &result, const std::string &name) {
        const auto file = result.files.find(name);
        return file == result.files.end() ? "absent" : file->second;
    };
    for (const auto &[name, unused] : all)
        if (what(plain, name) != what(hooked, name))
            found[std::atol(name.c_str())] +=
                "  " + name + ": " + what(plain, name) + " -> " + what(hooked, name) + "\n";
    std::istringstream one(plain.out), two(hooked.out);
    for (std::string before, after; std::getline(one, before) && std::getline(two, after);)
        if (before != after)
            found[std::atol(before.c_str())] += "  status " + before + " -> " + after + "\n";
    return found;
}

void show_smallest(Way way, long seed) {
    for (int length = 1; length <= kLength; length++) {
        const auto found = differing(run_batch(Way::Plain, seed, 1, length), run_batch(way, seed, 1, length));
        if (found.empty())
            continue;
        FAIL_CHECK("seed " << seed << ", the first " << length << " calls (hazard_random run " << seed << " " << length
                           << "):\n"
                           << found.begin()->second);
        return;
    }
    FAIL_CHECK("seed " << seed << " differs in one run of several");
}

// tmpfs for half of them: file systems answer differently, and quickly.
void check_seeds(Way way, long first, long count) {
    if (way == Way::Preloaded && access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    std::vector<long> seeds;
    for (long at = first; at < first + count && seeds.size() < 3 * kShown; at += kBatch) {
        const Result plain = run_batch(Way::Plain, at, kBatch, kLength), hooked = run_batch(way, at, kBatch, kLength);
        REQUIRE_FALSE(plain.hung);
        REQUIRE(plain.files.size() > kBatch * 3);
        CHECK_FALSE(hooked.hung);
        for (const auto &[seed, what] : differing(plain, hooked))
            seeds.push_back(seed);
    }
    for (size_t i = 0; i < seeds.size() && i < kShown; i++)
        show_smallest(way, seeds[i]);
    INFO(seeds.size() << " programs differ");
    CHECK(seeds.empty());
    unsetenv("TMPDIR");
}

} // namespace

#define TRIB_SEEDS(FIRST, LAST)                                                                                        \
    TEST_CASE("random programs " #FIRST " to " #LAST ", preloaded") {                                                  \
        check_seeds(Way::Preloaded, FIRST, LAST - FIRST + 1);                                                          \
    }                                                                                                                  \
    TEST_CASE("random programs " #FIRST " to " #LAST ", under trib record") {                                          \
        check_seeds(Way::Recorded, FIRST, LAST - FIRST + 1);                                                           \
    }
TRIB_SEEDS(1, 250)
TRIB_SEEDS(251, 500)
TRIB_SEEDS(501, 750)
TRIB_SEEDS(751, 1000)

TEST_CASE("random programs are the same twice") {
    const Result one = run_batch(Way::Plain, 1, 100, kLength), two = run_batch(Way::Plain, 1, 100, kLength);
    CHECK(one.out == two.out);
    for (const auto &[seed, what] : differing(one, two))
        FAIL_CHECK("seed " << seed << "\n" << what);
}
