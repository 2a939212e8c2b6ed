// SPDX-License-Identifier: Apache-2.0
// FIOS's dictionaries, and files of them: what docs/formats/dictionary.md promises.
#include "support/cli.hpp"
#include "support/policy.hpp"

#include "base/hash.h"
#include "log/log.h"
#include "rivals/fios/fios_dictionary.h"

#include <cstring>

using namespace trib_test;

namespace {

class Dictionary {
  public:
    explicit Dictionary(uint32_t chunks) {
        REQUIRE(trib_fios_dictionary_open(&it, chunks) == 0);
    }
    explicit Dictionary(const std::vector<int> &streams) : Dictionary(uint32_t(streams.size())) {
        for (uint32_t chunk = 0; chunk < streams.size(); chunk++)
            trib_fios_base_set(&it, chunk, uint8_t(streams[chunk]));
        trib_fios_dictionary_reduce(&it, 0, it.chunks);
    }
    ~Dictionary() {
        trib_fios_dictionary_close(&it);
    }
    Dictionary(const Dictionary &) = delete;
    Dictionary &operator=(const Dictionary &) = delete;

    trib_fios_dictionary it{};
};

trib_fios_training_record record_of(uint32_t chunks) {
    trib_fios_training_record record{};
    record.chunks = chunks;
    record.chunk_blocks = 8;
    record.streams = 4;
    record.theta = 0b11001;
    record.features = 0b1100;
    record.decimal = true;
    record.trained_blocks = 1234567890123;
    record.correlation[TRIB_FIOS_FREQUENCY] = -0.75;
    record.correlation[TRIB_FIOS_COHERENCY] = 1;
    return record;
}

std::vector<uint8_t> bytes_of(const std::string &path) {
    const std::string text = read_file(path);
    return {text.begin(), text.end()};
}

void put(std::vector<uint8_t> &bytes, size_t at, uint64_t value, size_t width) {
    for (size_t i = 0; i < width; i++)
        bytes[at + i] = uint8_t(value >> 8 * i);
}

// Both checksums made right again, so that a test reaches what lies behind them.
void seal(std::vector<uint8_t> &bytes) {
    put(bytes, 112, trib_hash(bytes.data() + 128, bytes.size() - 128), 8);
    put(bytes, 120, trib_hash(bytes.data(), 120), 8);
}

struct Verdict {
    int code;
    std::string sentence;
};

// The bytes end where the allocation does, so that a sanitizer sees one too many.
Verdict parse(const std::vector<uint8_t> &bytes) {
    trib_fios_training_record record;
    memset(&record, 0x5a, sizeof record);
    const trib_fios_training_record before = record;
    const uint8_t *base = nullptr;
    trib_error error{};
    auto copy = std::make_unique<uint8_t[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), copy.get());
    const int code = trib_fios_dictionary_parse(copy.get(), bytes.size(), &record, &base, &error);
    if (code) {
        REQUIRE(memcmp(&record, &before, sizeof record) == 0);
        REQUIRE(base == nullptr);
        REQUIRE(has(error.text, "offset "));
    }
    return {code, error.text};
}

std::vector<uint8_t> sample_file() {
    Folder folder;
    Dictionary dictionary({1, 1, 1, 0, 0, 3, 2, 2, 2, 2, 0});
    const auto record = record_of(11);
    REQUIRE(trib_fios_dictionary_save(&dictionary.it, folder.file("d").c_str(), &record, nullptr) == 0);
    return bytes_of(folder.file("d"));
}

} // namespace

TEST_CASE("a new dictionary says S0, and so does any beyond its end") {
    Dictionary dictionary(100);
    REQUIRE(trib_fios_dictionary_find(&dictionary.it, 0) == 0);
    REQUIRE(trib_fios_dictionary_find(&dictionary.it, 99) == 0);
    REQUIRE(trib_fios_dictionary_find(&dictionary.it, 100) == 0);
    REQUIRE(trib_fios_dictionary_find(&dictionary.it, UINT32_MAX) == 0);
}

