// SPDX-License-Identifier: Apache-2.0
// Who writes a file: everything of a trib_context but the signature. Pure,
// except that TributaryDescribeWriter asks RocksDB what this thread is doing.
#pragma once

#include <tributary/event.h>

#include <string>

#include "rocksdb/file_system.h"
#include "rocksdb/version.h"

// ROCKSDB_VERSION_GE came late; and 9.x redefined it.
#define TRIB_ROCKSDB_AT_LEAST(major, minor) \
  (ROCKSDB_MAJOR > (major) ||               \
   (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

// The context of a file that this thread is opening. Column family and output
// level are known only while RocksDB tracks threads (enable_thread_tracking);
// asking costs some microseconds, so only SST and blob files are asked about.
trib_context TributaryDescribeWriter(
    const std::string& path, const ROCKSDB_NAMESPACE::FileOptions& options);

// RocksDB's own number of what the I/O is for, where the version has it.
inline uint8_t TributaryActivity(const ROCKSDB_NAMESPACE::IOOptions& options) {
#if TRIB_ROCKSDB_AT_LEAST(8, 3)
  return static_cast<uint8_t>(options.io_activity);
#else
  (void)options;
  return TRIB_ACTIVITY_UNKNOWN;
#endif
}
