// SPDX-License-Identifier: Apache-2.0
#include "tributary_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <tributary/signature.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

#include "tributary_file.h"
#include "tributary_logger.h"

namespace {

// What the names of a file mean before an operation changes them.
struct FileFacts {
  uint64_t file = 0;  // trib_file_identity; 0: no such regular file
  uint64_t size_bytes = 0;
  bool last_link = false;
};

FileFacts FactsOf(const struct stat& st) {
  FileFacts facts;
  if (S_ISREG(st.st_mode)) {
    facts.file = trib_file_identity(st.st_dev, st.st_ino);
    facts.size_bytes = static_cast<uint64_t>(st.st_size);
    facts.last_link = st.st_nlink == 1;
  }
  return facts;
}

FileFacts Look(const std::string& path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0 ? FactsOf(st) : FileFacts();
}

// A file that may lose its name. While this lives, nobody gets its inode: a new
// file with the same identity could otherwise be written before the death of
// the old one is reported, and would then be taken for dead. Follows no
// symbolic link, as unlink and rename do not.
class DoomedFile {
 public:
  explicit DoomedFile(const std::string& path)
      : fd_(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)) {
    struct stat st;
    // Without a descriptor to spare, better a rare mistake than no death.
    if ((fd_ >= 0 ? fstat(fd_, &st) : lstat(path.c_str(), &st)) == 0) {
      facts_ = FactsOf(st);
    }
  }
  ~DoomedFile() {
    if (fd_ >= 0) close(fd_);
  }
  DoomedFile(const DoomedFile&) = delete;
  DoomedFile& operator=(const DoomedFile&) = delete;

  const FileFacts* operator->() const { return &facts_; }

 private:
  const int fd_;
  FileFacts facts_;
};

// Never destroyed: a file system may outlive this library's static objects.
struct Registry {
  std::mutex mutex;
  std::map<const void*, TributaryAdapter*> adapters;
};

Registry* FileSystems() {
  static auto* registry = new Registry;
  return registry;
}

}  // namespace

TributaryFileSystem::TributaryFileSystem(
    const std::shared_ptr<FileSystem>& target, TributaryAdapter* adapter)
    : FileSystemWrapper(target), adapter_(adapter) {
  std::lock_guard<std::mutex> lock(FileSystems()->mutex);
  FileSystems()->adapters[static_cast<FileSystem*>(this)] = adapter;
}

TributaryFileSystem::~TributaryFileSystem() {
  std::lock_guard<std::mutex> lock(FileSystems()->mutex);
  FileSystems()->adapters.erase(static_cast<FileSystem*>(this));
}

TributaryAdapter* TributaryFileSystem::AdapterOf(const void* file_system) {
  std::lock_guard<std::mutex> lock(FileSystems()->mutex);
  const auto found = FileSystems()->adapters.find(file_system);
  return found == FileSystems()->adapters.end() ? nullptr : found->second;
}

void TributaryFileSystem::Wrap(const std::string& path,
                               const FileOptions& options, bool append,
                               void* frame,
                               std::unique_ptr<FSWritableFile>* file) {
  const FileFacts facts = Look(path);
  if (facts.file == 0) {
    adapter_->CountUnseenFile();
    return;
  }
  trib_context who = TributaryDescribeWriter(path, options);
  who.signature = trib_signature_capture(frame, adapter_->options().open_depth);
  adapter_->NameFile(facts.file, path);
  const TributaryReporter reporter(adapter_, facts.file, who);
  file->reset(new TributaryWritableFile(std::move(*file), reporter,
                                        append ? facts.size_bytes : 0));
}

