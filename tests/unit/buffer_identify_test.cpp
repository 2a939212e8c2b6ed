// SPDX-License-Identifier: Apache-2.0
// From a note and a page's header to the context of a write.
#include "support/buffer_hook.hpp"
#include "support/catch.hpp"

#include <tributary/buffer.h>
#include <tributary/page.h>

#include "identify.h"
#include "note.h"

extern "C" const trib_buffer_api trib_buffer_api_1;

using namespace trib_test;

namespace {

constexpr uint64_t kPage = 16384;

Identified write_page(uint64_t file, const PageSpec &spec, size_t bytes = kPage, uint8_t kind = TRIB_FILE_DATABASE) {
    return identify(trib_buffer_identify, file, spec.page * uint64_t{bytes}, make_page(spec, bytes), kind);
}

trib_identify_counts counts() {
    trib_identify_counts now{};
    trib_identify_count(&now);
    return now;
}

__attribute__((noinline)) void dirty(uint64_t space, uint64_t page) {
    trib_buffer_api_1.note(space, page);
    __asm__ volatile(""); // keeps this frame
}

std::vector<uint8_t> joined(const std::vector<std::vector<uint8_t>> &pages) {
    std::vector<uint8_t> all;
    for (const auto &page : pages)
        all.insert(all.end(), page.begin(), page.end());
    return all;
}

} // namespace

TEST_CASE("a page carries its front end, content and number of modifications") {
    trib_identify_innodb(true);
    for (int i = 0; i < 5; i++)
        dirty(12, 30);
    auto before = counts();
    Identified got = write_page(0x100, {12, 30, 17855, 1, 88});
    CHECK(got.bytes == kPage);
    CHECK(got.who.file_kind == TRIB_FILE_DATABASE);
    CHECK(trib_page_is(&got.who));
    CHECK(trib_page_class_of(&got.who) == TRIB_PAGE_NODE);
    CHECK(trib_page_logarithm_of(&got.who) == 2);
    CHECK(got.who.level == 1);
    CHECK(got.who.column_family != 0);
    CHECK(got.who.signature != kNativeSignature);
    CHECK(got.who.signature >> 32 != trib_page_unnoted_signature(0) >> 32);
    CHECK(counts().noted == before.noted + 1);

    Identified again = write_page(0x100, {12, 30, 17855, 1, 88}); // consumed
    CHECK(again.who.signature == trib_page_unnoted_signature(TRIB_PAGE_NODE));
    CHECK(trib_page_logarithm_of(&again.who) == 0);
    CHECK(again.who.column_family == got.who.column_family);
    CHECK(counts().pages == before.pages + 2);
    CHECK(counts().noted == before.noted + 1);
}

TEST_CASE("different call paths, one path") {
    trib_identify_innodb(true);
    dirty(12, 40);
    dirty(12, 41);
    trib_buffer_api_1.note(12, 42);
    uint64_t a = write_page(0x100, {12, 40}).who.signature, b = write_page(0x100, {12, 41}).who.signature;
    uint64_t c = write_page(0x100, {12, 42}).who.signature;
    CHECK(a != b); // two call sites
    CHECK(a != c);
    uint64_t twice[2];
    for (uint64_t &signature : twice) {
        dirty(12, 43);
        signature = write_page(0x100, {12, 43}).who.signature;
    }
    CHECK(twice[0] == twice[1]);
}

TEST_CASE("a copy in a data file consumes nothing") {
    trib_identify_innodb(true);
    write_page(0x200, {0, 5, 7}); // ibdata1 shows what it is
    dirty(12, 50);
    auto before = counts();
    auto copies =
        joined({make_page({12, 50}), make_page({12, 51}), make_page({13, 66})}); // 66: fits its slot by chance
    Identified got = identify(trib_buffer_identify, 0x200, 64 * kPage, copies);
    CHECK(got.bytes == 3 * kPage);
    CHECK(got.who.file_kind == TRIB_FILE_JOURNAL);
    CHECK(got.who.signature == kNativeSignature);
    CHECK(got.who.io_activity == TRIB_ACTIVITY_UNKNOWN);
    CHECK(counts().copies == before.copies + 1);
    CHECK(counts().pages == before.pages);
    Identified page = write_page(0x300, {12, 50});
    CHECK(page.who.signature >> 32 != trib_page_unnoted_signature(0) >> 32);
}

