// SPDX-License-Identifier: Apache-2.0
// Results of runs as JSON: docs/formats/compare-json.md. Pure functions.
#pragma once

#include <string>

#include "common/json.h"
#include "compare/run.h"
#include "source/survey.h"

namespace cli {

Json json_of(const Histogram &lifetimes); // null when empty
Json json_trace(const std::string &path, const Survey &survey);
// Everything of a row that does not depend on the other rows.
void add_run(Json &row, const RunResult &run, const Dictionary &dictionary);

} // namespace cli
