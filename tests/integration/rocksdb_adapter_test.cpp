// SPDX-License-Identifier: Apache-2.0
// Unmodified db_bench, ldb and sst_dump through the preload shim.
#include "rocksdb_run.hpp"

#ifdef TRIB_DB_BENCH
#include <algorithm>

using namespace rocksdb_run;

namespace {

constexpr const char *small_workload[] = {
    "--benchmarks=fillrandom,overwrite,waitforcompaction", // none cut short by the end
    "--num=60000",
    "--seed=7",
    "--write_buffer_size=524288",
    "--target_file_size_base=524288",
    "--max_bytes_for_level_base=1048576",
    "--max_bytes_for_level_multiplier=4",
    "--compression_type=none",
    "--thread_status_per_interval=1", // turns thread tracking on: column families and levels
};

std::vector<std::string> db_bench(const std::string &database, const std::string &uri) {
    std::vector<std::string> command = {TRIB_DB_BENCH, "--db=" + database};
    command.insert(command.end(), std::begin(small_workload), std::end(small_workload));
    if (!uri.empty())
        command.push_back("--fs_uri=" + uri);
    return command;
}

struct Run {
    Recording recording;
    Json stats;
};

// One db_bench run with shadow drive and recorder.
Run record(const Folder &folder, const std::string &name) {
    const Outcome outcome =
        run(db_bench(folder / name, "tributary://policy=pcstream,drive=emulated,trace=" + (folder / name) +
                                        ".trace,stats=" + (folder / name) + ".json"),
            preloaded);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return {read_trace((folder / name) + ".trace"), Json::parse(read_file((folder / name) + ".json"))};
}

std::set<uint64_t> signatures_of(const Recording &recording, trib_file_kind kind, int level_min, int level_max) {
    std::set<uint64_t> signatures;
    for (const trib_event &event : recording.events)
        if (event.kind == TRIB_EVENT_WRITE && event.who.file_kind == kind && event.who.level >= level_min &&
            event.who.level <= level_max)
            signatures.insert(event.who.signature);
    return signatures;
}

bool disjoint(const std::set<uint64_t> &a, const std::set<uint64_t> &b) {
    return std::none_of(a.begin(), a.end(), [&](uint64_t signature) { return b.count(signature); });
}

// Bytes of table files by the level RocksDB's LOG says they were written to.
std::map<int, uint64_t> logged_level_bytes(const std::vector<Json> &log) {
    std::map<int, int> level_of_job;
    for (const Json &event : log) {
        if (event["event"] == "flush_started")
            level_of_job[event["job"]] = 0;
        if (event["event"] == "compaction_finished")
            level_of_job[event["job"]] = event["output_level"];
    }
    std::map<int, uint64_t> bytes;
    for (const Json &event : log)
        if (event["event"] == "table_file_creation" && event["file_size"] > 0)
            bytes[level_of_job.at(event["job"])] += event["file_size"].get<uint64_t>();
    return bytes;
}

std::map<int, uint64_t> recorded_level_bytes(const Recording &recording) {
    std::map<int, uint64_t> bytes;
    for (const trib_event &event : recording.events)
        if (event.kind == TRIB_EVENT_WRITE && event.who.file_kind == TRIB_FILE_SST)
            bytes[event.who.level] += event.length_bytes;
    return bytes;
}

uint64_t count_unlinked_tables(const Recording &recording) {
    std::map<uint64_t, uint8_t> kind_of;
    uint64_t count = 0;
    for (const trib_event &event : recording.events) {
        if (event.kind == TRIB_EVENT_WRITE)
            kind_of[event.file] = event.who.file_kind;
        if (event.kind == TRIB_EVENT_DEATH && event.cause == TRIB_CAUSE_UNLINK)
            count += kind_of[event.file] == TRIB_FILE_SST;
    }
    return count;
}

std::string dump(const std::string &database, const std::string &uri) {
    std::vector<std::string> command = {"ldb", "--db=" + database, "scan", "--hex"};
    if (!uri.empty())
        command.push_back("--fs_uri=" + uri);
    const Outcome outcome = run(command, uri.empty() ? Environment{} : preloaded);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return outcome.out;
}

uint64_t sum(const std::map<uint64_t, uint64_t> &sizes) {
    uint64_t total = 0;
    for (const auto &[file, size] : sizes)
        total += size;
    return total;
}

} // namespace

