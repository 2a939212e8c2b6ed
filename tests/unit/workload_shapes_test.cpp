// SPDX-License-Identifier: Apache-2.0
// The distributions that workloads claim: popularity, lifetimes, sharing of call paths.
#include "support/workload.hpp"

#include <cmath>

using namespace trib_test;

namespace {

constexpr uint64_t MIB = 1 << 20;

// Steady writes per block of file 0.
std::vector<double> writes_per_block(Workload &workload, uint64_t from_bytes = 0, uint64_t to_bytes = UINT64_MAX) {
    std::vector<double> counts(workload.description().size_bytes / TRIB_BLOCK_BYTES);
    while (workload.next()) {
        const trib_event &event = workload.event();
        if (event.clock_bytes < std::max(from_bytes, workload.description().fill_bytes) ||
            event.clock_bytes >= to_bytes)
            continue;
        for (uint64_t at = 0; at < event.length_bytes; at += TRIB_BLOCK_BYTES)
            counts[(event.offset_bytes + at) / TRIB_BLOCK_BYTES]++;
    }
    return counts;
}

double sum(const std::vector<double> &values) {
    double total = 0;
    for (double value : values)
        total += value;
    return total;
}

// Mean lifetime in host bytes of what is overwritten in steady state, per virtual stream.
std::map<uint16_t, double> lifetimes(Workload &workload) {
    std::map<uint64_t, uint64_t> born;
    std::map<uint16_t, std::pair<double, double>> sums;
    while (workload.next()) {
        const trib_event &event = workload.event();
        uint64_t &birth = born[event.offset_bytes];
        if (birth > workload.description().fill_bytes) {
            sums[event.stream].first += static_cast<double>(event.clock_bytes - birth);
            sums[event.stream].second++;
        }
        birth = event.clock_bytes;
    }
    std::map<uint16_t, double> means;
    for (const auto &[stream, pair] : sums)
        means[stream] = pair.first / pair.second;
    return means;
}

} // namespace

TEST_CASE("zipf draws ranks by Zipf's law") {
    Workload workload("zipf", "size=16M,host=2G,exponent=1");
    std::vector<double> counts = writes_per_block(workload);
    std::sort(counts.rbegin(), counts.rend());
    const double total = sum(counts);
    double harmonic = 0;
    for (size_t rank = 1; rank <= counts.size(); rank++)
        harmonic += 1.0 / static_cast<double>(rank);
    for (size_t rank : {1, 2, 10, 100}) // sorting by count biases the tail only
        CHECK(counts[rank - 1] / total == Approx(1 / (harmonic * static_cast<double>(rank))).epsilon(0.05));
    double most_popular_tenth = 0;
    for (size_t i = 0; i < counts.size() / 10; i++)
        most_popular_tenth += counts[i];
    double expected = 0;
    for (size_t rank = 1; rank <= counts.size() / 10; rank++)
        expected += 1 / (harmonic * static_cast<double>(rank));
    CHECK(most_popular_tenth / total == Approx(expected).epsilon(0.02));
}

TEST_CASE("exponent 0 is uniform: chi squared of both") {
    for (const char *name : {"zipf", "uniform"}) {
        Workload workload(name, name == std::string("zipf") ? "size=4M,host=1G,exponent=0" : "size=4M,host=1G");
        std::vector<double> counts = writes_per_block(workload);
        const double mean = sum(counts) / static_cast<double>(counts.size());
        double squared = 0;
        for (double count : counts)
            squared += (count - mean) * (count - mean) / mean;
        INFO(name);
        // 1023 degrees of freedom: five standard deviations of 45.2 on either side.
        CHECK(squared > 1023 - 226);
        CHECK(squared < 1023 + 226);
    }
}

