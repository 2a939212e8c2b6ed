// SPDX-License-Identifier: Apache-2.0
// What every drive of the registry promises, whichever it is. A back-end whose hardware is missing
// says -ENODEV at open and is skipped, loudly.
#include "support/catch.hpp"
#include "support/events.hpp"

#include <tributary/drive.h>
#include <tributary/pipeline.h>

#include "base/options.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace {

class Drive {
  public:
    Drive(const trib_drive *which, const std::string &text, uint32_t streams = 4) : drive(which) {
        trib_options *options = nullptr;
        REQUIRE(trib_options_open(&options, text.c_str(), &error) == 0);
        trib_drive_env env{};
        env.drive = drive;
        env.streams = streams;
        code = drive->open(&self, &env, options, &error);
        if (!code && trib_options_finish(options, &error)) {
            drive->close(self);
            code = -EINVAL;
        }
        trib_options_close(options);
    }
    ~Drive() {
        if (!code)
            drive->close(self);
    }
    trib_drive_description describe() const {
        trib_drive_description d;
        drive->describe(self, &d);
        return d;
    }
    trib_drive_stats stats() const {
        trib_drive_stats s;
        drive->stats(self, &s);
        return s;
    }
    const trib_drive *drive;
    void *self = nullptr;
    trib_error error{};
    int code;
};

std::vector<const trib_drive *> all_drives() {
    std::vector<const trib_drive *> drives;
    for (auto drive = trib_drives(); *drive; drive++)
        drives.push_back(*drive);
    return drives;
}

// Small enough to fill many times over; other back-ends take their defaults.
std::string options_for(const trib_drive *drive) {
    return strcmp(drive->name, "emulated") ? "" : "preset=small";
}

} // namespace

TEST_CASE("the registry has distinct names, each found by name, and lists them when asked for another") {
    trib_error error{};
    REQUIRE_FALSE(all_drives().empty());
    for (auto drive : all_drives()) {
        REQUIRE(trib_drive_find(drive->name, &error) == drive);
        REQUIRE(strlen(drive->summary) <= 60);
        REQUIRE(drive->options != nullptr);
    }
    REQUIRE(trib_drive_find("no-such-drive", &error) == nullptr);
    for (auto drive : all_drives())
        REQUIRE(std::string(error.text).find(drive->name) != std::string::npos);
}

TEST_CASE("an unknown key is an error that names the valid ones") {
    for (auto drive : all_drives()) {
        Drive d(drive, "no_such_key=1");
        if (d.code == -ENODEV)
            continue;
        REQUIRE(d.code == -EINVAL);
        for (auto spec = drive->options; spec->key; spec++)
            REQUIRE(std::string(d.error.text).find(spec->key) != std::string::npos);
    }
}

