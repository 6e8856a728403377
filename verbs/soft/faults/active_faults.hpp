// Faults in force: the plan that this process follows now, and the messages counted under it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "verbs/soft/faults/fault_plan.hpp"

namespace weft::soft {

/// A plan that is or was in force, and how many messages it has seen.
struct CountedPlan {
  FaultPlan plan;
  std::atomic<std::uint64_t> messages{0};
};

/// The messages of one QP, counted for the faults that meet only this QP. Guarded by the QP's send
/// lock.
struct QpMessageCount {
  std::uint64_t qp = 0;               // the process's n-th QP, counted from 1
  const CountedPlan* plan = nullptr;  // under which `messages` were counted
  std::uint64_t messages = 0;
};

class ActiveFaults {
 public:
  /// Puts the rules of `plan` in force instead of those before; messages are counted from here.
  void replace(FaultPlan plan);

  bool any() const noexcept { return current_.load(std::memory_order_acquire) != nullptr; }

  /// Counts a message that the QP of `count` posts now, and returns what happens to it.
  Fault next(QpMessageCount& count) noexcept {
    CountedPlan* current = current_.load(std::memory_order_acquire);
    return current == nullptr ? Fault{} : next(count, *current);
  }

 private:
  static Fault next(QpMessageCount& count, CountedPlan& current) noexcept;

  std::atomic<CountedPlan*> current_{nullptr};
  std::mutex mutex_;
  std::vector<std::unique_ptr<CountedPlan>> all_;  // kept: another thread may be counting in one
};

}  // namespace weft::soft
