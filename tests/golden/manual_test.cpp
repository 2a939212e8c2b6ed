// SPDX-License-Identifier: Apache-2.0
// The tables of docs/policies.md, cell by cell.
#include "support/policy.hpp"

#include <vector>

using namespace trib_test;

namespace {

struct Cell {
    uint8_t kind;
    int8_t level;
    uint16_t level_map, hs8, three;
};

const Cell CELLS[] = {
    {TRIB_FILE_WAL, TRIB_LEVEL_UNKNOWN, 1, 1, 1},
    {TRIB_FILE_MANIFEST, TRIB_LEVEL_UNKNOWN, 0, 2, 2},
    {TRIB_FILE_SST, 0, 2, 3, 3},
    {TRIB_FILE_SST, 1, 3, 4, 3},
    {TRIB_FILE_SST, 2, 4, 5, 3},
    {TRIB_FILE_SST, 3, 5, 6, 3},
    {TRIB_FILE_SST, 4, 6, 7, 3},
    {TRIB_FILE_SST, 6, 6, 7, 3},
    {TRIB_FILE_SST, INT8_MAX, 6, 7, 3},
    {TRIB_FILE_SST, TRIB_LEVEL_UNKNOWN, 0, 0, 3},
    {TRIB_FILE_BLOB, 0, 2, 3, 3},
    {TRIB_FILE_OPTIONS, TRIB_LEVEL_UNKNOWN, 0, 0, 0},
    {TRIB_FILE_LOG, TRIB_LEVEL_UNKNOWN, 0, 0, 0},
    {TRIB_FILE_UNKNOWN, 2, 0, 0, 0},
    {TRIB_FILE_COLD, TRIB_LEVEL_UNKNOWN, 0, 0, 0},
};

} // namespace

TEST_CASE("manual: kinds and levels go where the table says") {
    State state;
    Policy level("manual", state, 8), hs8("manual", state, 8, "map=hs8"), three("manual", state, 8, "map=3way");
    for (const Cell &cell : CELLS) {
        CAPTURE(int(cell.kind), int(cell.level));
        const trib_context who = context(1, cell.kind, TRIB_HINT_LONG, cell.level);
        REQUIRE(level.place(who) == cell.level_map); // the default
        REQUIRE(hs8.place(who) == cell.hs8);
        REQUIRE(three.place(who) == cell.three);
    }
}

namespace {

struct KindCell {
    uint8_t kind;
    int8_t level;
    uint16_t cassandra, cassandra4, sqlite, gcc, mixed1, mixed2;
};

const KindCell KIND_CELLS[] = {
    {TRIB_FILE_WAL, TRIB_LEVEL_UNKNOWN, 1, 1, 1, 0, 1, 1},
    {TRIB_FILE_SST, 0, 2, 4, 0, 0, 2, 0},
    {TRIB_FILE_SST, 1, 3, 4, 0, 0, 3, 0},
    {TRIB_FILE_SST, 4, 3, 4, 0, 0, 6, 0},
    {TRIB_FILE_SST, 7, 3, 4, 0, 0, 6, 0},
    {TRIB_FILE_SST, TRIB_LEVEL_UNKNOWN, 0, 4, 0, 0, 0, 0},
    {TRIB_FILE_SST_INDEX, 0, 2, 3, 0, 0, 0, 0},
    {TRIB_FILE_SST_INDEX, 1, 3, 3, 0, 0, 0, 0},
    {TRIB_FILE_SST_META, 0, 2, 2, 0, 0, 0, 0},
    {TRIB_FILE_SST_META, 2, 3, 2, 0, 0, 0, 0},
    {TRIB_FILE_DATABASE, TRIB_LEVEL_UNKNOWN, 0, 0, 2, 0, 0, 2},
    {TRIB_FILE_JOURNAL, TRIB_LEVEL_UNKNOWN, 0, 0, 1, 0, 0, 1},
    {TRIB_FILE_TEMP, TRIB_LEVEL_UNKNOWN, 0, 0, 3, 0, 0, 3},
    {TRIB_FILE_INTERMEDIATE, TRIB_LEVEL_UNKNOWN, 0, 0, 0, 1, 7, 4},
    {TRIB_FILE_BUILD_NOTE, TRIB_LEVEL_UNKNOWN, 0, 0, 0, 2, 8, 5},
    {TRIB_FILE_OBJECT, TRIB_LEVEL_UNKNOWN, 0, 0, 0, 3, 9, 6},
    {TRIB_FILE_LINKED, TRIB_LEVEL_UNKNOWN, 0, 0, 0, 4, 10, 7},
    {TRIB_FILE_OTHER, 0, 0, 0, 0, 0, 0, 0},
    {TRIB_FILE_KIND_COUNT, 0, 0, 0, 0, 0, 0, 0}, // of a newer adapter
    {UINT8_MAX, 0, 0, 0, 0, 0, 0, 0},
};

} // namespace

