// SPDX-License-Identifier: Apache-2.0
// Hand-made samples of every public trace format (tests/fixtures/import), small enough to check the
// events by eye against the format's documentation, which the reader's source cites.
#include "support/catch.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "import/import.h"

namespace {

constexpr uint64_t MIB = 1 << 20;

struct Got {
    int kind;
    uint64_t offset_bytes, length_bytes, wall_ns;
    uint32_t thread;

    bool operator==(const Got &other) const {
        return kind == other.kind && offset_bytes == other.offset_bytes && length_bytes == other.length_bytes &&
               wall_ns == other.wall_ns && thread == other.thread;
    }
};

std::ostream &operator<<(std::ostream &out, const Got &got) {
    return out << "{" << got.kind << " " << got.offset_bytes << "+" << got.length_bytes << " at " << got.wall_ns
               << " by " << got.thread << "}";
}

constexpr int READ = TRIB_EVENT_READ, WRITE = TRIB_EVENT_WRITE, TRIM = TRIB_EVENT_DEATH;

std::string fixture(const std::string &name) {
    return std::string(TRIB_SOURCE_DIR) + "/tests/fixtures/import/" + name;
}

using Stream = std::unique_ptr<FILE, int (*)(FILE *)>;

Stream open_text(const std::string &text) {
    Stream stream(tmpfile(), fclose);
    REQUIRE(stream);
    REQUIRE(fwrite(text.data(), 1, text.size(), stream.get()) == text.size());
    rewind(stream.get());
    return stream;
}

Stream open_fixture(const std::string &name) {
    Stream stream(fopen(fixture(name).c_str(), "rb"), fclose);
    REQUIRE(stream);
    return stream;
}

struct Result {
    std::vector<Got> events;
    trib_import_statistics statistics = {};
    int rc = 0;
    std::string sentence;
};

Result drain(trib_import *import) {
    Result result;
    trib_event event = {};
    trib_error error = {};
    uint64_t clock = 0;
    while ((result.rc = trib_import_next(import, &event, &error)) == 1) {
        CHECK(event.clock_bytes == clock);
        CHECK(event.file == 0);
        CHECK(event.who.signature == 0);
        CHECK(event.cause == (event.kind == TRIM ? TRIB_CAUSE_TRIM : TRIB_CAUSE_NONE));
        clock += event.kind == WRITE ? event.length_bytes : 0;
        result.events.push_back({event.kind, event.offset_bytes, event.length_bytes, event.wall_ns, event.thread});
    }
    trib_import_count(import, &result.statistics);
    result.sentence = error.text;
    return result;
}

// Both passes if the options pack addresses, else one.
Result read(FILE *in, const std::string &format, const std::string &options) {
    trib_error error = {};
    const trib_import_format *found = trib_import_find(format.c_str(), &error);
    REQUIRE(found);
    trib_import *import = nullptr;
    Result result;
    result.rc = trib_import_open(&import, in, found, options.c_str(), &error);
    result.sentence = error.text;
    if (result.rc)
        return result;
    trib_import_map *map = nullptr;
    uint64_t chunk = trib_import_chunk_bytes(import);
    if (chunk) {
        REQUIRE(trib_import_map_open(&map, chunk) == 0);
        result.rc = trib_import_learn(import, map, &error);
        trib_import_close(import);
        import = nullptr;
        rewind(in);
        if (result.rc == 0)
            REQUIRE(trib_import_open(&import, in, found, options.c_str(), &error) == 0);
        result.sentence = error.text;
    }
    if (import) {
        trib_import_use(import, map);
        result = drain(import);
    }
    trib_import_close(import);
    trib_import_map_close(map);
    return result;
}

Result read_fixture(const std::string &name, const std::string &format, const std::string &options = "chunk=0") {
    return read(open_fixture(name).get(), format, options);
}

Result read_text(const std::string &text, const std::string &format, const std::string &options = "chunk=0") {
    return read(open_text(text).get(), format, options);
}

} // namespace

TEST_CASE("MSR Cambridge: bytes, file time, volumes by host and disk") {
    // 32 KiB read at 383496192; writes of 4096 at 2822144000 (a multiple of 4096) and of 512 at
    // 1 KiB behind it, which becomes its whole block; times in units of 100 ns.
    const Result result = read_fixture("msr.csv", "msr", "chunk=0,volume=hm.1");
    CHECK(result.rc == 0);
    CHECK(result.events == std::vector<Got>{{READ, 383496192, 32768, 1, 0},
                                            {WRITE, 2822144000, 4096, 1332052601, 0},
                                            {WRITE, 2822144000, 4096, 2332061601, 0}});
    CHECK(result.statistics.left_out == 1);

    const Result both = read_fixture("msr.csv", "msr", "chunk=0");
    CHECK(both.rc == -EINVAL);
    CHECK(both.sentence.find("hm.1 and hm.0") != std::string::npos);
}

