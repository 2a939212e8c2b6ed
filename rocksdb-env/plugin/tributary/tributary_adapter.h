// SPDX-License-Identifier: Apache-2.0
// The adapter between RocksDB and one daemon.
//
// An adapter lives from the first use of its options to the end of the process,
// so that file systems, files and loggers may come and go, in any order, on any
// thread, also while static objects are destroyed.
//
// Thread safety: everything may be called from any thread. Report() never
// blocks, never allocates and never fails.
#pragma once

#include <tributary/client.h>

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

#include "tributary_options.h"

class TributaryAdapter {
 public:
  // The adapter of these options; opened on first use. nullptr, and one
  // sentence in *error, when an option is wrong or there is no daemon to be
  // had.
  static TributaryAdapter* Open(const std::string& uri, std::string* error);

  // The adapter that was opened first, or nullptr.
  static TributaryAdapter* First();

  TributaryAdapter(const TributaryAdapter&) = delete;
  TributaryAdapter& operator=(const TributaryAdapter&) = delete;

  const TributaryOptions& options() const { return options_; }

  // As asked, without a trace or state file that could not be used.
  const std::string& in_force() const { return in_force_; }

  // Hands the event to the daemon.
  void Report(const trib_event& event);

  // A file may lose its last name while it is open, and be written on: what it
  // holds lives until it is closed. Lost() tells that; the last Closing(),
  // called before the descriptor goes, reports that death. Not for every write.
  void Opened(uint64_t file);
  void Lost(uint64_t file, trib_cause cause);
  void Closing(uint64_t file);

  void ReportDeath(uint64_t file, uint64_t offset, trib_cause cause);
  void NameFile(uint64_t file, const std::string& path);

  // A file that cannot be identified goes unseen; say how many there were.
  void CountUnseenFile() {
    unseen_files_.fetch_add(1, std::memory_order_relaxed);
  }

  // Accounts everything reported so far, then tells. Lines for people, each
  // ending in a newline; one JSON object.
  std::string StatusText();
  std::string StatsJson();

  // Reports the figures as the option `stats` asks. Events go on being taken.
  void Close();

 private:
  struct OpenFile {
    uint32_t writers = 0;
    bool lost = false;
  };

  TributaryAdapter(const TributaryOptions& options, const std::string& in_force,
                   trib_client* client);

  bool Status(trib_status* status);

  const TributaryOptions options_;
  const std::string in_force_;
  const int process_;  // figures are reported by this one, not by its children
  trib_client* const client_;
  std::mutex open_mutex_;
  std::unordered_map<uint64_t, OpenFile> open_files_;
  std::atomic<uint64_t> unseen_files_{0};
};
