// SPDX-License-Identifier: Apache-2.0
// The classes of InnoDB's pages, from hand-made headers.
#include "support/catch.hpp"

#include <cerrno>

#include "innodb/page_header.h"
#include "support/buffer_hook.hpp"

using trib_test::make_page;
using trib_test::PageSpec;
using trib_test::put;

namespace {

trib_page_header parse(const std::vector<uint8_t> &page, trib_page_dialect dialect = TRIB_DIALECT_MYSQL) {
    trib_page_header header{};
    REQUIRE(trib_page_header_parse(page.data(), page.size(), dialect, &header) == 0);
    return header;
}

uint8_t class_of(uint16_t type, trib_page_dialect dialect = TRIB_DIALECT_MYSQL) {
    return parse(make_page({3, 4, type}), dialect).page_class;
}

bool refused(uint16_t type, trib_page_dialect dialect) {
    auto page = make_page({3, 4, type});
    trib_page_header header{};
    return trib_page_header_parse(page.data(), page.size(), dialect, &header) == -EINVAL;
}

} // namespace

TEST_CASE("an index page says which tree and which level") {
    auto header = parse(make_page({12, 345, 17855, 2, 0x1122334455, 99}));
    CHECK(header.space == 12);
    CHECK(header.page == 345);
    CHECK(header.lsn == 99);
    CHECK(header.index == 0x1122334455);
    CHECK(header.level == 2);
    CHECK(header.page_class == TRIB_PAGE_NODE);
    CHECK(parse(make_page({12, 345})).page_class == TRIB_PAGE_LEAF);
}

TEST_CASE("types of both servers") {
    const std::vector<std::pair<uint16_t, uint8_t>> both = {
        {0, TRIB_PAGE_ALLOCATED},     {2, TRIB_PAGE_UNDO},          {3, TRIB_PAGE_SPACE_MAP},
        {4, TRIB_PAGE_CHANGE_BUFFER}, {5, TRIB_PAGE_CHANGE_BUFFER}, {6, TRIB_PAGE_TRANSACTIONS},
        {7, TRIB_PAGE_TRANSACTIONS},  {8, TRIB_PAGE_SPACE_MAP},     {9, TRIB_PAGE_SPACE_MAP},
        {10, TRIB_PAGE_LARGE_VALUE},  {11, TRIB_PAGE_LARGE_VALUE},  {12, TRIB_PAGE_LARGE_VALUE},
        {17854, TRIB_PAGE_SPATIAL},   {17855, TRIB_PAGE_LEAF},
    };
    for (auto [type, page_class] : both) {
        INFO("type " << type);
        CHECK(class_of(type) == page_class);
        CHECK(class_of(type, TRIB_DIALECT_MARIADB) == page_class);
    }
    CHECK(class_of(17853) == TRIB_PAGE_DICTIONARY);
    CHECK(class_of(21) == TRIB_PAGE_TRANSACTIONS);
    for (uint16_t type = 22; type <= 29; type++)
        CHECK(class_of(type) == TRIB_PAGE_LARGE_VALUE);
    CHECK(class_of(18) == TRIB_PAGE_DICTIONARY);
    CHECK(class_of(18, TRIB_DIALECT_MARIADB) == TRIB_PAGE_LEAF); // root after an instant ALTER TABLE
}

TEST_CASE("types that there are not") {
    for (uint16_t type : {30, 100, 17000, 17852, 17856, 32767, 65535})
        CHECK(refused(type, TRIB_DIALECT_MYSQL));
    for (uint16_t type : {14, 17, 19, 29, 17000, 17856, 34353})
        CHECK(refused(type, TRIB_DIALECT_MARIADB));
}

TEST_CASE("MySQL's compressed and encrypted pages keep their type elsewhere, and hide their tree") {
    for (uint16_t stored : {14, 15, 16}) {
        auto page = make_page({3, 4, stored, 1, 55});
        put(&page[28], 2, 17855);
        auto header = parse(page);
        CHECK(header.page_class == TRIB_PAGE_INDEX);
        CHECK(header.level == TRIB_LEVEL_UNKNOWN);
        CHECK(header.index == 0);
        CHECK(header.space == 3);
        put(&page[28], 2, 2);
        CHECK(parse(page).page_class == TRIB_PAGE_UNDO);
    }
    auto spatial = make_page({3, 4, 17});
    put(&spatial[28], 2, 17854);
    CHECK(parse(spatial).page_class == TRIB_PAGE_SPATIAL);
    auto nonsense = make_page({3, 4, 15});
    put(&nonsense[28], 2, 4711);
    trib_page_header header{};
    CHECK(trib_page_header_parse(nonsense.data(), nonsense.size(), TRIB_DIALECT_MYSQL, &header) == -EINVAL);
}

