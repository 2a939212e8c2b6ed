// SPDX-License-Identifier: Apache-2.0
// Where a trace may be written, what becomes of the one that stands there, and recordings of several files: nobody's
// bytes are lost.
#include "support/trace_recording.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "trace/output.h"
}

using namespace trib_test;

TEST_CASE("a trace is private, whatever the umask") {
    ScratchFolder folder;
    const mode_t before = umask(0);
    trib_trace_writer *writer = open_writer(folder.file("t"));
    umask(before);
    REQUIRE(mode_of(folder.file("t")) == 0600);
    REQUIRE(trib_trace_writer_close(writer) == 0);
    write_bytes(folder.file("empty"), "");
    REQUIRE(chmod(folder.file("empty").c_str(), 0666) == 0);
    REQUIRE(trib_trace_writer_close(open_writer(folder.file("empty"))) == 0);
    REQUIRE(mode_of(folder.file("empty")) == 0600);
}

TEST_CASE("an earlier trace is kept, whole or cut, and read by its new name") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    write_note_trace(path, "first");
    std::string bytes = read_bytes(path);
    write_bytes(path, bytes.substr(0, bytes.size() - 7)); // its program was killed
    write_note_trace(path, "second");
    write_note_trace(path, "third");
    REQUIRE(read_trace(path).texts == std::vector<std::string>{"third"}); // recordings are not joined
    REQUIRE(read_trace(path + ".1").texts == std::vector<std::string>{"second"});
    REQUIRE(read_bytes(path + ".2") == bytes.substr(0, bytes.size() - 7));
    REQUIRE_FALSE(is_there(path + ".3"));
}

TEST_CASE("only as many earlier traces are kept as asked for") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    for (const char *note : {"a", "b", "c", "d", "e"})
        write_note_trace(path, note, 2);
    REQUIRE(read_trace(path).texts == std::vector<std::string>{"e"});
    REQUIRE(read_trace(path + ".1").texts == std::vector<std::string>{"d"});
    REQUIRE(read_trace(path + ".2").texts == std::vector<std::string>{"c"});
    REQUIRE_FALSE(is_there(path + ".3"));
    const Opened refused = try_open(path, limits_of(kMax, 0));
    REQUIRE(refused.rc == -EEXIST);
    REQUIRE(mentions(refused.error, "trace_keep=0"));
    REQUIRE(read_trace(path).texts == std::vector<std::string>{"e"});
}

TEST_CASE("when fewer are kept than before, the newest stay") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    for (const char *note : {"a", "b", "c", "d", "e"})
        write_note_trace(path, note);
    write_bytes(path + ".6", "somebody's database");
    write_note_trace(path, "f", 2);
    REQUIRE(read_trace(path).texts == std::vector<std::string>{"f"});
    REQUIRE(read_trace(path + ".1").texts == std::vector<std::string>{"e"});
    REQUIRE_FALSE(is_there(path + ".3"));
    REQUIRE_FALSE(is_there(path + ".4"));
    REQUIRE(read_bytes(path + ".6") == "somebody's database");
    write_note_trace(path, "g", 2);
    REQUIRE(read_trace(path + ".1").texts == std::vector<std::string>{"f"});
    REQUIRE(read_trace(path + ".2").texts == std::vector<std::string>{"e"});
    trib_trace_writer *other = open_writer(path + ".3"); // a recording of that name, going on
    write_note_trace(path, "h", 2);
    REQUIRE(trib_trace_writer_close(other) == 0);
    REQUIRE(is_there(path + ".3"));
}

TEST_CASE("a hole among the earlier traces is filled, nothing more is moved") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    for (const char *note : {"a", "b", "c"})
        write_note_trace(path, note);
    REQUIRE(unlink((path + ".1").c_str()) == 0);
    write_note_trace(path, "d");
    REQUIRE(read_trace(path + ".1").texts == std::vector<std::string>{"c"});
    REQUIRE(read_trace(path + ".2").texts == std::vector<std::string>{"a"});
}

