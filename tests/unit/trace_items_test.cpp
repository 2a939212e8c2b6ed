// SPDX-License-Identifier: Apache-2.0
// Every kind of item survives a round trip through an event file, and the writer refuses what it
// must.
#include "support/catch.hpp"

#include <cerrno>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/events.hpp"
#include "support/trace_file.hpp"

using namespace trib_test;

namespace {

trib_trace_writer *open_writer(const std::string &path) {
    trib_trace_writer *writer = nullptr;
    trib_error error{};
    REQUIRE(trib_trace_writer_open(&writer, path.c_str(), &error) == 0);
    return writer;
}

// Writes to a pipe as a program does whose trace is "-"; takes the descriptor.
trib_trace_writer *stdout_writer(int write_end) {
    const int saved = dup(STDOUT_FILENO);
    REQUIRE(dup2(write_end, STDOUT_FILENO) == STDOUT_FILENO);
    trib_trace_writer *writer = nullptr;
    trib_error error{};
    const int rc = trib_trace_writer_open(&writer, "-", &error);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(write_end);
    INFO(error.text);
    REQUIRE(rc == 0);
    return writer;
}

trib_event append_event(uint64_t file, uint64_t offset, uint64_t length) {
    trib_event event{};
    event.kind = TRIB_EVENT_WRITE;
    event.file = file;
    event.offset_bytes = offset;
    event.length_bytes = length;
    return event;
}

} // namespace

TEST_CASE("an empty trace has a clean end") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    REQUIRE(trib_trace_writer_close(open_writer(path)) == 0);
    const auto contents = read_trace(path);
    REQUIRE(contents.open_result == 0);
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.items() == 0);
    REQUIRE_FALSE(contents.truncated);
}

TEST_CASE("every kind of item round-trips") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_module module{};
    strcpy(module.path, "/usr/bin/db_bench");
    for (uint8_t i = 0; i < 20; i++)
        module.build_id[i] = static_cast<uint8_t>(255 - i);
    module.build_id_bytes = 20;
    module.build_id_hash = UINT64_MAX;
    trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX]{};
    for (uint32_t i = 0; i < TRIB_SIGNATURE_DEPTH_MAX; i++) {
        frames[i].build_id = i % 2 ? UINT64_MAX - i : i;
        frames[i].offset_bytes = i % 3 ? UINT64_MAX / (i + 1) : 0;
        frames[i].module = i % 5 ? i : UINT32_MAX;
    }
    const std::string long_text(TRIB_TRACE_TEXT_BYTES_MAX, 'x');

    trib_trace_writer *writer = open_writer(path);
    REQUIRE(trib_trace_write_note(writer, "db_bench --benchmarks=fillrandom") == 0);
    REQUIRE(trib_trace_write_note(writer, "") == 0);
    REQUIRE(trib_trace_write_note(writer, long_text.c_str()) == 0);
    REQUIRE(trib_trace_write_name(writer, UINT64_MAX, "/db/000001.sst") == 0);
    REQUIRE(trib_trace_write_name(writer, 7, long_text.c_str()) == 0);
    REQUIRE_FALSE(trib_trace_has_module(writer, 3));
    REQUIRE(trib_trace_write_module(writer, 3, &module) == 0);
    REQUIRE(trib_trace_has_module(writer, 3));
    REQUIRE(trib_trace_write_frames(writer, 0xABCDEF, frames, TRIB_SIGNATURE_DEPTH_MAX) == 0);
    REQUIRE(trib_trace_write_frames(writer, 1, frames, 0) == 0);
    REQUIRE(trib_trace_write_gap(writer, UINT64_MAX, 12345) == 0);
    const trib_event event = append_event(7, 0, 100);
    REQUIRE(trib_trace_write(writer, &event) == 0);
    REQUIRE(trib_trace_writer_close(writer) == 0);

    const auto contents = read_trace(path);
    REQUIRE(contents.open_result == 0);
    REQUIRE(contents.error == "");
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.others.size() == 9);
    REQUIRE(contents.texts ==
            std::vector<std::string>{"db_bench --benchmarks=fillrandom", "", long_text, "/db/000001.sst", long_text});
    REQUIRE(contents.others[3].id == UINT64_MAX);
    REQUIRE(contents.others[4].id == 7);
    REQUIRE(contents.others[5].kind == TRIB_TRACE_MODULE);
    REQUIRE(contents.others[5].module_index == 3);
    REQUIRE(std::string(contents.others[5].module.path) == module.path);
    REQUIRE(memcmp(contents.others[5].module.build_id, module.build_id, 20) == 0);
    REQUIRE(contents.others[5].module.build_id_bytes == 20);
    REQUIRE(contents.others[5].module.build_id_hash == UINT64_MAX);
    REQUIRE(contents.others[6].kind == TRIB_TRACE_SIGNATURE);
    REQUIRE(contents.others[6].id == 0xABCDEF);
    REQUIRE(contents.others[6].frame_count == TRIB_SIGNATURE_DEPTH_MAX);
    for (uint32_t i = 0; i < TRIB_SIGNATURE_DEPTH_MAX; i++) {
        REQUIRE(contents.others[6].frames[i].build_id == frames[i].build_id);
        REQUIRE(contents.others[6].frames[i].offset_bytes == frames[i].offset_bytes);
        REQUIRE(contents.others[6].frames[i].module == frames[i].module);
    }
    REQUIRE(contents.others[7].frame_count == 0);
    REQUIRE(contents.others[8].kind == TRIB_TRACE_GAP);
    REQUIRE(contents.others[8].gap_events == UINT64_MAX);
    REQUIRE(contents.others[8].gap_bytes == 12345);
    REQUIRE(contents.events.size() == 1);
    REQUIRE(same_event(contents.events[0], event));
}

