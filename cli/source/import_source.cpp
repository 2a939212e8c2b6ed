// SPDX-License-Identifier: Apache-2.0
#include "source/import_source.h"

#include <fmt/format.h>
#include <map>
#include <mutex>
#include <vector>

#include "common/failure.h"
#include "common/input.h"
#include "common/table.h"
#include "import/import.h"

namespace cli {

namespace {

constexpr size_t HEAD_BYTES = 65536;

struct ImportClose {
    void operator()(trib_import *import) const {
        trib_import_close(import);
    }
};
using Import = std::unique_ptr<trib_import, ImportClose>;
using Map = std::shared_ptr<const trib_import_map>;

Failure import_failure(const SourceSpec &spec, int rc, const trib_error &error) {
    return core_failure(rc, "trace '" + spec.path + "': " + error.text);
}

Import open_reader(const SourceSpec &spec, FILE *stream) {
    trib_error error = {};
    const trib_import_format *format = trib_import_find(spec.format.c_str(), &error);
    if (!format)
        throw Failure(EXIT_USAGE, error.text);
    trib_import *import = nullptr;
    if (int rc = trib_import_open(&import, stream, format, spec.import_options.c_str(), &error))
        throw import_failure(spec, rc, error);
    return Import(import);
}

Map learn(const SourceSpec &spec) {
    Input input(spec.path);
    Import import = open_reader(spec, input.stream());
    if (trib_import_chunk_bytes(import.get()) == 0)
        return nullptr;
    trib_import_map *map = nullptr;
    if (trib_import_map_open(&map, trib_import_chunk_bytes(import.get())))
        throw Failure(EXIT_RUNTIME, "out of memory");
    std::shared_ptr<trib_import_map> owned(map, trib_import_map_close);
    trib_error error = {};
    if (int rc = trib_import_learn(import.get(), map, &error))
        throw import_failure(spec, rc, error);
    return owned;
}

// Kept until the program ends: a matrix opens the same trace some hundred times.
Map map_of(const SourceSpec &spec) {
    static std::mutex mutex;
    static std::map<std::string, Map> maps;
    std::lock_guard<std::mutex> lock(mutex);
    std::string key = spec.path + '\0' + spec.format + '\0' + spec.import_options;
    auto found = maps.find(key);
    if (found == maps.end())
        found = maps.emplace(key, learn(spec)).first;
    return found->second;
}

class ImportSource : public EventSource {
  public:
    explicit ImportSource(const SourceSpec &spec)
        : spec_(spec), map_(map_of(spec)), input_(spec.path), import_(open_reader(spec, input_.stream())) {
        trib_import_use(import_.get(), map_.get());
        item_.kind = TRIB_TRACE_EVENT;
    }
    bool next() override {
        trib_error error = {};
        int rc = trib_import_next(import_.get(), &item_.event, &error);
        if (rc < 0)
            throw import_failure(spec_, rc, error);
        return rc > 0;
    }
    const trib_trace_item &item() const override {
        return item_;
    }
    uint64_t position_bytes() const override {
        return input_.position_bytes();
    }
    uint64_t size_bytes() const override {
        return input_.size_bytes();
    }
    std::string note() const override;

  private:
    SourceSpec spec_;
    Map map_;
    Input input_;
    Import import_;
    trib_trace_item item_ = {};
};

std::string ImportSource::note() const {
    trib_import_statistics seen = {};
    trib_import_count(import_.get(), &seen);
    std::string text =
        fmt::format("{} trace: {} writes, {} reads, {} discards of {} volume{}", spec_.format, grouped(seen.writes),
                    grouped(seen.reads), grouped(seen.discards), seen.volumes, seen.volumes == 1 ? "" : "s");
    if (seen.left_out)
        text += fmt::format("; {} requests of other volumes left out", grouped(seen.left_out));
    if (seen.malformed)
        text += fmt::format("; {} malformed, the first: {}", grouped(seen.malformed), seen.bad[0]);
    return text;
}

} // namespace

std::string guessed_format(const std::string &path) {
    Input input(path);
    std::vector<char> head(HEAD_BYTES);
    size_t got = std::fread(head.data(), 1, head.size(), input.stream());
    const trib_import_format *format = trib_import_guess(head.data(), got);
    return format ? format->name : "";
}

std::string import_formats() {
    std::string names;
    for (const trib_import_format *const *format = trib_import_formats; *format; format++)
        names += (names.empty() ? "" : "|") + std::string((*format)->name);
    return names;
}

std::unique_ptr<EventSource> open_import(const SourceSpec &spec) {
    return std::make_unique<ImportSource>(spec);
}

} // namespace cli
