// SPDX-License-Identifier: Apache-2.0
// Options of this adapter and how they meet those of the pipeline. One grammar
// (docs/options.md) and one parser, tributary/options.h: what this adapter does
// not know goes to the pipeline, which refuses unknown keys by naming the valid
// ones. Plain data.
#pragma once

#include <tributary/options.h>

#include <string>

struct TributaryOptions {
  // Whose call path is a write's signature?
  enum class Signature {
    kAuto,   // the WAL's: of each write; other files': of who opened them
    kFile,   // always of who opened the file
    kWrite,  // always of each write
  };
  // Where the figures go when the process ends.
  enum class Stats { kLog, kNone, kStderr, kFile };

  // Frames per signature, 1..TRIB_SIGNATURE_DEPTH_MAX. Who opens a file differs
  // within 2 frames (5 with blob files) and more only split one writer by the
  // program around it; a write needs 8 to 10 to know flush from compaction.
  unsigned depth = 0;
  unsigned open_depth = 5;
  Signature signature = Signature::kAuto;
  Stats stats = Stats::kLog;
  bool strict = false;     // rather refuse to open than go on with less
  std::string stats_path;  // kFile only
  std::string pipeline;    // options for trib_pipeline_open
  std::string canonical;  // all of them, sorted by key: the pipeline's identity
};

// Reads the options of `uri` ("tributary://key=value,..." or with a '?' before
// the first key) over those of `environment` (may be null). A key in both: the
// URI's value counts. A ':' may stand for the '=': where RocksDB reads an Env
// (--env_uri), it takes any text with a '=' for options of the Env it has.
// Returns false and one sentence in *error.
bool ParseTributaryOptions(const std::string& uri, const char* environment,
                           TributaryOptions* options, std::string* error);

// The same options without one key, to go on when what it names fails. Returns
// false when the key was not there.
bool DropOption(const std::string& key, std::string* options);

// The keys that ParseTributaryOptions takes for itself.
extern const trib_option_spec kTributaryOptionSpecs[];
