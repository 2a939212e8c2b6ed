// SPDX-License-Identifier: Apache-2.0
#include "tributary_writer.h"

#include <tributary/client.h>

#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/thread_status.h"

using ROCKSDB_NAMESPACE::Env;
using ROCKSDB_NAMESPACE::FileOptions;
using ROCKSDB_NAMESPACE::ThreadStatus;

namespace {

// FNV-1a folded to 16 bits; 0 is kept for "unknown".
uint16_t HashColumnFamily(const std::string& name) {
  uint32_t hash = 2166136261u;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  const auto folded = static_cast<uint16_t>(hash ^ (hash >> 16));
  return folded != 0 ? folded : 1;
}

int8_t OutputLevel(const ThreadStatus& thread) {
  if (thread.operation_type == ThreadStatus::OP_FLUSH) return 0;
  if (thread.operation_type != ThreadStatus::OP_COMPACTION) {
    return TRIB_LEVEL_UNKNOWN;
  }
  const auto properties = ThreadStatus::InterpretOperationProperties(
      thread.operation_type, thread.op_properties);
  const auto level = properties.find("OutputLevel");
  if (level == properties.end() || level->second > INT8_MAX) {
    return TRIB_LEVEL_UNKNOWN;
  }
  return static_cast<int8_t>(level->second);
}

void AskThreadStatus(trib_context* who) {
  Env* const env = Env::Default();
  std::vector<ThreadStatus> threads;
  if (!env->GetThreadList(&threads).ok()) return;
  const uint64_t self = env->GetThreadID();
  for (const auto& thread : threads) {
    if (thread.thread_id != self) continue;
    who->level = OutputLevel(thread);
    if (!thread.cf_name.empty()) {
      who->column_family = HashColumnFamily(thread.cf_name);
    }
  }
}

}  // namespace

trib_context TributaryDescribeWriter(const std::string& path,
                                     const FileOptions& options) {
  trib_context who = {};
  who.file_kind = trib_kind_of(path.c_str());
  who.io_activity = TributaryActivity(options.io_options);
  who.level = TRIB_LEVEL_UNKNOWN;
#if TRIB_ROCKSDB_AT_LEAST(10, 1)
  who.write_hint = static_cast<uint8_t>(options.write_hint);
#endif
  if (who.file_kind == TRIB_FILE_SST || who.file_kind == TRIB_FILE_BLOB) {
    AskThreadStatus(&who);
  }
  return who;
}
