// SPDX-License-Identifier: Apache-2.0
#include "tributary_options.h"

#include <tributary/signature.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <vector>

namespace {

struct Fields {
  uint32_t depth, open_depth;
  int signature;
  bool strict;
  char stats[TRIB_OPTION_TEXT_MAX];
};

using KeyValues = std::map<std::string, std::string>;

// Where RocksDB reads an Env, a ':' stands for the '='.
std::string WithEquals(std::string text) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const size_t mark = text.find_first_of("=:", begin);
    if (mark < comma) text[mark] = '=';
    begin = comma + 1;
  }
  return text;
}

// A key given twice in one place is an error; `values` of another place is not.
bool ParsePairs(const std::string& text, const char* where, KeyValues* values,
                std::string* error) {
  trib_error why = {};
  trib_options* options = nullptr;
  std::vector<char> rest(text.size() + 1);
  int code = trib_options_open(&options, WithEquals(text).c_str(), &why);
  if (code == 0) {
    code = trib_options_rest(options, rest.data(), rest.size(), &why);
  }
  trib_options_close(options);
  if (code != 0) {
    *error = std::string(where) + why.text;
    return false;
  }
  const std::string pairs = rest.data();
  for (size_t begin = 0; begin < pairs.size();) {
    const size_t comma = std::min(pairs.find(',', begin), pairs.size()),
                 equals = pairs.find('=', begin);
    (*values)[pairs.substr(begin, equals - begin)] =
        pairs.substr(equals + 1, comma - equals - 1);
    begin = comma + 1;
  }
  return true;
}

bool Fill(const Fields& fields, TributaryOptions* options, trib_error* why) {
  const std::string stats = fields.stats;
  options->depth = fields.depth;
  options->open_depth = fields.open_depth;
  options->signature =
      static_cast<TributaryOptions::Signature>(fields.signature);
  options->strict = fields.strict;
  if (stats == "log") {
    options->stats = TributaryOptions::Stats::kLog;
  } else if (stats == "none") {
    options->stats = TributaryOptions::Stats::kNone;
  } else if (stats == "stderr") {
    options->stats = TributaryOptions::Stats::kStderr;
  } else if (!stats.empty()) {
    options->stats = TributaryOptions::Stats::kFile;
    options->stats_path = stats;
  } else {
    trib_fail(why, -EINVAL,
              "option 'stats': '' is not valid; expected log, none, stderr or "
              "the path of a file");
    return false;
  }
  return true;
}

}  // namespace

const trib_option_spec kTributaryOptionSpecs[] = {
    {"depth", "12", nullptr, "frames in the signature of a write", 1,
     TRIB_SIGNATURE_DEPTH_MAX, offsetof(Fields, depth), TRIB_OPTION_U32},
    {"open_depth", "5", nullptr, "frames in the signature of who opens a file",
     1, TRIB_SIGNATURE_DEPTH_MAX, offsetof(Fields, open_depth),
     TRIB_OPTION_U32},
    {"signature", "auto", "auto|file|write",
     "auto: the WAL's of each write, other files' of who opened them", 0, 0,
     offsetof(Fields, signature), TRIB_OPTION_ENUM},
    {"stats", "log", nullptr,
     "where the figures go at the end: log, none, stderr or a path", 0, 0,
     offsetof(Fields, stats), TRIB_OPTION_TEXT},
    {"strict", "off", nullptr,
     "refuse to open when the trace or state file cannot be used", 0, 0,
     offsetof(Fields, strict), TRIB_OPTION_BOOL},
    {},
};
static_assert(TRIB_SIGNATURE_DEPTH_DEFAULT == 12, "the default above");

bool DropOption(const std::string& key, std::string* options) {
  const std::string searched = "," + *options;
  const size_t begin = searched.find("," + key + "=");
  if (begin == std::string::npos) return false;
  // Positions in *options: one less, so `begin` is where the key starts.
  const size_t comma = options->find(',', begin);
  if (comma != std::string::npos) {
    options->erase(begin, comma + 1 - begin);
  } else {
    options->erase(begin == 0 ? 0 : begin - 1);
  }
  return true;
}

bool ParseTributaryOptions(const std::string& uri, const char* environment,
                           TributaryOptions* options, std::string* error) {
  const size_t scheme = uri.find("://");
  size_t begin = scheme == std::string::npos ? uri.size() : scheme + 3;
  if (begin < uri.size() && uri[begin] == '?') ++begin;

  KeyValues values;
  if (!ParsePairs(environment == nullptr ? "" : environment,
                  "TRIBUTARY_OPTIONS: ", &values, error) ||
      !ParsePairs(uri.substr(begin), "", &values, error)) {
    return false;
  }
  TributaryOptions parsed;
  for (const auto& pair : values) {
    parsed.canonical +=
        (parsed.canonical.empty() ? "" : ",") + pair.first + "=" + pair.second;
  }
  Fields fields = {};
  trib_error why = {};
  trib_options* given = nullptr;
  std::vector<char> rest(parsed.canonical.size() + 1);
  int code = trib_options_open(&given, parsed.canonical.c_str(), &why);
  if (code == 0) {
    code = trib_options_take(given, kTributaryOptionSpecs, &fields, &why);
  }
  if (code == 0) {
    code = trib_options_rest(given, rest.data(), rest.size(), &why);
  }
  trib_options_close(given);
  if (code != 0 || !Fill(fields, &parsed, &why)) {
    *error = why.text;
    return false;
  }
  parsed.pipeline = rest.data();
  *options = parsed;
  return true;
}
