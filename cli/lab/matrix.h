// SPDX-License-Identifier: Apache-2.0
// `trib lab matrix`: every policy on every committed workload, under each destination of
// survivors and each victim policy. Runs are independent and go side by side on all cores; their
// order, and with it every figure but the nanoseconds, does not depend on how many.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/json.h"
#include "compare/compare.h"
#include "source/experiment.h"
#include "source/survey.h"

namespace cli {

struct MatrixOptions {
    std::vector<std::string> workloads; // files and folders; empty: those that come with trib
    std::vector<std::string> policies;  // as of compare; empty: every policy there is
    std::vector<std::string> gcs = {"same", "shared"}, victims = {"greedy", "cost-benefit"};
    std::vector<std::string> set; // "key=value,..." of every run; they win
    unsigned jobs = 0;
    bool quick = false; // two capacities of steady work instead of the experiment's
    std::optional<std::string> json;
};

struct MatrixWorkload {
    Experiment experiment;
    SourceSpec source;
    Survey survey;
    OptionText drive;
    double optimum_waf = -1; // in closed form; -1: there is none
};

// One policy on one workload, or why not. Of the oracle only the best of its settings.
struct MatrixCell {
    size_t workload = 0, row = 0;
    std::string gc, victim, options;
    bool own_gc = false; // the policy's own destination, beside those asked for
    std::string missing; // what keeps it from running here; the rest is then void
    double waf = 0, waf_steady = 0, place_ns = 0, died_ns = 0;
    uint64_t host_pages = 0, gc_pages = 0, metadata_pages = 0, erases = 0;
    uint64_t state_bytes = 0, capacity_bytes = 0;
    uint32_t signatures = 0, streams_used = 0, reclusterings = 0;
    std::vector<Sample> samples; // SERIES_POINTS of them
};

struct Matrix {
    std::vector<MatrixWorkload> workloads;
    std::vector<RowSpec> rows;
    std::vector<MatrixCell> cells; // by workload, victim, row, gc
    std::vector<std::string> gcs, victims;
    std::vector<std::string> failures; // runs that ended with an error: void, and reported
};

constexpr size_t SERIES_POINTS = 50;

Matrix run_matrix(const MatrixOptions &options); // throws Failure
void matrix(const MatrixOptions &options);       // runs, prints, writes; throws Failure

// NULL when that policy did not run there.
const MatrixCell *find_cell(const Matrix &matrix, size_t workload, size_t row, const std::string &gc,
                            const std::string &victim);
bool is_bound(const RowSpec &row); // needs the future: no rival of the others

std::string matrix_text(const Matrix &matrix, bool colours);
Json matrix_json(const Matrix &matrix);

} // namespace cli
