// SPDX-License-Identifier: Apache-2.0
// What a hooked call may not do to the program it is in: fault where libc says EFAULT, be a cancellation point, ask the
// kernel what it need not, make any call in a program that has locked itself in, need a large stack, mix up who
// interrupted whom.
#include "support/catch.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

#include <sys/syscall.h>

#include "support/preload.hpp"

namespace {

using namespace trib_test;

struct Hooked {
    Folder plain, folder, traces;
    Outcome without, with;
    Said said;
    trib_status status{};

    explicit Hooked(const std::string &name) {
        without = run_without({PRELOAD_HOOKED, name, plain.file("")});
        with = run_in_session({PRELOAD_HOOKED, name, folder.file("")}, traces.file("trace"), "policy=pcstream", {},
                              &status);
        INFO(name << ": " << with.err);
        CHECK(with.code == without.code);
        if (with.code == 0)
            said = read_said(traces.file("trace"));
        CHECK_FALSE(said.has_gap);
    }
    const std::string &path(uint64_t bytes) const { // of the file with one write of so many bytes
        static const std::string none = "(no name)", nothing = "(no such write)";
        for (const trib_event &event : said.events)
            if (event.kind == TRIB_EVENT_WRITE && event.length_bytes == bytes) {
                const auto known = said.paths.find(event.file);
                return known == said.paths.end() ? none : known->second;
            }
        return nothing;
    }
    int kind(uint64_t bytes) const {
        for (const trib_event &event : said.events)
            if (event.kind == TRIB_EVENT_WRITE && event.length_bytes == bytes)
                return event.who.file_kind;
        return -1;
    }
};

std::map<int, int> counts(const std::string &numbers) {
    std::istringstream in(numbers);
    std::map<int, int> found;
    for (int number; in >> number;)
        found[number]++;
    return found;
}

bool ends_with(const std::string &text, const std::string &end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

const bool kIsSanitized = !std::string(PRELOAD_SANITIZER).empty();

} // namespace

TEST_CASE("bad pointers get the kernel's answer") {
    if (kIsSanitized)
        return skip("a sanitizer's interceptors read them");
    const Hooked hooked("pointers");
    CHECK(hooked.without.code == 0);
    CHECK(hooked.with.out == hooked.without.out);
    CHECK(std::count(hooked.with.out.begin(), hooked.with.out.end(), '\n') == 36);
    CHECK(hooked.said.writes("b") == std::vector<std::string>{"write 0+10", "write 0+20"});
}

TEST_CASE("no hooked call is a cancellation point that libc's is not") {
    const Hooked hooked("cancel");
    CHECK(hooked.without.out == "stage 7, cancelled, SIGUSR1 free\n");
    CHECK(hooked.with.out == hooked.without.out);
}

TEST_CASE("nothing is asked of the kernel once the program has locked itself in") {
    if (kIsSanitized)
        return skip("a sanitizer's runtime makes calls of its own");
    const Hooked strict("strict");
    CHECK(strict.without.code == 0);
    CHECK(strict.said.writes("known") == std::vector<std::string>{"write 0+1"}); // there is no clock in strict mode
    CHECK(strict.said.writes("unknown").empty());
    const Hooked filter("filter");
    CHECK(filter.without.code == 0);
    CHECK(filter.said.writes("known") ==
          std::vector<std::string>{"write 0+1", "write 1+5", "write 6+5", "write 100+3"});
    CHECK(filter.said.writes("unknown").empty());
    CHECK(filter.said.writes("later").empty());
}

TEST_CASE("hooked calls fit on small stacks") {
    if (kIsSanitized)
        return skip("a sanitizer's frames are several times larger");
    const Hooked hooked("stack");
    CHECK(hooked.without.out == "fits\n");
    CHECK(hooked.with.out == hooked.without.out);
    // By their lengths: a file may have the number, and so the name, of one that the other has deleted.
    std::map<uint64_t, int> writes;
    for (const trib_event &event : hooked.said.events)
        writes[event.length_bytes] += event.kind == TRIB_EVENT_WRITE;
    for (const uint64_t length : {30u, 1u})
        CHECK(writes[length] == 2);
    CHECK(writes[100] == 4);
    INFO(hooked.with.err); // "signal: 6184 of 12288 bytes of stack used"
    const std::regex used("(\\d+) of (\\d+) bytes");
    for (std::sregex_iterator at(hooked.with.err.begin(), hooked.with.err.end(), used), end; at != end; ++at)
        CHECK(std::stoul((*at)[1]) * 4 < std::stoul((*at)[2]) * 3); // and leave a quarter
}

TEST_CASE("a handler that does what it interrupts is recorded as itself") {
    const Hooked hooked("handler");
    REQUIRE(hooked.with.code == 0);
    const unsigned signals = static_cast<unsigned>(std::stoul(hooked.with.out));
    unsigned wrong = 0, nameless = 0;
    const auto look = [&](char letter, unsigned number) {
        const std::string digits = std::to_string(number);
        const auto writes = hooked.said.writes(letter + std::string(4 - digits.size(), '0') + digits);
        nameless += writes.empty();
        wrong += !writes.empty() && writes[0] != "write 0+" + std::to_string(1 + number % 7);
    };
    for (unsigned i = 0; i < 5000; i++)
        look('m', i);
    for (unsigned i = 0; i < signals; i++)
        look('h', i);
    CHECK(wrong == 0);
    // A handler in the middle of its thread's own text; and what a busy machine's recorder had no room for is counted.
    CHECK(nameless <= 50 + hooked.status.names_lost);
}

TEST_CASE("names come from the calls that open") {
    const Hooked hooked("names");
    REQUIRE(hooked.with.code == 0);
    const std::string top = hooked.folder.file("");
    CHECK(hooked.path(1) == top + "sub/in_sub"); // followed through chdir
    CHECK(hooked.path(2) == top + "sub/pg_wal/0001");
    CHECK(hooked.kind(2) == TRIB_FILE_WAL);
    CHECK(hooked.path(3) == "sub/pg_wal/0002"); // fchdir leads who knows where
    CHECK(hooked.kind(3) == TRIB_FILE_WAL);
    CHECK(hooked.path(4) == "by_folder");
    CHECK(hooked.path(5).substr(0, 3) == "tmp");
    CHECK(hooked.kind(5) == TRIB_FILE_DATABASE);
    CHECK(hooked.path(6) == "moved");
    CHECK(hooked.path(7) == "appended");
    CHECK(hooked.path(8) == "by_number");
    CHECK(ends_with(hooked.path(9), "ddd/long.db"));
    CHECK(hooked.path(9).size() == 120);
    CHECK(hooked.path(10) == "stream");
    CHECK(hooked.path(11) == top + "given");     // received over a socket: as the kernel has it
    CHECK(hooked.path(12) == "(no such write)"); // memory, and what its number was called before is over
}

TEST_CASE("standard output that somebody else has opened has the name that the kernel knows") {
    Folder folder, traces;
    const std::string script = "cd '" + folder.file("") + "'; head -c 77 /dev/zero | cat >out.db";
    const Outcome outcome = run_in_session({"sh", "-c", script}, traces.file("trace"));
    CHECK(outcome.code == 0);
    const Said said = read_said(traces.file("trace"));
    CHECK(said.writes("out.db") == std::vector<std::string>{"write 0+77"});
}

TEST_CASE("a mapping keeps what munmap and MAP_FIXED leave of it") {
    if (!knows_pages_or_skips())
        return;
    const Hooked hooked("parts");
    const std::vector<std::string> writes = hooked.said.writes("a");
    CHECK(writes == std::vector<std::string>{"write 0+4096", "write 16384+4096", "write 4096+4096"});
}

TEST_CASE("the kernel is asked which file it is, and nothing else") {
    if (kIsSanitized)
        return skip("a sanitizer's runtime makes calls of its own");
    const Hooked hooked("questions");
    REQUIRE(hooked.with.code == 0);
    std::map<int, int> more = counts(hooked.with.out);
    CHECK(more.size() > 5);
    for (const auto &[number, count] : counts(hooked.without.out))
        more[number] -= count;
    for (auto each = more.begin(); each != more.end();)
        each = each->second ? std::next(each) : more.erase(each);
    // The first writes of two descriptors; two names that O_TRUNC may empty, two of the rename, that of the unlink.
    CHECK(more == std::map<int, int>{{SYS_fstat, 2}, {SYS_newfstatat, 5}});
}