TEST_CASE("zeros extend a file in one piece") {
    trib_identify_innodb(true);
    std::vector<uint8_t> data(4 * kPage, 0);
    auto page = make_page({12, 68});
    std::copy(page.begin(), page.end(), data.begin() + 3 * kPage);
    Identified got = identify(trib_buffer_identify, 0x300, 65 * kPage, data);
    CHECK(got.bytes == 3 * kPage);
    CHECK(trib_page_class_of(&got.who) == TRIB_PAGE_ALLOCATED);
    CHECK(got.who.signature == trib_page_unnoted_signature(TRIB_PAGE_ALLOCATED));
}

TEST_CASE("of several pages in one write each is asked about on its own") {
    trib_identify_innodb(true);
    dirty(14, 70);
    const auto both = joined({make_page({14, 70}, kPage), make_page({14, 71}, kPage)});
    const auto before = counts();
    Identified got = identify(trib_buffer_identify, 0x350, 70 * kPage, both);
    CHECK(got.bytes == kPage);
    CHECK(got.who.signature >> 32 != trib_page_unnoted_signature(0) >> 32);
    CHECK(counts().pages == before.pages + 1);
    const std::vector<uint8_t> rest(both.begin() + kPage, both.end());
    got = identify(trib_buffer_identify, 0x350, 71 * kPage, rest);
    CHECK(got.bytes == kPage);
    CHECK(got.who.signature == trib_page_unnoted_signature(TRIB_PAGE_LEAF));
}

TEST_CASE("pages of 8 KiB, and pages cut short by compression") {
    trib_identify_innodb(true);
    dirty(15, 9);
    Identified got = write_page(0x400, {15, 9}, 8192);
    CHECK(got.bytes == 8192);
    CHECK(trib_page_class_of(&got.who) == TRIB_PAGE_LEAF);
    dirty(16, 9);
    auto hole = make_page({16, 9, 14}, 4096);
    put(&hole[28], 2, 17855);
    got = identify(trib_buffer_identify, 0x500, 9 * kPage, hole);
    CHECK(got.bytes == 4096);
    CHECK(trib_page_class_of(&got.who) == TRIB_PAGE_INDEX);
    CHECK(got.who.signature >> 32 != trib_page_unnoted_signature(0) >> 32);
}

TEST_CASE("what is no page keeps its own call path") {
    trib_identify_innodb(true);
    std::vector<uint8_t> text(5000, 'x');
    for (uint8_t kind : {TRIB_FILE_DATABASE, TRIB_FILE_TEMP}) {
        Identified got = identify(trib_buffer_identify, 0x600, 8192, text, kind);
        CHECK(got.bytes == text.size());
        CHECK(got.who.signature == kNativeSignature);
        CHECK(got.who.file_kind == kind);
        CHECK(got.who.io_activity == TRIB_ACTIVITY_UNKNOWN);
    }
    auto page = make_page({12, 30}); // a log may hold page images
    Identified redo = identify(trib_buffer_identify, 0x700, 30 * kPage, page, TRIB_FILE_WAL);
    CHECK(redo.who.signature == kNativeSignature);
    CHECK(redo.who.file_kind == TRIB_FILE_WAL);
    // A sort file of another program's making is not taken for a doublewrite buffer.
    Identified sorted = identify(trib_buffer_identify, 0x800, 7 * kPage, page, TRIB_FILE_TEMP);
    CHECK(sorted.who.file_kind == TRIB_FILE_TEMP);
    CHECK(sorted.who.signature == kNativeSignature);
    std::vector<uint8_t> tiny(20, 1);
    CHECK(identify(trib_buffer_identify, 0x600, 0, tiny).who.signature == kNativeSignature);
}

TEST_CASE("a space that is truncated and begun again has another number") {
    trib_identify_innodb(true);
    write_page(0x900, {20, 3});
    CHECK(write_page(0x900, {21, 4}).who.file_kind == TRIB_FILE_JOURNAL);
    auto class_of = [](const Identified &got) { return trib_page_class_of(&got.who); };
    CHECK(class_of(write_page(0x900, {21, 0, 8})) == TRIB_PAGE_SPACE_MAP);
    CHECK(class_of(write_page(0x900, {21, 4})) == TRIB_PAGE_LEAF);
}

TEST_CASE("tags and adopted signatures tell modifications apart") {
    trib_identify_innodb(true);
    uint64_t seen[6];
    for (uint32_t step = 0; step < 6; step++) { // one call site, or the paths would differ by themselves
        if (step == 1)
            CHECK(trib_buffer_api_1.tag(7) == 0);
        if (step == 2)
            CHECK(trib_buffer_api_1.tag(0) == 7);
        if (step == 5)
            CHECK(trib_buffer_api_1.tag(8) == 0);
        trib_buffer_api_1.adopt(step == 3 ? 0x5555 : 0);
        dirty(30, step + 1);
        seen[step] = write_page(0xa00, {30, step + 1}).who.signature;
    }
    CHECK(seen[1] != seen[0]);
    CHECK(seen[2] == seen[0]);
    CHECK(seen[3] == 0x5555);
    CHECK(seen[4] == seen[0]);
    CHECK(seen[5] != seen[0]);
    CHECK(seen[5] != seen[1]); // another tag
    CHECK(trib_buffer_api_1.tag(0) == 8);
    CHECK(trib_buffer_api_1.capture() != 0);
}

