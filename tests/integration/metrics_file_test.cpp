// SPDX-License-Identifier: Apache-2.0
// Metrics of a daemon: the text on its socket and the file for node_exporter, both parsed by their formats' rules.
#include <filesystem>
#include <regex>
#include <set>
#include <sys/stat.h>

#include "support/daemon.hpp"
#include "support/skip.hpp"

using namespace trib_test;

namespace {

// Families by name, values by sample; a line that the format does not have is a failure.
struct Metrics {
    std::map<std::string, std::string> types;
    std::map<std::string, double> samples;
};

bool belongs(const std::string &name, const Metrics &metrics, bool is_openmetrics) {
    for (const auto &[family, type] : metrics.types) {
        const bool is_suffixed = is_openmetrics && (type == "counter" || type == "info");
        if (name == family + (!is_suffixed ? "" : type == "counter" ? "_total" : "_info"))
            return true;
    }
    return false;
}

Metrics parse(const std::string &text, bool is_openmetrics, const std::string &daemon) {
    static const std::regex sample(
        "([a-zA-Z_:][a-zA-Z0-9_:]*)(\\{([a-z_]+=\"([^\"\\\\]|\\\\[\\\\\"n])*\"(,|(?=\\})))*\\})? "
        "([-+0-9.eE]+|NaN)");
    static const std::regex type("# TYPE ([a-z_:][a-z0-9_:]*) (counter|gauge|info)");
    static const std::regex help("# HELP ([a-z_:][a-z0-9_:]*) [^\n]+");
    Metrics metrics;
    std::smatch match;
    bool has_end = false;
    for (const std::string &line : lines_of(text)) {
        INFO(line);
        REQUIRE_FALSE(has_end); // nothing may follow
        if (line == "# EOF") {
            has_end = true;
        } else if (std::regex_match(line, match, type)) {
            CHECK(metrics.types.emplace(match[1], match[2]).second); // once
            CHECK((is_openmetrics || match[2] != "info"));           // node_exporter refuses the whole file
        } else if (!std::regex_match(line, help)) {
            REQUIRE(std::regex_match(line, match, sample));
            CHECK(belongs(match[1], metrics, is_openmetrics));
            REQUIRE(has(match[2], "{daemon=\"" + daemon + "\"")); // of one folder's files no two samples are the same
            const std::string labels = std::regex_replace(match[2].str(), std::regex("daemon=\"[^\"]*\",?"), "");
            CHECK(metrics.samples.emplace(match[1].str() + (labels == "{}" ? "" : labels), std::stod(match[6])).second);
        }
    }
    CHECK(has_end == is_openmetrics);
    CHECK((text.empty() || text.back() == '\n'));
    return metrics;
}

// A write(2) of 8192 bytes by this very process needs no hooked program: the client library tells the daemon.
std::string file_of(const Folder &folder) {
    return folder / "tributary.prom";
}

} // namespace

TEST_CASE("the text on the socket is OpenMetrics, and says what the JSON says") {
    Daemon daemon({"--drive", "emulated", "--set", "capacity=64M,superblock=256K"});
    const Metrics metrics = parse(trib({"status", daemon.socket(), "--openmetrics"}).out, true, daemon.socket());
    const Json json = daemon.status();
    unsigned compared = 0;
    for (const auto &[key, value] : json.items())
        if (value.is_number() && key != "uptime_seconds" && key.find("_total") == std::string::npos) {
            INFO(key);
            const bool is_counter = metrics.types.at("tributary_" + key) == "counter";
            CHECK(metrics.samples.at("tributary_" + key + (is_counter ? "_total" : "")) == value.get<double>());
            compared++;
        }
    CHECK(compared > 20);
}

TEST_CASE("the file is written whole, anew, readable by a collector, and a last time at the end") {
    Folder folder;
    const std::string file = file_of(folder);
    Daemon daemon({"--drive", "none", "--set", "metrics-every=1,metrics-file=" + file});
    REQUIRE(comes_true([&] { return access(file.c_str(), R_OK) == 0; }));
    struct stat first = {}, second = {};
    REQUIRE(stat(file.c_str(), &first) == 0);
    CHECK((first.st_mode & 07777) == 0644);
    const Metrics metrics = parse(read_file(file), false, daemon.socket());
    CHECK(metrics.types.at("tributary_events_total") == "counter");
    CHECK(metrics.samples.at("tributary_drive_info{drive=\"none\"}") == 1);
    CHECK(comes_true([&] { return stat(file.c_str(), &second) == 0 && second.st_ino != first.st_ino; }));
    REQUIRE(trib({"daemon", "pause", daemon.socket()}).code == 0);
    CHECK(daemon.stop() == 0);
    CHECK(parse(read_file(file), false, daemon.socket()).samples.at("tributary_paused") ==
          1); // at most a moment old: of the end
    CHECK(access((file + ".part").c_str(), F_OK) != 0);
}