TEST_CASE("one refused item leaves the writer usable") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = open_writer(path);
    trib_event event = append_event(1, 0, 10);
    for (unsigned kind : {0u, 6u, 7u, 255u}) {
        event.kind = static_cast<uint8_t>(kind);
        REQUIRE(trib_trace_write(writer, &event) == -EINVAL);
    }
    const std::string too_long(TRIB_TRACE_TEXT_BYTES_MAX + 1, 'x');
    trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX + 1]{};
    REQUIRE(trib_trace_write_note(writer, too_long.c_str()) == -E2BIG);
    REQUIRE(trib_trace_write_name(writer, 1, too_long.c_str()) == -E2BIG);
    REQUIRE(trib_trace_write_frames(writer, 1, frames, TRIB_SIGNATURE_DEPTH_MAX + 1) == -EINVAL);
    REQUIRE(trib_trace_write_gap(writer, 1, 2) == 0);
    REQUIRE(trib_trace_writer_close(writer) == 0);
    const auto contents = read_trace(path);
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.items() == 1);
}

TEST_CASE("what is not a trace is refused, and so is a trace that somebody writes") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = nullptr, *second = nullptr;
    trib_error error{};
    for (const std::string precious : {"precious", "p", "a longer text that is no trace at all, honestly"}) {
        write_bytes(path, precious);
        REQUIRE(trib_trace_writer_open(&writer, path.c_str(), &error) == -EEXIST);
        REQUIRE(std::string(error.text).find("not a trace") != std::string::npos);
        REQUIRE(read_bytes(path) == precious);
    }
    write_bytes(path, "");
    writer = open_writer(path);
    REQUIRE(trib_trace_write_note(writer, "first") == 0);
    REQUIRE(trib_trace_writer_open(&second, path.c_str(), &error) == -EBUSY);
    REQUIRE(second == nullptr);
    REQUIRE(trib_trace_writer_close(writer) == 0);
    REQUIRE(read_trace(path).texts == std::vector<std::string>{"first"});
}

TEST_CASE("paths that cannot be opened are named in the error") {
    ScratchFolder folder;
    trib_error error{};
    trib_trace_writer *writer = nullptr;
    trib_trace_reader *reader = nullptr;
    const auto missing = folder.file("missing");
    REQUIRE(trib_trace_writer_open(&writer, (missing + "/t").c_str(), &error) == -ENOENT);
    REQUIRE(std::string(error.text).find(missing) != std::string::npos);
    REQUIRE(trib_trace_reader_open(&reader, missing.c_str(), nullptr, &error) == -ENOENT);
    REQUIRE(std::string(error.text).find(missing) != std::string::npos);
    REQUIRE(trib_trace_reader_open(&reader, "/", nullptr, &error) == -EISDIR);
}

TEST_CASE("a full disk makes the writer inert") {
    trib_error error{};
    trib_trace_writer *writer = nullptr;
    REQUIRE(trib_trace_writer_open(&writer, "/dev/full", &error) == -ENOSPC);
    REQUIRE(writer == nullptr);
    REQUIRE(error.text[0]);
}

