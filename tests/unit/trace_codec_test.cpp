// SPDX-License-Identifier: Apache-2.0
// Numbers and events at the edges of what the format can say.
#include "support/catch.hpp"

#include <cerrno>
#include <memory>

#include "support/events.hpp"
#include "support/trace_file.hpp"

extern "C" {
#include "trace/codec.h"
}

using namespace trib_test;

namespace {

struct Encoder : trib_trace_encoder {
    Encoder() : trib_trace_encoder{} {
        REQUIRE(trib_trace_encoder_init(this) == 0);
    }
    ~Encoder() {
        trib_trace_encoder_free(this);
    }
};

// A file with one block of items, with right checksums around any payload.
std::string file_of(const std::string &payload, uint32_t items) {
    uint8_t header[TRIB_TRACE_HEADER_BYTES], block_header[TRIB_TRACE_BLOCK_HEADER_BYTES];
    trib_trace_block block{};
    trib_trace_pack_header(header);
    block.payload_hash = trib_hash(payload.data(), payload.size());
    block.payload_bytes = static_cast<uint32_t>(payload.size());
    block.items = items;
    block.type = TRIB_TRACE_BLOCK_ITEMS;
    trib_trace_block_pack(block_header, &block);
    return std::string(reinterpret_cast<char *>(header), sizeof header) +
           std::string(reinterpret_cast<char *>(block_header), sizeof block_header) + payload;
}

std::string bytes(std::initializer_list<unsigned> values) {
    std::string text;
    for (unsigned value : values)
        text.push_back(static_cast<char>(value));
    return text;
}

} // namespace

TEST_CASE("varints round-trip at every size") {
    Random random(1);
    for (unsigned bits = 0; bits <= 64; bits++) {
        const uint64_t high = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
        for (uint64_t value : {high, high / 2 + 1, random.next() & high}) {
            uint8_t buffer[16] = {};
            uint64_t back = ~value;
            const uint8_t *end = trib_varint_put(buffer, value);
            REQUIRE(end - buffer <= 10);
            REQUIRE(trib_varint_get(buffer, &back) == end);
            REQUIRE(back == value);
        }
    }
}

TEST_CASE("varints beyond 64 bits are refused") {
    uint64_t value;
    uint8_t endless[16];
    memset(endless, 0xFF, sizeof endless);
    REQUIRE(trib_varint_get(endless, &value) == nullptr);
    uint8_t too_big[16] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02};
    REQUIRE(trib_varint_get(too_big, &value) == nullptr);
    too_big[9] = 0x01;
    REQUIRE(trib_varint_get(too_big, &value) == too_big + 10);
    REQUIRE(value == 1ull << 63);
}

TEST_CASE("zigzag keeps differences of both signs small") {
    REQUIRE(trib_zigzag(0) == 0);
    REQUIRE(trib_zigzag(UINT64_MAX) == 1);
    REQUIRE(trib_zigzag(1) == 2);
    REQUIRE(trib_zigzag(1ull << 63) == UINT64_MAX);
    for (uint64_t value : {uint64_t{0}, uint64_t{1}, UINT64_MAX, uint64_t{1} << 63, uint64_t{12345}})
        REQUIRE(trib_unzigzag(trib_zigzag(value)) == value);
}

TEST_CASE("no event is longer than the writer makes room for") {
    auto encoder = std::make_unique<Encoder>();
    Random random(2);
    uint8_t buffer[2 * TRIB_TRACE_EVENT_BYTES_MAX];
    size_t longest = 0;
    for (int i = 0; i < 200000; i++) {
        trib_event event = arbitrary_event(random);
        if (random.chance(50)) { // nothing as before, everything far away
            event.file = random.next();
            event.who.signature = random.next();
            event.clock_bytes = random.next();
        }
        const uint8_t *end = trib_trace_encode_event(encoder.get(), &event, buffer);
        longest = std::max(longest, static_cast<size_t>(end - buffer));
    }
    REQUIRE(longest <= TRIB_TRACE_EVENT_BYTES_MAX);
    REQUIRE(longest > 60);
}

