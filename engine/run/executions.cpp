#include "engine/run/executions.hpp"

#include <utility>

namespace weft::engine {

Executions::Executions(Executor& executor) : executor_(executor) {
  spare_.push_back(std::make_unique<Execution>(executor_));
  // The first call that has to wait allocates no more than the others.
  under_way_.reserve(2);
  done_.reserve(2);
}

void Executions::make_room_for(const Program& program) {
  const Capacity known = capacity_;
  capacity_.grow_for(program);
  if (capacity_ == known) return;
  ++version_;
  for (const auto& execution : spare_) execution->reserve(capacity_, version_);
}

Execution& Executions::spare() {
  if (spare_.empty()) {
    spare_.push_back(std::make_unique<Execution>(executor_));
    done_.reserve(done_.size() + under_way_.size() + 1);
  }
  Execution& execution = *spare_.back();
  if (!execution.has(version_)) execution.reserve(capacity_, version_);
  return execution;
}

void Executions::put_under_way() {
  under_way_.push_back(std::move(spare_.back()));
  spare_.pop_back();
}

void Executions::retire_done() noexcept {
  for (auto at = under_way_.begin(); at != under_way_.end();) {
    if (!(*at)->is_done() || !(*at)->has_entered()) {
      ++at;
      continue;
    }
    done_.push_back(std::move(*at));
    at = under_way_.erase(at);
  }
}

bool Executions::take(const Execution& execution) noexcept {
  for (auto& one : done_) {
    if (one.get() != &execution) continue;
    std::swap(one, done_.back());
    spare_.push_back(std::move(done_.back()));
    done_.pop_back();
    return true;
  }
  return false;
}

}  // namespace weft::engine
