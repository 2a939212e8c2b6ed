// SPDX-License-Identifier: Apache-2.0
// Kinds by name: the matcher answers as fnmatch would, over every name that can be made of the table's own patterns.
#include "support/catch.hpp"

#include <fnmatch.h>

#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include <tributary/event.h>

extern "C" {
#include "base/kinds.h"
}

namespace {

struct Rule {
    std::string pattern, kind;
};

// The table as it stands in the source: what the reference is computed from.
std::vector<Rule> rules() {
    std::ifstream in(TRIB_SOURCE_DIR "/core/client/base/kinds.c");
    static const std::regex line_of("^    \\{\"([^\"]+)\", (TRIB_FILE_[A-Z_]+)\\},.*");
    std::vector<Rule> found;
    std::smatch match;
    for (std::string line; std::getline(in, line);)
        if (std::regex_match(line, match, line_of))
            found.push_back({match[1], match[2]});
    return found;
}

// First rule that fits, by libc's matcher; -1: none.
int first_rule(const std::vector<Rule> &table, const std::string &path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    for (size_t i = 0; i < table.size(); i++) {
        const bool whole = table[i].pattern.find('/') != std::string::npos;
        if (fnmatch(table[i].pattern.c_str(), (whole ? path : name).c_str(), 0) == 0)
            return static_cast<int>(i);
    }
    return -1;
}

const char *const kSome[] = {"", "a", "7", "00", "x.y", "bin", "-", ".log", "/", "base/", "[", "]", "*", "\xff", "zz9"};

// A name made by a pattern: stars and sets replaced, now and then a character too few, too many or wrong.
std::string made_by(const std::string &pattern, std::mt19937 &random) {
    std::string name;
    for (size_t i = 0; i < pattern.size(); i++) {
        if (pattern[i] == '*') {
            name += kSome[random() % (sizeof kSome / sizeof *kSome)];
        } else if (pattern[i] == '[') {
            const size_t end = pattern.find(']', i);
            name += random() % 8 ? pattern[i + 1 + random() % (end - i - 1)] : 'q';
            i = end;
        } else {
            name += pattern[i];
        }
    }
    if (random() % 4 == 0 && !name.empty())
        name.erase(random() % name.size(), 1);
    if (random() % 4 == 0)
        name.insert(random() % (name.size() + 1), kSome[random() % (sizeof kSome / sizeof *kSome)]);
    return name;
}

const char *const kFolders[] = {"",
                                "/",
                                "./",
                                "/pg/",
                                "/pg/pg_wal/",
                                "pg_wal/",
                                "./pg_wal/",
                                "/pg/base/16384/",
                                "./base/1/",
                                "/pg/global/",
                                "/pgsql_tmp/",
                                "/a.b/c-Data.db/"};

} // namespace

TEST_CASE("the matcher of kinds answers as fnmatch does") {
    const std::vector<Rule> table = rules();
    REQUIRE(table.size() > 60);
    std::map<std::string, int> number_of; // a kind's number, as the first name of that kind shows it
    std::mt19937 random(7);
    unsigned matched = 0, unmatched = 0;
    for (unsigned turn = 0; turn < 200; turn++) {
        for (const Rule &rule : table) {
            std::string path = made_by(rule.pattern, random);
            if (rule.pattern.find('/') == std::string::npos)
                path = kFolders[random() % (sizeof kFolders / sizeof *kFolders)] + path;
            if (path.empty())
                continue;
            const int wanted = first_rule(table, path), kind = trib_kind_of(path.c_str());
            INFO(path << ", by " << rule.pattern);
            (wanted < 0 ? unmatched : matched)++;
            if (wanted < 0)
                REQUIRE(kind == TRIB_FILE_OTHER);
            else
                REQUIRE(number_of.emplace(table[static_cast<size_t>(wanted)].kind, kind).first->second == kind);
        }
    }
    CHECK(matched > 5000);
    CHECK(unmatched > 500);
    std::map<int, std::string> names; // two kinds do not share a number
    for (const auto &[name, number] : number_of)
        CHECK(names.emplace(number, name).second);
    CHECK(number_of.at("TRIB_FILE_WAL") == TRIB_FILE_WAL);
    CHECK(number_of.at("TRIB_FILE_DATABASE") == TRIB_FILE_DATABASE);
}

TEST_CASE("a pattern of stars does not take long on a hostile name") {
    const std::string path =
        "/" + std::string(4000, 'a') + "/base/" + std::string(4000, '1') + "." + std::string(4000, 'b');
    const auto start = std::chrono::steady_clock::now();
    CHECK(trib_kind_of(path.c_str()) == TRIB_FILE_OTHER);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500));
}

TEST_CASE("kinds by name") {
    const struct {
        const char *path;
        int kind;
    } cases[] = {
        {"/db/000123.log", TRIB_FILE_WAL},
        {"/var/log/server.log", TRIB_FILE_LOG},
        {"/db/000045.sst", TRIB_FILE_SST},
        {"/logs/var_lib_db_LOG", TRIB_FILE_LOG}, // db_log_dir
        {"/logs/var_lib_db_LOG.old.1700000000", TRIB_FILE_LOG},
        {"/db/LOG.old.1700000000", TRIB_FILE_LOG},
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
