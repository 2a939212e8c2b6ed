// SPDX-License-Identifier: Apache-2.0
#include "source/experiment_files.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

#include "common/failure.h"
#include "source/experiment.h"

namespace cli {

namespace fs = std::filesystem;

namespace {

bool is_workload(const fs::path &path) {
    if (!is_experiment(path.string()) || !fs::is_regular_file(path))
        return false;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);)
        if (line.rfind("[workload]", 0) == 0 || line.rfind("[trace]", 0) == 0)
            return true;
    return false;
}

// Large traces need not be kept with the sources: who wants them records them (bench/loads/record).
bool has_its_trace(const std::string &path) {
    Experiment experiment = load_experiment(path);
    if (experiment.trace.empty() || fs::exists(experiment.trace))
        return true;
    fmt::print(stderr, "trib: {0} left out: its trace is not recorded yet; bench/loads/record {0}\n", experiment.name);
    return false;
}

} // namespace

std::string experiment_folder() {
    std::error_code error;
    fs::path program = fs::read_symlink("/proc/self/exe", error);
    // PREFIX/bin/trib, and BUILD/cli/trib of a build inside the source tree or beside it.
    const fs::path candidates[] = {
        program.parent_path().parent_path() / "share" / "tributary" / "experiments",
        fs::path(TRIB_EXPERIMENTS_FOLDER),
    };
    for (const fs::path &candidate : candidates)
        if (fs::is_directory(candidate, error))
            return candidate.string();
    throw Failure(EXIT_RUNTIME, "no experiments beside this program; cmake --install puts them there, and compare "
                                "name others with --workloads");
}

std::vector<std::string> experiment_files(const std::vector<std::string> &given) {
    std::vector<std::string> places = given, files;
    if (places.empty())
        places.push_back(experiment_folder());
    for (const std::string &place : places) {
        if (!fs::exists(place))
            throw Failure(EXIT_RUNTIME, "no workload at '" + place + "'; check the path");
        if (!fs::is_directory(place)) {
            files.push_back(place);
            continue;
        }
        std::vector<std::string> found;
        for (const fs::directory_entry &entry : fs::directory_iterator(place))
            if (is_workload(entry.path()) && has_its_trace(entry.path().string()))
                found.push_back(entry.path().string());
        std::sort(found.begin(), found.end());
        files.insert(files.end(), found.begin(), found.end());
    }
    if (files.empty())
        throw Failure(EXIT_RUNTIME, "no experiment with a [workload] in '" + places.front() + "'");
    return files;
}

} // namespace cli
