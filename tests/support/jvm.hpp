// SPDX-License-Identifier: Apache-2.0
// For tests of the JVM adapter: the JDKs of this machine, Java programs compiled, and what a trace says of Java call
// paths. Needs JVM_HOMES and JVM_LIBRARY (support/jvm.cmake); JVM_SANITIZER names the runtime that must come before the
// JVM.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/vfs.h>

#include "support/catch.hpp"
#include "support/folder.hpp"
#include "support/process.hpp"
#include "support/trace_end.hpp"
#include "support/trace_file.hpp"
#include <tributary/signature.h>

namespace trib_test {

inline std::vector<std::string> homes() {
    std::vector<std::string> found;
    std::stringstream list(JVM_HOMES);
    for (std::string home; std::getline(list, home, ':');)
        found.push_back(home);
    return found;
}

// Of tests/support/java/org/example, for the oldest release that runs it.
inline Outcome compile(const std::string &home, const std::string &program, const std::string &release,
                       const std::string &folder, const std::string &classpath = "") {
    std::vector<std::string> command = {home + "/bin/javac", "--release", release, "-d", folder};
    if (!classpath.empty())
        command.insert(command.end(), {"-cp", classpath});
    command.push_back(std::string(TRIB_SOURCE_DIR) + "/tests/support/java/org/example/" + program + ".java");
    return run(command);
}

// Memory file systems have no pages to write back.
inline bool is_in_memory(const Folder &folder) {
    struct statfs system;
    return statfs(folder.file("").c_str(), &system) == 0 && system.f_type == 0x01021994;
}

inline std::string agent(const std::string &options) {
    return std::string("-agentpath:") + JVM_LIBRARY + "=" + options;
}

// Begins a command that runs Java under a time limit, with the library preloaded if asked for.
inline std::vector<std::string> java(const std::string &home, const std::string &trace_of_preloaded = "") {
    const bool preloaded = !trace_of_preloaded.empty();
    std::vector<std::string> command = {"timeout", "-k", "5", "200",
                                        "env"}; // of Java alone: timeout would own the pipeline
    std::string preload = preloaded ? JVM_LIBRARY : "";
#ifdef JVM_SANITIZER
    preload = JVM_SANITIZER + std::string(preloaded ? ":" : "") + preload;
    // HotSpot takes SIGSEGV for its own, and frees nothing at its end.
    command.emplace_back("ASAN_OPTIONS=handle_segv=0:handle_sigfpe=0:allow_user_segv_handler=1:detect_leaks=0:"
                         "detect_stack_use_after_return=0");
    command.emplace_back("UBSAN_OPTIONS=halt_on_error=1");
#endif
    if (!preload.empty())
        command.push_back("LD_PRELOAD=" + preload);
    if (preloaded)
        command.push_back("TRIBUTARY=trace=" + trace_of_preloaded);
    command.push_back(home + "/bin/java");
    command.emplace_back("-XX:-UsePerfData");
    return command;
}

// Runs `command`, of java(home), and shell `steps` beside it once `sign` exists; in them `load OPTIONS` attaches the
// library.
inline Outcome run_beside(const std::vector<std::string> &command, const std::string &sign, const std::string &steps) {
    std::string line;
    for (const std::string &word : command)
        line += quoted(word) + " ";
    const auto java = std::find_if(command.begin(), command.end(), [](const auto &word) {
        return word.size() > 9 && word.compare(word.size() - 9, 9, "/bin/java") == 0;
    });
    const std::string jcmd = java->substr(0, java->size() - 4) + "jcmd";
    return run({"sh", "-c",
                line + "& P=$!; for i in $(seq 600); do [ -e " + quoted(sign) +
                    " ] && break; sleep 0.1; done;"
                    "read -r C _ </proc/$P/task/$P/children;" // timeout's child
                    "load() { " +
                    quoted(jcmd) + " $C JVMTI.agent_load " + quoted(JVM_LIBRARY) + " \"\\\"$1\\\"\" >&2; };" + steps +
                    "; wait $P"});
}

struct JavaPath {
    uint64_t signature = 0;
    std::vector<std::string> frames;
    bool has(const std::string &frame) const {
        return std::find(frames.begin(), frames.end(), frame) != frames.end();
    }
};

// Read in order: the number of a file that is gone is given away again.
struct JavaTrace {
    struct Write {
        std::string file;
        uint64_t signature, bytes;
    };
    std::vector<Write> writes;
    unsigned deaths = 0;
    std::map<uint32_t, trib_module> modules;
    std::map<uint64_t, std::vector<trib_frame>> paths;

    explicit JavaTrace(const std::string &path) {
        trib_trace_reader *reader = nullptr;
        trib_trace_item item{};
        trib_error error{};
        std::map<uint64_t, std::string> names;
        wait_for_end_of(path);
        REQUIRE(trib_trace_reader_open(&reader, path.c_str(), nullptr, &error) == 0);
        int rc = 0;
        while ((rc = trib_trace_next(reader, &item, &error)) == 1) {
            const std::string text = item.kind == TRIB_TRACE_NAME ? item.text : "";
            if (item.kind == TRIB_TRACE_NAME)
                names[item.id] = text.substr(text.rfind('/') + 1);
            else if (item.kind == TRIB_TRACE_MODULE)
                modules[item.module_index] = item.module;
            else if (item.kind == TRIB_TRACE_SIGNATURE)
                paths[item.id].assign(item.frames, item.frames + item.frame_count);
            else if (item.kind == TRIB_TRACE_EVENT && item.event.kind == TRIB_EVENT_WRITE)
                writes.push_back({names[item.event.file], item.event.who.signature, item.event.length_bytes});
            else if (item.kind == TRIB_TRACE_EVENT)
                deaths += item.event.kind == TRIB_EVENT_DEATH;
        }
        trib_trace_reader_close(reader);
        INFO(error.text);
        REQUIRE(rc == 0);
    }
    std::set<uint64_t> signatures(const std::string &prefix) const {
        std::set<uint64_t> found;
        for (const Write &write : writes)
            if (write.file.rfind(prefix, 0) == 0)
                found.insert(write.signature);
        return found;
    }
    uint64_t bytes(const std::string &prefix) const {
        uint64_t sum = 0;
        for (const Write &write : writes)
            sum += write.file.rfind(prefix, 0) == 0 ? write.bytes : 0;
        return sum;
    }
    // The one that all writes to the files with this prefix have.
    JavaPath path(const std::string &prefix) const {
        const std::set<uint64_t> found = signatures(prefix);
        INFO(prefix);
        REQUIRE(found.size() == 1);
        return {*found.begin(), frames(*found.begin())};
    }
    std::vector<std::string> frames(uint64_t signature) const {
        std::vector<std::string> found;
        for (const trib_frame &frame : paths.at(signature)) {
            char text[512];
            trib_signature_symbolise(&modules.at(frame.module), frame.offset_bytes, text, sizeof text);
            if (!has(text, "libasan.so")) // between program and libc, with that sanitizer
                found.emplace_back(text);
        }
        return found;
    }
};

} // namespace trib_test
