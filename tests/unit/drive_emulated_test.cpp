// SPDX-License-Identifier: Apache-2.0
// Options of the emulated drive: presets and what overrides them, garbage collection choices, cold
// data, virtual time.
#include "support/catch.hpp"
#include "support/events.hpp"

#include <tributary/drive.h>
#include <tributary/event.h>
#include <tributary/pipeline.h>

#include "base/options.h"
#include "drive/presets.h"
#include "flash/rules.h"

#include <cerrno>
#include <cstring>
#include <string>

namespace {

uint16_t relocate_to_zero(void *, uint64_t, uint16_t, uint16_t, bool) {
    return 0;
}

struct Opened {
    explicit Opened(const std::string &text, const char *own_gc = nullptr, uint32_t streams = 4,
                    trib_relocate_fn *relocate = nullptr) {
        trib_error error{};
        trib_options *options = nullptr;
        REQUIRE(trib_options_open(&options, text.c_str(), &error) == 0);
        drive = trib_drive_find("emulated", &error);
        trib_drive_env env{drive, streams, own_gc, relocate, nullptr, nullptr};
        code = drive->open(&self, &env, options, &error);
        sentence = error.text;
        trib_options_close(options);
        if (!code)
            drive->describe(self, &description);
    }
    ~Opened() {
        if (!code)
            drive->close(self);
    }
    trib_drive_stats stats() {
        trib_drive_stats s;
        drive->stats(self, &s);
        return s;
    }
    bool says(const std::string &word) const {
        return sentence.find(word) != std::string::npos;
    }

    const trib_drive *drive;
    void *self = nullptr;
    int code;
    std::string sentence;
    trib_drive_description description{};
};

} // namespace

TEST_CASE("presets are in the order of the option's choices, and their numbers are whole") {
    std::string names;
    for (const auto &preset : trib_presets) {
        names += (names.empty() ? "" : "|") + std::string(preset.name);
        REQUIRE(preset.capacity_bytes % TRIB_BLOCK_BYTES == 0);
        REQUIRE(preset.superblock_bytes % TRIB_BLOCK_BYTES == 0);
        const auto &nand = preset.latency;
        REQUIRE(preset.superblock_bytes / TRIB_BLOCK_BYTES %
                    (nand.channels * nand.dies_per_channel * nand.pages_per_program) ==
                0); // each die's block is a whole number of programs
        REQUIRE(strlen(preset.summary) > 0);
    }
    REQUIRE(names == TRIB_PRESET_CHOICES);
}

TEST_CASE("preset geometries are those of the papers") {
    Opened hotstorage("preset=hotstorage18");
    REQUIRE(hotstorage.description.physical_bytes == 8192ull * 384 * 4096); // 12 GiB
    REQUIRE(hotstorage.description.reclaim_units == 512);
    Opened dstream("preset=dstream", nullptr, 63);
    REQUIRE(dstream.description.capacity_bytes == 16ull << 30);
    REQUIRE(dstream.description.over_provisioning_percent == Approx(28).margin(0.2));
    REQUIRE(dstream.description.streams == 16);
    for (const auto &preset : trib_presets)
        if (std::string(preset.name) == "vstream") { // 360 superblocks of 768 MiB; not opened here: 600 MB of tables
            REQUIRE(preset.superblock_bytes == 4ull * 4 * 2 * 2 * 256 * 3 * 16384);
            const double physical = double(preset.capacity_bytes) * (1 + preset.over_provisioning_percent / 100);
            REQUIRE(physical / double(preset.superblock_bytes) == Approx(360).margin(0.01));
        }
}

TEST_CASE("explicit keys override the preset") {
    Opened d("superblock=1M,preset=small,capacity=32M,op=20,device_streams=2,victim=fifo,gc=shared");
    REQUIRE(d.code == 0);
    REQUIRE(d.description.capacity_bytes == 32u << 20);
    REQUIRE(d.description.reclaim_unit_bytes == 1u << 20);
    REQUIRE(d.description.reclaim_units == 39); // 38.4 rounded up
    REQUIRE(d.description.streams == 2);
    REQUIRE(std::string(d.description.gc) == "shared");
    REQUIRE(std::string(d.description.victim) == "fifo");
    REQUIRE(d.description.level == TRIB_PLACEMENT_PLACED);
}

TEST_CASE("streams are the fewer of wanted and had") {
    REQUIRE(Opened("preset=small", nullptr, 3).description.streams == 3);
    REQUIRE(Opened("preset=small", nullptr, 60).description.streams == 8);
    REQUIRE(Opened("preset=small", nullptr, 0).description.streams == 0);
}

