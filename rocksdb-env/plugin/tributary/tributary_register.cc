// SPDX-License-Identifier: Apache-2.0
// "tributary://" in RocksDB's object registry, and the C entry points.
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/utilities/object_registry.h"
#include "rocksdb/version.h"
#include "tributary_adapter.h"
#include "tributary_file_system.h"
#include "tributary_layout.h"
#include "tributary_report.h"
#include "tributary_rocksdb.h"

using ROCKSDB_NAMESPACE::Env;
using ROCKSDB_NAMESPACE::FileSystem;
using ROCKSDB_NAMESPACE::ObjectLibrary;

namespace {

FileSystem* MakeFileSystem(const std::string& uri,
                           std::unique_ptr<FileSystem>* guard,
                           std::string* error) {
  TributaryAdapter* const adapter = TributaryAdapter::Open(uri, error);
  if (adapter == nullptr) return nullptr;
  guard->reset(new TributaryFileSystem(FileSystem::Default(), adapter));
  return guard->get();
}

// One Env per adapter for the life of the process, and an empty guard: RocksDB
// accepts such an object wherever it wants an Env, also from an options string
// ("env=tributary://"), where it refuses one that somebody owns.
Env* FindEnv(const std::string& uri, std::unique_ptr<Env>* /*guard*/,
             std::string* error) {
  static std::mutex mutex;
  static auto* const envs = new std::map<TributaryAdapter*, Env*>;
  TributaryAdapter* const adapter = TributaryAdapter::Open(uri, error);
  if (adapter == nullptr) return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  Env*& env = (*envs)[adapter];
  if (env == nullptr) {
    env = NewCompositeEnv(std::make_shared<TributaryFileSystem>(
                              FileSystem::Default(), adapter))
              .release();
  }
  return env;
}

// The classes derived from here are laid out for one minor version.
bool SameRocksDB() {
  const std::string built =
      std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR);
  const std::string found = ROCKSDB_NAMESPACE::GetRocksVersionAsString(false);
  if (built == found) return true;
  TributarySay("this plugin was built for RocksDB " + built + ", but RocksDB " +
               found + " is running; tributary:// stays unknown");
  return false;
}

bool SameClasses() {
  std::string why;
  if (TributarySameLayout(&why)) return true;
  const std::string built =
      std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR);
  TributarySay("this plugin was built for another RocksDB " + built +
               " than is running (" + why + "); tributary:// stays unknown");
  return false;
}

int Register(ObjectLibrary& library) {
  if (!SameRocksDB() || !SameClasses()) return 0;
  auto pattern = ObjectLibrary::PatternEntry("tributary", false);
  pattern.AddSeparator("://", false);
  library.AddFactory<FileSystem>(pattern, MakeFileSystem);
  library.AddFactory<Env>(pattern, FindEnv);
  return 2;
}

}  // namespace

extern "C" {

// Named by -u where the plugin is part of a static library, so that the linker
// keeps this file and with it the registration.
__attribute__((visibility("default"))) extern const int tributary_rocksdb_reg;
const int tributary_rocksdb_reg = Register(*ObjectLibrary::Default());

// <plugin>_FUNC of RocksDB's build: called once for the library of built-ins.
__attribute__((visibility("default"))) int RegisterTributary(
    ObjectLibrary& library, const std::string& /*argument*/) {
  return Register(library);
}

int TributaryGetProperty(const void* file_system, const char* name,
                         char** text) {
  TributaryAdapter* const adapter =
      file_system == nullptr ? TributaryAdapter::First()
                             : TributaryFileSystem::AdapterOf(file_system);
  if (adapter == nullptr || name == nullptr) return -ENOENT;
  std::string value;
  if (strcmp(name, "tributary.status") == 0) {
    value = adapter->StatusText();
  } else if (strcmp(name, "tributary.stats") == 0) {
    value = adapter->StatsJson();
  } else if (strcmp(name, "tributary.options") == 0) {
    value = adapter->in_force();
  } else {
    return -ENOENT;
  }
  char* const copy = strdup(value.c_str());
  if (copy == nullptr) return -ENOMEM;
  *text = copy;
  return 0;
}

}  // extern "C"
