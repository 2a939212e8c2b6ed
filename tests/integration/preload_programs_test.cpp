// SPDX-License-Identifier: Apache-2.0
// Real programs in a session: what they make is what they make without, and their writes and deaths are told.
#include "support/catch.hpp"

#include <filesystem>

#include <unistd.h>

#include "support/preload.hpp"
#include "support/skip.hpp"

namespace {

using namespace trib_test;
namespace fs = std::filesystem;

bool installed(const std::string &program) {
    const bool found = run({"sh", "-c", "command -v " + program}).code == 0;
    const bool can_be_hooked = std::string(PRELOAD_SANITIZER).empty();
    if (!found || !can_be_hooked)
        skip(found ? "a sanitizer's runtime has to come before every preloaded library"
                   : program + " is not installed");
    return found && can_be_hooked;
}

struct Programs {
    Folder plain, hooked, traces;
    Said said;
    Outcome outcome, expected;

    explicit Programs(const std::string &script, const std::string &options = "policy=pcstream") {
        const auto command = [&](const Folder &folder) {
            return std::vector<std::string>{"sh", "-ec", "cd '" + folder.file("") + "'; umask 022; " + script};
        };
        expected = run(command(plain));
        outcome = run_in_session(command(hooked), traces.file("trace"), options);
        INFO(outcome.err);
        CHECK(expected.code == 0);
        CHECK(outcome.code == 0);
        CHECK((outcome.out == expected.out));
        said = read_said(traces.file("trace"));
        CHECK_FALSE(said.has_gap);
    }
    void check_same(const std::string &name) const {
        CHECK(fs::file_size(hooked.file(name)) > 0);
        CHECK((read_file(hooked.file(name)) == read_file(plain.file(name))));
    }
    uint64_t died(const std::string &name) const {
        uint64_t count = 0;
        const auto file = said.of.find(name);
        if (file != said.of.end())
            for (const std::string &line : file->second)
                count += line.rfind("death", 0) == 0;
        return count;
    }
    uint8_t kind(const std::string &name) const {
        for (const trib_event &event : said.events)
            if (event.kind == TRIB_EVENT_WRITE && said.names.count(event.file) && said.names.at(event.file) == name)
                return event.who.file_kind;
        return 0;
    }
};

} // namespace

TEST_CASE("coreutils and tar") {
    if (!installed("sort") || !installed("tar"))
        return;
    const Programs run("seq 1 100000 | sort -R --random-source=/bin/sh >shuffled; sort shuffled -o sorted;"
                       "dd if=sorted of=copied bs=4096 status=none conv=fsync; cp copied again;"
                       "tar --mtime=@0 --owner=0 --group=0 -cf all.tar sorted again; mv again copied; rm sorted");
    for (const char *name : {"shuffled", "copied", "all.tar"})
        run.check_same(name);
    CHECK(run.said.bytes("shuffled") == fs::file_size(run.hooked.file("shuffled")));
    CHECK(run.said.bytes("sorted") == run.said.bytes("shuffled"));
    CHECK(run.said.bytes("copied") == run.said.bytes("shuffled"));
    CHECK(run.said.bytes("again") == run.said.bytes("shuffled")); // cp: copy_file_range or write
    CHECK(run.said.bytes("all.tar") == fs::file_size(run.hooked.file("all.tar")));
    CHECK(run.died("copied") == 1);
    CHECK(run.died("sorted") == 1);
}

TEST_CASE("a build: compiler, assembler, linker, make") {
    if (!installed("gcc") || !installed("make"))
        return;
    const Programs run(
        "printf 'int main(void){return 0;}\\n' >a.c; printf 'int f(void){return 1;}\\n' >b.c;"
        "printf 'all: prog\\nprog: a.o b.o\\n\\tgcc -o prog a.o b.o\\n%%.o: %%.c\\n\\tgcc -save-temps -MMD -c $<\\n"
        "clean:\\n\\trm -f *.o *.s *.i\\n' >Makefile; make -s -j2; ar rc lib.a b.o; ./prog; cp b.o kept; make -s "
        "clean");
    for (const char *name : {"prog", "kept", "a.d"})
        run.check_same(name);
    CHECK(run.said.bytes("a.s") > 100); // through stdio, inside libc
    CHECK(run.kind("a.s") == TRIB_FILE_INTERMEDIATE);
    CHECK(run.kind("a.i") == TRIB_FILE_INTERMEDIATE);
    CHECK(run.kind("a.d") == TRIB_FILE_BUILD_NOTE);
    CHECK(run.kind("b.o") == TRIB_FILE_OBJECT);
    CHECK(run.said.bytes("prog") >= fs::file_size(run.hooked.file("prog")) / 4); // ld leaves holes
    for (const char *name : {"a.o", "b.o", "a.s"})
        CHECK(run.died(name) >= 1);
}

TEST_CASE("python") {
    if (!installed("python3"))
        return;
    const Programs run("python3 -c \"import subprocess, os\n"
                       "f = open('py', 'w'); f.write('x' * 100000); f.close()\n"
                       "subprocess.run(['sh', '-c', 'echo child >child'], check=True)\n"
                       "os.replace('py', 'child')\"");
    run.check_same("child");
    CHECK(run.said.bytes("py") == 100000);
    CHECK(run.said.bytes("child") == 6);
    CHECK(run.died("child") == 1);
}

