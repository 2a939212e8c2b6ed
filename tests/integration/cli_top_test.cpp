// SPDX-License-Identifier: Apache-2.0
// `trib top` and the tables of `trib status --json`, on a real daemon with a real hooked writer: as text, and in a
// pseudo-terminal.
#include <pty.h>
#include <sys/ioctl.h>

#include <map>

#include "support/client.hpp"
#include "support/daemon.hpp"
#include "support/skip.hpp"

using namespace trib_test;

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
TEST_CASE("tables of a running daemon") {
    skip("a sanitizer's runtime has to come before every preloaded library");
}
#else

namespace {

// Two call paths of one process: printf into one file over and over (it dies), and echo into one that grows.
std::string script(const Folder &folder) {
    const std::string f = folder / "";
    return "exec 3>" + f + "grows; i=0; while [ $i -lt 3000 ]; do i=$((i+1)); printf %4096d $i >" + f +
           "again; echo $i-------- >&3; done; printf done >" + f + "done; sleep 60";
}

std::string top(const Daemon &daemon) {
    const Outcome outcome = trib({"top", daemon.socket(), "--once"});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return outcome.out;
}

bool has_written(const Daemon &daemon) {
    return access((daemon.folder() / "done").c_str(), F_OK) == 0 && daemon.status()["clock_bytes"] > 3000 * 4096;
}

// A terminal of 30 lines, 90 columns, with `trib top` in it, and what it shows. A VT52: eight sequences are all it
// knows.
class Terminal {
  public:
    explicit Terminal(const std::string &socket) : screen_(30, std::string(90, ' ')) {
        winsize size = {30, 90, 0, 0};
        pid_ = forkpty(&fd_, nullptr, nullptr, &size);
        if (pid_ == 0) {
            setenv("TERM", "vt52", 1);
            execl(TRIB_BINARY_DIR "/cli/trib", "trib", "top", socket.c_str(), "--interval", "0.3", nullptr);
            _exit(127);
        }
        fcntl(fd_, F_SETFL, O_NONBLOCK);
    }
    ~Terminal() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
        close(fd_);
    }
    Terminal(const Terminal &) = delete;
    Terminal &operator=(const Terminal &) = delete;

    void type(char key) {
        REQUIRE(write(fd_, &key, 1) == 1);
    }
    bool shows(const std::string &text) {
        return comes_true([&] { return has(now(), text); });
    }
    std::string now() {
        char part[4096];
        for (ssize_t got; (got = read(fd_, part, sizeof part)) > 0;)
            unread_.append(part, static_cast<size_t>(got));
        while (!unread_.empty() && take_one())
            ;
        std::string text;
        for (const std::string &line : screen_)
            text += line + "\n";
        return text;
    }
    int exit_status() {
        int status = -1;
        comes_true([&] {
            (void)now();
            return waitpid(pid_, &status, WNOHANG) == pid_;
        });
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    void clear_line(size_t line, size_t from) {
        screen_[line].replace(from, std::string::npos, 90 - from, ' ');
    }
    void obey(char sequence) {
        line_ -= sequence == 'A' && line_ > 0;
        line_ += sequence == 'B' && line_ < 29;
        column_ += sequence == 'C' && column_ < 89;
        column_ -= sequence == 'D' && column_ > 0;
        if (sequence == 'H')
            line_ = column_ = 0;
        if (sequence == 'J' || sequence == 'K')
            clear_line(line_, column_);
        for (size_t line = line_ + 1; sequence == 'J' && line < 30; line++)
            clear_line(line, 0);
    }
    void print(char c) {
        if (c == '\r')
            column_ = 0;
        else if (c == '\n')
            line_ += line_ < 29;
        else if (c == '\b')
            column_ -= column_ > 0;
        else if (c == '\t')
            column_ = std::min<size_t>(column_ / 8 * 8 + 8, 89);
        else if (c >= ' ') {
            screen_[line_][column_] = c;
            column_ += column_ < 89;
        }
    }
    // False: the rest of a sequence is still to come.
    bool take_one() {
        const bool is_sequence = unread_[0] == '\033', is_move = is_sequence && unread_.size() > 1 && unread_[1] == 'Y';
        const size_t bytes = is_move ? 4 : is_sequence ? 2 : 1;
        if (unread_.size() < bytes)
            return false;
        if (is_move) {
            line_ = std::min<size_t>(static_cast<unsigned char>(unread_[2]) - ' ', 29);
            column_ = std::min<size_t>(static_cast<unsigned char>(unread_[3]) - ' ', 89);
        } else if (is_sequence)
            obey(unread_[1]);
        else
            print(unread_[0]);
        unread_.erase(0, bytes);
        return true;
    }
    int fd_ = -1;
    pid_t pid_ = -1;
    std::string unread_;
    std::vector<std::string> screen_;
    size_t line_ = 0, column_ = 0;
};

// Which of some words a text has, in its order.
std::vector<std::string> order_of(const std::string &text, const std::vector<std::string> &words) {
    std::map<size_t, std::string> found;
    for (const std::string &word : words)
        if (has(text, word))
            found[text.find(word)] = word;
    std::vector<std::string> order;
    for (const auto &[at, word] : found)
        order.push_back(word);
    return order;
}

} // namespace

