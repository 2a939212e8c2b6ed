// SPDX-License-Identifier: Apache-2.0
// The matrix for people, in 80 columns: policies down, workloads across, one table per destination
// of survivors and victim policy; then what each policy costs.
#include "lab/matrix.h"

#include <algorithm>
#include <fmt/format.h>
#include <tributary/policy.h>

#include "common/table.h"
#include "lab/cluster_cost.h"

namespace cli {

namespace {

constexpr size_t CELL_COLUMNS = 6; // "1.234*"
constexpr double TERABYTE = 1e12;

// Lowest and highest steady WAF of a workload among the policies that could be used online.
struct Range {
    double best = 0, worst = 0;
};

Range range_of(const Matrix &matrix, size_t workload, const std::string &gc, const std::string &victim) {
    Range range;
    for (size_t row = 0; row < matrix.rows.size(); row++) {
        const MatrixCell *cell = find_cell(matrix, workload, row, gc, victim);
        if (!cell || cell->waf_steady <= 0 || is_bound(matrix.rows[row]))
            continue;
        range.best = range.best > 0 ? std::min(range.best, cell->waf_steady) : cell->waf_steady;
        range.worst = std::max(range.worst, cell->waf_steady);
    }
    return range;
}

std::string waf_text(double waf) {
    return fixed(waf, waf < 9.9995 ? 3 : 2);
}

std::string cell_text(const MatrixCell *cell, const Range &range, bool bound) {
    if (!cell)
        return "";
    if (cell->waf_steady <= 0)
        return "- ";
    std::string text = waf_text(cell->waf_steady);
    bool differ = waf_text(range.best) != waf_text(range.worst) && !bound;
    if (differ && text == waf_text(range.best))
        return text + "*";
    return text + (differ && text == waf_text(range.worst) ? "!" : " ");
}

// Workloads that fit beside the names of the policies.
std::vector<std::vector<size_t>> pages_of(const Matrix &matrix, size_t names_columns) {
    std::vector<std::vector<size_t>> pages;
    size_t left = 0;
    for (size_t i = 0; i < matrix.workloads.size(); i++) {
        size_t columns = 2 + std::max(CELL_COLUMNS, matrix.workloads[i].experiment.name.size());
        if (columns > left) {
            pages.emplace_back();
            left = TEXT_COLUMNS - names_columns;
        }
        left -= std::min(left, columns);
        pages.back().push_back(i);
    }
    return pages;
}

bool anything(const Matrix &matrix, const std::vector<size_t> &workloads, size_t row, const std::string &gc,
              const std::string &victim) {
    return std::any_of(workloads.begin(), workloads.end(),
                       [&](size_t workload) { return find_cell(matrix, workload, row, gc, victim) != nullptr; });
}

bool stands_out(const RowSpec &row) {
    const trib_policy *policy = trib_policy_find(row.policy.c_str(), nullptr);
    for (const trib_policy_variant *v = policy ? policy->variants : nullptr; v && v->options; v++)
        if (v->use & TRIB_VARIANT_STANDS_OUT)
            return true;
    return false;
}

std::string page_text(const Matrix &matrix, const std::vector<size_t> &workloads, const std::string &gc,
                      const std::string &victim, bool colours) {
    std::vector<Column> columns = {{"policy", Align::left, true}};
    if (gc == "own")
        columns.push_back({"gc", Align::left});
    for (size_t workload : workloads)
        columns.push_back({matrix.workloads[workload].experiment.name + " "});
    Table table(columns);
    bool bounds = false;
    for (size_t row = 0; row < matrix.rows.size(); row++) {
        if (!anything(matrix, workloads, row, gc, victim))
            continue;
        if (!bounds && is_bound(matrix.rows[row])) {
            bounds = true;
            table.rule();
        }
        std::vector<std::string> cells = {matrix.rows[row].label};
        const MatrixCell *first = find_cell(matrix, workloads.front(), row, gc, victim);
        if (gc == "own")
            cells.push_back(first ? first->gc : "");
        for (size_t workload : workloads)
            cells.push_back(cell_text(find_cell(matrix, workload, row, gc, victim),
                                      range_of(matrix, workload, gc, victim), is_bound(matrix.rows[row])));
        table.add(std::move(cells), stands_out(matrix.rows[row]));
    }
    std::vector<std::string> theory = {"optimum (theory)"};
    if (gc == "own")
        theory.push_back("");
    for (size_t workload : workloads) {
        double waf = matrix.workloads[workload].optimum_waf;
        theory.push_back(waf > 0 ? waf_text(waf) + " " : "");
    }
    if (std::any_of(theory.begin() + 1, theory.end(), [](const auto &t) { return !t.empty(); }))
        table.add(std::move(theory));
    return table.text(colours);
}

double median(std::vector<double> values) {
    if (values.empty())
        return 0;
    auto middle = values.begin() + static_cast<long>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// What a policy keeps grows with the drive or with the call paths, as it decides by one or the
// other.
std::string cost_text(const Matrix &matrix, bool colours) {
    Table table({{"policy", Align::left, true}, {"ns/place"}, {"ns/death"}, {"state"}, {"per TB"}, {"per signature"}});
    for (size_t row = 0; row < matrix.rows.size(); row++) {
        const trib_policy *policy = trib_policy_find(matrix.rows[row].policy.c_str(), nullptr);
        std::vector<double> place, died, state, per_terabyte, per_signature;
        for (const MatrixCell &cell : matrix.cells) {
            if (cell.row != row || cell.waf <= 0)
                continue;
            auto bytes = static_cast<double>(cell.state_bytes);
            place.push_back(cell.place_ns);
            died.push_back(cell.died_ns);
            state.push_back(bytes);
            if (policy->needs & TRIB_NEEDS_LBA)
                per_terabyte.push_back(bytes / static_cast<double>(cell.capacity_bytes) * TERABYTE);
            if ((policy->needs & TRIB_NEEDS_SIGNATURE) && cell.signatures)
                per_signature.push_back(bytes / cell.signatures);
        }
        if (place.empty())
            continue;
        auto bytes = [](const std::vector<double> &values) {
            return values.empty() ? std::string("-") : size_text(median(values));
        };
        table.add({matrix.rows[row].label, fixed(median(place), 0), median(died) > 0 ? fixed(median(died), 0) : "-",
                   bytes(state), bytes(per_terabyte), bytes(per_signature)});
    }
    return table.text(colours);
}

std::string cluster_text(bool colours) {
    std::vector<Column> columns = {{"clustering", Align::left}};
    for (uint32_t count : CLUSTER_COUNTS)
        columns.push_back({grouped(count)});
    Table table(columns);
    std::vector<std::string> cells;
    for (const ClusterCost &cost : cluster_costs()) {
        if (cost.signatures == CLUSTER_COUNTS[0])
            cells = {cost.method};
        cells.push_back(cost.milliseconds < 1 ? fixed(cost.milliseconds * 1000, 1) + " us"
                                              : fixed(cost.milliseconds, 1) + " ms");
        if (cells.size() == columns.size())
            table.add(cells);
    }
    return table.text(colours);
}

// One note per policy and reason, with the workloads it is about.
std::string notes_text(const Matrix &matrix) {
    std::vector<std::pair<std::string, std::vector<std::string>>> notes;
    for (const MatrixCell &cell : matrix.cells) {
        if (cell.missing.empty())
            continue;
        std::string what = matrix.rows[cell.row].label + " " + cell.missing;
        const std::string &where = matrix.workloads[cell.workload].experiment.name;
        auto note = std::find_if(notes.begin(), notes.end(), [&](const auto &each) { return each.first == what; });
        if (note == notes.end())
            note = notes.insert(notes.end(), {what, {}});
        if (note->second.empty() || note->second.back() != where)
            note->second.push_back(where);
    }
    std::string text;
    for (const auto &[what, where] : notes)
        text += wrapped("- ", fmt::format("{} ({})", what, fmt::join(where, ", ")));
    return text;
}

std::string workloads_text(const Matrix &matrix) {
    std::string text;
    for (const MatrixWorkload &workload : matrix.workloads)
        text += wrapped("", fmt::format("{}: {}; {} written, {} live at peak", workload.experiment.name,
                                        workload.experiment.summary,
                                        size_text(static_cast<double>(workload.survey.host_bytes)),
                                        size_text(static_cast<double>(workload.survey.peak_live_bytes))));
    return text;
}

} // namespace

std::string matrix_text(const Matrix &matrix, bool colours) {
    size_t names = 16;
    for (const RowSpec &row : matrix.rows)
        names = std::max(names, row.label.size());
    std::string text = workloads_text(matrix);
    std::vector<std::string> gcs = matrix.gcs;
    if (std::any_of(matrix.cells.begin(), matrix.cells.end(), [](const MatrixCell &cell) { return cell.own_gc; }))
        gcs.push_back("own");
    for (const std::string &victim : matrix.victims)
        for (const std::string &gc : gcs) {
            text += fmt::format("\nSteady WAF, gc={}, victim={}\n", gc == "own" ? "each policy's own" : gc, victim);
            for (const auto &page : pages_of(matrix, names + (gc == "own" ? 10 : 0)))
                text += page_text(matrix, page, gc, victim, colours);
        }
    text += wrapped("", "Steady: second half of the host writes. * lowest and ! highest of the "
                        "policies; oracle knows the future, the optimum is theory (nobody knows "
                        "the future). - does not run:");
    text += notes_text(matrix);
    text += "\nWhat it costs (medians over all runs; memory at the end of a run)\n";
    text += cost_text(matrix, colours);
    text += "\nTime to group so many signatures into 8 streams\n";
    return text + cluster_text(colours);
}

} // namespace cli
