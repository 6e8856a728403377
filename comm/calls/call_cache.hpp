// Call cache: the calls that are prepared, the last used first.
#pragma once

#include <list>
#include <memory>
#include <unordered_map>

#include "comm/setup/call.hpp"

namespace weft::comm {

using SharedCall = std::shared_ptr<Call>;

class CallCache {
 public:
  /// Null where the problem's call is not kept.
  const SharedCall* find(const plan::Problem& problem) {
    if (!calls_.empty() && calls_.front()->problem == problem) return &calls_.front();
    const auto found = call_of_.find(problem);
    if (found == call_of_.end()) return nullptr;
    calls_.splice(calls_.begin(), calls_, found->second);
    return &calls_.front();
  }
  /// Instead of the one that has not been used for longest, where there are too many.
  const SharedCall& keep(SharedCall call) {
    if (calls_.size() == kMostCalls) {
      call_of_.erase(calls_.back()->problem);
      calls_.pop_back();
    }
    calls_.push_front(std::move(call));
    call_of_[calls_.front()->problem] = calls_.begin();
    return calls_.front();
  }

 private:
  static constexpr std::size_t kMostCalls = 512;

  using Calls = std::list<SharedCall>;
  Calls calls_;
  std::unordered_map<plan::Problem, Calls::iterator, ProblemHash> call_of_;
};

}  // namespace weft::comm
