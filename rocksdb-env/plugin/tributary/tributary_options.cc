// SPDX-License-Identifier: Apache-2.0
#include "tributary_options.h"

#include <tributary/signature.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace {

using KeyValues = std::map<std::string, std::string>;

// A key given twice in one place is an error; `values` of another place is not.
bool ParsePairs(const std::string& text, const char* where, KeyValues* values,
                std::string* error) {
  KeyValues found;
  for (size_t begin = 0; begin < text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string pair = text.substr(begin, comma - begin);
    const size_t equals = pair.find_first_of("=:");
    begin = comma + 1;
    if (equals == 0 || equals == std::string::npos) {
      *error = std::string(where) + ": \"" + pair + "\" is not key=value";
      return false;
    }
    const auto key = pair.substr(0, equals);
    if (!found.emplace(key, pair.substr(equals + 1)).second) {
      *error = std::string(where) + ": " + key + " is given twice";
      return false;
    }
  }
  for (const auto& pair : found) (*values)[pair.first] = pair.second;
  return true;
}

bool TakeDepth(const std::string& key, const std::string& value,
               unsigned* depth, std::string* error) {
  char* end = nullptr;
  const unsigned long number = strtoul(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || number < 1 ||
      number > TRIB_SIGNATURE_DEPTH_MAX) {
    *error = key + "=" + value + " is not a number of frames from 1 to " +
             std::to_string(TRIB_SIGNATURE_DEPTH_MAX);
    return false;
  }
  *depth = static_cast<unsigned>(number);
  return true;
}

bool TakeSignature(const std::string& value, TributaryOptions* options,
                   std::string* error) {
  using Signature = TributaryOptions::Signature;
  if (value == "auto") {
    options->signature = Signature::kAuto;
  } else if (value == "file") {
    options->signature = Signature::kFile;
  } else if (value == "write") {
    options->signature = Signature::kWrite;
  } else {
    *error = "signature=" + value + " is none of auto, file, write";
    return false;
  }
  return true;
}

bool TakeStrict(const std::string& value, bool* strict, std::string* error) {
  for (const char* yes : {"1", "on", "yes", "true"}) {
    if (value == yes) return *strict = true;
  }
  for (const char* no : {"0", "off", "no", "false"}) {
    if (value == no) return !(*strict = false);
  }
  *error = "strict=" + value + " is neither on nor off";
  return false;
}

bool TakeStats(const std::string& value, TributaryOptions* options,
               std::string* error) {
  using Stats = TributaryOptions::Stats;
  if (value == "log") {
    options->stats = Stats::kLog;
  } else if (value == "none") {
    options->stats = Stats::kNone;
  } else if (value == "stderr") {
    options->stats = Stats::kStderr;
  } else if (!value.empty()) {
    options->stats = Stats::kFile;
    options->stats_path = value;
  } else {
    *error = "stats= wants log, none, stderr or the path of a file";
    return false;
  }
  return true;
}

}  // namespace

const char kTributaryOptionKeys[] =
    "depth=1..32, open_depth=1..32, signature=auto|file|write, "
    "stats=log|none|stderr|PATH, "
    "strict=on|off";

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
                  "TRIBUTARY_OPTIONS", &values, error) ||
      !ParsePairs(uri.substr(begin), "URI", &values, error)) {
    return false;
  }
  TributaryOptions parsed;
  parsed.depth = TRIB_SIGNATURE_DEPTH_DEFAULT;
  for (const auto& pair : values) {
    const std::string text = pair.first + "=" + pair.second;
    parsed.canonical += (parsed.canonical.empty() ? "" : ",") + text;
    bool good = true;
    if (pair.first == "depth") {
      good = TakeDepth(pair.first, pair.second, &parsed.depth, error);
    } else if (pair.first == "open_depth") {
      good = TakeDepth(pair.first, pair.second, &parsed.open_depth, error);
    } else if (pair.first == "signature") {
      good = TakeSignature(pair.second, &parsed, error);
    } else if (pair.first == "stats") {
      good = TakeStats(pair.second, &parsed, error);
    } else if (pair.first == "strict") {
      good = TakeStrict(pair.second, &parsed.strict, error);
    } else {
      parsed.pipeline += (parsed.pipeline.empty() ? "" : ",") + text;
    }
    if (!good) return false;
  }
  *options = parsed;
  return true;
}