TEST_CASE("what db_bench writes is recorded exactly") {
    Folder folder;
    const Run one = record(folder, "one");
    const std::vector<trib_event> &events = one.recording.events;
    const std::vector<Json> log = log_events(folder / "one");

    CHECK(one.recording.gap_events == 0);
    CHECK(one.stats["events_dropped"] == 0);
    CHECK(one.stats["unseen_files"] == 0);
    CHECK(one.stats["trace_errors"] == 0);
    CHECK(one.stats["drive_errors"] == 0);
    CHECK(one.stats["runs_dropped"] == 0);
    CHECK(one.stats["unwind_failures"] == 0);

    // Every byte that is on disk was reported, and every death was.
    CHECK(files_after(events) == files_in(folder / "one"));
    CHECK(one.stats["live_bytes"] == sum(files_in(folder / "one")));
    // RocksDB also deletes tables that it opened and never wrote to.
    std::set<int> written, deleted;
    for (const Json &event : log) {
        if (event["event"] == "table_file_creation" && event["file_size"] > 0)
            written.insert(event["file_number"].get<int>());
        if (event["event"] == "table_file_deletion")
            deleted.insert(event["file_number"].get<int>());
    }
    const auto written_and_deleted =
        std::count_if(deleted.begin(), deleted.end(), [&](int number) { return written.count(number); });
    CHECK(written_and_deleted > 10);
    CHECK(count_unlinked_tables(one.recording) >= static_cast<uint64_t>(written_and_deleted));
    CHECK(count_unlinked_tables(one.recording) <= deleted.size());

    // The levels are RocksDB's own.
    const auto logged = logged_level_bytes(log);
    REQUIRE(logged.size() >= 3);
    CHECK(recorded_level_bytes(one.recording) == logged);

    std::set<int> kinds;
    for (const trib_event &event : events)
        if (event.kind == TRIB_EVENT_WRITE) {
            kinds.insert(event.who.file_kind);
            REQUIRE(event.who.signature != 0);
            if (event.who.file_kind == TRIB_FILE_SST)
                REQUIRE(event.who.column_family != 0);
        }
    for (int kind : {TRIB_FILE_WAL, TRIB_FILE_SST, TRIB_FILE_MANIFEST, TRIB_FILE_LOG, TRIB_FILE_TEMP})
        CHECK(kinds.count(kind) == 1);

    // The LOG ends with the figures.
    CHECK(has(read_file(folder / "one/LOG"), "policy pcstream, drive emulated"));
}

TEST_CASE("signatures tell the writers apart and survive the run") {
    Folder folder;
    const Run one = record(folder, "one"), two = record(folder, "two");

    const int any_min = INT8_MIN, any_max = INT8_MAX;
    const std::vector<std::set<uint64_t>> writers = {
        signatures_of(one.recording, TRIB_FILE_WAL, any_min, any_max),
        signatures_of(one.recording, TRIB_FILE_MANIFEST, any_min, any_max),
        signatures_of(one.recording, TRIB_FILE_SST, 0, 0),       // flush
        signatures_of(one.recording, TRIB_FILE_SST, 1, any_max), // compaction
    };
    for (size_t i = 0; i < writers.size(); i++) {
        INFO("writer " << i);
        CHECK_FALSE(writers[i].empty());
        for (size_t j = 0; j < i; j++)
            CHECK(disjoint(writers[i], writers[j]));
    }

    // Address space layout differs between the runs; the ids, and all bytes under them, agree.
    auto all = [](const Run &run) {
        std::set<uint64_t> signatures;
        for (const trib_event &event : run.recording.events)
            if (event.kind == TRIB_EVENT_WRITE)
                signatures.insert(event.who.signature);
        return signatures;
    };
    CHECK(all(one) == all(two));
}

