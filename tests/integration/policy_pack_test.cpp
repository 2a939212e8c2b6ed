// SPDX-License-Identifier: Apache-2.0
// Policies that come from outside: the rivals as a pack decide as they do built in; a pack that a researcher compiles
// against the installed headers alone runs; what is no pack is refused with a sentence.
#include "support/cli.hpp"
#include "support/trace_file.hpp"

#include <tributary/pipeline.h>
#include <tributary/policy.h>

#include "rivals/rivals.h"

using namespace trib_test;

namespace {

const std::string kDrive = "drive=emulated,capacity=112M,op=10,superblock=256K,latency=off,streams=6,";

std::string figures(const std::string &options, const std::vector<trib_event> &events) {
    trib_pipeline *pipeline = nullptr;
    trib_error error{};
    INFO(options);
    REQUIRE(trib_pipeline_open(&pipeline, options.c_str(), false, &error) == 0);
    for (const trib_event &event : events)
        if (trib_pipeline_process(pipeline, &event) != 0)
            FAIL("the drive refused an event");
    trib_drive_report drive{};
    REQUIRE(trib_pipeline_drive(pipeline, &drive) == 0);
    CHECK(trib_pipeline_close(pipeline) == 0);
    return std::to_string(drive.host_pages) + " " + std::to_string(drive.gc_pages) + " " +
           std::to_string(drive.erases) + "\n";
}

// The fenced C program of the how-to.
std::string program_of_howto() {
    const std::string page = read_file(TRIB_SOURCE_DIR "/docs/howto/policy-pack.md");
    const size_t begin = page.find("```c\n"), end = page.find("```\n", begin + 1);
    REQUIRE(end != std::string::npos);
    return page.substr(begin + 5, end - begin - 5);
}

// Compiled as a researcher would: a C compiler and the public headers.
std::string compiled_pack(const Folder &folder) {
    const std::string source = folder.file("size-classes.c"), pack = folder.file("size-classes.so");
    write_bytes(source, program_of_howto());
    fs::create_directory(folder.file("include"));
    fs::copy(TRIB_SOURCE_DIR "/core/include/tributary", folder.file("include/tributary"), fs::copy_options::recursive);
    const Outcome made = run({TRIB_C_COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I",
                              folder.file("include"), "-o", pack, source});
    INFO(made.err);
    REQUIRE(made.code == 0);
    return pack;
}

std::string refusal(const std::string &path, int code) {
    trib_error error{};
    CHECK(trib_policy_pack_load(path.c_str(), &error) == code);
    INFO(error.text);
    CHECK(std::string(error.text).find(path) != std::string::npos);
    return error.text;
}

std::string broken(int fault) {
    return TRIB_PACKS "/broken_pack_" + std::to_string(fault) + ".so";
}

} // namespace

TEST_CASE("every rival decides the same from its pack, page for page, as built in") {
    Folder folder;
    const std::string trace = folder.file("work.trib");
    const std::vector<trib_event> events = write_trace(trace, 300 << 20);
    unsigned compared = 0;
    for (auto rival = trib_rivals_list; *rival; rival++) {
        const std::string options = kDrive + "gc=own,policy=" + (*rival)->name;
        const Outcome packed = run({TRIB_PACK_RUN, TRIB_RIVALS_PACK, options, trace});
        INFO(options << "\n" << packed.err);
        REQUIRE(packed.code == 0);
        CHECK(packed.out == figures(options, events));
        CHECK_FALSE(has(packed.out, " 0 0\n")); // the drive did collect
        compared++;
    }
    CHECK(compared >= 9);
    // The engine of that program has no rival of its own.
    CHECK(run({TRIB_PACK_RUN, broken(2), kDrive + "policy=none", trace}).code == 1);
}

TEST_CASE("a pack compiled against the public headers alone is listed, compared and replayed") {
    Folder folder;
    const std::string pack = compiled_pack(folder), trace = folder.file("work.trib");
    write_trace(trace, 64 << 20);
    const Outcome listed = trib({"policies", "--policy-pack", pack, "--names"});
    CHECK(has(listed.out, "size-classes\n"));
    CHECK(has(listed.out, "none\n"));
    CHECK_FALSE(has(trib({"policies", "--names"}).out, "size-classes"));
    const Json table = trib({"compare", "--policy-pack", pack, "--policy", "none", "--policy", "size-classes,classes=3",
                             "--gc", "same,own", "--superblock", "256K", "--trace", trace, "--json"})
                           .json();
    REQUIRE(table["rows"].size() == 4);
    CHECK(table["rows"][1]["policy"] == "size-classes");
    CHECK(table["rows"][1]["streams"].size() > 2);
    CHECK(table["rows"][0]["streams"].size() == 1);
    const Outcome replayed = trib({"replay", "--policy-pack", pack, "--policy", "size-classes", "--gc", "own", "--set",
                                   "superblock=256K", "--trace", trace});
    INFO(replayed.err);
    CHECK(replayed.code == 0);
    check_refusal(trib({"replay", "--policy-pack", pack, "--policy", "size-classes,colour=red", "--trace", trace}), 2);
}

TEST_CASE("what is no pack of this version is refused, with a sentence, and adds nothing") {
    Folder folder;
    size_t before = 0, after = 0;
    while (trib_policies()[before])
        before++;
    CHECK(has(refusal(broken(1), -EPROTO), "version"));
    CHECK(has(refusal(broken(2), -ENOEXEC), "trib_policy_pack"));
    CHECK(has(refusal(broken(3), -EEXIST), "'none'"));
    CHECK(has(refusal(broken(4), -EEXIST), "'pack-first'"));
    CHECK(has(refusal(broken(5), -EINVAL), "'pack-incomplete'"));
    CHECK(has(refusal(broken(6), -EINVAL), "no policy"));
    CHECK(has(refusal(TRIB_RIVALS_PACK, -EEXIST), "autostream")); // these are built in here
    refusal(folder.file("nothing.so"), -ENOENT);
    write_bytes(folder.file("text.so"), "not an ELF file\n");
    refusal(folder.file("text.so"), -ENOEXEC);
    while (trib_policies()[after])
        after++;
    CHECK(after == before);
    check_refusal(trib({"policies", "--policy-pack", broken(1)}), 1);
}
