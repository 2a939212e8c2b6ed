// SPDX-License-Identifier: Apache-2.0
// Files through the RocksDB adapter, and what it reports of them, without RocksDB's headers. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tributary/event.h>

namespace rocksdb_files {

struct File;

// Reported since the last call.
std::vector<trib_event> take();

// nullptr: refused.
File *create(const std::string &path);
File *reopen(const std::string &path);
File *reuse(const std::string &path, const std::string &old_path);
void destroy(File *file);

// True: done.
bool append(File *file, uint64_t bytes);
bool append_at(File *file, uint64_t offset, uint64_t bytes);
bool truncate(File *file, uint64_t size);
bool sync(File *file);
bool range_sync(File *file, uint64_t offset, uint64_t bytes);
void hint(File *file, unsigned hint); // enum trib_write_hint
bool close(File *file);
bool remove(const std::string &path);
bool rename(const std::string &path, const std::string &new_path);
bool truncate_path(const std::string &path, uint64_t size);

} // namespace rocksdb_files
