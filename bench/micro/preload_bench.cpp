// SPDX-License-Identifier: Apache-2.0
// What the preload adapter adds to a 4-KiB write of an unmodified program: interposition, capture of the call path, and
// the event into a session's ring, with a recorder that writes a trace beside it. The program runs itself with and
// without the library, in turn; medians of batches, and of seven pairs. The bar: 150 ns for pwrite.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <tributary/pipeline.h>

#include "support/measure.hpp"

namespace {

using namespace trib_bench;

constexpr unsigned kBatch = 32;
constexpr unsigned kBatches = 1500;
constexpr unsigned kPairs = 7;
alignas(4096) char page[4096];

// ---- the program that knows nothing of it ----

struct Target {
    int fd;
    FILE *stream;
    unsigned count;
};

void Rewind(Target &target) {
    if (++target.count % 256 == 0) // the same 1 MiB over and over: no page is new
        lseek(target.fd, 0, SEEK_SET);
}
void Positioned(Target &target) {
    if (pwrite(target.fd, page, sizeof page, target.count++ % 256 * 4096) < 0)
        abort();
}
void Plain(Target &target) {
    Rewind(target);
    if (write(target.fd, page, sizeof page) < 0)
        abort();
}
void Stdio(Target &target) {
    Rewind(target);
    if (fwrite(page, 1, sizeof page, target.stream) != sizeof page || fflush(target.stream))
        abort();
}

double Median(const std::vector<double> &values) {
    return Percentile(values, 0.5);
}

template <int Depth> [[gnu::noinline]] void Deep(void (*call)(Target &), Target &target) {
    volatile char frame[16 + Depth % 5 * 16];
    frame[0] = static_cast<char>(Depth);
    if constexpr (Depth == 0)
        call(target);
    else
        Deep<Depth - 1>(call, target);
    frame[1] = frame[0];
}

double MedianNanoseconds(void (*call)(Target &), Target &target) {
    unsigned batch = 0;
    return Median(NanosecondsPerCall(
        kBatches, kBatch, [&] { Deep<14>(call, target); },
        [&] {
            if (++batch % 32 == 0)
                usleep(20000); // the ring must not fill: a drop is cheaper than a write
        }));
}

int Measure(const std::string &kind, const char *path) {
    const int access = kind == "write_only" ? O_WRONLY : O_RDWR;
    Target target = {-1, nullptr, 0};
    if (kind == "stdio")
        target.stream = fopen(path, "w");
    target.fd = target.stream ? fileno(target.stream) : open(path, access | O_CREAT, 0600);
    if (kind == "write_shared")
        target.fd = dup(target.fd);
    const auto call = kind == "pwrite" ? Positioned : kind == "stdio" ? Stdio : Plain;
    if (target.fd < 0)
        return 1;
    Deep<14>(call, target);
    printf("%.2f\n", MedianNanoseconds(call, target));
    return 0;
}

// ---- with and without ----

double Run(const std::string &self, const std::string &kind, const std::string &file, const std::string &session) {
    std::string command;
    if (!session.empty())
        command = "LD_PRELOAD='" PRELOAD_LIBRARY "' TRIBUTARY_SESSION='" + session + "' ";
    command += "'" + self + "' " + kind + " '" + file + "'";
    FILE *pipe = popen(command.c_str(), "r");
    double nanoseconds = 0;
    if (!pipe || fscanf(pipe, "%lf", &nanoseconds) != 1 || pclose(pipe) != 0)
        abort();
    return nanoseconds;
}

void Compare(const std::string &self, const std::string &kind, const std::string &folder, const std::string &session) {
    std::vector<double> without, with, extra;
    for (unsigned pair = 0; pair < kPairs; pair++) {
        without.push_back(Run(self, kind, folder + "/data", ""));
        with.push_back(Run(self, kind, folder + "/data", session));
        extra.push_back(with.back() - without.back());
    }
    char note[160];
    snprintf(note, sizeof note, "extra per 4-KiB call, session and trace; %.1f without, %.1f with, %u pairs",
             Median(without), Median(with), kPairs);
    Print("preload_" + (kind == "pwrite" ? "write" : kind) + "_ns", Median(extra), "ns", kBatches * kPairs, note);
}

} // namespace

int main(int count, char **arguments) {
    if (count == 3)
        return Measure(arguments[1], arguments[2]);
    char folder[] = "/tmp/tributary-XXXXXX";
    trib_pipeline *recorder = nullptr;
    trib_error error{};
    if (!mkdtemp(folder))
        return 1;
    const std::string path = folder, session = path + "/session";
    const std::string options = "session=" + session + ",trace=" + path + "/trace";
    if (trib_pipeline_open(&recorder, options.c_str(), true, &error)) {
        fprintf(stderr, "preload_bench: %s\n", error.text);
        return 1;
    }
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    for (const char *kind : {"pwrite", "write_only", "write_shared", "stdio"})
        Compare(self, kind, path, session);
    trib_status status{};
    trib_pipeline_status(recorder, &status);
    if (status.events_dropped)
        fprintf(stderr, "preload_bench: %llu events were dropped: too fast\n",
                static_cast<unsigned long long>(status.events_dropped));
    trib_pipeline_close(recorder);
    std::filesystem::remove_all(path);
    return 0;
}
