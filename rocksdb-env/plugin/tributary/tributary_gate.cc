// SPDX-License-Identifier: Apache-2.0
#include "tributary_gate.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

thread_local TributaryGate::Record* TributaryGate::mine_ = nullptr;
std::atomic<TributaryGate::Record*> TributaryGate::all_{nullptr};
std::atomic<bool> TributaryGate::asymmetric_{false};

// Gives the record back when its thread ends.
struct TributaryGate::Lease {
  Record* record = nullptr;
  ~Lease() {
    mine_ = nullptr;
    if (record != nullptr) {
      record->taken.store(false, std::memory_order_release);
    }
  }
};

TributaryGate::TributaryGate(trib_pipeline* pipeline) : pipeline_(pipeline) {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
              0) == 0) {
    asymmetric_.store(true);
  }
}

TributaryGate::Record* TributaryGate::TakeRecord() {
  static thread_local Lease lease;
  Record* record = all_.load(std::memory_order_acquire);
  for (; record != nullptr; record = record->next) {
    bool free = false;
    if (record->taken.compare_exchange_strong(free, true)) break;
  }
  if (record == nullptr) {
    record = new Record;
    record->next = all_.load(std::memory_order_relaxed);
    while (!all_.compare_exchange_weak(record->next, record)) {
    }
  }
  lease.record = record;
  mine_ = record;
  return record;
}

trib_pipeline* TributaryGate::Shut() {
  trib_pipeline* const pipeline = pipeline_.exchange(nullptr);
  if (asymmetric_.load()) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  }
  const Record* record = all_.load(std::memory_order_acquire);
  for (; record != nullptr; record = record->next) {
    while (record->inside.load()) sched_yield();
  }
  return pipeline;
}