TEST_CASE("neighbours of one stream are one range") {
    std::vector<int> streams(80, 5);
    for (size_t chunk = 20; chunk < 50; chunk++)
        streams[chunk] = 15;
    streams[79] = 1;
    Dictionary dictionary(streams);
    REQUIRE(dictionary.it.simplified);
    REQUIRE(dictionary.it.ranges == 4);
    REQUIRE(dictionary.it.range_start[1] == 20);
    REQUIRE(dictionary.it.range_stream[1] == 15);
    for (uint32_t chunk = 0; chunk < 80; chunk++)
        REQUIRE(trib_fios_dictionary_find(&dictionary.it, chunk) == streams[chunk]);
}

TEST_CASE("ranges or base: the answer is the same, by random streams and in any steps") {
    const uint64_t seed = GENERATE(range(1, 12));
    const unsigned change_percent = GENERATE(0u, 1u, 5u, 12u, 50u, 100u);
    Random random(seed);
    std::vector<int> streams(1 + random.below(2000));
    for (size_t chunk = 0, stream = 0; chunk < streams.size(); chunk++) {
        if (random.chance(change_percent))
            stream = random.below(16);
        streams[chunk] = int(stream);
    }
    Dictionary dictionary(streams);
    for (uint32_t from = 0; from < streams.size();) {
        const auto to = uint32_t(std::min<uint64_t>(streams.size(), from + 1 + random.below(100)));
        trib_fios_dictionary_reduce(&dictionary.it, from, to);
        from = to;
    }
    for (uint32_t chunk = 0; chunk < streams.size(); chunk++)
        REQUIRE(trib_fios_dictionary_find(&dictionary.it, chunk) == streams[chunk]);
    if (change_percent == 100 && streams.size() > 100)
        REQUIRE_FALSE(dictionary.it.simplified); // ranges would take more room than the base
    if (change_percent == 0)
        REQUIRE(dictionary.it.ranges == 1);
}

TEST_CASE("a file gives back what was saved") {
    const size_t chunks = GENERATE(1, 2, 15, 16, 17, 1000);
    Folder folder;
    Random random(chunks);
    std::vector<int> streams(chunks);
    for (int &stream : streams)
        stream = int(random.below(4));
    Dictionary saved(streams), loaded(1);
    const auto record = record_of(uint32_t(chunks));
    const std::string path = folder.file("dictionary");
    REQUIRE(trib_fios_dictionary_save(&saved.it, path.c_str(), &record, nullptr) == 0);
    trib_fios_dictionary_close(&loaded.it);
    trib_fios_training_record found;
    trib_error error{};
    REQUIRE(trib_fios_dictionary_load(&loaded.it, path.c_str(), &found, &error) == 0);
    REQUIRE(found.chunks == chunks);
    REQUIRE(found.chunk_blocks == 8);
    REQUIRE(found.streams == 4);
    REQUIRE(found.theta == record.theta);
    REQUIRE(found.features == record.features);
    REQUIRE(found.decimal);
    REQUIRE(found.trained_blocks == record.trained_blocks);
    for (int feature = 0; feature < TRIB_FIOS_FEATURES; feature++)
        REQUIRE(found.correlation[feature] == record.correlation[feature]);
    for (uint32_t chunk = 0; chunk < chunks; chunk++)
        REQUIRE(trib_fios_dictionary_find(&loaded.it, chunk) == streams[chunk]);
    // Saving again changes nothing, and leaves no other file behind.
    REQUIRE(trib_fios_dictionary_save(&loaded.it, folder.file("again").c_str(), &found, nullptr) == 0);
    REQUIRE(bytes_of(path) == bytes_of(folder.file("again")));
    REQUIRE(std::distance(fs::directory_iterator(fs::path(path).parent_path()), {}) == 2);
}

