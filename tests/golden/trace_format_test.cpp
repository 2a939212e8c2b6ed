// SPDX-License-Identifier: Apache-2.0
// The bytes of an event file, item by item, put together by hand from docs/formats/trace.md; only the checksums were
// copied from a writer. A change of any of them breaks the files that people keep.
#include "support/catch.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <sys/resource.h>

#include "support/trace_file.hpp"

using namespace trib_test;

namespace {

// 8 bytes little-endian, as hex.
#define U64(low) low "00000000000000"

const char *const kFileHeader = "89 54524942 0d0a1a 0100 0000 0000000000000000 0000 0000 8e3db8513b128a15";

const char *const kItems = "80 10" U64("07") U64("00") // segment: recording 7, file 0
    "30 02 6869"                                       // note "hi"
    "10 0a" U64(
        "09") "2f61"                                   // name: file 9 is "/a"
              "18 0e 03 8877665544332211 02 aabb 2f62" // module 3, build-id aabb, "/b"
              "20 15 cdab000000000000 01" U64(
                  "05") "ac02 8001"     // signature 0xabcd: build 5, module 300, offset 128
                        "28 03 03 8020" // gap: 3 events, 4096 bytes
                        "f9 57 00 00" U64(
                            "09") "04 8040 05" // write: new file in slot 0, at block 2, 4096 bytes, 5 ns
                                  "00 00" U64(
                                      "42") "0100 0200 03 04 05 ff 02 04 c0843d" // ... context in slot 0, thread 2,
                                                                                 // stream 3, clock 500,000
                                            "41 07"                              // write: the next block, 7 ns later
                                            "b2 4e 04 8040 02 04 02" // death: block 2, 1 block, thread, stream, a trim
                                            "84 08 10"               // sync of the whole file: fsync
                                            "f5 20 c801 64 02"       // read: at 100, 50 bytes, 2 ns earlier
                                            "ad 04 00 01" U64(
                                                "0b") "02 00"  // read: new file in slot 1, 1 byte, undecided
                                                      "09 01"; // write: file of slot 0 again, its next block

// Each block: magic, bytes, sequence, items, type, flags, 0, checksum of the payload, checksum of what stands before.
const char *const kItemsHeader = "54424c4b 98000000" U64("00") "0d000000 01 01 0000 3794bb9aec07f318 990d2b8834ea7104";
const char *const kEnd = "54424c4b 20000000" U64("0d") "00000000 02 00 0000 dc3a72fba69f1135 856b8fef439ca24e" U64("0d")
    U64("07") "0030000000000000" U64("01");

// A recording that stops at its first block, with the note that did not fit taken back.
const char *const kStop = "54424c4b 1f000000" U64(
    "00") "01000000 01 00 0000 ac6475a28fcee636 bed2d3c34970bcd4"
          "88 1d 03 63616e6e6f742077726974653a2046696c6520746f6f206c61726765"
          "54424c4b 20000000" U64("01") "00000000 02 00 0000 d7dc13571b74f05e b46403d02df8c8c7" U64("01") U64("00")
              U64("00") U64("01");

std::string hex_of(const std::string &bytes) {
    std::string text;
    char digits[3];
    for (unsigned char byte : bytes) {
        snprintf(digits, sizeof digits, "%02x", byte);
        text += digits;
    }
    return text;
}

std::string squeezed(std::string hex) {
    hex.erase(std::remove(hex.begin(), hex.end(), ' '), hex.end());
    return hex;
}

std::string bytes_of(const std::string &hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

std::vector<trib_event> golden_events() {
    trib_event event{};
    std::vector<trib_event> events;
    event.who = {0x42, 1, 2, 3, 4, 5, -1};
    event.thread = 2;
    event.stream = 3;
    auto add = [&](uint8_t kind, uint64_t file, uint64_t offset, uint64_t length, uint64_t clock, uint64_t wall,
                   uint8_t cause) {
        event.kind = kind;
        event.file = file;
        event.offset_bytes = offset;
        event.length_bytes = length;
        event.clock_bytes = clock;
        event.wall_ns = wall;
        event.cause = cause;
        events.push_back(event);
    };
    add(1, 9, 8192, 4096, 500000, 5, 0);
    add(1, 9, 12288, 4096, 504096, 12, 0);
    add(2, 9, 8192, 4096, 508192, 12, 2);
    add(4, 9, 0, UINT64_MAX, 508192, 12, 16);
    add(5, 9, 100, 50, 508192, 10, 0);
    add(5, 11, 0, 1, 508192, 10, 0);
    events.back().stream = UINT16_MAX;
    add(1, 9, 16384, 4096, 508192, 10, 0);
    return events;
}

trib_trace_writer *open_golden(const std::string &path) {
    trib_trace_limits limits = TRIB_TRACE_LIMITS_DEFAULT;
    trib_trace_writer *writer = nullptr;
    limits.recording = 7;
    REQUIRE(trib_trace_writer_open_within(&writer, path.c_str(), &limits, nullptr) == 0);
    return writer;
}

std::string golden_trace() {
    return squeezed(std::string(kFileHeader) + kItemsHeader + kItems + kEnd);
}

} // namespace

TEST_CASE("a writer gives these bytes for every kind of item") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = open_golden(path);
    trib_module module{};
    strcpy(module.path, "/b");
    module.build_id[0] = 0xaa;
    module.build_id[1] = 0xbb;
    module.build_id_bytes = 2;
    module.build_id_hash = 0x1122334455667788;
    trib_frame frame{};
    frame.build_id = 5;
    frame.module = 300;
    frame.offset_bytes = 128;
    REQUIRE(trib_trace_write_note(writer, "hi") == 0);
    REQUIRE(trib_trace_write_name(writer, 9, "/a") == 0);
    REQUIRE(trib_trace_write_module(writer, 3, &module) == 0);
    REQUIRE(trib_trace_write_frames(writer, 0xabcd, &frame, 1) == 0);
    REQUIRE(trib_trace_write_gap(writer, 3, 4096) == 0);
    for (const auto &event : golden_events())
        REQUIRE(trib_trace_write(writer, &event) == 0);
    REQUIRE(trib_trace_writer_close(writer) == 0);
    REQUIRE(hex_of(read_bytes(path)) == golden_trace());
}

