// SPDX-License-Identifier: Apache-2.0
#include "regime.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <tributary/drive.h>

#include "base/options.h"
#include "failure.h"
#include "table.h"

namespace cli {

namespace {
// Below or above these a table says little about a real drive (docs/formats/compare-json.md).
constexpr uint64_t UNITS_FEWEST = 200;
constexpr double OPEN_SHARE_MOST_PERCENT = 20, CAPACITIES_FEWEST = 4, WAF_NONE_LEAST = 1.5;

constexpr const char *SUPERBLOCK_DEFAULT = "4M", *OVER_PROVISIONING_DEFAULT = "7", *STREAMS_DEFAULT = "8";
constexpr uint64_t CAPACITY_UNIT_BYTES = 1 << 20;

double in_bytes(uint64_t pages) {
    return static_cast<double>(pages) * TRIB_BLOCK_BYTES;
}

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

Regime regime_of(const std::vector<RunResult> &runs, const Survey &survey) {
    Regime regime;
    regime.drive = runs.front().drive;
    uint64_t live_peak = 0;
    for (const RunResult &run : runs) {
        regime.open_units_peak = std::max(regime.open_units_peak, run.drive.open_units_peak);
        live_peak = std::max(live_peak, run.drive.live_pages_peak);
    }
    const trib_drive_report &drive = regime.drive;
    auto capacity = static_cast<double>(drive.capacity_bytes);
    regime.live_peak_percent = 100 * in_bytes(live_peak) / capacity;
    if (live_peak)
        regime.cold_percent = 100 * static_cast<double>(runs.front().prefilled_bytes) / in_bytes(live_peak);
    regime.capacities_written = static_cast<double>(survey.host_bytes) / capacity;
    double spare_units = static_cast<double>(drive.reclaim_units) -
                         capacity / std::max(1.0, static_cast<double>(drive.reclaim_unit_bytes));
    if (spare_units > 0)
        regime.open_share_percent = 100 * regime.open_units_peak / spare_units;
    return regime;
}

std::string regime_text(const Regime &regime) {
    const trib_drive_report &drive = regime.drive;
    return wrapped("drive   ", fmt::format("{} exported, {:.1f} % over-provisioned, {} streams besides S0, victim={}",
                                           size_text(static_cast<double>(drive.capacity_bytes)),
                                           drive.over_provisioning_percent, drive.streams, drive.victim)) +
           wrapped("        ",
                   fmt::format("{} superblocks of {}; at most {} open at once, {:.0f} % of the "
                               "over-provisioned",
                               grouped(drive.reclaim_units), size_text(static_cast<double>(drive.reclaim_unit_bytes)),
                               regime.open_units_peak, regime.open_share_percent)) +
           wrapped("regime  ", fmt::format("live data at peak {:.1f} % of capacity, {:.0f} % of them cold; {:.1f} "
                                           "capacities written",
                                           regime.live_peak_percent, regime.cold_percent, regime.capacities_written));
}

Json json_drive(const trib_drive_report &drive) {
    return {{"name", drive.name},
            {"capacity_bytes", drive.capacity_bytes},
            {"physical_bytes", drive.physical_bytes},
            {"over_provisioning_percent", drive.over_provisioning_percent},
            {"reclaim_unit_bytes", drive.reclaim_unit_bytes},
            {"reclaim_units", drive.reclaim_units},
            {"streams", drive.streams},
            {"victim", drive.victim}};
}

Json json_regime(const Regime &regime) {
    Json json = json_drive(regime.drive);
    json["live_peak_percent"] = regime.live_peak_percent;
    json["cold_percent"] = regime.cold_percent;
    json["capacities_written"] = regime.capacities_written;
    json["open_units_peak"] = regime.open_units_peak;
    json["open_share_percent"] = regime.open_share_percent;
    return json;
}

std::vector<std::string> regime_warnings(const Regime &regime, double waf_none) {
    std::vector<std::string> notes;
    if (regime.drive.reclaim_units < UNITS_FEWEST)
        notes.push_back(fmt::format("only {} superblocks (a real drive has hundreds): record more data or choose a "
                                    "smaller --superblock",
                                    regime.drive.reclaim_units));
    if (regime.open_share_percent > OPEN_SHARE_MOST_PERCENT)
        notes.push_back(fmt::format("open superblocks take {:.0f} % of the over-provisioned ones, which costs every "
                                    "row with streams: choose a smaller --superblock or fewer --streams",
                                    regime.open_share_percent));
    if (regime.capacities_written < CAPACITIES_FEWEST)
        notes.push_back(fmt::format("only {:.1f} capacities were written: the steady state may not be reached; record "
                                    "a longer run",
                                    regime.capacities_written));
    if (waf_none > 0 && waf_none < WAF_NONE_LEAST)
        notes.push_back(fmt::format("without placement the steady WAF is only {:.2f}: there is little to gain here; "
                                    "raise --fill or --superblock",
                                    waf_none));
    return notes;
}

} // namespace cli
