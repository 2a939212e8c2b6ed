// SPDX-License-Identifier: Apache-2.0
// A policy that needs what the work lacks refuses with a sentence that names it, at every adapter of
// the tool; with that one thing added it runs.
#include "support/cli.hpp"

using namespace trib_test;

namespace {

constexpr uint64_t MIB = 1 << 20;
const std::string DRIVE = "emulated,capacity=16M,op=20,superblock=128K,streams=8";

// What the writes of a trace tell of themselves. All of them overwrite, if they may.
struct Work {
    bool paths = false, kinds = false, hints = false, levels = false, names = false, dies = true;
};

trib_event write_of(const Work &work, uint64_t number, uint64_t file) {
    trib_event event{};
    event.kind = TRIB_EVENT_WRITE;
    event.clock_bytes = number * MIB / 16;
    event.wall_ns = number;
    event.file = file;
    event.length_bytes = MIB / 16;
    event.offset_bytes = (work.dies ? number % 128 : number) * event.length_bytes;
    event.stream = work.names ? uint16_t(number % 4) : TRIB_STREAM_UNDECIDED;
    event.who.signature = work.paths ? 1 + number % 3 : TRIB_SIGNATURE_UNKNOWN;
    event.who.file_kind = work.kinds ? TRIB_FILE_SST : TRIB_FILE_UNKNOWN;
    event.who.write_hint = work.hints ? TRIB_HINT_LONG : TRIB_HINT_NOT_SET;
    event.who.level = work.levels ? int8_t(number % 3) : TRIB_LEVEL_UNKNOWN;
    event.who.io_activity = TRIB_ACTIVITY_UNKNOWN;
    return event;
}

std::string written(const Folder &folder, const Work &work) {
    const std::string path = folder.file("work.trib");
    fs::remove(path);
    TraceWriter trace(path);
    for (uint64_t number = 0; number < (work.dies ? 512 : 128); number++)
        trace.event(write_of(work, number, 1));
    return path;
}

Outcome replayed(const std::string &trace, const std::string &policy, const std::string &drive = DRIVE) {
    return trib({"replay", "--trace", trace, "--policy", policy, "--drive", drive});
}

struct Case {
    const char *policy, *lacks;
    bool Work::*has; // what makes it run
};

const Case CASES[] = {
    {"pcstream", "call paths", &Work::paths},
    {"rocksdb-hints", "write hints", &Work::hints},
    {"manual", "levels of an LSM tree", &Work::levels},
    {"manual,map=hs8", "levels of an LSM tree", &Work::levels},
    {"manual,map=cassandra", "levels of an LSM tree", &Work::levels},
    {"manual,map=mixed1", "levels of an LSM tree", &Work::levels},
    {"manual,map=level", "kinds of files", &Work::kinds},
    {"manual,map=3way", "kinds of files", &Work::kinds},
    {"manual,map=cassandra4", "kinds of files", &Work::kinds},
    {"manual,map=sqlite", "kinds of files", &Work::kinds},
    {"manual,map=gcc", "kinds of files", &Work::kinds},
    {"manual,map=mixed2", "kinds of files", &Work::kinds},
    {"manual,map=hint", "write hints", &Work::hints},
    {"manual,map=host", "virtual streams named by the host", &Work::names},
    {"manual,map=f2fs", "virtual streams named by the host", &Work::names},
    {"vstream,source=host", "virtual streams named by the host", &Work::names},
    {"vstream,source=hint", "write hints", &Work::hints},
    {"vstream,source=kind", "kinds of files", &Work::kinds},
    {"vstream,source=signature", "call paths", &Work::paths},
    {"pcstream", "data that die", &Work::dies},
    {"vstream", "data that die", &Work::dies},
};

const Work EVERYTHING = {true, true, true, true, true, true};

Json policies() {
    return trib({"policies", "--json"}).json()["policies"];
}

} // namespace

TEST_CASE("without the one thing it needs a policy is refused, with everything it runs") {
    Folder folder;
    const std::string full = folder.file("full.trib");
    fs::rename(written(folder, EVERYTHING), full);
    for (const Case &each : CASES) {
        CAPTURE(each.policy, each.lacks);
        Work work = EVERYTHING;
        work.*each.has = false;
        const Outcome refused = replayed(written(folder, work), each.policy);
        check_refusal(refused, 2);
        CHECK(has(refused.err, std::string("needs ") + each.lacks));
        CHECK(has(refused.err, "this trace"));
        const Outcome runs = replayed(full, each.policy);
        INFO(runs.err);
        CHECK(runs.code == 0);
    }
}

TEST_CASE("what a generator lacks is said of a workload, not of a trace") {
    const Outcome refused = trib({"replay", "--trace", "zipf", "--format", "workload", "--import", "size=8M,host=32M",
                                  "--policy", "rocksdb-hints", "--drive", DRIVE});
    check_refusal(refused, 2);
    CHECK(has(refused.err, "needs write hints, which this workload does not have"));
}

TEST_CASE("vstream by itself takes any name that there is") {
    Folder folder;
    const Outcome nameless = replayed(written(folder, {}), "vstream");
    check_refusal(nameless, 2);
    CHECK(has(nameless.err, "needs virtual streams"));
    for (bool Work::*name : {&Work::kinds, &Work::hints, &Work::levels, &Work::names}) {
        Work work;
        work.*name = true;
        CHECK(replayed(written(folder, work), "vstream").code == 0);
    }
}

// A public block trace: addresses and lengths, nothing else.
TEST_CASE("on a bare block trace every policy runs or says what it needs") {
    Folder folder;
    const std::string bare = written(folder, {});
    size_t ran = 0, refused = 0;
    for (const Json &policy : policies()) {
        const std::string name = policy["name"];
        CAPTURE(name);
        const Outcome replay = replayed(bare, name);
        const Outcome compare = trib(
            {"compare", "--trace", bare, "--policy", name, "--capacity", "16M", "--superblock", "128K", "--cold", "0"});
        CHECK(compare.code == replay.code);
        if (replay.code == 0) {
            ran++;
            continue;
        }
        refused++;
        check_refusal(replay, 2);
        CHECK(has(replay.err, name + " needs "));
        CHECK(compare.err == replay.err);
    }
    CHECK(refused == 4); // manual, rocksdb-hints, pcstream, vstream
    CHECK(ran >= 10);
}

TEST_CASE("without a drive there are no logical blocks") {
    Folder folder;
    const std::string full = written(folder, EVERYTHING);
    for (const Json &policy : policies()) {
        const std::string name = policy["name"];
        CAPTURE(name);
        const Outcome outcome = replayed(full, name, "none");
        if (!has(policy["needs"].dump(), "block addresses")) {
            CHECK(outcome.code == 0);
            continue;
        }
        check_refusal(outcome, 2);
        CHECK(has(outcome.err, name + " needs logical blocks"));
    }
}
