// SPDX-License-Identifier: Apache-2.0
// The adapter's files over an adapter that keeps what it is told. Compiled as the plugin is, without RTTI, which
// RocksDB may lack.
#include "support/rocksdb_files.hpp"

#include <rocksdb/file_system.h>
#include <unistd.h>

#include <utility>

#include "tributary_adapter.h"
#include "tributary_file_system.h"

namespace rdb = ROCKSDB_NAMESPACE;

namespace {

std::vector<trib_event> reported;

// RocksDB's own file system refuses to truncate by name.
class Target : public rdb::FileSystemWrapper {
  public:
    Target() : FileSystemWrapper(rdb::FileSystem::Default()) {
    }
    const char *Name() const override {
        return "test";
    }
    rdb::IOStatus Truncate(const std::string &path, size_t size, const rdb::IOOptions &,
                           rdb::IODebugContext *) override {
        return ::truncate(path.c_str(), static_cast<off_t>(size)) == 0 ? rdb::IOStatus::OK()
                                                                       : rdb::IOStatus::IOError(path);
    }
};

} // namespace

// In place of tributary_adapter.cc.
TributaryAdapter::TributaryAdapter(const TributaryOptions &options, const std::string &in_force, trib_client *client)
    : options_(options), in_force_(in_force), process_(0), client_(client) {
}

TributaryAdapter *TributaryAdapter::Open(const std::string &, std::string *) {
    TributaryOptions options;
    options.depth = 8;
    options.stats = TributaryOptions::Stats::kNone;
    static auto *const adapter = new TributaryAdapter(options, "", nullptr);
    return adapter;
}

void TributaryAdapter::Report(const trib_event &event) {
    reported.push_back(event);
}

void TributaryAdapter::ReportDeath(uint64_t file, uint64_t offset, trib_cause cause) {
    trib_event event = {};
    event.kind = TRIB_EVENT_DEATH;
    event.file = file;
    event.offset_bytes = offset;
    event.length_bytes = TRIB_LENGTH_TO_END;
    event.cause = static_cast<uint8_t>(cause);
    reported.push_back(event);
}

void TributaryAdapter::Lost(uint64_t file, trib_cause cause) {
    ReportDeath(file, 0, cause);
}

void TributaryAdapter::Opened(uint64_t) {
}

void TributaryAdapter::Closing(uint64_t) {
}

void TributaryAdapter::NameFile(uint64_t, const std::string &) {
}

std::string TributaryAdapter::StatusText() {
    return "";
}

namespace rocksdb_files {

struct File {
    std::unique_ptr<rdb::FSWritableFile> self;
};

static rdb::FileSystem *files() {
    static auto *const all = new std::shared_ptr<rdb::FileSystem>(
        new TributaryFileSystem(std::make_shared<Target>(), TributaryAdapter::Open("", nullptr)));
    return all->get();
}

std::vector<trib_event> take() {
    files();
    return std::exchange(reported, {});
}

File *create(const std::string &path) {
    auto *const file = new File;
    return files()->NewWritableFile(path, rdb::FileOptions(), &file->self, nullptr).ok() ? file : nullptr;
}

File *reopen(const std::string &path) {
    auto *const file = new File;
    return files()->ReopenWritableFile(path, rdb::FileOptions(), &file->self, nullptr).ok() ? file : nullptr;
}

File *reuse(const std::string &path, const std::string &old_path) {
    auto *const file = new File;
    return files()->ReuseWritableFile(path, old_path, rdb::FileOptions(), &file->self, nullptr).ok() ? file : nullptr;
}

bool append(File *file, uint64_t bytes) {
    return file->self->Append(std::string(bytes, 'x'), rdb::IOOptions(), nullptr).ok();
}

bool append_at(File *file, uint64_t offset, uint64_t bytes) {
    return file->self->PositionedAppend(std::string(bytes, 'x'), offset, rdb::IOOptions(), nullptr).ok();
}

bool truncate(File *file, uint64_t size) {
    return file->self->Truncate(size, rdb::IOOptions(), nullptr).ok();
}

bool sync(File *file) {
    return file->self->Sync(rdb::IOOptions(), nullptr).ok();
}

bool range_sync(File *file, uint64_t offset, uint64_t bytes) {
    return file->self->RangeSync(offset, bytes, rdb::IOOptions(), nullptr).ok();
}

void hint(File *file, unsigned hint) {
    file->self->SetWriteLifeTimeHint(static_cast<rdb::Env::WriteLifeTimeHint>(hint));
}

bool close(File *file) {
    return file->self->Close(rdb::IOOptions(), nullptr).ok();
}

void destroy(File *file) {
    delete file;
}

bool remove(const std::string &path) {
    return files()->DeleteFile(path, rdb::IOOptions(), nullptr).ok();
}

bool rename(const std::string &path, const std::string &new_path) {
    return files()->RenameFile(path, new_path, rdb::IOOptions(), nullptr).ok();
}

bool truncate_path(const std::string &path, uint64_t size) {
    return files()->Truncate(path, size, rdb::IOOptions(), nullptr).ok();
}

} // namespace rocksdb_files
