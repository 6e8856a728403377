#include "verbs/soft/faults/active_faults.hpp"

namespace weft::soft {

void ActiveFaults::replace(FaultPlan plan) {
  std::lock_guard lock(mutex_);
  CountedPlan* next = nullptr;
  if (!plan.rules.empty()) {
    all_.push_back(std::make_unique<CountedPlan>());
    next = all_.back().get();
    next->plan = std::move(plan);
  }
  current_.store(next, std::memory_order_release);
}

Fault ActiveFaults::next(QpMessageCount& count, CountedPlan& current) noexcept {
  if (count.plan != &current) {
    count.plan = &current;
    count.messages = 0;
  }
  const std::uint64_t number = current.messages.fetch_add(1, std::memory_order_relaxed) + 1;
  return decide(current.plan, number, count.qp, ++count.messages);
}

}  // namespace weft::soft