TEST_CASE("sqlite") {
    if (!installed("sqlite3"))
        return;
    const Programs run(
        "sqlite3 t.db 'create table t(a); begin; with recursive n(i) as (select 1 union all select i+1 from n "
        "where i<20000) insert into t select i from n; commit; select count(*), sum(a) from t;"
        "pragma integrity_check'");
    CHECK(run.outcome.out == "20000|200010000\nok\n");
    run.check_same("t.db");
    CHECK(run.kind("t.db") == TRIB_FILE_DATABASE);
    CHECK(run.kind("t.db-journal") == TRIB_FILE_JOURNAL);
    CHECK(run.said.bytes("t.db") >= fs::file_size(run.hooked.file("t.db")));
    CHECK(run.died("t.db-journal") >= 1);
}

TEST_CASE("git") {
    if (!installed("git"))
        return;
    const Programs run(
        "export GIT_CONFIG_NOSYSTEM=1 HOME=. GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' "
        "GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=b; git init -q r; cd r;"
        "for i in 1 2 3; do seq $i 20000 >f; git add f; git commit -q -m $i; done; git gc -q; git fsck; "
        "git rev-parse HEAD");
    CHECK(run.outcome.out.size() >= 41);
    CHECK(run.said.bytes("f") > 300000);
}

TEST_CASE("redis with an append-only file") {
    if (!installed("redis-server") || !installed("redis-cli"))
        return;
    const Programs run(
        "redis-server --port 0 --unixsocket s --appendonly yes --save '' --daemonize no >log & "
        "for i in $(seq 100); do redis-cli -s s ping >/dev/null 2>&1 && break; sleep 0.1; done;"
        "for i in $(seq 20); do redis-cli -s s set key$i value$i >/dev/null; done; redis-cli -s s get key7;"
        "redis-cli -s s shutdown nosave || true; wait");
    CHECK(has(run.outcome.out, "value7"));
}

TEST_CASE("apt: methods in processes of their own") {
    if (!installed("apt-get"))
        return;
    const std::string index = "Package: a\\nVersion: 1\\nArchitecture: all\\nMaintainer: b <b@c>\\nFilename: a.deb\\n"
                              "Size: 1\\nSHA256: " +
                              std::string(64, '0') + "\\nDescription: d\\n";
    const Programs run("mkdir -p repo lists/partial cache/archives/partial; printf '" + index +
                       "' >repo/Packages;"
                       "echo \"deb [trusted=yes] copy:$PWD/repo ./\" >sources.list;"
                       "of=\"-o Dir::Etc::sourcelist=$PWD/sources.list -o Dir::Etc::sourceparts=- "
                       "-o Dir::State::lists=$PWD/lists -o Dir::Cache=$PWD/cache\";"
                       "apt-get -qq $of -o APT::Sandbox::User=$(id -un) -o Acquire::Languages=none update;"
                       "apt-cache $of policy a | head -n 3");
    CHECK(has(run.outcome.out, "Candidate: 1"));
    CHECK(run.said.bytes("Packages") == fs::file_size(run.hooked.file("repo/Packages")));
    uint64_t fetched = 0;
    for (const auto &[file, name] : run.said.names)
        fetched += name != "Packages" && has(name, "Packages") ? run.said.bytes(name) : 0;
    CHECK(fetched > 0);
}

// It refuses to be root's: its processes join as another user.
TEST_CASE("postgres, whose processes are another user's") {
    if (!installed("runuser") || !is_root_or_skips("it becomes another user"))
        return;
    const std::string server = run({"sh", "-c", "ls -d /usr/lib/postgresql/*/bin | tail -n 1"}).out;
    if (server.empty())
        return skip("postgres is not installed");
    if (run({"runuser", "-u", "nobody", "--", "test", "-r", PRELOAD_LIBRARY}).code != 0)
        return skip("other users cannot read this build");
    const std::string bin = server.substr(0, server.find('\n'));
    const Programs run(
        "mkdir d; chown nobody d; chmod 711 .; cd d; PATH=" + bin +
            ":$PATH; as='runuser -u nobody --';"
            "$as initdb -D base -A trust --no-sync --no-locale >/dev/null;"
            "echo 'create table t(a int); insert into t select generate_series(1,50000); delete from t where a%2=0;"
            "vacuum t; checkpoint; select count(*), sum(a) from t' | tr ';' '\\n' |"
            "$as postgres --single -D base postgres 2>/dev/null | grep -E '(count|sum) =';"
            "$as pg_controldata base | grep 'cluster state'",
        "allow=*");
    CHECK(has(run.outcome.out, "sum = \"625000000\""));
    CHECK(has(run.outcome.out, "shut down"));
    uint64_t wal = 0, pages = 0;
    for (const trib_event &event : run.said.events) {
        wal += event.kind == TRIB_EVENT_WRITE && event.who.file_kind == TRIB_FILE_WAL ? event.length_bytes : 0;
        pages += event.kind == TRIB_EVENT_WRITE && event.who.file_kind == TRIB_FILE_DATABASE ? event.length_bytes : 0;
    }
    CHECK(wal > 16 << 20); // its first segment alone
    CHECK(pages > 50000 * 28);
}
