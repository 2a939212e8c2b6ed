// SPDX-License-Identifier: Apache-2.0
#include "tributary_report.h"

#include <tributary/signature.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace {

__attribute__((format(printf, 2, 3))) void AppendLine(std::string* text,
                                                      const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  *text += line;
  *text += '\n';
}

double Mebibytes(uint64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

unsigned long long Number(uint64_t value) { return value; }

class JsonObject {
 public:
  void Add(const char* key, uint64_t value) {
    Key(key);
    text_ += std::to_string(value);
  }
  void Add(const char* key, double value) {
    char number[40];
    snprintf(number, sizeof number, "%.9g", value);
    Key(key);
    text_ += number;
  }
  void Add(const char* key, const char* value) {
    Key(key);
    text_ += '"';
    for (const char* c = value; *c != '\0'; ++c) {
      if (*c == '"' || *c == '\\') text_ += '\\';
      text_ += static_cast<unsigned char>(*c) < ' ' ? ' ' : *c;
    }
    text_ += '"';
  }
  std::string Finish() const { return "{" + text_ + "}\n"; }

 private:
  void Key(const char* key) {
    if (!text_.empty()) text_ += ", ";
    text_ += std::string("\"") + key + "\": ";
  }
  std::string text_;
};

}  // namespace

std::string TributaryStatusText(const trib_status& status,
                                uint64_t unseen_files) {
  trib_signature_stats paths = {};
  trib_signature_statistics(&paths);
  std::string text;
  AppendLine(&text, "tributary %s: policy %s, drive %s, placement %s",
             trib_version(), status.policy, status.drive,
             trib_placement_name(status.placement));
  AppendLine(&text, "  because       %s", status.evidence);
  AppendLine(&text, "  written       %.1f MiB in %llu events",
             Mebibytes(status.clock_bytes), Number(status.events));
  AppendLine(&text,
             "  not seen      %llu events (%.1f MiB) dropped, %llu files",
             Number(status.events_dropped), Mebibytes(status.bytes_dropped),
             Number(unseen_files));
  AppendLine(&text, "  live          %.1f MiB in %llu runs (%llu dropped)",
             Mebibytes(status.live_bytes), Number(status.live_runs),
             Number(status.runs_dropped));
  AppendLine(&text,
             "  learned       %u writers (%u evicted) in %u streams, "
             "%u clusterings",
             status.attributes, status.attributes_evicted, status.streams_used,
             status.reclusterings);
  AppendLine(&text,
             "  call paths    %llu signatures, %llu captures, %llu missed the "
             "memo",
             Number(paths.signatures),
             Number(paths.memo_hits + paths.memo_misses),
             Number(paths.memo_misses));
  if (status.waf > 0) {
    AppendLine(&text,
               "  drive         WAF %.3f: %llu host pages, %llu copied, %llu "
               "erases",
               status.waf, Number(status.host_pages), Number(status.gc_pages),
               Number(status.erases));
  }
  AppendLine(&text, "  errors        drive %llu, trace %llu (%.1f MiB traced)",
             Number(status.drive_errors), Number(status.trace_errors),
             Mebibytes(status.trace_bytes));
  if (status.trace_stopped[0] != '\0') {
    AppendLine(&text, "  trace         stopped: %s", status.trace_stopped);
  }
  return text;
}

std::string TributaryStatsJson(const trib_status& status,
                               uint64_t unseen_files) {
  trib_signature_stats paths = {};
  trib_signature_statistics(&paths);
  JsonObject json;
  json.Add("version", trib_version());
  json.Add("policy", status.policy);
  json.Add("drive", status.drive);
  json.Add("placement", trib_placement_name(status.placement));
  json.Add("evidence", status.evidence);
  json.Add("clock_bytes", status.clock_bytes);
  json.Add("events", status.events);
  json.Add("events_dropped", status.events_dropped);
  json.Add("bytes_dropped", status.bytes_dropped);
  json.Add("unseen_files", unseen_files);
  json.Add("live_runs", status.live_runs);
  json.Add("live_bytes", status.live_bytes);
  json.Add("runs_dropped", status.runs_dropped);
  json.Add("attributes", uint64_t{status.attributes});
  json.Add("attributes_evicted", uint64_t{status.attributes_evicted});
  json.Add("reclusterings", uint64_t{status.reclusterings});
  json.Add("streams_used", uint64_t{status.streams_used});
  json.Add("trace_bytes", status.trace_bytes);
  json.Add("trace_errors", status.trace_errors);
  json.Add("trace_stopped", status.trace_stopped);
  json.Add("drive_errors", status.drive_errors);
  json.Add("host_pages", status.host_pages);
  json.Add("gc_pages", status.gc_pages);
  json.Add("erases", status.erases);
  json.Add("waf", status.waf);
  json.Add("signatures", paths.signatures);
  json.Add("signatures_dropped", paths.signatures_dropped);
  json.Add("memo_hits", paths.memo_hits);
  json.Add("memo_misses", paths.memo_misses);
  json.Add("memo_rejected", paths.memo_rejected);
  json.Add("unwind_failures", paths.unwind_failures);
  return json.Finish();
}

void TributarySay(const std::string& sentence) {
  TributaryWriteError("tributary: " + sentence + "\n");
}

void TributaryWriteError(const std::string& text) {
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, text.data(), text.size());
}

void TributaryWriteFile(const std::string& path, const std::string& text) {
  FILE* const file = fopen(path.c_str(), "we");
  bool good = file != nullptr;
  if (good) {
    good = fwrite(text.data(), 1, text.size(), file) == text.size();
    good = fclose(file) == 0 && good;
  }
  if (!good) {
    TributarySay(path + ": " + strerror(errno));
  }
}