TEST_CASE("the plugin changes no data") {
    Folder folder;
    const Outcome stock = run(db_bench(folder / "stock", ""));
    REQUIRE(stock.code == 0);
    const Outcome ours = run(db_bench(folder / "ours", "tributary://policy=none"), preloaded);
    INFO(ours.err);
    REQUIRE(ours.code == 0);

    const std::string expected = dump(folder / "stock", "");
    REQUIRE(std::count(expected.begin(), expected.end(), '\n') > 10000);
    CHECK(dump(folder / "ours", "") == expected);
    CHECK(dump(folder / "ours", "tributary://") == expected);
    CHECK(dump(folder / "stock", "tributary://") == expected);

    const Outcome consistent = run({"ldb", "--db=" + (folder / "ours"), "checkconsistency"});
    CHECK(consistent.code == 0);
    const Outcome tables =
        run({"sst_dump", "--file=" + (folder / "ours"), "--command=verify", "--fs_uri=tributary://"}, preloaded);
    INFO(tables.err);
    CHECK(tables.code == 0);
    CHECK_FALSE(has(tables.out + tables.err, "orruption"));
}

TEST_CASE("a recorder that fails never fails a write") {
    Folder folder;
    auto keeps_going = [&](const std::string &name, const std::string &options) {
        const Outcome outcome = run(db_bench(folder / name, "tributary://" + options), preloaded);
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        return outcome;
    };
    const Outcome full = keeps_going("full", "trace=/dev/full");
    CHECK(has(full.err, "/dev/full"));
    const Outcome unwritable =
        keeps_going("unwritable", "state=" + (folder / "no/such/folder") + ",trace=" + (folder / "unwritable.trace"));
    CHECK(has(unwritable.err, "going on without state=\n"));
    CHECK(read_trace(folder / "unwritable.trace").events.size() > 100);
    const std::string expected = dump(folder / "full", "");
    CHECK(dump(folder / "unwritable", "") == expected);

    // A ring of the smallest size loses events, counts them, and loses no data.
    keeps_going("narrow",
                "process-ring=1024,trace=" + (folder / "narrow.trace") + ",stats=" + (folder / "narrow.json"));
    CHECK(dump(folder / "narrow", "") == expected);
    const Json stats = Json::parse(read_file(folder / "narrow.json"));
    CHECK(read_trace(folder / "narrow.trace").gap_events == stats["events_dropped"]);

    const Outcome strict = run(db_bench(folder / "strict", "tributary://strict=1,trace=/dev/full"), preloaded);
    CHECK(strict.code == 1);
    CHECK(has(strict.err, "/dev/full"));
}

TEST_CASE("a trace file that can grow no more ends the recording, not the run") {
    Folder folder;
    // A private mount of one page for the trace; the database is elsewhere.
    const std::string small = folder / "small";
    fs::create_directory(small);
    if (run({"unshare", "--user", "--map-root-user", "--mount", "true"}).code != 0)
        return trib_test::skip("user namespaces are not allowed here");
    std::string command =
        "mount -t tmpfs -o size=4096 none " + quoted(small) + " && LD_PRELOAD=" + quoted(preloaded.at("LD_PRELOAD"));
    for (const std::string &argument : db_bench(
             folder / "db", "tributary://trace=" + small + "/t.trace,disk_floor=0,stats=" + (folder / "stats.json")))
        command += " " + quoted(argument);
    const Outcome outcome = run({"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", command});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(Json::parse(read_file(folder / "stats.json"))["trace_errors"] > 0);
    const std::string text = dump(folder / "db", "");
    CHECK(std::count(text.begin(), text.end(), '\n') > 10000);
}

TEST_CASE("options that make no sense are refused by name") {
    Folder folder;
    auto refused = [&](const std::string &uri, const std::string &because) {
        const Outcome outcome = run(db_bench(folder / "db", uri), preloaded);
        INFO(uri << ": " << outcome.err);
        CHECK(outcome.code == 1);
        CHECK(has(outcome.err, because));
    };
    refused("tributary://nonsense=1", "nonsense");
    refused("tributary://nonsense=1", "valid here: depth open_depth signature stats strict policy drive ");
    refused("tributary://policy=nonsense", "pcstream");
    refused("tributary://depth=0", "outside 1..32");
    refused("tributary://signature=both", "is not one of auto|file|write");
    refused("tributary://depth=5,depth=6", "twice");
    refused("tributary://depth", "key=value");

    // The URI wins over the environment; both are read.
    Environment environment = preloaded;
    environment["TRIBUTARY_OPTIONS"] = "policy=none,stats=stderr";
    const Outcome merged = run(db_bench(folder / "db", "tributary://?policy=manual"), environment);
    CHECK(merged.code == 0);
    CHECK(has(merged.err, "policy manual"));
}

