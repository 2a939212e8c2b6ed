// SPDX-License-Identifier: Apache-2.0
// JSON for machines (docs/formats/), keys in their order, and the names that JSON and tables share. Pure functions,
// apart from the writers.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include <tributary/event.h>

namespace cli {

using Json = nlohmann::ordered_json;

constexpr int COMPARE_JSON_VERSION = 1;

Json json_of(const trib_context &who);

const char *file_kind_name(uint8_t kind);  // "sst", ...; "unknown"
const char *write_hint_name(uint8_t hint); // "short", ...; "not-set"
const char *event_kind_name(uint8_t kind); // "write", ...
const char *cause_name(uint8_t cause);     // "unlink", ...; "none"

// To a file (replaced in one step) or, for "" and "-", to standard output. Throws Failure.
void write_json(const Json &json, const std::string &path);
void write_text(const std::string &text, const std::string &path); // the same

} // namespace cli
