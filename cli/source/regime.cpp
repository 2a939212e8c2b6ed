// SPDX-License-Identifier: Apache-2.0
#include "source/regime.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <tributary/drive.h>

#include "base/options.h"
#include "common/failure.h"
#include "common/table.h"

namespace cli {

namespace {
constexpr const char *SUPERBLOCK_DEFAULT = "4M", *OVER_PROVISIONING_DEFAULT = "7", *STREAMS_DEFAULT = "8";
constexpr uint64_t CAPACITY_UNIT_BYTES = 1 << 20;

void check_percent(const char *flag, double value, double below) {
    if (!(value >= 0 && value < below))
        throw Failure(EXIT_USAGE, fmt::format("{} {} is out of range: give a percentage from 0 to less than {}", flag,
                                              value, below));
}

uint64_t fitting_capacity(const RegimeOptions &regime, const Survey &survey, double cold_bytes) {
    double fill = regime.fill() / 100;
    double live = static_cast<double>(survey.peak_live_bytes) + cold_bytes;
    double needed = live / fill;
    // A trace of block addresses needs all of them, behind the cold data.
    needed = std::max(needed, static_cast<double>(survey.address_end_bytes) + cold_bytes);
    needed = std::max(needed, static_cast<double>(CAPACITY_UNIT_BYTES));
    return static_cast<uint64_t>(std::ceil(needed / CAPACITY_UNIT_BYTES)) * CAPACITY_UNIT_BYTES;
}

uint64_t capacity_bytes(const std::string &text) {
    const trib_option_spec specs[] = {{"capacity", nullptr, nullptr, "", TRIB_BLOCK_BYTES, 1e18, 0, TRIB_OPTION_SIZE},
                                      {}};
    trib_options *given = nullptr;
    trib_error error = {};
    uint64_t bytes = 0;
    int rc = trib_options_open(&given, ("capacity=" + text).c_str(), &error);
    if (rc == 0)
        rc = trib_options_take(given, specs, &bytes, &error);
    trib_options_close(given);
    if (rc)
        throw core_failure(rc, error.text);
    return bytes;
}
} // namespace

RegimeOptions regime_or(const RegimeOptions &first, const RegimeOptions &second) {
    RegimeOptions out = first;
    auto fill = [](auto &mine, const auto &other) {
        if (!mine)
            mine = other;
    };
    fill(out.fill_percent, second.fill_percent);
    fill(out.cold_percent, second.cold_percent);
    fill(out.capacity, second.capacity);
    fill(out.over_provisioning, second.over_provisioning);
    fill(out.superblock, second.superblock);
    fill(out.streams, second.streams);
    return out;
}

RegimeOptions regime_without(const RegimeOptions &regime, const OptionText &drive) {
    RegimeOptions out = regime;
    auto drop = [&](const char *key, std::optional<std::string> &field) {
        if (drive.has(key))
            field.reset();
    };
    drop("capacity", out.capacity);
    drop("op", out.over_provisioning);
    drop("superblock", out.superblock);
    drop("streams", out.streams);
    return out;
}

void default_to_latency(OptionText &text) {
    const trib_drive *drive = trib_drive_find(text.get("drive").c_str(), nullptr);
    if (!drive || text.has("latency"))
        return;
    for (const trib_option_spec *spec = drive->options; spec->key; spec++)
        if (!std::strcmp(spec->key, "latency"))
            text.set("latency", "on");
}

OptionText drive_options(const RegimeOptions &regime, const OptionText &drive, const Survey &survey) {
    check_percent("--cold", regime.cold(), 100);
    check_percent("--fill", regime.fill(), 100.001);
    if (regime.fill() <= 0)
        throw Failure(EXIT_USAGE, "--fill 0 would need a drive without end; give a percentage above 0");
    OptionText text = drive;
    bool preset = drive.has("preset");
    auto choose = [&](const char *key, const std::optional<std::string> &wanted, const char *otherwise) {
        if (wanted)
            text.set(key, *wanted);
        else if (!preset && !drive.has(key))
            text.set(key, otherwise);
    };
    if (!drive.has("drive"))
        text.set("drive", "emulated");
    default_to_latency(text);
    choose("op", regime.over_provisioning, OVER_PROVISIONING_DEFAULT);
    choose("superblock", regime.superblock, SUPERBLOCK_DEFAULT);
    choose("streams", regime.streams, STREAMS_DEFAULT);

    double cold_share = regime.cold() / 100;
    double cold_bytes = static_cast<double>(survey.peak_live_bytes) * cold_share / (1 - cold_share);
    if (regime.capacity)
        text.set("capacity", *regime.capacity);
    if (!text.has("capacity") && !preset)
        text.set("capacity", size_option(fitting_capacity(regime, survey, cold_bytes)));
    if (!text.has("cold") && !preset) {
        uint64_t capacity = capacity_bytes(text.get("capacity"));
        text.set("cold", fmt::format("{:.4f}", 100 * cold_bytes / static_cast<double>(capacity)));
    }
    return text;
}

} // namespace cli
