// SPDX-License-Identifier: Apache-2.0
// The flow in replay: what it accepts, what it refuses, and that one hand-checkable story comes out right.
#include "support/catch.hpp"

#include <cerrno>
#include <vector>

#include <tributary/page.h>

#include "flow.h"
#include "support/events.hpp"
#include "support/pipeline.hpp"
#include "support/trial.hpp"
#include "wrap/page_parts.h"

using trib_test::Drive;
using trib_test::Pipeline;
using trib_test::Trial;

namespace {

trib_event Write(uint64_t file, uint64_t offset, uint64_t length, uint64_t signature = 7) {
    trib_event event{};
    event.kind = TRIB_EVENT_WRITE;
    event.file = file;
    event.offset_bytes = offset;
    event.length_bytes = length;
    event.who.signature = signature;
    event.who.level = TRIB_LEVEL_UNKNOWN;
    event.stream = TRIB_STREAM_UNDECIDED;
    return event;
}

trib_event Of(uint8_t kind, uint8_t cause, uint64_t file) {
    trib_event event = Write(file, 0, TRIB_LENGTH_TO_END);
    event.kind = kind;
    event.cause = cause;
    return event;
}

struct Seen {
    std::vector<trib_death_report> deaths;
    std::vector<trib_write_report> writes;
    trib_observer observer() {
        trib_observer observer{};
        observer.arg = this;
        observer.wrote = [](void *arg, const trib_write_report *w) { static_cast<Seen *>(arg)->writes.push_back(*w); };
        observer.died = [](void *arg, const trib_death_report *d) { static_cast<Seen *>(arg)->deaths.push_back(*d); };
        return observer;
    }
};

} // namespace

TEST_CASE("salts change the key, and only those asked for") {
    trib_context a{}, b{};
    a.signature = b.signature = 42;
    a.write_hint = TRIB_HINT_SHORT;
    b.write_hint = TRIB_HINT_LONG;
    b.level = 3;
    CHECK(trib_flow_key(&a, 0) == 42);
    CHECK(trib_flow_key(&a, 0) == trib_flow_key(&b, 0));
    CHECK(trib_flow_key(&a, TRIB_SALT_KIND) == trib_flow_key(&b, TRIB_SALT_KIND));
    CHECK(trib_flow_key(&a, TRIB_SALT_HINT) != trib_flow_key(&b, TRIB_SALT_HINT));
    CHECK(trib_flow_key(&a, TRIB_SALT_LEVEL) != trib_flow_key(&b, TRIB_SALT_LEVEL));
    // Neighbours in both: 42 ^ 1 == 41 ^ 2.
    b.signature = 41;
    a.file_kind = 1;
    b.file_kind = 2;
    CHECK(trib_flow_key(&a, TRIB_SALT_KIND) != trib_flow_key(&b, TRIB_SALT_KIND));
}

TEST_CASE("option pages: of a database page only what it has, of other writes everything") {
    trib_context page{};
    page.signature = 42;
    page.file_kind = TRIB_FILE_DATABASE;
    page.io_activity = trib_page_activity(TRIB_PAGE_LEAF, 8);
    page.column_family = 5;
    page.level = 0;
    trib_context all = trib_page_parts(page, 1, TRIB_PAGES_AS_RECORDED);
    CHECK((all.signature == 42 && all.io_activity == page.io_activity && all.column_family == 5 && all.level == 0));

    trib_context front = trib_page_parts(page, 1, TRIB_PAGES_FRONT);
    CHECK((front.signature == 42 && front.column_family == 0 && front.level == TRIB_LEVEL_UNKNOWN));
    CHECK(front.io_activity == trib_page_activity(TRIB_PAGE_UNKNOWN, 1));
    trib_context content = trib_page_parts(page, 1, TRIB_PAGES_CONTENT);
    CHECK((content.signature == trib_page_unnoted_signature(TRIB_PAGE_LEAF) && content.column_family == 5));
    CHECK(content.io_activity == trib_page_activity(TRIB_PAGE_LEAF, 1));
    CHECK(trib_page_logarithm_of(&page) == 3);
    trib_context often = trib_page_parts(page, 1, TRIB_PAGES_MODIFICATIONS);
    CHECK((often.io_activity == trib_page_activity(TRIB_PAGE_UNKNOWN, 8) && often.column_family == 0));

    trib_context one = trib_page_parts(page, 1, TRIB_PAGES_FLUSHER),
                 other = trib_page_parts(page, 2, TRIB_PAGES_FLUSHER);
    CHECK((one.signature != other.signature && one.signature != 42));
    page.signature = 43; // whoever changed it
    CHECK(trib_page_parts(page, 1, TRIB_PAGES_FLUSHER).signature == one.signature);

    page.file_kind = TRIB_FILE_WAL;
    CHECK(trib_page_parts(page, 1, TRIB_PAGES_FLUSHER).signature == 43);
}

TEST_CASE("option pages reaches the policy") {
    Trial pipeline(Drive("64M") + ",policy=none,pages=content");
    REQUIRE(pipeline.rc() == 0);
    Seen seen;
    pipeline.observe(seen.observer());
    trib_event page = Write(1, 0, 16384, 42);
    page.who.file_kind = TRIB_FILE_DATABASE;
    page.who.io_activity = trib_page_activity(TRIB_PAGE_UNDO, 1);
    REQUIRE(pipeline.process(page) == 0);
    REQUIRE(seen.writes.size() == 1);
    CHECK(seen.writes[0].who.signature == trib_page_unnoted_signature(TRIB_PAGE_UNDO));
}