TEST_CASE("top prints who writes, where it goes and who has joined") {
    Daemon daemon({"--policy", "pcstream", "--set", "capacity=64M,superblock=256K"});
    Recorded writer(daemon, script(daemon.folder()));
    REQUIRE(comes_true([&] { return has_written(daemon); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(600)); // tables are at most half a second old
    const Json status = daemon.status();
    REQUIRE(status["paths"].size() >= 2);
    const Json &first = status["paths"][0];
    CHECK(first["written_bytes"] == 3000 * 4096);
    CHECK(first["lifetime_bytes"] > 4096); // until the shell truncates it: its own bytes and what echo wrote meanwhile
    CHECK(first["lifetime_bytes"] < 3 * 4096);
    CHECK(first["frames"].size() >= 1);
    CHECK(status["paths"][1]["written_bytes"] > 20000);
    CHECK(status["paths"][1]["lifetime_bytes"] == 0); // nothing of it has died
    CHECK(status["paths_total"] == status["paths"].size());
    uint64_t pages = 0;
    for (const Json &stream : status["streams"])
        pages += stream["host_pages"].get<uint64_t>();
    CHECK(pages == status["host_pages"]);
    CHECK(pages > 0);
    REQUIRE(status["producers"].size() == 1);
    CHECK(status["producers"][0]["pid"] == writer.pid());
    CHECK(status["producers"][0]["events_dropped"] == status["events_dropped"]);
    CHECK(status["producers"][0]["bytes"] == status["clock_bytes"]);

    const std::string text = top(daemon);
    INFO(text);
    CHECK(widest_line(text) <= 80);
    CHECK(has(text, "placement placed (emulated"));
    CHECK(has(text, "under policy pcstream"));
    CHECK(has(text, "CALL PATHS  "));
    CHECK(has(text, "11.7 MiB"));
    CHECK(has(text, "STREAMS  "));
    CHECK(has(text, "PROCESSES  1 of 1 joined now"));
    CHECK(has(text, std::to_string(writer.pid()) + " "));
}

TEST_CASE("losses, uncovered programs, pauses and the level of placement are seen from outside") {
    Daemon daemon({"--drive", "none", "--set", "process-ring=1024"});
    Recorded writer(daemon, script(daemon.folder()) + "& env -i /bin/true; wait");
    REQUIRE(comes_true([&] { return daemon.status()["starts_uncovered"] == 1; }));
    REQUIRE(trib({"daemon", "pause", daemon.socket()}).code == 0);
    CHECK(daemon.status()["paused"] == 1);
    const std::string text = top(daemon);
    INFO(text);
    CHECK(has(text, "PAUSED"));
    CHECK(has(text, "placement none (no drive: streams are"));
    CHECK(has(text, "uncovered 1 start: "));
    CHECK(has(text, "true (cleared environment)"));
    CHECK(has(trib({"status", daemon.socket()}).out, ", paused"));
    REQUIRE(trib({"daemon", "resume", daemon.socket()}).code == 0);
    CHECK_FALSE(has(top(daemon), "PAUSED"));
}

TEST_CASE("names that a program chose cannot steer the terminal") {
    Daemon daemon({"--drive", "none"});
    const std::string odd = daemon.folder() / "a\033[31mb";
    REQUIRE(run({"cp", "/bin/sh", odd}).code == 0);
    REQUIRE(run({odd, "-c", "echo x >" + (daemon.folder() / "f")},
                {{"LD_PRELOAD", TRIB_BINARY_DIR "/preload/libtributary-preload.so"},
                 {"TRIBUTARY_SESSION", daemon.socket()}})
                .code == 0);
    Recorded writer(daemon, "'" + odd + "' -c 'echo x >" + (daemon.folder() / "g") + "; sleep 60'");
    REQUIRE(comes_true([&] { return has(top(daemon), "a?[31mb"); }));
    CHECK_FALSE(has(top(daemon), "\033"));
}

TEST_CASE("in a terminal top sorts its rows by each key, redraws and ends with q") {
    Daemon daemon({"--policy", "manual", "--set", "map=hint,capacity=64M,superblock=256K"});
    trib_client *client = join(daemon.socket());
    trib_client *another = join(daemon.socket());
    REQUIRE((client && another));
    // Three call paths whose order is another one by each key: of the first nothing dies, of the last nearly all.
    trib_event event{};
    const auto submit = [&](uint64_t path, trib_event_kind kind, unsigned blocks, uint8_t hint) {
        event.kind = kind;
        event.file = path;
        event.length_bytes = blocks * uint64_t{4096};
        event.stream = TRIB_STREAM_UNDECIDED;
        event.who.signature = path;
        event.who.write_hint = hint;
        REQUIRE(trib_client_submit(path == 0xb2 ? another : client, &event));
    };
    submit(0xb2, TRIB_EVENT_WRITE, 200, TRIB_HINT_LONG);
    REQUIRE(comes_true([&] { return daemon.status()["events"] == 1; })); // before what the other client writes
    submit(0xa1, TRIB_EVENT_WRITE, 300, TRIB_HINT_MEDIUM);
    submit(0xc3, TRIB_EVENT_WRITE, 100, TRIB_HINT_SHORT);
    submit(0xc3, TRIB_EVENT_DEATH, 90, TRIB_HINT_SHORT);
    submit(0xb2, TRIB_EVENT_DEATH, 100, TRIB_HINT_LONG);
    const std::vector<std::string> paths = {"00000000000000a1", "00000000000000b2", "00000000000000c3"};
    const std::string &a = paths[0], &b = paths[1], &c = paths[2];
    const std::vector<std::string> streams = {"\nS1 ", "\nS2 ", "\nS3 "};

    Terminal terminal(daemon.socket());
    REQUIRE(terminal.shows("arrows scroll"));
    const auto comes_in_order = [&](const std::string &key, const std::vector<std::string> &wanted) {
        const bool came = terminal.shows("CALL PATHS  3 of 3, by " + key + " ") &&
                          comes_true([&] { return order_of(terminal.now(), paths) == wanted; }, 3000);
        INFO(terminal.now());
        CHECK(came);
        CHECK(order_of(terminal.now(), streams) == streams); // by number, whatever the key
    };
    comes_in_order("bytes", {a, b, c});
    terminal.type('l');
    comes_in_order("lifetime", {b, c, a});
    terminal.type('s');
    comes_in_order("stream", {c, a, b});
    terminal.type('b');
    comes_in_order("bytes", {a, b, c});
    submit(0xc3, TRIB_EVENT_WRITE, 500, TRIB_HINT_SHORT); // now it has written most
    comes_in_order("bytes", {c, a, b});
    terminal.type('q');
    CHECK(terminal.exit_status() == 0);
    trib_client_close(client);
    trib_client_close(another);
}

TEST_CASE("top outlives its daemon and says that nobody answers") {
    Daemon daemon({"--drive", "none"});
    Terminal terminal(daemon.socket());
    REQUIRE(terminal.shows("by bytes"));
    CHECK(daemon.stop() == 0);
    CHECK(terminal.shows("no daemon answers"));
    terminal.type('q');
    CHECK(terminal.exit_status() == 0);
    check_refusal(trib({"top", daemon.socket()}), 1);
    check_refusal(trib({"top", "--interval", "0"}), 2);
}

#endif

TEST_CASE("a full drive is seen, and what to do about it") {
    Folder folder;
    const Daemon daemon({"--policy", "none", "--drive", "emulated,capacity=1G"});
    trib_client *client = join(daemon.socket());
    REQUIRE(client != nullptr);
    trib_event event{};
    event.kind = TRIB_EVENT_WRITE;
    event.file = 1;
    event.length_bytes = 64 << 20;
    event.stream = TRIB_STREAM_UNDECIDED;
    for (unsigned i = 0; i < 30; i++, event.offset_bytes += event.length_bytes)
        CHECK(trib_client_submit(client, &event));
    CHECK(comes_true([&] {
        return trib({"status", daemon.socket()}).out.find("the emulated drive is full, raise capacity=") !=
               std::string::npos;
    }));
    CHECK(trib({"top", "--once", daemon.socket()}).out.find("the emulated drive is full, raise capacity=") !=
          std::string::npos);
    trib_client_close(client);
}

TEST_CASE("of a status that does not fit the smallest rows are left out, and who lost events stays") {
    constexpr unsigned kPaths = 64;
    const Daemon daemon({"--policy", "none", "--drive", "none"});
    trib_client *client = join(daemon.socket());
    REQUIRE(client != nullptr);
    const uint64_t module =
        trib_test_put_module(client, std::string(250, '"').c_str(), true); // twice as long when said
    for (uint64_t i = 1; i <= kPaths; i++) {
        trib_event event{};
        event.kind = TRIB_EVENT_WRITE;
        event.file = i;
        event.length_bytes = i * 1000;
        event.stream = TRIB_STREAM_UNDECIDED;
        event.who.signature = 1000 + i;
        REQUIRE(trib_test_put_deep_signature(client, event.who.signature, module, TRIB_STATUS_FRAMES_MAX));
        REQUIRE(trib_client_submit(client, &event));
    }
    trib_test_claim_drops(client, 5, 500);
    REQUIRE(
        comes_true([&] { return daemon.status()["events"] == kPaths && daemon.status()["paths_total"] == kPaths; }));
    const Json status = daemon.status();
    const size_t shown = status["paths"].size();
    CHECK(shown < kPaths);
    REQUIRE(shown >= kPaths / 4);
    for (size_t i = 0; i < shown; i++)
        CHECK(status["paths"][i]["written_bytes"] == (kPaths - i) * 1000);
    CHECK(status["paths"][0]["frames"].size() == TRIB_STATUS_FRAMES_MAX);
    REQUIRE(status["producers"].size() == 1);
    CHECK(status["producers"][0]["events_dropped"] == 5);
    trib_client_close(client);
}
