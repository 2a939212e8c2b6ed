// SPDX-License-Identifier: Apache-2.0
// A pipeline that closes itself, for tests.
#pragma once
#include "support/catch.hpp"

#include <string>

#include <tributary/pipeline.h>

namespace trib_test {

// A drive with 1 MiB superblocks: small enough that garbage collection works hard within a second.
inline std::string Drive(const char *capacity) {
    return std::string("drive=emulated,op=20,superblock=1M,latency=off,capacity=") + capacity;
}

class Pipeline {
  public:
    explicit Pipeline(const std::string &options, bool live = false) {
        trib_error error{};
        rc_ = trib_pipeline_open(&pipeline_, options.c_str(), live, &error);
        error_ = error.text;
    }
    ~Pipeline() {
        close();
    }
    Pipeline(const Pipeline &) = delete;
    Pipeline &operator=(const Pipeline &) = delete;

    int close() {
        trib_pipeline *pipeline = pipeline_;
        pipeline_ = nullptr;
        return trib_pipeline_close(pipeline);
    }
    int rc() const {
        return rc_;
    }
    const std::string &error() const {
        return error_;
    }
    trib_pipeline *get() const {
        return pipeline_;
    }
    trib_status status() const {
        trib_status status{};
        trib_pipeline_status(pipeline_, &status);
        return status;
    }

  private:
    trib_pipeline *pipeline_ = nullptr;
    int rc_ = 0;
    std::string error_;
};

} // namespace trib_test
