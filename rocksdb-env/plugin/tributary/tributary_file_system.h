// SPDX-License-Identifier: Apache-2.0
// The file system of "tributary://": RocksDB's default one, with every write
// and every death reported to a pipeline. Thread-safe, as FileSystem demands.
//
// Invariants: results, bytes and names are the target's own; nothing is
// reported that the target refused; data that a hard link (a checkpoint) still
// holds do not die.
#pragma once

#include <memory>
#include <string>

#include "rocksdb/file_system.h"
#include "tributary_adapter.h"
#include "tributary_writer.h"

class TributaryFileSystem : public ROCKSDB_NAMESPACE::FileSystemWrapper {
 public:
  using FileOptions = ROCKSDB_NAMESPACE::FileOptions;
  using FileSystem = ROCKSDB_NAMESPACE::FileSystem;
  using FSRandomRWFile = ROCKSDB_NAMESPACE::FSRandomRWFile;
  using FSWritableFile = ROCKSDB_NAMESPACE::FSWritableFile;
  using IODebugContext = ROCKSDB_NAMESPACE::IODebugContext;
  using IOOptions = ROCKSDB_NAMESPACE::IOOptions;
  using IOStatus = ROCKSDB_NAMESPACE::IOStatus;
  using Logger = ROCKSDB_NAMESPACE::Logger;

  TributaryFileSystem(const std::shared_ptr<FileSystem>& target,
                      TributaryAdapter* adapter);
  ~TributaryFileSystem() override;

  static const char* kClassName() { return "TributaryFileSystem"; }
  const char* Name() const override { return kClassName(); }

  // The adapter of a file system made here, or nullptr. Never follows the
  // pointer.
  static TributaryAdapter* AdapterOf(const void* file_system);

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* result,
                           IODebugContext* dbg) override;
  IOStatus ReopenWritableFile(const std::string& path,
                              const FileOptions& options,
                              std::unique_ptr<FSWritableFile>* result,
                              IODebugContext* dbg) override;
  IOStatus ReuseWritableFile(const std::string& path,
                             const std::string& old_path,
                             const FileOptions& options,
                             std::unique_ptr<FSWritableFile>* result,
                             IODebugContext* dbg) override;
  IOStatus NewRandomRWFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<FSRandomRWFile>* result,
                           IODebugContext* dbg) override;
  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* dbg) override;
  IOStatus RenameFile(const std::string& path, const std::string& new_path,
                      const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Truncate(const std::string& path, size_t size,
                    const IOOptions& options, IODebugContext* dbg) override;
#if TRIB_ROCKSDB_AT_LEAST(11, 8)
  IOStatus SyncFile(const std::string& path, const FileOptions& file_options,
                    const IOOptions& options, bool use_fsync,
                    IODebugContext* dbg) override;
#endif
  IOStatus NewLogger(const std::string& path, const IOOptions& options,
                     std::shared_ptr<Logger>* result,
                     IODebugContext* dbg) override;

 private:
  void Wrap(const std::string& path, const FileOptions& options, bool append,
            void* frame, std::unique_ptr<FSWritableFile>* file);

  TributaryAdapter* const adapter_;
};
