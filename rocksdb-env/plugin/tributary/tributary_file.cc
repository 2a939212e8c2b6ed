// SPDX-License-Identifier: Apache-2.0
#include "tributary_file.h"

#include <tributary/signature.h>

#include <cstring>
#include <thread>

#include "tributary_writer.h"

using Signature = TributaryOptions::Signature;

TributaryReporter::TributaryReporter(TributaryAdapter* adapter, uint64_t file,
                                     const trib_context& who)
    : adapter_(adapter),
      file_(file),
      who_(who),
      per_write_(adapter->options().signature == Signature::kWrite ||
                 (adapter->options().signature == Signature::kAuto &&
                  who.file_kind == TRIB_FILE_WAL)) {}

void TributaryReporter::SetHint(
    ROCKSDB_NAMESPACE::Env::WriteLifeTimeHint hint) {
  if (fresh_) who_.write_hint = static_cast<uint8_t>(hint);
}

trib_event TributaryReporter::Event(trib_event_kind kind,
                                    trib_cause cause) const {
  trib_event event = {};
  event.file = file_;
  event.who = who_;
  event.stream = TRIB_STREAM_UNDECIDED;
  event.kind = static_cast<uint8_t>(kind);
  event.cause = static_cast<uint8_t>(cause);
  return event;
}

bool TributaryReporter::IsWriterOf(
    const trib_event& earlier, uint64_t signature,
    const ROCKSDB_NAMESPACE::IOOptions& options) const {
  if (!per_write_) return true;  // after the first write, who_ stays
  return earlier.who.io_activity == TributaryActivity(options) &&
         earlier.who.signature ==
             (signature != TRIB_SIGNATURE_UNKNOWN ? signature : who_.signature);
}

trib_event TributaryReporter::Write(
    uint64_t offset, uint64_t length, uint64_t signature,
    const ROCKSDB_NAMESPACE::IOOptions& options) {
  if (fresh_) {
    fresh_ = false;
    const uint8_t activity = TributaryActivity(options);
    if (activity != TRIB_ACTIVITY_UNKNOWN) who_.io_activity = activity;
  }
  trib_event event = Event(TRIB_EVENT_WRITE, TRIB_CAUSE_NONE);
  event.offset_bytes = offset;
  event.length_bytes = length;
  if (per_write_) {
    event.who.io_activity = TributaryActivity(options);
    if (signature != TRIB_SIGNATURE_UNKNOWN) event.who.signature = signature;
  }
  return event;
}

void TributaryReporter::Truncated(uint64_t size) {
  adapter_->ReportDeath(file_, size, TRIB_CAUSE_TRUNCATE);
}

void TributaryReporter::Synced(uint64_t offset, uint64_t length,
                               trib_cause cause) {
  trib_event event = Event(TRIB_EVENT_SYNC, cause);
  event.offset_bytes = offset;
  event.length_bytes = length;
  adapter_->Report(event);
}

// Told before the target closes the file: after that its inode may be
// another's. Closing writes nothing, and what a failed close loses was
// buffered.
void TributaryReporter::Closing() {
  if (closed_) return;
  closed_ = true;
  Synced(0, TRIB_LENGTH_TO_END, TRIB_CAUSE_CLOSE);
  adapter_->Closing(file_);
}

// Inlined into each entry point: `frame` must be the one RocksDB called.
inline __attribute__((always_inline)) uint64_t CaptureWrite(
    const TributaryReporter& reporter, void* frame) {
  return reporter.signature_per_write()
             ? trib_signature_capture(frame, reporter.depth())
             : TRIB_SIGNATURE_UNKNOWN;
}

void TributaryWritableFile::Appended(const Slice& data,
                                     const IOOptions& options, void* frame) {
  if (data.size() == 0) return;
  Tell(data.size(), CaptureWrite(reporter_, frame), options);
  offset_ += data.size();
}

void TributaryWritableFile::LockTail() {
  while (tail_lock_.test_and_set(std::memory_order_acquire)) {
    std::this_thread::yield();
  }
}

bool TributaryWritableFile::Continues(uint64_t signature,
                                      const IOOptions& options) const {
  return tail_.length_bytes != 0 &&
         tail_.offset_bytes + tail_.length_bytes == offset_ &&
         reporter_.IsWriterOf(tail_, signature, options);
}

void TributaryWritableFile::Tell(uint64_t length, uint64_t signature,
                                 const IOOptions& options) {
  LockTail();
  if (Continues(signature, options)) {
    tail_.length_bytes += length;
  } else {
    if (tail_.length_bytes != 0) reporter_.Wrote(tail_);
    tail_ = reporter_.Write(offset_, length, signature, options);
  }
  if ((offset_ + length) / TRIB_BLOCK_BYTES !=
      tail_.offset_bytes / TRIB_BLOCK_BYTES) {
    reporter_.Wrote(tail_);
    tail_.length_bytes = 0;
  }
  tail_lock_.clear(std::memory_order_release);
}

