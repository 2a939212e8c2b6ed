// SPDX-License-Identifier: Apache-2.0
// RocksDB's LOG, with the figures of the pipeline as its last lines. Thread
// safety: the target's.
#pragma once

#include <memory>
#include <sstream>
#include <string>

#include "rocksdb/env.h"
#include "tributary_adapter.h"

class TributaryLogger : public ROCKSDB_NAMESPACE::Logger {
 public:
  using Logger = ROCKSDB_NAMESPACE::Logger;

  TributaryLogger(const std::shared_ptr<Logger>& target,
                  TributaryAdapter* adapter)
      : target_(target), adapter_(adapter) {}
  ~TributaryLogger() override { Close().PermitUncheckedError(); }

  // The base class filters by level and adds the prefix, then calls this.
  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    target_->Logv(format, arguments);
  }
  size_t GetLogFileSize() const override { return target_->GetLogFileSize(); }
  void Flush() override { target_->Flush(); }

 protected:
  ROCKSDB_NAMESPACE::Status CloseImpl() override {
    if (adapter_->options().stats != TributaryOptions::Stats::kNone) {
      std::istringstream lines(adapter_->StatusText());
      for (std::string line; std::getline(lines, line);) Line("%s", &line[0]);
    }
    return target_->Close();
  }

 private:
  void Line(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    target_->Logv(format, arguments);
    va_end(arguments);
  }

  const std::shared_ptr<Logger> target_;
  TributaryAdapter* const adapter_;
};