TEST_CASE("encoder and decoder states stay equal") {
    auto encoder = std::make_unique<Encoder>();
    auto state = std::make_unique<trib_trace_state>();
    trib_trace_state_reset(state.get());
    Random random(3);
    for (int i = 0; i < 20000; i++) {
        uint8_t buffer[TRIB_TRACE_LOOKAHEAD_BYTES + TRIB_TRACE_EVENT_BYTES_MAX] = {};
        const trib_event event = arbitrary_event(random);
        trib_event back;
        const char *reason = "";
        const uint8_t *end = trib_trace_encode_event(encoder.get(), &event, buffer);
        REQUIRE(trib_trace_decode_event(state.get(), buffer, &back, &reason) == end);
        REQUIRE(same_event(event, back));
    }
    REQUIRE(memcmp(&encoder->state, state.get(), sizeof *state) == 0);
}

TEST_CASE("malformed items in a block with a right checksum are refused with their place") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    std::string payload;
    uint32_t items = 1;
    const char *word = "";
    const unsigned event = TRIB_EVENT_WRITE;
    const unsigned name = TRIB_TRACE_NAME << 3, module = TRIB_TRACE_MODULE << 3;
    const unsigned signature = TRIB_TRACE_SIGNATURE << 3, note = TRIB_TRACE_NOTE << 3;
    SECTION("reserved event kinds") {
        payload = bytes({6}), word = "unknown kind";
    }
    SECTION("file slot too high") {
        payload = bytes({event | TRIB_TAG_FILE, 0x81, 0x20}), word = "slot"; // 4097
    }
    SECTION("new file's slot too high") {
        payload = bytes({event | TRIB_TAG_FILE, 0, 0x80, 0x20, 1, 2, 3, 4, 5, 6, 7, 8}), word = "slot";
    }
    SECTION("context slot too high") {
        payload = bytes({event | TRIB_TAG_MORE, TRIB_MORE_CONTEXT, 0x81, 0x08}), word = "out of range";
    }
    SECTION("thread too high") {
        payload = bytes({event | TRIB_TAG_MORE, TRIB_MORE_THREAD, 0x80, 0x80, 0x80, 0x80, 0x10}), word = "out of range";
    }
    SECTION("stream too high") {
        payload = bytes({event | TRIB_TAG_MORE, TRIB_MORE_STREAM, 0x80, 0x80, 0x04}), word = "out of range";
    }
    SECTION("endless number") {
        payload = bytes({event | TRIB_TAG_OFFSET}) + std::string(20, '\xFF'), word = "64 bits";
    }
    SECTION("event beyond its block") {
        payload = bytes({event | TRIB_TAG_OFFSET}), word = "longer than its block";
    }
    SECTION("an event with every field that begins with the last byte of the longest block") {
        payload = std::string(TRIB_TRACE_PAYLOAD_BYTES - 1, '\x01') + "\xFD";
        items = TRIB_TRACE_PAYLOAD_BYTES, word = "longer than its block";
    }
    SECTION("more items than bytes") {
        payload = bytes({event}), items = 2, word = "longer than its block";
    }
    SECTION("items in an empty block") {
        items = UINT32_MAX, word = "longer than its block";
    }
    SECTION("fewer items than bytes") {
        payload = bytes({event, event}), word = "after its last item";
    }
    SECTION("unknown item") {
        payload = bytes({7 << 3, 0}), word = "unknown kind";
    }
    SECTION("event among items") {
        payload = bytes({TRIB_TRACE_EVENT << 3, 0}), word = "unknown kind";
    }
    SECTION("item too long") {
        payload = bytes({note, 200, 1, 'x'}), word = "longer than its block";
    }
    SECTION("name too short") {
        payload = bytes({name, 3, 1, 2, 3}), word = "malformed";
    }
    SECTION("NUL in a text") {
        payload = bytes({note, 3, 'a', 0, 'b'}), word = "malformed";
    }
    SECTION("text too long") {
        payload = bytes({note, 0x81, 0x80, 0x02}) + std::string(32769, 'x'), word = "malformed";
    }
    SECTION("build-id too long") {
        payload = bytes({module, 31, 0, 1, 2, 3, 4, 5, 6, 7, 8, 21}) + std::string(21, 'x'), word = "malformed";
    }
    SECTION("module's path too long") {
        payload = bytes({module, 0x8A, 0x02, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0}) + std::string(256, 'x');
        word = "malformed";
    }
    SECTION("too many frames") {
        // 33 of ten bytes each, all there
        payload = bytes({signature, 0xD3, 0x02, 1, 2, 3, 4, 5, 6, 7, 8, 33}) + std::string(330, 1), word = "malformed";
    }
    SECTION("missing frames") {
        payload = bytes({signature, 9, 1, 2, 3, 4, 5, 6, 7, 8, 1}), word = "malformed";
    }
    SECTION("bytes after a gap") {
        payload = bytes({TRIB_TRACE_GAP << 3, 3, 1, 1, 1}), word = "malformed";
    }
    write_bytes(path, file_of(payload, items));
    for (bool allow_truncated : {false, true}) {
        const auto contents = read_trace(path, allow_truncated);
        REQUIRE(contents.end_result == -EBADMSG);
        INFO(contents.error);
        REQUIRE(contents.error.find(word) != std::string::npos);
        REQUIRE(contents.error.find("offset ") != std::string::npos);
    }
}

