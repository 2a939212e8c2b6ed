// SPDX-License-Identifier: Apache-2.0
// Programs under the shim, and what it said of them, by file name.
#pragma once

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "support/folder.hpp"
#include "support/process.hpp"
#include "support/skip.hpp"
#include "support/trace_end.hpp"
#include "support/trace_file.hpp"
#include <tributary/pipeline.h>

namespace trib_test {

// What a file went through, in order: "write 0+100", "death 0+end unlink".
struct Said {
    std::map<std::string, std::vector<std::string>> of; // by the last component of the name
    std::vector<trib_event> events;
    std::map<uint64_t, std::string> names;
    std::map<uint64_t, std::string> paths; // whole, as the trace has them
    bool has_gap = false;
    uint64_t gap_bytes = 0;

    std::vector<std::string> writes(const std::string &name) const {
        std::vector<std::string> found;
        const auto file = of.find(name);
        if (file != of.end())
            for (const std::string &line : file->second)
                if (line.rfind("write", 0) == 0)
                    found.push_back(line);
        return found;
    }
    uint64_t bytes(const std::string &name) const {
        uint64_t sum = 0;
        for (const trib_event &event : events) {
            const auto known = names.find(event.file);
            if (event.kind == TRIB_EVENT_WRITE && known != names.end() && known->second == name)
                sum += event.length_bytes;
        }
        return sum;
    }
};

inline std::string line_of(const trib_event &event) {
    static const char *const kinds[] = {"?", "write", "death", "?", "sync", "read"};
    static const std::map<int, std::string> causes = {{0, ""},        {1, " overwrite"}, {2, " trim"},
                                                      {3, " unlink"}, {4, " truncate"},  {5, " rename"},
                                                      {16, " fsync"}, {17, " range"},    {18, " close"}};
    const std::string length = event.length_bytes == TRIB_LENGTH_TO_END ? "end" : std::to_string(event.length_bytes);
    return std::string(kinds[event.kind]) + " " + std::to_string(event.offset_bytes) + "+" + length +
           causes.at(event.cause);
}

inline Said read_said(const std::string &trace) {
    Said said;
    const TraceContents contents = read_trace(trace, true);
    size_t text = 0;
    for (const trib_trace_item &item : contents.others) {
        if (item.kind == TRIB_TRACE_NAME || item.kind == TRIB_TRACE_NOTE) {
            const std::string path = contents.texts[text++];
            if (item.kind == TRIB_TRACE_NAME)
                said.paths.emplace(item.id, path);
            if (item.kind == TRIB_TRACE_NAME)
                said.names.emplace(item.id, path.substr(path.rfind('/') + 1));
        }
        said.has_gap |= item.kind == TRIB_TRACE_GAP;
        said.gap_bytes += item.kind == TRIB_TRACE_GAP ? item.gap_bytes : 0;
    }
    said.events = contents.events;
    for (const trib_event &event : contents.events) {
        const auto known = said.names.find(event.file);
        said.of[known == said.names.end() ? "?" : known->second].push_back(line_of(event));
    }
    return said;
}

inline std::string preload_list() {
    const std::string runtime = PRELOAD_SANITIZER;
    return (runtime.empty() ? "" : runtime + ":") + PRELOAD_LIBRARY;
}

inline Environment preload_environment() {
    return {{"LD_PRELOAD", preload_list()}, {"ASAN_OPTIONS", "detect_leaks=0"}, {"TSAN_OPTIONS", "die_after_fork=0"}};
}

// Without the shim; a sanitizer's runtime, which changes an errno here and there, is in this run, too.
inline Outcome run_without(const std::vector<std::string> &command) {
    Environment environment = preload_environment();
    environment["LD_PRELOAD"] = PRELOAD_SANITIZER;
    return run(command, environment);
}

// As a server is run: a daemon of its own.
inline Outcome run_alone(const std::vector<std::string> &command, const std::string &trace) {
    Environment environment = preload_environment();
    environment["TRIBUTARY"] = "process-ring=262144,trace=" + trace; // a busy machine drops nothing: tests count
    environment["TRIBUTARY_TRIB"] = TRIB_BINARY_DIR "/cli/trib";
    const Outcome outcome = run(command, environment);
    wait_for_end_of(trace);
    return outcome;
}

// As `trib record` runs it: a recorder for the command and its children.
inline Outcome run_in_session(const std::vector<std::string> &command, const std::string &trace,
                              const std::string &more = "policy=pcstream", const Environment &added = {},
                              trib_status *status = nullptr) {
    Folder folder;
    trib_pipeline *recorder = nullptr;
    trib_error error{};
    if (has(more, "allow="))
        chmod(folder.file("").c_str(), 0711);
    const std::string options =
        "session=" + folder.file("session") + ",process-ring=262144,trace=" + trace + "," + more;
    if (trib_pipeline_open(&recorder, options.c_str(), true, &error))
        throw std::runtime_error(error.text);
    Environment environment = preload_environment();
    environment["TRIBUTARY_SESSION"] = folder.file("session");
    environment.insert(added.begin(), added.end());
    const Outcome outcome = run(command, environment);
    trib_pipeline_drain(recorder);
    if (status)
        trib_pipeline_status(recorder, status);
    trib_pipeline_close(recorder);
    return outcome;
}

// Memory file systems have no pages to write back: what is asked of the page cache says nothing there.
inline bool is_in_memory(const Folder &folder) {
    struct statfs system;
    return statfs(folder.file(".").c_str(), &system) == 0 && system.f_type == 0x01021994;
}

// Of which pages are dirty; the kernel is asked here, so that nothing the library loses passes for an old kernel.
inline bool has_cachestat() {
    return syscall(451, -1, nullptr, nullptr, 0) != 0 && errno != ENOSYS;
}

// Else whole ranges count, or nothing.
inline bool knows_pages_or_skips() {
    const bool knows = !is_in_memory(Folder()) && has_cachestat();
    if (!knows)
        skip("the folder is in memory, or the kernel cannot tell which pages are dirty");
    return knows;
}

} // namespace trib_test
