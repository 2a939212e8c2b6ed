// SPDX-License-Identifier: Apache-2.0
#include "source/experiment.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <ini.h>
#include <map>
#include <vector>

#include "base/options.h"
#include "common/failure.h"

namespace cli {

namespace {

namespace fs = std::filesystem;

using Section = std::vector<std::pair<std::string, std::string>>; // in the file's order

// [record] is for bench/record and [load] for bench/loads/record, which make the trace.
const char *const SECTIONS[] = {"experiment", "workload", "trace", "drive", "run", "record", "load"};

class File {
  public:
    explicit File(const std::string &path);
    [[noreturn]] void refuse(const std::string &sentence) const {
        throw Failure(EXIT_RUNTIME, "experiment '" + path_ + "': " + sentence);
    }
    bool has(const std::string &section) const {
        return sections_.count(section) > 0;
    }
    // Takes a key out of its section; "" when it is not there.
    std::string take(const std::string &section, const std::string &key);
    Section rest(const std::string &section) const;
    void must_be_empty(const std::string &section, const std::string &valid) const;

  private:
    static int keep(void *file, const char *section, const char *key, const char *value);
    std::string path_, complaint_;
    std::map<std::string, Section> sections_;
};

int File::keep(void *file, const char *section, const char *key, const char *value) {
    auto *self = static_cast<File *>(file);
    if (std::none_of(std::begin(SECTIONS), std::end(SECTIONS),
                     [&](const char *known) { return !std::strcmp(known, section); })) {
        self->complaint_ = fmt::format(
            "[{}] is no section of a workload's experiment; valid are {}{}", section, fmt::join(SECTIONS, " "),
            !std::strcmp(section, "engine") ? " (bench/demo runs experiments with [engine])" : "");
        return 0;
    }
    Section &items = self->sections_[section];
    for (const auto &item : items)
        if (item.first == key) {
            self->complaint_ = fmt::format("'{}' is given twice in [{}]", key, section);
            return 0;
        }
    items.emplace_back(key, value);
    return 1;
}

File::File(const std::string &path) : path_(path) {
    int line = ini_parse(path.c_str(), keep, this);
    if (line < 0)
        throw Failure(EXIT_RUNTIME, "no experiment at '" + path + "'; check the path");
    if (!complaint_.empty())
        refuse(complaint_);
    if (line > 0)
        refuse(fmt::format("line {} is neither [section], key = value nor # comment", line));
}

std::string File::take(const std::string &section, const std::string &key) {
    Section &items = sections_[section];
    auto found = std::find_if(items.begin(), items.end(), [&](const auto &item) { return item.first == key; });
    if (found == items.end())
        return "";
    std::string value = found->second;
    items.erase(found);
    return value;
}

Section File::rest(const std::string &section) const {
    auto found = sections_.find(section);
    return found == sections_.end() ? Section() : found->second;
}

void File::must_be_empty(const std::string &section, const std::string &valid) const {
    Section left = rest(section);
    if (!left.empty())
        refuse(fmt::format("unknown key '{}' in [{}]; valid are {}", left.front().first, section, valid));
}

// One value in the words of the options grammar.
template <typename T>
T value_of(const File &file, const std::string &key, const std::string &text, trib_option_type type) {
    const trib_option_spec specs[] = {{key.c_str(), nullptr, nullptr, "", 0, 0, 0, type}, {}};
    trib_options *given = nullptr;
    trib_error error = {};
    T value = {};
    int rc = trib_options_open(&given, (key + "=" + text).c_str(), &error);
    if (rc == 0)
        rc = trib_options_take(given, specs, &value, &error);
    trib_options_close(given);
    if (rc)
        file.refuse(error.text);
    return value;
}

void take_drive(File &file, Experiment &out) {
    auto percent = [&](const char *key, std::optional<double> &field) {
        std::string text = file.take("drive", key);
        if (!text.empty())
            field = value_of<double>(file, key, text, TRIB_OPTION_PERCENT);
    };
    auto text = [&](const char *key, std::optional<std::string> &field) {
        std::string value = file.take("drive", key);
        if (!value.empty())
            field = value;
    };
    percent("fill", out.regime.fill_percent);
    percent("cold", out.regime.cold_percent);
    text("capacity", out.regime.capacity);
    text("op", out.regime.over_provisioning);
    text("superblock", out.regime.superblock);
    text("streams", out.regime.streams);
    if (!(out.regime.fill() > 0 && out.regime.fill() <= 100) || !(out.regime.cold() >= 0 && out.regime.cold() < 100))
        file.refuse("fill is 0 to 100, cold less than 100 percent");
    for (const auto &[key, value] : file.rest("drive"))
        out.drive.set(key, value);
}

// Of the drive that the regime will make for a workload of that size; close enough to count by.
double capacity_bytes(const File &file, const Experiment &experiment, uint64_t size_bytes) {
    if (experiment.regime.capacity)
        return static_cast<double>(value_of<uint64_t>(file, "capacity", *experiment.regime.capacity, TRIB_OPTION_SIZE));
    return static_cast<double>(size_bytes) / (experiment.regime.fill() / 100) / (1 - experiment.regime.cold() / 100);
}

void take_workload(File &file, Experiment &out) {
    out.workload = file.take("workload", "name");
    if (out.workload.empty())
        file.refuse("[workload] needs a name; trib workloads lists them");
    OptionText options;
    for (const auto &[key, value] : file.rest("workload"))
        options.set(key, value);
    std::string capacities = file.take("run", "capacities");
    file.must_be_empty("run", "capacities");
    if (options.has("host") == !capacities.empty())
        file.refuse("say how much is written, once: capacities in [run] or host in [workload]");
    if (!capacities.empty()) {
        if (!options.has("size"))
            file.refuse("[workload] needs a size to count capacities by");
        auto size = value_of<uint64_t>(file, "size", options.get("size"), TRIB_OPTION_SIZE);
        auto count = value_of<double>(file, "capacities", capacities, TRIB_OPTION_DOUBLE);
        bool filled = !options.has("fill") || value_of<bool>(file, "fill", options.get("fill"), TRIB_OPTION_BOOL);
        double bytes = count * capacity_bytes(file, out, size) + (filled ? 1.0 : 0.0) * static_cast<double>(size);
        options.set("host", std::to_string(std::llround(bytes)));
    }
    out.workload_options = options.text();
}

void take_trace(File &file, Experiment &out) {
    std::string name = file.take("trace", "file");
    if (name.empty())
        file.refuse("[trace] needs a file");
    out.trace = (fs::path(out.path).parent_path() / name).string();
    std::string beside = file.take("trace", "beside");
    if (!beside.empty())
        out.beside = (fs::path(out.path).parent_path() / beside).string();
    out.format = file.take("trace", "format");
    if (out.format.empty())
        out.format = "auto";
    OptionText options;
    for (const auto &[key, value] : file.rest("trace"))
        options.set(key, value);
    out.import_options = options.text();
    file.must_be_empty("run", "none: a trace is replayed as long as it is");
}

} // namespace

bool is_experiment(const std::string &path) {
    return fs::path(path).extension() == ".ini";
}

Experiment load_experiment(const std::string &path) {
    File file(path);
    Experiment out;
    out.path = path;
    out.name = fs::path(path).stem().string();
    out.summary = file.take("experiment", "summary");
    file.must_be_empty("experiment", "summary");
    if (file.has("workload") == file.has("trace"))
        file.refuse("exactly one of [workload] and [trace] says what is written");
    take_drive(file, out);
    for (const char *recorder : {"record", "load"})
        if (file.has(recorder) && !file.has("trace"))
            file.refuse(fmt::format("[{}] needs a [trace] to say where the trace goes", recorder));
    if (file.has("workload"))
        take_workload(file, out);
    else
        take_trace(file, out);
    return out;
}

} // namespace cli
