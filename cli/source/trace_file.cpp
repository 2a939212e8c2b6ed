// SPDX-License-Identifier: Apache-2.0
#include "source/trace_file.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <set>
#include <sys/file.h>
#include <unistd.h>

#include "common/failure.h"
#include "common/table.h"

namespace cli {

namespace {

constexpr int WAITS_MAX = 100; // of 100 ms
constexpr int WAITS_BEFORE_WORD = 20;

// A daemon that a program had for itself ends its trace a moment after that program. True: somebody still records.
bool wait_for_recorder(const std::string &path) {
    bool is_recorded = false;
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const timespec pause = {0, 100000000};
    for (int waits = 0; fd >= 0 && waits < WAITS_MAX; waits++) {
        is_recorded = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (!is_recorded)
            break;
        if (waits == WAITS_BEFORE_WORD)
            fmt::print(stderr, "trib: {} is still being recorded; stop its daemon, or use --truncated-ok\n", path);
        nanosleep(&pause, nullptr);
    }
    if (fd >= 0)
        close(fd);
    return is_recorded;
}

// A trace is opened more than once, perhaps by several threads.
void say_once(const std::string &sentence) {
    static std::mutex mutex;
    static std::set<std::string> said;
    const std::lock_guard<std::mutex> lock(mutex);
    if (said.insert(sentence).second)
        fmt::print(stderr, "trib: {}\n", sentence);
}

} // namespace

TraceFile::TraceFile(const std::string &path, bool truncated_ok) : plain_(path), truncated_ok_(truncated_ok) {
    if (path == "-")
        throw Failure(EXIT_USAGE, "a trace is read more than once, so it cannot come from a pipe; save it to a file");
    trib_trace_read_options options = {};
    options.allow_truncated = truncated_ok;
    trib_error error = {};
    if (!truncated_ok)
        is_recorded_ = wait_for_recorder(plain_.path());
    int rc = trib_trace_reader_open(&reader_, plain_.path().c_str(), &options, &error);
    if (rc == -ENOENT)
        throw Failure(EXIT_RUNTIME, "no trace at '" + path + "'; check the path");
    if (rc)
        throw Failure(EXIT_RUNTIME, core_failure(rc, error.text).what());
    if (files_missing())
        say_once(fmt::format("{}: {} of this recording {} gone", path,
                             files_missing() == 1 ? "the first file" : "the first " + counted(files_missing(), "file"),
                             files_missing() == 1 ? "is" : "are"));
}

TraceFile::~TraceFile() {
    trib_trace_reader_close(reader_);
}

bool TraceFile::next() {
    trib_error error = {};
    int rc = trib_trace_next(reader_, &item_, &error);
    if (rc >= 0)
        return rc > 0;
    const char *advice = truncated_ok_ ? ""
                         : is_recorded_
                             ? "; it is still being recorded: stop the daemon first, or use --truncated-ok"
                             : "; --truncated-ok reads a cut trace, as a killed daemon leaves one, up to the cut";
    throw Failure(EXIT_RUNTIME, core_failure(rc, error.text).what() + std::string(advice));
}

uint64_t TraceFile::position_bytes() const {
    uint64_t position = 0, size = 0;
    trib_trace_progress(reader_, &position, &size);
    return position;
}

uint64_t TraceFile::size_bytes() const {
    uint64_t position = 0, size = 0;
    trib_trace_progress(reader_, &position, &size);
    return size;
}

std::string TraceFile::stop_reason() const {
    return trib_trace_stop_reason(reader_);
}

uint64_t TraceFile::files_missing() const {
    return trib_trace_files_missing(reader_);
}

bool TraceFile::was_truncated() const {
    return trib_trace_was_truncated(reader_);
}

void Dictionary::learn(const trib_trace_item &item) {
    if (item.kind == TRIB_TRACE_MODULE)
        modules_[item.module_index] = item.module;
    if (item.kind == TRIB_TRACE_SIGNATURE)
        signatures_[item.id].assign(item.frames, item.frames + item.frame_count);
}

std::vector<std::string> Dictionary::frames(uint64_t signature) const {
    std::vector<std::string> out;
    auto found = signatures_.find(signature);
    if (found != signatures_.end())
        for (const trib_frame &frame : found->second)
            out.push_back(symbolised(frame));
    return out;
}

std::string Dictionary::symbolised(const trib_frame &frame) const {
    auto key = std::make_pair(frame.module, frame.offset_bytes);
    auto known = symbols_.find(key);
    if (known != symbols_.end())
        return known->second;
    std::string text;
    auto module = modules_.find(frame.module);
    if (module == modules_.end()) {
        text = fmt::format("?+{:#x}", frame.offset_bytes);
    } else {
        char buffer[4096];
        trib_signature_symbolise(&module->second, frame.offset_bytes, buffer, sizeof buffer);
        text = buffer;
    }
    return symbols_.emplace(key, text).first->second;
}

} // namespace cli
