// SPDX-License-Identifier: Apache-2.0
#include "tributary_adapter.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tributary_report.h"

namespace {

// Never destroyed: static destructors of the engine may still write files.
struct Adapters {
  std::mutex mutex;
  std::map<std::string, TributaryAdapter*> by_options;
  TributaryAdapter* first = nullptr;
};

Adapters* AllAdapters() {
  static auto* adapters = new Adapters;
  return adapters;
}

void CloseAllAdapters() {
  Adapters* const adapters = AllAdapters();
  std::lock_guard<std::mutex> lock(adapters->mutex);
  for (const auto& adapter : adapters->by_options) adapter.second->Close();
}

trib_client* Join(const std::string& options, int* code, trib_error* why) {
  trib_client* client = nullptr;
  char address[128];
  *code =
      trib_client_start_daemon(options.c_str(), address, sizeof address, why);
  if (*code == 0) *code = trib_client_open(&client, address, why);
  if (*code == 0 && (*code = trib_client_join(client)) != 0) {
    snprintf(why->text, sizeof why->text, "the daemon at %s: %s", address,
             strerror(-*code));
    trib_client_close(client);
    client = nullptr;
  }
  return client;
}

// A wrong option is an error, and so is too little memory. A trace or state
// file that cannot be used is one only with strict=1: else the engine goes on
// without it, a line says so, and *in_force loses it.
trib_client* StartDaemon(const TributaryOptions& options, std::string* in_force,
                         std::string* error) {
  trib_error why = {};
  int code = 0;
  trib_client* client = Join(options.pipeline, &code, &why);
  const bool is_about_a_file = code != -EINVAL && code != -ENOMEM;
  const std::vector<std::vector<const char*>> sacrifices = {
      {"trace"}, {"state"}, {"trace", "state"}};
  for (const auto& keys : sacrifices) {
    if (code == 0 || !is_about_a_file || options.strict) break;
    std::string fewer = options.pipeline, left = *in_force, named;
    bool had_all = true;
    for (const char* key : keys) {
      had_all = DropOption(key, &fewer) && DropOption(key, &left) && had_all;
      named += std::string(named.empty() ? "" : " and ") + key + "=";
    }
    if (!had_all) continue;
    trib_error ignored = {};
    client = Join(fewer, &code, &ignored);
    if (code != 0) continue;
    TributarySay(std::string(why.text) + "; going on without " + named);
    *in_force = left;
  }
  if (code == 0) return client;
  trib_options_add_valid(&why, kTributaryOptionSpecs);
  *error = std::string("tributary: ") + why.text;
  return nullptr;
}

}  // namespace

TributaryAdapter::TributaryAdapter(const TributaryOptions& options,
                                   const std::string& in_force,
                                   trib_client* client)
    : options_(options),
      in_force_(in_force),
      process_(getpid()),
      client_(client) {}

TributaryAdapter* TributaryAdapter::Open(const std::string& uri,
                                         std::string* error) {
  TributaryOptions options;
  if (!ParseTributaryOptions(uri, secure_getenv("TRIBUTARY_OPTIONS"), &options,
                             error)) {
    *error = "tributary: " + *error;
    return nullptr;
  }
  Adapters* const adapters = AllAdapters();
  std::lock_guard<std::mutex> lock(adapters->mutex);
  const auto known = adapters->by_options.find(options.canonical);
  if (known != adapters->by_options.end()) return known->second;

  std::string in_force = options.canonical;
  trib_client* const client = StartDaemon(options, &in_force, error);
  if (client == nullptr) return nullptr;
  auto* const adapter = new TributaryAdapter(options, in_force, client);
  if (adapters->by_options.empty()) {
    adapters->first = adapter;
    atexit(CloseAllAdapters);
  }
  adapters->by_options[options.canonical] = adapter;
  return adapter;
}

TributaryAdapter* TributaryAdapter::First() {
  Adapters* const adapters = AllAdapters();
  std::lock_guard<std::mutex> lock(adapters->mutex);
  return adapters->first;
}

void TributaryAdapter::Report(const trib_event& event) {
  trib_event piece = event;
  const bool is_bounded =
      event.kind == TRIB_EVENT_WRITE || event.kind == TRIB_EVENT_READ;
  for (; is_bounded && piece.length_bytes > TRIB_EVENT_BYTES_MAX;
       piece.offset_bytes += TRIB_EVENT_BYTES_MAX) {
    trib_event first = piece;
    first.length_bytes = TRIB_EVENT_BYTES_MAX;
    trib_client_submit(client_, &first);
    piece.length_bytes -= TRIB_EVENT_BYTES_MAX;
  }
  trib_client_submit(client_, &piece);
}

void TributaryAdapter::Opened(uint64_t file) {
  std::lock_guard<std::mutex> lock(open_mutex_);
  ++open_files_[file].writers;
}

void TributaryAdapter::Lost(uint64_t file, trib_cause cause) {
  {
    std::lock_guard<std::mutex> lock(open_mutex_);
    const auto found = open_files_.find(file);
    if (found != open_files_.end()) found->second.lost = true;
  }
  ReportDeath(file, 0, cause);
}

void TributaryAdapter::Closing(uint64_t file) {
  bool lost = false;
  {
    std::lock_guard<std::mutex> lock(open_mutex_);
    const auto found = open_files_.find(file);
    if (found != open_files_.end() && --found->second.writers == 0) {
      lost = found->second.lost;
      open_files_.erase(found);
    }
  }
  if (lost) ReportDeath(file, 0, TRIB_CAUSE_UNLINK);
}

void TributaryAdapter::ReportDeath(uint64_t file, uint64_t offset,
                                   trib_cause cause) {
  trib_event event = {};
  event.file = file;
  event.offset_bytes = offset;
  event.length_bytes = TRIB_LENGTH_TO_END;
  event.who.io_activity = TRIB_ACTIVITY_UNKNOWN;
  event.who.level = TRIB_LEVEL_UNKNOWN;
  event.stream = TRIB_STREAM_UNDECIDED;
  event.kind = TRIB_EVENT_DEATH;
  event.cause = static_cast<uint8_t>(cause);
  Report(event);
}

void TributaryAdapter::NameFile(uint64_t file, const std::string& path) {
  if (!trib_client_name_file(client_, file, path.c_str()))
    trib_client_lose_name(client_);
}

bool TributaryAdapter::Status(trib_status* status) {
  return trib_client_status(client_, status) == 0;
}

std::string TributaryAdapter::StatusText() {
  trib_status status = {};
  if (!Status(&status)) return "tributary: the daemon does not answer\n";
  return TributaryStatusText(status, unseen_files_.load());
}

std::string TributaryAdapter::StatsJson() {
  trib_status status = {};
  if (!Status(&status)) return "{\"closed\": true}\n";
  return TributaryStatsJson(status, unseen_files_.load());
}

void TributaryAdapter::Close() {
  if (getpid() != process_) return;
  if (options_.stats == TributaryOptions::Stats::kStderr) {
    TributaryWriteError(StatusText());
  }
  if (options_.stats == TributaryOptions::Stats::kFile) {
    TributaryWriteFile(options_.stats_path, StatsJson());
  }
}
