// SPDX-License-Identifier: Apache-2.0
// MariaDB's redo records: which pages does a mini-transaction change?
#include "support/catch.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "innodb/redo_record.h"

namespace {

using Bytes = std::vector<uint8_t>;

// As mlog_encode_varint.
void add_number(Bytes &out, uint32_t n) {
    static const uint32_t first[] = {0, 0x80, 0x4080, 0x204080, 0x10204080};
    static const uint8_t lead[] = {0, 0x80, 0xc0, 0xe0, 0xf0};
    unsigned more = 4;
    while (more && n < first[more])
        more--;
    n -= first[more];
    out.push_back(static_cast<uint8_t>(lead[more] | (more < 4 ? n >> (8 * more) : 0)));
    for (unsigned i = more; i-- > 0;)
        out.push_back(static_cast<uint8_t>(n >> (8 * i)));
}

// type with flags; page identity unless same page; payload bytes of 0xee.
void add_record(Bytes &out, uint8_t type, uint32_t space, uint32_t page, unsigned payload) {
    Bytes body;
    if (!(type & 0x80)) {
        add_number(body, space);
        add_number(body, page);
    }
    body.insert(body.end(), payload, 0xee);
    if (body.size() < 16) {
        out.push_back(static_cast<uint8_t>(type | body.size()));
    } else { // the length counts itself: total after the type = n + 15
        Bytes length;
        uint32_t n = static_cast<uint32_t>(body.size() - 15);
        do { // 1..3 bytes
            length.clear();
            add_number(length, n + static_cast<uint32_t>(length.size()));
            Bytes again;
            add_number(again, n + static_cast<uint32_t>(length.size()));
            length = again;
        } while (false);
        out.push_back(type);
        out.insert(out.end(), length.begin(), length.end());
    }
    out.insert(out.end(), body.begin(), body.end());
}

struct Read {
    int count;
    std::vector<trib_redo_page> pages;
};

Read read(trib_redo_cursor &cursor, const Bytes &block) {
    trib_redo_page pages[8];
    int count = trib_redo_read(&cursor, block.data(), block.size(), pages, 8);
    return {count, {pages, pages + (count > 0 ? count : 0)}};
}

} // namespace

TEST_CASE("each run of records about a page names it once") {
    Bytes block;
    add_record(block, 0x30, 5, 300, 4);
    add_record(block, 0x30 | 0x80, 0, 0, 3); // same page
    add_record(block, 0x20, 5, 301, 40);     // longer than 15
    add_record(block, 0x30, 5, 301, 2);      // named again
    add_record(block, 0x10, 70000, 0xffffffff - 1, 0);
    trib_redo_cursor cursor{};
    Read got = read(cursor, block);
    REQUIRE(got.count == 3);
    CHECK(got.pages[0].space == 5);
    CHECK(got.pages[0].page == 300);
    CHECK(got.pages[1].page == 301);
    CHECK(got.pages[2].space == 70000);
    CHECK(got.pages[2].page == 0xfffffffe);
}

TEST_CASE("a page of another space with the same number is another page") {
    Bytes block;
    add_record(block, 0x30, 5, 300, 4);
    add_record(block, 0x30, 6, 300, 4);
    trib_redo_cursor cursor{};
    Read got = read(cursor, block);
    REQUIRE(got.count == 2);
    CHECK(got.pages[0].space == 5);
    CHECK(got.pages[1].space == 6);
    CHECK(got.pages[1].page == 300);
}

TEST_CASE("numbers at the edges of their lengths") {
    for (uint32_t n :
         {0u, 0x7fu, 0x80u, 0x407fu, 0x4080u, 0x20407fu, 0x204080u, 0x1020407fu, 0x10204080u, 0xfffffffeu}) {
        Bytes block;
        add_record(block, 0x30, n, n, 3);
        trib_redo_cursor cursor{};
        Read got = read(cursor, block);
        REQUIRE(got.count == 1);
        CHECK(got.pages[0].space == n);
        CHECK(got.pages[0].page == n);
    }
}

TEST_CASE("a record goes on in the next block") {
    Bytes all;
    add_record(all, 0x30, 1, 2, 700);
    add_record(all, 0x30, 1, 3, 4);
    for (size_t cut : {size_t{20}, size_t{512}, all.size() - 8}) {
        trib_redo_cursor cursor{};
        Read first = read(cursor, Bytes(all.begin(), all.begin() + static_cast<long>(cut)));
        Read second = read(cursor, Bytes(all.begin() + static_cast<long>(cut), all.end()));
        REQUIRE(first.count == 1);
        REQUIRE(second.count == 1);
        CHECK(second.pages[0].page == 3);
        CHECK(cursor.skip_bytes == 0);
    }
}

TEST_CASE("a record goes on over many blocks") {
    Bytes all;
    add_record(all, 0x30, 1, 2, 700);
    add_record(all, 0x30, 1, 3, 4);
    trib_redo_cursor cursor{};
    std::vector<uint32_t> found;
    for (size_t at = 0; at < all.size(); at += 100) {
        const Read got =
            read(cursor, Bytes(all.begin() + long(at), all.begin() + long(std::min(at + 100, all.size()))));
        REQUIRE(got.count >= 0);
        for (const trib_redo_page &page : got.pages)
            found.push_back(page.page);
    }
    CHECK(found == std::vector<uint32_t>{2, 3});
}

TEST_CASE("records about files name no page") {
    Bytes block;
    add_record(block, 0xb0, 0, 0, 14); // FILE_MODIFY
    trib_redo_cursor cursor{};
    CHECK(read(cursor, block).count == 0);
}

TEST_CASE("more pages than there is room for are counted") {
    Bytes block;
    for (uint32_t page = 1; page <= 12; page++)
        add_record(block, 0x30, 1, page, 1);
    trib_redo_cursor cursor{};
    trib_redo_page pages[3];
    CHECK(trib_redo_read(&cursor, block.data(), block.size(), pages, 3) == 12);
    CHECK(pages[2].page == 3);
}

TEST_CASE("what is no redo is refused") {
    const std::vector<Bytes> bad = {
        {0x00}, // end marks belong to the log
        {0x01, 1, 2},
        {0x30},                   // no length
        {0x33, 0x80},             // a number that is cut off
        {0x31, 5, 6},             // page identity longer than the record
        {0x62, 1, 2},             // reserved type
        {0xe2, 1, 2},             // the same about a file
        {0x30, 0xf0, 0, 0, 0, 9}, // no record is that long
        {0x35, 0xff, 1, 2, 3, 4}, // no such first byte
    };
    for (const Bytes &block : bad) {
        trib_redo_cursor cursor{};
        INFO("first byte " << +block[0]);
        CHECK(read(cursor, block).count == -EINVAL);
    }
}
