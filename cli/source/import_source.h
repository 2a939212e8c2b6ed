// SPDX-License-Identifier: Apache-2.0
// Public block traces as a source of events. Two passes: the first learns which addresses are
// written, once per file and options, the second packs them. Maps are shared by all sources.
#pragma once

#include <memory>
#include <string>

#include "source/source.h"

namespace cli {

// spec.format names a reader, or is "auto". Throws Failure: no reader knows the file.
std::unique_ptr<EventSource> open_import(const SourceSpec &spec);

// The reader that `path` looks like, "" if none does or it is one of our traces.
std::string guessed_format(const std::string &path);

// "msr|blkparse|...".
std::string import_formats();

} // namespace cli
