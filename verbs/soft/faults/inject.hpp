// The faults in force in this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "verbs/soft/faults/faults.hpp"

namespace weft::soft {

class Process;
struct Qp;

/// A plan that is or was in force, and the messages that it has seen.
struct FaultSource {
  FaultPlan plan;
  std::atomic<std::uint64_t> messages{0};
};

class Faults {
 public:
  /// From now on the faults of `plan`, whose messages are counted from here, instead of those
  /// before. Ports stay as they are but for what the plan asks of them at once.
  void replace(Process& process, FaultPlan plan);

  bool any() const noexcept { return source_.load(std::memory_order_acquire) != nullptr; }

  /// What meets the message that `qp` posts now. The caller holds the QP's send lock.
  Fault next(Qp& qp) noexcept {
    FaultSource* source = source_.load(std::memory_order_acquire);
    return source == nullptr ? Fault{} : next(qp, *source);
  }

 private:
  static Fault next(Qp& qp, FaultSource& source) noexcept;

  std::atomic<FaultSource*> source_{nullptr};
  std::mutex mutex_;
  std::vector<std::unique_ptr<FaultSource>> all_;  // kept: somebody may be counting in one
};

}  // namespace weft::soft