TEST_CASE("items of unknown optional kinds are skipped") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    write_bytes(path, file_of(bytes({18 << 3, 2, 'x', 'y', TRIB_TRACE_NOTE << 3, 1, 'n', 31 << 3, 0}), 3));
    const auto contents = read_trace(path, true);
    REQUIRE(contents.error == "");
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.texts == std::vector<std::string>{"n"});
}

TEST_CASE("reading can begin at a restart block") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = nullptr;
    REQUIRE(trib_trace_writer_open(&writer, path.c_str(), nullptr) == 0);
    FileEvents source(9);
    std::vector<trib_event> events = source.take(1200000);
    for (const auto &event : events)
        if (trib_trace_write(writer, &event) != 0)
            FAIL("cannot write");
    REQUIRE(trib_trace_writer_close(writer) == 0);

    // Keep what follows the last restart, renumbered as if it were all.
    std::string file = read_bytes(path);
    std::string tail = file.substr(0, TRIB_TRACE_HEADER_BYTES);
    uint64_t first = 0;
    unsigned restarts = 0;
    trib_trace_block block{};
    for (size_t at = TRIB_TRACE_HEADER_BYTES; at < file.size();) {
        auto *header = reinterpret_cast<uint8_t *>(&file[at]);
        REQUIRE(trib_trace_block_unpack(&block, header) == nullptr);
        const size_t length = TRIB_TRACE_BLOCK_HEADER_BYTES + block.payload_bytes;
        if (block.flags & TRIB_TRACE_RESTART) {
            tail.resize(TRIB_TRACE_HEADER_BYTES);
            first = block.sequence;
            restarts++;
        }
        block.sequence -= first;
        trib_trace_block_pack(header, &block);
        if (block.type == TRIB_TRACE_BLOCK_ITEMS)
            tail += file.substr(at, length);
        at += length;
    }
    REQUIRE(restarts >= 2);
    write_bytes(path, tail);
    const auto contents = read_trace(path, true);
    REQUIRE(contents.error == "");
    first--; // the first item of the file is no event
    REQUIRE(contents.events.size() == events.size() - first);
    for (size_t i = 0; i < contents.events.size(); i++)
        if (!same_event(contents.events[i], events[first + i]))
            FAIL("event " << i << " differs");
}