TEST_CASE("a FIFO is refused, whether somebody reads it or not, and a folder") {
    ScratchFolder folder;
    const auto path = folder.file("fifo");
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    for (const bool is_read : {false, true}) {
        const int reader = is_read ? open(path.c_str(), O_RDONLY | O_NONBLOCK) : -1;
        trib_error error{};
        trib_trace_writer *writer = nullptr;
        REQUIRE(trib_trace_writer_open(&writer, path.c_str(), &error) == -EEXIST);
        REQUIRE(std::string(error.text).find("standard output") != std::string::npos);
        REQUIRE(trib_trace_writer_open(&writer, "/", &error) == -EISDIR);
        close(reader);
    }
}

TEST_CASE("a closed trace is free again, even while a forked child lives") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = open_writer(path);
    int gate[2];
    REQUIRE(pipe(gate) == 0);
    const pid_t child = fork();
    if (child == 0) {
        char byte;
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    REQUIRE(trib_trace_writer_close(writer) == 0);
    trib_error error{};
    const int again = trib_trace_writer_open(&writer, path.c_str(), &error);
    close(gate[1]);
    close(gate[0]);
    REQUIRE(waitpid(child, nullptr, 0) == child);
    INFO(error.text);
    REQUIRE(again == 0);
    REQUIRE(trib_trace_writer_close(writer) == 0);
}

TEST_CASE("a pipe that breaks makes the writer inert, without a signal") {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const int reader = ends[0];
    trib_trace_writer *writer = stdout_writer(ends[1]);
    REQUIRE(trib_trace_write_gap(writer, 1, 1) == 0);
    REQUIRE(trib_trace_flush(writer) == 0);
    close(reader);
    REQUIRE(trib_trace_write_gap(writer, 1, 1) == 0);
    REQUIRE(trib_trace_flush(writer) == -EPIPE); // and no SIGPIPE, or the test would be dead
    const trib_event event = append_event(1, 0, 1);
    REQUIRE(trib_trace_write(writer, &event) == -EPIPE);
    REQUIRE(trib_trace_write_note(writer, "x") == -EPIPE);
    REQUIRE(trib_trace_flush(writer) == -EPIPE);
    sigset_t pending;
    sigpending(&pending);
    REQUIRE_FALSE(sigismember(&pending, SIGPIPE));
    REQUIRE(trib_trace_writer_close(writer) == -EPIPE);
}

TEST_CASE("a trace can be read from a pipe") {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const auto path = "/dev/fd/" + std::to_string(ends[0]);
    FileEvents source(3);
    const auto events = source.take(50000);
    trib_trace_writer *const writer = stdout_writer(ends[1]);
    std::thread producer([&] {
        for (const auto &event : events)
            trib_trace_write(writer, &event);
        trib_trace_writer_close(writer);
    });
    const auto contents = read_trace(path);
    producer.join();
    close(ends[0]);
    REQUIRE(contents.error == "");
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.events.size() == events.size());
    for (size_t i = 0; i < events.size(); i++)
        REQUIRE(same_event(contents.events[i], events[i]));
}

TEST_CASE("'-' reads standard input") {
    ScratchFolder folder;
    const auto path = folder.file("t");
    trib_trace_writer *writer = open_writer(path);
    REQUIRE(trib_trace_write_note(writer, "via stdin") == 0);
    REQUIRE(trib_trace_writer_close(writer) == 0);
    const int saved = dup(STDIN_FILENO), input = open(path.c_str(), O_RDONLY);
    REQUIRE(dup2(input, STDIN_FILENO) == STDIN_FILENO);
    const auto contents = read_trace("-");
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(input);
    REQUIRE(contents.end_result == 0);
    REQUIRE(contents.texts == std::vector<std::string>{"via stdin"});
}

TEST_CASE("a RocksDB-like append takes few bytes") {
    ScratchFolder folder;
    trib_trace_writer *writer = open_writer(folder.file("t"));
    trib_event event = append_event(1, 0, 1100);
    event.who.signature = 0x1234;
    for (int i = 0; i < 1000; i++) {
        event.wall_ns += 9000;
        REQUIRE(trib_trace_write(writer, &event) == 0);
        event.offset_bytes += event.length_bytes;
        event.clock_bytes += event.length_bytes;
        event.length_bytes = 1100 + i % 20;
    }
    REQUIRE(trib_trace_writer_bytes(writer) < 1000 * 4 + 200);
    REQUIRE(trib_trace_writer_close(writer) == 0);
}
