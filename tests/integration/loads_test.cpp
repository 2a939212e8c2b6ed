// SPDX-License-Identifier: Apache-2.0
// bench/loads: every script explains itself and refuses nonsense; SQLite's load is the same for a
// seed, whatever the journal. The servers themselves are fetched from a mirror and take minutes:
// docs/howto/loads.md.
#include "support/catch.hpp"
#include "support/process.hpp"

using namespace trib_test;

namespace {

const std::string LOADS = std::string(TRIB_SOURCE_DIR) + "/bench/loads/";

} // namespace

TEST_CASE("every load explains itself, and refuses what it does not know") {
    for (const char *name : {"cassandra", "gcc-kernel", "kafka", "mariadb", "mixed", "mysql", "postgres", "record",
                             "rocksdb", "sqlite-tpcc", "ycsb"}) {
        INFO(name);
        const Outcome help = run({LOADS + name, "--help"});
        CHECK(help.code == 0);
        CHECK(has(help.out, "--dir"));
        CHECK(has(help.out, "--seed"));
        CHECK(has(help.out, "--seconds"));
        const Outcome wrong = run({LOADS + name, "no-such-action"});
        CHECK(wrong.code == 2);
        CHECK(has(wrong.err, "no-such-action"));
        CHECK_FALSE(has(wrong.err, "Traceback"));
    }
}

TEST_CASE("a library that is not there is refused before anything is fetched") {
    Folder folder;
    for (const char *name : {"mariadb", "mysql", "postgres"}) {
        const Outcome outcome =
            run({LOADS + name, "start", "--dir=" + folder.file("loads"), "--preload=" + folder.file("none.so")});
        CHECK(outcome.code == 2);
        CHECK(has(outcome.err, "none.so does not exist"));
    }
}

TEST_CASE("RocksDB's load is made no smaller than its smallest memtable") {
    for (const char *divide : {"--divide=0", "--divide=5"}) {
        const Outcome outcome = run({LOADS + "rocksdb", "fetch", divide});
        CHECK(outcome.code == 2);
        CHECK(has(outcome.err, "1 to 4"));
    }
}

#ifdef TRIB_SQLITE_TPCC
TEST_CASE("SQLite under TPC-C leaves the same tables for a seed, whatever the journal") {
    Folder folder;
    unsigned number = 0;
    const auto load = [&](const std::string &seed, const std::string &journal) {
        const Outcome outcome =
            run({TRIB_SQLITE_TPCC, "--database=" + folder.file(std::to_string(number++)), "--divide=100",
                 "--transactions=400", "--synchronous=off", "--seed=" + seed, "--journal=" + journal});
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);
        return outcome.json();
    };
    const auto first = load("1", "delete");
    CHECK(first["transactions"] == 400);
    CHECK(first["new_order"] > 130);
    CHECK(first["delivery"] > 0);
    CHECK(load("1", "delete")["checksum"] == first["checksum"]);
    CHECK(load("1", "wal")["checksum"] == first["checksum"]);
    CHECK(load("2", "delete")["checksum"] != first["checksum"]);
    const Outcome again = run({TRIB_SQLITE_TPCC, "--database=" + folder.file("0")});
    CHECK(again.code == 1);
    CHECK(has(again.err, "exists"));
}

TEST_CASE("the script checks SQLite's integrity and TPC-C's conditions") {
    Folder folder;
    const Outcome outcome = run({LOADS + "sqlite-tpcc", "--dir=" + folder.file("loads"), "--build=" TRIB_BINARY_DIR,
                                 "--divide=100", "--transactions=200", "--synchronous=off"});
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.out, "consistency conditions hold"));
}

#ifdef TRIB_UNSANITIZED
TEST_CASE("kill -9 of a recorded SQLite loses no transaction that it acknowledged") {
    Folder folder;
    const Outcome outcome =
        run({TRIB_BINARY_DIR "/cli/trib", "record", "--trace=" + folder.file("trace"),
             "--preload=" TRIB_BINARY_DIR "/preload/libtributary-preload.so", "--", LOADS + "sqlite-tpcc", "crash",
             "--rounds=3", "--seconds=3", "--divide=100", "--data=" + folder.file("data"), "--build=" TRIB_BINARY_DIR});
    INFO(outcome.out);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.out, "\"kills\": 3"));
    CHECK(has(outcome.err, "processes"));
}
#endif
#endif