TEST_CASE("garbage collection goes where the options, else the policy, want") {
    REQUIRE(std::string(Opened("preset=small").description.gc) == "same");
    REQUIRE(std::string(Opened("preset=small", "twin").description.gc) == "same");
    REQUIRE(std::string(Opened("preset=small,gc=own", "twin").description.gc) == "twin");
    REQUIRE(std::string(Opened("preset=small,gc=own").description.gc) == "same");
    REQUIRE(Opened("preset=small,gc=own", "elsewhere").says("'elsewhere'"));
    REQUIRE(Opened("preset=small,gc=own", "class").says("class needs a policy"));
    REQUIRE(Opened("preset=small,gc=own,internal=off", "twin").says("contradict"));
    REQUIRE(std::string(Opened("preset=small,gc=shared", "twin").description.gc) == "shared");
    REQUIRE(std::string(Opened("preset=small,internal=twin").description.gc) == "twin");
    REQUIRE(std::string(Opened("preset=small,internal=off", "twin").description.gc) == "same");
    REQUIRE(Opened("preset=small,internal=twin,gc=shared").says("contradict"));
    REQUIRE(Opened("preset=small,internal=off,gc=twin").says("contradict"));
    REQUIRE(Opened("preset=small,gc=class").code == -EINVAL);
    REQUIRE(Opened("preset=small,gc=class").says("policy"));
    REQUIRE(std::string(Opened("preset=small,gc=class", nullptr, 4, relocate_to_zero).description.gc) == "class");
}

TEST_CASE("bad values are refused with a sentence") {
    Opened preset("preset=nvme9000");
    REQUIRE(preset.code == -EINVAL);
    for (const auto &known : trib_presets)
        REQUIRE(preset.says(known.name));
    REQUIRE(Opened("gc=nowhere").says("same|shared|twin|pstream|class|preserve|substream|chain|own"));
    REQUIRE(Opened("capacity=1000").code == -EINVAL);
    REQUIRE(Opened("preset=small,capacity=100001").says("4096"));
    REQUIRE(Opened("preset=small,superblock=10000").says("4096"));
    REQUIRE(Opened("preset=small,cold=120").code == -EINVAL);
    REQUIRE(Opened("preset=small,cold=0.1").says("cold"));
}

TEST_CASE("cold data fill whole superblocks at the top, out of every count") {
    Opened d("preset=small,cold=30");
    REQUIRE(d.code == 0);
    const uint64_t blocks = d.description.capacity_bytes / TRIB_BLOCK_BYTES;
    const uint64_t cold = blocks - d.description.usable_blocks;
    REQUIRE(cold % (d.description.reclaim_unit_bytes / TRIB_BLOCK_BYTES) == 0);
    REQUIRE(double(cold) / double(blocks) == Approx(0.30).margin(0.005));
    REQUIRE(d.stats().host_pages == 0);
    REQUIRE(d.stats().erases == 0);
    REQUIRE(d.stats().waf == 0);
    REQUIRE(d.stats().live_pages == cold);
    REQUIRE(d.stats().streams_used == 0);
    REQUIRE(d.stats().live_pages_peak == cold);
    // Overwriting one block for ever costs nothing: the cold superblocks are never worth
    // collecting.
    for (uint64_t i = 0; i < 4 * blocks; i++)
        REQUIRE(d.drive->model->write(d.self, 0, 1, 0) == 0);
    REQUIRE(d.stats().gc_pages == 0);
    REQUIRE(d.stats().host_pages == 4 * blocks);
    REQUIRE(d.stats().live_pages == cold + 1);
}

TEST_CASE("a fuller drive copies more") {
    double waf[2];
    for (int i = 0; i < 2; i++) {
        Opened d(i ? "preset=small,op=7,cold=40" : "preset=small,op=7,cold=40,internal=off");
        trib_test::Random random(1);
        // Live data in all (i = 1) or half of what is left.
        const uint64_t range = i ? d.description.usable_blocks : d.description.usable_blocks / 2;
        for (int n = 0; n < 100000; n++)
            d.drive->model->write(d.self, random.below(range), 1, 0);
        waf[i] = d.stats().waf;
    }
    REQUIRE(waf[0] < 1.4);
    REQUIRE(waf[1] > 1.5 * waf[0]);
}

