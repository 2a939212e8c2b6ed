// SPDX-License-Identifier: Apache-2.0
// What a drive says about each of its superblocks: docs/formats/drive-dump.md.
#pragma once

#include <string>

#include <tributary/pipeline.h>

namespace cli {

// Before work that takes long: throws Failure if `path` names no file or there is no drive.
void check_dump(const std::string &path, bool has_drive);
void dump_drive(trib_pipeline *pipeline, const std::string &path); // throws Failure

} // namespace cli