TEST_CASE("hotcold keeps its shares, and its hot set moves when it is told to") {
    auto hot_bytes = [](const std::vector<double> &counts) {
        const double mean = sum(counts) / static_cast<double>(counts.size());
        std::vector<bool> hot;
        for (double count : counts)
            hot.push_back(count > 2 * mean); // hot blocks get 4 means, cold ones a quarter
        return hot;
    };
    Workload workload("hotcold", "size=16M,host=2G,shift_at=50");
    const std::vector<double> before = writes_per_block(workload, 0, 1024 * MIB);
    Workload again("hotcold", "size=16M,host=2G,shift_at=50");
    const std::vector<double> after = writes_per_block(again, 1024 * MIB);
    const std::vector<bool> hot = hot_bytes(before), hot_after = hot_bytes(after);
    double share = 0, both = 0, blocks = 0;
    for (size_t i = 0; i < hot.size(); i++) {
        share += hot[i] ? before[i] : 0;
        blocks += hot[i];
        both += hot[i] && hot_after[i];
    }
    CHECK(share / sum(before) == Approx(0.8).margin(0.005));
    CHECK(blocks / static_cast<double>(hot.size()) == Approx(0.2).margin(0.01));
    CHECK(both == 0);
    // Neighbours are alike: the hot set is whole extents of 1 MiB.
    size_t edges = 0;
    for (size_t i = 1; i < hot.size(); i++)
        edges += hot[i] != hot[i - 1];
    CHECK(edges <= 2 * 4);
}

TEST_CASE("partitions: lifetimes of 1/2, 1 and 4 times the space (vStream-FTL)") {
    Workload workload("partitions", "size=128M,host=2G,write=16K");
    const double size = static_cast<double>(workload.description().size_bytes);
    const std::map<uint16_t, double> means = lifetimes(workload);
    REQUIRE(means.size() == 64);
    for (const auto &[stream, mean] : means) {
        INFO(stream);
        CHECK(mean / size == Approx(stream < 48 ? 0.5 : stream < 56 ? 1.0 : 4.0).epsilon(0.01));
    }
}

TEST_CASE("partitions that change places change their lifetimes") {
    Workload workload("partitions", "size=128M,host=6G,write=16K,swap_at=40,swap_first=3,"
                                    "swap_second=60");
    const uint64_t swap = 6 * 1024 * MIB * 40 / 100;
    std::map<uint16_t, std::set<uint64_t>> before, after;
    while (workload.next()) {
        const trib_event &event = workload.event();
        if (event.clock_bytes >= workload.description().fill_bytes)
            (event.clock_bytes < swap ? before : after)[event.stream].insert(event.offset_bytes);
    }
    CHECK(before[3] == after[60]);
    CHECK(before[60] == after[3]);
    CHECK(before[3].size() * 8 == before[60].size());
    CHECK(before[5] == after[5]);
}

TEST_CASE("lsm: all levels of compaction share one call path and differ in level and hint") {
    Workload workload("lsm", "size=128M,host=2G,memtable=256K,target=256K,base=1M,multiplier=5");
    std::map<uint64_t, std::set<int>> levels_of_path;
    std::map<int, std::set<int>> hints_of_level;
    std::map<uint64_t, double> bytes_of_path;
    while (workload.next()) {
        const trib_event &event = workload.event();
        if (event.kind != TRIB_EVENT_WRITE || event.who.file_kind != TRIB_FILE_SST ||
            event.who.level == TRIB_LEVEL_UNKNOWN)
            continue;
        levels_of_path[event.who.signature].insert(event.who.level);
        hints_of_level[event.who.level].insert(event.who.write_hint);
        bytes_of_path[event.who.signature] += static_cast<double>(event.length_bytes);
    }
    std::vector<size_t> widths;
    for (const auto &[path, levels] : levels_of_path)
        widths.push_back(levels.size());
    std::sort(widths.begin(), widths.end());
    // Flush and its finish know level 0 only; compaction and its finish all levels from the base.
    CHECK(widths == std::vector<size_t>{1, 1, 4, 4});
    CHECK(hints_of_level[0] == std::set<int>{TRIB_HINT_MEDIUM});
    CHECK(hints_of_level[3] == std::set<int>{TRIB_HINT_MEDIUM}); // the base level
    CHECK(hints_of_level[4] == std::set<int>{TRIB_HINT_LONG});
    CHECK(hints_of_level[6] == std::set<int>{TRIB_HINT_EXTREME});
}