void TributaryWritableFile::TellTail() {
  LockTail();
  if (tail_.length_bytes != 0) reporter_.Wrote(tail_);
  tail_.length_bytes = 0;
  tail_lock_.clear(std::memory_order_release);
}

void TributaryWritableFile::Synced(uint64_t offset, uint64_t length,
                                   trib_cause cause) {
  TellTail();
  reporter_.Synced(offset, length, cause);
}

void TributaryWritableFile::Closing() {
  TellTail();
  reporter_.Closing();
}

ROCKSDB_NAMESPACE::IOStatus TributaryWritableFile::Append(
    const Slice& data, const IOOptions& options, IODebugContext* dbg) {
  IOStatus status = target()->Append(data, options, dbg);
  if (status.ok()) Appended(data, options, TRIB_FRAME_HERE());
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryWritableFile::Append(
    const Slice& data, const IOOptions& options,
    const DataVerificationInfo& verification_info, IODebugContext* dbg) {
  IOStatus status = target()->Append(data, options, verification_info, dbg);
  if (status.ok()) Appended(data, options, TRIB_FRAME_HERE());
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryWritableFile::PositionedAppend(
    const Slice& data, uint64_t offset, const IOOptions& options,
    IODebugContext* dbg) {
  IOStatus status = target()->PositionedAppend(data, offset, options, dbg);
  if (status.ok()) {
    offset_ = offset;
    Appended(data, options, TRIB_FRAME_HERE());
  }
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryWritableFile::PositionedAppend(
    const Slice& data, uint64_t offset, const IOOptions& options,
    const DataVerificationInfo& verification_info, IODebugContext* dbg) {
  IOStatus status =
      target()->PositionedAppend(data, offset, options, verification_info, dbg);
  if (status.ok()) {
    offset_ = offset;
    Appended(data, options, TRIB_FRAME_HERE());
  }
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryWritableFile::Truncate(
    uint64_t size, const IOOptions& options, IODebugContext* dbg) {
  IOStatus status = target()->Truncate(size, options, dbg);
  // Growing a file writes nothing. POSIX leaves the append position alone.
  if (status.ok() && size < offset_) {
    TellTail();
    reporter_.Truncated(size);
  }
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryWritableFile::Close(
    const IOOptions& options, IODebugContext* dbg) {
  Closing();
  return target()->Close(options, dbg);
}

ROCKSDB_NAMESPACE::IOStatus TributaryWritableFile::Sync(
    const IOOptions& options, IODebugContext* dbg) {
  IOStatus status = target()->Sync(options, dbg);
  if (status.ok()) Synced(0, TRIB_LENGTH_TO_END, TRIB_CAUSE_FSYNC);
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryWritableFile::Fsync(
    const IOOptions& options, IODebugContext* dbg) {
  IOStatus status = target()->Fsync(options, dbg);
  if (status.ok()) Synced(0, TRIB_LENGTH_TO_END, TRIB_CAUSE_FSYNC);
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryWritableFile::RangeSync(
    uint64_t offset, uint64_t length, const IOOptions& options,
    IODebugContext* dbg) {
  IOStatus status = target()->RangeSync(offset, length, options, dbg);
  if (status.ok() && length > 0) {
    Synced(offset, length, TRIB_CAUSE_RANGE_SYNC);
  }
  return status;
}

void TributaryWritableFile::SetWriteLifeTimeHint(Env::WriteLifeTimeHint hint) {
  target()->SetWriteLifeTimeHint(hint);
  reporter_.SetHint(hint);
}

void TributaryWritableFile::SetIOPriority(Env::IOPriority priority) {
  target()->SetIOPriority(priority);
}

ROCKSDB_NAMESPACE::Env::IOPriority TributaryWritableFile::GetIOPriority() {
  return target()->GetIOPriority();
}

ROCKSDB_NAMESPACE::IOStatus TributaryRandomRWFile::Write(
    uint64_t offset, const Slice& data, const IOOptions& options,
    IODebugContext* dbg) {
  IOStatus status = target()->Write(offset, data, options, dbg);
  if (status.ok() && data.size() != 0) {
    reporter_.Wrote(reporter_.Write(offset, data.size(),
                                    CaptureWrite(reporter_, TRIB_FRAME_HERE()),
                                    options));
  }
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryRandomRWFile::Sync(
    const IOOptions& options, IODebugContext* dbg) {
  IOStatus status = target()->Sync(options, dbg);
  if (status.ok()) reporter_.Synced(0, TRIB_LENGTH_TO_END, TRIB_CAUSE_FSYNC);
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryRandomRWFile::Fsync(
    const IOOptions& options, IODebugContext* dbg) {
  IOStatus status = target()->Fsync(options, dbg);
  if (status.ok()) reporter_.Synced(0, TRIB_LENGTH_TO_END, TRIB_CAUSE_FSYNC);
  return status;
}

ROCKSDB_NAMESPACE::IOStatus TributaryRandomRWFile::Close(
    const IOOptions& options, IODebugContext* dbg) {
  reporter_.Closing();
  return target()->Close(options, dbg);
}
