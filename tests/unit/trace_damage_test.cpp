// SPDX-License-Identifier: Apache-2.0
// Damaged, cut, foreign and growing event files: refused with offset and reason, or read up to the
// cut on request.
#include "support/catch.hpp"

#include <cerrno>

#include <fcntl.h>

#include "support/events.hpp"
#include "support/trace_file.hpp"
#include "trace/format.h"

using namespace trib_test;

namespace {

// A small trace of several blocks with all kinds of items, and its bytes.
std::string small_trace(const std::string &path, std::vector<trib_event> *events_out = nullptr) {
    trib_trace_writer *writer = nullptr;
    REQUIRE(trib_trace_writer_open(&writer, path.c_str(), nullptr) == 0);
    trib_module module{};
    strcpy(module.path, "/lib/engine.so");
    module.build_id_bytes = 4;
    trib_frame frames[2] = {{1, 2, 0}, {3, 4, 0}};
    REQUIRE(trib_trace_write_note(writer, "small") == 0);
    REQUIRE(trib_trace_write_module(writer, 0, &module) == 0);
    REQUIRE(trib_trace_write_frames(writer, 9, frames, 2) == 0);
    FileEvents source(7);
    for (int block = 0; block < 3; block++) {
        REQUIRE(trib_trace_write_name(writer, 5, "/db/1.log") == 0);
        REQUIRE(trib_trace_write_gap(writer, 3, 4096) == 0);
        for (const auto &event : source.take(40)) {
            REQUIRE(trib_trace_write(writer, &event) == 0);
            if (events_out)
                events_out->push_back(event);
        }
        REQUIRE(trib_trace_flush(writer) == 0);
    }
    REQUIRE(trib_trace_writer_close(writer) == 0);
    return read_bytes(path);
}

bool is_prefix(const std::vector<trib_event> &prefix, const std::vector<trib_event> &whole) {
    if (prefix.size() > whole.size())
        return false;
    for (size_t i = 0; i < prefix.size(); i++)
        if (!same_event(prefix[i], whole[i]))
            return false;
    return true;
}

bool mentions(const std::string &text, const char *word) {
    return text.find(word) != std::string::npos;
}

} // namespace

TEST_CASE("a trace cut at any byte is refused, or read up to the cut") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    std::vector<trib_event> events;
    const std::string bytes = small_trace(path, &events);
    REQUIRE(read_trace(path).end_result == 0);
    for (size_t length = 0; length < bytes.size(); length++) {
        INFO("cut at " << length << " of " << bytes.size());
        write_bytes(path, bytes.substr(0, length));
        const auto strict = read_trace(path);
        REQUIRE((strict.open_result ? strict.open_result : strict.end_result) == -EBADMSG);
        REQUIRE(mentions(strict.error, ("offset " + std::to_string(length) + ":").c_str()));
        const auto lenient = read_trace(path, true);
        if (length < TRIB_TRACE_HEADER_BYTES) {
            REQUIRE(lenient.open_result == -EBADMSG);
            continue;
        }
        REQUIRE(lenient.open_result == 0);
        REQUIRE(lenient.end_result == 0);
        REQUIRE(lenient.truncated);
        REQUIRE(lenient.items() == strict.items());
        REQUIRE(is_prefix(lenient.events, events));
    }
}

TEST_CASE("a changed byte anywhere is noticed") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    std::vector<trib_event> events;
    const std::string bytes = small_trace(path, &events);
    for (size_t at = 0; at < bytes.size(); at++) {
        for (unsigned flip : {0x01u, 0x80u, 0xFFu}) {
            INFO("byte " << at << " xor " << flip);
            std::string damaged = bytes;
            damaged[at] = static_cast<char>(damaged[at] ^ flip);
            write_bytes(path, damaged);
            const auto contents = read_trace(path);
            const int rc = contents.open_result ? contents.open_result : contents.end_result;
            REQUIRE((rc == -EBADMSG || (at < 10 && rc == -EPROTO)));
            REQUIRE(mentions(contents.error, "offset "));
            REQUIRE(is_prefix(contents.events, events));
        }
    }
}

TEST_CASE("damage before the last block is never taken for a cut") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    std::string bytes = small_trace(path);
    bytes[TRIB_TRACE_HEADER_BYTES + TRIB_TRACE_BLOCK_HEADER_BYTES + 5] ^= 1;
    write_bytes(path, bytes);
    const auto contents = read_trace(path, true);
    REQUIRE(contents.end_result == -EBADMSG);
    REQUIRE(mentions(contents.error, "offset 32:"));
    REQUIRE(contents.items() == 0);
    REQUIRE_FALSE(contents.truncated);
}

