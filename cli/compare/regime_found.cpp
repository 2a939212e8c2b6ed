// SPDX-License-Identifier: Apache-2.0
#include "compare/regime_found.h"

#include <algorithm>
#include <fmt/format.h>

#include "common/table.h"

namespace cli {

namespace {
// Below or above these a table says little about a real drive (docs/formats/compare-json.md).
constexpr uint64_t UNITS_FEWEST = 200;
constexpr double OPEN_SHARE_MOST_PERCENT = 20, CAPACITIES_FEWEST = 4, WAF_NONE_LEAST = 1.5;

double in_bytes(uint64_t pages) {
    return static_cast<double>(pages) * TRIB_BLOCK_BYTES;
}
} // namespace

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
        notes.push_back(fmt::format("only {} superblocks (a real drive has hundreds): record more data, or use a "
                                    "smaller --superblock, as --superblock 64K",
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
