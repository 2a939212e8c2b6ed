// SPDX-License-Identifier: Apache-2.0
#include "common/json.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>

#include <tributary/page.h>

#include "common/failure.h"

namespace cli {

namespace {
template <size_t N> const char *name_at(const char *const (&names)[N], unsigned index, const char *otherwise) {
    return index < N && names[index] ? names[index] : otherwise;
}

// Paths and symbols come from a file; text that is not UTF-8 must not break the document.
std::string dumped(const Json &json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
} // namespace

const char *file_kind_name(uint8_t kind) {
    static const char *const names[] = {"unknown",      "wal",        "sst",      "blob",     "manifest",
                                        "options",      "log",        "current",  "temp",     "other",
                                        "cold",         "sst-index",  "sst-meta", "database", "journal",
                                        "intermediate", "build-note", "object",   "linked"};
    static_assert(std::size(names) == TRIB_FILE_KIND_COUNT, "a name for each kind");
    return name_at(names, kind, "unknown");
}

const char *write_hint_name(uint8_t hint) {
    static const char *const names[] = {"not-set", "none", "short", "medium", "long", "extreme"};
    return name_at(names, hint, "not-set");
}

const char *event_kind_name(uint8_t kind) {
    static const char *const names[] = {nullptr, "write", "death", nullptr, "sync", "read"};
    return name_at(names, kind, "unknown");
}

const char *cause_name(uint8_t cause) {
    static const char *const deaths[] = {"none", "overwrite", "trim", "unlink", "truncate", "rename-over", "reuse"};
    static const char *const syncs[] = {"fsync", "range-sync", "close"};
    return cause < TRIB_CAUSE_FSYNC ? name_at(deaths, cause, "none") : name_at(syncs, cause - TRIB_CAUSE_FSYNC, "none");
}

Json json_of(const trib_context &who) {
    Json json = {{"file_kind", file_kind_name(who.file_kind)}, {"write_hint", write_hint_name(who.write_hint)}};
    json["io_activity"] = who.io_activity == TRIB_ACTIVITY_UNKNOWN ? Json(nullptr) : Json(who.io_activity);
    if (trib_page_is(&who)) {
        json["page_class"] = trib_page_class_name(trib_page_class_of(&who));
        json["page_modifications_log2"] = trib_page_logarithm_of(&who);
    }
    json["level"] = who.level == TRIB_LEVEL_UNKNOWN ? Json(nullptr) : Json(who.level);
    json["column_family"] = who.column_family ? Json(fmt::format("{:#06x}", who.column_family)) : Json(nullptr);
    json["tenant"] = who.tenant;
    return json;
}

static Failure write_failure(const std::string &path, const std::string &file) {
    int error = errno;
    if (file != path)
        std::remove(file.c_str());
    return Failure(EXIT_RUNTIME, "cannot write '" + path + "': " + core_failure(-error, "").what());
}

void write_json(const Json &json, const std::string &path) {
    write_text(dumped(json), path);
}

void write_text(const std::string &text, const std::string &path) {
    if (path.empty() || path == "-") {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
            throw Failure(EXIT_RUNTIME, std::string("cannot write to standard output: ") + std::strerror(errno));
        return;
    }
    // A pipe or device cannot be replaced, only written.
    bool replaces = !std::filesystem::exists(path) || std::filesystem::is_regular_file(path);
    std::string part = replaces ? path + ".part" : path;
    FILE *out = std::fopen(part.c_str(), "w");
    if (!out)
        throw write_failure(path, part);
    bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
    bool closed = std::fclose(out) == 0;
    if (!written || !closed || (replaces && std::rename(part.c_str(), path.c_str()) != 0))
        throw write_failure(path, part);
}

} // namespace cli
