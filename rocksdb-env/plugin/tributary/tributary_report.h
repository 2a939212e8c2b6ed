// SPDX-License-Identifier: Apache-2.0
// A pipeline's figures as text. Pure functions, except TributaryWriteFile.
#pragma once

#include <tributary/status.h>

#include <string>

// Lines of at most 80 columns, for RocksDB's LOG or a terminal.
std::string TributaryStatusText(const trib_status& status,
                                uint64_t unseen_files);

// One JSON object on one line; the keys are the fields of trib_status and
// trib_signature_stats.
std::string TributaryStatsJson(const trib_status& status,
                               uint64_t unseen_files);

// On standard error by one write: its stream is the program's, and a first use
// of ours would give it an orientation. A sentence gets the usual head and end.
void TributarySay(const std::string& sentence);
void TributaryWriteError(const std::string& text);

// Replaces the file; a failure is reported on stderr and otherwise ignored.
void TributaryWriteFile(const std::string& path, const std::string& text);