TEST_CASE("the retired kind of event is skipped with its fields, and no longer written") {
    Encoder encoder;
    trib_event event{};
    uint8_t buffer[3 * TRIB_TRACE_EVENT_BYTES_MAX], *end = buffer;
    for (unsigned kind : {unsigned{TRIB_EVENT_WRITE}, TRIB_TAG_KIND_RETIRED, unsigned{TRIB_EVENT_READ}}) {
        event.kind = static_cast<uint8_t>(kind);
        event.file = 7;
        event.offset_bytes += 8192;
        event.length_bytes = 4096;
        event.stream = static_cast<uint16_t>(kind);
        end = trib_trace_encode_event(&encoder, &event, end);
        event.clock_bytes = 4096;
    }
    ScratchFolder folder;
    write_bytes(folder.file("old.trib"),
                file_of(std::string(reinterpret_cast<char *>(buffer), size_t(end - buffer)), 3));
    const TraceContents contents = read_trace(folder.file("old.trib"), true);
    INFO(contents.error);
    CHECK(contents.end_result == 0);
    REQUIRE(contents.events.size() == 2);
    CHECK(contents.events[0].kind == TRIB_EVENT_WRITE);
    CHECK(same_event(contents.events[1], event)); // what the retired one taught the codec still counts

    trib_trace_writer *writer = nullptr;
    REQUIRE(trib_trace_writer_open(&writer, folder.file("new.trib").c_str(), nullptr) == 0);
    event.kind = TRIB_TAG_KIND_RETIRED;
    CHECK(trib_trace_write(writer, &event) == -EINVAL);
    CHECK(trib_trace_writer_close(writer) == 0);
}

// From docs/formats/trace.md: what is as the state predicts takes no byte. Writer and reader share the prediction, so
// only the bytes show that it is the format's.
TEST_CASE("what repeats takes no byte, whatever the kind") {
    Encoder encoder;
    uint8_t buffer[TRIB_TRACE_EVENT_BYTES_MAX];
    trib_event event{};
    const auto encoded = [&] {
        const uint8_t *end = trib_trace_encode_event(&encoder, &event, buffer);
        return std::string(reinterpret_cast<char *>(buffer), static_cast<size_t>(end - buffer));
    };
    event.file = 9;
    event.kind = TRIB_EVENT_DEATH;
    event.length_bytes = TRIB_LENGTH_TO_END;
    event.cause = TRIB_CAUSE_TRIM;
    const std::string first = encoded();
    CHECK(first == bytes({TRIB_EVENT_DEATH | TRIB_TAG_FILE | TRIB_TAG_MORE, TRIB_MORE_CAUSE, 0, 0, 9, 0, 0, 0, 0, 0, 0,
                          0, TRIB_CAUSE_TRIM}));
    CHECK(encoded() == bytes({TRIB_EVENT_DEATH}));
    event.cause = TRIB_CAUSE_TRUNCATE;
    CHECK(encoded() == bytes({TRIB_EVENT_DEATH | TRIB_TAG_MORE, TRIB_MORE_CAUSE, TRIB_CAUSE_TRUNCATE}));
    event.kind = TRIB_EVENT_SYNC; // keeps a cause of its own
    event.cause = TRIB_CAUSE_NONE;
    CHECK(encoded() == bytes({TRIB_EVENT_SYNC}));
    event.kind = TRIB_EVENT_DEATH;
    event.cause = TRIB_CAUSE_TRUNCATE;
    CHECK(encoded() == bytes({TRIB_EVENT_DEATH}));
}

TEST_CASE("a jump by whole blocks is counted in blocks, forwards and backwards") {
    Encoder encoder;
    uint8_t buffer[TRIB_TRACE_EVENT_BYTES_MAX];
    trib_event event{};
    event.kind = TRIB_EVENT_READ;
    event.length_bytes = TRIB_BLOCK_BYTES;
    event.offset_bytes = 1000 * TRIB_BLOCK_BYTES;
    const auto jump = [&](int64_t blocks) {
        event.offset_bytes += static_cast<uint64_t>(blocks) * TRIB_BLOCK_BYTES + TRIB_BLOCK_BYTES;
        const uint8_t *end = trib_trace_encode_event(&encoder, &event, buffer);
        return std::string(reinterpret_cast<char *>(buffer), static_cast<size_t>(end - buffer));
    };
    jump(0);
    const unsigned tag = TRIB_EVENT_READ | TRIB_TAG_OFFSET | TRIB_TAG_MORE;
    CHECK(jump(5) == bytes({tag, TRIB_MORE_OFFSET_BLOCK, 10}));
    CHECK(jump(-5) == bytes({tag, TRIB_MORE_OFFSET_BLOCK, 9}));
    CHECK(jump(-600) == bytes({tag, TRIB_MORE_OFFSET_BLOCK, 0xaf, 0x09}));
}