ROCKSDB_NAMESPACE::IOStatus TributaryFileSystem::NewWritableFile(
    const std::string& path, const FileOptions& options,
    std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) {
  const FileFacts before = Look(path);
  IOStatus status = target()->NewWritableFile(path, options, result, dbg);
  if (status.ok()) {
    if (before.size_bytes > 0) {
      adapter_->ReportDeath(before.file, 0, TRIB_CAUSE_TRUNCATE);
    }
    Wrap(path, options, false, TRIB_FRAME_HERE(), result);
  }
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryFileSystem::ReopenWritableFile(
    const std::string& path, const FileOptions& options,
    std::unique_ptr<FSWritableFile>* result, IODebugContext* dbg) {
  IOStatus status = target()->ReopenWritableFile(path, options, result, dbg);
  if (status.ok()) Wrap(path, options, true, TRIB_FRAME_HERE(), result);
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryFileSystem::ReuseWritableFile(
    const std::string& path, const std::string& old_path,
    const FileOptions& options, std::unique_ptr<FSWritableFile>* result,
    IODebugContext* dbg) {
  const DoomedFile over(path);
  const FileFacts old = Look(old_path);
  IOStatus status =
      target()->ReuseWritableFile(path, old_path, options, result, dbg);
  if (status.ok()) {
    if (over->last_link && over->file != old.file) {
      adapter_->Lost(over->file, TRIB_CAUSE_RENAME_OVER);
    }
    if (old.file != 0) adapter_->ReportDeath(old.file, 0, TRIB_CAUSE_REUSE);
    Wrap(path, options, false, TRIB_FRAME_HERE(), result);
  }
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryFileSystem::NewRandomRWFile(
    const std::string& path, const FileOptions& options,
    std::unique_ptr<FSRandomRWFile>* result, IODebugContext* dbg) {
  IOStatus status = target()->NewRandomRWFile(path, options, result, dbg);
  if (!status.ok()) return status;
  const FileFacts facts = Look(path);
  if (facts.file == 0) {
    adapter_->CountUnseenFile();
    return status;
  }
  trib_context who = TributaryDescribeWriter(path, options);
  who.signature =
      trib_signature_capture(TRIB_FRAME_HERE(), adapter_->options().open_depth);
  result->reset(new TributaryRandomRWFile(
      std::move(*result), TributaryReporter(adapter_, facts.file, who)));
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryFileSystem::DeleteFile(
    const std::string& path, const IOOptions& options, IODebugContext* dbg) {
  const DoomedFile doomed(path);
  IOStatus status = target()->DeleteFile(path, options, dbg);
  if (status.ok() && doomed->last_link) {
    adapter_->Lost(doomed->file, TRIB_CAUSE_UNLINK);
  }
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryFileSystem::RenameFile(
    const std::string& path, const std::string& new_path,
    const IOOptions& options, IODebugContext* dbg) {
  const DoomedFile over(new_path);
  IOStatus status = target()->RenameFile(path, new_path, options, dbg);
  if (!status.ok()) return status;
  const FileFacts moved = Look(new_path);
  // Two names of one file: rename does nothing at all.
  if (over->last_link && over->file != moved.file) {
    adapter_->Lost(over->file, TRIB_CAUSE_RENAME_OVER);
  }
  if (moved.file != 0) adapter_->NameFile(moved.file, new_path);
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryFileSystem::Truncate(
    const std::string& path, size_t size, const IOOptions& options,
    IODebugContext* dbg) {
  const FileFacts before = Look(path);
  IOStatus status = target()->Truncate(path, size, options, dbg);
  if (status.ok() && size < before.size_bytes) {
    adapter_->ReportDeath(before.file, size, TRIB_CAUSE_TRUNCATE);
  }
  return status;
}

#if TRIB_ROCKSDB_AT_LEAST(11, 8)
ROCKSDB_NAMESPACE::IOStatus TributaryFileSystem::SyncFile(
    const std::string& path, const FileOptions& file_options,
    const IOOptions& options, bool use_fsync, IODebugContext* dbg) {
  IOStatus status =
      target()->SyncFile(path, file_options, options, use_fsync, dbg);
  const FileFacts facts = Look(path);
  if (status.ok() && facts.file != 0) {
    const trib_context who = TributaryDescribeWriter(path, file_options);
    TributaryReporter(adapter_, facts.file, who)
        .Synced(0, TRIB_LENGTH_TO_END, TRIB_CAUSE_FSYNC);
  }
  return status;
}
#endif

ROCKSDB_NAMESPACE::IOStatus TributaryFileSystem::NewLogger(
    const std::string& path, const IOOptions& options,
    std::shared_ptr<Logger>* result, IODebugContext* dbg) {
  // The base class, not the target's logger, writes through NewWritableFile
  // above, so that the LOG is seen like any other file.
  std::shared_ptr<Logger> log;
  IOStatus status = FileSystem::NewLogger(path, options, &log, dbg);
  if (status.ok()) *result = std::make_shared<TributaryLogger>(log, adapter_);
  return status;
}