TEST_CASE("the layout, byte by byte") {
    const auto bytes = sample_file();
    // 11 chunks: 6 bytes of base, 8 with zeros; 5 ranges of 8 bytes.
    REQUIRE(bytes.size() == 128 + 8 + 5 * 8);
    REQUIRE(std::string(bytes.begin(), bytes.begin() + 8) == "TRIBFIOS");
    auto u32 = [&](size_t at) {
        return bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 | uint32_t(bytes[at + 3]) << 24;
    };
    REQUIRE(u32(8) == 1);    // version
    REQUIRE(u32(12) == 128); // header
    REQUIRE(u32(16) == 1);   // decimal
    REQUIRE(u32(20) == 8);   // blocks of a chunk
    REQUIRE(u32(24) == 11);  // chunks
    REQUIRE(u32(28) == 4);   // streams
    REQUIRE(u32(32) == 5);   // ranges
    REQUIRE(u32(36) == 0b11001);
    REQUIRE(u32(40) == 0b1100);
    REQUIRE(std::vector<uint8_t>(bytes.begin() + 128, bytes.begin() + 136) ==
            std::vector<uint8_t>{0x11, 0x01, 0x30, 0x22, 0x22, 0x00, 0, 0});
    const std::vector<std::pair<uint32_t, uint32_t>> ranges = {{0, 1}, {3, 0}, {5, 3}, {6, 2}, {10, 0}};
    for (size_t i = 0; i < ranges.size(); i++) {
        REQUIRE(u32(136 + 8 * i) == ranges[i].first);
        REQUIRE(u32(140 + 8 * i) == ranges[i].second);
    }
    REQUIRE(parse(bytes).code == 0);
}

TEST_CASE("every truncation and every flipped bit is refused with an offset") {
    const auto good = sample_file();
    for (size_t length = 0; length < good.size(); length++) {
        const Verdict verdict = parse({good.begin(), good.begin() + ptrdiff_t(length)});
        CAPTURE(length, verdict.sentence);
        REQUIRE(verdict.code == (length < 12 ? -EPROTO : -EBADMSG));
    }
    for (size_t bit = 0; bit < 8 * good.size(); bit++) {
        auto bad = good;
        bad[bit / 8] ^= uint8_t(1u << bit % 8);
        CAPTURE(bit / 8);
        REQUIRE(parse(bad).code == (bit < 96 ? -EPROTO : -EBADMSG));
    }
    auto longer = good;
    longer.push_back(0);
    REQUIRE(parse(longer).code == -EBADMSG);
}

TEST_CASE("foreign and future files are told from broken ones") {
    auto bytes = sample_file();
    auto foreign = bytes;
    memcpy(foreign.data(), "TRIBSTAT", 8);
    seal(foreign);
    REQUIRE(parse(foreign).code == -EPROTO);
    REQUIRE(has(parse(foreign).sentence, "not a dictionary"));
    put(bytes, 8, 2, 4);
    seal(bytes);
    REQUIRE(parse(bytes).code == -EPROTO);
    REQUIRE(has(parse(bytes).sentence, "version 2"));
}

TEST_CASE("checksums do not make nonsense valid") {
    struct Case {
        size_t at;
        uint64_t value;
        size_t width;
        const char *offset;
    };
    const Case cases[] = {
        {12, 120, 4, "offset 12:"},                // header length
        {16, 2, 4, "offset 16:"},                  // unknown flag
        {20, 0, 4, "offset 20:"},                  // no blocks in a chunk
        {20, 65537, 4, "offset 20:"},              // too many
        {24, 0, 4, "offset 24:"},                  // no chunks
        {24, 0xffffffff, 4, "offset 176:"},        // chunks that are not there: truncated
        {28, 0, 4, "offset 28:"},                  // no streams
        {28, 17, 4, "offset 28:"},                 // more than half a byte can say
        {28, 3, 4, "offset 130:"},                 // chunk 5 names stream 3
        {32, 4, 4, "offset 168:"},                 // bytes behind the last range
        {32, 0xffffffff, 4, "offset 176:"},        // ranges that are not there
        {36, 32, 4, "offset 36:"},                 // theta
        {40, 0, 4, "offset 40:"},                  // no feature
        {40, 16, 4, "offset 40:"},                 // a fifth one
        {44, 1, 4, "offset 44:"},                  // reserved
        {88, 1, 1, "offset 44:"},                  // reserved
        {111, 1, 1, "offset 44:"},                 // reserved
        {56, 0x7ff8000000000000, 8, "offset 56:"}, // a correlation that is no number
        {80, 0x4000000000000000, 8, "offset 80:"}, // a correlation of 2
        {133, 0x10, 1, "offset 133:"},             // a twelfth chunk
        {135, 1, 1, "offset 135:"},                // fill
        {136, 1, 4, "offset 136:"},                // the first range does not begin at 0
        {148, 1, 4, "offset 144:"},                // a range with another stream than the base
    };
    for (const Case &damage : cases) {
        auto bytes = sample_file();
        put(bytes, damage.at, damage.value, damage.width);
        seal(bytes);
        const Verdict verdict = parse(bytes);
        CAPTURE(damage.at, damage.value, verdict.sentence);
        REQUIRE(verdict.code == -EBADMSG);
        REQUIRE(has(verdict.sentence, damage.offset));
    }
}