TEST_CASE("what is not a trace is refused where a trace should go, and where an earlier one should") {
    ScratchFolder folder;
    const auto path = folder.file("t"), elsewhere = folder.file("elsewhere");
    const std::string precious = "somebody's database";

    SECTION("a symbolic link, whether it leads to a trace, a file or nowhere") {
        const bool leads = GENERATE(false, true);
        if (leads)
            write_note_trace(elsewhere, "theirs");
        REQUIRE(symlink(elsewhere.c_str(), path.c_str()) == 0);
        const Opened opened = try_open(path);
        REQUIRE(opened.rc == -ELOOP);
        REQUIRE(mentions(opened.error, "symbolic link"));
        REQUIRE(is_there(elsewhere) == leads);
    }
    SECTION("an empty file that has another name") {
        write_bytes(elsewhere, "");
        REQUIRE(link(elsewhere.c_str(), path.c_str()) == 0);
        REQUIRE(try_open(path).rc == -EEXIST);
        REQUIRE(read_bytes(elsewhere).empty());
    }
    SECTION("a file in the way of an earlier trace") {
        write_note_trace(path, "one");
        write_bytes(path + ".1", precious);
        const Opened opened = try_open(path);
        REQUIRE(opened.rc == -EEXIST);
        REQUIRE(mentions(opened.error, path + ".1"));
        REQUIRE(read_bytes(path + ".1") == precious);
        REQUIRE(read_trace(path).texts == std::vector<std::string>{"one"});
    }
    SECTION("a file where the oldest trace would be deleted") {
        write_note_trace(path, "one", 1);
        write_bytes(path + ".1", precious);
        REQUIRE(try_open(path, limits_of(kMax, 1)).rc == -EEXIST);
        REQUIRE(read_bytes(path + ".1") == precious);
    }
    SECTION("an earlier name that somebody is writing") {
        write_note_trace(path, "one");
        trib_trace_writer *other = open_writer(path + ".1");
        REQUIRE(try_open(path).rc == -EBUSY);
        REQUIRE(trib_trace_writer_close(other) == 0);
    }
}

TEST_CASE("of several processes that open one path at once, one has it") {
    for (int round = 0; round < 40; round++) {
        ScratchFolder folder;
        const auto path = folder.file("t");
        if (round % 2)
            write_note_trace(path, "old");
        int start[2], tried[2], finish[2];
        REQUIRE((pipe(start) == 0 && pipe(tried) == 0 && pipe(finish) == 0));
        std::vector<pid_t> children(3);
        for (pid_t &child : children) {
            child = fork();
            if (child)
                continue;
            char byte;
            close(start[1]);
            close(finish[1]);
            (void)!read(start[0], &byte, 1); // ends when the parent closes
            trib_trace_writer *writer = nullptr;
            const int rc = trib_trace_writer_open(&writer, path.c_str(), nullptr);
            (void)!write(tried[1], rc == 0 ? "y" : rc == -EBUSY || rc == -EEXIST ? "n" : "?", 1);
            (void)!read(finish[0], &byte, 1); // all have tried
            _exit(0);
        }
        std::string answers(3, 0);
        close(start[1]);
        for (char &answer : answers)
            REQUIRE(read(tried[0], &answer, 1) == 1);
        close(finish[1]);
        for (int fd : {start[0], tried[0], tried[1], finish[0]})
            close(fd);
        for (pid_t child : children)
            REQUIRE(waitpid(child, nullptr, 0) == child);
        std::sort(answers.begin(), answers.end());
        REQUIRE(answers == "nny");
    }
}