TEST_CASE("manual: other engines' tables") {
    State state;
    const struct {
        const char *map;
        uint16_t KindCell::*want;
    } tables[] = {{"cassandra", &KindCell::cassandra}, {"cassandra4", &KindCell::cassandra4},
                  {"sqlite", &KindCell::sqlite},       {"gcc", &KindCell::gcc},
                  {"mixed1", &KindCell::mixed1},       {"mixed2", &KindCell::mixed2}};
    for (const auto &table : tables) {
        Policy manual("manual", state, 16, std::string("map=") + table.map);
        for (const KindCell &cell : KIND_CELLS) {
            CAPTURE(table.map, int(cell.kind), int(cell.level));
            REQUIRE(manual.place(context(1, cell.kind, TRIB_HINT_LONG, cell.level)) == cell.*table.want);
        }
    }
}

TEST_CASE("manual: mixed workloads share what the drive lacks: on eight streams S9 and S10 are S1, S2") {
    State state;
    Policy mixed("manual", state, 8, "map=mixed1");
    REQUIRE(mixed.place(context(1, TRIB_FILE_BUILD_NOTE)) == 8);
    REQUIRE(mixed.place(context(1, TRIB_FILE_OBJECT)) == 1); // with RocksDB's WAL
    REQUIRE(mixed.place(context(1, TRIB_FILE_LINKED)) == 2); // with its L0
}

TEST_CASE("manual: map=hint goes by the hint alone") {
    State state;
    Policy hint("manual", state, 8, "map=hint");
    REQUIRE(hint.place(context(1, TRIB_FILE_WAL, TRIB_HINT_SHORT)) == 1);
    REQUIRE(hint.place(context(1, TRIB_FILE_SST, TRIB_HINT_EXTREME, 0)) == 4);
    REQUIRE(hint.place(context(1, TRIB_FILE_SST, TRIB_HINT_NOT_SET, 3)) == 0);
}

TEST_CASE("manual: map=host obeys what the host named") {
    State state;
    Policy host("manual", state, 8, "map=host");
    trib_placement write{};
    for (uint16_t named : {0, 3, 7}) {
        write.vstream = named;
        REQUIRE(host.place_block(0, 0, 1, write) == named + 1);
    }
    write.vstream = 8; // one more than the drive has: in turn
    REQUIRE(host.place_block(0, 0, 1, write) == 1);
    write.vstream = TRIB_STREAM_UNDECIDED;
    REQUIRE(host.place_block(0, 0, 1, write) == 0);
}

TEST_CASE("manual: map=f2fs is vStream-FTL's Table II") {
    State state;
    Policy f2fs("manual", state, 3, "map=f2fs");
    trib_placement write{};
    auto stream = [&](uint16_t named) {
        write.vstream = named;
        return f2fs.place_block(0, 0, 1, write);
    };
    const uint16_t hot_data = 0, warm_data = 1, cold_data = 2, hot_node = 3, warm_node = 4, cold_node = 5, metadata = 6;
    CHECK(stream(hot_node) == 1);
    CHECK(stream(hot_data) == 1);
    CHECK(stream(warm_node) == 2);
    CHECK(stream(warm_data) == 2);
    CHECK(stream(metadata) == 2);
    CHECK(stream(cold_data) == 3);
    CHECK(stream(cold_node) == 3);
    CHECK(stream(7) == 0);
    CHECK(stream(TRIB_STREAM_UNDECIDED) == 0);
}

TEST_CASE("manual: too few streams are given out in turn") {
    State state;
    Policy four("manual", state, 4), none("manual", state, 0);
    const uint16_t want[] = {2, 3, 4, 1, 2}; // S2 S3 S4, then S5 -> S1, S6 -> S2
    for (int8_t level = 0; level < 5; level++)
        REQUIRE(four.place(context(1, TRIB_FILE_SST, 0, level)) == want[level]);
    REQUIRE(four.place(context(1, TRIB_FILE_WAL)) == 1);
    REQUIRE(four.place(context(1, TRIB_FILE_OPTIONS)) == 0); // S0 is nobody's turn
    REQUIRE(none.place(context(1, TRIB_FILE_WAL)) == 0);
}

TEST_CASE("manual: an unknown map is refused, the valid ones named") {
    State state;
    Policy bad("manual", state, 8, "map=mysql");
    REQUIRE(bad.code == -EINVAL);
    REQUIRE(bad.sentence.find("level|hs8|3way|hint") != std::string::npos);
}
