// SPDX-License-Identifier: Apache-2.0
// `trib lab reproduce`: experiments of the papers, at a size that fits a coffee break, judged by their
// shape. An experiment is a list of trials (work x pipeline) and a function that reads their
// results; all trials of all chosen experiments run side by side, each once. Policies keep their
// one default configuration, the paper's; what a figure varies is in the trial's text.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compare/run.h"

namespace cli {

struct Trial {
    std::string name; // within its experiment
    // A generator and its options, or a committed experiment (.ini) and options of its reader.
    std::string workload, work;
    std::string pipeline; // policy and drive; an experiment brings its own drive
};

constexpr double NO_VALUE = -1;
extern const char *const REPORTED; // as a shape: a figure to look at, that must do nothing

// One figure of ours beside the paper's.
struct Finding {
    std::string figure_case;
    double ours = NO_VALUE, paper = NO_VALUE; // paper: NO_VALUE where it prints none
    std::string shape;                        // what must hold, in words
    bool holds = false;
    std::string note;
};

class TrialResults {
  public:
    void put(const std::string &name, const RunResult *result) {
        results_[name] = result;
    }
    const RunResult &at(const std::string &name) const {
        return *results_.at(name);
    }
    double waf(const std::string &name) const { // steady
        return at(name).waf_steady;
    }
    double excess(const std::string &name) const {
        return waf(name) - 1;
    }

  private:
    std::map<std::string, const RunResult *> results_;
};

struct Reproduction {
    std::string name, paper, figure;
    std::string setting; // what stands in for what, and the scale
    std::vector<Trial> trials;
    std::function<std::vector<Finding>(const TrialResults &)> judge;
};

// By paper; reproduce.cpp joins them.
std::vector<Reproduction> reproductions_of_pcstream();
std::vector<Reproduction> reproductions_on_recordings();     // FAST'19 on real programs' traces
std::vector<Reproduction> reproductions_of_ftls();           // vStream-FTL and DStream
std::vector<Reproduction> reproductions_of_block_policies(); // FIOS, OFIOS and SepBIT
std::vector<Reproduction> negative_controls();

struct ReproduceOptions {
    std::string name; // of an experiment, or all
    std::optional<std::string> json;
    unsigned jobs = 0;
    bool names = false; // only list them
};

void reproduce(const ReproduceOptions &options); // throws Failure
std::string reproduction_names();                // for messages and completion

// ---- what the tables are made of ----

// A drive for work of `size_mib`: 90 % full at its peak, 30 % of that cold. `more`: preset,
// streams, superblock and so on.
std::string drive_for(unsigned size_mib, const std::string &more);
// The same without cold data, for work in place.
std::string full_drive_for(unsigned size_mib, const std::string &more);
// Options of a generator: its size, and so many times that size written after the fill.
std::string work_of(unsigned size_mib, double times, const std::string &more = "");

bool within(double value, double low, double high);
Finding finding(const std::string &figure_case, double ours, double paper, const std::string &shape, bool holds,
                const std::string &note = "");

} // namespace cli
