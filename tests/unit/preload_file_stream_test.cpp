// SPDX-License-Identifier: Apache-2.0
// The stream of a whole file, and its kind by name.
#include "support/catch.hpp"

extern "C" {
#include "file_stream.h"
#include "kinds.h"
}
#include <tributary/event.h>

TEST_CASE("a file has the stream of most of its bytes") {
    uint64_t votes = 0;
    CHECK(trib_file_stream(votes) == 0);
    votes = trib_file_stream_vote(votes, 3, 4096);
    CHECK(trib_file_stream(votes) == 3);
    for (int i = 0; i < 40; i++) // small ones do not turn it
        votes = trib_file_stream_vote(votes, 5, 100);
    CHECK(trib_file_stream(votes) == 3);
    votes = trib_file_stream_vote(votes, 5, 100000);
    CHECK(trib_file_stream(votes) == 5);
    for (int i = 0; i < 1000; i++) { // in turn, three to one
        votes = trib_file_stream_vote(votes, 7, 30000);
        votes = trib_file_stream_vote(votes, 5, 10000);
    }
    CHECK(trib_file_stream(votes) == 7);
}

TEST_CASE("a long past can be outvoted") {
    uint64_t votes = 0;
    for (int i = 0; i < 1000; i++)
        votes = trib_file_stream_vote(votes, 1, 1ull << 30);
    votes = trib_file_stream_vote(votes, 2, TRIB_FILE_STREAM_LEAD_MAX + 1);
    CHECK(trib_file_stream(votes) == 2);
    votes = trib_file_stream_vote(votes, 9, UINT64_MAX); // no overflow into the stream
    CHECK(trib_file_stream(votes) == 9);
}

TEST_CASE("kinds by name") {
    const struct {
        const char *path;
        int kind;
    } cases[] = {
        {"/db/000123.log", TRIB_FILE_WAL},
        {"/var/log/server.log", TRIB_FILE_LOG},
        {"/db/000045.sst", TRIB_FILE_SST},
        {"/db/MANIFEST-000001", TRIB_FILE_MANIFEST},
        {"/c/CommitLog-7-1.log", TRIB_FILE_WAL},
        {"/c/ks/nb-1-big-Data.db", TRIB_FILE_SST},
        {"/c/ks/nb-1-big-Index.db", TRIB_FILE_SST_INDEX},
        {"/c/ks/nb-1-big-Statistics.db", TRIB_FILE_SST_META},
        {"/x/tpcc.db", TRIB_FILE_DATABASE},
        {"/x/tpcc.db-journal", TRIB_FILE_JOURNAL},
        {"/x/tpcc.db-wal", TRIB_FILE_WAL},
        {"/var/tmp/etilqs_0123abcd", TRIB_FILE_TEMP},
        {"/tmp/ccAbCdEf.s", TRIB_FILE_INTERMEDIATE},
        {"/src/.main.o.cmd", TRIB_FILE_BUILD_NOTE},
        {"/src/main.o", TRIB_FILE_OBJECT},
        {"/src/libx.a", TRIB_FILE_LINKED},
        {"/src/vmlinux", TRIB_FILE_LINKED},
        {"/m/#ib_16384_0.dblwr", TRIB_FILE_JOURNAL},
        {"/m/sbtest/t1.ibd", TRIB_FILE_DATABASE},
        {"/m/#innodb_redo/#ib_redo12", TRIB_FILE_WAL},
        {"/m/binlog.000007", TRIB_FILE_WAL},
        {"/m/mysql-bin.000007", TRIB_FILE_WAL},
        {"/m/#innodb_temp/temp_3.ibt", TRIB_FILE_TEMP},
        {"/pg/pg_wal/000000010000000000000001", TRIB_FILE_WAL},
        {"/pg/base/16384/2619", TRIB_FILE_DATABASE},
        {"/r/appendonly.aof.1.incr.aof", TRIB_FILE_WAL},
        {"/home/me/letter.txt", TRIB_FILE_OTHER},
        {"", TRIB_FILE_UNKNOWN},
    };
    for (const auto &one : cases) {
        INFO(one.path);
        CHECK(trib_kind_of(one.path) == one.kind);
    }
}