TEST_CASE("every drive keeps its promises") {
    auto drive = GENERATE(from_range(all_drives()));
    CAPTURE(drive->name);
    Drive d(drive, options_for(drive));
    if (d.code == -ENODEV) {
        WARN("skipped, no such hardware: " << drive->name << ": " << d.error.text);
        return;
    }
    INFO(d.error.text);
    REQUIRE(d.code == 0);
    const auto description = d.describe();
    const uint64_t blocks = description.capacity_bytes / TRIB_BLOCK_BYTES;

    SECTION("the description makes sense") {
        REQUIRE(std::string(description.name) == drive->name);
        REQUIRE(blocks > 0);
        REQUIRE(description.usable_blocks > 0);
        REQUIRE(description.usable_blocks <= blocks);
        REQUIRE(description.streams <= 4);
        REQUIRE(description.level <= TRIB_PLACEMENT_PLACED);
        REQUIRE(strlen(description.evidence) > 0);
        if (description.physical_bytes)
            REQUIRE(description.physical_bytes > description.capacity_bytes);
    }
    SECTION("ranges are checked and a refused call changes nothing") {
        REQUIRE(drive->model->write(d.self, blocks, 1, 0) == -EINVAL);
        REQUIRE(drive->model->write(d.self, blocks - 1, 2, 0) == -EINVAL);
        REQUIRE(drive->model->write(d.self, UINT64_MAX, 2, 0) == -EINVAL);
        REQUIRE(drive->model->write(d.self, 0, 0, 0) == -EINVAL);
        REQUIRE(drive->model->discard(d.self, 0, 0) == -EINVAL);
        REQUIRE(drive->model->discard(d.self, blocks - 1, 2) == -EINVAL);
        REQUIRE(drive->model->discard(d.self, 1, UINT64_MAX) == -EINVAL);
        REQUIRE(drive->model->read(d.self, blocks, 1) == -EINVAL);
        REQUIRE(drive->model->read(d.self, 0, 0) == -EINVAL);
        REQUIRE(d.stats().host_pages == 0);
        REQUIRE(d.stats().discarded_pages == 0);
    }
    SECTION("counters count, over several capacities of random writes on every stream") {
        trib_test::Random random(3);
        uint64_t written = 0, remapped = 0;
        while (written < 3 * blocks) {
            const uint32_t n = 1 + uint32_t(random.below(16));
            const uint64_t lba = random.below(blocks - n + 1);
            if (random.chance(5)) {
                REQUIRE(drive->model->discard(d.self, lba, n) == 0);
                continue;
            }
            const auto stream = uint16_t(random.below(description.streams + 2)); // one more than there are
            REQUIRE(drive->model->write(d.self, lba, n, stream) == 0);
            written += n;
            remapped += stream > description.streams ? n : 0;
        }
        REQUIRE(drive->model->read(d.self, 0, 8) == 0);
        const auto stats = d.stats();
        REQUIRE(stats.host_pages == written);
        REQUIRE(remapped > 0);
        REQUIRE(stats.streams_remapped == remapped);
        REQUIRE(stats.streams_used == description.streams + 1);
        REQUIRE(stats.live_pages <= blocks);
        REQUIRE(stats.live_pages_peak >= stats.live_pages);
        REQUIRE(stats.live_pages_peak <= blocks);
        if (stats.waf != 0) {
            REQUIRE(stats.waf > 1.0);
            REQUIRE(stats.waf == Approx(double(stats.host_pages + stats.gc_pages) / double(stats.host_pages)));
            REQUIRE(stats.erases > 0);
        }
    }
    SECTION("deleting everything leaves nothing alive") {
        for (uint64_t lba = 0; lba < blocks; lba += 64)
            REQUIRE(drive->model->write(d.self, lba, uint32_t(std::min<uint64_t>(64, blocks - lba)), 1) == 0);
        REQUIRE(d.stats().live_pages == blocks);
        REQUIRE(drive->model->discard(d.self, 0, blocks) == 0);
        REQUIRE(d.stats().live_pages == 0);
        REQUIRE(d.stats().live_pages_peak == blocks);
        REQUIRE(d.stats().discarded_pages == blocks);
    }
    SECTION("the dump is JSON-like and complete") {
        if (!drive->model->dump)
            return;
        char *text = nullptr;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        drive->model->write(d.self, 0, 1, 1);
        REQUIRE(drive->model->dump(d.self, out) == 0);
        fclose(out);
        const std::string dump(text, length);
        free(text);
        REQUIRE(dump.front() == '{');
        REQUIRE(dump.find_last_of('}') >= dump.size() - 2);
    }
}

TEST_CASE("the same writes give the same drive") {
    auto drive = GENERATE(from_range(all_drives()));
    trib_drive_stats results[2];
    for (auto &result : results) {
        Drive d(drive, options_for(drive));
        if (d.code == -ENODEV)
            return;
        trib_test::Random random(11);
        const uint64_t blocks = d.describe().capacity_bytes / TRIB_BLOCK_BYTES;
        for (uint64_t i = 0; i < 2 * blocks; i++)
            REQUIRE(drive->model->write(d.self, random.below(blocks), 1, uint16_t(random.below(5))) == 0);
        result = d.stats();
    }
    REQUIRE(results[0].gc_pages == results[1].gc_pages);
    REQUIRE(results[0].erases == results[1].erases);
    REQUIRE(results[0].gc_pages > 0);
}