TEST_CASE("MariaDB's compressed and encrypted pages hide their tree") {
    for (uint16_t stored : {34354, 37401, 0x8000 | 12}) {
        auto header = parse(make_page({3, 4, static_cast<uint16_t>(stored), 1, 55}), TRIB_DIALECT_MARIADB);
        CHECK(header.page_class == TRIB_PAGE_INDEX);
        CHECK(header.level == TRIB_LEVEL_UNKNOWN);
    }
    auto with_key = make_page({3, 4, 17855, 1, 55});
    put(&with_key[26], 4, 1);
    CHECK(parse(with_key, TRIB_DIALECT_MARIADB).page_class == TRIB_PAGE_INDEX);
    auto garbled = parse(make_page({3, 4, 17855, 0x7a31, 0xdeadbeefcafef00d}), TRIB_DIALECT_MARIADB);
    CHECK(garbled.page_class == TRIB_PAGE_INDEX); // full_crc32: nothing but its nonsense says that it is encrypted
    CHECK(garbled.index == 0);
    auto garbled_index = parse(make_page({3, 4, 17855, 1, 0xdeadbeefcafef00d}), TRIB_DIALECT_MARIADB);
    CHECK(garbled_index.page_class == TRIB_PAGE_INDEX); // one of the two is enough
    CHECK(garbled_index.level == TRIB_LEVEL_UNKNOWN);
    CHECK(garbled_index.index == 0);
    auto garbled_level = parse(make_page({3, 4, 17855, 0x7a31, 55}), TRIB_DIALECT_MARIADB);
    CHECK(garbled_level.page_class == TRIB_PAGE_INDEX);
    CHECK(garbled_level.level == TRIB_LEVEL_UNKNOWN);
    auto first = make_page({3, 0, 17855, 0, 55}); // of the old format: what stands there is no key's version
    put(&first[26], 4, 1);
    CHECK(parse(first, TRIB_DIALECT_MARIADB).page_class == TRIB_PAGE_LEAF);
}

TEST_CASE("a header that is cut off, and one of zeros") {
    auto page = make_page({1, 1});
    trib_page_header header{};
    CHECK(trib_page_header_parse(page.data(), TRIB_PAGE_HEADER_BYTES - 1, TRIB_DIALECT_MYSQL, &header) == -EINVAL);
    CHECK_FALSE(trib_page_header_is_zero(page.data(), page.size()));
    std::vector<uint8_t> zeros(16384, 0);
    CHECK(trib_page_header_is_zero(zeros.data(), zeros.size()));
}

TEST_CASE("where a page may lie") {
    CHECK(trib_page_bytes_at(0, 0, 16384) == 16384);
    CHECK(trib_page_bytes_at(0, 16384, 16384) == 0);
    CHECK(trib_page_bytes_at(7, 7 * 16384, 16384) == 16384);
    CHECK(trib_page_bytes_at(7, 7 * 8192, 16384) == 8192); // ROW_FORMAT=COMPRESSED
    CHECK(trib_page_bytes_at(7, 7 * 1024, 16384) == 1024);
    CHECK(trib_page_bytes_at(7, 7 * 512, 16384) == 0);
    CHECK(trib_page_bytes_at(7, 7 * 131072, 16384) == 0);
    CHECK(trib_page_bytes_at(7, 8 * 16384, 16384) == 0);
    CHECK(trib_page_bytes_at(3, 9 * 4096, 16384) == 0); // 12288 is no size of a page
    CHECK(trib_page_bytes_at(UINT32_MAX, uint64_t{UINT32_MAX} * 16384, 16384) == 16384);
}

TEST_CASE("owners differ by space and index") {
    auto owner = [](uint32_t space, uint64_t index) {
        trib_page_header header{};
        header.space = space;
        header.index = index;
        return trib_page_owner(&header);
    };
    CHECK(owner(1, 2) != owner(2, 1));
    CHECK(owner(1, 2) != owner(1, 3));
    CHECK(owner(1, 2) == owner(1, 2));
    std::vector<bool> seen(65536);
    unsigned distinct = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        uint16_t at = owner(i, 100 + i);
        CHECK(at != 0);
        distinct += !seen[at];
        seen[at] = true;
    }
    CHECK(distinct > 980);
}