TEST_CASE("lsm: a merge keeps what even, independent updates leave") {
    // Universal with one full merge after another: what is merged holds every key once, so output
    // of the last level never exceeds all keys, however often they were updated.
    Workload workload("lsm", "size=128M,host=3G,memtable=1M,target=1M,compaction=universal,"
                             "size_amp=25");
    std::map<uint64_t, uint64_t> last_level;
    double loaded = static_cast<double>(workload.description().fill_bytes), live = 0, most = 0;
    while (workload.next()) {
        const trib_event &event = workload.event();
        if (event.kind == TRIB_EVENT_WRITE && event.who.level == 6) {
            last_level[event.file] += event.length_bytes;
            live += static_cast<double>(event.length_bytes);
        }
        auto found = last_level.find(event.file);
        if (event.kind == TRIB_EVENT_DEATH && found != last_level.end()) {
            live -= static_cast<double>(found->second);
            last_level.erase(found);
        }
        most = std::max(most, live);
    }
    CHECK(most <= 2.01 * loaded); // the old copy dies when the new one is complete
    CHECK(most >= 1.8 * loaded);
}

TEST_CASE("builds: call paths for one kind of data, files that die with their process") {
    Workload workload("builds", "size=64M,host=1G");
    std::map<uint64_t, uint64_t> born;
    std::map<uint64_t, bool> temporary;
    std::set<uint64_t> paths, temporary_paths;
    double temporary_age = 0, other_age = 0, temporaries = 0, others = 0;
    while (workload.next()) {
        const trib_event &event = workload.event();
        if (event.kind == TRIB_EVENT_WRITE) {
            born.emplace(event.file, event.clock_bytes);
            temporary[event.file] = event.who.file_kind == TRIB_FILE_INTERMEDIATE;
            paths.insert(event.who.signature);
            if (temporary[event.file])
                temporary_paths.insert(event.who.signature);
            continue;
        }
        double age = static_cast<double>(event.clock_bytes - born[event.file]);
        (temporary[event.file] ? temporary_age : other_age) += age;
        (temporary[event.file] ? temporaries : others)++;
    }
    CHECK(paths.size() > 20); // FAST'19 section 6.1
    CHECK(temporary_paths.size() == 24);
    CHECK(temporary_age / temporaries * 20 < other_age / others);
}

TEST_CASE("wal-pages: three lifetimes") {
    Workload workload("wal-pages", "size=64M,host=2G,log=4M,exponent=0");
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> born;
    std::map<uint64_t, std::pair<double, double>> sums; // by file
    while (workload.next()) {
        const trib_event &event = workload.event();
        uint64_t &birth = born[{event.file, event.offset_bytes}];
        if (birth > workload.description().fill_bytes) {
            sums[event.file].first += static_cast<double>(event.clock_bytes - birth);
            sums[event.file].second++;
        }
        birth = event.clock_bytes;
    }
    auto mean = [&](uint64_t file) { return sums[file].first / sums[file].second; };
    const double page = mean(1), doublewrite = mean(2), log = mean(3);
    CHECK(doublewrite < 2 * MIB);
    CHECK(log > 10 * doublewrite);
    CHECK(page > 2 * log);
}

TEST_CASE("tenants have files and numbers of their own, and the same program the same call paths") {
    Workload workload("tenants", "size=256M,host=1G,tenants=4,mix=lsm+builds");
    std::map<uint64_t, std::set<uint64_t>> tenants_of_file, files_of_tenant;
    std::map<int, std::set<uint64_t>> paths;
    std::map<int, double> bytes;
    while (workload.next()) {
        const trib_event &event = workload.event();
        tenants_of_file[event.file].insert(event.who.tenant);
        if (event.kind != TRIB_EVENT_WRITE)
            continue;
        paths[event.who.tenant].insert(event.who.signature);
        if (event.clock_bytes >= workload.description().fill_bytes)
            bytes[event.who.tenant] += static_cast<double>(event.length_bytes);
    }
    for (const auto &[file, tenants] : tenants_of_file)
        REQUIRE(tenants.size() == 1);
    CHECK(paths[0] == paths[2]);
    CHECK(paths[1] == paths[3]);
    CHECK(paths[0] != paths[1]);
    for (int tenant = 0; tenant < 4; tenant++)
        CHECK(bytes[tenant] / (bytes[0] + bytes[1] + bytes[2] + bytes[3]) == Approx(0.25).margin(0.03));
}