TEST_CASE("a file is written, grows after a sync, and dies: pages, clock and lifetime by hand") {
    Trial pipeline(Drive("64M") + ",policy=none");
    INFO(pipeline.error());
    REQUIRE(pipeline.rc() == 0);
    Seen seen;
    pipeline.observe(seen.observer());

    // 10,000 bytes: two full pages at once, the tail page at the sync.
    trib_event event = Write(1, 0, 10000);
    REQUIRE(pipeline.process(event) == 0);
    CHECK(pipeline.status().host_pages == 2);
    event = Of(TRIB_EVENT_SYNC, TRIB_CAUSE_FSYNC, 1);
    REQUIRE(pipeline.process(event) == 0);
    CHECK(pipeline.status().host_pages == 3);
    // It grows by one byte and is closed: the tail page is written again.
    event = Write(1, 10000, 1);
    REQUIRE(pipeline.process(event) == 0);
    event = Of(TRIB_EVENT_SYNC, TRIB_CAUSE_CLOSE, 1);
    REQUIRE(pipeline.process(event) == 0);
    CHECK(pipeline.status().host_pages == 4);
    // 1 MiB of something else passes, then the file dies.
    event = Write(2, 0, 1 << 20, 8);
    REQUIRE(pipeline.process(event) == 0);
    event = Of(TRIB_EVENT_DEATH, TRIB_CAUSE_UNLINK, 1);
    REQUIRE(pipeline.process(event) == 0);

    const trib_status status = pipeline.status();
    CHECK(status.clock_bytes == 10001 + (1 << 20));
    CHECK(status.live_bytes == 1 << 20);
    CHECK(status.events == 6);
    CHECK(seen.writes.size() == 3);
    REQUIRE(seen.deaths.size() == 1);
    CHECK(seen.deaths[0].length_bytes == 10001);
    CHECK(seen.deaths[0].who.signature == 7);
    CHECK(seen.deaths[0].cause == TRIB_CAUSE_UNLINK);
    CHECK(seen.deaths[0].age_bytes == Approx(10001.0 + (1 << 20)).margin(4096));
    trib_drive_report drive{};
    REQUIRE(trib_pipeline_drive(pipeline.get(), &drive) == 0);
    CHECK(drive.live_pages == 256);
}

TEST_CASE("ranges that make no sense are refused and change nothing") {
    Pipeline pipeline(Drive("64M") + ",policy=none");
    REQUIRE(pipeline.rc() == 0);
    for (trib_event event : {Write(1, 0, 0), Write(1, UINT64_MAX - 5, 10), Write(0, 100, 4096)})
        CHECK(trib_pipeline_process(pipeline.get(), &event) == -EINVAL);
    trib_event nonsense = Write(1, 0, 1);
    nonsense.kind = 99;
    CHECK(trib_pipeline_process(pipeline.get(), &nonsense) == -EINVAL);
    CHECK(pipeline.status().clock_bytes == 0);
    CHECK(pipeline.status().live_bytes == 0);
}

TEST_CASE("a trim of half a block is refused before anything dies, with and without a drive") {
    for (const std::string &drive : {Drive("64M"), std::string("drive=none")}) {
        Pipeline pipeline(drive + ",policy=none");
        REQUIRE(pipeline.rc() == 0);
        const trib_event write = Write(0, 0, 8192);
        REQUIRE(trib_pipeline_process(pipeline.get(), &write) == 0);
        trib_event trim = Of(TRIB_EVENT_DEATH, TRIB_CAUSE_TRIM, 0);
        trim.offset_bytes = 2048;
        CHECK(trib_pipeline_process(pipeline.get(), &trim) == -EINVAL);
        trim.length_bytes = 4096;
        CHECK(trib_pipeline_process(pipeline.get(), &trim) == -EINVAL);
        CHECK(pipeline.status().live_bytes == 8192);
        trim.offset_bytes = 4096;
        CHECK(trib_pipeline_process(pipeline.get(), &trim) == 0);
        CHECK(pipeline.status().live_bytes == 4096);
    }
}

TEST_CASE("a drive that is too small says so") {
    Pipeline pipeline(Drive("64M") + ",policy=none");
    REQUIRE(pipeline.rc() == 0);
    trib_event event = Write(1, 0, 65u << 20);
    CHECK(trib_pipeline_process(pipeline.get(), &event) == -ENOSPC);
}

TEST_CASE("wrong options are named") {
    struct Bad {
        const char *options, *expected;
    };
    for (const Bad &bad : {Bad{"policy=pcsteam", "pcstream"}, Bad{"drive=floppy", "emulated"},
                           Bad{"polcy=none", "policy"}, Bad{"salt=level+age", "family"},
                           Bad{"policy=none,trace=/nonexistent/t", "live"}, Bad{"streams=64", "0..63"}}) {
        Pipeline pipeline(bad.options);
        INFO(bad.options << " -> " << pipeline.error());
        CHECK(pipeline.rc() == -EINVAL);
        CHECK(pipeline.error().find(bad.expected) != std::string::npos);
    }
}

TEST_CASE("the same events give the same answer") {
    trib_status first{}, second{};
    for (trib_status *status : {&first, &second}) {
        Pipeline pipeline(Drive("512M") + ",policy=pcstream,gc=twin");
        INFO(pipeline.error());
        REQUIRE(pipeline.rc() == 0);
        trib_test::FileEvents events(11);
        for (int i = 0; i < 20000; i++) {
            trib_event event = events.next();
            REQUIRE(trib_pipeline_process(pipeline.get(), &event) == 0);
        }
        *status = pipeline.status();
    }
    CHECK(first.host_pages > 10000);
    CHECK(first.host_pages == second.host_pages);
    CHECK(first.gc_pages == second.gc_pages);
    CHECK(first.erases == second.erases);
    CHECK(first.reclusterings == second.reclusterings);
}