TEST_CASE("packed addresses: what is written comes to the front, volume by volume, in order") {
    // Volume hm.1 is written in chunk 689 (2822144000 / 4096 / 1024), whose offset inside is
    // 2822144000 % 1 MiB; the read before it touches no written chunk and is left out. hm.0 comes
    // behind: 6144 bytes at 8192 become 8192.
    const Result result = read_fixture("msr.csv", "msr", "chunk=4K");
    CHECK(result.rc == 0);
    REQUIRE(result.events.size() == 3);
    CHECK(result.events[0].offset_bytes == 0);
    CHECK(result.events[1].offset_bytes == 0);
    CHECK(result.events[2].offset_bytes == 4096);
    CHECK(result.events[2].length_bytes == 8192);
    const Result coarse = read_fixture("msr.csv", "msr", "chunk=1M");
    CHECK(coarse.events[0].offset_bytes == 2822144000 % MIB);
    CHECK(coarse.events[2].offset_bytes == MIB + 8192);
}

TEST_CASE("blkparse: one action counts, flushes and messages do not, the summary ends it") {
    // Sector 223488 is byte 114425856, a multiple of 4096. The discard of 24 sectors from 223480
    // covers 4 KiB blocks from 114421760 to 114434048, all of them whole.
    const Result result = read_fixture("blkparse.txt", "blkparse");
    CHECK(result.rc == 0);
    CHECK(result.events == std::vector<Got>{{WRITE, 114425856, 4096, 1, 697},
                                            {READ, 2097152, 131072, 990001, 700},
                                            {TRIM, 114421760, 12288, 1990001, 701},
                                            {WRITE, 114429952, 4096, 2990001, 697}});
    CHECK(result.statistics.malformed == 0);
    const Result queued = read_fixture("blkparse.txt", "blkparse", "chunk=0,action=Q");
    CHECK(queued.events.size() == 1);
    CHECK(queued.statistics.malformed == 0);
    CHECK(read_fixture("blkparse.txt", "blkparse", "chunk=0,reads=off").events.size() == 3);
}

TEST_CASE("MQSim: sectors, 0 writes, 1 reads, nanoseconds unless told otherwise") {
    CHECK(read_fixture("mqsim.txt", "mqsim").events == std::vector<Got>{{WRITE, 268435456, 8192, 1, 0},
                                                                        {READ, 268443648, 8192, 13001, 0},
                                                                        {WRITE, 268451840, 4096, 20001, 0}});
    CHECK(read_fixture("mqsim.txt", "mqsim", "chunk=0,time_unit=us").events[1].wall_ns == 13000001);
}

TEST_CASE("DiskSim: milliseconds, sectors, hexadecimal flags with bit 0 for reads") {
    // Sector 576560 is byte 295198720, 6 sectors are 3072 bytes inside one block. Sector 17 is byte
    // 8704: 24 sectors to byte 20992 touch blocks 2 to 5. Flags 10 are hexadecimal: a write.
    CHECK(read_fixture("disksim.txt", "disksim").events == std::vector<Got>{{READ, 0, 4096, 1, 0},
                                                                            {WRITE, 295198720, 4096, 4638151, 0},
                                                                            {WRITE, 8192, 16384, 11123645, 0}});
}

TEST_CASE("vscsi, both versions: bytes, sectors, microseconds, SCSI operation codes") {
    // Sector 2048 is 1 MiB; 512 bytes at sector 2057 lie in the block behind it.
    const std::vector<Got> expected = {
        {WRITE, MIB, 4096, 1, 0}, {READ, 2 * MIB, 8192, 1000001, 0}, {WRITE, MIB + 4096, 4096, 2500001, 0}};
    CHECK(read_fixture("vscsi1.bin", "vscsi").events == expected);
    CHECK(read_fixture("vscsi2.bin", "vscsi").events == expected);
    CHECK(read_fixture("msr.csv", "vscsi").sentence.find("no known version") != std::string::npos);
}

TEST_CASE("Alibaba: bytes and microseconds; Tencent: sectors and seconds") {
    const Result alibaba = read_fixture("alibaba.csv", "alibaba", "chunk=0,volume=0");
    CHECK(alibaba.events ==
          std::vector<Got>{{READ, 126703644672, 4096, 1, 0}, {WRITE, 126703648768, 8192, 1000001, 0}});
    // Sector 42932 is byte 21981184, in the middle of block 5366: 4 KiB from there touch two.
    const Result tencent = read_fixture("tencent.csv", "tencent", "chunk=0,volume=1283");
    CHECK(tencent.events == std::vector<Got>{{WRITE, 5366 * 4096, 8192, 1, 0}, {READ, 5367 * 4096, 12288, 1, 0}});
}