TEST_CASE("a daemon's metrics bear its name, or its socket's path where it has another address") {
    if (geteuid() != 0 || run({"unshare", "-m", "mount", "-t", "tmpfs", "none", "/run"}).code != 0)
        return skip("needs root and a mount namespace");
    Folder folder;
    const auto metrics_of = [&](const std::string &options) {
        return run({"unshare", "-m", "sh", "-c",
                    "mount -t tmpfs none /run; PATH=$PATH:" TRIB_BINARY_DIR "/cli; trib daemon " + options +
                        " --drive none --set metrics-every=1,metrics-file=" + (folder / "m.prom") + " 2>" +
                        (folder / "err") + " & until grep daemon= " + (folder / "m.prom") +
                        " >/dev/null 2>&1; do sleep 0.1; done; kill $!; wait $!; cat " + (folder / "m.prom") + "; rm " +
                        (folder / "m.prom")})
            .out;
    };
    CHECK_FALSE(parse(metrics_of("one"), false, "one").samples.empty());
    CHECK_FALSE(
        parse(metrics_of("one --address /run/tributary-two.sock"), false, "/run/tributary-two.sock").samples.empty());
}

TEST_CASE("a folder that is not there costs one line and a counter, and the daemon goes on") {
    Folder folder;
    const std::string file = folder / "later/tributary.prom";
    Daemon daemon({"--drive", "none", "--set", "metrics-every=1,metrics-file=" + file});
    REQUIRE(comes_true([&] { return daemon.status()["metrics_errors"] >= 2; }));
    const std::string err = daemon.err();
    INFO(err);
    CHECK(has(err, "metrics-file " + file + ": No such file or directory; tried again every 1 s"));
    CHECK(err.find("metrics-file") == err.rfind("metrics-file " + file)); // one line for all failures
    std::filesystem::create_directory(folder / "later");
    CHECK(comes_true([&] { return access(file.c_str(), R_OK) == 0; }));
    CHECK(comes_true([&] { return has(daemon.err(), "is written again"); }));
    CHECK(daemon.stop() == 0);
}

TEST_CASE("a full disk leaves the last whole version") {
    if (!is_root_or_skips("nothing can be mounted"))
        return;
    Folder folder;
    REQUIRE(run({"mkdir", folder / "small"}).code == 0);
    if (run({"mount", "-t", "tmpfs", "-o", "size=16k", "none", folder / "small"}).code != 0)
        return skip("no right to mount here");
    {
        const std::string file = folder / "small/tributary.prom";
        Daemon daemon({"--drive", "none", "--set", "metrics-every=1,metrics-file=" + file});
        CHECK(comes_true([&] { return access(file.c_str(), R_OK) == 0; }));
        (void)run({"dd", "if=/dev/zero", "of=" + (folder / "small/filler"), "bs=4096"});
        CHECK(comes_true([&] { return daemon.status()["metrics_errors"] >= 1; }));
        CHECK(has(daemon.err(), "No space left on device"));
        parse(read_file(file), false, daemon.socket());
        CHECK(access((file + ".part").c_str(), F_OK) != 0);
        CHECK(daemon.stop() == 0);
    }
    CHECK(run({"umount", folder / "small"}).code == 0);
}

TEST_CASE("nobody's file is followed, and a name that no collector reads is refused") {
    Folder folder;
    const std::string file = file_of(folder), victim = folder / "victim";
    REQUIRE(run({"sh", "-c",
                 "echo precious >" + victim + "; ln -s " + victim + " " + file + ".part; ln -s " + victim + " " + file})
                .code == 0);
    {
        Daemon daemon({"--drive", "none", "--set", "metrics-every=1,metrics-file=" + file});
        CHECK(comes_true([&] { return !std::filesystem::is_symlink(file) && access(file.c_str(), R_OK) == 0; }));
    }
    CHECK(read_file(victim) == "precious\n");
    for (const char *name : {"/tmp/metrics", "relative.prom"})
        check_refusal(trib({"daemon", folder / "s", "--drive", "none", "--set", std::string("metrics-file=") + name}),
                      2);
}