TEST_CASE("engines whose pages are anonymous announce them by address") {
    trib_identify_innodb(false);
    REQUIRE(trib_buffer_api_1.attach("postgres", 8192, 1000) == 0);
    std::vector<uint8_t> frame(8192, 0x5a);
    dirty(1663, 9);
    dirty(1663, 9);
    trib_buffer_api_1.flush(1663, 9, frame.data(), frame.size());
    Identified got = identify(trib_buffer_identify, 0xb00, 9 * 8192, frame);
    CHECK(got.bytes == 8192);
    CHECK(trib_page_class_of(&got.who) == TRIB_PAGE_UNKNOWN);
    CHECK(trib_page_logarithm_of(&got.who) == 1);
    CHECK(got.who.column_family != 0);
    CHECK(got.who.signature != kNativeSignature);
    CHECK(identify(trib_buffer_identify, 0xb00, 9 * 8192, frame).who.signature == kNativeSignature);
    // Another process of the engine has crashed, the pool begins anew.
    dirty(1663, 9);
    REQUIRE(trib_buffer_api_1.attach("postgres", 8192, 1000) == 0);
    trib_buffer_api_1.flush(1663, 9, frame.data(), frame.size());
    CHECK(identify(trib_buffer_identify, 0xb00, 9 * 8192, frame).who.signature ==
          trib_page_unnoted_signature(TRIB_PAGE_UNKNOWN));
    // Dropped before it was written.
    dirty(1663, 10);
    trib_buffer_api_1.forget(1663, 10, 1);
    trib_buffer_api_1.flush(1663, 10, frame.data(), frame.size());
    CHECK(identify(trib_buffer_identify, 0xb00, 10 * 8192, frame).who.signature ==
          trib_page_unnoted_signature(TRIB_PAGE_UNKNOWN));
}

TEST_CASE("a batch is noted by one path") {
    REQUIRE(trib_buffer_api_1.attach("innodb", 16384, 1000) == 0); // pages say which they are again
    std::vector<trib_buffer_page> pages;
    for (uint32_t page = 100; page < 180; page++)
        pages.push_back({44, page});
    trib_buffer_api_1.note_batch(pages.data(), static_cast<unsigned>(pages.size()));
    uint64_t first = write_page(0xc00, {44, 100}).who.signature;
    CHECK(first >> 32 != trib_page_unnoted_signature(0) >> 32);
    for (uint32_t page = 101; page < 180; page++)
        CHECK(write_page(0xc00, {44, page}).who.signature == first);
}

TEST_CASE("the header is inert where no library is") {
    CHECK(trib_buffer_library() == nullptr); // this program exports no symbols
    trib_buffer_note(1, 2);
    trib_buffer_flush(1, 2, nullptr, 0);
    CHECK(trib_buffer_attach("any", 8192, 10) == -1);
    CHECK(trib_buffer_tag(3) == 0);
    CHECK(trib_buffer_capture() == 0);
}

TEST_CASE("the activity byte holds classes and logarithms") {
    CHECK(trib_page_activity(TRIB_PAGE_LEAF, 0) == 0x10);
    CHECK(trib_page_activity(TRIB_PAGE_LEAF, 1) == 0x10);
    CHECK(trib_page_activity(TRIB_PAGE_LEAF, 2) == 0x11);
    CHECK(trib_page_activity(TRIB_PAGE_LEAF, 7) == 0x12);
    CHECK(trib_page_activity(TRIB_PAGE_UNDO, 65535) == 0x5f);
    CHECK(trib_page_activity(TRIB_PAGE_UNDO, UINT32_MAX) == 0x5f);
    for (uint8_t c = 0; c < TRIB_PAGE_CLASS_COUNT; c++)
        CHECK(trib_page_activity(c, UINT32_MAX) != TRIB_ACTIVITY_UNKNOWN);
    trib_context rocksdb{};
    rocksdb.file_kind = TRIB_FILE_SST;
    CHECK_FALSE(trib_page_is(&rocksdb));
    trib_context plain{};
    plain.file_kind = TRIB_FILE_DATABASE;
    plain.io_activity = TRIB_ACTIVITY_UNKNOWN;
    CHECK_FALSE(trib_page_is(&plain));
}
