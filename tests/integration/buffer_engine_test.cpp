// SPDX-License-Identifier: Apache-2.0
// libtributary-mysql.so in a program that adopted tributary/buffer.h: preloaded, loaded late, and not there.
#include "support/catch.hpp"

#include <set>

#include <tributary/page.h>

#include "support/process.hpp"
#include "support/skip.hpp"
#include "support/trace_end.hpp"
#include "support/trace_file.hpp"

namespace {

using namespace trib_test;

constexpr unsigned kPages = 16;

std::vector<trib_event> page_writes(const std::string &trace) {
    wait_for_end_of(trace);
    TraceContents contents = read_trace(trace);
    REQUIRE(contents.end_result == 0);
    std::vector<trib_event> writes;
    for (const trib_event &event : contents.events)
        if (event.kind == TRIB_EVENT_WRITE && event.who.file_kind == TRIB_FILE_DATABASE)
            writes.push_back(event);
    return writes;
}

// The last round's writes carry the two front ends, by turns, and their modifications.
void check_fronts(const std::vector<trib_event> &writes) {
    REQUIRE(writes.size() >= kPages);
    std::set<uint64_t> odd, even;
    for (size_t i = writes.size() - kPages; i < writes.size(); i++) {
        const trib_context &who = writes[i].who;
        INFO("write " << i);
        REQUIRE(trib_page_is(&who));
        const bool is_odd = writes[i].offset_bytes / 8192 % 2;
        CHECK(trib_page_logarithm_of(&who) == (is_odd ? 0 : 1));
        CHECK(who.signature >> 32 != trib_page_unnoted_signature(0) >> 32);
        CHECK(who.column_family != 0);
        (is_odd ? odd : even).insert(who.signature);
    }
    CHECK(odd.size() == 1);
    CHECK(even.size() == 1);
    CHECK(odd != even);
}

} // namespace

TEST_CASE("preloaded: pages carry who dirtied them, not who wrote them") {
    if (TRIB_SANITIZED)
        return trib_test::skip("a sanitizer's runtime has to come before every preloaded library");
    Folder folder;
    const std::string trace = folder / "trace";
    Outcome outcome = run({TRIB_BUFFER_ENGINE, folder / "pages.db"},
                          {{"LD_PRELOAD", TRIB_MYSQL_LIBRARY}, {"TRIBUTARY", "policy=none,drive=none,trace=" + trace}});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    auto writes = page_writes(trace);
    CHECK(writes.size() == 2 * kPages);
    check_fronts(writes);
}

TEST_CASE("beside the other library with a shim no write is told twice") {
    if (TRIB_SANITIZED)
        return trib_test::skip("a sanitizer's runtime has to come before every preloaded library");
    const std::string both[] = {std::string(TRIB_PRELOAD_LIBRARY) + ":" + TRIB_MYSQL_LIBRARY,
                                std::string(TRIB_MYSQL_LIBRARY) + ":" + TRIB_PRELOAD_LIBRARY};
    for (const std::string &libraries : both) {
        Folder folder;
        const std::string trace = folder / "trace";
        Outcome outcome = run({TRIB_BUFFER_ENGINE, folder / "pages.db"},
                              {{"LD_PRELOAD", libraries}, {"TRIBUTARY", "policy=none,drive=none,trace=" + trace}});
        INFO(libraries << ": " << outcome.err);
        REQUIRE(outcome.code == 0);
        auto writes = page_writes(trace);
        CHECK(writes.size() == 2 * kPages);
        check_fronts(writes);
    }
}

TEST_CASE("in a session, whose recorder preloads the other library, no write is told twice") {
    if (TRIB_SANITIZED)
        return trib_test::skip("a sanitizer's runtime has to come before every preloaded library");
    for (const std::string together : {"$LD_PRELOAD:$HOOK", "$HOOK:$LD_PRELOAD"}) {
        Folder folder;
        const std::string trace = folder / "trace";
        Outcome outcome =
            run({TRIB_TOOL, "record", "--trace", trace, "--preload", TRIB_PRELOAD_LIBRARY, "--", "/bin/sh", "-c",
                 "LD_PRELOAD=" + together + " exec \"$0\" \"$1\"", TRIB_BUFFER_ENGINE, folder / "pages.db"},
                {{"HOOK", TRIB_MYSQL_LIBRARY}});
        INFO(together << ": " << outcome.err);
        REQUIRE(outcome.code == 0);
        auto writes = page_writes(trace);
        CHECK(writes.size() == 2 * kPages);
        check_fronts(writes);
    }
}

TEST_CASE("processes that dirty pages, and another that writes them") {
    if (TRIB_SANITIZED)
        return trib_test::skip("a sanitizer's runtime has to come before every preloaded library");
    Folder folder;
    const std::string trace = folder / "trace";
    Outcome outcome = run({TRIB_TOOL, "record", "--trace", trace, "--preload", TRIB_MYSQL_LIBRARY, "--",
                           TRIB_BUFFER_ENGINE, folder / "pages.db", "--processes"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    auto writes = page_writes(trace);
    CHECK(writes.size() == kPages);
    check_fronts(writes);
    // The writer knows the front ends by number alone; that the trace has their frames is the noters' doing.
    std::set<uint64_t> known;
    for (const trib_trace_item &item : read_trace(trace).others)
        if (item.kind == TRIB_TRACE_SIGNATURE && item.frame_count > 1)
            known.insert(item.id);
    for (const trib_event &write : writes)
        CHECK(known.count(write.who.signature) == 1);
}

TEST_CASE("loaded into the running program: from then on") {
    if (TRIB_SANITIZED)
        return trib_test::skip("a sanitizer's runtime has to come before every preloaded library");
    Folder folder;
    const std::string trace = folder / "trace";
    Outcome outcome = run({TRIB_BUFFER_ENGINE, folder / "pages.db", TRIB_MYSQL_LIBRARY},
                          {{"TRIBUTARY", "policy=none,drive=none,trace=" + trace}});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    auto writes = page_writes(trace);
    CHECK(writes.size() == kPages);
    check_fronts(writes);
}

TEST_CASE("without the library the engine works on") {
    Folder folder;
    CHECK(run({TRIB_BUFFER_ENGINE, folder / "pages.db"}).code == 3); // attach says that nobody is there
    CHECK(read_file(folder / "pages.db").size() == kPages * 8192);
}

TEST_CASE("an unknown option of the hook is one line, and the defaults") {
    if (TRIB_SANITIZED)
        return trib_test::skip("a sanitizer's runtime has to come before every preloaded library");
    Folder folder;
    Outcome outcome = run({TRIB_BUFFER_ENGINE, folder / "pages.db"},
                          {{"LD_PRELOAD", TRIB_MYSQL_LIBRARY}, {"TRIBUTARY_BUFFER", "colour=red"}});
    CHECK(outcome.code == 0);
    CHECK(has(outcome.err, "tributary: TRIBUTARY_BUFFER: unknown option 'colour'; valid here: frames page "));
    CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
}
