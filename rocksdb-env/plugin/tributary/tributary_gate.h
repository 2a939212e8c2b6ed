// SPDX-License-Identifier: Apache-2.0
// Who is inside the pipeline?  Lets a pipeline be closed while other threads
// may still write, at no cost worth mentioning for those who write: a visit is
// two plain stores to a record of the thread's own. Shut() makes them visible
// with membarrier(2); where the kernel has none, each visit pays for a locked
// instruction.
//
// Thread safety: everything, from any thread. Visits do not nest.
#pragma once

#include <tributary/pipeline.h>

#include <atomic>

class TributaryGate {
 private:
  // Of one thread at a time; reused when that thread ends, never freed.
  struct alignas(64) Record {
    std::atomic<bool> inside{false};
    std::atomic<bool> taken{true};
    Record* next = nullptr;
  };
  struct Lease;

 public:
  explicit TributaryGate(trib_pipeline* pipeline);
  TributaryGate(const TributaryGate&) = delete;
  TributaryGate& operator=(const TributaryGate&) = delete;

  class Visit {
   public:
    explicit Visit(const TributaryGate& gate)
        : record_(mine_ != nullptr ? mine_ : TakeRecord()) {
      if (asymmetric_.load(std::memory_order_relaxed)) {
        // The compiler keeps the order; Shut() sees to the processor.
        record_->inside.store(true, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
      } else {
        record_->inside.exchange(true);
      }
      pipeline_ = gate.pipeline_.load();
    }
    ~Visit() { record_->inside.store(false, std::memory_order_release); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    // nullptr once the gate is shut.
    trib_pipeline* pipeline() const { return pipeline_; }

   private:
    Record* const record_;
    trib_pipeline* pipeline_;
  };

  // Lets nobody in any more, waits until everybody is out, and returns the
  // pipeline for the caller to close; nullptr if it was shut before.
  trib_pipeline* Shut();

 private:
  static Record* TakeRecord();

  static thread_local Record* mine_ __attribute__((tls_model("initial-exec")));
  static std::atomic<Record*> all_;
  static std::atomic<bool> asymmetric_;

  std::atomic<trib_pipeline*> pipeline_;
};
