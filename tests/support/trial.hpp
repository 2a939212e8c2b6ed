// SPDX-License-Identifier: Apache-2.0
// A trial that closes itself, for tests that observe what the flow does.
#pragma once
#include "support/catch.hpp"

#include <string>

#include "wrap/trial.h"

namespace trib_test {

class Trial {
  public:
    explicit Trial(const std::string &options) {
        trib_error error{};
        rc_ = trib_trial_open(&trial_, options.c_str(), &error);
        error_ = error.text;
    }
    ~Trial() {
        trib_trial_close(trial_);
    }
    Trial(const Trial &) = delete;
    Trial &operator=(const Trial &) = delete;

    int rc() const {
        return rc_;
    }
    const std::string &error() const {
        return error_;
    }
    trib_pipeline *get() const {
        return trib_trial_pipeline(trial_);
    }
    trib_trial *trial() const {
        return trial_;
    }
    void observe(const trib_observer &observer) {
        trib_trial_observe(trial_, &observer);
    }
    int process(const trib_event &event) {
        return trib_trial_process(trial_, &event);
    }
    trib_status status() const {
        trib_status status{};
        trib_pipeline_status(get(), &status);
        return status;
    }

  private:
    trib_trial *trial_ = nullptr;
    int rc_ = 0;
    std::string error_;
};

} // namespace trib_test