TEST_CASE("what a power failure leaves at the end is a cut") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    std::vector<trib_event> events;
    const std::string bytes = small_trace(path, &events);
    const std::string body = bytes.substr(0, bytes.size() - TRIB_TRACE_BLOCK_HEADER_BYTES - TRIB_TRACE_END_BYTES);
    std::string tail;
    SECTION("space never written") {
        tail = std::string(5000, '\0');
    }
    SECTION("a torn last block") {
        tail = bytes.substr(body.size());
        tail.back() = static_cast<char>(tail.back() ^ 1);
    }
    write_bytes(path, body + tail);
    const auto strict = read_trace(path);
    REQUIRE(strict.end_result == -EBADMSG);
    REQUIRE(mentions(strict.error, ("offset " + std::to_string(body.size()) + ":").c_str()));
    const auto contents = read_trace(path, true);
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.truncated);
    REQUIRE(contents.events.size() == events.size());
}

TEST_CASE("a hole of zeros with data after it is damage") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    const std::string bytes = small_trace(path);
    const size_t end = bytes.size() - TRIB_TRACE_BLOCK_HEADER_BYTES - TRIB_TRACE_END_BYTES;
    for (size_t zeros : {size_t{100}, size_t{200000}}) {
        write_bytes(path, bytes.substr(0, end) + std::string(zeros, '\0') + bytes.substr(end));
        const auto contents = read_trace(path, true);
        REQUIRE(contents.end_result == -EBADMSG);
        REQUIRE(mentions(contents.error, ("offset " + std::to_string(end) + ":").c_str()));
    }
}

TEST_CASE("missing, repeated, swapped blocks and concatenated files are noticed") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    const std::string bytes = small_trace(path);
    std::vector<std::string> parts = {bytes.substr(0, TRIB_TRACE_HEADER_BYTES)};
    for (size_t at = TRIB_TRACE_HEADER_BYTES; at < bytes.size();) {
        const auto *length = reinterpret_cast<const uint8_t *>(bytes.data()) + at + 4;
        parts.push_back(bytes.substr(at, TRIB_TRACE_BLOCK_HEADER_BYTES + trib_load32(length)));
        at += parts.back().size();
    }
    REQUIRE(parts.size() == 5);
    std::string changed;
    const char *word = "";
    SECTION("missing") {
        changed = parts[0] + parts[1] + parts[3] + parts[4], word = "out of order";
    }
    SECTION("repeated") {
        changed = parts[0] + parts[1] + parts[1] + parts[2] + parts[3], word = "out of order";
    }
    SECTION("swapped") {
        changed = parts[0] + parts[2] + parts[1] + parts[3] + parts[4], word = "out of order";
    }
    SECTION("early end") {
        changed = parts[0] + parts[1] + parts[2] + parts[4], word = "out of order";
    }
    SECTION("concatenated") {
        changed = bytes + bytes, word = "concatenated";
    }
    SECTION("second file in the middle") {
        changed = parts[0] + parts[1] + bytes, word = "second trace";
    }
    SECTION("something after the end") {
        changed = bytes + "x", word = "follow the end";
    }
    write_bytes(path, changed);
    for (bool allow_truncated : {false, true}) {
        const auto contents = read_trace(path, allow_truncated);
        REQUIRE(contents.end_result == -EBADMSG);
        REQUIRE(mentions(contents.error, word));
    }
}

TEST_CASE("foreign, empty and future files are told apart") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    std::string bytes = small_trace(path);
    int expected = -EPROTO;
    const char *word = "not a Tributary trace";
    SECTION("foreign") {
        bytes = "#!/bin/sh\necho this is a script, not a trace\n";
    }
    SECTION("short foreign") {
        bytes = "MZ";
    }
    SECTION("line ends translated") {
        bytes.erase(5, 1);
    }
    SECTION("empty") {
        bytes = "", expected = -EBADMSG, word = "empty";
    }
    SECTION("future") {
        bytes[8] = 2, word = "version 2";
    }
    SECTION("header damaged") {
        bytes[12] = 1, expected = -EBADMSG, word = "header is damaged";
    }
    write_bytes(path, bytes);
    for (bool allow_truncated : {false, true}) {
        const auto contents = read_trace(path, allow_truncated);
        REQUIRE(contents.open_result == expected);
        REQUIRE(mentions(contents.error, word));
        REQUIRE(mentions(contents.error, path.c_str()));
    }
}

TEST_CASE("an error is repeated until the reader is rewound") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    std::string bytes = small_trace(path);
    write_bytes(path, bytes.substr(0, bytes.size() - 1));
    trib_trace_reader *reader = nullptr;
    REQUIRE(trib_trace_reader_open(&reader, path.c_str(), nullptr, nullptr) == 0);
    TraceContents first, second;
    collect(reader, first);
    REQUIRE(first.end_result == -EBADMSG);
    collect(reader, second);
    REQUIRE(second.items() == 0);
    REQUIRE(second.error == first.error);
    write_bytes(path, bytes);
    REQUIRE(trib_trace_rewind(reader) == 0);
    TraceContents third;
    collect(reader, third);
    REQUIRE(third.end_result == 0);
    REQUIRE(third.items() == first.items());
    trib_trace_reader_close(reader);
}

