// SPDX-License-Identifier: Apache-2.0
// A small database through the plugin, and its data read back without it.
// usage: smoke URI DIRECTORY
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"
#include "tributary_rocksdb.h"

namespace {

constexpr int kKeys = 60000;

std::string Key(int number) {
  char text[32];
  snprintf(text, sizeof text, "key%08d", number * 7919 % kKeys);
  return text;
}

void Check(const rocksdb::Status& status, const char* what) {
  if (status.ok()) return;
  fprintf(stderr, "smoke: %s: %s\n", what, status.ToString().c_str());
  exit(1);
}

std::unique_ptr<rocksdb::DB> Open(const rocksdb::Options& options,
                                  const std::string& path) {
#if ROCKSDB_MAJOR >= 11
  std::unique_ptr<rocksdb::DB> db;
  Check(rocksdb::DB::Open(options, path, &db), "open");
  return db;
#else
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, path, &db), "open");
  return std::unique_ptr<rocksdb::DB>(db);
#endif
}

void Fill(rocksdb::DB* db) {
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kKeys; ++i) {
      Check(db->Put(rocksdb::WriteOptions(), Key(i),
                    std::string(200, static_cast<char>('a' + i % 26))),
            "put");
    }
  }
  Check(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr),
        "compact");
}

void Verify(rocksdb::DB* db) {
  std::string value;
  for (int i = 0; i < kKeys; ++i) {
    Check(db->Get(rocksdb::ReadOptions(), Key(i), &value), "get");
    if (value != std::string(200, static_cast<char>('a' + i % 26))) {
      fprintf(stderr, "smoke: wrong value of %s\n", Key(i).c_str());
      exit(1);
    }
  }
}

void PrintProperty(const rocksdb::DB& db, const char* name) {
  char* text = nullptr;
  const int code = TributaryGetProperty(db.GetFileSystem(), name, &text);
  if (code != 0) {
    fprintf(stderr, "smoke: no property %s (%d)\n", name, code);
    exit(1);
  }
  fputs(text, stdout);
  free(text);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: smoke URI DIRECTORY\n");
    return 2;
  }
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 1 << 20;
  options.target_file_size_base = 1 << 20;
  options.enable_thread_tracking = true;

  rocksdb::Env* env = nullptr;
  std::shared_ptr<rocksdb::Env> guard;
  Check(rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", argv[1], &env,
                                    &guard),
        "environment");
  options.env = env;
  {
    const auto db = Open(options, argv[2]);
    Fill(db.get());
    Verify(db.get());
    PrintProperty(*db, "tributary.stats");
  }
  options.env = rocksdb::Env::Default();
  Verify(Open(options, argv[2]).get());
  return 0;
}