TEST_CASE("a recording that outgrows a file goes on in the next, and is read as one") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = open_writer(path, limits_of(kMax, 8));
    trib_module module{};
    strcpy(module.path, "/lib/engine.so");
    trib_frame frame{1, 2, 0};
    REQUIRE(trib_trace_write_module(writer, 0, &module) == 0);
    REQUIRE(trib_trace_write_frames(writer, 9, &frame, 1) == 0);
    REQUIRE(trib_trace_write_note(writer, "begin") == 0);
    const auto events = fill_files(writer, path, 4);
    REQUIRE(trib_trace_write_note(writer, "end") == 0);
    const uint64_t bytes = trib_trace_writer_bytes(writer);
    REQUIRE(trib_trace_writer_close(writer) == 0);

    uint64_t on_disk = 0;
    for (const char *suffix : {"", ".1", ".2", ".3"}) {
        struct stat status;
        REQUIRE(stat((path + suffix).c_str(), &status) == 0);
        REQUIRE(static_cast<uint64_t>(status.st_size) <= kMax);
        REQUIRE((status.st_mode & 07777) == 0600);
        on_disk += static_cast<uint64_t>(status.st_size);
    }
    REQUIRE(on_disk == bytes + 72); // the end block

    const auto contents = read_trace(path);
    INFO(contents.error);
    REQUIRE(contents.end_result == 0);
    REQUIRE(same_events(contents.events, events));
    REQUIRE(contents.texts == std::vector<std::string>{"begin", "end"});
    REQUIRE(files_missing(path) == 0);

    SECTION("up to an earlier file, by its name") {
        const auto earlier = read_trace(path + ".2");
        REQUIRE(earlier.end_result == 0);
        REQUIRE(earlier.events.size() > events.size() / 3);
        REQUIRE(earlier.events.size() < events.size());
        REQUIRE(same_event(earlier.events[0], events[0]));
    }
    SECTION("again after a rewind, with progress from nothing to all") {
        trib_trace_reader *reader = nullptr;
        REQUIRE(trib_trace_reader_open(&reader, path.c_str(), nullptr, nullptr) == 0);
        for (int pass = 0; pass < 2; pass++) {
            trib_trace_item item;
            uint64_t position = 0, size = 0, before = 0, count = 0;
            bool grows = true;
            while (trib_trace_next(reader, &item, nullptr) == 1) {
                trib_trace_progress(reader, &position, &size);
                grows &= position >= before && size == on_disk;
                before = position;
                count += item.kind == TRIB_TRACE_EVENT;
            }
            REQUIRE(grows);
            trib_trace_progress(reader, &position, &size);
            REQUIRE(position == size);
            REQUIRE(count == events.size());
            REQUIRE(trib_trace_rewind(reader) == 0);
        }
        trib_trace_reader_close(reader);
    }
    SECTION("without its first files, which are counted, with modules and frames still") {
        REQUIRE(unlink((path + ".3").c_str()) == 0);
        REQUIRE(files_missing(path) == 1);
        const auto rest = read_trace(path);
        REQUIRE(rest.end_result == 0);
        REQUIRE(rest.events.size() > 100);
        REQUIRE(same_events(rest.events, events, events.size() - rest.events.size()));
        unsigned modules = 0, signatures = 0;
        for (const auto &item : rest.others) {
            modules += item.kind == TRIB_TRACE_MODULE && item.module_index == 0;
            signatures += item.kind == TRIB_TRACE_SIGNATURE && item.id == 9;
        }
        REQUIRE(modules >= 1);
        REQUIRE(signatures >= 1);
    }
    SECTION("not when a file before the last is cut, or gone while it is read") {
        const bool is_cut = GENERATE(true, false);
        const std::string middle = read_bytes(path + ".1");
        trib_trace_reader *reader = nullptr;
        TraceContents read;
        trib_trace_read_options options{true, false};
        REQUIRE(trib_trace_reader_open(&reader, path.c_str(), &options, nullptr) == 0);
        if (is_cut)
            write_bytes(path + ".1", middle.substr(0, middle.size() - 72));
        else
            REQUIRE(unlink((path + ".1").c_str()) == 0);
        collect(reader, read);
        REQUIRE(read.end_result == (is_cut ? -EBADMSG : -ENOENT));
        REQUIRE(read.events.size() > 100);
        trib_trace_reader_close(reader);
    }
    SECTION("while its names move on") {
        trib_trace_reader *reader = nullptr;
        REQUIRE(trib_trace_reader_open(&reader, path.c_str(), nullptr, nullptr) == 0);
        write_note_trace(path, "another recording");
        TraceContents read;
        collect(reader, read);
        REQUIRE(read.end_result == 0);
        REQUIRE(same_events(read.events, events));
        trib_trace_reader_close(reader);
    }
}

TEST_CASE("a number that rotation does not give is part of the name") {
    ScratchFolder folder;
    for (const char *name : {"t.07", "t.0", "t.1234", "t7"}) {
        const auto path = folder.file(name);
        trib_trace_writer *writer = open_writer(path, limits_of(kMax, 8));
        const auto events = fill_files(writer, path, 3);
        REQUIRE(trib_trace_writer_close(writer) == 0);
        CAPTURE(name);
        CHECK(same_events(read_trace(path).events, events));
        CHECK(files_missing(path) == 0);
    }
}