TEST_CASE("progress runs from nothing to the size of the file") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    const std::string bytes = small_trace(path);
    trib_trace_reader *reader = nullptr;
    trib_trace_item item;
    uint64_t position = 1, size = 0, before = 0;
    REQUIRE(trib_trace_reader_open(&reader, path.c_str(), nullptr, nullptr) == 0);
    while (trib_trace_next(reader, &item, nullptr) == 1) {
        trib_trace_progress(reader, &position, &size);
        REQUIRE(size == bytes.size());
        REQUIRE(position >= before);
        before = position;
    }
    trib_trace_progress(reader, &position, &size);
    REQUIRE(position == size);
    trib_trace_reader_close(reader);
}

TEST_CASE("a growing file can be followed byte by byte") {
    ScratchFolder folder;
    const auto path = folder.file("t"), growing = folder.file("growing");
    std::vector<trib_event> events;
    const std::string bytes = small_trace(path, &events);
    const int fd = open(growing.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0);
    trib_trace_read_options options{};
    options.follow = true;
    trib_trace_reader *reader = nullptr;
    REQUIRE(trib_trace_reader_open(&reader, growing.c_str(), &options, nullptr) == 0);
    TraceContents contents;
    for (char byte : bytes) {
        collect(reader, contents);
        REQUIRE(contents.end_result == -EAGAIN);
        REQUIRE(write(fd, &byte, 1) == 1);
    }
    collect(reader, contents);
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.events.size() == events.size());
    REQUIRE(is_prefix(contents.events, events));
    close(fd);
    trib_trace_reader_close(reader);
}

TEST_CASE("a reader sees what the writer flushed, and what becomes of the file") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = nullptr;
    trib_trace_reader *reader = nullptr;
    trib_trace_read_options options{};
    options.follow = true;
    REQUIRE(trib_trace_writer_open(&writer, path.c_str(), nullptr) == 0);
    REQUIRE(trib_trace_reader_open(&reader, path.c_str(), &options, nullptr) == 0);
    REQUIRE(trib_trace_write_note(writer, "one") == 0);
    TraceContents contents;
    collect(reader, contents);
    REQUIRE(contents.items() == 0);
    REQUIRE(trib_trace_flush(writer) == 0);
    collect(reader, contents);
    REQUIRE(contents.end_result == -EAGAIN);
    REQUIRE(contents.texts == std::vector<std::string>{"one"});
    SECTION("orderly end") {
        REQUIRE(trib_trace_writer_close(writer) == 0);
        collect(reader, contents);
        REQUIRE(contents.end_result == 0);
    }
    SECTION("another recording at its name") { // the one that is read has moved to NAME.1
        REQUIRE(trib_trace_writer_close(writer) == 0);
        REQUIRE(trib_trace_writer_open(&writer, path.c_str(), nullptr) == 0);
        REQUIRE(trib_trace_write_note(writer, "two") == 0);
        REQUIRE(trib_trace_writer_close(writer) == 0);
        collect(reader, contents);
        REQUIRE(contents.end_result == 0);
        REQUIRE(contents.texts == std::vector<std::string>{"one"});
    }
    SECTION("truncated by somebody") {
        REQUIRE(truncate(path.c_str(), 40) == 0);
        collect(reader, contents);
        REQUIRE(contents.end_result == -EBADMSG);
        REQUIRE(mentions(contents.error, "shrunk"));
        REQUIRE(trib_trace_writer_close(writer) == 0);
    }
    trib_trace_reader_close(reader);
}

TEST_CASE("an end block that counts anything else than the trace holds is refused, checksums or not") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    const std::string whole = small_trace(path);
    const size_t end = whole.size() - TRIB_TRACE_BLOCK_HEADER_BYTES - TRIB_TRACE_END_BYTES;
    for (const unsigned field : {0u, 1u, 2u, 3u}) { // items, events, bytes written, blocks
        std::string bytes = whole;
        auto *header = reinterpret_cast<uint8_t *>(&bytes[end]), *totals = header + TRIB_TRACE_BLOCK_HEADER_BYTES;
        trib_trace_block block{};
        REQUIRE(trib_trace_block_unpack(&block, header) == nullptr);
        trib_store64(totals + 8 * field, trib_load64(totals + 8 * field) + 1);
        block.payload_hash = trib_hash(totals, TRIB_TRACE_END_BYTES);
        trib_trace_block_pack(header, &block);
        write_bytes(path, bytes);
        const auto contents = read_trace(path);
        CAPTURE(field);
        REQUIRE(contents.end_result == -EBADMSG);
        REQUIRE(mentions(contents.error, "counts other items"));
    }
}
