// SPDX-License-Identifier: Apache-2.0
#include "hazard.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trib_hazard {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double kAllowance_ms = 30; // beside twice the time, and what the library takes for the least that it can do
constexpr double kJoining_ms = 1;    // of each further process that joins
constexpr int kRounds = 12;          // of runs, before the time counts as too long
constexpr int kRecordings = 4;       // before a record counts as too small
constexpr double kLinger_s = 3;      // for a daemon whose last host has ended

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// ---- processes ----

// Children, and what their ends have made children of this process, which is a subreaper.
std::vector<pid_t> children() {
    std::istringstream in(read_file("/proc/self/task/" + std::to_string(getpid()) + "/children"));
    std::vector<pid_t> found;
    for (pid_t pid; in >> pid;)
        found.push_back(pid);
    return found;
}

bool is_ours(pid_t pid) {
    return read_file("/proc/" + std::to_string(pid) + "/comm").rfind("trib", 0) == 0;
}

void reap() {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
}

// What the program has left behind ends by itself, and so does the daemon behind it, or they are ended.
void drain(double limit_s) {
    const auto start = Clock::now();
    auto alone = start; // since when only a daemon is left
    for (;;) {
        reap();
        const std::vector<pid_t> left = children();
        if (left.empty())
            return;
        const bool only_ours = std::all_of(left.begin(), left.end(), is_ours);
        if (!only_ours)
            alone = Clock::now();
        const bool late = seconds_since(start) > limit_s + 10, lingers = only_ours && seconds_since(alone) > kLinger_s;
        for (pid_t pid : left)
            if (late || lingers)
                kill(pid, late || seconds_since(alone) > 2 * kLinger_s ? SIGKILL : SIGTERM);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

struct Place {
    Folder folder;
    std::string start = folder / "start", out = folder / "out", err = folder / "err", runtime = folder / "run";
    Place() {
        chmod((folder / ".").c_str(), 0755);
        fs::create_directory(start);
        fs::create_directory(runtime);
        chmod(runtime.c_str(), 0700);
        std::string pattern;
        for (int i = 0; i < 4096; i++)
            pattern += "precious data " + std::to_string(100 + i % 900) + "\n";
        std::ofstream(start + "/untouched.db", std::ios::binary) << pattern;
    }
};

struct rlimit descriptors_within(uint64_t most) {
    struct rlimit limit = {1024, 1024};
    getrlimit(RLIMIT_NOFILE, &limit);
    return {1024, std::min<rlim_t>(limit.rlim_max, most)};
}

[[noreturn]] void become(const std::vector<std::string> &arguments, const std::vector<std::string> &environment,
                         const struct rlimit &descriptors, const Place &place) {
    std::vector<char *> values, variables;
    for (const std::string &argument : arguments)
        values.push_back(const_cast<char *>(argument.c_str()));
    for (const std::string &variable : environment)
        variables.push_back(const_cast<char *>(variable.c_str()));
    values.push_back(nullptr);
    variables.push_back(nullptr);
    const struct rlimit core = {0, 0};
    setpgid(0, 0);
    setrlimit(RLIMIT_NOFILE, &descriptors);
    setrlimit(RLIMIT_CORE, &core);
    umask(022);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    if (chdir(place.start.c_str()))
        _exit(126);
    const int in = open("/dev/null", O_RDONLY), out = open(place.out.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600),
              err = open(place.err.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    dup2(in, 0);
    dup2(out, 1);
    dup2(err, 2);
    closefrom(3);
    execvpe(values[0], values.data(), variables.data());
    _exit(127);
}

// Waits, kills the group at the limit, and keeps the time.
void wait_for(pid_t pid, double limit_s, Clock::time_point start, Result &result) {
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    struct pollfd ready = {handle, POLLIN, 0};
    result.hung = poll(&ready, 1, static_cast<int>(limit_s * 1000)) == 0;
    close(handle);
    if (result.hung)
        kill(-pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    result.elapsed_ms = seconds_since(start) * 1000;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (result.hung)
        for (pid_t left : children())
            kill(left, SIGKILL);
}

// ---- what can be seen ----

std::string described(const fs::path &path) {
    struct stat status;
    if (lstat(path.c_str(), &status))
        return "gone";
    std::ostringstream line;
    line << std::oct << status.st_mode << std::dec << " links " << (S_ISDIR(status.st_mode) ? 0 : status.st_nlink)
         << " size " << (S_ISDIR(status.st_mode) ? 0 : status.st_size);
    if (S_ISLNK(status.st_mode))
        line << " to " << fs::read_symlink(path).string();
    if (S_ISREG(status.st_mode)) {
        const std::string bytes = read_file(path);
        line << " bytes " << std::hash<std::string>{}(bytes) << " \"";
        for (char c : bytes.substr(0, 24))
            line << (isprint(static_cast<unsigned char>(c)) ? c : '.');
        line << '"';
    }
    return line.str();
}

void add_files(const fs::path &folder, const std::string &prefix, std::map<std::string, std::string> &found) {
    for (const auto &entry : fs::directory_iterator(folder)) {
        const std::string name = prefix + entry.path().filename().string();
        found[name] = described(entry.path());
        if (fs::is_directory(entry.symlink_status()))
            add_files(entry.path(), name + "/", found);
    }
}

bool is_own_line(Way way, const std::string &line) {
    return line.rfind("tributary: ", 0) == 0 || (way == Way::Recorded && line.rfind("trib: ", 0) == 0);
}

void split(Way way, const std::string &text, Result &result) {
    size_t at = 0;
    while (at < text.size()) {
        const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        const std::string line = text.substr(at, end - at);
        const bool own = way != Way::Plain && is_own_line(way, line);
        (own ? result.own : result.err) += line;
        result.own_lines += own && line.rfind("tributary: ", 0) == 0;
        at = end;
    }
}

std::string differences(const Result &plain, const Result &hooked) {
    std::string text;
    std::set<std::string> names;
    for (const auto &[name, what] : plain.files)
        names.insert(name);
    for (const auto &[name, what] : hooked.files)
        names.insert(name);
    int count = 0;
    for (const std::string &name : names) {
        const auto one = plain.files.find(name), two = hooked.files.find(name);
        const std::string before = one == plain.files.end() ? "absent" : one->second;
        const std::string after = two == hooked.files.end() ? "absent" : two->second;
        if (before != after && count++ < 8)
            text += name + ": " + before + " -> " + after + "\n";
    }
    return count > 8 ? text + "and " + std::to_string(count - 8) + " more\n" : text;
}

// ---- the record ----

void add_summary(const std::string &path, Result &result) {
    const nlohmann::json said = nlohmann::json::parse(read_file(path), nullptr, false);
    if (!said.is_object())
        return;
    result.processes = said.value("processes", 0);
    result.recorded_bytes = said.value("written_bytes", uint64_t{0}) - said.value("bytes_lost", uint64_t{0});
}

// A busy machine may let a join time out, and what a process writes without a daemon is lost: not every time.
void check_recorded(const Command &command, uint64_t recorded_bytes) {
    for (int i = 1; i < kRecordings && recorded_bytes < command.recorded_at_least_bytes; i++)
        recorded_bytes = run_once(Way::Recorded, command).recorded_bytes;
    CHECK(recorded_bytes >= command.recorded_at_least_bytes);
}

// ---- time ----

// `trib record` ends with the last process that its command left behind.
double plain_time_ms(Way way, const Result &plain) {
    return way == Way::Recorded ? plain.tree_ms : plain.elapsed_ms;
}

// The best of several runs of each kind, taken in turn: what else runs on the machine slows them alike.
struct Times {
    double plain_ms = 1e9, hooked_ms = 1e9;
    double least_ms = 1e9, least_hooked_ms = 1e9; // a program that writes once, for which a daemon starts all the same
    void add(Way way, const Command &command) {
        const Command least{{program("alone"), "threads"}};
        plain_ms = std::min(plain_ms, plain_time_ms(way, run_once(Way::Plain, command)));
        hooked_ms = std::min(hooked_ms, run_once(way, command).elapsed_ms);
        least_ms = std::min(least_ms, run_once(Way::Plain, least).elapsed_ms);
        least_hooked_ms = std::min(least_hooked_ms, run_once(way, least).elapsed_ms);
    }
    // A machine with more to do than it has processors makes everything of ours slower by as much.
    double limit_ms(Way way, const Joins &joins) const {
        double load = 0;
        getloadavg(&load, 1);
        const double busy = std::max(1.0, load / std::thread::hardware_concurrency());
        const int joining = way == Way::Preloaded && joins.preloaded ? joins.preloaded : joins.recorded;
        const double allowance_ms = kAllowance_ms + (joining - 1) * kJoining_ms;
        return 2 * plain_ms + allowance_ms * busy + std::max(0.0, least_hooked_ms - least_ms);
    }
};

// More runs until it is quick enough: a busy machine makes single runs slow, not all of them.
void check_time(Way way, const Command &command, double plain_ms, double hooked_ms) {
    if (hooked_ms <= 2 * plain_ms + kAllowance_ms)
        return;
    const auto start = Clock::now();
    Times times;
    const auto is_late = [&] { return times.hooked_ms > times.limit_ms(way, command.joins); };
    for (int i = 0; i < kRounds && (i == 0 || is_late()) && seconds_since(start) < 20; i++)
        times.add(way, command);
    INFO("best times: " << times.plain_ms << " ms without, " << times.hooked_ms << " ms with; of one write "
                        << times.least_ms << " ms and " << times.least_hooked_ms << " ms");
    CHECK(times.hooked_ms <= times.limit_ms(way, command.joins));
}

} // namespace

uint64_t Record::bytes(const std::string &name) const {
    uint64_t sum = 0;
    const auto found = writes.find(name);
    if (found != writes.end())
        for (const auto &[offset, length] : found->second)
            sum += length;
    return sum;
}

bool Record::once(const std::string &name, uint64_t count, uint64_t bytes_each) const {
    const auto found = writes.find(name);
    if (found == writes.end() || found->second.size() != count)
        return false;
    Writes sorted = found->second;
    std::sort(sorted.begin(), sorted.end());
    for (uint64_t i = 0; i < count; i++)
        if (sorted[i] != std::make_pair(i * bytes_each, bytes_each))
            return false;
    return true;
}

std::string program(const std::string &name) {
    return std::string(TRIB_HAZARD_PROGRAMS) + "/hazard_" + name;
}

std::string library() {
    return TRIB_HAZARD_LIBRARY;
}

std::vector<std::string> hooked_environment(Way way, const std::string &trace, const std::string &folder) {
    std::vector<std::string> variables = {"PATH=" TRIB_BINARY_DIR "/cli:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                                          "HOME=" + folder, "LC_ALL=C", "XDG_RUNTIME_DIR=" + folder};
    if (way == Way::Preloaded) {
        variables.push_back("LD_PRELOAD=" + library());
        variables.push_back("TRIBUTARY=policy=pcstream,trace=" + trace);
    }
    return variables;
}

Way way_of(Way asked) {
    return getenv("TRIB_HAZARD_CONTROL") ? Way::Plain : asked;
}

Result run_once(Way way, const Command &command, const std::string &trace) {
    way = way_of(way);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    Place place;
    const std::string kept = trace.empty() ? place.folder / "trace" : trace, summary = place.folder / "summary";
    std::vector<std::string> arguments = command.arguments;
    std::vector<std::string> environment = hooked_environment(way, kept, place.runtime);
    environment.insert(environment.end(), command.environment.begin(), command.environment.end());
    if (way == Way::Recorded) {
        const std::vector<std::string> before = {
            TRIB_BINARY_DIR "/cli/trib", "record", "--trace", kept, "--json", summary, "--"};
        arguments.insert(arguments.begin(), before.begin(), before.end());
    }
    if (command.prepare)
        command.prepare(place.start);
    const struct rlimit descriptors = descriptors_within(command.descriptors_max);
    Result result;
    const auto start = Clock::now();
    const pid_t pid = fork();
    if (pid == 0)
        become(arguments, environment, descriptors, place);
    wait_for(pid, command.limit_s, start, result);
    drain(command.limit_s);
    result.tree_ms = seconds_since(start) * 1000;
    result.out = read_file(place.out);
    split(way, read_file(place.err), result);
    add_files(place.start, "", result.files);
    add_summary(summary, result);
    return result;
}

Record read_record(const std::string &trace) {
    Record record;
    Folder folder;
    const std::string line = std::string(TRIB_BINARY_DIR) + "/cli/trib inspect --events --json '" + trace + "' >'" +
                             (folder / "out") + "' 2>/dev/null";
    record.there = std::system(line.c_str()) == 0;
    std::ifstream in(folder / "out");
    std::map<std::string, std::string> names;
    for (std::string text; std::getline(in, text);) {
        const nlohmann::json item = nlohmann::json::parse(text, nullptr, false);
        if (item.is_discarded() || !item.contains("file"))
            continue;
        const std::string file = item["file"];
        if (item["item"] == "name") {
            const std::string path = item["path"];
            names[file] = path.substr(path.rfind('/') + 1);
            record.names.insert(names[file]);
        } else if (item.value("kind", "") == "write") {
            const std::string name = names.count(file) ? names[file] : "?";
            record.writes[name].emplace_back(item["offset_bytes"], item["length_bytes"]);
        }
    }
    return record;
}

bool is_installed(const std::string &program) {
    return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

void same(Way way, const Command &command) {
    const Result plain = run_once(Way::Plain, command);
    if (plain.status == 77)
        return skip(plain.out);
    INFO("without the library: status " << plain.status << ", " << plain.out << plain.err);
    REQUIRE_FALSE(plain.hung);
    const Result hooked = run_once(way, command);
    INFO("with it: status " << hooked.status << ", said " << hooked.own);
    CHECK_FALSE(hooked.hung);
    CHECK(hooked.status == plain.status);
    CHECK(hooked.out == plain.out);
    CHECK(hooked.err == plain.err);
    CHECK(hooked.own_lines <= command.own_lines_max);
    CHECK(differences(plain, hooked) == "");
    if (way == Way::Recorded)
        check_recorded(command, hooked.recorded_bytes);
    if (command.timed && !hooked.hung)
        check_time(way, command, plain_time_ms(way, plain), hooked.elapsed_ms);
}

} // namespace trib_hazard
