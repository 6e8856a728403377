// Call cache: the calls that are prepared, the last used first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>

#include "comm/setup/call.hpp"

namespace weft::comm {

using SharedCall = std::shared_ptr<Call>;

/// Calls of one kind, up to a weight of all of them together.
class CallCache {
 public:
  explicit CallCache(std::size_t most) : most_(most) {}

  /// Null where the problem's call is not kept.
  const SharedCall* find(const plan::Problem& problem) {
    const auto found = find_entry(problem);
    if (found == call_of_.end()) return nullptr;
    calls_.splice(calls_.begin(), calls_, found->second);
    return &calls_.front().call;
  }
  /// Forgets those that have not been used for longest, where there are too many.
  const SharedCall& keep(SharedCall call, std::size_t weight) {
    weight_ += weight;
    calls_.push_front({std::move(call), weight});
    call_of_.emplace(ProblemHash()(calls_.front().call->problem), calls_.begin());
    while (weight_ > most_ && calls_.size() > 1) {
      weight_ -= calls_.back().weight;
      call_of_.erase(find_entry(calls_.back().call->problem));
      calls_.pop_back();
    }
    return calls_.front().call;
  }
  void clear() {
    call_of_.clear();
    calls_.clear();
    weight_ = 0;
  }

 private:
  struct Kept {
    SharedCall call;
    std::size_t weight;
  };
  // By the hash of the problem, which is in the call: a lookup touches little memory.
  using Entries = std::unordered_multimap<std::size_t, std::list<Kept>::iterator>;
  Entries::iterator find_entry(const plan::Problem& problem) {
    const auto [first, end] = call_of_.equal_range(ProblemHash()(problem));
    const auto found = std::find_if(
        first, end, [&](const auto& entry) { return entry.second->call->problem == problem; });
    return found == end ? call_of_.end() : found;
  }

  std::size_t most_;
  std::size_t weight_ = 0;
  std::list<Kept> calls_;
  Entries call_of_;
};

}  // namespace weft::comm