TEST_CASE("what a full pipe takes in pieces arrives whole") {
    int ends[2];
    REQUIRE(pipe2(ends, O_NONBLOCK) == 0);
    REQUIRE(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
    std::string sent(200000, 0), got;
    for (size_t i = 0; i < sent.size(); i++)
        sent[i] = static_cast<char>(i * 2654435761u >> 24);
    std::thread reader([&] {
        char part[1000]; // never a whole page, so that the writer finds room for parts
        pollfd there{ends[0], POLLIN, 0};
        while (got.size() < sent.size() && poll(&there, 1, 10000) == 1) {
            const ssize_t bytes = read(ends[0], part, sizeof part);
            if (bytes <= 0)
                break;
            got.append(part, static_cast<size_t>(bytes));
        }
    });
    const trib_trace_output output{ends[1], false};
    CHECK(trib_trace_output_write(&output, sent.data(), sent.size()) == 0);
    reader.join();
    CHECK(got == sent);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("a recording may be followed over its files") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = open_writer(path, limits_of(kMax, 8));
    trib_trace_reader *reader = nullptr;
    trib_trace_read_options options{};
    options.follow = true;
    REQUIRE(trib_trace_reader_open(&reader, path.c_str(), &options, nullptr) == 0);
    REQUIRE(trib_trace_write_note(writer, "begin") == 0);
    REQUIRE(trib_trace_flush(writer) == 0);
    TraceContents read;
    collect(reader, read);
    REQUIRE(read.end_result == -EAGAIN);
    const auto events = fill_files(writer, path, 3);
    REQUIRE(trib_trace_flush(writer) == 0);
    collect(reader, read);
    REQUIRE(read.end_result == -EAGAIN);
    REQUIRE(same_events(read.events, events));
    REQUIRE(trib_trace_writer_close(writer) == 0);
    collect(reader, read);
    REQUIRE(read.end_result == 0);
    trib_trace_reader_close(reader);
}

TEST_CASE("the oldest file of a long recording goes, so that it keeps within its limit") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = open_writer(path, limits_of(kMax, 2));
    std::mt19937_64 random(3);
    std::vector<trib_event> events;
    for (int i = 0; i < 100000; i++) {
        events.push_back(random_event(random));
        REQUIRE(trib_trace_write(writer, &events.back()) == 0);
    }
    REQUIRE(trib_trace_writer_close(writer) == 0);
    REQUIRE(is_there(path + ".2"));
    REQUIRE_FALSE(is_there(path + ".3"));
    REQUIRE(files_missing(path) > 0);
    const auto contents = read_trace(path);
    REQUIRE(contents.end_result == 0);
    REQUIRE(same_events(contents.events, events, events.size() - contents.events.size()));
}

TEST_CASE("a trace that somebody moved away goes on where it should be") {
    ScratchFolder folder;
    const auto path = folder.file("t"), moved = folder.file("moved");
    trib_trace_writer *writer = open_writer(path, limits_of(kMax, 8));
    REQUIRE(rename(path.c_str(), moved.c_str()) == 0);
    std::mt19937_64 random(3);
    while (!is_there(path)) {
        const trib_event event = random_event(random);
        REQUIRE(trib_trace_write(writer, &event) == 0);
    }
    REQUIRE(trib_trace_writer_close(writer) == 0);
    REQUIRE(read_trace(moved).end_result == 0);
    REQUIRE(read_trace(path).end_result == 0);
    REQUIRE(files_missing(path) == 1);
    REQUIRE_FALSE(is_there(path + ".1"));
}

TEST_CASE("files of another recording are never joined, whatever their numbers") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    write_note_trace(path, "another recording's first file");
    trib_trace_writer *writer = open_writer(path, limits_of(kMax, 8));
    fill_files(writer, path, 3); // the other one is .2 now, this one's first file .1
    REQUIRE(trib_trace_writer_close(writer) == 0);
    REQUIRE(read_trace(path).texts.empty());
    REQUIRE(read_trace(path + ".2").texts.size() == 1);
    REQUIRE(unlink((path + ".1").c_str()) == 0);
    REQUIRE(files_missing(path) == 1);
    REQUIRE(read_trace(path).texts.empty());
}