TEST_CASE("FIU: nanoseconds, sectors, process numbers") {
    const Result result = read_fixture("fiu.txt", "fiu", "chunk=0,volume=6.0");
    CHECK(result.events == std::vector<Got>{{WRITE, 904265560ull * 512, 4096, 1, 4892},
                                            {READ, 904265560ull * 512, 4096, 119900 + 100 + 1, 2522}});
}

TEST_CASE("CSV: columns by number, a heading is skipped") {
    const Result result = read_text("time,object,size,op\n0.5,16,4096,write\n1.25,24,512,read\n"
                                    "2,16,8192,trim\n",
                                    "csv", "chunk=0,time_unit=s,op_column=4");
    CHECK(result.events == std::vector<Got>{{WRITE, 8192, 4096, 1, 0},
                                            {READ, 12288, 4096, 750000001, 0},
                                            {TRIM, 8192, 8192, 1500000001, 0}});
    CHECK(read_text("7;3\n", "csv").rc == -EBADMSG);
}

TEST_CASE("malformed lines: counted, named, and too many of them an error") {
    std::string text;
    for (int i = 0; i < 2000; i++)
        text += i == 700 || i == 800 ? "0 1 2 three 0\n" : "10 0 8 8 0\n";
    const Result two = read_text(text, "mqsim");
    CHECK(two.rc == 0); // 2 of 2000 are 0.1 %, not more
    CHECK(two.statistics.malformed == 2);
    CHECK(std::string(two.statistics.bad[0]) == "line 701: 0 1 2 three 0");
    const Result three = read_text(text + "nonsense\n", "mqsim");
    CHECK(three.rc == -EBADMSG);
    CHECK(three.events.size() == 1998);
    CHECK(three.sentence == "3 of 2001 lines are not of format mqsim; line 701: 0 1 2 three 0; "
                            "line 801: 0 1 2 three 0; line 2001: nonsense");

    const std::string hopeless(4 * 5000, '\n');
    CHECK(read_text(hopeless, "mqsim").rc == 0); // empty lines are none
    std::string words;
    for (int i = 0; i < 5000; i++)
        words += "word\n";
    CHECK(read_text(words, "mqsim").statistics.lines == 1000); // does not read on for hours
}

TEST_CASE("numbers that no drive has are malformed") {
    for (const char *line : {"1 0 99999999999999999999 8 0", "1 0 8 99999999999 0", "1 0 -8 8 0", "1 0 8 8 2",
                             "1 0 8 8", "1 0 8 8 0 0", "1e3 0 8 8 0"}) {
        INFO(line);
        CHECK(read_text(std::string(line) + "\n", "mqsim").rc == -EBADMSG);
    }
    CHECK(read_text("1 0 8 0 0\n", "mqsim").events.empty()); // no length: nothing to do
}

TEST_CASE("a format is recognised by its first lines") {
    for (const auto &[name, format] : std::vector<std::pair<std::string, std::string>>{{"msr.csv", "msr"},
                                                                                       {"blkparse.txt", "blkparse"},
                                                                                       {"mqsim.txt", "mqsim"},
                                                                                       {"disksim.txt", "disksim"},
                                                                                       {"vscsi1.bin", "vscsi"},
                                                                                       {"vscsi2.bin", "vscsi"},
                                                                                       {"alibaba.csv", "alibaba"},
                                                                                       {"tencent.csv", "tencent"},
                                                                                       {"fiu.txt", "fiu"}}) {
        char head[4096];
        Stream stream = open_fixture(name);
        size_t got = fread(head, 1, sizeof head, stream.get());
        const trib_import_format *guess = trib_import_guess(head, got);
        INFO(name);
        REQUIRE(guess);
        CHECK(guess->name == format);
    }
    CHECK(trib_import_guess("hello, world\n", 13) == nullptr);
    CHECK(trib_import_guess("", 0) == nullptr);
    CHECK(trib_import_guess("1,2,3\n", 6) == nullptr); // generic CSV is never guessed
}

TEST_CASE("options of readers are checked") {
    CHECK(read_text("", "msr", "chunk=5000").sentence.find("4096") != std::string::npos);
    CHECK(read_text("", "msr", "nonsense=1").sentence.find("valid here") != std::string::npos);
    trib_error error = {};
    CHECK(trib_import_find("spc", &error) == nullptr);
    CHECK(std::string(error.text).find("msr blkparse mqsim disksim vscsi csv fiu alibaba tencent") !=
          std::string::npos);
}