TEST_CASE("superblocks kept free are superblocks taken from the spare ones") {
    REQUIRE(Opened("preset=small,gc_free_low=1").code == -EINVAL);
    REQUIRE(Opened("preset=small,gc_free_low=1000").says("too few"));
    double waf[2];
    for (int i = 0; i < 2; i++) {
        Opened d(i ? "preset=small,gc_free_low=20" : "preset=small"); // of 36 spare ones
        REQUIRE(d.code == 0);
        trib_test::Random random(1);
        for (int n = 0; n < 100000; n++)
            d.drive->model->write(d.self, random.below(d.description.usable_blocks), 1, 0);
        waf[i] = d.stats().waf;
    }
    REQUIRE(waf[1] > 1.2 * waf[0]);
}

TEST_CASE("virtual time passes only when asked for, and faster with fewer channels") {
    Opened off("preset=small");
    off.drive->model->write(off.self, 0, 64, 0);
    REQUIRE(off.stats().virtual_seconds == 0);
    double seconds[2];
    for (int i = 0; i < 2; i++) {
        Opened on(std::string("preset=small,latency=on,channels=") + (i ? "1" : "4"));
        REQUIRE(on.code == 0);
        REQUIRE(on.stats().virtual_seconds == 0);
        for (int n = 0; n < 200; n++)
            on.drive->model->write(on.self, uint64_t(n) * 64, 64, 0);
        seconds[i] = on.stats().virtual_seconds;
    }
    REQUIRE(seconds[0] > 0);
    REQUIRE(seconds[1] > 1.5 * seconds[0]);
}

TEST_CASE("a mapping cache reads and programs; programs count in the write amplification") {
    Opened off("preset=small,op=28"), on("preset=small,op=28,map_cache=4K,map_entry=8");
    REQUIRE(on.code == 0);
    trib_test::Random random(3);
    for (int i = 0; i < 60000; i++) {
        const uint64_t lba = random.below(16384);
        REQUIRE(off.drive->model->write(off.self, lba, 1, 0) == 0);
        REQUIRE(on.drive->model->write(on.self, lba, 1, 0) == 0);
    }
    REQUIRE(off.stats().metadata_pages + off.stats().metadata_read_pages == 0);
    REQUIRE(off.stats().map_lookups == 0);
    trib_drive_stats s = on.stats();
    REQUIRE(s.gc_pages == off.stats().gc_pages);
    REQUIRE(s.map_lookups == 60000);
    REQUIRE(s.map_misses > 50000); // one of 32 translation pages is cached
    REQUIRE(s.metadata_read_pages >= s.map_misses);
    REQUIRE(s.metadata_pages > 50000);
    REQUIRE(s.waf == Approx(off.stats().waf + double(s.metadata_pages) / 60000));
    REQUIRE(s.map_cache_bytes == 4096);

    on.drive->model->resize_map_cache(on.self, 1 << 20); // more than the table: no misses from now on
    for (uint64_t lba = 0; lba < 16384; lba += 512)
        REQUIRE(on.drive->model->write(on.self, lba, 1, 0) == 0);
    s = on.stats();
    REQUIRE(s.map_cache_bytes == 32 * 4096);
    for (uint64_t lba = 0; lba < 16384; lba++)
        REQUIRE(on.drive->model->read(on.self, lba, 1) == 0);
    REQUIRE(on.stats().map_misses == s.map_misses);
    REQUIRE(on.stats().map_lookups == s.map_lookups + 16384);
    off.drive->model->resize_map_cache(off.self, 4096); // nothing happens
    REQUIRE(off.stats().map_cache_bytes == 0);
}

TEST_CASE("every destination and victim rule of the tables is chosen by its name, and described by it") {
    for (const auto &gc : trib_gc_rules) {
        INFO(gc.name);
        const std::string text = std::string("preset=small,substream_pages=8,gc=") + gc.name;
        Opened d(text, nullptr, 4, relocate_to_zero);
        REQUIRE(d.code == 0);
        CHECK(std::string(d.description.gc) == gc.name);
        CHECK((d.description.internal_streams > 0) == (gc.internal == TRIB_GC_ASKED));
        CHECK((Opened(text).code == 0) == (gc.internal != TRIB_GC_ASKED)); // nobody to ask
    }
    for (const auto &victim : trib_victim_rules) {
        INFO(victim.name);
        Opened d(std::string("preset=small,victim=") + victim.name);
        REQUIRE(d.code == 0);
        CHECK(std::string(d.description.victim) == victim.name);
    }
}
