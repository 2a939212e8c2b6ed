// SPDX-License-Identifier: Apache-2.0
// What every workload of the registry promises: events that are sound, the same for the same seed,
// as much as was asked for, within the size, and no more claims than the events carry.
#include "support/workload.hpp"

using namespace trib_test;

namespace {

constexpr uint64_t MIB = 1 << 20;
const char *const OPTIONS = "size=64M,host=512M";

struct Seen {
    uint64_t hash = 0;
    uint32_t carries = 0;
    std::set<uint64_t> signatures, tenants;
};

Seen run(Workload &workload) {
    Seen seen;
    const uint64_t *words = reinterpret_cast<const uint64_t *>(&workload.event());
    while (workload.next()) {
        const trib_event &event = workload.event();
        for (unsigned i = 0; i < sizeof event / sizeof *words; i++)
            seen.hash = (seen.hash ^ words[i]) * 0x100000001B3ull;
        if (event.kind == TRIB_EVENT_DEATH)
            seen.carries |= TRIB_CARRIES_TRIM;
        if (event.file == 0)
            seen.carries |= TRIB_CARRIES_ADDRESS;
        if (event.stream != TRIB_STREAM_UNDECIDED)
            seen.carries |= TRIB_CARRIES_VSTREAM;
        if (event.who.level != TRIB_LEVEL_UNKNOWN)
            seen.carries |= TRIB_CARRIES_LEVEL;
        if (event.who.write_hint != TRIB_HINT_NOT_SET)
            seen.carries |= TRIB_CARRIES_HINT;
        if (event.kind == TRIB_EVENT_WRITE) {
            seen.carries |= TRIB_CARRIES_SIGNATURE;
            seen.signatures.insert(event.who.signature);
            seen.tenants.insert(event.who.tenant);
        }
    }
    return seen;
}

} // namespace

TEST_CASE("every workload writes what it says") {
    for (const trib_workload_kind *const *kind = trib_workloads; *kind; kind++) {
        SECTION((*kind)->name) {
            Workload workload((*kind)->name, OPTIONS);
            const Seen seen = run(workload);
            const trib_workload_description &description = workload.description();
            CHECK(std::string(description.name) == (*kind)->name);
            CHECK(std::strlen((*kind)->summary) <= 60);
            CHECK(description.host_bytes == 512 * MIB);
            CHECK(workload.written_bytes() >= 512 * MIB);
            CHECK(workload.written_bytes() < 513 * MIB);
            CHECK(seen.carries == description.carries);
            CHECK(!seen.signatures.count(0));
            // The size is a promise about the peak, which capacities are counted by.
            CHECK(workload.live_bytes_peak() <= 1.15 * 64 * MIB);
            CHECK(workload.live_bytes_peak() >= 0.75 * 64 * MIB);
            if (description.carries & TRIB_CARRIES_ADDRESS)
                CHECK(workload.live_bytes_peak() == description.size_bytes);
        }
    }
}

TEST_CASE("a seed decides every event") {
    for (const trib_workload_kind *const *kind = trib_workloads; *kind; kind++) {
        SECTION((*kind)->name) {
            Workload first((*kind)->name, OPTIONS), again((*kind)->name, OPTIONS);
            Workload other((*kind)->name, std::string(OPTIONS) + ",seed=2");
            const uint64_t hash = run(first).hash;
            CHECK(run(again).hash == hash);
            if (std::string((*kind)->name) != "partitions") // which draws nothing
                CHECK(run(other).hash != hash);
        }
    }
}

TEST_CASE("without a fill the steady work begins at once") {
    for (const trib_workload_kind *const *kind = trib_workloads; *kind; kind++) {
        Workload workload((*kind)->name, std::string(OPTIONS) + ",fill=off");
        INFO((*kind)->name);
        CHECK(workload.description().fill_bytes == 0);
        while (workload.next())
            ;
    }
}

TEST_CASE("wrong options are refused with a sentence") {
    CHECK(open_failure("zipff", "").find("valid are partitions uniform zipf") != std::string::npos);
    for (const trib_workload_kind *const *kind = trib_workloads; *kind; kind++) {
        INFO((*kind)->name);
        CHECK(open_failure((*kind)->name, "nonsense=1").find("nonsense") != std::string::npos);
        CHECK(!open_failure((*kind)->name, "size=100").empty());
    }
    CHECK(open_failure("partitions", "write=5000").find("4096") != std::string::npos);
    CHECK(open_failure("wal-pages", "size=16M,log=16M").find("twice the log") != std::string::npos);
    CHECK(open_failure("lsm", "size=4M,target=2M").find("too small") != std::string::npos);
    CHECK(open_failure("tenants", "mix=none").find("at least one") != std::string::npos);
}