TEST_CASE("a file that cannot be read or written says why and harms nothing") {
    Folder folder;
    Dictionary dictionary({1, 0});
    trib_fios_dictionary loaded{};
    trib_fios_training_record record = record_of(2);
    trib_error error{};
    REQUIRE(trib_fios_dictionary_load(&loaded, folder.file("none").c_str(), &record, &error) == -ENOENT);
    REQUIRE(trib_fios_dictionary_load(&loaded, folder.file("").c_str(), &record, &error) == -EINVAL); // a folder
    REQUIRE(trib_fios_dictionary_save(&dictionary.it, folder.file("no/such/folder").c_str(), &record, &error) ==
            -ENOENT);
    REQUIRE(has(error.text, "no/such/folder"));
    std::ofstream(folder.file("text")) << "not a dictionary at all, but long enough to be one";
    REQUIRE(trib_fios_dictionary_load(&loaded, folder.file("text").c_str(), &record, &error) == -EPROTO);
    REQUIRE(has(error.text, "text"));
    REQUIRE(loaded.base == nullptr);
}

TEST_CASE("the policy saves what it learned and another run starts with it") {
    Folder folder;
    const std::string path = folder.file("dictionary");
    State state;
    auto write = [](const Policy &fios, uint64_t lba, uint64_t clock) {
        const uint16_t stream = fios.place_block(lba, clock);
        fios.tick(clock * TRIB_BLOCK_BYTES);
        return stream;
    };
    {
        Policy fios("fios", state, 4, "train=25,features=frequency,save=" + path, 1 << 20);
        REQUIRE(fios.code == 0);
        for (uint64_t i = 0; i < 100; i++)
            write(fios, i % 10 ? 3 : 80, i);
        REQUIRE(fs::exists(path));
    }
    Policy again("fios", state, 4, "dictionary=" + path, 1 << 20);
    INFO(again.sentence);
    REQUIRE(again.code == 0);
    REQUIRE(write(again, 3, 0) == 1); // at once
    REQUIRE(write(again, 80, 1) == 0);
    for (uint64_t i = 2; i < 1000; i++)
        write(again, 80, i);
    REQUIRE(write(again, 80, 1000) == 0); // it does not learn
    REQUIRE(again.reclusterings() == 0);

    Policy larger("fios", state, 4, "dictionary=" + path, 2 << 20); // another address space
    REQUIRE(larger.code == -EINVAL);
    REQUIRE(has(larger.sentence, "32 chunks"));
    Policy fewer("fios", state, 0, "dictionary=" + path, 1 << 20); // names S1, which is not there
    REQUIRE(fewer.code == -EINVAL);
    Policy coarser("fios", state, 4, "chunk=64K,dictionary=" + path, 1 << 20);
    REQUIRE(coarser.code == -EINVAL);
}

TEST_CASE("a dictionary that cannot be saved stops no write") {
    State state;
    Policy fios("fios", state, 4, "train=25,save=/nonexistent/folder/dictionary", 1 << 20);
    REQUIRE(fios.code == 0);
    for (uint64_t i = 0; i < 400; i++) {
        fios.place_block(i % 7 * 8, i);
        fios.tick(i * TRIB_BLOCK_BYTES);
    }
    REQUIRE(fios.reclusterings() == 1);
}

TEST_CASE("a run too short to train says that nothing was saved") {
    Folder folder;
    std::string said;
    trib_log_to([](void *arg, trib_log_level, const char *line) { static_cast<std::string *>(arg)->append(line); },
                &said);
    {
        State state;
        Policy fios("fios", state, 4, "save=" + folder.file("dictionary"), 1 << 20);
        for (uint64_t i = 0; i < 100; i++)
            fios.place_block(i, i);
    }
    trib_log_to(nullptr, nullptr);
    REQUIRE(has(said, "nothing saved: 100 blocks"));
    REQUIRE_FALSE(fs::exists(folder.file("dictionary")));
}