TEST_CASE("a reader makes these items of the bytes") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    write_bytes(path, bytes_of(golden_trace()));
    const auto contents = read_trace(path);
    INFO(contents.error);
    REQUIRE(contents.end_result == 0);
    const auto events = golden_events();
    REQUIRE(contents.events.size() == events.size());
    for (size_t i = 0; i < events.size(); i++)
        REQUIRE(same_event(contents.events[i], events[i]));
    REQUIRE(contents.others.size() == 5);
    REQUIRE(contents.texts == std::vector<std::string>{"hi", "/a"});
    REQUIRE(contents.others[1].id == 9);
    const trib_trace_item &module = contents.others[2], &signature = contents.others[3], &gap = contents.others[4];
    REQUIRE(module.module_index == 3);
    REQUIRE(module.module.build_id_hash == 0x1122334455667788);
    REQUIRE(module.module.build_id_bytes == 2);
    REQUIRE(module.module.build_id[0] == 0xaa);
    REQUIRE(module.module.build_id[1] == 0xbb);
    REQUIRE(std::string(module.module.path) == "/b");
    REQUIRE(signature.id == 0xabcd);
    REQUIRE(signature.frame_count == 1);
    REQUIRE(signature.frames[0].build_id == 5);
    REQUIRE(signature.frames[0].module == 300);
    REQUIRE(signature.frames[0].offset_bytes == 128);
    REQUIRE(gap.gap_events == 3);
    REQUIRE(gap.gap_bytes == 4096);
}

TEST_CASE("a recording that stops ends with these bytes, and a reader knows why") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    const std::string golden = squeezed(std::string(kFileHeader) + kStop);
    trib_trace_writer *writer = open_golden(path);
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit limit{400, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    const int noted = trib_trace_write_note(writer, std::string(1000, 'x').c_str()), flushed = trib_trace_flush(writer);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    REQUIRE(trib_trace_writer_close(writer) == -EFBIG);
    REQUIRE(noted == 0);
    REQUIRE(flushed == -EFBIG);
    REQUIRE(hex_of(read_bytes(path)) == golden);

    write_bytes(path, bytes_of(golden));
    trib_trace_reader *reader = nullptr;
    trib_trace_item item;
    REQUIRE(trib_trace_reader_open(&reader, path.c_str(), nullptr, nullptr) == 0);
    REQUIRE(trib_trace_next(reader, &item, nullptr) == 0);
    REQUIRE(std::string(trib_trace_stop_reason(reader)) == "cannot write: File too large");
    trib_trace_reader_close(reader);
}

TEST_CASE("traces of older writers, which name no recording, still read") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    for (const char *name : {"db-append", "db-fill", "db-update", "sqlite-tpcc", "mixed1"}) {
        const std::string packed = std::string(TRIB_SOURCE_DIR "/bench/experiments/traces/") + name + ".trib.zst";
        REQUIRE(system(("zstd -qdcf '" + packed + "' > '" + path + "'").c_str()) == 0);
        const auto contents = read_trace(path);
        INFO(name << ": " << contents.error);
        REQUIRE(contents.end_result == 0); // the end block's counts agree
        REQUIRE(contents.events.size() > 10000);
    }
}
