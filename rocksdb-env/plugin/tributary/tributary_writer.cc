// SPDX-License-Identifier: Apache-2.0
#include "tributary_writer.h"

#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/thread_status.h"

using ROCKSDB_NAMESPACE::Env;
using ROCKSDB_NAMESPACE::FileOptions;
using ROCKSDB_NAMESPACE::ThreadStatus;

namespace {

bool StartsWith(const std::string& text, const char* prefix) {
  return text.rfind(prefix, 0) == 0;
}

bool EndsWith(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

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

uint8_t TributaryFileKind(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string name =
      slash == std::string::npos ? path : path.substr(slash + 1);
  if (EndsWith(name, ".log")) return TRIB_FILE_WAL;
  if (EndsWith(name, ".sst") || EndsWith(name, ".ldb")) return TRIB_FILE_SST;
  if (EndsWith(name, ".blob")) return TRIB_FILE_BLOB;
  if (EndsWith(name, ".dbtmp")) return TRIB_FILE_TEMP;
  if (StartsWith(name, "MANIFEST-")) return TRIB_FILE_MANIFEST;
  if (StartsWith(name, "OPTIONS-")) return TRIB_FILE_OPTIONS;
  // With db_log_dir the name is "<path with underscores>_LOG".
  if (name == "LOG" || StartsWith(name, "LOG.old") || EndsWith(name, "_LOG") ||
      name.find("_LOG.old") != std::string::npos) {
    return TRIB_FILE_LOG;
  }
  if (name == "CURRENT" || name == "IDENTITY" || name == "LOCK") {
    return TRIB_FILE_CURRENT;
  }
  return TRIB_FILE_OTHER;
}

trib_context TributaryDescribeWriter(const std::string& path,
                                     const FileOptions& options) {
  trib_context who = {};
  who.file_kind = TributaryFileKind(path);
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