TEST_CASE("an Env URI works too, with ':' for '='") {
    Folder folder;
    std::vector<std::string> command = db_bench(folder / "db", "");
    command.push_back("--env_uri=tributary://policy:rocksdb-hints,stats:stderr");
    const Outcome outcome = run(command, preloaded);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.err, "policy rocksdb-hints"));
}

TEST_CASE("the shim leaves other programs alone") {
    const Outcome shell = run({"sh", "-c", "timeout 5 sh -c 'echo hello'"}, preloaded);
    CHECK(shell.code == 0);
    CHECK(shell.out == "hello\n");
    CHECK(shell.err.empty());
}

TEST_CASE("a RocksDB without a plugin is named, and runs") {
    Folder folder;
    fs::copy_file(preloaded.at("LD_PRELOAD"), folder / "libtributary-rocksdb.so");
    fs::copy_file(TRIB_OTHER_PLUGIN, folder / "libtributary-rocksdb-6.1.so");
    Environment environment = {{"LD_PRELOAD", folder / "libtributary-rocksdb.so"}};
    const Outcome outcome = run(db_bench(folder / "db", ""), environment);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.err, "tributary: found RocksDB "));
    CHECK(has(outcome.err, "librocksdb.so"));
    CHECK(has(outcome.err, "libtributary-rocksdb-6.1.so"));

    environment["TRIBUTARY_OPTIONS"] = "strict=1";
    const Outcome strict = run(db_bench(folder / "db", ""), environment);
    CHECK(strict.code == 1);
}

TEST_CASE("a plugin built for another RocksDB refuses to register") {
    Folder folder;
    std::string plugin;
    for (const auto &entry : fs::directory_iterator(TRIB_BINARY_DIR "/rocksdb-env"))
        if (entry.path().filename().string().rfind("libtributary-rocksdb-", 0) == 0)
            plugin = entry.path().filename();
    REQUIRE_FALSE(plugin.empty());
    fs::copy_file(preloaded.at("LD_PRELOAD"), folder / "libtributary-rocksdb.so");
    fs::copy_file(TRIB_OTHER_PLUGIN, folder / plugin);
    const Outcome outcome = run(db_bench(folder / "db", ""), {{"LD_PRELOAD", folder / "libtributary-rocksdb.so"}});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.err, "built for RocksDB"));
    CHECK(has(outcome.err, ".99"));
}

// The number alone says nothing: a class has one function more, two in another order, or eight words more.
TEST_CASE("a plugin built for other classes of the same RocksDB refuses to register") {
    const std::map<std::string, std::string> differences = {
        {"vtable", "vtable of FSWritableFile: "},
        {"order", "stands where the library has "},
        {"size", "an object of FileSystem: "},
    };
    const std::map<std::string, std::string> vendors = {TRIB_VENDOR_PLUGINS};
    REQUIRE(vendors.size() == differences.size());
    for (const auto &[change, plugin] : vendors) {
        Folder folder;
        INFO(change);
        fs::copy_file(preloaded.at("LD_PRELOAD"), folder / "libtributary-rocksdb.so");
        for (const auto &entry : fs::directory_iterator(TRIB_BINARY_DIR "/rocksdb-env"))
            if (entry.path().filename().string().rfind("libtributary-rocksdb-", 0) == 0)
                fs::copy_file(plugin, folder / entry.path().filename().string());
        const Outcome outcome = run(db_bench(folder / "db", ""), {{"LD_PRELOAD", folder / "libtributary-rocksdb.so"}});
        INFO(outcome.err);
        CHECK(outcome.code == 0); // on its own file system
        CHECK(has(outcome.err, "tributary: this plugin was built for another RocksDB "));
        CHECK(has(outcome.err, differences.at(change)));
        CHECK(has(outcome.err, "; tributary:// stays unknown\n"));
        CHECK(outcome.err.find("tributary:") == outcome.err.rfind("tributary: ")); // one line
    }
}
#endif
