// SPDX-License-Identifier: Apache-2.0
// Files that report what was written to them once the target has taken it. They
// change neither bytes nor results. Thread safety: RocksDB's own rules for
// FSWritableFile (one writer; Sync may run beside Append where the target says
// so) and FSRandomRWFile (any number of writers).
#pragma once

#include <atomic>
#include <memory>

#include "rocksdb/file_system.h"
#include "tributary_adapter.h"

// One open file as the pipeline knows it.
class TributaryReporter {
 public:
  // file: trib_file_identity. who: with the opener's signature.
  TributaryReporter(TributaryAdapter* adapter, uint64_t file,
                    const trib_context& who);

  bool signature_per_write() const { return per_write_; }
  unsigned depth() const { return adapter_->options().depth; }

  void Opened() { adapter_->Opened(file_); }
  void SetHint(ROCKSDB_NAMESPACE::Env::WriteLifeTimeHint hint);

  // Would a write of this signature be one more by the writer of `earlier`?
  bool IsWriterOf(const trib_event& earlier, uint64_t signature,
                  const ROCKSDB_NAMESPACE::IOOptions& options) const;
  // signature: of this write, or TRIB_SIGNATURE_UNKNOWN for the opener's.
  trib_event Write(uint64_t offset, uint64_t length, uint64_t signature,
                   const ROCKSDB_NAMESPACE::IOOptions& options);
  void Wrote(const trib_event& write) { adapter_->Report(write); }
  void Truncated(uint64_t size);
  void Synced(uint64_t offset, uint64_t length, trib_cause cause);
  // The first call counts.
  void Closing();

 private:
  trib_event Event(trib_event_kind kind, trib_cause cause) const;

  TributaryAdapter* const adapter_;
  const uint64_t file_;
  trib_context who_;
  const bool per_write_;
  // Until the first write: what the engine says of a file must not change its
  // writer halfway.
  bool fresh_ = true;
  bool closed_ = false;
};

// What both kinds of file name in their calls.
struct TributaryFileTypes {
  using IODebugContext = ROCKSDB_NAMESPACE::IODebugContext;
  using IOOptions = ROCKSDB_NAMESPACE::IOOptions;
  using IOStatus = ROCKSDB_NAMESPACE::IOStatus;
  using Slice = ROCKSDB_NAMESPACE::Slice;
};

class TributaryWritableFile
    : public ROCKSDB_NAMESPACE::FSWritableFileOwnerWrapper,
      public TributaryFileTypes {
 public:
  using Base = ROCKSDB_NAMESPACE::FSWritableFileOwnerWrapper;
  using DataVerificationInfo = ROCKSDB_NAMESPACE::DataVerificationInfo;
  using Env = ROCKSDB_NAMESPACE::Env;
  using FSWritableFile = ROCKSDB_NAMESPACE::FSWritableFile;

  // offset: where the next Append goes, bytes.
  TributaryWritableFile(std::unique_ptr<FSWritableFile>&& target,
                        const TributaryReporter& reporter, uint64_t offset)
      : Base(std::move(target)),
        reporter_(reporter),
        offset_(offset),
        direct_io_(Base::use_direct_io()) {
    reporter_.Opened();
  }
  ~TributaryWritableFile() override { Closing(); }

  // RocksDB asks several times per append.
  bool use_direct_io() const override { return direct_io_; }

  IOStatus Append(const Slice& data, const IOOptions& options,
                  IODebugContext* dbg) override;
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const DataVerificationInfo& verification_info,
                  IODebugContext* dbg) override;
  IOStatus PositionedAppend(const Slice& data, uint64_t offset,
                            const IOOptions& options,
                            IODebugContext* dbg) override;
  IOStatus PositionedAppend(const Slice& data, uint64_t offset,
                            const IOOptions& options,
                            const DataVerificationInfo& verification_info,
                            IODebugContext* dbg) override;
  IOStatus Truncate(uint64_t size, const IOOptions& options,
                    IODebugContext* dbg) override;
  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override;
  IOStatus RangeSync(uint64_t offset, uint64_t length, const IOOptions& options,
                     IODebugContext* dbg) override;
  void SetWriteLifeTimeHint(Env::WriteLifeTimeHint hint) override;
  // The stock wrappers forget to forward these two.
  void SetIOPriority(Env::IOPriority priority) override;
  Env::IOPriority GetIOPriority() override;

 private:
  void Appended(const Slice& data, const IOOptions& options, void* frame);
  bool Continues(uint64_t signature, const IOOptions& options) const;
  void Tell(uint64_t length, uint64_t signature, const IOOptions& options);
  void TellTail();
  void LockTail();
  void Synced(uint64_t offset, uint64_t length, trib_cause cause);
  void Closing();

  TributaryReporter reporter_;
  uint64_t offset_;
  const bool direct_io_;
  // Appends of one writer to a block that is not full yet. The drive takes a
  // block when it is full, synced or closed; until then a log's small appends
  // are grown here and cost no event each. Locked, because of Sync.
  std::atomic_flag tail_lock_ = ATOMIC_FLAG_INIT;
  trib_event tail_ = {};  // length 0: none
};

class TributaryRandomRWFile
    : public ROCKSDB_NAMESPACE::FSRandomRWFileOwnerWrapper,
      public TributaryFileTypes {
 public:
  using Base = ROCKSDB_NAMESPACE::FSRandomRWFileOwnerWrapper;
  using FSRandomRWFile = ROCKSDB_NAMESPACE::FSRandomRWFile;

  TributaryRandomRWFile(std::unique_ptr<FSRandomRWFile>&& target,
                        const TributaryReporter& reporter)
      : Base(std::move(target)), reporter_(reporter) {
    reporter_.Opened();
  }
  ~TributaryRandomRWFile() override { reporter_.Closing(); }

  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& options,
                 IODebugContext* dbg) override;
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override;

 private:
  TributaryReporter reporter_;
};
