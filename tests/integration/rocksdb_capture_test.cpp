// SPDX-License-Identifier: Apache-2.0
// Inside a live, unmodified db_bench: every call path as captured against the same one by
// libunwind.
#include "rocksdb_run.hpp"

#ifdef TRIB_DB_BENCH
using namespace rocksdb_run;

TEST_CASE("captures in a live db_bench are what libunwind sees") {
    Folder folder;
    Environment environment = preloaded;
    environment["LD_PRELOAD"] = TRIB_CAPTURE_VERIFIER " " TRIB_CAPTURE_SHIM;
    // signature=write: also table files, so flush and compaction are captured as they write.
    const Outcome outcome =
        run({TRIB_DB_BENCH, "--db=" + (folder / "db"), "--benchmarks=fillrandom,overwrite,waitforcompaction",
             "--num=40000", "--seed=7", "--write_buffer_size=524288", "--target_file_size_base=524288",
             "--max_bytes_for_level_base=1048576", "--max_background_jobs=4", "--subcompactions=2",
             "--compression_type=none", "--fs_uri=tributary://policy=none,signature=write"},
            environment);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);

    const size_t line = outcome.err.find("capture_verifier captures ");
    REQUIRE(line != std::string::npos);
    unsigned long long captures = 0, agreed = 0, paths = 0;
    REQUIRE(sscanf(outcome.err.c_str() + line, "capture_verifier captures %llu agreed %llu paths %llu", &captures,
                   &agreed, &paths) == 3);
    CHECK(captures >= 50000);
    CHECK(paths >= 10); // WAL, MANIFEST, flush, compaction, LOG, ...
    REQUIRE(agreed <= captures);
    CHECK(captures - agreed <= captures / 10000);
}
#endif
